-- present: tokens for the rest of the transaction, and no longer.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE a (id int);
CREATE TABLE b (id int);
SELECT try($$SELECT fencing.protect('a', 'jobs', 'a')$$);
SELECT try($$SELECT fencing.protect('b', 'jobs', 'b')$$);
SELECT take('a old', 'a');
SELECT status FROM fencing.release(token('a old'));
SELECT take('a', 'a');
SELECT take('b', 'b');

-- They add up; the same one twice is one.
BEGIN;
SELECT present('a');
SELECT left(try('INSERT INTO a VALUES (1)'), 5), left(try('INSERT INTO b VALUES (1)'), 5);
SELECT present('b');
SELECT present('a');
SELECT left(try('INSERT INTO a VALUES (1)'), 5), left(try('INSERT INTO b VALUES (1)'), 5);
COMMIT;
-- Gone with the transaction, however it ends.
SELECT left(try('INSERT INTO a VALUES (2)'), 5);
BEGIN;
SELECT left(try('INSERT INTO a VALUES (2)'), 5);
SELECT present('a');
ROLLBACK;
BEGIN;
SELECT left(try('INSERT INTO a VALUES (2)'), 5);
SELECT present('a');
SELECT 1 / 0;
COMMIT;
BEGIN;
SELECT left(try('INSERT INTO a VALUES (2)'), 5);
COMMIT;
BEGIN;
SELECT present('a');
COMMIT AND CHAIN;
SELECT left(try('INSERT INTO a VALUES (2)'), 5);
COMMIT;

-- present itself refuses a second token of one lease, NULL, and what isn't positive. All else waits for the write.
BEGIN;
SELECT present('a');
SELECT try('SELECT fencing.present({a old})', hints => true);
SELECT try('SELECT fencing.present(NULL)');
SELECT try('SELECT fencing.present(0)');
SELECT try('SELECT fencing.present(-1)');
SELECT try('SELECT fencing.present(-9223372036854775808)');
SELECT try('SELECT fencing.present(42)');
SELECT try('SELECT fencing.present(9223372036854775807)');
SELECT try('SELECT fencing.present({a} + 1)');
SELECT left(try('INSERT INTO a VALUES (2)'), 5), left(try('INSERT INTO b VALUES (2)'), 5);
COMMIT;
BEGIN;
SELECT present('a old');
SELECT try('SELECT fencing.present({a})');
SELECT left(try('INSERT INTO a VALUES (3)'), 5);
COMMIT;
SELECT try('SELECT fencing.present(NULL)');
SELECT try('SELECT fencing.present(0)');

-- It follows savepoints.
BEGIN;
SAVEPOINT one;
SELECT present('a');
SELECT left(try('INSERT INTO a VALUES (4)'), 5);
ROLLBACK TO one;
SELECT left(try('INSERT INTO a VALUES (5)'), 5);
SELECT present('a old');
ROLLBACK TO one;
SELECT present('a');
RELEASE one;
SELECT left(try('INSERT INTO a VALUES (6)'), 5);
SAVEPOINT two;
SELECT present('a');
SELECT present('b');
SAVEPOINT three;
RELEASE three;
ROLLBACK TO two;
-- The outer presentation stands, the inner one is gone.
SELECT left(try('INSERT INTO a VALUES (7)'), 5), left(try('INSERT INTO b VALUES (7)'), 5);
COMMIT;
-- So it does blocks with an exception handler.
BEGIN;
DO $$
BEGIN
    PERFORM fencing.present(token('a'));
    RAISE EXCEPTION 'undo';
EXCEPTION WHEN raise_exception THEN
    PERFORM fencing.present(token('b'));
END
$$;
SELECT left(try('INSERT INTO a VALUES (8)'), 5), left(try('INSERT INTO b VALUES (8)'), 5);
COMMIT;
SELECT id FROM a ORDER BY id;
SELECT id FROM b ORDER BY id;

-- In autocommit it warns that it does nothing; inside a function or a DO block it does something.
SELECT token AS a FROM named WHERE name = 'a' \gset
SELECT FROM fencing.present(:a);
\set VERBOSITY sqlstate
SELECT FROM fencing.present(:a);
\set VERBOSITY default
SELECT left(try('INSERT INTO a VALUES (9)'), 5);
DO $$
BEGIN
    PERFORM fencing.present(token('a'));
    INSERT INTO a VALUES (9);
END
$$;
CREATE FUNCTION write() RETURNS void LANGUAGE sql AS $$
    SELECT fencing.present(token('a'));
    INSERT INTO a VALUES (10);
$$;
SELECT count(*) FROM write();
CREATE PROCEDURE write_twice() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM fencing.present(token('a'));
    INSERT INTO a VALUES (11);
    COMMIT;
    RAISE WARNING '%', left(try('INSERT INTO a VALUES (12)'), 5);
END
$$;
CALL write_twice();
-- Several statements sent as one are one transaction; no warning there, nor in a block.
SELECT FROM fencing.present(:a) \; INSERT INTO a VALUES (13);
BEGIN;
SELECT FROM fencing.present(:a);
INSERT INTO a VALUES (14);
COMMIT;
SELECT id FROM a WHERE id > 8 ORDER BY id;

-- Anybody may; and in a read-only transaction too.
BEGIN READ ONLY;
SELECT present('a');
COMMIT;
-- A changed presentation is seen by the next write, whatever was verified before.
BEGIN;
SAVEPOINT s;
SELECT present('a');
SELECT left(try('INSERT INTO a VALUES (15)'), 5);
ROLLBACK TO s;
SELECT present('a old');
SELECT left(try('INSERT INTO a VALUES (16)'), 5);
ROLLBACK;
