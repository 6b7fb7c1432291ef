-- ephemeral: a released lease's row disappears; its fence and its terms stay.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ephemeral => true)$$);
CREATE TABLE t (id int);
SELECT try($$SELECT fencing.protect('t', 'jobs', key => 'a')$$);

-- released: no row, and all that is known of it.
SELECT take('a');
SELECT status FROM fencing.release(token('a'));
SELECT count(*) FROM fencing.lease;
SELECT name_of(token) FROM fencing.fence;
SELECT end_reason, ended_by::regrole::text = quote_ident(current_user) AS by_me, ended_at = end_observed_at AS ended_at FROM fencing.term;
SELECT (fencing.renew(token('a'))).status, fencing.release(token('a')), fencing.check_token(token('a'));
SELECT name_of(token), status FROM fencing.renew_all(ARRAY[token('a')]);
SELECT state, token, holder, acquired_at, expires_at, remaining, waiters, blocked_by FROM fencing.inspect('jobs', 'a');
BEGIN; SELECT present('a'); SELECT try('INSERT INTO t VALUES (1)'); COMMIT;
SELECT try('SELECT fencing.assert_current({a})');
-- The next term is a later one, and the released one stays released.
SELECT take('b');
SELECT token('b') > token('a') AS later, count(*) FROM fencing.fence AS f WHERE f.token = token('b');
SELECT (fencing.renew(token('a'))).status, fencing.check_token(token('b'));
BEGIN; SELECT present('a'); SELECT try('INSERT INTO t VALUES (1)'); COMMIT;

-- Final write and release in one transaction.
BEGIN;
SELECT present('b');
SELECT try('INSERT INTO t VALUES (2)');
SELECT status FROM fencing.release(token('b'));
SELECT try('INSERT INTO t VALUES (3)');
SELECT (fencing.renew(token('b'))).status, fencing.check_token(token('b'));
COMMIT;
SELECT id FROM t;
SELECT count(*) FROM fencing.lease;
-- assert_current counts as such a write.
SELECT take('c');
BEGIN;
SELECT try('SELECT fencing.assert_current({c})');
SELECT status FROM fencing.release(token('c'));
COMMIT;

-- A savepoint's rollback brings it back.
SELECT take('d');
BEGIN;
SELECT present('d');
SELECT try('INSERT INTO t VALUES (4)');
SAVEPOINT s;
SELECT status FROM fencing.release(token('d'));
SELECT count(*) FROM fencing.lease;
ROLLBACK TO s;
SELECT count(*) FROM fencing.lease;
SELECT status FROM fencing.check_token(token('d'));
SELECT try('INSERT INTO t VALUES (5)');
SAVEPOINT s;
SELECT status FROM fencing.renew(token('d'));
SELECT status FROM fencing.release(token('d'));
RELEASE s;
COMMIT;
SELECT id FROM t;
SELECT count(*) FROM fencing.lease;
-- And a transaction's.
SELECT take('e');
BEGIN; SELECT status FROM fencing.release(token('e')); ROLLBACK;
SELECT status FROM fencing.check_token(token('e'));

-- Expired or renewed, it keeps its row; only a release takes it away.
SET fencing.test_clock_offset = '1 h';
SELECT fencing.release(token('e')), (SELECT count(*) FROM fencing.lease);
SELECT take('f');
SELECT status FROM fencing.release(token('f'));
SELECT count(*) FROM fencing.lease;
SELECT name_of(token), end_reason, name_of(superseded_by) FROM fencing.term WHERE token IN (token('e'), token('f')) ORDER BY token;
RESET fencing.test_clock_offset;

-- A request that was answered stays answered.
SELECT status, token FROM fencing.acquire('jobs', 'asked', 'x', request_id => '00000000-0000-0000-0000-000000000001') \gset
SELECT :'status', fencing.release(:token);
SELECT status, token FROM fencing.acquire('jobs', 'asked', 'x', request_id => '00000000-0000-0000-0000-000000000001');

-- Acquired and released in one transaction.
SET fencing.acquire_in_block = on;
BEGIN;
SELECT take('g', 'g');
SELECT status FROM fencing.release(token('g'));
SELECT take('h', 'g');
SELECT status FROM fencing.release(token('h'));
COMMIT;
RESET fencing.acquire_in_block;
SELECT count(*), bool_and(end_reason = 'released') FROM fencing.term WHERE key = 'g';
SELECT count(*) FROM fencing.lease;

-- Not together with what keeps a released lease back: there is no row that could.
SELECT try($$SELECT fencing.create_namespace('bad', ephemeral => true, min_hold => '1 s')$$);
SELECT try($$SELECT fencing.create_namespace('bad', ephemeral => true, cool_down => '1 s')$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', min_hold => '1 s')$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', cool_down => '1 s')$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', cool_down => '1 s', ephemeral => false)$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', ephemeral => true)$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', cool_down => '0', ephemeral => true)$$);

-- Made ephemeral later: a row that was released before goes with the next release.
SELECT try($$SELECT fencing.create_namespace('later')$$);
SELECT take('i', 'i', 'later'), take('j', 'j', 'later');
SELECT status FROM fencing.release(token('i'));
SELECT try($$SELECT fencing.alter_namespace('later', ephemeral => true)$$);
SELECT key, state FROM fencing.lease ORDER BY key;
SELECT fencing.check_token(token('i')), (fencing.inspect('later', 'i')).state;
SELECT take('k', 'i', 'later');
SELECT fencing.release(token('k')), fencing.release(token('j'));
SELECT count(*) FROM fencing.lease;
-- And no more: rows stay from now on.
SELECT try($$SELECT fencing.alter_namespace('later', ephemeral => false)$$);
SELECT take('l', 'i', 'later');
SELECT status FROM fencing.release(token('l'));
SELECT key, state FROM fencing.lease;
SELECT try($$SELECT fencing.drop_namespace('later')$$);
SELECT status FROM fencing.check_token(token('k'));
