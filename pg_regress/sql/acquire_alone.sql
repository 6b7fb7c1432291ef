-- acquire runs alone: a token must not be known before it is committed.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (id int, fence bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', present_column => 'fence')$$);

-- One autocommitted statement is alone: a function and a DO block too.
SELECT take('function');
SELECT status FROM fencing.release(token('function'));
DO $$
BEGIN
    PERFORM take('do');
END
$$;
SELECT status FROM fencing.check_token(token('do'));
SELECT status FROM fencing.release(token('do'));
-- An exception block is a savepoint, inside of which nothing tells one statement from a block.
DO $$
BEGIN
    PERFORM take('handled');
EXCEPTION WHEN division_by_zero THEN
    NULL;
END
$$;
SELECT count(token('handled'));

-- A block isn't, nor are several statements sent as one.
BEGIN;
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x')$$);
DO $$
BEGIN
    PERFORM fencing.acquire('jobs', 'a', 'x');
END
$$;
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
SELECT 1 AS one \; SELECT status FROM fencing.acquire('jobs', 'a', 'x') \; SELECT 2 AS two;
SELECT status FROM fencing.acquire('jobs', 'a', 'x') \; SELECT 2 AS two;
\echo :LAST_ERROR_SQLSTATE
SELECT state FROM fencing.inspect('jobs', 'a');

-- Allowed by a setting, for whoever asks for it. The token is void if the block is rolled back.
SET fencing.acquire_in_block = on;
BEGIN;
SELECT take('lost');
SELECT token AS lost FROM named WHERE name = 'lost' \gset
ROLLBACK;
SELECT status FROM fencing.check_token(:lost);
SELECT state FROM fencing.inspect('jobs', 'a');
BEGIN;
SELECT take('block');
-- A later statement of the block may write under it.
SELECT try('INSERT INTO doc VALUES (1, {block})');
COMMIT;
SELECT token('block') > :lost;
SELECT status FROM fencing.check_token(token('block'));

-- A losing call writes nothing and takes no transaction id. Nor does one under a role's savepoint.
BEGIN;
SELECT status FROM fencing.acquire('jobs', 'a', 'loser');
SELECT pg_current_xact_id_if_assigned();
SAVEPOINT s;
SELECT status FROM fencing.acquire('jobs', 'a', 'loser', request_id => '00000000-0000-0000-0000-000000000001');
SELECT pg_current_xact_id_if_assigned();
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
COMMIT;
SELECT status FROM fencing.release(token('block'));

-- Not under one snapshot: what the block has read may be older than the takeover.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x')$$);
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x')$$);
ROLLBACK;
-- By itself it answers alike at every level.
SET default_transaction_isolation = 'serializable';
SELECT take('serializable');
SELECT status FROM fencing.acquire('jobs', 'a', 'x');
SELECT status FROM fencing.release(token('serializable'));
SET default_transaction_isolation = 'repeatable read';
SELECT take('repeatable');
SELECT status FROM fencing.release(token('repeatable'));
RESET default_transaction_isolation;

-- Not after a write under the same lease's fence: it would have to lock itself out.
SELECT take('writer');
BEGIN;
SELECT try('INSERT INTO doc VALUES (2, {writer})');
SELECT status FROM fencing.release(token('writer'));
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x')$$);
SELECT take('elsewhere', 'b');
ROLLBACK;
-- A write that was rolled back to its savepoint holds no fence.
BEGIN;
SAVEPOINT s;
SELECT try('INSERT INTO doc VALUES (2, {writer})');
ROLLBACK TO s;
SELECT status FROM fencing.release(token('writer'));
SELECT take('after');
COMMIT;
SELECT status FROM fencing.release(token('after'));
RESET fencing.acquire_in_block;

-- A write in the same statement as its acquire reads what is older than the takeover.
\set VERBOSITY sqlstate
INSERT INTO doc SELECT 3, token FROM fencing.acquire('jobs', 'a', 'x');
WITH a AS (SELECT token FROM fencing.acquire('jobs', 'a', 'x')) INSERT INTO doc SELECT 3, token FROM a;
\set VERBOSITY default
\echo :LAST_ERROR_MESSAGE
SELECT state FROM fencing.inspect('jobs', 'a');
SELECT id FROM doc ORDER BY id;

-- Not where nothing can be written.
BEGIN READ ONLY;
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x')$$);
ROLLBACK;
SET default_transaction_read_only = on;
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x')$$);
RESET default_transaction_read_only;
