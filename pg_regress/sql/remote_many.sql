-- A transaction under more fences of a coordinator elsewhere than it locks: the others it holds by their rows.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set remote :abs_srcdir '/sql/include/remote.sql'
\i :remote
\set ECHO all

SELECT try($$SELECT fencing.register_coordinator('etcd', 'etcd', 'c1')$$), try('SELECT fencing.install_epoch(''etcd'', 5, id(1))');
CREATE TABLE task (id int, fence bigint);
SELECT try($$SELECT fencing.protect('task', 'tasks', key_columns => '{id}', present_column => 'fence', fence => 'destination', coordinator => 'etcd')$$);
CREATE VIEW held AS SELECT mode, count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 19506 AND pid = pg_backend_pid() GROUP BY mode;
CREATE VIEW counted AS SELECT name_of(token), count(*) FROM fencing.remote_fence GROUP BY token ORDER BY token;

BEGIN;
INSERT INTO task SELECT n, token('5:1') FROM generate_series(1, 1000) AS n;
SELECT * FROM held;
SELECT * FROM counted;
INSERT INTO task SELECT n, token('5:1') FROM generate_series(1, 1000) AS n;
SELECT try('INSERT INTO task VALUES (999, {5:2})');
COMMIT;
SELECT * FROM counted;
-- Under tokens that are stored already, too.
BEGIN;
INSERT INTO task SELECT n, token('5:1') FROM generate_series(1, 1000) AS n;
SELECT * FROM held;
SAVEPOINT s;
INSERT INTO task SELECT n, token('5:2') FROM generate_series(1001, 1010) AS n;
ROLLBACK TO s;
SELECT * FROM held;
SELECT try('INSERT INTO task VALUES (1001, {5:1})');
COMMIT;
SELECT * FROM counted;
-- A savepoint that held many gives them back.
BEGIN;
SAVEPOINT s;
INSERT INTO task SELECT n, token('5:3') FROM generate_series(1, 1000) AS n;
SELECT * FROM counted;
ROLLBACK TO s;
SELECT * FROM held;
SELECT * FROM counted;
INSERT INTO task SELECT n, token('5:2') FROM generate_series(1, 300) AS n;
SELECT * FROM held;
COMMIT;
SELECT * FROM counted;
-- What is held by its row is nobody else's to purge.
BEGIN;
INSERT INTO task SELECT n, token('5:2') FROM generate_series(1, 1000) AS n;
SET LOCAL fencing.test_clock_offset = '1 d';
SELECT fencing.purge_fences('etcd', '1 h');
COMMIT;
SELECT left(try('INSERT INTO task VALUES (1000, {5:1})'), 5), left(try('INSERT INTO task VALUES (1001, {5:1})'), 5);
-- Prepared, it holds them as before.
SET fencing.allow_prepare = on;
BEGIN;
INSERT INTO task SELECT n, token('5:3') FROM generate_series(1, 300) AS n;
PREPARE TRANSACTION 'many';
SET lock_timeout = '100 ms';
SELECT left(try('INSERT INTO task VALUES (1, {5:2})'), 5), left(try('INSERT INTO task VALUES (300, {5:2})'), 5), left(try('INSERT INTO task VALUES (300, {5:4})'), 5), left(try('INSERT INTO task VALUES (301, {5:4})'), 5);
SELECT try($$SELECT fencing.seal('etcd', 'tasks', '300', {5:4})$$);
COMMIT PREPARED 'many';
SELECT left(try('INSERT INTO task VALUES (300, {5:2})'), 5), left(try('INSERT INTO task VALUES (300, {5:4})'), 5);
