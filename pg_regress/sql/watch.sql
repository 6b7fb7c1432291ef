-- The DDL watch keeps a guard whole while people change tables, and says where it can't.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE VIEW triggers AS SELECT tgrelid::regclass, tgname, tgenabled, tgparentid <> 0 AS cloned FROM pg_trigger
    WHERE tgname ~ 'fencing' AND tgrelid::regclass::text !~ 'fencing[.]' ORDER BY tgrelid::regclass::text, tgname;

-- Partitions that are made, attached, detached, attached again.
CREATE TABLE parted (id int, v int) PARTITION BY RANGE (id);
SELECT try($$SELECT fencing.protect('parted', 'jobs', 'a')$$);
CREATE TABLE made PARTITION OF parted FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id);
CREATE TABLE made_1 PARTITION OF made FOR VALUES FROM (0) TO (5);
CREATE TABLE attached (v int, id int);
ALTER TABLE parted ATTACH PARTITION attached FOR VALUES FROM (10) TO (20);
SELECT * FROM triggers;
SELECT try('TRUNCATE made_1');
SELECT try('TRUNCATE attached');
-- What is detached keeps its guard, as one of its own.
ALTER TABLE parted DETACH PARTITION attached;
SELECT * FROM triggers WHERE tgrelid = 'attached'::regclass;
SELECT try('INSERT INTO attached VALUES (1, 11)');
SELECT schema, name FROM fencing.guarded ORDER BY name;
ALTER TABLE parted ATTACH PARTITION attached FOR VALUES FROM (10) TO (20);
SELECT * FROM triggers WHERE tgrelid = 'attached'::regclass;
SELECT schema, name FROM fencing.guarded ORDER BY name;
ALTER TABLE parted DETACH PARTITION attached;
SELECT try($$SELECT fencing.unprotect('attached')$$);
SELECT * FROM triggers WHERE tgrelid = 'attached'::regclass;
-- In a schema made in one statement.
CREATE SCHEMA one CREATE TABLE parted (id int) PARTITION BY RANGE (id) CREATE TABLE part (id int);

-- Renamed columns are followed, on every table below.
CREATE TABLE named_columns (id int, k text, fence bigint, written bigint) PARTITION BY LIST (k);
CREATE TABLE named_columns_a PARTITION OF named_columns FOR VALUES IN ('a');
SELECT try($$SELECT fencing.protect('named_columns', 'jobs', key_columns => '{k,id}', token_column => 'written', present_column => 'fence')$$);
ALTER TABLE named_columns RENAME k TO id_of_job;
ALTER TABLE named_columns RENAME COLUMN written TO "Written = under";
ALTER TABLE named_columns RENAME fence TO f;
SELECT relation, key_columns, token_column, present_column FROM fencing.guards WHERE relation::text ~ 'named' ORDER BY 1;
SELECT definition FROM fencing.guarded WHERE name = 'named_columns';
-- A column that takes the old name means nothing.
ALTER TABLE named_columns ADD k text;
SELECT try($$INSERT INTO named_columns (id, id_of_job) VALUES (1, 'a')$$);
SELECT count(*) FROM triggers WHERE tgenabled <> 'A';

-- Names and schemas of tables.
CREATE TABLE plain (id int, body text);
SELECT try($$SELECT fencing.protect('plain', 'jobs', key_columns => '{id}')$$);
ALTER TABLE plain RENAME TO renamed;
ALTER TABLE renamed SET SCHEMA one;
ALTER SCHEMA one RENAME TO two;
SELECT schema, name FROM fencing.guarded WHERE definition @> '{key_column=id}' AND name <> 'named_columns' ORDER BY 1, 2;
SELECT try('INSERT INTO two.renamed VALUES (1)');

-- Weakened.
ALTER TABLE two.renamed DISABLE TRIGGER "~fencing";
ALTER TABLE two.renamed ENABLE TRIGGER "~fencing";
ALTER TABLE two.renamed ENABLE ALWAYS TRIGGER "~fencing";
ALTER TABLE two.renamed SET UNLOGGED;
ALTER TABLE two.renamed SET LOGGED;
CREATE FUNCTION two.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER early BEFORE INSERT ON two.renamed FOR EACH ROW EXECUTE FUNCTION two.nothing();
CREATE TRIGGER "~late" BEFORE INSERT ON two.renamed FOR EACH ROW EXECUTE FUNCTION two.nothing();
ALTER TRIGGER "~late" ON two.renamed RENAME TO "not late";
ALTER TRIGGER "not late" ON two.renamed RENAME TO "~later";
DROP TRIGGER "~later" ON two.renamed;
CREATE RULE elsewhere AS ON DELETE TO two.renamed DO INSTEAD NOTHING;
DROP RULE elsewhere ON two.renamed;
ALTER TABLE two.renamed ALTER id TYPE numeric;
ALTER TABLE two.renamed ALTER id TYPE int;
ALTER TABLE two.renamed DROP COLUMN id;
DROP TRIGGER "~fencing" ON two.renamed;
-- What has nothing to do with a guard says nothing.
ALTER TABLE two.renamed ADD note text;
DROP TABLE two.renamed;
CREATE TABLE free (id int);
ALTER TABLE free SET UNLOGGED;
CREATE RULE r AS ON DELETE TO free DO INSTEAD NOTHING;
-- In a session that fires no other trigger, too.
SET session_replication_role = replica;
ALTER TABLE named_columns RENAME id_of_job TO job;
CREATE TABLE named_columns_b PARTITION OF named_columns FOR VALUES IN ('b');
RESET session_replication_role;
SELECT key_columns FROM fencing.guards WHERE relation = 'named_columns'::regclass;
SELECT * FROM triggers WHERE tgrelid = 'named_columns_b'::regclass;

-- By whoever owns the table, without a right on the namespace.
CREATE ROLE regress_watch_owner;
ALTER TABLE parted OWNER TO regress_watch_owner;
GRANT CREATE ON SCHEMA public TO regress_watch_owner;
SET ROLE regress_watch_owner;
CREATE TABLE hers PARTITION OF parted FOR VALUES FROM (100) TO (110);
RESET ROLE;
SELECT * FROM triggers WHERE tgrelid = 'hers'::regclass;
SELECT has_function_privilege('regress_watch_owner', f, 'EXECUTE') FROM unnest(ARRAY['fencing.guard_row()', 'fencing.guard_statement()', 'fencing.guard_truncate()']) AS f;
-- What it may not do is said; the statement stands.
CREATE TABLE another (id int, v int);
ALTER TABLE parted ATTACH PARTITION another FOR VALUES FROM (200) TO (210);
ALTER TABLE another OWNER TO CURRENT_USER;
SET ROLE regress_watch_owner;
ALTER TABLE parted DETACH PARTITION another;
RESET ROLE;
SELECT * FROM triggers WHERE tgrelid = 'another'::regclass;
-- Calling the watch by hand does nothing.
SELECT try($$SELECT fencing.watch_command(NULL)$$);
SELECT try($$SELECT fencing.keep_guard(NULL)$$);
SELECT try($$SELECT fencing.keep_guard(0)$$);
SELECT try($$SELECT fencing.should_be_guarded(NULL, NULL)$$);
-- The right to make partitions goes with the last guarded, partitioned table.
SELECT try($$SELECT fencing.unprotect('parted')$$);
SELECT has_function_privilege('regress_watch_owner', 'fencing.guard_row()', 'EXECUTE');
DROP TABLE parted, another;
REVOKE CREATE ON SCHEMA public FROM regress_watch_owner;
DROP ROLE regress_watch_owner;
