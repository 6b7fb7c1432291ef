-- A token that is presented by its lease's name belongs to the first whose guard takes it: this database, or one
-- coordinator. Whoever else has a lease of that name takes its token inline.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set remote :abs_srcdir '/sql/include/remote.sql'
\i :remote
\set ECHO all

SELECT try($$SELECT fencing.register_coordinator('c', 'etcd', 'c')$$), try('SELECT fencing.install_epoch(''c'', 5, id(1))');
SELECT try($$SELECT fencing.register_coordinator('d', 'etcd', 'd')$$), try('SELECT fencing.install_epoch(''d'', 5, id(2))');
SELECT try($$SELECT fencing.create_namespace('jobs')$$), take('a');
SELECT try(format('SELECT fencing.register_coordinator(''self'', ''fencing'', ''x'')')), try(format('SELECT fencing.install_epoch(''self'', %s, %L)', epoch, identity)) FROM fencing.epoch;
CREATE TABLE here (id int, f bigint);
CREATE TABLE s (id int, f bigint);
CREATE TABLE s2 (id int, f bigint);
CREATE TABLE own (id int, f bigint);
SELECT try($$SELECT fencing.protect('here', 'jobs', 'a', present_column => 'f')$$);
SELECT try($$SELECT fencing.protect('s', 'jobs', 'a', present_column => 'f', fence => 'destination', coordinator => 'c')$$);
SELECT try($$SELECT fencing.protect('s2', 'jobs', 'a', present_column => 'f', fence => 'destination', coordinator => 'd')$$);
SELECT try($$SELECT fencing.protect('own', 'jobs', 'a', present_column => 'f', fence => 'destination', coordinator => 'self')$$);

-- What was meant for c is not d's.
BEGIN;
SELECT present('5:9', 'a');
SELECT try('INSERT INTO s VALUES (1)');
SELECT try('INSERT INTO s2 VALUES (1)', true);
SELECT try('DELETE FROM s2 WHERE false'), try('UPDATE s SET id = 1');
COMMIT;
SELECT * FROM stored;
SELECT try('INSERT INTO s2 VALUES (2, {5:1})');
-- It follows savepoints.
BEGIN;
SELECT present('5:9', 'a');
SAVEPOINT one;
INSERT INTO s VALUES (2);
ROLLBACK TO one;
SELECT try('INSERT INTO s2 VALUES (3)'), left(try('INSERT INTO s VALUES (3)'), 5);
ROLLBACK;
BEGIN;
SAVEPOINT one;
SELECT present('5:9', 'a');
SAVEPOINT two;
INSERT INTO s VALUES (4);
RELEASE two;
SELECT left(try('INSERT INTO s2 VALUES (4)'), 5);
ROLLBACK TO one;
SELECT present('5:2', 'a');
SELECT try('INSERT INTO s2 VALUES (4)'), left(try('INSERT INTO s VALUES (4)'), 5);
ROLLBACK;
-- A guard that only observes takes nothing, and is told the same.
SELECT fencing.alter_guard('s', mode => 'observe');
BEGIN;
SELECT present('5:9', 'a');
SELECT try('INSERT INTO s VALUES (5)'), try('INSERT INTO s2 VALUES (5)'), try('INSERT INTO s VALUES (5)');
ROLLBACK;
SELECT fencing.alter_guard('s', mode => 'enforce');

-- One by name, which is used first, and the other inline.
BEGIN;
SELECT present('5:9', 'a');
SELECT try('INSERT INTO s VALUES (6)'), try('INSERT INTO s2 VALUES (6, {5:1})'), try('UPDATE s SET id = 7');
SELECT try('INSERT INTO here VALUES (6, {a})');
COMMIT;
BEGIN;
SELECT present('a', 'a');
SELECT try('INSERT INTO here VALUES (7)'), try('INSERT INTO s VALUES (7, {5:9})'), try('INSERT INTO s2 VALUES (7, {5:1})');
COMMIT;
-- A token of this database, plainly.
BEGIN;
SELECT present('a');
SELECT try('INSERT INTO here VALUES (8)'), try('INSERT INTO s VALUES (8, {5:9})'), try('INSERT INTO s2 VALUES (8, {5:1})');
COMMIT;
-- All of them inline.
BEGIN;
SELECT try('INSERT INTO here VALUES (9, {a})'), try('INSERT INTO s VALUES (9, {5:9})'), try('INSERT INTO s2 VALUES (9, {5:1})');
COMMIT;
-- The other way round it is contradictory: the name may be meant for it.
BEGIN;
SELECT present('5:9', 'a');
SELECT try('INSERT INTO s2 VALUES (10, {5:1})');
SELECT try('INSERT INTO here VALUES (10, {a})');
COMMIT;
SELECT * FROM stored;

-- A token of this database is not a coordinator's either, nor the other way round; also where that is this very one.
BEGIN;
SELECT present('a', 'a');
SELECT try('INSERT INTO here VALUES (11)');
SELECT try('INSERT INTO own VALUES (11)');
SELECT try('INSERT INTO own VALUES (11, {a})');
ROLLBACK;
BEGIN;
SELECT present('a', 'a');
SELECT try('INSERT INTO own VALUES (12)');
SELECT try('INSERT INTO here VALUES (12)', true);
SELECT try('INSERT INTO here VALUES (12, {a})');
ROLLBACK;
BEGIN;
SELECT present('a'), present('a', 'a');
SELECT try('INSERT INTO here VALUES (13)'), try('INSERT INTO own VALUES (13)'), try('INSERT INTO here VALUES (13)');
COMMIT;
SELECT * FROM stored;
