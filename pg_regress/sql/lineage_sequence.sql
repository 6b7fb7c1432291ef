-- The sequence that numbers terms: where it stands below a term, whoever put it there, nothing is
-- granted, and lineage() says why.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE t (id int, fence bigint);
SELECT try($$SELECT fencing.protect('t', 'jobs', key => 'a', present_column => 'fence')$$);
SELECT take('first');
SELECT last_value FROM fencing.term_seq \gset
SELECT status FROM fencing.acquire('jobs', 'b', 'x', wait => '0');
CREATE FUNCTION look() RETURNS text LANGUAGE sql AS
    $$ SELECT a.status || ': ' || l.verdict FROM fencing.acquire('jobs', gen_random_uuid()::text, 'x') AS a, fencing.lineage() AS l $$;

SELECT setval('fencing.term_seq', 1) IS NOT NULL;
SELECT look();
SELECT look();
SELECT last_value, is_called FROM fencing.term_seq;
-- Nothing else is closed.
SELECT try('INSERT INTO t VALUES (1, {first})');
SELECT status FROM fencing.renew(token('first'));
SELECT state FROM fencing.inspect('jobs', 'c');
-- One short of the highest.
SELECT setval('fencing.term_seq', :last_value) IS NOT NULL;
SELECT look();
-- A sequence that was not called yet has drawn nothing.
SELECT setval('fencing.term_seq', :last_value + 1, false) IS NOT NULL;
SELECT look();
SELECT setval('fencing.term_seq', :last_value + 2, false) IS NOT NULL;
SELECT look();
SELECT last_value = :last_value + 2, is_called FROM fencing.term_seq;
-- Restarted.
ALTER SEQUENCE fencing.term_seq RESTART WITH 1;
SELECT look();
-- A cache hands out numbers that others have gone past.
SELECT setval('fencing.term_seq', :last_value + 100) IS NOT NULL;
ALTER SEQUENCE fencing.term_seq CACHE 10;
SELECT status FROM fencing.acquire('jobs', 'd', 'x');
SELECT status FROM fencing.acquire('jobs', 'e', 'x');
SELECT verdict FROM fencing.lineage();
ALTER SEQUENCE fencing.term_seq CACHE 1;
SELECT status FROM fencing.acquire('jobs', 'e', 'x');
SELECT verdict FROM fencing.lineage();
-- What draws otherwise than by one is not as it was made.
ALTER SEQUENCE fencing.term_seq INCREMENT BY 5;
SELECT verdict FROM fencing.lineage();
ALTER SEQUENCE fencing.term_seq INCREMENT BY 1 CYCLE;
SELECT verdict FROM fencing.lineage();
ALTER SEQUENCE fencing.term_seq NO CYCLE;
SELECT look();
-- Backwards.
ALTER SEQUENCE fencing.term_seq INCREMENT BY -1;
SELECT status FROM fencing.acquire('jobs', 'f', 'x');
ALTER SEQUENCE fencing.term_seq INCREMENT BY 1;

-- At its end it wraps under no setting.
SELECT setval('fencing.term_seq', 549755813886) IS NOT NULL;
SELECT look();
SELECT status FROM fencing.acquire('jobs', 'g', 'x');
ALTER SEQUENCE fencing.term_seq CYCLE;
SELECT status FROM fencing.acquire('jobs', 'g', 'x');
ALTER SEQUENCE fencing.term_seq NO CYCLE MAXVALUE 600000000000;
SELECT setval('fencing.term_seq', 549755813887) IS NOT NULL;
SELECT status FROM fencing.acquire('jobs', 'g', 'x');
SELECT try('INSERT INTO t VALUES (1, {first})');
SELECT count(DISTINCT token) = count(*), max(token >> 39) = min(token >> 39) FROM fencing.term;

