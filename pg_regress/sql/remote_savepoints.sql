-- Fences of a coordinator elsewhere follow savepoints, end with the transaction, and are not PREPAREd.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set remote :abs_srcdir '/sql/include/remote.sql'
\i :remote
\set ECHO all

SELECT try($$SELECT fencing.register_coordinator('etcd', 'etcd', 'c1')$$), try('SELECT fencing.install_epoch(''etcd'', 5, id(1))');
CREATE TABLE doc (id int, fence bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', present_column => 'fence', fence => 'destination', coordinator => 'etcd')$$);
-- The fences that this session holds: with which lock.
CREATE VIEW held AS SELECT mode, count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 19506 AND pid = pg_backend_pid() GROUP BY mode;
SELECT try('INSERT INTO doc VALUES (1, {5:2})');

-- Shared with others under the same token, alone to advance it; let go with the transaction.
BEGIN;
SELECT try('INSERT INTO doc VALUES (2, {5:2})');
SELECT * FROM held;
COMMIT;
BEGIN;
SELECT try('INSERT INTO doc VALUES (3, {5:3})');
SELECT * FROM held;
SELECT try('INSERT INTO doc VALUES (4, {5:3})'), try('INSERT INTO doc VALUES (4, {5:2})');
SELECT * FROM held;
ROLLBACK;
SELECT * FROM held;
SELECT * FROM stored;

-- An advance that is rolled back was none.
BEGIN;
SAVEPOINT s;
INSERT INTO doc SELECT 5, token('5:5');
SELECT * FROM held;
SELECT * FROM stored;
ROLLBACK TO s;
SELECT * FROM held;
SELECT * FROM stored;
SELECT try('INSERT INTO doc VALUES (6, {5:2})');
SELECT * FROM held;
COMMIT;
SELECT * FROM stored;
-- Released, it is the outer one's.
BEGIN;
SAVEPOINT s;
SAVEPOINT t;
INSERT INTO doc SELECT 7, token('5:3');
RELEASE t;
SELECT try('INSERT INTO doc VALUES (8, {5:4})');
RELEASE s;
SELECT * FROM held;
SELECT try('INSERT INTO doc VALUES (8, {5:4})');
COMMIT;
SELECT * FROM stored;
BEGIN;
SAVEPOINT s;
SAVEPOINT t;
INSERT INTO doc SELECT 9, token('5:4');
RELEASE t;
ROLLBACK TO s;
SELECT * FROM held;
SELECT * FROM stored;
SELECT try('INSERT INTO doc VALUES (9, {5:3})'), try('INSERT INTO doc VALUES (9, {5:4})');
COMMIT;
-- After a rejection that a block has caught.
BEGIN;
SELECT try('INSERT INTO doc VALUES (10, {5:1})');
SELECT * FROM held;
SELECT try('INSERT INTO doc VALUES (10, {5:4})');
SELECT * FROM held;
COMMIT;
SELECT * FROM stored;
SELECT id FROM doc ORDER BY id;

-- What a savepoint presented by name goes with it.
BEGIN;
SAVEPOINT s;
SELECT present('5:4', 'a');
INSERT INTO doc VALUES (11);
ROLLBACK TO s;
SELECT left(try('INSERT INTO doc VALUES (11)'), 5);
SELECT present('5:5', 'a');
INSERT INTO doc VALUES (11);
COMMIT;
SELECT * FROM stored;

-- PREPARE is refused, unless it is allowed; of what keeps a coordinator's writers out, always.
BEGIN;
SELECT FROM fencing.install_epoch('etcd', 5, id(1));
SET LOCAL fencing.allow_prepare = on;
PREPARE TRANSACTION 'remote';
BEGIN;
INSERT INTO doc SELECT 12, token('5:5');
PREPARE TRANSACTION 'remote';
BEGIN;
INSERT INTO doc SELECT 12, token('5:6');
SET LOCAL fencing.allow_prepare = on;
PREPARE TRANSACTION 'remote';
SELECT * FROM held;
SET lock_timeout = '100 ms';
SELECT left(try('INSERT INTO doc VALUES (13, {5:5})'), 5), left(try('INSERT INTO doc VALUES (13, {5:6})'), 5), left(try('INSERT INTO doc VALUES (13, {5:7})'), 5);
SELECT try('SELECT fencing.install_epoch(''etcd'', 6, id(2))');
SELECT try($$SELECT fencing.seal('etcd', 'jobs', 'a', {5:7})$$);
COMMIT PREPARED 'remote';
RESET lock_timeout;
SELECT left(try('INSERT INTO doc VALUES (13, {5:5})'), 5), left(try('INSERT INTO doc VALUES (13, {5:6})'), 5), left(try('INSERT INTO doc VALUES (13, {5:7})'), 5);
SELECT * FROM stored;
SELECT id FROM doc WHERE id > 10 ORDER BY id;
-- In a transaction that holds a fence nothing of a coordinator is changed.
BEGIN;
INSERT INTO doc SELECT 14, token('5:7');
SELECT try('SELECT fencing.install_epoch(''etcd'', 6, id(2))');
SELECT left(try($$SELECT fencing.register_coordinator('zk', 'zookeeper', 'z')$$), 5);
COMMIT;
