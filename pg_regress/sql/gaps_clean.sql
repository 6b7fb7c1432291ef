-- enforcement_gaps on guards of every kind that have no gap: nothing but notes, whoever asks.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT * FROM fencing.enforcement_gaps();
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE whole (id int PRIMARY KEY, body text, fence bigint, written bigint);
SELECT try($$SELECT fencing.protect('whole', 'jobs', 'a', token_column => 'written', present_column => 'fence')$$);
CREATE DOMAIN short AS varchar(9);
CREATE TYPE color AS ENUM ('red', 'green');
CREATE TABLE keyed (id bigint, name short, tint color, at uuid, body text);
SELECT try($$SELECT fencing.protect('keyed', 'jobs', key_columns => '{id,name,tint,at,body}')$$);
CREATE TABLE bulk (id int);
SELECT try($$SELECT fencing.protect('bulk', 'jobs', 'b', level => 'statement')$$);
CREATE TABLE parted (id int, at date) PARTITION BY RANGE (at);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO ('2025-01-01') PARTITION BY LIST (id);
CREATE TABLE parted_1_1 PARTITION OF parted_1 DEFAULT;
SELECT try($$SELECT fencing.protect('parted', 'jobs', 'c')$$);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ('2025-01-01') TO (MAXVALUE);
CREATE TABLE parted_1_2 PARTITION OF parted_1 FOR VALUES IN (2);
CREATE TABLE parent (id int);
CREATE TABLE child () INHERITS (parent);
SELECT try($$SELECT fencing.protect('parent', 'jobs', key_columns => '{id}')$$);
CREATE TABLE grandchild () INHERITS (child);
CREATE SCHEMA "My ""Schema""";
CREATE TABLE "My ""Schema"""."T's" ("a=b" int);
SELECT try($q$SELECT fencing.protect('"My ""Schema"""."T''s"', 'jobs', key_columns => '{a=b}')$q$);
SELECT count(*) FROM fencing.guards;
SELECT * FROM fencing.enforcement_gaps();

-- What is no gap: triggers that come before, that fire after the row, or don't fire; another's table.
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER zzzz BEFORE INSERT OR UPDATE ON whole FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE TRIGGER "~zzz" AFTER INSERT ON whole FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE TRIGGER "~zz" BEFORE INSERT ON whole FOR EACH STATEMENT EXECUTE FUNCTION nothing();
SET client_min_messages = error;
CREATE TRIGGER "~off" BEFORE INSERT ON whole FOR EACH ROW EXECUTE FUNCTION nothing();
ALTER TABLE whole DISABLE TRIGGER "~off";
CREATE TRIGGER "~any" BEFORE INSERT ON bulk FOR EACH ROW EXECUTE FUNCTION nothing();
SET client_min_messages = warning;
CREATE TABLE other (id int);
CREATE TRIGGER "~any" BEFORE INSERT ON other FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE RULE elsewhere AS ON INSERT TO other DO INSTEAD NOTHING;
CREATE VIEW shown AS SELECT * FROM whole;
CREATE RULE shown AS ON DELETE TO shown DO INSTEAD NOTHING;
SELECT * FROM fencing.enforcement_gaps();

-- Tables that take their guard along, or lose it as they should.
ALTER TABLE whole RENAME TO renamed;
ALTER TABLE renamed RENAME COLUMN fence TO inline;
ALTER TABLE keyed SET SCHEMA "My ""Schema""";
ALTER TABLE parted DETACH PARTITION parted_2;
ALTER TABLE child NO INHERIT parent;
SELECT try($$SELECT fencing.unprotect('bulk')$$);
DROP TABLE parent;
SELECT * FROM fencing.enforcement_gaps();

-- Owners are a note, with those who may act as they do. Anybody may ask.
CREATE ROLE regress_gaps_anna LOGIN;
CREATE ROLE regress_gaps_team;
CREATE ROLE regress_gaps_ben LOGIN IN ROLE regress_gaps_team;
CREATE ROLE regress_gaps_carl IN ROLE regress_gaps_team;
ALTER TABLE renamed OWNER TO regress_gaps_anna;
ALTER TABLE child OWNER TO regress_gaps_team;
SET ROLE regress_gaps_carl;
SELECT * FROM fencing.enforcement_gaps();
SELECT try('SELECT * FROM fencing.gaps_in_settings()');
RESET ROLE;
-- An operator that somebody planted is never called.
CREATE SCHEMA planted;
CREATE FUNCTION planted.never(oid, oid) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'planted'; END$$;
CREATE OPERATOR planted.= (FUNCTION = planted.never, LEFTARG = oid, RIGHTARG = oid);
SET search_path = planted, pg_catalog, public;
SELECT relation, severity, gap FROM fencing.enforcement_gaps();
SELECT verdict FROM fencing.prove_guard('child');
RESET search_path;
DROP OWNED BY regress_gaps_anna, regress_gaps_team, regress_gaps_carl CASCADE;
DROP ROLE regress_gaps_anna, regress_gaps_ben, regress_gaps_carl, regress_gaps_team;
