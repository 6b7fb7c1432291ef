-- renew and release: each touches only the term it names, and says what became of it.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '30 s', max_ttl => '1 h')$$);

-- renewed: from now, by the ttl that it was acquired with.
SELECT take('a', ttl => '10 s');
SELECT status, expires_at - clock_timestamp() BETWEEN interval '5 s' AND interval '10 s' AS expires_at,
       trust_for BETWEEN interval '5 s' AND interval '10 s' AS trust_for, handover_requested
  FROM fencing.renew(token('a'));
SELECT status, expires_at - clock_timestamp() BETWEEN interval '55 s' AND interval '60 s' AS expires_at,
       trust_for BETWEEN interval '55 s' AND interval '60 s' AS trust_for
  FROM fencing.renew(token('a'), '1 min');
SELECT remaining > interval '50 s' FROM fencing.inspect('jobs', 'a');
SELECT status, trust_for BETWEEN interval '5 s' AND interval '10 s' AS trust_for FROM fencing.renew(token('a'), ttl => NULL);
-- It changes the heartbeat alone.
SELECT renewed_at > acquired_at, expires_at - renewed_at AS ttl, name_of(token), state FROM fencing.lease WHERE key = 'a';
SELECT last_renewed_at = acquired_at, ended_at FROM fencing.term;

-- The bounds are acquire's.
SELECT take('short', 'short');
SELECT status FROM fencing.renew(token('short'), '100 ms');
SELECT status FROM fencing.renew(token('a'), '1 h');
SELECT split_part(try('SELECT fencing.renew({a}, $$99 ms$$)'), E'\n', 1);
SELECT try('SELECT fencing.renew({a}, $$1 h 1 s$$)');
SELECT try('SELECT fencing.renew({a}, $$-1 s$$)');
SELECT try('SELECT fencing.renew({a}, $$1 month$$)');
SELECT try('SELECT fencing.renew(NULL)');
SELECT try('SELECT fencing.release(NULL)');
SELECT remaining > interval '50 min' FROM fencing.inspect('jobs', 'a');

-- released: the lease is free at once, its term over.
SELECT status FROM fencing.release(token('a'));
SELECT status FROM fencing.release(token('a'));
SELECT status, expires_at, trust_for, handover_requested FROM fencing.renew(token('a'));
SELECT end_reason, ended_by::regrole::text = quote_ident(current_user) AS by_me, ended_at = end_observed_at AND ended_at <= clock_timestamp() AS ended_at,
       last_renewed_at > acquired_at AS renewed, superseded_by
  FROM fencing.term WHERE token = token('a');
SELECT take('b');
-- Of every other end the first is named: released stays released.
SELECT status FROM fencing.renew(token('a'));
SELECT status FROM fencing.release(token('a'));
SELECT status FROM fencing.check_token(token('b'));
SELECT name_of(superseded_by) FROM fencing.term WHERE token = token('a');

-- expired: too late, even though nobody took over. It is not brought back.
SET fencing.test_clock_offset = '31 s';
SELECT status, expires_at, trust_for, handover_requested FROM fencing.renew(token('b'));
SELECT status FROM fencing.renew(token('b'), '1 h');
SELECT status FROM fencing.release(token('b'));
SELECT state FROM fencing.inspect('jobs', 'a');
-- superseded: somebody did.
SELECT take('c');
SELECT status, expires_at, trust_for, handover_requested FROM fencing.renew(token('b'));
SELECT status FROM fencing.release(token('b'));
SELECT status FROM fencing.check_token(token('c'));
SELECT end_reason, ended_at = expires_at, name_of(superseded_by) FROM fencing.term WHERE token = token('b');
-- A clock that steps back neither brings a term back nor makes it longer.
RESET fencing.test_clock_offset;
SELECT status FROM fencing.renew(token('b'));
SELECT status, trust_for <= interval '30 s' AS trust_for, expires_at - clock_timestamp() <= interval '61 s' AS expires_at FROM fencing.renew(token('c'));
SELECT expires_at - renewed_at AS ttl, renewed_at >= acquired_at FROM fencing.lease WHERE key = 'a';

