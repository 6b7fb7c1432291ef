-- Nobody sees an inline token once the guard has taken it from the row: whatever reads the new row
-- after the guard finds NULL, also where something has read the row before.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT take('new');

-- A check, a generated column, an index and a trigger of its own read the inline column.
CREATE FUNCTION token_of(value bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN value IS NULL THEN 'none' ELSE 'seen' END $$;
CREATE TABLE item (id int PRIMARY KEY, v int, body text, seen text GENERATED ALWAYS AS (token_of(fence)) STORED, fence bigint CHECK (fence IS NULL));
CREATE INDEX item_fence ON item (fence);
CREATE UNIQUE INDEX item_seen ON item (token_of(fence), id);
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := NEW.v + 1; RETURN NEW; END $$;
CREATE TRIGGER a_before BEFORE INSERT OR UPDATE ON item FOR EACH ROW WHEN (NEW.fence IS NOT NULL AND NEW.v > 100) EXECUTE FUNCTION touch();
CREATE TABLE logged (id int, old bigint, new bigint);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO logged VALUES (NEW.id, CASE WHEN TG_OP = 'UPDATE' THEN OLD.fence END, NEW.fence);
    RETURN NULL;
END
$$;
CREATE TRIGGER z_after AFTER INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION note();
SELECT try($$SELECT fencing.protect('item', 'jobs', 'a', present_column => 'fence')$$);

-- The trigger before it reads the row only, or changes it.
CREATE FUNCTION all_of_it() RETURNS SETOF text LANGUAGE sql AS $$ SELECT i::text FROM item AS i ORDER BY id $$;
SELECT try($$INSERT INTO item (id, v, body, fence) VALUES (1, 1, 'a', {new}), (2, 101, 'b', {new}), (3, 1, NULL, {new})$$);
SELECT try($$UPDATE item SET v = v + 100, fence = {new}$$);
SELECT * FROM all_of_it();
-- What the statement gives back.
SELECT token('new') AS token \gset
INSERT INTO item (id, v, body, fence) VALUES (4, 1, 'd', :token) RETURNING id, v, seen, fence;
UPDATE item SET v = v + 1, fence = :token WHERE id = 4 RETURNING id, v, seen, fence;
INSERT INTO item (id, v, body, fence) VALUES (4, 9, 'd', :token)
    ON CONFLICT (id) DO UPDATE SET v = excluded.v, fence = :token RETURNING id, v, seen, fence;
WITH changed AS (UPDATE item SET v = 0, fence = :token WHERE id < 3 RETURNING id, fence)
SELECT id, fence FROM changed ORDER BY id;
MERGE INTO item USING (VALUES (3), (5)) AS s (id) ON item.id = s.id
    WHEN MATCHED THEN UPDATE SET v = 3, fence = :token
    WHEN NOT MATCHED THEN INSERT (id, v, fence) VALUES (s.id, 5, :token);
SELECT * FROM all_of_it();
-- A cursor, and a row that is read by another statement of the same transaction.
BEGIN;
DECLARE c CURSOR FOR SELECT id, fence FROM item WHERE id = 5 FOR UPDATE;
FETCH c;
UPDATE item SET v = 6, fence = :token WHERE CURRENT OF c RETURNING v, fence;
SELECT v, fence FROM item WHERE id = 5;
COMMIT;
SELECT count(*) FROM logged WHERE coalesce(old, new) IS NOT NULL;
SET enable_seqscan = off;
SELECT count(*) FROM item WHERE fence IS NOT NULL;
SELECT count(*) FROM item WHERE fence IS NULL;
SELECT count(*) FROM item WHERE token_of(fence) = 'none';
RESET enable_seqscan;

-- A write that is not logged moves no page's version on: what was seen of a lease there is not relied on.
ALTER TABLE fencing.lease SET UNLOGGED;
SELECT try($$UPDATE item SET v = 1, fence = {new} WHERE id = 1$$);
SELECT try($$UPDATE item SET v = 2, fence = {new} WHERE id = 1$$);
SELECT status FROM fencing.release(token('new'));
SELECT left(try($$UPDATE item SET v = 3, fence = {new} WHERE id = 1$$), 5);
SELECT take('newer');
SELECT left(try($$UPDATE item SET v = 3, fence = {new} WHERE id = 1$$), 5);
SELECT left(try($$UPDATE item SET v = 3, fence = {newer} WHERE id = 1$$), 5);
ALTER TABLE fencing.lease SET LOGGED;
SELECT left(try($$UPDATE item SET v = 4, fence = {new} WHERE id = 1$$), 5);
SELECT left(try($$UPDATE item SET v = 4, fence = {newer} WHERE id = 1$$), 5);

-- Many rows in one statement: what the first was accepted under is no other's.
SELECT try($$SELECT fencing.create_namespace('rows')$$);
SELECT take('x', 'x', 'rows');
SELECT take('y', 'y', 'rows');
CREATE TABLE row (k text, id int, fence bigint);
INSERT INTO row VALUES ('x', 1, NULL), ('x', 2, NULL), ('y', 3, NULL);
SELECT try($$SELECT fencing.protect('row', 'rows', key_columns => '{k}', present_column => 'fence')$$);
SELECT try($$INSERT INTO row SELECT 'x', g, {x} FROM generate_series(10, 12) AS g$$);
SELECT try($$INSERT INTO row VALUES ('x', 20, {x}), ('x', 21, NULL), ('x', 22, {x})$$);
SELECT try($$INSERT INTO row VALUES ('x', 30, {x}), ('x', 31, {y})$$);
SELECT try($$INSERT INTO row VALUES ('x', 30, {x}), ('x', 31, 0)$$);
SELECT try($$INSERT INTO row VALUES ('x', 30, {x}), ('y', 31, {x})$$);
SELECT try($$INSERT INTO row VALUES ('x', 30, {x}), ('y', 31, {y}), ('x', 32, {x})$$);
-- One of them holds a token that is no presentation; one says another's.
SET client_min_messages = error;
ALTER TABLE row DISABLE TRIGGER "~fencing";
UPDATE row SET fence = token('x') WHERE id = 2;
ALTER TABLE row ENABLE ALWAYS TRIGGER "~fencing";
SET client_min_messages = warning;
SELECT try($$UPDATE row SET fence = {x} WHERE k = 'x'$$);
SELECT try($$UPDATE row SET fence = {x} WHERE k = 'x' AND id <> 2$$);
SELECT try($$UPDATE row SET fence = CASE WHEN id = 11 THEN {y} ELSE {x} END WHERE k = 'x' AND id <> 2$$);
SELECT try($$UPDATE row SET fence = CASE WHEN id = 11 THEN NULL ELSE {x} END WHERE k = 'x' AND id <> 2$$);
SELECT try($$UPDATE row SET fence = CASE k WHEN 'x' THEN {x} ELSE {y} END WHERE id <> 2$$);
BEGIN;
SELECT present('x');
SELECT try($$DELETE FROM row WHERE k = 'x' AND id > 11$$);
SELECT try($$DELETE FROM row$$);
COMMIT;
SELECT k, id, name_of(fence) FROM row ORDER BY id;
