-- present(namespace, key, token): a token for this very lease.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$), try($$SELECT fencing.create_namespace('other')$$);
CREATE TABLE a (id int);
CREATE TABLE b (id int);
CREATE TABLE line (id int, fence bigint);
SELECT try($$SELECT fencing.protect('a', 'jobs', 'a')$$), try($$SELECT fencing.protect('b', 'jobs', 'b')$$);
SELECT try($$SELECT fencing.protect('line', 'jobs', 'a', present_column => 'fence')$$);
SELECT take('a old', 'a');
SELECT status FROM fencing.release(token('a old'));
SELECT take('a', 'a'), take('b', 'b');
-- What may be written now.
CREATE FUNCTION writable() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(t || ' ' || left(try(format('INSERT INTO %I VALUES (1)', t)), 5), ', ' ORDER BY t) FROM unnest(ARRAY['a', 'b']) AS t
$$;

BEGIN;
SELECT try($$SELECT fencing.present('jobs', 'a', {a})$$);
SELECT writable();
SELECT try($$SELECT fencing.present('jobs', 'b', {b})$$);
SELECT try($$SELECT fencing.present('jobs', 'a', {a})$$);
SELECT try('SELECT fencing.present({a})');
SELECT writable();
COMMIT;
SELECT writable();

-- Issued for another lease it counts for none, until it is presented plainly, or for its own.
BEGIN;
SELECT try($$SELECT fencing.present('jobs', 'b', {a})$$);
SELECT try('INSERT INTO b VALUES (1)'), try('INSERT INTO a VALUES (1)');
SAVEPOINT s;
SELECT present('a');
SELECT writable();
ROLLBACK TO s;
SELECT writable();
SELECT try($$SELECT fencing.present('jobs', 'a', {a})$$);
SELECT writable();
COMMIT;
BEGIN;
SELECT present('a');
SELECT try($$SELECT fencing.present('jobs', 'b', {a})$$);
SELECT writable();
COMMIT;
-- A namespace that isn't here is no error; nor is what was never issued, or is over: the write will tell.
BEGIN;
SELECT try($$SELECT fencing.present('elsewhere', 'a', {a})$$);
SELECT try($$SELECT fencing.present('ELSEWHERE !', 'a', {b})$$);
SELECT try($$SELECT fencing.present('other', 'a', {a})$$);
SELECT try($$SELECT fencing.present('jobs', 'c', 42)$$);
SELECT writable();
SELECT try($$SELECT fencing.present('jobs', 'a', {a old})$$);
SELECT try('INSERT INTO a VALUES (1)');
COMMIT;

-- LF013: a second token of one lease, whichever way either of them was presented; NULL, and what isn't positive.
BEGIN;
SELECT try($$SELECT fencing.present('jobs', 'a', {a})$$);
SELECT try($$SELECT fencing.present('jobs', 'a', {a old})$$, hints => true);
SELECT try($$SELECT fencing.present('jobs', 'a', {b})$$);
SELECT try('SELECT fencing.present({a old})');
SELECT try('SELECT fencing.present_all(ARRAY[{b}, {a old}])');
SELECT try($$SELECT fencing.present('jobs', 'a', NULL)$$);
SELECT try($$SELECT fencing.present('jobs', 'a', 0)$$);
SELECT try($$SELECT fencing.present('jobs', 'a', -1)$$);
SELECT writable();
COMMIT;
BEGIN;
SELECT present('a');
SELECT try($$SELECT fencing.present('jobs', 'a', {a old})$$);
SELECT try($$SELECT fencing.present('jobs', 'b', {a old})$$);
SELECT try($$SELECT fencing.present('jobs', 'b', {b})$$);
SELECT writable();
COMMIT;
BEGIN;
SELECT try($$SELECT fencing.present('elsewhere', 'a', {a})$$);
SELECT try($$SELECT fencing.present('elsewhere', 'b', {b})$$);
SELECT try($$SELECT fencing.present('elsewhere', 'a', {b})$$);
SELECT try($$SELECT fencing.present('nowhere', 'a', {b})$$);
COMMIT;
-- An inline token that contradicts it, too; where nothing counts for the lease it is LF004.
BEGIN;
SELECT try($$SELECT fencing.present('jobs', 'a', {b})$$);
SELECT try('INSERT INTO line VALUES (1, {a})');
SELECT try('INSERT INTO line VALUES (1)');
COMMIT;
BEGIN;
SELECT try($$SELECT fencing.present('jobs', 'b', {a})$$);
SELECT try('INSERT INTO line VALUES (1)'), try('INSERT INTO line VALUES (1, {a})');
SELECT writable();
COMMIT;

-- Other nonsense.
SELECT try($$SELECT fencing.present(NULL, 'a', {a})$$);
SELECT try($$SELECT fencing.present('jobs', NULL, {a})$$);
SELECT try($$SELECT fencing.present('jobs', '', {a})$$);
SELECT try($$SELECT fencing.present('jobs', repeat('é', 257), {a})$$);

-- It follows savepoints, and is gone with the transaction.
BEGIN;
SAVEPOINT s;
SELECT try($$SELECT fencing.present('jobs', 'a', {a old})$$);
ROLLBACK TO s;
SELECT try($$SELECT fencing.present('jobs', 'a', {a})$$);
SAVEPOINT t;
SELECT try($$SELECT fencing.present('jobs', 'a', {a})$$);
SELECT try($$SELECT fencing.present('jobs', 'b', {b})$$);
SELECT writable();
ROLLBACK TO t;
SELECT writable();
ROLLBACK TO s;
SELECT writable();
SELECT try($$SELECT fencing.present('jobs', 'b', {b})$$);
RELEASE s;
SELECT writable();
COMMIT;
SELECT writable();
-- In autocommit it warns that it does nothing.
SELECT FROM fencing.present('jobs', 'a', 1);
\set VERBOSITY sqlstate
SELECT FROM fencing.present('jobs', 'a', 1);
\set VERBOSITY default
-- Anybody may; the write asks who may hold it.
CREATE ROLE regress_present_for_anna;
GRANT INSERT ON a TO regress_present_for_anna;
SET ROLE regress_present_for_anna;
BEGIN;
SELECT try($$SELECT fencing.present('jobs', 'a', {a})$$);
SELECT left(try('INSERT INTO a VALUES (1)'), 5);
COMMIT;
RESET ROLE;
DROP OWNED BY regress_present_for_anna;
DROP ROLE regress_present_for_anna;

-- A namespace made anew is another: its old tokens are of none of its leases.
SELECT take('gone', 'a', 'other');
SELECT status FROM fencing.release(token('gone'));
SELECT try($$SELECT fencing.drop_namespace('other')$$);
BEGIN;
SELECT try($$SELECT fencing.present('other', 'a', {gone})$$);
SELECT try($$SELECT fencing.create_namespace('other')$$);
SELECT try($$SELECT fencing.protect('b', 'other', 'a')$$);
COMMIT;
SELECT try($$SELECT fencing.unprotect('b')$$);
SELECT try($$SELECT fencing.protect('b', 'other', 'a')$$);
BEGIN;
SELECT try($$SELECT fencing.present('other', 'a', {gone})$$);
SELECT left(try('INSERT INTO b VALUES (1)'), 5);
COMMIT;