-- unknown: never issued.
SELECT status, expires_at, trust_for, handover_requested FROM fencing.renew(token('c') + 1);
SELECT status FROM fencing.renew(fencing.make_token(1, 1));
SELECT number, (fencing.renew(number)).status, (fencing.release(number)) AS status FROM unnest(ARRAY[0, -1, 42, 9223372036854775807]) AS number;
SELECT status FROM fencing.check_token(token('c'));

-- Another role's token is LF008. A member of the holding role counts as the role.
CREATE ROLE regress_renew_anna;
CREATE ROLE regress_renew_bert;
CREATE ROLE regress_renew_carl IN ROLE regress_renew_anna;
SELECT try(format($$SELECT fencing.grant_namespace('jobs', %L, 'hold')$$, role)) FROM unnest(ARRAY['regress_renew_anna', 'regress_renew_bert']) AS role;
SET ROLE regress_renew_anna;
SELECT take('anna', 'anna');
SET ROLE regress_renew_bert;
SELECT try('SELECT fencing.renew({anna})', hints => true);
SELECT try('SELECT fencing.release({anna})');
SELECT status FROM fencing.acquire('jobs', 'anna', 'bert');
SET ROLE regress_renew_carl;
SELECT status FROM fencing.renew(token('anna'));
SELECT status FROM fencing.release(token('anna'));
SET ROLE regress_renew_bert;
SELECT take('bert', 'anna');
-- Over or not, it is another's.
SELECT try('SELECT fencing.renew({anna})');
RESET ROLE;
SELECT ended_by::regrole FROM fencing.term WHERE token = token('anna');
-- A superuser is a member of every role.
SELECT status FROM fencing.renew(token('bert'));
SELECT status FROM fencing.release(token('bert'));
DROP ROLE regress_renew_anna, regress_renew_bert, regress_renew_carl;

-- In a transaction: as it goes, so they go.
SELECT take('t', 't');
BEGIN;
SELECT status FROM fencing.release(token('t'));
SELECT status FROM fencing.renew(token('t'));
ROLLBACK;
SELECT status FROM fencing.check_token(token('t'));
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT status FROM fencing.renew(token('t'));
SELECT status FROM fencing.renew(token('t'));
SAVEPOINT s;
SELECT status FROM fencing.release(token('t'));
ROLLBACK TO s;
SELECT status FROM fencing.renew(token('t'));
COMMIT;
SELECT status FROM fencing.check_token(token('t'));
BEGIN READ ONLY;
SELECT try('SELECT fencing.renew({t})');
SELECT try('SELECT fencing.release({t})');
ROLLBACK;

-- Who is told that a term is over keeps no epoch waiting; who has renewed one does.
CREATE VIEW gate AS SELECT count(*) FROM pg_locks
    WHERE relation = 'fencing.lease'::regclass AND pid = pg_backend_pid() AND mode <> 'AccessShareLock';
BEGIN;
SELECT status FROM fencing.renew(token('a'));
SELECT status FROM fencing.release(token('a'));
SELECT status FROM fencing.renew_all(ARRAY[token('a')]);
SELECT * FROM gate;
SELECT status FROM fencing.renew_all(ARRAY[token('a'), token('t')]);
SELECT * FROM gate;
COMMIT;

-- epoch_closed: a later epoch voids every older term.
SELECT fencing.advance_epoch('test') IS NOT NULL;
\c
SET client_min_messages = warning;
SELECT status FROM fencing.check_token(token('t'));
SELECT status, expires_at, trust_for, handover_requested FROM fencing.renew(token('t'));
SELECT status FROM fencing.release(token('t'));
SELECT status FROM fencing.check_token(token('a'));
