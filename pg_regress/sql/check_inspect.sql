-- check_token and inspect: what became of a term, how a lease stands. Both only read.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '30 s')$$);
SELECT try($$SELECT fencing.create_namespace('calm', ttl => '30 s', min_hold => '40 s', cool_down => '1 min')$$);
CREATE FUNCTION look(key text, namespace text DEFAULT 'jobs', OUT state text, OUT token text, OUT holder text, OUT ttl interval, OUT remaining text, OUT waiters int, OUT blocked_by int[])
    LANGUAGE sql AS $$
    SELECT i.state, name_of(i.token), i.holder, i.expires_at - i.acquired_at,
           CASE WHEN i.remaining = '0' THEN 'nothing' WHEN i.remaining > '0' AND i.remaining <= '30 s' THEN 'some' END, i.waiters, i.blocked_by
      FROM fencing.inspect($2, $1) AS i
$$;

-- free: one row, whatever there is; its first columns repeat the question.
SELECT namespace, key, state, token, holder, acquired_at, expires_at, remaining, waiters, blocked_by FROM fencing.inspect('jobs', 'never seen');
SELECT count(*) FROM fencing.lease;
-- held
SELECT take('a');
SELECT status FROM fencing.check_token(token('a'));
SELECT * FROM look('a');
-- free again
SELECT status FROM fencing.release(token('a'));
SELECT status FROM fencing.check_token(token('a'));
SELECT * FROM look('a');
-- expired: the last holder is still named, nothing remains.
SELECT take('b');
SET fencing.test_clock_offset = '31 s';
SELECT status FROM fencing.check_token(token('b'));
SELECT * FROM look('a');
-- superseded
SELECT take('c');
SELECT status FROM fencing.check_token(token('b'));
SELECT status FROM fencing.check_token(token('c'));
SELECT * FROM look('a');
RESET fencing.test_clock_offset;
-- cooling_down: after a release as after an expiry.
SELECT take('d', 'd', 'calm');
SELECT status FROM fencing.release(token('d'));
SELECT state, waiters, blocked_by FROM look('d', 'calm');
SELECT take('e', 'e', 'calm');
SET fencing.test_clock_offset = '31 s';
SELECT state, waiters, blocked_by FROM look('e', 'calm');
SELECT status FROM fencing.check_token(token('e'));
SET fencing.test_clock_offset = '91 s';
SELECT state FROM look('e', 'calm');
SELECT state FROM look('d', 'calm');
RESET fencing.test_clock_offset;
-- unknown
SELECT number, fencing.check_token(number) FROM unnest(ARRAY[0, -1, 42, fencing.make_token(1, 1), 9223372036854775807]) AS number;

-- Anybody may ask what became of a token; how a lease stands needs a privilege, any.
CREATE ROLE regress_inspect_anna;
SET ROLE regress_inspect_anna;
SELECT status FROM fencing.check_token(token('c'));
SELECT try($$SELECT fencing.inspect('jobs', 'a')$$);
RESET ROLE;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_inspect_anna', 'administer')$$);
SET ROLE regress_inspect_anna;
SELECT state FROM look('never seen');
RESET ROLE;
DROP ROLE regress_inspect_anna;

-- Both only read.
BEGIN READ ONLY;
SELECT status FROM fencing.check_token(token('a'));
SELECT state FROM look('never seen');
SELECT pg_current_xact_id_if_assigned();
COMMIT;

-- What this transaction did counts; what it took back doesn't.
BEGIN;
SELECT status FROM fencing.release(token('c'));
SELECT state FROM look('a');
SELECT status FROM fencing.check_token(token('c'));
ROLLBACK;
SELECT state FROM look('a');
-- A snapshot doesn't hold the answer back.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT state FROM look('never seen');
SELECT status FROM fencing.renew(token('c'));
SELECT status FROM fencing.check_token(token('c'));
COMMIT;

-- Bad arguments.
SELECT try('SELECT fencing.check_token(NULL)');
SELECT try($$SELECT fencing.inspect(NULL, 'a')$$);
SELECT try($$SELECT fencing.inspect('jobs', NULL)$$);
SELECT try($$SELECT fencing.inspect('job', 'a')$$);
SELECT try($$SELECT fencing.inspect('jobs', '')$$);
SELECT try(format('SELECT fencing.inspect(%L, %L)', 'jobs', repeat('k', 513)));

-- closed: an epoch's transition is under way.
SELECT fencing.begin_epoch_transition('test');
\c
SET client_min_messages = warning;
SELECT state FROM look('never seen');
SELECT state FROM look('a');
SELECT status FROM fencing.check_token(token('a'));
SELECT status FROM fencing.check_token(token('c'));
