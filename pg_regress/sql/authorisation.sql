-- Whose rights count: those of the session's role and of what it inherits from; nothing lends others.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '1 h')$$);
CREATE TABLE doc (body text);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
CREATE ROLE regress_auth_team;
CREATE ROLE regress_auth_anna IN ROLE regress_auth_team;
CREATE ROLE regress_auth_nora NOINHERIT;
GRANT regress_auth_team TO regress_auth_nora;
CREATE ROLE regress_auth_adam CREATEROLE;
CREATE ROLE regress_auth_mallory;
GRANT ALL ON doc TO PUBLIC;
GRANT CREATE ON SCHEMA public TO regress_auth_mallory;
SELECT privilege, try(format('SELECT fencing.grant_namespace(%L, %L, %L)', 'jobs', 'regress_auth_team', privilege)) FROM unnest(ARRAY['hold', 'administer']) AS privilege;
-- First lines alone: the rest is shown elsewhere.
CREATE FUNCTION brief(statement text) RETURNS text LANGUAGE sql AS $$SELECT split_part(try($1), E'\n', 1)$$;
CREATE FUNCTION write(name text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM present(name);
    RETURN brief(format('INSERT INTO doc VALUES (%L)', name));
END
$$;

-- A member that inherits may do what its role may; its terms are its own, not the role's.
SET SESSION AUTHORIZATION regress_auth_anna;
SELECT take('anna');
RESET SESSION AUTHORIZATION;
SELECT role::regrole FROM fencing.term WHERE token = token('anna');
SET SESSION AUTHORIZATION regress_auth_nora;
SET ROLE regress_auth_team;
SELECT brief('SELECT fencing.renew({anna})');
SELECT brief('SELECT fencing.release({anna})');
SELECT write('anna');
SELECT status FROM fencing.revoke('jobs', 'a', 'as an administrator');
-- Terms of the role are every such member's.
SELECT take('team');
SET SESSION AUTHORIZATION regress_auth_anna;
SELECT status FROM fencing.renew(token('team'));
SELECT write('team');
SELECT brief('SELECT fencing.assert_current({team})');
-- A member that doesn't inherit has to say SET ROLE first.
SET SESSION AUTHORIZATION regress_auth_nora;
SELECT brief($$SELECT fencing.acquire('jobs', 'b', 'nora')$$);
SELECT brief($$SELECT fencing.revoke('jobs', 'a', 'x')$$);
SELECT brief('SELECT fencing.renew({team})');
SELECT brief($$SELECT fencing.report({team}, 'a', '{}')$$);
SELECT write('team');
SET ROLE regress_auth_team;
SELECT status FROM fencing.renew(token('team'));
SELECT write('team');
RESET ROLE;
-- Creating roles gives nothing here, unless it is turned into a membership.
SET SESSION AUTHORIZATION regress_auth_adam;
CREATE ROLE regress_auth_made;
RESET SESSION AUTHORIZATION;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_auth_made', 'hold')$$);
SET SESSION AUTHORIZATION regress_auth_adam;
SELECT brief($$SELECT fencing.acquire('jobs', 'b', 'adam')$$);
RESET SESSION AUTHORIZATION;

-- A definer's function lends nothing, whoever owns it.
CREATE FUNCTION lent(statement text) RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT brief($1)';
SET SESSION AUTHORIZATION regress_auth_mallory;
SELECT statement, lent(statement) FROM unnest(ARRAY[
    'SELECT fencing.create_namespace($$mine$$)', 'SELECT fencing.alter_namespace($$jobs$$, ttl => $$1 s$$)', 'SELECT fencing.drop_namespace($$jobs$$)',
    'SELECT fencing.grant_namespace($$jobs$$, $$regress_auth_mallory$$, $$hold$$)', 'SELECT fencing.revoke_namespace($$jobs$$, $$regress_auth_team$$, $$hold$$)',
    'SELECT fencing.inspect($$jobs$$, $$a$$)', 'SELECT fencing.blockers($$jobs$$, $$a$$)', 'SELECT fencing.evict($$jobs$$, $$a$$)',
    'SELECT fencing.revoke($$jobs$$, $$a$$, $$x$$)', 'SELECT fencing.drop_lease($$jobs$$, $$a$$)', 'SELECT fencing.renew({team})', 'SELECT fencing.release({team})',
    'SELECT fencing.report({team}, $$a$$, $${}$$)', 'SELECT fencing.assert_current({team})']) AS statement;
SELECT fencing.purge_leases('0');
-- Nor do people who merely maintain somebody's table run that somebody's code with rights of their own.
-- (From PostgreSQL 17 on, maintenance comes with a search path of its own.)
CREATE TABLE trap (id int);
INSERT INTO trap VALUES (1);
CREATE TABLE caught (outcome text);
CREATE FUNCTION spring() RETURNS void LANGUAGE sql VOLATILE SET search_path = public AS $$
    INSERT INTO public.caught SELECT public.brief(statement) FROM unnest(ARRAY['SELECT fencing.release({team})',
        $q$SELECT fencing.grant_namespace('jobs', 'regress_auth_mallory', 'administer')$q$, $q$SELECT fencing.create_namespace('mine')$q$]) AS statement
$$;
CREATE FUNCTION trap(id int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM public.spring(); RETURN id; END';
CREATE INDEX ON trap (trap(id));
RESET SESSION AUTHORIZATION;
REINDEX TABLE trap;
ANALYZE trap;
SELECT outcome, count(*) > 2 AS often FROM caught GROUP BY outcome ORDER BY outcome;
SELECT status FROM fencing.check_token(token('team'));
-- Nor do people who delete a row that somebody's table refers to.
CREATE TABLE parent (id int PRIMARY KEY);
INSERT INTO parent VALUES (1);
GRANT SELECT, REFERENCES ON parent TO regress_auth_mallory;
TRUNCATE caught;
SET SESSION AUTHORIZATION regress_auth_mallory;
CREATE FUNCTION spring_on_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO caught SELECT brief(statement) FROM unnest(ARRAY['SELECT fencing.release({team})', 'SELECT * FROM fencing.renew({team})',
        $q$SELECT fencing.revoke('jobs', 'a', 'mine')$q$, $q$SELECT fencing.grant_namespace('jobs', 'regress_auth_mallory', 'administer')$q$,
        $q$SELECT fencing.create_namespace('mine')$q$, $q$SELECT fencing.advance_epoch('mine')$q$]) AS statement;
    RETURN old;
END
$$;
CREATE TABLE child (parent int REFERENCES parent ON DELETE CASCADE);
CREATE TRIGGER spring BEFORE DELETE ON child FOR EACH ROW EXECUTE FUNCTION spring_on_delete();
INSERT INTO child VALUES (1);
RESET SESSION AUTHORIZATION;
DELETE FROM parent;
SELECT outcome, count(*) FROM caught GROUP BY outcome ORDER BY outcome;
SELECT status FROM fencing.check_token(token('team'));

-- What became of a token, anybody may ask; a superuser may do anything.
SET SESSION AUTHORIZATION regress_auth_mallory;
SELECT status FROM fencing.check_token(token('team'));
RESET SESSION AUTHORIZATION;
SELECT status FROM fencing.renew(token('team'));
SELECT write('team');
SELECT status FROM fencing.release(token('team'));
DROP OWNED BY regress_auth_team, regress_auth_anna, regress_auth_nora, regress_auth_adam, regress_auth_made, regress_auth_mallory;
DROP ROLE regress_auth_team, regress_auth_anna, regress_auth_nora, regress_auth_adam, regress_auth_made, regress_auth_mallory;
