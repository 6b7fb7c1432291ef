-- on_missing, mode, level: what each lets pass.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (id int PRIMARY KEY, body text, written bigint);
CREATE FUNCTION show() RETURNS TABLE (id int, body text, written text) LANGUAGE sql AS 'SELECT id, body, name_of(written) FROM doc ORDER BY id';
SELECT take('old');
SELECT status FROM fencing.release(token('old'));
SELECT take('new');
SELECT take('other', 'b');

-- admit: a write that presents nothing passes, and leaves the token column as it was.
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', token_column => 'written', on_missing => 'admit')$$);
SELECT try($$INSERT INTO doc VALUES (1, 'admitted', 42)$$);
BEGIN;
SELECT present('new');
SELECT try($$INSERT INTO doc VALUES (2, 'accepted', 42)$$);
COMMIT;
SELECT try($$UPDATE doc SET body = 'admitted', written = 42 WHERE id = 2$$);
SELECT try($$UPDATE doc SET body = 'admitted again', written = 42 WHERE id = 1$$);
SELECT * FROM show();
SELECT try('DELETE FROM doc WHERE id = 1');
-- What presents something is judged by it.
BEGIN;
SELECT present('old');
SELECT try($$INSERT INTO doc VALUES (3, 'stale')$$);
ROLLBACK;
BEGIN;
SELECT present('other');
SELECT try($$INSERT INTO doc VALUES (3, 'of another lease')$$);
ROLLBACK;
BEGIN;
SELECT present('other');
SELECT present('new');
SELECT try($$INSERT INTO doc VALUES (3, 'accepted')$$);
COMMIT;
SELECT try('TRUNCATE doc');
SELECT try($$SELECT fencing.unprotect('doc')$$);

-- observe: a violation is a warning (of the statement's trigger, and of the rows'), and the write passes.
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', token_column => 'written', mode => 'observe')$$);
INSERT INTO doc VALUES (1, 'without', 42), (2, 'without', 42);
UPDATE doc SET body = 'no row' WHERE id = 100;
\set VERBOSITY sqlstate
BEGIN;
SELECT present('old');
UPDATE doc SET body = 'stale', written = 42 WHERE id = 2;
COMMIT;
BEGIN;
SELECT present('other');
DELETE FROM doc WHERE id = 1;
COMMIT;
TRUNCATE doc;
INSERT INTO doc VALUES (3, 'without', 42);
\set VERBOSITY default
SELECT * FROM show();
-- And recorded, with the write.
SELECT kind, n.name || '/' || e.key AS lease, masked(e.detail ->> 'sqlstate'), masked(e.detail ->> 'detail')
  FROM fencing.event AS e JOIN fencing.namespace AS n ON n.id = e.namespace ORDER BY e.id;
-- No warning under the current token; and no lock is held that would keep a takeover out.
BEGIN;
SELECT present('new');
UPDATE doc SET body = 'current' WHERE id = 3;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
COMMIT;
SELECT try($$SELECT fencing.unprotect('doc')$$);

-- observe with key columns and inline: as it would be enforced.
CREATE TABLE keyed (k text, id int, fence bigint);
SELECT try($$SELECT fencing.protect('keyed', 'jobs', key_columns => '{k}', present_column => 'fence', mode => 'observe')$$);
\set VERBOSITY sqlstate
INSERT INTO keyed VALUES ('a', 1, NULL);
SELECT token AS new FROM named WHERE name = 'new' \gset
SELECT token AS old FROM named WHERE name = 'old' \gset
INSERT INTO keyed VALUES ('a', 2, :new);
INSERT INTO keyed VALUES ('a', 3, :old);
INSERT INTO keyed VALUES ('b', 4, :new);
INSERT INTO keyed VALUES ('a', 5, 0);
INSERT INTO keyed VALUES (NULL, 6, NULL);
TRUNCATE keyed;
\set VERBOSITY default
-- What is presented inline is never stored.
INSERT INTO keyed VALUES ('a', 6, :new);
SELECT * FROM keyed;
SELECT try($$SELECT fencing.unprotect('keyed')$$);
-- A value that was there before the guard (it takes a disabled trigger to get there).
INSERT INTO keyed VALUES ('a', 7, NULL);
SELECT try($$SELECT fencing.protect('keyed', 'jobs', key_columns => '{k}', present_column => 'fence', mode => 'observe')$$);
ALTER TABLE keyed DISABLE TRIGGER "~fencing";
UPDATE keyed SET fence = 42 WHERE id = 7;
ALTER TABLE keyed ENABLE ALWAYS TRIGGER "~fencing";
\set VERBOSITY sqlstate
UPDATE keyed SET id = 8, fence = :new WHERE id = 7;
\set VERBOSITY default
SELECT * FROM keyed ORDER BY id;
SELECT try($$SELECT fencing.unprotect('keyed')$$);
-- admit with key columns: what presents nothing passes, TRUNCATE too.
SELECT try($$SELECT fencing.protect('keyed', 'jobs', key_columns => '{k}', on_missing => 'admit')$$);
SELECT try($$INSERT INTO keyed VALUES ('a', 9), ('b', 9)$$);
SELECT try('TRUNCATE keyed');
SELECT try($$SELECT fencing.unprotect('keyed')$$);

-- level => 'statement': as strict, and no row trigger.
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', level => 'statement')$$);
SELECT n, split_part(try(statement), E'\n', 1)
  FROM (VALUES (1, $$INSERT INTO doc VALUES (9, 'x')$$), (2, $$UPDATE doc SET body = 'x'$$), (3, $$UPDATE doc SET body = 'x' WHERE id = 100$$),
               (4, 'DELETE FROM doc'), (5, 'TRUNCATE doc'), (6, $$MERGE INTO doc USING (VALUES (1)) AS v (id) ON doc.id = v.id WHEN MATCHED THEN DELETE$$),
               (7, $$INSERT INTO doc VALUES (3, 'x') ON CONFLICT (id) DO UPDATE SET body = 'x'$$)) AS v (n, statement) ORDER BY n;
BEGIN;
SELECT present('old');
SELECT split_part(try($$INSERT INTO doc VALUES (9, 'x')$$), E'\n', 1);
ROLLBACK;
BEGIN;
SELECT present('new');
SELECT try($$INSERT INTO doc SELECT n, 'bulk' FROM generate_series(10, 1009) AS n$$);
SELECT try($$UPDATE doc SET body = 'updated' WHERE id >= 10$$);
SELECT try($$DELETE FROM doc WHERE id >= 20$$);
COMMIT;
SELECT count(*) FROM doc;
-- With its other choices.
SELECT try($$SELECT fencing.unprotect('doc')$$);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', level => 'statement', on_missing => 'admit')$$);
SELECT try('DELETE FROM doc WHERE id = 10');
BEGIN;
SELECT present('old');
SELECT split_part(try('DELETE FROM doc WHERE id = 11'), E'\n', 1);
ROLLBACK;
SELECT try($$SELECT fencing.unprotect('doc')$$);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', level => 'statement', mode => 'observe')$$);
\set VERBOSITY terse
DELETE FROM doc WHERE id = 11;
\set VERBOSITY default
