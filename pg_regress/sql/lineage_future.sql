-- A token above everything that was drawn: refused as unknown, and recorded, although that rolls back.
-- From whoever might hold the lease, its number is passed over.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

-- How far it passes over more than that is random.
SET fencing.test_without = 'stride';
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT try($$SELECT fencing.create_namespace('other')$$);
CREATE TABLE t (id int, fence bigint);
CREATE TABLE watched (id int);
SELECT try($$SELECT fencing.protect('t', 'jobs', key => 'a', present_column => 'fence')$$);
SELECT try($$SELECT fencing.protect('watched', 'jobs', key => 'a', mode => 'observe')$$);
GRANT INSERT ON t TO PUBLIC;
SELECT take('first');
-- By name, a token so far above what was drawn last.
CREATE FUNCTION future(name text, by bigint) RETURNS text LANGUAGE sql AS $$
    INSERT INTO named SELECT $1, (max(token) >> 39 << 39) + (SELECT last_value FROM fencing.term_seq) + $2 FROM fencing.term;
    SELECT $1 $$;
-- How far the sequence has moved since this was last asked, and what was recorded.
CREATE TABLE stand (last_value bigint, event bigint);
INSERT INTO stand SELECT last_value, 0 FROM fencing.term_seq;
CREATE FUNCTION moved() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    was stand;
BEGIN
    SELECT * INTO was FROM stand;
    UPDATE stand SET last_value = (SELECT s.last_value FROM fencing.term_seq AS s), event = coalesce((SELECT max(id) FROM fencing.event), 0);
    RETURN concat_ws(', ', (SELECT s.last_value FROM stand AS s) - was.last_value,
        (SELECT string_agg(concat_ws(' ', e.kind, name_of(e.token), e.key, CASE WHEN e.kind <> 'observed' THEN e.detail END), ', ' ORDER BY id) FROM fencing.event AS e WHERE e.id > was.event));
END
$$;
SELECT moved();

-- Inline, in an autocommitted write, which fails.
SELECT future('b1', 5);
\set VERBOSITY sqlstate
INSERT INTO t SELECT 1, token('b1');
\set VERBOSITY default
SELECT moved();
SELECT verdict FROM fencing.lineage();
-- What was passed over is unknown for ever; it is passed over and recorded once.
SELECT try('INSERT INTO t VALUES (1, {b1})');
SELECT moved();
SELECT take('second', 'b');
SELECT token('second') > token('b1');
SELECT moved();

-- Presented, and rolled back to a savepoint.
SELECT future('b2', 1);
BEGIN;
SELECT present('b2');
SAVEPOINT s;
SELECT try('INSERT INTO t VALUES (1)');
ROLLBACK TO s;
ROLLBACK;
SELECT moved();
-- Next to the rightful one of another lease.
SELECT future('b3', 3);
BEGIN;
SELECT present('second');
SELECT present('b3');
SELECT left(try('INSERT INTO t VALUES (1)'), 5);
COMMIT;
SELECT moved();
-- To a guard that only observes.
SELECT future('b4', 4);
BEGIN;
SELECT present('b4');
SET client_min_messages = error;
SELECT try('INSERT INTO watched VALUES (1)');
SET client_min_messages = warning;
COMMIT;
SELECT moved();
-- To every other call that takes one.
SELECT future('c1', 1);
SELECT try('SELECT fencing.assert_current({c1})');
SELECT moved();
SELECT future('c2', 1);
SELECT status FROM fencing.renew(token('c2'));
SELECT moved();
SELECT future('c3', 1);
SELECT status FROM fencing.release(token('c3'));
SELECT moved();
SELECT future('c4', 1);
SELECT future('c5', 2);
SELECT name_of(token), status FROM fencing.renew_all(ARRAY[token('c5'), token('second'), token('c4'), 7]);
SELECT moved();
-- check_token only reads.
SELECT future('c6', 1);
SELECT status FROM fencing.check_token(token('c6'));
SELECT moved();
-- Where nothing may be written, nothing is.
BEGIN READ ONLY;
SELECT try('SELECT fencing.assert_current({c6})');
COMMIT;
SELECT moved();

-- Events that came from elsewhere, under numbers that the sequence has yet to draw, are in nobody's way; an
-- event that outlives its transaction is in every index.
INSERT INTO fencing.event (id, at, kind, actor, reported)
SELECT last_value + n, now(), 'restored', 10, false FROM fencing.event_id_seq, generate_series(1, 3) AS n;
SELECT future('c7', 2);
SELECT left(try('INSERT INTO t VALUES (1, {c7})'), 5);
SELECT count(*) - count(DISTINCT id), max(id) - (SELECT last_value FROM fencing.event_id_seq) FROM fencing.event;
SELECT moved();

-- Too far to have been drawn: evidence, once a minute.
SELECT future('far', 1::bigint << 38);
SELECT try('INSERT INTO t VALUES (1, {far})');
SELECT try('INSERT INTO t VALUES (1, {far})');
SELECT moved();
SET fencing.test_clock_offset = '61 s';
SELECT status FROM fencing.renew(token('far'));
SELECT moved();
-- Of another epoch: unknown as well, and passed over by none.
INSERT INTO named SELECT 'newer', token + (1::bigint << 39) FROM named WHERE name = 'first';
INSERT INTO named SELECT 'never', 9223372036854775807;
SET fencing.test_clock_offset = '125 s';
SELECT try('INSERT INTO t VALUES (1, {newer})');
SELECT moved();
SET fencing.test_clock_offset = '190 s';
SELECT try('INSERT INTO t VALUES (1, {never})');
SELECT moved();
RESET fencing.test_clock_offset;

-- Who may hold no lease of that namespace moves nothing.
CREATE ROLE regress_future_anna;
SELECT try($$SELECT fencing.grant_namespace('other', 'regress_future_anna', 'hold')$$);
SELECT future('d1', 2);
SELECT future('d2', 3);
SET fencing.test_clock_offset = '260 s';
SET ROLE regress_future_anna;
SELECT try('INSERT INTO t VALUES (1, {d1})');
SELECT try('INSERT INTO t VALUES (1, {d2})');
RESET ROLE;
SELECT moved();
-- Where the token names no lease, whoever may hold any might be its holder.
SET ROLE regress_future_anna;
SELECT status FROM fencing.renew(token('d1'));
RESET ROLE;
SELECT moved();
SELECT try($$SELECT fencing.revoke_namespace('other', 'regress_future_anna', 'hold')$$);
SET fencing.test_clock_offset = '330 s';
SET ROLE regress_future_anna;
SELECT status FROM fencing.renew(token('d2'));
SELECT try('SELECT fencing.assert_current({d2})');
RESET ROLE;
SELECT moved();
-- Nor does a session of its own have more recorded.
\c -
SET client_min_messages = warning;
SET fencing.test_without = 'stride';
SET fencing.test_clock_offset = '331 s';
SET ROLE regress_future_anna;
SELECT status FROM fencing.renew(token('d2'));
RESET ROLE;
SELECT moved();
-- A copy that hears of the same token goes on at another number: each passes over more than that, at random.
RESET fencing.test_without;
SELECT future('e1', 2);
SELECT status FROM fencing.renew(token('e1'));
SELECT last_value - token('e1') % (1::bigint << 39) BETWEEN 1 AND 1 << 24 AS elsewhere FROM fencing.term_seq;
REVOKE ALL ON t FROM PUBLIC;
DROP ROLE regress_future_anna;
SELECT verdict FROM fencing.lineage();
