-- enforcement_gaps: each gap is planted, listed, and mended by nothing but its own remedy.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
SET client_min_messages = error; -- what the DDL watch says is its own test's
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE VIEW gaps AS SELECT * FROM fencing.enforcement_gaps() WHERE severity <> 'note';
CREATE VIEW notes AS SELECT * FROM fencing.enforcement_gaps() WHERE severity = 'note';
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';

-- Triggers of one table: disabled, downgraded, dropped, replaced.
CREATE TABLE doc (id int, body text, fence bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
ALTER TABLE doc DISABLE TRIGGER "~fencing";
ALTER TABLE doc ENABLE TRIGGER "~fencing_statement";
ALTER TABLE doc ENABLE REPLICA TRIGGER "~fencing_truncate";
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;
DROP TRIGGER "~fencing" ON doc;
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
DROP TRIGGER "~fencing_truncate" ON doc;
DROP TRIGGER "~fencing_statement" ON doc;
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
CREATE OR REPLACE TRIGGER "~fencing" BEFORE INSERT OR UPDATE OF body ON doc FOR EACH ROW WHEN (NEW.id > 0)
    EXECUTE FUNCTION fencing.guard_row('namespace=jobs', 'key=a', 'fence=lease', 'on_missing=reject', 'mode=enforce', 'level=row');
ALTER TABLE doc ENABLE ALWAYS TRIGGER "~fencing";
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;
-- All of them gone: what is recorded is left.
DO $$BEGIN EXECUTE (SELECT string_agg(format('DROP TRIGGER %I ON doc', tgname), '; ') FROM pg_trigger WHERE tgrelid = 'doc'::regclass); END$$;
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;
DROP TABLE doc;

-- A copy that is renamed into a guarded table's place; every part of a definition.
CREATE SCHEMA "My ""Schema""";
CREATE TABLE "My ""Schema"""."T's" ("a=b" int, "c'd" bigint, e bigint);
SELECT try($q$SELECT fencing.protect('"My ""Schema"""."T''s"', 'jobs', key_columns => ARRAY['a=b'], token_column => 'c''d', present_column => 'e')$q$);
ALTER TABLE "My ""Schema"""."T's" RENAME TO old;
CREATE TABLE "My ""Schema"""."T's" (LIKE "My ""Schema""".old INCLUDING ALL);
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;
SELECT * FROM fencing.guards ORDER BY relation::text;
DROP SCHEMA "My ""Schema""" CASCADE;
CREATE TABLE bulk (id int);
SELECT try($$SELECT fencing.protect('bulk', 'jobs', E'it''s a \\ "key"', level => 'statement')$$);
ALTER TABLE bulk RENAME TO bulk_old;
CREATE TABLE bulk (id int);
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT relation, key, level FROM fencing.guards ORDER BY relation::text;
DROP TABLE bulk, bulk_old;

-- Partitions, nested ones too.
CREATE TABLE parted (id int, at date) PARTITION BY RANGE (at);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO ('2025-01-01') PARTITION BY LIST (id);
CREATE TABLE parted_1_1 PARTITION OF parted_1 DEFAULT;
SELECT try($$SELECT fencing.protect('parted', 'jobs', 'c')$$);
ALTER TABLE parted_1_1 DISABLE TRIGGER ALL;
DROP TRIGGER "~fencing_truncate" ON parted_1;
ALTER EVENT TRIGGER fencing_watch_ddl DISABLE;
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ('2025-01-01') TO (MAXVALUE);
ALTER EVENT TRIGGER fencing_watch_ddl ENABLE ALWAYS;
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;
-- Nothing left at the top, something below.
DROP TRIGGER "~fencing" ON parted;
DROP TRIGGER "~fencing_statement" ON parted;
DROP TRIGGER "~fencing_truncate" ON parted;
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;
DROP TABLE parted;

-- Inheritance children.
CREATE TABLE parent (id int);
CREATE TABLE child () INHERITS (parent);
SELECT try($$SELECT fencing.protect('parent', 'jobs', key_columns => '{id}')$$);
ALTER EVENT TRIGGER fencing_watch_ddl DISABLE;
CREATE TABLE grandchild () INHERITS (child);
ALTER EVENT TRIGGER fencing_watch_ddl ENABLE ALWAYS;
DROP TRIGGER "~fencing_own" ON child;
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;
DROP TABLE parent CASCADE;

-- Declared so.
CREATE TABLE doc (id int);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', mode => 'observe', on_missing => 'admit')$$);
CREATE TABLE parted (id int) PARTITION BY LIST (id);
CREATE TABLE parted_1 PARTITION OF parted DEFAULT;
SELECT try($$SELECT fencing.protect('parted', 'jobs', key_columns => '{id}', mode => 'observe')$$);
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;
DROP TABLE doc, parted;

-- By statement, where a row may come another way.
CREATE TABLE a_parent (id int);
CREATE TABLE b_child (id int);
CREATE TABLE c_partition (id int);
SELECT try($$SELECT fencing.protect('a_parent', 'jobs', 'a', level => 'statement')$$);
SELECT try($$SELECT fencing.protect('b_child', 'jobs', 'a', level => 'statement')$$);
SELECT try($$SELECT fencing.protect('c_partition', 'jobs', 'a', level => 'statement')$$);
CREATE TABLE a_parent_1 () INHERITS (a_parent);
CREATE TABLE b (id int);
ALTER TABLE b_child INHERIT b;
CREATE TABLE c (id int) PARTITION BY LIST (id);
ALTER TABLE c ATTACH PARTITION c_partition DEFAULT;
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;
SELECT relation, level FROM fencing.guards ORDER BY relation::text;
DROP TABLE a_parent, b, c CASCADE;

-- What the table has besides.
CREATE TABLE doc (id int, body text);
CREATE TABLE log (id int);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
CREATE RULE divert AS ON UPDATE TO doc WHERE OLD.id > 1 DO INSTEAD INSERT INTO log VALUES (1);
CREATE RULE "Log's" AS ON INSERT TO doc DO ALSO INSERT INTO log VALUES (1);
CREATE RULE off AS ON DELETE TO doc DO INSTEAD NOTHING;
ALTER TABLE doc DISABLE RULE off;
CREATE TRIGGER "~fencing!" BEFORE UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE TRIGGER "é" BEFORE DELETE ON doc FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE UNLOGGED TABLE fast (id int);
SELECT try($$SELECT fencing.protect('fast', 'jobs', 'a')$$);
CREATE TABLE parted (id int) PARTITION BY LIST (id);
CREATE UNLOGGED TABLE parted_1 PARTITION OF parted DEFAULT;
SELECT try($$SELECT fencing.protect('parted', 'jobs', key_columns => '{id}')$$);
CREATE TRIGGER "~later" BEFORE INSERT ON parted FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE TRIGGER "~mine" BEFORE INSERT ON parted_1 FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT * FROM gaps;
SELECT * FROM notes;
SELECT remedy FROM gaps \gexec
SELECT remedy FROM notes \gexec
SELECT * FROM fencing.enforcement_gaps();
-- A guard on a partition alone, whose parent has a trigger of its own.
CREATE TABLE c (id int) PARTITION BY LIST (id);
CREATE TABLE c_1 PARTITION OF c DEFAULT;
SELECT try($$SELECT fencing.protect('c_1', 'jobs', key_columns => '{id}')$$);
CREATE TRIGGER "~later" BEFORE INSERT ON c FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;
DROP TABLE c, parted, fast;

-- The guard's own trigger under another name.
ALTER TRIGGER "~fencing" ON doc RENAME TO guard;
CREATE TRIGGER just BEFORE INSERT ON doc FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT * FROM fencing.enforcement_gaps();
SELECT remedy FROM gaps \gexec
SELECT * FROM fencing.enforcement_gaps();

-- Another definition than is recorded; one that can't be read.
CREATE OR REPLACE TRIGGER "~fencing" BEFORE INSERT OR UPDATE OR DELETE ON doc FOR EACH ROW
    EXECUTE FUNCTION fencing.guard_row('namespace=jobs', 'key=b', 'fence=lease', 'on_missing=reject', 'mode=enforce', 'level=row');
CREATE OR REPLACE TRIGGER "~fencing_statement" BEFORE INSERT OR UPDATE OR DELETE ON doc FOR EACH STATEMENT EXECUTE FUNCTION fencing.guard_statement('nonsense');
ALTER TABLE doc ENABLE ALWAYS TRIGGER "~fencing";
ALTER TABLE doc ENABLE ALWAYS TRIGGER "~fencing_statement";
SELECT * FROM fencing.enforcement_gaps();
SELECT remedy FROM gaps \gexec
SELECT * FROM fencing.enforcement_gaps();
-- A child that has joined with a guard of its own keeps it: worth knowing.
CREATE TABLE own (id int, body text);
SELECT try($$SELECT fencing.protect('own', 'jobs', 'own')$$);
ALTER TABLE own INHERIT doc;
SELECT * FROM fencing.enforcement_gaps();
DROP TABLE doc CASCADE;

-- Columns: such guards are closed, not open.
CREATE TABLE doc (a int, b int, c int, f bigint, g bigint, t bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', key_columns => '{a,b,c}', token_column => 't', present_column => 'f')$$);
ALTER TABLE doc DROP COLUMN a, ALTER b TYPE numeric, ALTER t TYPE int, ALTER f SET DEFAULT 1;
SELECT * FROM fencing.enforcement_gaps();
ALTER TABLE doc DROP COLUMN t, DROP COLUMN c, ALTER f DROP DEFAULT, ALTER f SET NOT NULL;
ALTER TABLE doc ADD c int GENERATED ALWAYS AS (1) STORED;
SELECT * FROM fencing.enforcement_gaps();
ALTER TABLE doc ALTER f ADD GENERATED ALWAYS AS IDENTITY;
SELECT * FROM fencing.enforcement_gaps() WHERE detail ~ ' f ';
SELECT remedy FROM notes WHERE remedy IS NOT NULL \gexec
SELECT remedy FROM notes WHERE remedy IS NOT NULL \gexec
SELECT gap, detail, remedy FROM fencing.enforcement_gaps();
DROP TABLE doc;

-- A namespace that is gone (it takes force to get there).
CREATE TABLE orphan (id int);
CREATE TRIGGER "~fencing" BEFORE INSERT OR UPDATE OR DELETE ON orphan FOR EACH ROW
    EXECUTE FUNCTION fencing.guard_row('namespace=gone', 'key_column=id', 'fence=lease', 'on_missing=reject', 'mode=enforce', 'level=row');
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;

-- Settings. For each guarded table.
CREATE ROLE regress_gaps_dora;
SELECT format('ALTER DATABASE %I SET fencing.allow_prepare = true', current_database()),
       format('ALTER ROLE regress_gaps_dora IN DATABASE %I SET fencing.allow_prepare = 1', current_database()) \gexec
ALTER ROLE regress_gaps_dora SET fencing.allow_prepare = 'on';
ALTER ROLE regress_gaps_dora SET fencing.acquire_in_block = 'on';
SELECT relation, severity, gap, detail, replace(remedy, current_database(), '<database>') FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;
-- As a server's own configuration has it: not to be tried here, where it may be another's.
SELECT count(*) FROM pg_file_settings WHERE name = 'fencing.allow_prepare';
SET fencing.allow_prepare = on;
SELECT * FROM gaps;
RESET fencing.allow_prepare;
DROP ROLE regress_gaps_dora;

-- The DDL watch.
ALTER EVENT TRIGGER fencing_watch_ddl ENABLE;
ALTER EVENT TRIGGER fencing_watch_drop DISABLE;
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;
ALTER EXTENSION fencing DROP EVENT TRIGGER fencing_watch_ddl;
DROP EVENT TRIGGER fencing_watch_ddl;
SELECT * FROM gaps;
SELECT remedy FROM gaps \gexec
SELECT * FROM gaps;

-- A subscription writes the table as it comes. (Never committed: nothing is to connect.)
CREATE TABLE doc (id int);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
BEGIN;
CREATE SUBSCRIPTION regress_gaps_sub CONNECTION 'dbname=none' PUBLICATION p WITH (connect = false);
SET LOCAL allow_system_table_mods = on;
INSERT INTO pg_subscription_rel VALUES ((SELECT oid FROM pg_subscription WHERE subname = 'regress_gaps_sub'), 'doc'::regclass, 'i', NULL);
SELECT * FROM fencing.enforcement_gaps();
UPDATE pg_subscription SET subenabled = true WHERE subname = 'regress_gaps_sub';
SELECT * FROM fencing.enforcement_gaps();
SELECT remedy FROM gaps \gexec
SELECT severity, gap FROM fencing.enforcement_gaps();
ROLLBACK;
SELECT * FROM fencing.enforcement_gaps();
