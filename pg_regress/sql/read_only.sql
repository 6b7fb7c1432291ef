-- In a read-only transaction every function that writes is refused, by its own name.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$), take('a');
SELECT try($$SELECT fencing.register_coordinator('c', 'etcd', 'c')$$);
CREATE TABLE t (id int);
CREATE TABLE u (id int);
SELECT fencing.protect('t', 'jobs', 'a');
BEGIN READ ONLY;
SELECT try(call) FROM unnest(ARRAY[
    $$SELECT fencing.protect('u', 'jobs', 'a')$$,
    $$SELECT fencing.alter_guard('t')$$,
    $$SELECT fencing.unprotect('t')$$,
    $$SELECT fencing.create_namespace('others')$$,
    $$SELECT fencing.alter_namespace('jobs', notify => true)$$,
    $$SELECT fencing.drop_namespace('jobs')$$,
    $$SELECT fencing.grant_namespace('jobs', 'pg_monitor', 'hold')$$,
    $$SELECT fencing.revoke_namespace('jobs', 'pg_monitor', 'hold')$$,
    $$SELECT fencing.acquire('jobs', 'b', 'x')$$,
    $$SELECT fencing.renew({a})$$,
    $$SELECT fencing.renew_all(ARRAY[{a}])$$,
    $$SELECT fencing.release({a})$$,
    $$SELECT fencing.revoke('jobs', 'a', 'x')$$,
    $$SELECT fencing.request_handover('jobs', 'a')$$,
    $$SELECT fencing.evict('jobs', 'a')$$,
    $$SELECT fencing.drop_lease('jobs', 'a')$$,
    $$SELECT fencing.purge_leases('1 d')$$,
    $$SELECT fencing.report({a}, 'worker_stopped', '{}')$$,
    $$SELECT fencing.maintain('x')$$,
    $$SELECT fencing.register_coordinator('d', 'etcd', 'd')$$,
    $$SELECT fencing.drop_coordinator('c')$$,
    $$SELECT fencing.install_epoch('c', 1, gen_random_uuid())$$,
    $$SELECT fencing.seal('c', 'jobs', 'a', 1)$$,
    $$SELECT fencing.purge_fences('c', '1 d')$$,
    $$SELECT fencing.begin_epoch_transition('x')$$,
    $$SELECT fencing.open_epoch('x')$$,
    $$SELECT fencing.advance_epoch('x')$$,
    $$SELECT fencing.install_local('t')$$,
    $$SELECT fencing.prove_epoch('t')$$,
    $$SELECT fencing.resume('t')$$]) AS call;
ROLLBACK;
