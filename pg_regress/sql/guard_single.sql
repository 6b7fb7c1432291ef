-- A guard with one lease for its table: every way to write, under every kind of token.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (id int PRIMARY KEY, body text, written bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', token_column => 'written')$$);
CREATE TABLE source (id int, body text);
INSERT INTO source VALUES (1, 'merged'), (2, 'merged');
CREATE FUNCTION show() RETURNS TABLE (id int, body text, written text) LANGUAGE sql AS 'SELECT id, body, name_of(written) FROM doc ORDER BY id';

-- Every way to write. Each is tried with no token, with a stale one, and with the current one.
CREATE TABLE way (n int GENERATED ALWAYS AS IDENTITY, statement text);
INSERT INTO way (statement) VALUES
    ($$INSERT INTO doc VALUES (1, 'inserted')$$),
    ($$INSERT INTO doc SELECT id + 1, 'selected' FROM source$$),
    ($$INSERT INTO doc VALUES (1, 'again') ON CONFLICT (id) DO UPDATE SET body = 'conflict'$$),
    ($$INSERT INTO doc VALUES (1, 'again') ON CONFLICT DO NOTHING$$),
    ($$WITH w AS (INSERT INTO doc VALUES (4, 'with') RETURNING id) SELECT id FROM w$$),
    ($$UPDATE doc SET body = 'updated' WHERE id = 2$$),
    ($$UPDATE doc SET body = 'joined' FROM source WHERE doc.id = source.id + 1$$),
    ($$UPDATE doc SET body = 'no row' WHERE id = 100$$),
    ($$UPDATE doc SET id = 5 WHERE id = 4$$),
    ($$DELETE FROM doc WHERE id = 5$$),
    ($$DELETE FROM doc WHERE id = 100$$),
    ($$DELETE FROM doc USING source WHERE doc.id = source.id + 2$$),
    ($$MERGE INTO doc USING source ON doc.id = source.id WHEN MATCHED AND source.id = 1 THEN UPDATE SET body = source.body WHEN MATCHED THEN DELETE$$),
    ($$MERGE INTO doc USING source ON doc.id = source.id + 10 WHEN NOT MATCHED THEN INSERT VALUES (source.id + 10, source.body)$$),
    ($$MERGE INTO doc USING source ON doc.id = source.id + 10 WHEN MATCHED AND false THEN UPDATE SET body = 'never'$$),
    ($$DO 'BEGIN UPDATE doc SET body = ''in a block'' WHERE id = 11; END'$$),
    ($$TRUNCATE doc$$);
CREATE FUNCTION ways() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    w record;
BEGIN
    FOR w IN SELECT * FROM way ORDER BY n LOOP
        RETURN NEXT format('%s -> %s', w.statement, split_part(try(w.statement), E'\n', 1));
    END LOOP;
END
$$;
SELECT ways();
SELECT take('old');
SELECT status FROM fencing.release(token('old'));
SELECT take('new');
BEGIN;
SELECT present('old');
SELECT ways();
COMMIT;
BEGIN;
SELECT present('new');
SELECT ways();
ROLLBACK;
SELECT * FROM show();

-- COPY.
\set VERBOSITY sqlstate
COPY doc (id, body) FROM stdin;
1	copied
\.
BEGIN;
SELECT present('old');
COPY doc (id, body) FROM stdin;
1	copied
\.
ROLLBACK;
\set VERBOSITY default
BEGIN;
SELECT present('new');
COPY doc (id, body, written) FROM stdin;
1	copied	\N
2	copied	42
\.
COMMIT;
SELECT * FROM show();

-- The token column says under which term a row was written; what a statement assigns to it is ignored.
BEGIN;
SELECT present('new');
SELECT try($$INSERT INTO doc VALUES (3, 'own', 42), (4, 'own', {old}), (5, 'own', NULL)$$);
SELECT try($$UPDATE doc SET written = 42 WHERE id = 3$$);
SELECT try($$UPDATE doc SET written = NULL WHERE id = 4$$);
SELECT try($$UPDATE doc SET body = body WHERE id = 5$$);
SELECT try($$INSERT INTO doc VALUES (3, 'x', 42) ON CONFLICT (id) DO UPDATE SET body = 'conflict', written = excluded.written$$);
COMMIT;
SELECT * FROM show();
SELECT status FROM fencing.release(token('new'));
SELECT take('newer');
BEGIN;
SELECT present('newer');
SELECT try($$UPDATE doc SET body = 'newer' WHERE id = 4$$);
COMMIT;
SELECT * FROM show();

-- Each way to be turned away.
BEGIN;
SELECT try('DELETE FROM doc');
SAVEPOINT s;
SELECT present('new');
SELECT try('DELETE FROM doc');
ROLLBACK TO s;
ROLLBACK;
SELECT take('elsewhere', 'b');
BEGIN;
SELECT present('elsewhere');
SELECT try('DELETE FROM doc');
ROLLBACK;
BEGIN;
SELECT try('SELECT fencing.present({newer} + 1)');
SELECT split_part(try('DELETE FROM doc'), E'\n', 1);
ROLLBACK;
BEGIN;
SELECT present('newer');
SELECT status FROM fencing.release(token('newer'));
SELECT try('DELETE FROM doc');
ROLLBACK;
-- Several leases' tokens together are no contradiction.
BEGIN;
SELECT present('elsewhere');
SELECT present('newer');
SELECT try('DELETE FROM doc WHERE id = 5');
COMMIT;
SELECT * FROM show();

-- A namespace that is gone (it takes force to get there) lets nothing pass.
BEGIN;
CREATE TABLE orphan (id int);
CREATE TRIGGER "~fencing" BEFORE INSERT ON orphan FOR EACH ROW EXECUTE FUNCTION fencing.guard_row('namespace=gone', 'key=a', 'fence=lease', 'on_missing=admit', 'mode=enforce', 'level=row');
SELECT split_part(try('INSERT INTO orphan VALUES (1)'), E'\n', 1);
ROLLBACK;
