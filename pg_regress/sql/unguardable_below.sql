-- Below a guarded table: what can have no guard. A partition that is a foreign table is said and
-- listed; a child that is temporary is its own session's alone. Neither keeps the rest from being guarded.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE FOREIGN DATA WRAPPER regress_nothing;
CREATE SERVER regress_nowhere FOREIGN DATA WRAPPER regress_nothing;
CREATE VIEW triggers AS SELECT tgrelid::regclass, tgname, tgenabled, tgparentid <> 0 AS cloned FROM pg_trigger
    WHERE tgname ~ 'fencing' AND tgrelid::regclass::text !~ 'fencing[.]' ORDER BY tgrelid::regclass::text, tgname;

CREATE TABLE parted (id int, v int) PARTITION BY LIST (id);
SELECT try($$SELECT fencing.protect('parted', 'jobs', 'a')$$);
CREATE FOREIGN TABLE made PARTITION OF parted FOR VALUES IN (1) SERVER regress_nowhere;
CREATE FOREIGN TABLE attached (id int, v int) SERVER regress_nowhere;
ALTER TABLE parted ATTACH PARTITION attached FOR VALUES IN (2);
-- Its row trigger is a clone.
SELECT * FROM triggers WHERE tgrelid IN ('made'::regclass, 'attached'::regclass);
SELECT * FROM fencing.enforcement_gaps();
-- The other partitions are guarded whole, and the guard can be changed.
SET client_min_messages = error;
CREATE TABLE here PARTITION OF parted FOR VALUES IN (3);
RESET client_min_messages;
SELECT * FROM triggers WHERE tgrelid = 'here'::regclass;
ALTER TABLE here DISABLE TRIGGER "~fencing";
SELECT try($$SELECT fencing.alter_guard('parted')$$);
SELECT * FROM triggers WHERE tgrelid = 'here'::regclass;
SELECT try($$SELECT fencing.alter_guard('parted', key_columns => '{id}')$$);
SELECT relation, key_columns FROM fencing.guards ORDER BY relation::text;
SELECT remedy FROM fencing.enforcement_gaps() \gexec
SELECT * FROM fencing.enforcement_gaps();
SELECT * FROM triggers WHERE tgrelid IN ('made'::regclass, 'attached'::regclass);
DROP TABLE parted;

-- By inheritance.
CREATE TABLE parent (id int);
SELECT try($$SELECT fencing.protect('parent', 'jobs', 'a')$$);
CREATE FOREIGN TABLE child () INHERITS (parent) SERVER regress_nowhere;
SELECT * FROM fencing.enforcement_gaps();
SELECT remedy FROM fencing.enforcement_gaps() \gexec
SELECT * FROM fencing.enforcement_gaps();

-- A temporary child: no gap, and in nobody's way.
CREATE TEMPORARY TABLE mine () INHERITS (parent);
SELECT relation FROM fencing.guards ORDER BY relation::text;
SELECT * FROM fencing.enforcement_gaps();
SELECT try($$SELECT fencing.alter_guard('parent', key_columns => '{id}')$$);
SELECT relation, verdict FROM fencing.prove_guard('parent');
SELECT try($$SELECT fencing.unprotect('parent')$$);
SELECT try($$SELECT fencing.protect('parent', 'jobs', 'a')$$);
SELECT * FROM triggers;
