-- Policies while leases are held: what a change means for the terms that run.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '10 min', max_ttl => '1 h')$$);
CREATE TABLE t (id int);
SELECT try($$SELECT fencing.protect('t', 'jobs', key => 'a')$$);

-- max_ttl: a term keeps what it has; its next renewal is bounded, by what it asks for or by itself.
SELECT take('a', ttl => '50 min');
SELECT try($$SELECT fencing.alter_namespace('jobs', ttl => '1 min', max_ttl => '2 min')$$);
SELECT status, remaining > interval '49 min' FROM fencing.check_token(token('a')), fencing.inspect('jobs', 'a');
SELECT try('SELECT fencing.renew({a}, $$2 min 1 s$$)');
SELECT status, trust_for <= interval '2 min' AND trust_for > interval '110 s' AS trust_for FROM fencing.renew(token('a'));
SELECT ttl, expires_at - renewed_at AS until FROM fencing.lease WHERE key = 'a';
SELECT status, trust_for <= interval '2 min' FROM fencing.renew_all(ARRAY[token('a')]);
SELECT status FROM fencing.renew(token('a'), '2 min');
-- Raised, its own ttl is what it was.
SELECT try($$SELECT fencing.alter_namespace('jobs', max_ttl => '40 min')$$);
SELECT status FROM fencing.renew(token('a'));
SELECT expires_at - renewed_at AS until FROM fencing.lease WHERE key = 'a';
-- ttl is the default of grants to come, and changes no term.
SELECT try($$SELECT fencing.alter_namespace('jobs', ttl => '3 min')$$);
SELECT take('b', 'b');
SELECT key, ttl FROM fencing.lease ORDER BY key;
-- What renew says of a ttl out of bounds.
SELECT try('SELECT fencing.renew({a}, $$99 ms$$)');
SELECT try('SELECT fencing.renew({a}, $$40 min 1 us$$)');
SELECT try('SELECT fencing.renew({a}, $$10001 days$$)');
SELECT try('SELECT fencing.renew(1, $$99 ms$$)');

-- on_expiry: from the next write on.
SET fencing.test_clock_offset = '2 h';
BEGIN; SELECT present('a'); SELECT try('INSERT INTO t VALUES (1)'); COMMIT;
SELECT try($$SELECT fencing.alter_namespace('jobs', on_expiry => 'accept_until_superseded')$$);
BEGIN; SELECT present('a'); SELECT try('INSERT INTO t VALUES (2)'); COMMIT;
-- It is expired all the same: not renewed, and anybody's.
SELECT status FROM fencing.renew(token('a'));
SELECT state FROM fencing.inspect('jobs', 'a');
SELECT try($$SELECT fencing.alter_namespace('jobs', on_expiry => 'reject')$$);
BEGIN; SELECT present('a'); SELECT try('INSERT INTO t VALUES (3)'); COMMIT;
SELECT try($$SELECT fencing.alter_namespace('jobs', on_expiry => 'accept_until_superseded')$$);
SELECT take('c');
BEGIN; SELECT present('a'); SELECT try('INSERT INTO t VALUES (4)'); COMMIT;
SELECT id FROM t;
RESET fencing.test_clock_offset;

-- cool_down and min_hold: as they are when somebody asks.
SELECT try($$SELECT fencing.create_namespace('calm', ttl => '1 min')$$);
SELECT take('d', 'd', 'calm'), take('e', 'e', 'calm');
SELECT status FROM fencing.release(token('e'));
SELECT state FROM fencing.inspect('calm', 'e');
SELECT try($$SELECT fencing.alter_namespace('calm', min_hold => '10 min', cool_down => '1 h')$$);
SELECT state FROM fencing.inspect('calm', 'e');
SELECT take('late', 'e', 'calm');
SET fencing.test_clock_offset = '30 min';
SELECT take('late', 'e', 'calm');
SELECT state FROM fencing.inspect('calm', 'd');
SELECT take('late', 'd', 'calm');
-- min_hold delays no renewal, cool_down no look.
SELECT status FROM fencing.check_token(token('d'));
SELECT try($$SELECT fencing.alter_namespace('calm', cool_down => '0')$$);
SELECT take('late', 'd', 'calm');
RESET fencing.test_clock_offset;

-- A rolled back change never was.
BEGIN;
SELECT try($$SELECT fencing.alter_namespace('jobs', ttl => '1 s', max_ttl => '1 s')$$);
SELECT status, trust_for <= interval '1 s' AS short FROM fencing.renew(token('c'));
ROLLBACK;
SELECT take('f', 'f');
SELECT ttl FROM fencing.lease WHERE key = 'f';
