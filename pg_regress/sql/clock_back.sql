-- The server's clock steps an hour back: the time of each lease stands still until the clock has caught up.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (id int, fence bigint, written bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', present_column => 'fence', token_column => 'written')$$);
-- What is recorded of a lease, to be compared with what it was.
CREATE TABLE before AS SELECT * FROM fencing.lease;
CREATE PROCEDURE remember() LANGUAGE sql AS 'DELETE FROM before; INSERT INTO before SELECT * FROM fencing.lease';
CREATE VIEW change AS SELECT key, a.token >= b.token AS tokens, a.acquired_at >= b.acquired_at AND a.renewed_at >= b.renewed_at AS times,
                             a.expires_at - b.expires_at AS extended_by
                        FROM before AS b JOIN fencing.lease AS a USING (namespace, key);
-- Whether the records of terms are in order: within each, and from one to the next.
CREATE VIEW disorder AS SELECT name_of(token) FROM (SELECT *, lag(coalesce(ended_at, last_renewed_at)) OVER (PARTITION BY namespace, key ORDER BY token) AS previous FROM fencing.term) AS t
                         WHERE NOT (acquired_at <= last_renewed_at AND last_renewed_at < expires_at AND acquired_at >= coalesce(previous, acquired_at)
                                    AND coalesce(ended_at >= last_renewed_at AND end_observed_at >= ended_at, true));

-- Acquired in an hour that then is still to come; to its holder nothing has happened.
SET fencing.test_clock_offset = '1 h';
SELECT take('a');
CALL remember();
RESET fencing.test_clock_offset;
SELECT state, name_of(token), remaining FROM fencing.inspect('jobs', 'a');
SELECT fencing.check_token(token('a'));
SELECT try('SELECT fencing.assert_current({a})');
SELECT try('INSERT INTO doc VALUES (1, {a})');
BEGIN;
SELECT present('a');
INSERT INTO doc VALUES (2);
COMMIT;
-- A renewal makes the term last no longer than the ttl from the latest time recorded, so no longer than before.
SELECT status, trust_for FROM fencing.renew(token('a'));
SELECT * FROM change;
SELECT status, trust_for FROM fencing.renew(token('a'), '10 s');
SELECT * FROM change;
SELECT status, trust_for FROM fencing.renew(token('a'), '40 s');
SELECT * FROM change;
SELECT status FROM fencing.renew(token('a'));
-- Nobody else gets it meanwhile, and how long that may be is no longer than the ttl either.
SELECT status, token, retry_after FROM fencing.acquire('jobs', 'a', 'b');

-- Back once more, in the middle of a transaction, and forward again.
BEGIN;
SELECT present('a');
INSERT INTO doc VALUES (3);
SET LOCAL fencing.test_clock_offset = '-1 h';
INSERT INTO doc VALUES (4);
COMMIT;
BEGIN;
SELECT present('a');
SET LOCAL fencing.test_clock_offset = '-1 h';
INSERT INTO doc VALUES (5);
SET LOCAL fencing.test_clock_offset = '1 h';
INSERT INTO doc VALUES (6);
COMMIT;
SELECT id, name_of(written) FROM doc ORDER BY id;
-- Once the clock has caught up, the term runs out at the time that was always recorded.
SET fencing.test_clock_offset = '3601 s';
SELECT state, remaining BETWEEN interval '20 s' AND interval '29 s' FROM fencing.inspect('jobs', 'a');
SET fencing.test_clock_offset = '3631 s';
SELECT fencing.check_token(token('a')), left(try('INSERT INTO doc VALUES (7, {a})'), 5);
SELECT * FROM change;

-- Taken over, and the clock back: the order of terms is that of their tokens, and the old one stays over.
SELECT take('b');
CALL remember();
RESET fencing.test_clock_offset;
SELECT token('b') > token('a');
SELECT name, fencing.check_token(token), (fencing.renew(token)).status, left(try(format('SELECT fencing.assert_current(%s)', token)), 5),
       left(try(format('INSERT INTO doc VALUES (8, %s)', token)), 5)
  FROM named WHERE name IN ('a', 'b') ORDER BY name;
SELECT fencing.release(token('a'));
SELECT * FROM change;

