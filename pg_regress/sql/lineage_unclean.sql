-- After an unclean start the sequence moves on, once, before anything is granted.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE t (id int, fence bigint);
SELECT try($$SELECT fencing.protect('t', 'jobs', key => 'a', present_column => 'fence')$$);
SELECT take('first');
SELECT verdict FROM fencing.lineage();
-- As PostgreSQL empties it.
CREATE FUNCTION unclean() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    ALTER TABLE fencing.clean_start DISABLE TRIGGER refuse_direct_write;
    DELETE FROM fencing.clean_start;
    ALTER TABLE fencing.clean_start ENABLE ALWAYS TRIGGER refuse_direct_write;
END
$$;
CREATE FUNCTION gap(name text) RETURNS text LANGUAGE sql
    AS $$ SELECT CASE WHEN gap > 0 THEN gap >= 1 << 24 AND gap < (1 << 25) + 2 END FROM (SELECT (SELECT last_value FROM fencing.term_seq) - (token($1) & 549755813887)) AS g (gap) $$;
SELECT try('SELECT unclean()');
SELECT verdict FROM fencing.lineage();
-- What was granted goes on, and asking in vain moves nothing.
SELECT try('INSERT INTO t VALUES (1, {first})');
SELECT status FROM fencing.renew(token('first'));
SELECT status FROM fencing.acquire('jobs', 'a', 'x');
SELECT gap('first');
SELECT verdict FROM fencing.lineage();
-- The first grant.
SELECT take('second', 'b');
SELECT gap('first');
SELECT verdict FROM fencing.lineage();
SELECT unclean_start < now() FROM fencing.clean_start;
-- The next ones move nothing.
SELECT take('third', 'c');
SELECT token('third') - token('second');

-- Taken back, the first grant has moved it for good, and noted that.
SELECT try('SELECT unclean()');
SET fencing.acquire_in_block = on;
BEGIN;
SELECT take('fourth', 'd');
ROLLBACK;
SELECT gap('third');
SELECT verdict FROM fencing.lineage();
SELECT take('fifth', 'd');
SELECT last_value - (token('fifth') & 549755813887) FROM fencing.term_seq;

-- A table that is not unlogged tells nothing of a crash.
ALTER TABLE fencing.clean_start SET LOGGED;
SELECT verdict FROM fencing.lineage();
SELECT status FROM fencing.acquire('jobs', 'g', 'x');
SELECT try('INSERT INTO t VALUES (1, {first})', hints => true);
ALTER TABLE fencing.clean_start SET UNLOGGED;
SELECT verdict FROM fencing.lineage();
SELECT status FROM fencing.acquire('jobs', 'g', 'x');

-- The sequence doesn't move where more is lost than a crash loses, nor beyond its end.
SELECT setval('fencing.term_seq', 1) IS NOT NULL;
SELECT try('SELECT unclean()');
SELECT status FROM fencing.acquire('jobs', 'e', 'x');
SELECT last_value FROM fencing.term_seq;
SELECT verdict FROM fencing.lineage();
SELECT setval('fencing.term_seq', 549755813000) IS NOT NULL;
SELECT fencing.acquire('jobs', 'e', 'x');
SELECT last_value FROM fencing.term_seq;
SELECT verdict FROM fencing.lineage();
