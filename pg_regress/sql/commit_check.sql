-- The check just before commit: whatever has ended the term by then ends the transaction.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('strict', ttl => '30 s')$$);
SELECT try($$SELECT fencing.create_namespace('lenient', ttl => '30 s', on_expiry => 'accept_until_superseded')$$);
CREATE TABLE strict (id int, fence bigint);
CREATE TABLE lenient (id int, fence bigint);
SELECT try($$SELECT fencing.protect('strict', 'strict', 'a', present_column => 'fence')$$);
SELECT try($$SELECT fencing.protect('lenient', 'lenient', 'a', present_column => 'fence')$$);
SELECT take('strict', 'a', 'strict');
SELECT take('lenient', 'a', 'lenient');

-- Under on_expiry => 'reject', a term that runs out before the commit takes the transaction with it.
BEGIN;
SELECT try('INSERT INTO strict VALUES (1, {strict})');
SET fencing.test_clock_offset = '20 s';
COMMIT;
RESET fencing.test_clock_offset;
BEGIN;
SELECT try('INSERT INTO strict VALUES (2, {strict})');
SET fencing.test_clock_offset = '31 s';
\set VERBOSITY sqlstate
COMMIT;
\set VERBOSITY default
\echo :LAST_ERROR_MESSAGE
SHOW fencing.test_clock_offset;
SELECT id FROM strict ORDER BY id;
-- An autocommitted statement too; and one that finds the term run out at once.
SET fencing.test_clock_offset = '31 s';
SELECT try('INSERT INTO strict VALUES (3, {strict})', hints => true);
RESET fencing.test_clock_offset;
-- A renewal in the meantime keeps it current.
BEGIN;
SELECT try('INSERT INTO strict VALUES (4, {strict})');
SET fencing.test_clock_offset = '20 s';
SELECT status FROM fencing.renew(token('strict'));
SET fencing.test_clock_offset = '45 s';
COMMIT;
RESET fencing.test_clock_offset;
SELECT id FROM strict ORDER BY id;

-- Under accept_until_superseded it may still write and commit,
SET fencing.test_clock_offset = '1 h';
SELECT status FROM fencing.check_token(token('lenient'));
SELECT status FROM fencing.renew(token('lenient'));
SELECT try('INSERT INTO lenient VALUES (1, {lenient})');
BEGIN;
SELECT try('INSERT INTO lenient VALUES (2, {lenient})');
COMMIT;
SELECT id FROM lenient ORDER BY id;
-- until somebody takes over.
SELECT take('lenient 2', 'a', 'lenient');
SELECT try('INSERT INTO lenient VALUES (3, {lenient})');
RESET fencing.test_clock_offset;
-- Any other end counts there as well.
SELECT status FROM fencing.release(token('lenient 2'));
SELECT left(try('INSERT INTO lenient VALUES (3, {lenient 2})'), 5);

-- The rule is the one in force.
SELECT take('lenient 3', 'b', 'lenient');
CREATE TABLE changing (id int, fence bigint);
SELECT try($$SELECT fencing.protect('changing', 'lenient', 'b', present_column => 'fence')$$);
SET fencing.test_clock_offset = '1 h';
SELECT try('INSERT INTO changing VALUES (1, {lenient 3})');
SELECT try($$SELECT fencing.alter_namespace('lenient', on_expiry => 'reject')$$);
SELECT left(try('INSERT INTO changing VALUES (2, {lenient 3})'), 5);
RESET fencing.test_clock_offset;

-- The natural last step: final write and release in one transaction, in this order.
SELECT take('last', 'last', 'strict');
CREATE TABLE final (id int);
SELECT try($$SELECT fencing.protect('final', 'strict', 'last')$$);
BEGIN;
SELECT present('last');
INSERT INTO final VALUES (1);
SELECT status FROM fencing.release(token('last'));
COMMIT;
SELECT id FROM final;
SELECT status FROM fencing.check_token(token('last'));
-- Even where the clock passes the term's end before the commit: it was given back in time.
SELECT take('last 2', 'last', 'strict');
BEGIN;
SELECT present('last 2');
INSERT INTO final VALUES (2);
SELECT status FROM fencing.release(token('last 2'));
SET fencing.test_clock_offset = '31 s';
COMMIT;
RESET fencing.test_clock_offset;
SELECT id FROM final ORDER BY id;

-- Released too late, it had run out by itself.
SELECT take('last 3', 'last', 'strict');
BEGIN;
SELECT present('last 3');
INSERT INTO final VALUES (3);
SET fencing.test_clock_offset = '31 s';
SELECT status FROM fencing.release(token('last 3'));
\set VERBOSITY sqlstate
COMMIT;
\set VERBOSITY default
RESET fencing.test_clock_offset;
SELECT status FROM fencing.release(token('last 3'));

-- What only assert_current held is checked as well.
SELECT take('asserted', 'asserted', 'strict');
BEGIN;
SELECT try('SELECT fencing.assert_current({asserted})');
SET fencing.test_clock_offset = '31 s';
\set VERBOSITY sqlstate
COMMIT;
\set VERBOSITY default
RESET fencing.test_clock_offset;
-- A write that was rolled back doesn't count.
BEGIN;
SAVEPOINT s;
SELECT try('SELECT fencing.assert_current({asserted})');
ROLLBACK TO s;
SET fencing.test_clock_offset = '31 s';
COMMIT;
RESET fencing.test_clock_offset;
-- It can't be put off or brought forward by SET CONSTRAINTS, and it comes after deferred triggers.
CREATE FUNCTION write_final() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO final VALUES (4); RETURN NULL; END$$;
CREATE TABLE deferring (id int);
CREATE CONSTRAINT TRIGGER t AFTER INSERT ON deferring DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_final();
SELECT take('deferred', 'last', 'strict');
BEGIN;
SELECT present('deferred');
INSERT INTO deferring VALUES (1);
COMMIT;
SELECT id FROM final ORDER BY id;
BEGIN;
SELECT present('deferred');
INSERT INTO deferring VALUES (2);
SET fencing.test_clock_offset = '31 s';
\set VERBOSITY sqlstate
COMMIT;
\set VERBOSITY default
RESET fencing.test_clock_offset;
SELECT id FROM deferring;
