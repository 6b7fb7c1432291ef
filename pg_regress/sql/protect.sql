-- protect: what it attaches, what fencing.guards says of it, and what unprotect takes off.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE VIEW triggers AS
SELECT t.tgrelid::regclass AS relation, t.tgname, t.tgenabled,
       regexp_replace(pg_get_triggerdef(t.oid), '^CREATE TRIGGER "?~\w+"? ', '') AS definition
  FROM pg_trigger AS t WHERE t.tgrelid::regclass::text !~ '^fencing[.]' ORDER BY t.tgrelid::regclass::text, t.tgname;

-- One lease for the table: for each row, before each statement, before TRUNCATE. All fire ALWAYS.
CREATE TABLE doc (id int, body text, fence bigint, written bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
SELECT * FROM triggers;
SELECT * FROM fencing.guards;
SELECT try($$SELECT fencing.unprotect('doc')$$);
SELECT * FROM triggers;
SELECT * FROM fencing.guards;
-- Every choice.
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a=b', NULL, 'written', 'fence', 'lease', 'admit', 'observe', 'row', NULL)$$);
SELECT * FROM fencing.guards;
SELECT try($$SELECT fencing.unprotect('doc')$$);
-- By statement: no row trigger.
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', level => 'statement')$$);
SELECT relation, tgname FROM triggers;
SELECT level FROM fencing.guards;
SELECT try($$SELECT fencing.unprotect('doc')$$);
-- One lease for each value: no statement trigger.
SELECT try($$SELECT fencing.protect('doc', 'jobs', key_columns => '{body,id}', token_column => 'written')$$);
SELECT * FROM triggers;
SELECT * FROM fencing.guards;
SELECT try($$SELECT fencing.unprotect('doc')$$);

-- Names and keys of any kind, whatever the session's settings.
CREATE SCHEMA "My ""Schema""";
CREATE TABLE "My ""Schema"""."T's" ("Key" text, "a=b" bigint, "c'd" bigint);
SET standard_conforming_strings = off;
SET quote_all_identifiers = on;
SELECT try($q$SELECT fencing.protect('"My ""Schema"""."T''s"', 'jobs', key_columns => ARRAY['Key'], token_column => 'a=b', present_column => 'c''d')$q$);
RESET standard_conforming_strings;
RESET quote_all_identifiers;
SELECT * FROM fencing.guards;
SELECT try($q$SELECT fencing.unprotect('"My ""Schema"""."T''s"')$q$);
SELECT try($q$SELECT fencing.protect('"My ""Schema"""."T''s"', 'jobs', E'it''s a \\ "key", ä\n=')$q$);
SELECT to_json(key) FROM fencing.guards;
SELECT try($q$SELECT fencing.unprotect('"My ""Schema"""."T''s"')$q$);
DROP SCHEMA "My ""Schema""" CASCADE;

-- The row trigger sorts after the names that people give.
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER zzzz BEFORE INSERT ON doc FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
SELECT tgname FROM pg_trigger WHERE tgrelid = 'doc'::regclass AND (tgtype & 1) = 1 ORDER BY tgname COLLATE "C";
SELECT try($$SELECT fencing.unprotect('doc')$$);
DROP TRIGGER zzzz ON doc;

-- A partitioned table: row triggers are cloned, the others are attached to each table of the tree.
CREATE TABLE parted (id int, fence bigint) PARTITION BY LIST (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2) PARTITION BY LIST (id);
CREATE TABLE parted_2_2 PARTITION OF parted_2 FOR VALUES IN (2);
SELECT try($$SELECT fencing.protect('parted', 'jobs', 'a', present_column => 'fence')$$);
SELECT relation, tgname, tgenabled FROM triggers;
SELECT relation, key, present_column FROM fencing.guards ORDER BY relation::text;
-- A new one gets the row trigger from PostgreSQL.
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES IN (3);
SELECT relation, tgname, tgenabled FROM triggers WHERE relation = 'parted_3'::regclass AND tgname = '~fencing';
SELECT try('INSERT INTO parted_3 VALUES (3)');
SELECT try($$SELECT fencing.unprotect('parted')$$);
SELECT * FROM triggers;

-- The definition travels with the table.
SELECT try($$SELECT fencing.protect('doc', 'jobs', key_columns => '{body}')$$);
ALTER TABLE doc RENAME TO paper;
CREATE SCHEMA elsewhere;
ALTER TABLE paper SET SCHEMA elsewhere;
SELECT relation, namespace, key_columns FROM fencing.guards;
SELECT try($$INSERT INTO elsewhere.paper VALUES (1, 'b')$$);
-- A key column that is gone or unfit lets nothing pass.
ALTER TABLE elsewhere.paper RENAME COLUMN body TO subject;
SELECT left(try($$INSERT INTO elsewhere.paper VALUES (1, 'b')$$), 5);
ALTER TABLE elsewhere.paper RENAME COLUMN subject TO body;
SELECT left(try($$INSERT INTO elsewhere.paper VALUES (1, 'b')$$), 5);
ALTER TABLE elsewhere.paper ALTER body TYPE char(3);
SELECT left(try($$INSERT INTO elsewhere.paper VALUES (1, 'b')$$), 5);
ALTER TABLE elsewhere.paper DROP COLUMN body;
SELECT left(try($$INSERT INTO elsewhere.paper VALUES (1)$$), 5);
SELECT try($$SELECT fencing.unprotect('elsewhere.paper')$$);
SELECT try($$INSERT INTO elsewhere.paper VALUES (1)$$);

-- In a transaction that is rolled back, it never was.
CREATE TABLE doc (id int);
BEGIN;
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
SELECT left(try('INSERT INTO doc VALUES (1)'), 5);
ROLLBACK;
SELECT * FROM triggers;
SELECT try('INSERT INTO doc VALUES (1)');

-- The trigger functions are of no use elsewhere: not called directly, not attached by hand.
SELECT try('SELECT fencing.guard_row()');
CREATE TABLE other (id int);
CREATE TRIGGER t AFTER INSERT ON other FOR EACH ROW EXECUTE FUNCTION fencing.guard_row('namespace=jobs', 'key=a');
SELECT left(try('INSERT INTO other VALUES (1)'), 5);
DROP TRIGGER t ON other;
CREATE TRIGGER t BEFORE INSERT ON other FOR EACH ROW EXECUTE FUNCTION fencing.guard_row('something=else');
SELECT left(try('INSERT INTO other VALUES (1)'), 5);
DROP TABLE other;
