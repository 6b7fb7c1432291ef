-- protect() changes somebody's table, and so runs that somebody's code: it must run as nobody but
-- the caller.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT fencing.create_namespace('jobs');
CREATE ROLE regress_rights_otto;
SELECT fencing.grant_namespace('jobs', 'regress_rights_otto', 'administer');
CREATE SCHEMA own AUTHORIZATION regress_rights_otto;
SET ROLE regress_rights_otto;

-- A partition key runs when the table's definition is read anew, as CREATE TRIGGER makes happen.
CREATE FUNCTION own.who() RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = CURRENT_USER) THEN
        RAISE EXCEPTION 'runs as superuser';
    END IF;
    RETURN 1;
END
$$;
CREATE FUNCTION own.key(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM own.who(); RETURN $1; END $$;
CREATE TABLE own.doc (id int, body text) PARTITION BY RANGE ((id + own.key(1)));
CREATE TABLE own.doc_1 PARTITION OF own.doc FOR VALUES FROM (0) TO (10);
SELECT fencing.protect('own.doc', 'jobs', key => 'a');
SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE tgrelid IN ('own.doc'::regclass, 'own.doc_1'::regclass) ORDER BY 1, 2;
-- The right to attach the trigger functions was lent; that of the row trigger stays with a partitioned table's
-- owner, whose new partitions get a clone of it.
SELECT has_function_privilege('fencing.guard_row()', 'EXECUTE'), has_function_privilege('fencing.guard_statement()', 'EXECUTE'),
       has_function_privilege('fencing.guard_truncate()', 'EXECUTE');
SELECT fencing.unprotect('own.doc');
SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('own.doc'::regclass, 'own.doc_1'::regclass);
RESET ROLE;
-- Where it lacks that one right alone, there is none to take back.
GRANT EXECUTE ON FUNCTION fencing.guard_statement(), fencing.guard_truncate() TO regress_rights_otto;
SET ROLE regress_rights_otto;
SELECT try($$SELECT fencing.protect('own.doc', 'jobs', key => 'a')$$);
SELECT has_function_privilege('fencing.guard_row()', 'EXECUTE');
SELECT try($$SELECT fencing.unprotect('own.doc')$$);
SELECT has_function_privilege('fencing.guard_row()', 'EXECUTE');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION fencing.guard_statement(), fencing.guard_truncate() FROM regress_rights_otto;

-- What an event trigger calls without a schema is not looked for where the caller says.
SET ROLE regress_rights_otto;
CREATE TABLE own.note (id int);
CREATE FUNCTION own.lower(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$;
RESET ROLE;
CREATE FUNCTION audit() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM lower('X'); END $$;
CREATE EVENT TRIGGER regress_rights_audit ON ddl_command_end EXECUTE FUNCTION audit();
SET ROLE regress_rights_otto;
SET search_path = own, pg_catalog;
SELECT fencing.protect('own.note', 'jobs', key => 'b');
SHOW search_path;
RESET search_path;
SELECT relation, key FROM fencing.guards;
RESET ROLE;
DROP EVENT TRIGGER regress_rights_audit;

-- Nobody may lock, guard or unguard a table that isn't theirs.
CREATE ROLE regress_rights_anna;
SELECT fencing.grant_namespace('jobs', 'regress_rights_anna', 'administer');
SET ROLE regress_rights_anna;
SELECT try($$SELECT fencing.protect('own.note', 'jobs', key => 'b')$$);
RESET ROLE;
GRANT USAGE ON SCHEMA own TO regress_rights_anna;
SET ROLE regress_rights_anna;
SELECT try($$SELECT fencing.protect('own.note', 'jobs', key => 'b')$$);
SELECT try($$SELECT fencing.unprotect('own.note')$$);
RESET ROLE;

DROP OWNED BY regress_rights_otto;
DROP ROLE regress_rights_otto, regress_rights_anna;
