-- Sessions in whatever time zones, with whatever styles of dates and intervals: one clock, the same answers.
-- (All of these tests run in three time zones each.)
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', max_ttl => '30 days')$$);
CREATE TABLE doc (id serial, fence bigint, written bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', present_column => 'fence', token_column => 'written')$$);

-- What a session sees of a term and can do with it, texts included.
CREATE FUNCTION seen(name text, OUT facts text) LANGUAGE plpgsql AS $f$
DECLARE
    i record;
BEGIN
    SELECT * INTO i FROM fencing.inspect('jobs', 'a');
    facts := concat_ws(' ', i.state, name_of(i.token), extract(epoch FROM i.acquired_at), extract(epoch FROM i.expires_at),
                       i.remaining BETWEEN interval '0' AND i.expires_at - i.acquired_at, fencing.check_token(token($1)));
    IF i.state = 'held' THEN
        facts := facts || (SELECT format(' %s %s', status, extract(epoch FROM retry_after) BETWEEN 35990 AND 36000) FROM fencing.acquire('jobs', 'a', 'another'));
    END IF;
    facts := concat_ws(' ', facts, try('SELECT fencing.assert_current({' || $1 || '})'), try('INSERT INTO doc (fence) VALUES ({' || $1 || '})'),
                       try('SELECT fencing.acquire($$jobs$$, $$b$$, $$x$$, ttl => $$31 days$$)'));
END
$f$;
CREATE TABLE zone (name text);
INSERT INTO zone VALUES ('UTC'), ('America/New_York'), ('Pacific/Kiritimati'), ('Asia/Kathmandu'), ('Etc/GMT+12'), ('<+05>-04:59');
CREATE TABLE sight (name text, zone text, facts text);
-- As a session of each kind sees it.
CREATE PROCEDURE look(name text) LANGUAGE plpgsql AS $$
DECLARE
    z record;
BEGIN
    FOR z IN SELECT zone.name AS zone, dates, intervals
               FROM zone, unnest('{ISO,SQL,German,Postgres}'::text[]) AS dates, unnest('{postgres,postgres_verbose,sql_standard,iso_8601}'::text[]) AS intervals
    LOOP
        PERFORM set_config('timezone', z.zone, true), set_config('datestyle', z.dates, true), set_config('intervalstyle', z.intervals, true);
        INSERT INTO sight VALUES ($1, z.zone, seen($1));
        COMMIT;
    END LOOP;
END
$$;
CREATE VIEW seen_alike AS SELECT name, count(*), count(DISTINCT facts) AS ways, regexp_replace(min(facts), '\d+\.\d+', 'TIME', 'g') AS facts FROM sight GROUP BY name ORDER BY name;

-- Acquired in the one, held in the other: in the zones that are farthest apart.
SET timezone = 'Pacific/Kiritimati';
SELECT take('east', ttl => '10 h');
CALL look('east');
SET timezone = 'Etc/GMT+12';
SELECT status, extract(epoch FROM expires_at - clock_timestamp()) BETWEEN 35990 AND 36000 AS expires_at FROM fencing.renew(token('east'));
SELECT fencing.release(token('east'));
SELECT take('west', ttl => '10 h');
CALL look('west');
-- Days of a ttl are 24 hours, whatever the zone's clocks do in that time.
SET timezone = 'America/New_York';
SELECT status, extract(epoch FROM expires_at - clock_timestamp()) BETWEEN 86400 * 30 - 10 AND 86400 * 30 AS expires_at, extract(epoch FROM trust_for) BETWEEN 86400 * 30 - 10 AND 86400 * 30 AS trust_for
  FROM fencing.renew(token('west'), '30 days');
SELECT fencing.release(token('west'));
-- Lapsed at the same moment everywhere.
SELECT take('lapsed', ttl => '10 s');
SET fencing.test_clock_offset = '10 s';
CALL look('lapsed');
RESET fencing.test_clock_offset;
SELECT * FROM seen_alike;
SELECT count(*), count(DISTINCT written) FROM doc;
-- Nothing is stored, taken or given by a zone's own clock.
SELECT attrelid::regclass, attname FROM pg_attribute
 WHERE attrelid::regclass::text ~ '^fencing\.' AND atttypid = ANY (ARRAY['timestamp', 'date', 'time', 'timetz']::regtype[]);
SELECT oid::regprocedure FROM pg_proc
 WHERE pronamespace = 'fencing'::regnamespace AND (proargtypes::oid[] || proallargtypes || prorettype) && ARRAY['timestamp', 'date', 'time', 'timetz']::regtype[]::oid[];
