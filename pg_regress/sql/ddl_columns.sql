-- Columns that a guard names: renamed, it follows them; dropped or unfit, it lets nothing pass.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT take('a'), take('b', 'b');
CREATE VIEW guard AS SELECT relation, key_columns, token_column, present_column FROM fencing.guards ORDER BY relation::text;

-- Renamed: written under the new names as under the old ones, from the next statement on.
CREATE TABLE t (id int, k text, v int, fence bigint, seen bigint);
SELECT try($$SELECT fencing.protect('t', 'jobs', key_columns => '{k}', present_column => 'fence', token_column => 'seen')$$);
SELECT try($$INSERT INTO t VALUES (1, 'a', 0, {a})$$);
ALTER TABLE t RENAME k TO owner;
ALTER TABLE t RENAME fence TO token;
ALTER TABLE t RENAME seen TO written_under;
SELECT * FROM guard;
SELECT try($$INSERT INTO t (id, owner, token) VALUES (2, 'a', {a})$$);
SELECT try($$INSERT INTO t (id, owner, token) VALUES (3, 'a', {b})$$);
SELECT try($$INSERT INTO t (id, owner) VALUES (3, 'a')$$);
SELECT try($$UPDATE t SET v = 1, token = {a}$$);
SELECT id, owner, v, token, name_of(written_under) FROM t ORDER BY id;

-- In a block, written before, between and after; then taken back.
BEGIN;
SELECT present('a');
UPDATE t SET v = 2;
ALTER TABLE t RENAME owner TO tenant;
UPDATE t SET v = 3;
SELECT * FROM guard;
SAVEPOINT s;
ALTER TABLE t RENAME tenant TO renter;
UPDATE t SET v = 4;
ROLLBACK TO s;
UPDATE t SET v = 5;
SELECT * FROM guard;
ROLLBACK;
SELECT * FROM guard;
SELECT try($$UPDATE t SET v = 1, token = {a}$$);
SELECT try($$UPDATE t SET v = 1, token = {b}$$);

-- Two columns that change places: the guard stays with the column, not with its name.
ALTER TABLE t ADD other text DEFAULT 'b';
BEGIN;
ALTER TABLE t RENAME owner TO swapped;
ALTER TABLE t RENAME other TO owner;
ALTER TABLE t RENAME swapped TO other;
COMMIT;
SELECT * FROM guard;
SELECT try($$UPDATE t SET v = 6, token = {a}$$);
SELECT try($$UPDATE t SET v = 7, token = {b}$$);

-- Dropped.
ALTER TABLE t DROP COLUMN other;
SELECT try($$UPDATE t SET v = 8, token = {a}$$);
SELECT try($$DELETE FROM t$$);
SELECT try($$INSERT INTO t (id) VALUES (4)$$);
SELECT try($$TRUNCATE t$$);
-- A new column of that name says nothing about the rows that are there; it is the owner's to say that it does.
ALTER TABLE t ADD other text;
SELECT try($$UPDATE t SET v = 8, token = {a}$$);
SELECT try($$UPDATE t SET other = 'a', token = {a}$$);
SELECT try($$SELECT fencing.alter_guard('t', key_columns => '{owner}')$$);
SELECT try($$UPDATE t SET v = 8, token = {b}$$);
SELECT try($$UPDATE t SET v = 8, token = {a}$$);
ALTER TABLE t DROP COLUMN written_under;
SELECT try($$UPDATE t SET v = 9, token = {b}$$);
SELECT try($$SELECT fencing.alter_guard('t', token_column => '')$$);
SELECT try($$UPDATE t SET v = 9, token = {b}$$);
ALTER TABLE t DROP COLUMN token;
BEGIN;
SELECT present('b');
SELECT try($$UPDATE t SET v = 10$$);
COMMIT;
SELECT try($$SELECT fencing.alter_guard('t', present_column => '')$$);
BEGIN;
SELECT present('b');
SELECT try($$UPDATE t SET v = 10$$);
COMMIT;
SELECT try($$UPDATE t SET v = 11$$);
SELECT * FROM guard;

-- Another type.
ALTER TABLE t ALTER owner TYPE varchar(20);
BEGIN;
SELECT present('b');
SELECT try($$UPDATE t SET v = 12$$);
COMMIT;
ALTER TABLE t ALTER owner TYPE char(20);
BEGIN;
SELECT present('b');
SELECT try($$UPDATE t SET v = 13$$);
COMMIT;
ALTER TABLE t ALTER owner DROP DEFAULT, ALTER owner TYPE jsonb USING to_jsonb(owner);
SELECT try($$DELETE FROM t$$);
ALTER TABLE t ALTER owner TYPE text USING 'a';
SELECT try($$DELETE FROM t$$);
BEGIN;
SELECT present('a');
SELECT try($$UPDATE t SET v = 14$$);
COMMIT;

-- The same on partitions, and on inheriting tables, by way of the parent.
CREATE TABLE parted (id int, k text, fence bigint) PARTITION BY LIST (k);
CREATE TABLE part PARTITION OF parted FOR VALUES IN ('a') PARTITION BY RANGE (id);
CREATE TABLE sub PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE base (id int, k text, fence bigint);
CREATE TABLE heir (x int) INHERITS (base);
SELECT try($$SELECT fencing.protect('parted', 'jobs', key_columns => '{k}', present_column => 'fence')$$);
SELECT try($$SELECT fencing.protect('base', 'jobs', key_columns => '{k}', present_column => 'fence')$$);
ALTER TABLE parted RENAME fence TO token;
ALTER TABLE parted RENAME k TO owner;
ALTER TABLE base RENAME k TO owner;
SELECT * FROM guard WHERE relation <> 't'::regclass;
SELECT try($$INSERT INTO sub VALUES (1, 'a', {a})$$);
SELECT try($$INSERT INTO sub VALUES (1, 'a', {b})$$);
SELECT try($$INSERT INTO heir VALUES (1, 'a', {a})$$);
SELECT try($$INSERT INTO heir VALUES (1, 'a', {b})$$);
ALTER TABLE base DROP COLUMN owner;
SELECT try($$DELETE FROM heir$$);
SELECT try($$DELETE FROM base$$);
SELECT count(*) FROM pg_trigger WHERE tgname ~ '^~fencing' AND tgenabled <> 'A';
