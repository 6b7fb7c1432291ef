-- present_all: as many calls of present, all of them or none.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE item (k text, written bigint);
SELECT try($$SELECT fencing.protect('item', 'jobs', key_columns => '{k}', token_column => 'written')$$);
SELECT take('a old', 'a');
SELECT status FROM fencing.release(token('a old'));
SELECT take('a', 'a'), take('b', 'b'), take('c', 'c');
-- What may be written now.
CREATE FUNCTION writable() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(k || ' ' || left(try(format('INSERT INTO item VALUES (%L)', k)), 5), ', ' ORDER BY k) FROM unnest(ARRAY['a', 'b', 'c']) AS k
$$;

BEGIN;
SELECT try('SELECT fencing.present_all(ARRAY[{a}, {b}, {a}, {b}])');
SELECT writable();
-- They add up, with those of present as well; none is no presentation.
SELECT try($$SELECT fencing.present_all('{}')$$);
SELECT try('SELECT fencing.present_all(ARRAY[{a}, {c}])');
SELECT try('SELECT fencing.present({b})');
SELECT writable();
COMMIT;
BEGIN;
SELECT try($$SELECT fencing.present_all('{}')$$);
SELECT writable();
COMMIT;
SELECT k, count(*), name_of(written) FROM item GROUP BY k, written ORDER BY k;

-- LF013 as present raises it, and then nothing is presented.
BEGIN;
SELECT try('SELECT fencing.present_all(NULL)', hints => true);
SELECT try('SELECT fencing.present_all(ARRAY[{a}, NULL, {b}])');
SELECT try('SELECT fencing.present_all(ARRAY[{a}, 0])');
SELECT try('SELECT fencing.present_all(ARRAY[{a}, -9223372036854775808])');
SELECT try('SELECT fencing.present_all(ARRAY[{b}, {a}, {c}, {a old}])');
SELECT writable();
COMMIT;
-- A token that was presented before decides, whichever form presented it.
BEGIN;
SELECT try('SELECT fencing.present_all(ARRAY[{b}, {a old}])');
SELECT try('SELECT fencing.present_all(ARRAY[{c}, {a}])');
SELECT try('SELECT fencing.present({a})');
SELECT writable();
COMMIT;
BEGIN;
SELECT present('a');
SELECT try('SELECT fencing.present_all(ARRAY[{a old}])');
SELECT try('SELECT fencing.present_all(ARRAY[{a}, {b}])');
SELECT writable();
COMMIT;
-- What was never issued waits for the write.
BEGIN;
SELECT try('SELECT fencing.present_all(ARRAY[42, {a} + 1, 9223372036854775807, {a}])');
SELECT writable();
COMMIT;

-- It follows savepoints.
BEGIN;
SELECT present('a');
SAVEPOINT s;
SELECT try('SELECT fencing.present_all(ARRAY[{a}, {b}])');
SAVEPOINT t;
SELECT try('SELECT fencing.present_all(ARRAY[{a}, {c}])');
SELECT writable();
ROLLBACK TO t;
SELECT writable();
RELEASE s;
SELECT writable();
SAVEPOINT s;
SELECT try('SELECT fencing.present_all(ARRAY[{b}, {c}])');
ROLLBACK TO s;
SELECT writable();
COMMIT;
-- Gone with the transaction.
SELECT writable();

-- Arrays of any shape.
BEGIN;
SELECT try($$SELECT fencing.present_all('[0:1][5:5]={{{a}},{{b}}}')$$);
SELECT writable();
COMMIT;

-- In autocommit it warns that it does nothing.
SELECT ARRAY[token('a')] AS tokens \gset
SELECT FROM fencing.present_all(:'tokens');
\set VERBOSITY sqlstate
SELECT FROM fencing.present_all(:'tokens');
SELECT FROM fencing.present_all('{0}');
\set VERBOSITY default
DO $$
BEGIN
    PERFORM fencing.present_all(ARRAY[token('a'), token('b')]);
    RAISE WARNING '%', writable();
END
$$;
-- Anybody may, also in a read-only transaction.
CREATE ROLE regress_present_all_anna;
SET ROLE regress_present_all_anna;
BEGIN READ ONLY;
SELECT try('SELECT fencing.present_all(ARRAY[{a}, {b}])');
COMMIT;
RESET ROLE;
DROP ROLE regress_present_all_anna;

-- Many of them: one statement writes under each.
CREATE TABLE many AS SELECT n AS k, (fencing.acquire('jobs', fencing.key_of(n), 'many', ttl => '1 h')).token FROM generate_series(1, 2000) AS n;
TRUNCATE named;
BEGIN;
SELECT try('SELECT fencing.present_all((SELECT array_agg(token ORDER BY random()) FROM many))');
INSERT INTO item SELECT k FROM many;
SAVEPOINT s;
SELECT try('SELECT fencing.present_all((SELECT array_agg(token) FROM many))');
UPDATE item SET k = item.k FROM many WHERE many.k::text = item.k;
RELEASE s;
COMMIT;
SELECT count(*), bool_and(item.written = many.token) FROM item JOIN many ON item.k = many.k::text;
