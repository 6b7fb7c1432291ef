-- assert_current: the guard without a trigger. It holds the fence until commit, or raises.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT take('old');
SELECT status FROM fencing.release(token('old'));
SELECT take('new');
CREATE VIEW fences AS SELECT mode, granted FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();

BEGIN;
SELECT try('SELECT fencing.assert_current({new})');
SELECT * FROM fences;
SELECT try('SELECT fencing.assert_current({new})');
SELECT count(*) FROM fences;
COMMIT;
SELECT count(*) FROM fences;
-- Given back with its savepoint.
BEGIN;
SAVEPOINT s;
SELECT try('SELECT fencing.assert_current({new})');
ROLLBACK TO s;
SELECT count(*) FROM fences;
COMMIT;
-- It presents nothing, and what is presented is no matter to it.
CREATE TABLE doc (id int);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
BEGIN;
SELECT try('SELECT fencing.assert_current({new})');
SELECT left(try('INSERT INTO doc VALUES (1)'), 5);
SELECT present('new');
SELECT try('INSERT INTO doc VALUES (1)');
COMMIT;

-- Why not.
SELECT try('SELECT fencing.assert_current({old})', hints => true);
SELECT try('SELECT fencing.assert_current(NULL)');
SELECT split_part(try('SELECT fencing.assert_current({new} + 1)'), ' ', 1);
SELECT split_part(try('SELECT fencing.assert_current(9223372036854775807)'), ' ', 1);
SELECT split_part(try('SELECT fencing.assert_current(0)'), ' ', 1);
SELECT split_part(try('SELECT fencing.assert_current(-1)'), ' ', 1);
SELECT status FROM fencing.release(token('new'));
SELECT try('SELECT fencing.assert_current({new})', hints => true);
SELECT take('short');
SET fencing.test_clock_offset = '31 s';
SELECT try('SELECT fencing.assert_current({short})');
RESET fencing.test_clock_offset;
CREATE ROLE regress_assert_anna;
SET ROLE regress_assert_anna;
SELECT try('SELECT fencing.assert_current({short})', hints => true);
RESET ROLE;
DROP ROLE regress_assert_anna;
-- The lenient rule holds here too.
SELECT try($$SELECT fencing.create_namespace('lenient', on_expiry => 'accept_until_superseded')$$);
SELECT take('lenient', 'a', 'lenient');
SET fencing.test_clock_offset = '31 s';
SELECT try('SELECT fencing.assert_current({lenient})');
RESET fencing.test_clock_offset;
-- In every isolation level.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT try('SELECT fencing.assert_current({short})');
SELECT * FROM fences;
COMMIT;
-- After it, the lease can't be acquired in the same transaction.
SET fencing.acquire_in_block = on;
BEGIN;
SELECT try('SELECT fencing.assert_current({short})');
SELECT status FROM fencing.release(token('short'));
SELECT left(try($$SELECT fencing.acquire('jobs', 'a', 'x')$$), 5);
COMMIT;

-- Numbers that are nobody's token.
SELECT try('SELECT fencing.assert_current(0)');
SELECT try('SELECT fencing.assert_current(-1)');
SELECT try('SELECT fencing.assert_current(42)');
