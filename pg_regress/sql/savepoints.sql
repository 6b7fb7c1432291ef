-- Savepoints: what was verified under a lock dies with the lock.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (id int, written bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', token_column => 'written')$$);
CREATE VIEW fences AS SELECT mode, granted FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
SELECT take('a');

-- The fence is held shared from the first write on, once, and given back with its savepoint.
BEGIN;
SELECT present('a');
SELECT * FROM fences;
SAVEPOINT s;
INSERT INTO doc VALUES (1);
SELECT * FROM fences;
INSERT INTO doc VALUES (2);
SELECT count(*) FROM fences;
ROLLBACK TO s;
SELECT count(*) FROM fences;
INSERT INTO doc VALUES (3);
SELECT count(*) FROM fences;
RELEASE s;
SELECT count(*) FROM fences;
SAVEPOINT t;
INSERT INTO doc VALUES (4);
ROLLBACK TO t;
-- Taken before t, so still held.
SELECT count(*) FROM fences;
COMMIT;
SELECT count(*) FROM fences;
SELECT id FROM doc ORDER BY id;

-- The term ends while no lock is held: the next write in the transaction is checked anew. (The end comes
-- in the same session here, in a savepoint that is kept; another session's takeover is the specs' matter.)
BEGIN;
SELECT present('a');
SAVEPOINT s;
INSERT INTO doc VALUES (5);
ROLLBACK TO s;
SELECT status FROM fencing.release(token('a'));
SELECT try('INSERT INTO doc VALUES (6)');
ROLLBACK;
BEGIN;
SELECT present('a');
INSERT INTO doc VALUES (7);
SELECT status FROM fencing.release(token('a'));
SELECT left(try('INSERT INTO doc VALUES (8)'), 5);
ROLLBACK;
-- A release that was taken back ends nothing.
BEGIN;
SELECT present('a');
INSERT INTO doc VALUES (9);
SAVEPOINT s;
SELECT status FROM fencing.release(token('a'));
SELECT left(try('INSERT INTO doc VALUES (10)'), 5);
ROLLBACK TO s;
SELECT left(try('INSERT INTO doc VALUES (11)'), 5);
COMMIT;
SELECT id, name_of(written) FROM doc WHERE id > 4 ORDER BY id;

-- PL/pgSQL's exception blocks are savepoints.
BEGIN;
SELECT present('a');
DO $$
BEGIN
    INSERT INTO doc VALUES (12);
    RAISE EXCEPTION 'undo';
EXCEPTION WHEN raise_exception THEN
    NULL;
END
$$;
SELECT count(*) FROM fences;
DO $$
BEGIN
    INSERT INTO doc VALUES (13);
EXCEPTION WHEN raise_exception THEN
    NULL;
END
$$;
SELECT count(*) FROM fences;
COMMIT;

-- Lapsed in between: without the lock somebody may have taken over, so the term's end counts again.
BEGIN;
SELECT present('a');
SAVEPOINT s;
INSERT INTO doc VALUES (14);
SET LOCAL fencing.test_clock_offset = '31 s';
ROLLBACK TO s;
SET LOCAL fencing.test_clock_offset = '31 s';
SELECT try('INSERT INTO doc VALUES (15)');
ROLLBACK;
-- An inline token is its statement's own, in whatever savepoint.
CREATE TABLE line (id int, fence bigint);
SELECT try($$SELECT fencing.protect('line', 'jobs', 'a', present_column => 'fence')$$);
BEGIN;
SAVEPOINT s;
SELECT try('INSERT INTO line VALUES (1, {a})');
ROLLBACK TO s;
SELECT left(try('INSERT INTO line VALUES (2)'), 5);
SELECT try('INSERT INTO line VALUES (3, {a})');
SAVEPOINT t;
SELECT left(try('INSERT INTO line VALUES (4, {a}), (5, 0)'), 5);
SELECT left(try('INSERT INTO line VALUES (6)'), 5);
RELEASE t;
COMMIT;
SELECT * FROM line;

-- Many leases in one transaction don't exhaust the lock table: past a bound it is the namespace that is locked.
CREATE TABLE item (k int, written bigint);
SELECT try($$SELECT fencing.protect('item', 'jobs', key_columns => '{k}', token_column => 'written')$$);
CREATE TABLE many AS SELECT n AS k, (fencing.acquire('jobs', fencing.key_of(n), 'many', ttl => '1 h')).token FROM generate_series(1, 300) AS n;
BEGIN;
SELECT count(*) FROM (SELECT fencing.present(token) FROM many) AS p;
INSERT INTO item SELECT k FROM many;
SELECT count(*) < 300 FROM fences;
SAVEPOINT s;
UPDATE item SET k = k;
ROLLBACK TO s;
UPDATE item SET k = k;
COMMIT;
SELECT count(*), bool_and(i.written = m.token) FROM item AS i JOIN many AS m USING (k);
SELECT count(*) FROM fences;
BEGIN;
SELECT count(*) FROM (SELECT fencing.present(token) FROM many) AS p;
SAVEPOINT s;
INSERT INTO item SELECT k FROM many;
ROLLBACK TO s;
SELECT count(*) FROM fences;
INSERT INTO item SELECT k FROM many;
SELECT count(*) < 300 AND count(*) > 0 FROM fences;
ROLLBACK;
