-- maintain is for superusers: nobody can borrow it, and nobody can make a superuser call it.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (id int);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
CREATE ROLE regress_maintain_anna;
GRANT ALL ON doc TO regress_maintain_anna;
GRANT CREATE ON SCHEMA public TO regress_maintain_anna;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_maintain_anna', 'administer')$$);

SET ROLE regress_maintain_anna;
SELECT try($$SELECT fencing.maintain('mine')$$);
BEGIN;
SELECT try($$SELECT fencing.maintain('mine')$$);
SELECT left(try('INSERT INTO doc VALUES (1)'), 5);
COMMIT;
SELECT left(try('SELECT * FROM fencing.event'), 5);
RESET ROLE;
-- A superuser's function doesn't lend it.
CREATE FUNCTION lend() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM fencing.maintain('lent');
END
$$;
SET ROLE regress_maintain_anna;
SELECT try('SELECT lend()');
-- Nor does a superuser who calls somebody's function, or touches somebody's table.
CREATE FUNCTION borrow() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM fencing.maintain('borrowed');
END
$$;
CREATE FUNCTION indexed(id int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    PERFORM fencing.maintain('indexed');
    RETURN id;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE WARNING 'as %: %', current_user, SQLERRM;
    RETURN id;
END
$$;
CREATE TABLE trap (id int);
INSERT INTO trap VALUES (1);
RESET ROLE;
SELECT try('SELECT borrow()');
SELECT try('SELECT lend()');
CREATE INDEX ON trap (indexed(id));
-- Whoever it is turned on for may change the role: the transaction is what writes.
BEGIN;
SELECT try($$SELECT fencing.maintain('then as anna')$$);
SET LOCAL ROLE regress_maintain_anna;
SELECT try('INSERT INTO doc VALUES (2)');
COMMIT;
SELECT actor::regrole, detail FROM fencing.event ORDER BY id;
SELECT id FROM doc;
DROP TABLE trap;
DROP OWNED BY regress_maintain_anna CASCADE;
DROP ROLE regress_maintain_anna;
