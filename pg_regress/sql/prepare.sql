-- PREPARE TRANSACTION: refused where a fence is held or a lease was changed, unless a superuser allows it;
-- then it blocks takeovers.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (id int);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
SELECT take('a');

BEGIN;
SELECT present('a');
INSERT INTO doc VALUES (1);
PREPARE TRANSACTION 'regress_fencing';
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT try('SELECT fencing.assert_current({a})');
PREPARE TRANSACTION 'regress_fencing';
\echo :LAST_ERROR_SQLSTATE
-- A lease that it has changed is kept back as well.
SELECT take('free', 'free');
SELECT fencing.release(token('free'));
BEGIN;
SELECT status FROM fencing.renew(token('a'));
PREPARE TRANSACTION 'regress_fencing';
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY sqlstate
BEGIN;
SELECT fencing.release(token('a'));
PREPARE TRANSACTION 'regress_fencing';
BEGIN;
SELECT status FROM fencing.renew_all(ARRAY[token('a')]);
PREPARE TRANSACTION 'regress_fencing';
BEGIN;
SAVEPOINT s;
SELECT fencing.release(token('a'));
RELEASE s;
PREPARE TRANSACTION 'regress_fencing';
BEGIN;
SELECT fencing.revoke('jobs', 'a', 'a test', grace => '10 s');
PREPARE TRANSACTION 'regress_fencing';
BEGIN;
SELECT fencing.revoke('jobs', 'a', 'a test');
PREPARE TRANSACTION 'regress_fencing';
BEGIN;
SELECT fencing.drop_lease('jobs', 'free');
PREPARE TRANSACTION 'regress_fencing';
\set VERBOSITY default
SELECT fencing.check_token(token('a'));
-- An acquisition never waits for a second phase.
SET fencing.acquire_in_block = on;
SET fencing.allow_prepare = on;
BEGIN;
SELECT take('b', 'b');
PREPARE TRANSACTION 'regress_fencing';
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM doc;
SELECT state FROM fencing.inspect('jobs', 'b');
RESET fencing.acquire_in_block;
RESET fencing.allow_prepare;
-- Not everyone may allow it.
CREATE ROLE regress_prepare_anna;
SET ROLE regress_prepare_anna;
SELECT try('SET fencing.allow_prepare = on');
RESET ROLE;
DROP ROLE regress_prepare_anna;

-- The rest needs max_prepared_transactions.
SELECT current_setting('max_prepared_transactions')::int = 0 AS stop \gset
\if :stop
\quit
\endif
-- Without a fence held it is nobody's business; a presentation is gone with it.
BEGIN;
SELECT present('a');
CREATE TABLE unguarded (id int);
PREPARE TRANSACTION 'regress_fencing';
BEGIN;
SELECT left(try('INSERT INTO doc VALUES (2)'), 5);
COMMIT;
COMMIT PREPARED 'regress_fencing';

-- Nor is what was taken back, or could not be done.
BEGIN;
SAVEPOINT s;
SELECT fencing.release(token('a'));
ROLLBACK TO s;
SELECT fencing.release(1), status FROM fencing.renew(token('free'));
PREPARE TRANSACTION 'regress_fencing';
COMMIT PREPARED 'regress_fencing';

-- Nor is maintenance, which holds none and is gone with the transaction too.
BEGIN;
SELECT try($$SELECT fencing.maintain('prepared')$$);
INSERT INTO doc VALUES (2);
PREPARE TRANSACTION 'regress_fencing';
BEGIN;
SELECT left(try('DELETE FROM doc'), 5);
COMMIT;
COMMIT PREPARED 'regress_fencing';
SELECT detail FROM fencing.event;
SELECT id FROM doc;

-- Allowed, a renewal alone is in the way too, and named.
SET fencing.allow_prepare = on;
BEGIN;
SELECT status FROM fencing.renew(token('a'));
PREPARE TRANSACTION 'regress_fencing';
SELECT status FROM fencing.renew(token('a'));
SET fencing.test_clock_offset = '31 s';
SELECT status, blocked_by FROM fencing.acquire('jobs', 'a', 'x');
SELECT pid, prepared_gid FROM fencing.blockers('jobs', 'a');
RESET fencing.test_clock_offset;
COMMIT PREPARED 'regress_fencing';
SELECT status FROM fencing.renew(token('a'));

BEGIN;
SELECT present('a');
INSERT INTO doc VALUES (3);
SELECT status FROM fencing.release(token('a'));
PREPARE TRANSACTION 'regress_fencing';
-- Nothing of it is left in the session.
SELECT left(try('INSERT INTO doc VALUES (4)'), 5);
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
-- What it changes can't be decided yet, and a takeover is blocked by it: 0 in blocked_by.
SELECT status FROM fencing.renew(token('a'));
SELECT status FROM fencing.release(token('a'));
SELECT status FROM fencing.acquire('jobs', 'a', 'x');
SET fencing.test_clock_offset = '31 s';
SELECT status, token, retry_after > '0' AS retry_after, blocked_by FROM fencing.acquire('jobs', 'a', 'x');
SELECT state, blocked_by FROM fencing.inspect('jobs', 'a');
COMMIT PREPARED 'regress_fencing';
SELECT state, blocked_by FROM fencing.inspect('jobs', 'a');
SELECT take('c');
-- Rolled back, it leaves nothing either.
BEGIN;
SELECT present('c');
INSERT INTO doc VALUES (5);
PREPARE TRANSACTION 'regress_fencing';
ROLLBACK PREPARED 'regress_fencing';
SELECT status FROM fencing.release(token('c'));
SELECT id FROM doc ORDER BY id;
-- What has run out by then can't be prepared.
SELECT take('d');
BEGIN;
SELECT present('d');
INSERT INTO doc VALUES (6);
SET fencing.test_clock_offset = '62 s';
\set VERBOSITY sqlstate
PREPARE TRANSACTION 'regress_fencing';
\set VERBOSITY default
SELECT id FROM doc ORDER BY id;
