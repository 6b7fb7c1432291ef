-- renew_all: one statement, one row for each token, in their order, each as renew would say it.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '30 s', max_ttl => '1 h')$$);
SELECT try($$SELECT fencing.create_namespace('short', ttl => '5 s', max_ttl => '10 s')$$);
CREATE FUNCTION renew_all(names text[], ttl interval DEFAULT NULL) RETURNS TABLE (name text, status text, trust interval, handover boolean)
    LANGUAGE sql BEGIN ATOMIC
    SELECT name_of(r.token), r.status, date_trunc('minute', r.trust_for + interval '30 s'), r.handover_requested
      FROM fencing.renew_all(ARRAY(SELECT coalesce(token(n), 0) FROM unnest(names) WITH ORDINALITY AS u (n, i) ORDER BY i), ttl) AS r;
END;

-- renewed: in the order of the tokens, which is not theirs; a token that comes twice is answered twice.
SELECT take(name, name) FROM unnest(ARRAY['a', 'b', 'c']) AS name;
SELECT * FROM renew_all('{c,a,b,a}', '10 min');
SELECT DISTINCT expires_at - renewed_at AS ttl, renewed_at > acquired_at AS renewed FROM fencing.lease;
-- Null: each by the ttl that it was acquired with.
SELECT take('slow', 'slow', ttl => '20 min');
SELECT * FROM renew_all('{slow,a}');
SELECT expires_at - clock_timestamp() BETWEEN interval '25 s' AND interval '30 s' AS expires_at, trust_for BETWEEN interval '25 s' AND interval '30 s' AS trust_for
  FROM fencing.renew_all(ARRAY[token('a')]);
-- It changes heartbeats alone.
SELECT count(*) FROM fencing.term WHERE last_renewed_at <> acquired_at OR ended_at IS NOT NULL;

-- Whatever has become of the others, each says so, and nothing of that is an error.
SELECT take('released', 'd');
SELECT status FROM fencing.release(token('released'));
SET fencing.test_clock_offset = '-1 h';
SELECT take('expired', 'e');
SELECT take('superseded', 'f');
RESET fencing.test_clock_offset;
SELECT take('next', 'f');
CREATE ROLE regress_batch_anna;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_batch_anna', 'hold')$$);
SET ROLE regress_batch_anna;
SELECT take('anna', 'anna');
-- Another role's token is nobody's here; a member of the holding role counts as the role.
SELECT * FROM renew_all('{anna,a}', '10 min');
RESET ROLE;
SELECT * FROM renew_all('{released,expired,superseded,next,anna,nobody,a}', '10 min');
SELECT r.* FROM fencing.renew_all(ARRAY[0, -1, 42, 9223372036854775807, fencing.make_token(1, 1)]) AS r;
-- The same as one by one.
SELECT count(*) FROM named AS n, fencing.renew_all(ARRAY[n.token]) AS r, fencing.renew(n.token) AS s WHERE r.status IS DISTINCT FROM s.status;

-- None, and arrays of other shapes.
SELECT count(*) FROM fencing.renew_all('{}');
SELECT name_of(token), status FROM fencing.renew_all(ARRAY[[token('a'), token('b')], [token('c'), 1]]);
SELECT name_of(token), status FROM fencing.renew_all(format('[5:6]={%s,%s}', token('a'), token('b'))::bigint[]);

-- Errors are the whole call's.
SELECT try('SELECT fencing.renew_all(NULL)');
SELECT try('SELECT fencing.renew_all(ARRAY[{a}, NULL])');
SELECT try('SELECT fencing.renew_all(ARRAY[{a}], $$99 ms$$)');
SELECT try('SELECT fencing.renew_all(ARRAY[{a}], $$1 h 1 s$$)');
SELECT try('SELECT fencing.renew_all(ARRAY[{a}], $$-1 s$$)');
SELECT try('SELECT fencing.renew_all(ARRAY[{a}], $$1 month$$)');
SELECT try('SELECT fencing.renew_all(ARRAY[]::bigint[], $$99 ms$$)');
-- Each namespace has its own bound: too long for one is an error for all.
SELECT take('s', 's', 'short');
SELECT try('SELECT fencing.renew_all(ARRAY[{a}, {s}], $$11 s$$)');
SELECT expires_at - renewed_at AS ttl FROM fencing.lease WHERE key IN ('a', 's') ORDER BY key;
SELECT name_of(token), status FROM fencing.renew_all(ARRAY[token('a'), token('s')], '10 s');

-- In a transaction: as it goes, so they go.
BEGIN;
SELECT name_of(token), status FROM fencing.renew_all(ARRAY[token('a'), token('b')], '50 min');
SAVEPOINT s;
SELECT status FROM fencing.release(token('b'));
SELECT name_of(token), status FROM fencing.renew_all(ARRAY[token('a'), token('b')], '20 min');
ROLLBACK TO s;
SELECT name_of(token), status FROM fencing.renew_all(ARRAY[token('a'), token('b')], '40 min');
SELECT status FROM fencing.renew(token('a'));
COMMIT;
SELECT key, expires_at - renewed_at AS ttl FROM fencing.lease WHERE key IN ('a', 'b') ORDER BY key;
-- Twice in one statement.
SELECT count(*) FROM fencing.renew_all(ARRAY[token('a')]) AS x, LATERAL fencing.renew_all(ARRAY[x.token]) AS y WHERE y.status = 'renewed';
BEGIN READ ONLY;
SELECT try('SELECT fencing.renew_all(ARRAY[{a}])');
ROLLBACK;
-- No locks of its own kind, and no more of any kind for many.
BEGIN;
SELECT count(*) FROM fencing.renew_all(ARRAY(SELECT token FROM named));
SELECT locktype, count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype NOT IN ('relation', 'virtualxid') GROUP BY locktype;
COMMIT;
-- Who has nothing to renew keeps no epoch waiting.
SET ROLE regress_batch_anna;
BEGIN;
SELECT status FROM fencing.renew_all(ARRAY[token('a'), 1]);
SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'fencing.lease'::regclass;
COMMIT;
RESET ROLE;
DROP OWNED BY regress_batch_anna;
DROP ROLE regress_batch_anna;
