-- Every way a term can end is its own end_reason; every call says the same one, before and after another takes over.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '30 s')$$);
SELECT try($$SELECT fencing.create_namespace('lax', ttl => '30 s', on_expiry => 'accept_until_superseded')$$);
CREATE TABLE doc (key text, namespace text);
CREATE TABLE doc_lax (key text, namespace text);
SELECT try($$SELECT fencing.protect('doc', 'jobs', key_columns => '{key}')$$);
SELECT try($$SELECT fencing.protect('doc_lax', 'lax', key_columns => '{key}')$$);
-- What a statement comes to: a status, or a SQLSTATE with what it says of the term.
CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
    detail text;
BEGIN
    EXECUTE statement INTO answer;
    RETURN coalesce(nullif(answer, ''), 'passes');
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN concat_ws(' ', SQLSTATE, substring(detail FROM 'is ([a-z_]+)\.'));
END
$$;
CREATE FUNCTION matrix() RETURNS TABLE (ended text, namespace text, renew text, renew_all text, release text, check_token text, assert_current text, write text, record text)
    LANGUAGE plpgsql AS $$
BEGIN
    FOR ended, namespace IN SELECT k.key, s.name FROM ways AS k, fencing.namespace AS s ORDER BY s.name, k.n LOOP
        DECLARE
            t bigint := token(namespace || ' ' || ended);
        BEGIN
            CONTINUE WHEN t IS NULL;
            -- What asks first must not decide what the next one hears.
            check_token := outcome(format('SELECT fencing.check_token(%s)', t));
            renew := outcome(format('SELECT status FROM fencing.renew(%s)', t));
            renew_all := outcome(format('SELECT status FROM fencing.renew_all(ARRAY[%s])', t));
            release := CASE WHEN check_token = 'current' THEN 'not asked' ELSE outcome(format('SELECT fencing.release(%s)', t)) END;
            assert_current := outcome(format('SELECT fencing.assert_current(%s)', t));
            PERFORM fencing.present(t);
            write := outcome(format('WITH w AS (INSERT INTO %I VALUES (%L) RETURNING 1) SELECT NULL', CASE namespace WHEN 'jobs' THEN 'doc' ELSE 'doc_lax' END, ended));
            record := (SELECT end_reason FROM fencing.term AS r WHERE r.token = t);
            RETURN NEXT;
        END;
    END LOOP;
END
$$;
CREATE TABLE ways (n int GENERATED ALWAYS AS IDENTITY, key text);
INSERT INTO ways (key) VALUES ('current'), ('expired'), ('released'), ('revoked'), ('revoked after a grace'), ('expired, then revoked'),
    ('revoked, then released'), ('deleted'), ('deleted after expiry'), ('purged'), ('released, then purged'), ('withdrawn'), ('session lost');
CREATE ROLE regress_ends_anna;
SELECT try(format('SELECT fencing.grant_namespace(%L, %L, %L)', name, 'regress_ends_anna', 'hold')) FROM fencing.namespace;
DO $$
DECLARE
    w record;
BEGIN
    FOR w IN SELECT s.name, k.key FROM ways AS k, fencing.namespace AS s LOOP
        CONTINUE WHEN w.key = 'session lost';
        IF w.key = 'withdrawn' THEN
            SET LOCAL ROLE regress_ends_anna;
        END IF;
        PERFORM set_config('fencing.acquire_in_block', 'on', true);
        PERFORM take(w.name || ' ' || w.key, w.key, w.name, CASE w.key WHEN 'current' THEN interval '1 h' END);
        RESET ROLE;
    END LOOP;
END
$$;
INSERT INTO named SELECT n.name || ' session lost', a.token FROM fencing.namespace AS n, fencing.acquire(n.name, 'session lost', 'x', bind_session => true) AS a;
\c
SET client_min_messages = warning;
-- Its end records it, in its own time.
DO $$
BEGIN
    FOR n IN 1..6000 LOOP
        EXIT WHEN (SELECT count(*) FROM fencing.term WHERE end_reason = 'session_lost') = 2;
        PERFORM pg_sleep(0.01);
    END LOOP;
END
$$;
SELECT DISTINCT ended, fencing.release(token(name || ' ' || ended)) FROM fencing.namespace, unnest(ARRAY['released', 'released, then purged']) AS ended ORDER BY 1;
SELECT DISTINCT ended, fencing.revoke(name, ended, 'test', grace) FROM fencing.namespace,
       (VALUES ('revoked', interval '0'), ('revoked, then released', '0'), ('revoked after a grace', '20 s'), ('expired, then revoked', '40 s')) AS r (ended, grace) ORDER BY 1;
SELECT DISTINCT fencing.release(token(name || ' revoked, then released')) FROM fencing.namespace;
SELECT DISTINCT fencing.drop_lease(name, 'deleted') FROM fencing.namespace;
SELECT try(format('SELECT fencing.revoke_namespace(%L, %L, %L)', name, 'regress_ends_anna', 'hold')) FROM fencing.namespace;
SET fencing.test_clock_offset = '35 s';
SELECT ended, name, fencing.drop_lease(name, ended) FROM fencing.namespace, unnest(ARRAY['deleted after expiry', 'purged', 'released, then purged']) AS ended WHERE ended LIKE 'deleted%' ORDER BY 1, 2;
-- All but one of those that lapsed are kept by others; the purge takes the rest.
BEGIN;
SELECT * FROM matrix();
ROLLBACK;
-- The grace of the last one runs out.
SET fencing.test_clock_offset = '41 s';
SELECT * FROM matrix() WHERE ended IN ('expired, then revoked');
SELECT fencing.purge_leases('1 s') > 10 AS purged;
SELECT * FROM matrix();
-- And after others have taken over.
SELECT n.name, count(*) FROM fencing.namespace AS n, ways AS w, take('next ' || n.name || w.key, w.key, n.name, '1 h') AS t WHERE w.key <> 'current' AND t = 'granted' GROUP BY 1 ORDER BY 1;
SELECT * FROM matrix();
-- And after those have gone as well.
SELECT n.name, count(*) FROM fencing.namespace AS n, ways AS w, fencing.drop_lease(n.name, w.key) AS t WHERE w.key <> 'current' AND t = 'deleted' GROUP BY 1 ORDER BY 1;
SELECT * FROM matrix();
DROP ROLE regress_ends_anna;
