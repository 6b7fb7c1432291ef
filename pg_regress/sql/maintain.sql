-- maintain: a superuser's transaction writes past every guard, and that is recorded.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (id int, written bigint, fence bigint);
CREATE TABLE plain (id int);
CREATE TABLE bulk (id int);
CREATE TABLE item (k text);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', token_column => 'written', present_column => 'fence')$$);
SELECT try($$SELECT fencing.protect('plain', 'jobs', 'a')$$);
SELECT try($$SELECT fencing.protect('bulk', 'jobs', 'a', level => 'statement')$$);
SELECT try($$SELECT fencing.protect('item', 'jobs', key_columns => '{k}')$$);
SELECT take('a');
CREATE VIEW recorded AS
SELECT kind, namespace, key, token, actor::regrole, detail, at BETWEEN now() - interval '1 min' AND now() + interval '1 min' AS at FROM fencing.event ORDER BY id;
-- What may be written now.
CREATE FUNCTION writable() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(t || ' ' || left(try(format('DELETE FROM %I WHERE false', t)), 5) || ' ' || left(try(format('INSERT INTO %I VALUES (''1'')', t)), 5), ', ' ORDER BY t)
      FROM unnest(ARRAY['bulk', 'doc', 'item', 'plain']) AS t
$$;

BEGIN;
SELECT present('a');
INSERT INTO doc VALUES (1), (2), (3);
COMMIT;
BEGIN;
SELECT writable();
SELECT try($$SELECT fencing.maintain('repair of "1"')$$);
SELECT writable();
-- The token column is left as it was, the inline column stored as NULL: whatever the statement says.
INSERT INTO doc VALUES (4, 42, 42) RETURNING id, written, fence;
UPDATE doc SET id = id + 10, written = 42, fence = 42 WHERE id IN (1, 4) RETURNING id, name_of(written), fence;
UPDATE doc SET id = id + 10, written = NULL WHERE id = 2 RETURNING id, name_of(written), fence;
DELETE FROM doc WHERE id = 3 RETURNING id, name_of(written), fence;
INSERT INTO item VALUES ('x'), (NULL);
UPDATE item SET k = 'y';
-- Tokens that are presented make no difference.
SELECT try('SELECT fencing.present({a})');
INSERT INTO doc VALUES (5, NULL, 42) RETURNING id, written, fence;
SELECT try('INSERT INTO bulk VALUES (5)');
TRUNCATE plain, bulk, item;
COMMIT;
SELECT writable();
SELECT * FROM recorded;

-- It follows savepoints, record and all.
BEGIN;
SAVEPOINT s;
SELECT try($$SELECT fencing.maintain('taken back')$$);
SELECT writable();
ROLLBACK TO s;
SELECT writable();
SAVEPOINT t;
SAVEPOINT u;
SELECT try($$SELECT fencing.maintain('kept')$$);
SELECT writable();
RELEASE u;
SELECT writable();
SAVEPOINT v;
SELECT try($$SELECT fencing.maintain('kept already')$$);
ROLLBACK TO v;
SELECT writable();
RELEASE t;
SELECT writable();
COMMIT;
SELECT detail FROM recorded;
-- A block that fails is one, too.
BEGIN;
SAVEPOINT s;
DO $$
BEGIN
    PERFORM fencing.maintain('in a block that fails');
    INSERT INTO plain VALUES (1);
    RAISE EXCEPTION 'undo';
EXCEPTION WHEN raise_exception THEN
    RAISE WARNING '%', writable();
END
$$;
RELEASE s;
SELECT writable();
COMMIT;
-- Gone with the transaction, however it ends; a rollback takes the record along.
BEGIN;
SELECT try($$SELECT fencing.maintain('rolled back')$$);
INSERT INTO plain VALUES (1);
ROLLBACK;
SELECT writable();
BEGIN;
SELECT try($$SELECT fencing.maintain('chained')$$);
COMMIT AND CHAIN;
SELECT writable();
COMMIT;
CREATE PROCEDURE two_transactions() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM fencing.maintain('the first of two');
    RAISE WARNING '%', writable();
    COMMIT;
    RAISE WARNING '%', writable();
END
$$;
CALL two_transactions();
SELECT detail FROM recorded;
SELECT count(*) FROM plain;

-- By itself outside a transaction block it warns, does nothing and records nothing.
SELECT FROM fencing.maintain('by itself');
\set VERBOSITY sqlstate
SELECT FROM fencing.maintain('by itself');
\set VERBOSITY default
SELECT writable() FROM fencing.maintain('by itself');
SELECT FROM fencing.maintain('several statements as one') \; INSERT INTO plain VALUES (1);
SELECT detail FROM recorded OFFSET 4;

-- A reason is needed.
BEGIN;
SELECT try('SELECT fencing.maintain(NULL)');
SELECT try($$SELECT fencing.maintain('')$$);
SELECT try($$SELECT fencing.maintain(E' \t\n')$$);
SELECT try($$SELECT fencing.maintain(repeat('x', 1025))$$);
SELECT writable();
SELECT try($$SELECT fencing.maintain(E'any text: \\ " \x01 \n é')$$);
SELECT detail ->> 'reason' = E'any text: \\ " \x01 \n é' FROM fencing.event ORDER BY id DESC LIMIT 1;
COMMIT;
BEGIN READ ONLY;
SELECT try($$SELECT fencing.maintain('read only')$$);
COMMIT;

-- Terms accepted before are still checked at commit.
BEGIN;
SELECT present('a');
INSERT INTO plain VALUES (2);
SELECT try($$SELECT fencing.maintain('the term lapses')$$);
SET LOCAL fencing.test_clock_offset = '31 s';
INSERT INTO plain VALUES (3);
\set VERBOSITY sqlstate
COMMIT;
\set VERBOSITY default
SELECT id FROM plain WHERE id > 1;
-- While the coordinator is closed it passes as well.
BEGIN;
SELECT fencing.begin_epoch_transition('test');
SELECT try($$SELECT fencing.maintain('coordinator closed')$$);
SELECT writable();
ROLLBACK;
-- Guards that only observe say nothing.
BEGIN;
SELECT try($$SELECT fencing.unprotect('plain')$$);
SELECT try($$SELECT fencing.protect('plain', 'jobs', 'a', mode => 'observe')$$);
INSERT INTO plain VALUES (1);
SELECT try($$SELECT fencing.maintain('observed')$$);
INSERT INTO plain VALUES (1);
ROLLBACK;
-- A value in the inline column, from before the guard or past it, is set to NULL.
CREATE TABLE line (id int, fence bigint);
SELECT try($$SELECT fencing.protect('line', 'jobs', 'a', present_column => 'fence')$$);
SET client_min_messages = error;
ALTER TABLE line DISABLE TRIGGER ALL;
INSERT INTO line VALUES (1, 42);
ALTER TABLE line ENABLE TRIGGER ALL;
SET client_min_messages = warning;
SELECT left(try('UPDATE line SET id = 2'), 5);
BEGIN;
SELECT try($$SELECT fencing.maintain('stored values')$$);
UPDATE line SET id = 2 RETURNING *;
COMMIT;