-- Released: at the lease's own time, so not before it was acquired; and the next term begins no earlier.
SELECT fencing.release(token('b'));
SELECT end_reason, ended_at = acquired_at, end_observed_at = ended_at FROM fencing.term WHERE token = token('b');
SELECT take('c');
SELECT token('c') > token('b'), c.acquired_at = b.ended_at AS acquired_at, c.expires_at - c.acquired_at AS ttl FROM fencing.term AS b, fencing.term AS c WHERE b.token = token('b') AND c.token = token('c');
SELECT status, trust_for <= interval '30 s' AS trust_for FROM fencing.renew(token('c'));
-- Released in an hour still to come, although acquired and last renewed before.
SELECT take('early', 'e', ttl => '1 h');
SET fencing.test_clock_offset = '30 min';
SELECT fencing.release(token('early'));
RESET fencing.test_clock_offset;
SELECT state FROM fencing.inspect('jobs', 'e');
SELECT take('later', 'e');
SELECT later.acquired_at = early.ended_at AS acquired_at, later.expires_at - later.acquired_at AS ttl FROM fencing.term AS early, fencing.term AS later WHERE early.token = token('early') AND later.token = token('later');
SELECT state, remaining FROM fencing.inspect('jobs', 'e');

-- min_hold and cool_down: by the lease's own time, too.
SELECT try($$SELECT fencing.create_namespace('slow', min_hold => '10 min', cool_down => '20 min')$$);
SET fencing.test_clock_offset = '1 h';
SELECT take('released', 'a', 'slow'), take('lapsed', 'b', 'slow');
SELECT fencing.release(token('released'));
RESET fencing.test_clock_offset;
SELECT key, state, remaining FROM unnest('{a,b}'::text[]) AS k, fencing.inspect('slow', k);
SELECT k, status, date_trunc('min', retry_after) AS retry_after FROM unnest('{a,b}'::text[]) AS k, fencing.acquire('slow', k, 'x');
SET fencing.test_clock_offset = '70 min';
SELECT key, state FROM unnest('{a,b}'::text[]) AS k, fencing.inspect('slow', k);
SET fencing.test_clock_offset = '81 min';
SELECT key, state FROM unnest('{a,b}'::text[]) AS k, fencing.inspect('slow', k);
RESET fencing.test_clock_offset;

-- The same request is answered by the same term.
SET fencing.test_clock_offset = '1 h';
SELECT status, token AS first FROM fencing.acquire('jobs', 'q', 'x', request_id => '00000000-0000-0000-0000-000000000001') \gset
RESET fencing.test_clock_offset;
SELECT status, token = :first, expires_at - acquired_at AS ttl, trust_for FROM fencing.acquire('jobs', 'q', 'x', request_id => '00000000-0000-0000-0000-000000000001');
-- A namespace is in use as long as a term of it is held.
SELECT split_part(try($$SELECT fencing.drop_namespace('slow')$$), E'\n', 1);
SELECT try($$SELECT fencing.create_namespace('used')$$);
SET fencing.test_clock_offset = '1 h';
SELECT take('used', 'u', 'used');
RESET fencing.test_clock_offset;
SELECT try($$SELECT fencing.drop_namespace('used')$$);
-- Whoever administers it need not wait: revoked, and granted anew, at the lease's own time. A grace runs by that time, too.
SET fencing.test_clock_offset = '1 h';
SELECT take('stuck', 's'), take('asked', 'g'), take('gone', 'd');
CALL remember();
RESET fencing.test_clock_offset;
SELECT fencing.revoke('jobs', 'g', 'clock', '10 s');
SELECT state, remaining FROM fencing.inspect('jobs', 'g');
SELECT status, trust_for, handover_requested FROM fencing.renew(token('asked'));
SELECT name_of(token), status, trust_for, handover_requested FROM fencing.renew_all(ARRAY[token('stuck'), token('asked'), token('gone')]);
SELECT * FROM change WHERE key IN ('s', 'g', 'd') ORDER BY key;
SELECT fencing.revoke('jobs', 's', 'clock');
SELECT fencing.check_token(token('stuck'));
SELECT take('unstuck', 's');
SELECT b.acquired_at >= a.ended_at AS acquired_at, a.ended_at >= a.last_renewed_at AS ended_at, b.expires_at - b.acquired_at AS ttl FROM fencing.term AS a, fencing.term AS b WHERE a.token = token('stuck') AND b.token = token('unstuck');
SELECT fencing.drop_lease('jobs', 'd');
SELECT fencing.check_token(token('gone')), state FROM fencing.inspect('jobs', 'd');
SELECT * FROM disorder;
