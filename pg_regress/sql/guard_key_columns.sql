-- Key columns: one lease for each value, or for each combination of values.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);

-- key_of makes the key that a guard makes.
CREATE TYPE colour AS ENUM ('red', 'dark blue');
CREATE DOMAIN label AS varchar(20);
CREATE DOMAIN short_label AS label CHECK (length(VALUE) < 10);
SELECT fencing.key_of(1::smallint), fencing.key_of(-2), fencing.key_of(9223372036854775807), fencing.key_of('a b'::text), fencing.key_of('a b'),
       fencing.key_of('x'::varchar), fencing.key_of('AAAAAAAA-bbbb-cccc-dddd-eeeeeeeeeeee'::uuid), fencing.key_of('dark blue'::colour), fencing.key_of('d'::short_label);
SELECT k, k = ROW(1, 'x'::text)::text FROM fencing.key_of(1, 'x'::text) AS k;
SELECT fencing.key_of(a, b), fencing.key_of(a, b) = ROW(a, b)::text
  FROM (VALUES ('', ''), ('a,b', 'c'), ('a', 'b,c'), ('(a)', '"b"'), ('a\b', 'a b'), (E'a\tb', E'\n'), ('ä', 'NULL'), ('null', 'x')) AS v (a, b);
SELECT fencing.key_of(1, 2, 'three'::text, 'red'::colour, 'AAAAAAAA-bbbb-cccc-dddd-eeeeeeeeeeee'::uuid);
SELECT try('SELECT fencing.key_of(NULL::int)');
SELECT try('SELECT fencing.key_of(1, NULL::text)');
SELECT try('SELECT fencing.key_of(1.5)');
SELECT try('SELECT fencing.key_of(now())');
SELECT try($$SELECT fencing.key_of('x'::char(3))$$);
SELECT left(try('SELECT fencing.key_of()'), 5);
SELECT try('SELECT fencing.key_of(VARIADIC ARRAY[1, 2])');

-- Each type: a row needs the token of its own lease.
CREATE TABLE kind (n int GENERATED ALWAYS AS IDENTITY, type text, one text, two text);
INSERT INTO kind (type, one, two) VALUES
    ('smallint', '1', '-1'), ('int', '1', '2147483647'), ('bigint', '-9223372036854775808', '1'), ('text', 'a', 'A'), ('varchar(5)', 'a', 'a '),
    ('uuid', 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee', 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeef'), ('colour', 'red', 'dark blue'), ('short_label', 'x', 'y'), ('text COLLATE "C"', 'a', 'A');
SELECT take(key, key) FROM (SELECT DISTINCT unnest(ARRAY[one, two]) AS key FROM kind) AS k ORDER BY key COLLATE "C";
CREATE FUNCTION kinds() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    k record;
BEGIN
    FOR k IN SELECT * FROM kind ORDER BY n LOOP
        EXECUTE format('CREATE TABLE t (key %s, id int, fence bigint)', k.type);
        PERFORM fencing.protect('t', 'jobs', key_columns => '{key}', present_column => 'fence');
        RETURN NEXT format('%s: %s, %s, %s, %s', k.type,
            try(format('INSERT INTO t VALUES (%L, 1, %s)', k.one, token(k.one))),
            try(format('INSERT INTO t VALUES (%L, 2, %s)', k.two, token(k.two))),
            left(try(format('INSERT INTO t VALUES (%L, 3, %s)', k.one, token(k.two))), 5),
            left(try(format('INSERT INTO t VALUES (%L, 4, NULL)', k.one)), 5));
        DROP TABLE t;
    END LOOP;
END
$$;
SELECT kinds();

-- Several leases in one transaction; each row under its own.
CREATE TABLE account (tenant text, region int, id int, amount int, written bigint);
SELECT try($$SELECT fencing.protect('account', 'jobs', key_columns => '{tenant,region}', token_column => 'written')$$);
CREATE FUNCTION show() RETURNS TABLE (tenant text, region int, id int, amount int, written text) LANGUAGE sql
    AS 'SELECT tenant, region, id, amount, name_of(written) FROM account ORDER BY id';
