-- What is decided by time is decided by the server's clock at that moment: not by when a transaction or a statement
-- began, and not by what a caller says.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT oid::regprocedure FROM pg_proc
 WHERE pronamespace = 'fencing'::regnamespace AND prosrc ~* 'now\(|(current|local)_?time|current_date|(transaction|statement)_timestamp';
SELECT adrelid::regclass FROM pg_attrdef WHERE adrelid::regclass::text ~ '^fencing\.' AND pg_get_expr(adbin, adrelid) ~* 'now\(|time|date';
SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'fencing'::regnamespace AND 'timestamptz'::regtype = ANY (proargtypes::oid[]);

-- In a transaction that began earlier.
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
BEGIN;
SET LOCAL fencing.acquire_in_block = on;
SELECT take('block', 'c');
SELECT acquired_at > now() AS acquired_at FROM fencing.inspect('jobs', 'c');
SELECT renewed_at AS first FROM fencing.renew(token('block')), fencing.lease WHERE key = 'c' \gset
SELECT status FROM fencing.renew(token('block'));
SELECT renewed_at > now() AND renewed_at > :'first' AS renewed_at FROM fencing.lease WHERE key = 'c';
COMMIT;
-- A term's end is the end of a transaction that began before it, in a check and at commit.
CREATE TABLE short (id int);
SELECT try($$SELECT fencing.protect('short', 'jobs', 'd')$$);
SELECT take('brief', 'd', ttl => '0.5 s');
BEGIN;
SELECT present('brief');
INSERT INTO short VALUES (1);
SELECT pg_sleep(0.5);
SELECT left(try('SELECT fencing.assert_current({brief})'), 5);
\set VERBOSITY sqlstate
COMMIT;
\set VERBOSITY default

-- In a statement that began earlier: a ttl starts at the grant, and nobody trusts in more than it.
SELECT acquired_at - statement_timestamp() >= interval '0.1 s' AS acquired_at, expires_at - acquired_at AS ttl, trust_for
  FROM pg_sleep(0.1), fencing.acquire('jobs', 'e', 'x');
