-- Indexes that are built anew under other numbers: whoever has the old ones in mind learns of it.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set remote :abs_srcdir '/sql/include/remote.sql'
\i :remote
\set ECHO all
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE t (id int);
CREATE TABLE r (id int);
CREATE TABLE u (id int);
SELECT fencing.register_coordinator('etcd', 'etcd', 'a'), fencing.install_epoch('etcd', 5, id(5));
SELECT fencing.protect('t', 'jobs', 'a'), fencing.protect('r', 'jobs', 'a', fence => 'destination', coordinator => 'etcd');
SELECT take('first');
SELECT fencing.begin_epoch_transition('test');
SELECT fencing.open_epoch('test') > 0;

REINDEX TABLE CONCURRENTLY fencing.remote_fence;
SELECT under('5:1', 'INSERT INTO r VALUES (1)');
REINDEX TABLE CONCURRENTLY fencing.remote_use;
SELECT fencing.purge_fences('etcd', '0');
REINDEX TABLE CONCURRENTLY fencing.fence_floor;
SELECT under('5:2', 'INSERT INTO r VALUES (2)');
REINDEX TABLE CONCURRENTLY fencing.coordinator;
SELECT fencing.install_epoch('etcd', 6, id(6));
SELECT verdict FROM fencing.lineage();
REINDEX TABLE CONCURRENTLY fencing.event;
SELECT verdict FROM fencing.lineage();
REINDEX TABLE CONCURRENTLY fencing.installation;
SELECT fencing.install_local('t');
REINDEX TABLE CONCURRENTLY fencing.guarded;
SELECT fencing.protect('u', 'jobs', 'b');
REINDEX TABLE CONCURRENTLY fencing.epoch;
REINDEX TABLE CONCURRENTLY fencing.term;
REINDEX TABLE CONCURRENTLY fencing.lease;
REINDEX TABLE CONCURRENTLY fencing.fence;
SELECT take('second');
