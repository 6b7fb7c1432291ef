-- acquire(wait => ...): how a wait ends that nobody else has a part in.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '10 min')$$);
SELECT try($$SELECT fencing.create_namespace('calm', ttl => '10 min', min_hold => '1 s', cool_down => '1 min')$$);
-- How long the last call took is told in steps.
CREATE TABLE clock (at timestamptz);
CREATE PROCEDURE start() LANGUAGE sql AS 'TRUNCATE clock; INSERT INTO clock VALUES (clock_timestamp())';
CREATE FUNCTION waited(least_time interval) RETURNS boolean LANGUAGE sql
    AS $$SELECT clock_timestamp() - at BETWEEN least_time AND least_time + interval '5 s' FROM clock$$;

-- Free: at once, however long it might have waited. More than the administrator allows is no error.
CALL start();
SELECT status FROM fencing.acquire('jobs', 'a', 'one', wait => '10000 days');
SELECT waited('0');
-- Held to the end: the same answer as without waiting, and no transaction id.
CALL start();
SELECT status, token, holder, retry_after > '9 min' AS retry_after, blocked_by, pg_current_xact_id_if_assigned() AS xid
  FROM fencing.acquire('jobs', 'a', 'two', wait => '200 ms');
SELECT waited('200 ms');
SELECT waiters FROM fencing.inspect('jobs', 'a');
-- It runs out meanwhile: granted at that moment, in every isolation level.
SELECT status FROM fencing.acquire('jobs', 'b', 'one', ttl => '200 ms');
SELECT status, acquired_at > statement_timestamp() AS acquired_at, expires_at - acquired_at AS ttl, trust_for FROM fencing.acquire('jobs', 'b', 'two', ttl => '100 ms', wait => '5 s');
SET default_transaction_isolation = 'repeatable read';
SELECT status, trust_for FROM fencing.acquire('jobs', 'b', 'three', ttl => '100 ms', wait => '5 s');
SET default_transaction_isolation = 'serializable';
SELECT status, trust_for FROM fencing.acquire('jobs', 'b', 'four', ttl => '100 ms', wait => '5 s');
RESET default_transaction_isolation;
SELECT end_reason, ended_at = expires_at AS at_expiry, end_observed_at - ended_at < '1 s' AS soon FROM fencing.term WHERE key = 'b' AND ended_at IS NOT NULL;
-- min_hold ends meanwhile.
SELECT take('calm', 'a', 'calm');
SELECT status FROM fencing.release(token('calm'));
SELECT status FROM fencing.acquire('calm', 'a', 'two', wait => '100 ms');
SELECT status, acquired_at - (SELECT t.acquired_at FROM fencing.term AS t WHERE t.token = token('calm')) >= '1 s' AS after_min_hold
  FROM fencing.acquire('calm', 'a', 'two', wait => '5 s');

-- In the way to the end: whoever it is, is named.
SET fencing.allow_prepare = on;
CREATE TABLE doc (v text, fence bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', key => 'c', present_column => 'fence')$$);
SELECT take('c', 'c');
BEGIN;
INSERT INTO doc VALUES ('prepared', token('c'));
PREPARE TRANSACTION 'wait';
SET fencing.test_clock_offset = '1 h';
CALL start();
SELECT status, token, retry_after, blocked_by FROM fencing.acquire('jobs', 'c', 'two', wait => '200 ms');
SELECT waited('200 ms');
COMMIT PREPARED 'wait';
SELECT status FROM fencing.acquire('jobs', 'c', 'two', wait => '200 ms');
RESET fencing.test_clock_offset;

-- What time can't change is answered at once: a request that was granted, or is over.
\set id 00000000-0000-0000-0000-000000000001
SELECT status FROM fencing.acquire('jobs', 'd', 'one', request_id => :'id', wait => '5 s');
CALL start();
SELECT status, token = (SELECT t.token FROM fencing.term AS t WHERE t.key = 'd') AS same FROM fencing.acquire('jobs', 'd', 'one', request_id => :'id', wait => '60 s');
SELECT fencing.release(token) FROM fencing.term WHERE key = 'd';
SELECT status FROM fencing.acquire('jobs', 'd', 'one', request_id => :'id', wait => '60 s');
SELECT waited('0');

-- In a block, where that is allowed: with what else it holds, and without its place in the queue after.
SET fencing.acquire_in_block = on;
BEGIN;
SELECT status FROM fencing.acquire('jobs', 'e', 'one', wait => '1 s');
SELECT waiters FROM fencing.inspect('jobs', 'e');
SELECT status FROM fencing.acquire('jobs', 'a', 'two', wait => '100 ms');
SELECT waiters FROM fencing.inspect('jobs', 'a');
SAVEPOINT s;
SELECT status FROM fencing.acquire('jobs', 'a', 'two', wait => '100 ms');
ROLLBACK TO s;
COMMIT;
SELECT state FROM fencing.inspect('jobs', 'e');
RESET fencing.acquire_in_block;

-- From a function, and after something that failed.
DO $$
BEGIN
    BEGIN
        PERFORM 1 / 0;
    EXCEPTION WHEN division_by_zero THEN
        NULL;
    END;
    RAISE WARNING '%', (SELECT a.status FROM fencing.acquire('jobs', 'a', 'two', wait => '100 ms') AS a);
    RAISE WARNING '%', (SELECT a.status FROM fencing.acquire('jobs', 'f', 'two', wait => '100 ms') AS a);
END
$$;
SELECT state FROM fencing.inspect('jobs', 'f');

-- Misuse.
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x', wait => NULL)$$);
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x', wait => '-1 s')$$);
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x', wait => '1 month')$$);
SET fencing.max_wait = '1 h';
SHOW fencing.max_wait;
-- Closed while it asks: at once.
SELECT fencing.begin_epoch_transition('test');
\c
SET client_min_messages = warning;
CALL start();
SELECT status, token, holder, retry_after, blocked_by FROM fencing.acquire('jobs', 'a', 'x', wait => '60 s');
SELECT waited('0');