SELECT take('acme/1', fencing.key_of('acme'::text, 1));
SELECT take('acme/2', fencing.key_of('acme'::text, 2));
SELECT take('bolt/1', fencing.key_of('bolt'::text, 1));
BEGIN;
SELECT present('acme/1');
SELECT present('bolt/1');
SELECT try($$INSERT INTO account VALUES ('acme', 1, 1, 10), ('bolt', 1, 2, 20), ('acme', 1, 3, 30)$$);
-- One row of another lease, and nothing of the statement is done.
SELECT try($$INSERT INTO account VALUES ('acme', 1, 4, 10), ('acme', 2, 5, 20)$$);
SELECT try($$UPDATE account SET amount = amount + 1$$);
SELECT try($$DELETE FROM account WHERE id = 3$$);
-- No row, no lease: nothing to check.
SELECT try($$UPDATE account SET amount = 0 WHERE tenant = 'nobody'$$);
COMMIT;
SELECT * FROM show();
SELECT try($$UPDATE account SET amount = 0 WHERE tenant = 'nobody'$$);
SELECT try($$UPDATE account SET amount = 0 WHERE tenant = 'acme'$$);

-- NULL in a key column belongs to no lease.
BEGIN;
SELECT present('acme/1');
SELECT try($$INSERT INTO account VALUES ('acme', NULL, 6, 0)$$);
SELECT try($$INSERT INTO account VALUES (NULL, 1, 6, 0)$$);
SELECT try($$UPDATE account SET region = NULL WHERE id = 1$$);
ROLLBACK;
SELECT try($$INSERT INTO account VALUES ('acme', NULL, 6, 0)$$);
-- A key too long for a lease.
SELECT split_part(try(format('INSERT INTO account VALUES (%L, 1, 6, 0)', repeat('k', 513))), E'\n', 1);

-- A row that changes its key leaves one lease for another: both must be held.
BEGIN;
SELECT present('acme/1');
SELECT try($$UPDATE account SET region = 2 WHERE id = 1$$);
SELECT present('acme/2');
SELECT try($$UPDATE account SET region = 2 WHERE id = 1$$);
SELECT try($$UPDATE account SET region = 2, tenant = 'acme' WHERE id = 1$$);
COMMIT;
BEGIN;
SELECT present('acme/1');
SELECT try($$UPDATE account SET region = 1 WHERE id = 1$$);
ROLLBACK;
SELECT * FROM show();

-- A stale token for one of the keys.
SELECT status FROM fencing.release(token('acme/2'));
SELECT take('acme/2 again', fencing.key_of('acme'::text, 2));
BEGIN;
SELECT present('bolt/1');
SELECT present('acme/2');
SELECT try($$UPDATE account SET amount = amount + 1 WHERE id IN (1, 2)$$);
SELECT try($$UPDATE account SET amount = amount + 1 WHERE id = 2$$);
ROLLBACK;
-- Rows of many kinds in one statement, in any order.
BEGIN;
SELECT present('bolt/1');
SELECT present('acme/1');
SELECT present('acme/2 again');
SELECT try($$INSERT INTO account SELECT (ARRAY['acme', 'bolt'])[1 + n % 2], 1, 100 + n, n FROM generate_series(1, 10) AS n$$);
SELECT try($$UPDATE account SET tenant = CASE tenant WHEN 'acme' THEN 'bolt' ELSE 'acme' END WHERE id > 100$$);
COMMIT;
SELECT tenant, region, name_of(written), count(*) FROM account GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- TRUNCATE names no lease.
BEGIN;
SELECT present('acme/1');
SELECT try('TRUNCATE account', hints => true);
ROLLBACK;
SELECT left(try('TRUNCATE account'), 5);

-- A trigger that sorts before the guard's may set the key; the guard sees what will be stored.
CREATE FUNCTION set_region() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.region := 2; RETURN NEW; END';
CREATE TRIGGER set_region BEFORE INSERT ON account FOR EACH ROW EXECUTE FUNCTION set_region();
BEGIN;
SELECT present('acme/1');
SELECT try($$INSERT INTO account VALUES ('acme', 1, 7, 0)$$);
SELECT present('acme/2 again');
SELECT try($$INSERT INTO account VALUES ('acme', 1, 7, 0)$$);
ROLLBACK;
