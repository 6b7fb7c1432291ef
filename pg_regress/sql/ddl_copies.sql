-- Copies of a guarded table, and tables that take its place: a guard belongs to a table, not to its
-- name, and what should be guarded is remembered by name.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT take('a');
CREATE TABLE t (id int PRIMARY KEY, v int, fence bigint);
SELECT try($$SELECT fencing.protect('t', 'jobs', 'a', present_column => 'fence')$$);
SELECT try($$INSERT INTO t VALUES (1, 1, {a})$$);

-- No copy has a guard, and none is thought to.
CREATE TABLE alike (LIKE t INCLUDING ALL);
CREATE TABLE selected AS TABLE t;
SELECT try($$INSERT INTO alike VALUES (1)$$);
SELECT try($$INSERT INTO selected VALUES (2)$$);
SELECT relation FROM fencing.guards;
-- Inheriting is no copying.
CREATE TABLE heir () INHERITS (t);
SELECT try($$INSERT INTO heir VALUES (1)$$);
SELECT relation FROM fencing.guards ORDER BY relation::text;
DROP TABLE heir;

-- A new table takes the place of the old one, which keeps its guard.
BEGIN;
ALTER TABLE t RENAME TO old;
ALTER TABLE alike RENAME TO t;
COMMIT;
SELECT try($$INSERT INTO old VALUES (2, 1)$$);
SELECT relation FROM fencing.guards;
SELECT schema, name FROM fencing.guarded ORDER BY name;
SELECT try($$INSERT INTO t VALUES (2, 1)$$);
-- Guarded as well, it is as it was.
SELECT try($$SELECT fencing.protect('t', 'jobs', 'a', present_column => 'fence')$$);
SELECT try($$INSERT INTO t VALUES (3, 1)$$);
SELECT try($$INSERT INTO t VALUES (3, 1, {a})$$);
DROP TABLE old;
SELECT relation FROM fencing.guards;
SELECT schema, name FROM fencing.guarded ORDER BY name;

-- One that need not be guarded.
ALTER TABLE selected RENAME TO old;
SELECT try($$SELECT fencing.unprotect('old')$$);
ALTER TABLE old RENAME TO older;
ALTER TABLE older RENAME TO old;

-- A partition is exchanged: what comes is guarded as it joins, what goes stays guarded.
CREATE TABLE parted (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (10);
SELECT try($$SELECT fencing.protect('parted', 'jobs', 'a')$$);
CREATE TABLE fresh (LIKE parted INCLUDING ALL);
INSERT INTO fresh VALUES (1, 1);
BEGIN;
ALTER TABLE parted DETACH PARTITION part;
ALTER TABLE part RENAME TO gone;
ALTER TABLE fresh RENAME TO part;
ALTER TABLE parted ATTACH PARTITION part FOR VALUES FROM (0) TO (10);
COMMIT;
SELECT try($$UPDATE part SET v = 2$$);
SELECT try($$TRUNCATE part$$);
SELECT try($$UPDATE gone SET v = 2$$);
SELECT try($$TRUNCATE gone$$);
SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE tgname ~ '^~fencing' ORDER BY tgrelid::regclass::text, tgname;
