-- evict and blockers where nothing is in the way, and who may; sessions against each other are for the clusters' tests.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '30 s')$$);
SELECT try($$SELECT fencing.create_namespace('lax', ttl => '30 s', on_expiry => 'accept_until_superseded')$$);
-- Never granted, given back, taken away, run out: nobody is in the way.
SELECT * FROM fencing.blockers('jobs', 'a');
SELECT * FROM fencing.evict('jobs', 'a');
SELECT take('a');
SELECT * FROM fencing.blockers('jobs', 'a');
-- While it is held, nobody is evicted.
SELECT try($$SELECT fencing.evict('jobs', 'a')$$);
SELECT status FROM fencing.release(token('a'));
SELECT * FROM fencing.evict('jobs', 'a');
SELECT take('b');
SELECT status FROM fencing.revoke('jobs', 'a', 'x', '10 s');
SELECT left(try($$SELECT fencing.evict('jobs', 'a')$$), 5);
SET fencing.test_clock_offset = '11 s';
SELECT * FROM fencing.evict('jobs', 'a');
RESET fencing.test_clock_offset;
SELECT take('c', 'c');
SET fencing.test_clock_offset = '31 s';
SELECT * FROM fencing.evict('jobs', 'c');
RESET fencing.test_clock_offset;
SELECT count(*) FROM fencing.event WHERE kind = 'eviction';
-- Never itself.
SELECT take('l', 'l', 'lax');
BEGIN;
SELECT fencing.assert_current(token('l'));
SET LOCAL fencing.test_clock_offset = '31 s';
SELECT * FROM fencing.blockers('lax', 'l');
SELECT * FROM fencing.evict('lax', 'l');
COMMIT;

-- Who may: administrators end sessions; whoever may use the lease sees what is in its way.
CREATE ROLE regress_evict_anna;
SET ROLE regress_evict_anna;
SELECT try($$SELECT fencing.blockers('jobs', 'a')$$);
SELECT try($$SELECT fencing.evict('jobs', 'a')$$);
RESET ROLE;
SELECT privilege, try(format('SELECT fencing.grant_namespace(%L, %L, %L)', 'jobs', 'regress_evict_anna', privilege)) FROM unnest(ARRAY['hold', 'observe']) AS privilege;
SET ROLE regress_evict_anna;
SELECT * FROM fencing.blockers('jobs', 'a');
SELECT left(try($$SELECT fencing.evict('jobs', 'a')$$), 5);
RESET ROLE;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_evict_anna', 'administer')$$);
SELECT status FROM fencing.revoke('jobs', 'a', 'now');
SET ROLE regress_evict_anna;
SELECT * FROM fencing.evict('jobs', 'a');
RESET ROLE;
DROP ROLE regress_evict_anna;

-- Bad arguments.
SELECT try($$SELECT fencing.evict(NULL, 'a')$$);
SELECT try($$SELECT fencing.evict('jobs', NULL)$$);
SELECT try($$SELECT fencing.evict('jobs', '')$$);
SELECT try($$SELECT fencing.evict('job', 'a')$$);
SELECT try($$SELECT fencing.blockers(NULL, 'a')$$);
SELECT try($$SELECT fencing.blockers('jobs', NULL)$$);
SELECT try($$SELECT fencing.blockers('jobs', '')$$);
SELECT try($$SELECT fencing.blockers('job', 'a')$$);
BEGIN READ ONLY;
SELECT * FROM fencing.blockers('jobs', 'a');
SELECT try($$SELECT fencing.evict('jobs', 'a')$$);
ROLLBACK;
-- Wherever a set may stand.
SELECT count(*) FROM ROWS FROM (fencing.blockers('jobs', 'a'), generate_series(1, 3));
SELECT fencing.blockers('jobs', 'a');
