-- The DDL watch runs in whoever's statement changes a table: what it must not read, nor run, nor trip
-- over.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT fencing.create_namespace('jobs');
CREATE ROLE regress_bounds_anna;
CREATE ROLE regress_bounds_otto;
SELECT fencing.grant_namespace('jobs', 'regress_bounds_anna', 'administer'), fencing.grant_namespace('jobs', 'regress_bounds_otto', 'administer');
CREATE SCHEMA anna AUTHORIZATION regress_bounds_anna;
CREATE SCHEMA otto AUTHORIZATION regress_bounds_otto;
CREATE FUNCTION guard_of(tables text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format('%s %s', tgrelid::regclass, tgname) FROM pg_trigger
     WHERE tgname ~ '^~fencing' AND tgrelid::regclass::text ~ $1 ORDER BY tgrelid::regclass::text, tgname $$;

-- A command is a pointer. Kept in a cursor, it outlives what it points to.
SELECT (SELECT proname FROM pg_proc WHERE oid = 'fencing.watch_command'::regproc);
CREATE TABLE otto.kept (v int) PARTITION BY LIST (v);
ALTER TABLE otto.kept OWNER TO regress_bounds_otto;
GRANT CREATE ON DATABASE :DBNAME TO regress_bounds_otto;
SET ROLE regress_bounds_otto;
CREATE FUNCTION otto.keep() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    kept refcursor := 'kept';
BEGIN
    OPEN kept SCROLL FOR SELECT command FROM pg_event_trigger_ddl_commands();
    MOVE FORWARD ALL FROM kept;
    RETURN 1;
END
$$;
CREATE FUNCTION otto.pass_on() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    kept refcursor := 'kept';
    r record;
BEGIN
    MOVE ABSOLUTE 0 FROM kept;
    FETCH kept INTO r;
    BEGIN
        PERFORM fencing.watch_command(r.command);
    EXCEPTION WHEN OTHERS THEN
        RETURN SQLSTATE || ' ' || SQLERRM;
    END;
    RETURN 'read';
END
$$;
BEGIN;
CREATE SCHEMA another CREATE TABLE one (v int) CREATE TABLE two PARTITION OF otto.kept FOR VALUES IN (otto.keep());
SELECT otto.pass_on();
-- Not within another command either.
CREATE FUNCTION otto.print(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''%'', otto.pass_on(); RETURN $1; END';
CREATE TABLE another.three PARTITION OF otto.kept FOR VALUES IN (otto.print(2));
ROLLBACK;
RESET ROLE;

-- Whoever changes a tree runs nothing of other owners, be their definition the same: their partition
-- keys would run with the rights of whoever it is.
CREATE TABLE doc (id int) PARTITION BY LIST (id);
SELECT fencing.protect('doc', 'jobs', 'a');
SET ROLE regress_bounds_otto;
CREATE FUNCTION otto.key(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = CURRENT_USER) THEN
        RAISE WARNING 'runs as superuser';
    END IF;
    RETURN $1;
END
$$;
CREATE TABLE otto.tree (id int) PARTITION BY LIST (id);
CREATE TABLE otto.trap (id int) PARTITION BY RANGE ((id + otto.key(1)));
SELECT fencing.protect('otto.tree', 'jobs', 'a');
ALTER TABLE otto.tree ATTACH PARTITION otto.trap FOR VALUES IN (1);
ALTER TABLE otto.tree DETACH PARTITION otto.trap;
DROP TRIGGER "~fencing_own" ON otto.trap;
SET ROLE NONE;
\c
SET client_min_messages = warning;
CREATE TABLE doc_1 PARTITION OF doc FOR VALUES IN (1);
SELECT guard_of('^(doc|otto.trap)');

-- What isn't one's own doesn't keep the rest from being completed.
SET ROLE regress_bounds_anna;
CREATE TABLE anna.note (id int) PARTITION BY LIST (id);
SELECT fencing.protect('anna.note', 'jobs', 'b');
CREATE TABLE anna.note_1 PARTITION OF anna.note FOR VALUES IN (1);
RESET ROLE;
ALTER TABLE anna.note_1 OWNER TO regress_bounds_otto;
GRANT USAGE ON SCHEMA anna TO regress_bounds_otto;
SET ROLE regress_bounds_otto;
DROP TRIGGER "~fencing_truncate" ON anna.note_1;
CREATE TABLE otto.note (id int);
SELECT fencing.protect('otto.note', 'jobs', 'b');
DROP TRIGGER "~fencing" ON otto.note;
SET ROLE regress_bounds_anna;
CREATE TABLE anna.note_2 PARTITION OF anna.note FOR VALUES IN (2);
ALTER TABLE anna.note DETACH PARTITION anna.note_1;
RESET ROLE;
SELECT guard_of('note');
SELECT relation, severity, gap, remedy FROM fencing.enforcement_gaps() WHERE relation::text ~ 'note' AND severity <> 'note';

-- Foreign tables have no guard: the rest of their tree has.
CREATE FOREIGN DATA WRAPPER regress_bounds_wrapper;
CREATE SERVER regress_bounds_server FOREIGN DATA WRAPPER regress_bounds_wrapper;
CREATE TABLE far (id int) PARTITION BY LIST (id);
CREATE TABLE near (id int);
SELECT fencing.protect('far', 'jobs', 'c'), fencing.protect('near', 'jobs', 'c');
CREATE FOREIGN TABLE far_1 PARTITION OF far FOR VALUES IN (1) SERVER regress_bounds_server;
CREATE FOREIGN TABLE near_1 () INHERITS (near) SERVER regress_bounds_server;
CREATE FOREIGN TABLE near_2 (id int) SERVER regress_bounds_server;
ALTER FOREIGN TABLE near_2 INHERIT near;
CREATE TABLE far_2 PARTITION OF far FOR VALUES IN (2);
CREATE TABLE near_3 () INHERITS (near);
SELECT guard_of('^(far|near)');
SELECT try($$SELECT fencing.alter_guard('far')$$);
SELECT relation, severity, gap, detail, remedy FROM fencing.enforcement_gaps() WHERE relation::text ~ '^(far|near)' AND severity <> 'note';
SELECT remedy FROM fencing.enforcement_gaps() WHERE gap = 'foreign_table' \gexec
SELECT count(*) FROM fencing.enforcement_gaps() WHERE relation::text ~ '^(far|near)' AND severity <> 'note';

-- Statements that take a guard's triggers away.
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE OR REPLACE TRIGGER "~fencing" BEFORE INSERT ON near FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE OR REPLACE TRIGGER "~fencing_statement" BEFORE INSERT ON near FOR EACH STATEMENT EXECUTE FUNCTION fencing.guard_statement('namespace=jobs', 'key=c');
CREATE TRIGGER "~fencing_like" BEFORE INSERT ON named FOR EACH ROW EXECUTE FUNCTION nothing();
DROP TRIGGER "~fencing_truncate" ON near_3;
DROP TRIGGER "~fencing_truncate" ON far_2;
SELECT fencing.alter_guard('near'), fencing.alter_guard('far');
SELECT count(*) FROM fencing.enforcement_gaps() WHERE relation::text ~ '^(far|near)' AND severity <> 'note';
ALTER TRIGGER "~fencing" ON near DEPENDS ON EXTENSION plpgsql;
ALTER TRIGGER "~fencing" ON near NO DEPENDS ON EXTENSION plpgsql;
-- A change of the guard itself takes nothing away.
SELECT fencing.alter_guard('near', key_columns => '{id}'), fencing.unprotect('far');

-- Statement triggers alone are for tables without kin.
CREATE TABLE alone (id int);
CREATE TABLE above (id int);
CREATE TABLE over (id int) PARTITION BY LIST (id);
SELECT fencing.protect('alone', 'jobs', 'd', level => 'statement');
ALTER TABLE alone INHERIT above;
ALTER TABLE alone NO INHERIT above;
ALTER TABLE over ATTACH PARTITION alone FOR VALUES IN (1);

-- The last guarded table's place is taken.
DROP TABLE doc, near, near_3, alone, over, anna.note, otto.note, otto.tree, otto.trap;
SELECT fencing.unprotect('anna.note_1');
CREATE TABLE doc_new (id int);
ALTER TABLE doc_new RENAME TO doc;

DROP OWNED BY regress_bounds_anna, regress_bounds_otto CASCADE;
DROP ROLE regress_bounds_anna, regress_bounds_otto;
