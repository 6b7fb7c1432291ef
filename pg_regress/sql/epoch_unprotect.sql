-- A table that is guarded no more is nothing that an epoch waits for; guarded again, it is as it was.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE t (id int);
SELECT fencing.protect('t', 'jobs', 'a');
SELECT fencing.begin_epoch_transition('test');
SELECT fencing.open_epoch('test') > 0;
SELECT verdict FROM fencing.lineage();
SELECT fencing.unprotect('t');
SELECT verdict FROM fencing.lineage();
SELECT try($$SELECT fencing.resume('t')$$);
SELECT fencing.protect('t', 'jobs', 'a');
SELECT verdict FROM fencing.lineage();
SELECT take('new');
SELECT left(try($$DO 'BEGIN PERFORM fencing.present({new}); INSERT INTO t VALUES (1); END'$$), 5);
SELECT fencing.install_local('t');
SELECT fencing.prove_epoch('t');
SELECT fencing.resume('t');
SELECT verdict FROM fencing.lineage();
SELECT try($$DO 'BEGIN PERFORM fencing.present({new}); INSERT INTO t VALUES (1); END'$$);
