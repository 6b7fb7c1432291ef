-- A guard's triggers, replaced by hand: said, listed, and put right.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE VIEW gaps AS SELECT gap, severity, detail, remedy FROM fencing.enforcement_gaps();
CREATE TABLE doc (id int, body text);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);

-- By one that fires for less.
CREATE OR REPLACE TRIGGER "~fencing" BEFORE INSERT ON doc FOR EACH ROW
    EXECUTE FUNCTION fencing.guard_row('namespace=jobs', 'key=a', 'fence=lease', 'on_missing=reject', 'mode=enforce', 'level=row');
SELECT remedy FROM gaps \gexec
CREATE OR REPLACE TRIGGER "~fencing_statement" BEFORE INSERT OR UPDATE OR DELETE ON doc FOR EACH STATEMENT WHEN (false)
    EXECUTE FUNCTION fencing.guard_statement('namespace=jobs', 'key=a', 'fence=lease', 'on_missing=reject', 'mode=enforce', 'level=row');
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;

-- By one that calls something else: its name is left to it.
CREATE OR REPLACE TRIGGER "~fencing" BEFORE INSERT OR UPDATE OR DELETE ON doc FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;
SELECT tgname, tgfoid::regproc, tgenabled FROM pg_trigger WHERE tgrelid = 'doc'::regclass ORDER BY 1;
DROP TRIGGER "~fencing" ON doc;
SELECT * FROM gaps;

-- By one of another lease: the remedy is what is recorded, whichever trigger says something else.
CREATE OR REPLACE TRIGGER "~fencing_truncate" BEFORE TRUNCATE ON doc FOR EACH STATEMENT
    EXECUTE FUNCTION fencing.guard_truncate('namespace=jobs', 'key=b', 'fence=lease', 'on_missing=reject', 'mode=enforce', 'level=row');
ALTER TABLE doc ENABLE ALWAYS TRIGGER "~fencing_truncate";
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT key FROM fencing.guards;
SELECT * FROM gaps;

-- A name that is taken before there is a guard.
CREATE TABLE taken (id int);
CREATE TRIGGER "~fencing_statement" BEFORE INSERT ON taken FOR EACH STATEMENT EXECUTE FUNCTION nothing();
SELECT try($$SELECT fencing.protect('taken', 'jobs', 'a')$$);
SELECT tgname, tgfoid::regproc, tgenabled FROM pg_trigger WHERE tgrelid = 'taken'::regclass ORDER BY 1;

-- fencing.guards has a table as long as any of its guard's triggers is left.
SET client_min_messages = error;
DROP TRIGGER "~fencing_truncate" ON taken;
SELECT * FROM fencing.guards WHERE relation = 'taken'::regclass;
DROP TRIGGER "~fencing" ON taken;
SELECT relation, key FROM fencing.guards WHERE relation = 'taken'::regclass;
SELECT try($$SELECT fencing.unprotect('taken')$$);
SELECT relation, key FROM fencing.guards WHERE relation = 'taken'::regclass;
