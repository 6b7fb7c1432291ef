-- Each part of a lineage that differs closes the coordinator, and is named with both of its values.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set lineage :abs_srcdir '/sql/include/lineage.sql'
\i :lineage
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE t (id int);
SELECT try($$SELECT fencing.protect('t', 'jobs', key => 'a')$$);
SELECT take('first');
CREATE FUNCTION look() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN NEXT (SELECT l.verdict FROM fencing.lineage() AS l);
    RETURN NEXT (SELECT a.status FROM fencing.acquire('jobs', 'b', 'x') AS a);
    RETURN NEXT anywhere(try('SELECT fencing.assert_current({first})', hints => true));
END
$$;
CREATE TABLE was AS SELECT * FROM fencing.epoch;

SELECT look();
SELECT tamper('system_identifier = 7000000000000000001');
SELECT look();
SELECT try($$SELECT tamper('system_identifier = (SELECT system_identifier FROM was)')$$);
SELECT look();
SELECT tamper('timeline = timeline + 1');
SELECT look();
SELECT tamper('timeline = timeline - 1');
SELECT tamper('database = 1');
SELECT look();
SELECT try($$SELECT tamper('database = (SELECT database FROM was)')$$);
SELECT tamper($$fingerprint = '131313:1764460000000000' || substring(fingerprint FROM '/.*')$$);
SELECT look();
SELECT try($$SELECT tamper('fingerprint = (SELECT fingerprint FROM was)')$$);
SELECT tamper($$fingerprint = regexp_replace(fingerprint, '/\d+/', '/131313/')$$);
SELECT look();
SELECT try($$SELECT tamper('fingerprint = (SELECT fingerprint FROM was)')$$);
SELECT tamper($$fingerprint = regexp_replace(fingerprint, '/[^/]*$', '/131313:1764460000000000')$$);
SELECT look();
SELECT try($$SELECT tamper('fingerprint = (SELECT fingerprint FROM was)')$$);
-- WAL that ends before where it was written already.
SELECT tamper($$lsn = 'FFFFFF/FFFFFFFF'$$);
SELECT look();
SELECT try($$SELECT tamper('lsn = (SELECT lsn FROM was)')$$);
SELECT look();
-- Several at once.
SELECT tamper($$timeline = timeline + 1, fingerprint = '131313:1764460000000000' || substring(fingerprint FROM '/.*'), lsn = 'FFFFFF/FFFFFFFF'$$);
SELECT look();
-- A transition that another server has begun is none of this one's.
SELECT tamper($$state = 'closed'$$);
SELECT look();
-- A recorded lineage that is the running server's opens it again.
SELECT try($$SELECT tamper('timeline = (SELECT timeline FROM was), fingerprint = (SELECT fingerprint FROM was), lsn = (SELECT lsn FROM was), state = ''open''')$$);
SELECT look();
