-- Inline presentation: the token in the statement itself, in a column that is never stored.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (id int PRIMARY KEY, body text, fence bigint, written bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', present_column => 'fence', token_column => 'written')$$);
CREATE FUNCTION show() RETURNS TABLE (id int, body text, fence bigint, written text) LANGUAGE sql AS 'SELECT id, body, fence, name_of(written) FROM doc ORDER BY id';
SELECT take('old');
SELECT status FROM fencing.release(token('old'));
SELECT take('new');
SELECT take('other', 'b');

-- One autocommitted statement, no block. What is stored is NULL, also in what RETURNING gives.
SELECT try($$INSERT INTO doc VALUES (1, 'inserted', {new}), (2, 'inserted', {new})$$);
SELECT try($$UPDATE doc SET body = 'updated', fence = {new} WHERE id = 1$$);
SELECT * FROM show();
SELECT token AS new FROM named WHERE name = 'new' \gset
INSERT INTO doc VALUES (3, 'returning', :new) RETURNING id, fence, name_of(written);
UPDATE doc SET fence = :new WHERE id = 3 RETURNING id, fence;
-- The wrong one.
SELECT try($$INSERT INTO doc VALUES (4, 'x')$$);
SELECT try($$INSERT INTO doc VALUES (4, 'x', NULL)$$);
SELECT try($$INSERT INTO doc VALUES (4, 'x', {old})$$);
SELECT try($$INSERT INTO doc VALUES (4, 'x', {other})$$);
SELECT split_part(try($$INSERT INTO doc VALUES (4, 'x', {new} + 1)$$), E'\n', 1);
SELECT try($$INSERT INTO doc VALUES (4, 'x', 0)$$);
SELECT try($$INSERT INTO doc VALUES (4, 'x', -1)$$);
SELECT split_part(try($$INSERT INTO doc VALUES (4, 'x', 42)$$), E'\n', 1);
SELECT try($$UPDATE doc SET fence = {old} WHERE id = 1$$);
SELECT try($$UPDATE doc SET fence = 0 WHERE id = 1$$);
-- DELETE has no row to carry one.
SELECT try('DELETE FROM doc WHERE id = 1');
SELECT try('TRUNCATE doc');
-- A statement without rows presents nothing and writes nothing.
SELECT try('UPDATE doc SET fence = {old} WHERE id = 100');
SELECT try('DELETE FROM doc WHERE id = 100');
SELECT * FROM show();

-- What can be read back from a row never counts. A client that re-reads a row and saves every column:
CREATE FUNCTION save_again() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r doc;
BEGIN
    SELECT * INTO r FROM doc WHERE id = 1;
    RETURN try(format('UPDATE doc SET id = %L, body = %L, fence = %L, written = %L WHERE id = %L', r.id, r.body, r.fence, r.written, r.id));
END
$$;
SELECT save_again();
SELECT try('UPDATE doc SET body = body, fence = fence WHERE id = 1');
-- A token inherited from old rows, by MERGE, by INSERT ... SELECT, by an upsert:
CREATE TABLE copy (LIKE doc);
INSERT INTO copy SELECT * FROM doc;
SELECT try('INSERT INTO doc SELECT id + 10, body, fence FROM doc');
SELECT try('INSERT INTO doc SELECT id + 10, body, fence FROM copy');
SELECT try('MERGE INTO doc USING copy ON doc.id = copy.id WHEN MATCHED THEN UPDATE SET body = copy.body, fence = copy.fence');
SELECT try('MERGE INTO doc USING copy ON doc.id = copy.id WHEN MATCHED THEN UPDATE SET body = copy.body, fence = doc.fence');
SELECT try('MERGE INTO doc USING copy ON doc.id = copy.id + 10 WHEN NOT MATCHED THEN INSERT VALUES (copy.id + 10, copy.body, copy.fence)');
SELECT try('INSERT INTO doc SELECT * FROM copy ON CONFLICT (id) DO UPDATE SET body = excluded.body, fence = excluded.fence');
SELECT try('UPDATE doc SET (body, fence) = (SELECT body, fence FROM copy WHERE copy.id = doc.id)');
-- By a default that came later: nobody can tell it from the client's own.
DO $$BEGIN EXECUTE format('ALTER TABLE doc ALTER fence SET DEFAULT %s', token('new')); END$$;
SELECT try($$INSERT INTO doc (id, body) VALUES (4, 'by default')$$);
SELECT try($$INSERT INTO doc VALUES (4, 'by default', DEFAULT)$$);
SELECT try($$INSERT INTO doc VALUES (4, 'own', {new})$$);
BEGIN;
SELECT present('new');
SELECT try($$INSERT INTO doc (id, body) VALUES (4, 'presented')$$);
ROLLBACK;
ALTER TABLE doc ALTER fence DROP DEFAULT;
SELECT try($$INSERT INTO doc VALUES (4, 'own', {new})$$);
-- The same statements with the token said.
SELECT try('INSERT INTO doc SELECT id + 10, body, {new} FROM copy WHERE id = 1');
SELECT try('MERGE INTO doc USING copy ON doc.id = copy.id WHEN MATCHED AND doc.id = 2 THEN UPDATE SET body = $$merged$$, fence = {new}');
SELECT try('MERGE INTO doc USING copy ON doc.id = copy.id + 20 WHEN NOT MATCHED AND copy.id = 1 THEN INSERT VALUES (21, $$merged$$, {new})');
SELECT * FROM show();

-- It counts for its statement and what that causes: an upsert's update,
SELECT try($$INSERT INTO doc VALUES (1, 'upsert', {new}) ON CONFLICT (id) DO UPDATE SET body = 'upserted'$$);
SELECT try($$INSERT INTO doc VALUES (1, 'upsert', {new}) ON CONFLICT (id) DO NOTHING$$);
SELECT try($$INSERT INTO doc VALUES (1, 'upsert', {old}) ON CONFLICT (id) DO UPDATE SET body = 'stale'$$);
SELECT try($$INSERT INTO doc VALUES (1, 'upsert') ON CONFLICT (id) DO UPDATE SET body = 'late', fence = {new}$$);
-- what a trigger of the table does with other tables,
CREATE TABLE log (id int, what text);
SELECT try($$SELECT fencing.protect('log', 'jobs', 'a')$$);
CREATE FUNCTION write_log() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO log VALUES (NEW.id, TG_WHEN); RETURN NEW; END$$;
CREATE TRIGGER after_update AFTER UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION write_log();
SELECT try($$UPDATE doc SET body = 'logged', fence = {new} WHERE id = 1$$);
SELECT * FROM log;
SELECT try($$INSERT INTO log VALUES (0, 'direct')$$);
DROP TRIGGER after_update ON doc;
-- but not for the next statement of the transaction,
BEGIN;
SELECT try($$UPDATE doc SET body = 'first', fence = {new} WHERE id = 1$$);
SELECT try($$UPDATE doc SET body = 'second' WHERE id = 1$$);
SELECT try('DELETE FROM doc WHERE id = 1');
SELECT try($$INSERT INTO log VALUES (0, 'next')$$);
COMMIT;
-- nor of the same function.
DO $$
BEGIN
    EXECUTE format('UPDATE doc SET body = $1, fence = %s WHERE id = 1', token('new')) USING 'in a function';
    RAISE WARNING '%', split_part(try('DELETE FROM doc WHERE id = 1'), E'\n', 1);
END
$$;
-- A row speaks for its statement: with a token on one of them, the others have it too.
SELECT try($$INSERT INTO doc VALUES (30, 'first', {new}), (31, 'second', NULL)$$);
SELECT try($$INSERT INTO doc VALUES (32, 'first', NULL), (33, 'second', {new})$$);

-- Together with present: the same is no contradiction, another of the same lease is.
BEGIN;
SELECT present('new');
SELECT try($$UPDATE doc SET body = 'both', fence = {new} WHERE id = 1$$);
SELECT try($$UPDATE doc SET body = 'presented' WHERE id = 2$$);
SELECT try($$UPDATE doc SET body = 'x', fence = {old} WHERE id = 1$$);
SELECT try($$UPDATE doc SET body = 'x', fence = {other} WHERE id = 1$$);
SELECT try('DELETE FROM doc WHERE id = 3');
COMMIT;
BEGIN;
SELECT present('old');
SELECT try($$UPDATE doc SET body = 'x', fence = {new} WHERE id = 1$$);
COMMIT;
BEGIN;
SELECT present('other');
SELECT try($$UPDATE doc SET body = 'beside another', fence = {new} WHERE id = 1$$);
COMMIT;
SELECT try($$INSERT INTO doc VALUES (34, 'one', {new}), (35, 'two', {old})$$);
SELECT * FROM show();
