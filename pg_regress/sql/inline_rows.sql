-- Inline presentation where a row is more than one write: key columns, partitions, stored values.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT take('a', 'a');
SELECT take('b', 'b');
SELECT take('c', 'c');

-- Each row its own token.
CREATE TABLE item (k text, id int, fence bigint, written bigint);
SELECT try($$SELECT fencing.protect('item', 'jobs', key_columns => '{k}', present_column => 'fence', token_column => 'written')$$);
SELECT try($$INSERT INTO item VALUES ('a', 1, {a}), ('b', 2, {b})$$);
SELECT try($$INSERT INTO item VALUES ('a', 3, {a}), ('b', 4, {a})$$);
SELECT try($$INSERT INTO item VALUES ('b', 4, {a})$$);
SELECT try($$UPDATE item SET fence = CASE k WHEN 'a' THEN {a} ELSE {b} END$$);
-- A changed key: the row carries one token, so the other must be presented.
SELECT try($$UPDATE item SET k = 'b', fence = {b} WHERE id = 1$$);
SELECT try($$UPDATE item SET k = 'b', fence = {a} WHERE id = 1$$);
BEGIN;
SELECT present('a');
SELECT try($$UPDATE item SET k = 'b', fence = {c} WHERE id = 1$$);
SELECT try($$UPDATE item SET k = 'b', fence = {b} WHERE id = 1$$);
COMMIT;
BEGIN;
SELECT present('a');
SELECT try($$UPDATE item SET k = 'a', fence = {b} WHERE id = 1$$);
COMMIT;
SELECT k, id, fence, name_of(written) FROM item ORDER BY id;

-- A row that moves between partitions is one write.
CREATE TABLE parted (k text, part int, id int, fence bigint, written bigint) PARTITION BY LIST (part);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 (written bigint, fence bigint, id int, dropped int, part int, k text);
ALTER TABLE parted_2 DROP COLUMN dropped;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES IN (2);
SELECT try($$SELECT fencing.protect('parted', 'jobs', 'a', present_column => 'fence', token_column => 'written')$$);
SELECT try($$INSERT INTO parted VALUES ('x', 1, 1, {a}), ('x', 2, 2, {a})$$);
SELECT try($$UPDATE parted SET part = 3 - part, fence = {a}$$);
SELECT try($$UPDATE parted SET part = 3 - part WHERE id = 1$$);
SELECT try($$UPDATE parted SET part = 3 - part, fence = {b} WHERE id = 1$$);
BEGIN;
SELECT present('a');
SELECT try($$UPDATE parted SET part = 3 - part WHERE id = 1$$);
SELECT try($$DELETE FROM parted WHERE id = 2$$);
COMMIT;
SELECT tableoid::regclass, k, part, id, fence, name_of(written) FROM parted ORDER BY id;
-- Directly into a partition.
SELECT try($$INSERT INTO parted_2 (part, id, fence) VALUES (2, 3, {a})$$);
SELECT try($$INSERT INTO parted_2 (part, id) VALUES (2, 4)$$);
SELECT try('TRUNCATE parted_2');
SELECT try('TRUNCATE parted');
SELECT try($$SELECT fencing.unprotect('parted')$$);
-- Partitioned by the key: it leaves one lease for another, and both must be held.
TRUNCATE parted;
SELECT try($$SELECT fencing.protect('parted', 'jobs', key_columns => '{part}', present_column => 'fence')$$);
SELECT take('1', '1');
SELECT take('2', '2');
SELECT try($$INSERT INTO parted VALUES ('x', 1, 1, {1}), ('x', 2, 2, {2})$$);
SELECT left(try($$UPDATE parted SET part = 2, fence = {1} WHERE id = 1$$), 5);
SELECT left(try($$UPDATE parted SET part = 2, fence = {2} WHERE id = 1$$), 5);
BEGIN;
SELECT present('1');
SELECT try($$UPDATE parted SET part = 2, fence = {2} WHERE id = 1$$);
COMMIT;
SELECT tableoid::regclass, part, id, fence FROM parted ORDER BY id;

-- A value stored by other means presents nothing, and lets nothing pass until it is gone.
ALTER TABLE item DISABLE TRIGGER "~fencing";
UPDATE item SET fence = token('b') WHERE id = 2;
ALTER TABLE item ENABLE ALWAYS TRIGGER "~fencing";
SELECT try('UPDATE item SET id = 2 WHERE id = 2', hints => true);
SELECT try('UPDATE item SET fence = {b} WHERE id = 2');
SELECT try('UPDATE item SET fence = NULL WHERE id = 2');
BEGIN;
SELECT present('b');
SELECT left(try('UPDATE item SET fence = NULL WHERE id = 2'), 5);
-- Deleting it is safe: nothing is presented by it.
SELECT try('DELETE FROM item WHERE id = 2');
ROLLBACK;
SELECT left(try('DELETE FROM item WHERE id = 2'), 5);
SELECT try($$SELECT fencing.unprotect('item')$$);
SELECT try($$SELECT fencing.protect('item', 'jobs', key_columns => '{k}', present_column => 'fence')$$);
UPDATE item SET fence = NULL;
SELECT try($$SELECT fencing.protect('item', 'jobs', key_columns => '{k}', present_column => 'fence')$$);
