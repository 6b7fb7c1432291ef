-- The server's clock leaps an hour forward: terms run out at once, and nothing else becomes of them.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT try($$SELECT fencing.create_namespace('tolerant', on_expiry => 'accept_until_superseded')$$);
CREATE TABLE doc (id int, fence bigint, written bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', present_column => 'fence', token_column => 'written')$$);
CREATE TABLE note (id int, fence bigint);
SELECT try($$SELECT fencing.protect('note', 'tolerant', 'a', present_column => 'fence')$$);
SELECT take('old');
SELECT take('tolerated', 'a', 'tolerant');
CREATE TABLE before AS SELECT * FROM fencing.lease;

-- Accepted before the leap, but not committed: the term's end is the transaction's.
BEGIN;
SELECT present('old');
INSERT INTO doc VALUES (1);
SET LOCAL fencing.test_clock_offset = '1 h';
\set VERBOSITY sqlstate
COMMIT;
\set VERBOSITY default
-- Where the rule says so, it isn't.
BEGIN;
SELECT present('tolerated');
INSERT INTO note VALUES (1);
SET LOCAL fencing.test_clock_offset = '1 h';
COMMIT;

-- Everybody hears that the term has run out, and nothing of it is changed.
SET fencing.test_clock_offset = '1 h';
SELECT i.state, name_of(i.token), i.holder, i.expires_at = b.expires_at AS expires_at, i.remaining FROM fencing.inspect('jobs', 'a') AS i JOIN before AS b USING (token);
SELECT fencing.check_token(token('old'));
SELECT * FROM fencing.renew(token('old'));
SELECT fencing.release(token('old'));
SELECT try('SELECT fencing.assert_current({old})');
SELECT try('INSERT INTO doc VALUES (2, {old})');
SELECT try('INSERT INTO note VALUES (2, {tolerated})');
SELECT count(*) FROM fencing.lease JOIN before USING (namespace, key) WHERE lease::text = before::text;

-- Taken over: the old term is superseded, by a term of full length.
WITH a AS (SELECT * FROM fencing.acquire('jobs', 'a', 'new')), n AS (INSERT INTO named SELECT 'new', token FROM a)
SELECT status, acquired_at - clock_timestamp() > interval '59 min' AS by_the_clock, expires_at - acquired_at AS ttl, trust_for BETWEEN interval '29 s' AND interval '30 s' AS trust_for FROM a;
SELECT token('new') > token('old');
SELECT name, fencing.check_token(token), (fencing.renew(token)).status, left(try(format('SELECT fencing.assert_current(%s)', token)), 5),
       left(try(format('INSERT INTO doc VALUES (3, %s)', token)), 5)
  FROM named WHERE name IN ('old', 'new') ORDER BY name DESC;
SELECT fencing.release(token('old'));
SELECT t.end_reason, t.ended_by, t.ended_at = t.expires_at AND t.expires_at = b.expires_at AS ended_at, t.last_renewed_at = t.acquired_at AS last_renewed_at,
       t.end_observed_at = n.acquired_at AS end_observed_at, name_of(t.superseded_by)
  FROM fencing.term AS t JOIN before AS b USING (token), fencing.term AS n WHERE t.token = token('old') AND n.token = token('new');
SELECT id, name_of(written) FROM doc;
-- For the tolerated term, too.
SELECT take('next', 'a', 'tolerant');
SELECT left(try('INSERT INTO note VALUES (3, {tolerated})'), 5), left(try('INSERT INTO note VALUES (3, {next})'), 5);

-- A term granted before the leap and renewed after it, in time by its ttl: it lasts from then on.
SELECT take('long', 'l', ttl => '1 h');
SET fencing.test_clock_offset = '90 min';
SELECT status, expires_at - clock_timestamp() > interval '149 min' AS expires_at, trust_for BETWEEN interval '59 min' AND interval '1 h' AS trust_for
  FROM fencing.renew(token('long'));
-- What waits is over sooner: min_hold and cool_down are counted by the same clock.
RESET fencing.test_clock_offset;
SELECT try($$SELECT fencing.create_namespace('slow', min_hold => '10 min', cool_down => '20 min')$$);
SELECT take('released', 'a', 'slow'), take('lapsed', 'b', 'slow');
SELECT fencing.release(token('released'));
SET fencing.test_clock_offset = '9 min';
SELECT key, state FROM unnest('{a,b}'::text[]) AS k, fencing.inspect('slow', k);
SET fencing.test_clock_offset = '1 h';
SELECT key, state FROM unnest('{a,b}'::text[]) AS k, fencing.inspect('slow', k);
-- A grace is over at once, and so is an idle lease's time.
RESET fencing.test_clock_offset;
SELECT take('asked', 'g', ttl => '1 h'), take('idle', 'i');
SELECT fencing.revoke('jobs', 'g', 'clock', '10 min');
SELECT fencing.release(token('idle'));
SELECT fencing.check_token(token('asked')), fencing.purge_leases('40 min');
SET fencing.test_clock_offset = '50 min';
SELECT fencing.check_token(token('asked')), (fencing.renew(token('asked'))).status, fencing.purge_leases('40 min') > 0 AS purged;
SELECT state FROM fencing.inspect('jobs', 'g');
