-- purge_fences: what is used no more is forgotten, and a floor stands for it.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set remote :abs_srcdir '/sql/include/remote.sql'
\i :remote
\set ECHO all

SELECT try($$SELECT fencing.register_coordinator('etcd', 'etcd', 'c1')$$), try('SELECT fencing.install_epoch(''etcd'', 5, id(1))');
SELECT try($$SELECT fencing.register_coordinator('zk', 'zookeeper', 'z1')$$), try('SELECT fencing.install_epoch(''zk'', 5, id(2))');
CREATE TABLE task (id int, region text, fence bigint);
SELECT try($$SELECT fencing.protect('task', 'tasks', key_columns => '{region}', present_column => 'fence', fence => 'destination', coordinator => 'etcd')$$);
CREATE TABLE other (id int, fence bigint);
SELECT try($$SELECT fencing.protect('other', 'others', 'o', present_column => 'fence', fence => 'destination', coordinator => 'etcd')$$);
CREATE TABLE zoo (id int, fence bigint);
SELECT try($$SELECT fencing.protect('zoo', 'tasks', 'eu', present_column => 'fence', fence => 'destination', coordinator => 'zk')$$);
CREATE VIEW floors AS SELECT coordinator, namespace, name_of(token) FROM fencing.fence_floor ORDER BY 1, 2;

SELECT try($$INSERT INTO task VALUES (1, 'eu', {5:3}), (2, 'us', {5:8}), (3, 'cn', {5:5})$$), try('INSERT INTO other VALUES (1, {5:1})'), try('INSERT INTO zoo VALUES (1, {5:9})');
-- Nothing is idle yet. Use is recorded once an hour, so an hour passes in any case.
SELECT fencing.purge_fences('etcd', '0');
SET fencing.test_clock_offset = '59 min';
SELECT fencing.purge_fences('etcd', '0');
-- An old term that is used is not idle: it is recorded with the first use after an hour, and no more often.
SET fencing.test_clock_offset = '2 h';
SELECT try($$INSERT INTO task VALUES (4, 'eu', {5:3})$$);
SELECT key, round(extract(epoch FROM used_at - clock_timestamp()) / 3600) FROM fencing.remote_use WHERE namespace = 'tasks' AND coordinator = 'etcd' ORDER BY key;
SET fencing.test_clock_offset = '150 min';
SELECT try($$INSERT INTO task VALUES (4, 'eu', {5:3})$$);
SELECT key, round(extract(epoch FROM used_at - clock_timestamp()) / 3600) FROM fencing.remote_use WHERE namespace = 'tasks' AND coordinator = 'etcd' ORDER BY key;
SELECT key, name_of(token), round(extract(epoch FROM advanced_at - clock_timestamp()) / 3600) FROM fencing.remote_fence WHERE namespace = 'tasks' AND coordinator = 'etcd' ORDER BY key;

-- Whoever holds a fence keeps it.
BEGIN;
INSERT INTO other SELECT 2, token('5:1');
SELECT fencing.purge_fences('etcd', '1 h');
COMMIT;
SELECT * FROM stored;
SELECT * FROM floors;
SELECT kind, detail FROM fencing.event WHERE kind = 'fences_purged';
-- What was forgotten takes nothing older than the highest of its namespace that was; what was kept, what it took before.
SELECT left(try($$INSERT INTO task VALUES (5, 'us', {5:7})$$), 5), left(try($$INSERT INTO task VALUES (5, 'cn', {5:4})$$), 5), left(try($$INSERT INTO task VALUES (5, 'jp', {5:7})$$), 5);
SELECT try($$INSERT INTO task VALUES (5, 'jp', {5:7})$$);
SELECT try($$INSERT INTO task VALUES (5, 'eu', {5:3})$$), try($$INSERT INTO task VALUES (5, 'us', {5:8})$$), try($$INSERT INTO task VALUES (5, 'cn', {5:9})$$);
SELECT try('INSERT INTO other VALUES (3, {5:1})'), try('INSERT INTO zoo VALUES (3, {5:9})');
SELECT * FROM stored;
-- A purge that is rolled back was none.
SET fencing.test_clock_offset = '1 d';
BEGIN;
SELECT fencing.purge_fences('etcd', '1 h');
SELECT * FROM floors;
ROLLBACK;
SELECT * FROM floors;
SELECT left(try($$INSERT INTO task VALUES (6, 'cn', {5:8})$$), 5);
-- A floor never falls.
SELECT fencing.purge_fences('etcd', '1 h');
SELECT * FROM floors;
SELECT try($$INSERT INTO task VALUES (6, 'eu', {5:9})$$);
SET fencing.test_clock_offset = '2 d';
SELECT fencing.purge_fences('etcd', '1 h');
SELECT * FROM floors;
-- A new epoch is above every floor.
SELECT try('SELECT fencing.install_epoch(''etcd'', 6, id(1))');
SELECT try($$INSERT INTO task VALUES (7, 'eu', {6:1})$$);
-- Nor does an old snapshot bring anything back.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM stored;
SELECT fencing.purge_fences('zk', '1 h');
SELECT left(try('INSERT INTO zoo VALUES (4, {5:8})'), 5);
COMMIT;
SELECT * FROM stored;

SELECT try($$SELECT fencing.purge_fences('nobody', '1 h')$$);
SELECT try($$SELECT fencing.purge_fences(NULL, '1 h')$$), try($$SELECT fencing.purge_fences('etcd', NULL)$$);
SELECT try($$SELECT fencing.purge_fences('etcd', '-1 s')$$), try($$SELECT fencing.purge_fences('etcd', '1 month')$$);
