-- acquire issues no token that was, or may have been, issued before: it answers closed, or LF012.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT take('first');
SELECT last_value FROM fencing.term_seq \gset
SELECT status FROM fencing.release(token('first'));

-- A sequence behind the terms has lost history.
SELECT setval('fencing.term_seq', 1) IS NOT NULL;
SELECT status, token, epoch, seq, acquired_at, expires_at, trust_for, holder, retry_after, blocked_by FROM fencing.acquire('jobs', 'a', 'x');
SELECT status FROM fencing.acquire('jobs', 'b', 'x');
SELECT setval('fencing.term_seq', :last_value - 1) IS NOT NULL;
SELECT status FROM fencing.acquire('jobs', 'a', 'x');
SELECT status FROM fencing.acquire('jobs', 'a', 'x');
-- Asking draws nothing: it never catches up by itself.
SELECT last_value = :last_value - 1 FROM fencing.term_seq;
SELECT setval('fencing.term_seq', :last_value) IS NOT NULL;
SELECT take('second');
SELECT token('second') > token('first');

-- At its maximum it ends, and never wraps.
SELECT setval('fencing.term_seq', 549755813886) IS NOT NULL;
SELECT take('last', 'b');
SELECT fencing.seq_of(token('last'));
SELECT fencing.acquire('jobs', 'c', 'x');
SELECT fencing.acquire('jobs', 'c', 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT state FROM fencing.inspect('jobs', 'c');
-- What was granted goes on.
SELECT status FROM fencing.renew(token('last'));
SELECT status FROM fencing.check_token(token('second'));

-- While an epoch's transition is under way, nothing is granted.
SELECT fencing.begin_epoch_transition('test');
\c
SET client_min_messages = warning;
SELECT status, token, holder, retry_after, blocked_by FROM fencing.acquire('jobs', 'a', 'x');
SELECT status FROM fencing.acquire('jobs', 'c', 'x');
SELECT state FROM fencing.inspect('jobs', 'c');
