-- prove_guard: a really stale command at each table of a tree, rolled back; rejected, accepted or
-- inconclusive.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
SET client_min_messages = error; -- what the DDL watch says is its own test's
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN COALESCE(NEW, OLD); END';

-- One lease for the table: never granted, ended, held, superseded; without a row and with one.
CREATE TABLE doc (id serial PRIMARY KEY, body text NOT NULL, fence bigint, written bigint);
SELECT * FROM fencing.prove_guard('doc');
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', token_column => 'written')$$);
SELECT * FROM fencing.prove_guard('doc');
SELECT take('old');
SELECT verdict, detail FROM fencing.prove_guard('doc');
SELECT try('SELECT fencing.release({old})');
SELECT verdict, detail FROM fencing.prove_guard('doc');
SELECT take('new');
SELECT verdict, detail FROM fencing.prove_guard('doc');
SELECT last_value, is_called FROM doc_id_seq;
-- In the middle of the holder's own transaction, which goes on as if nothing had been.
BEGIN;
SELECT present('new');
INSERT INTO doc (body) VALUES ('mine');
SELECT verdict, detail FROM fencing.prove_guard('doc');
UPDATE doc SET body = 'mine again';
SAVEPOINT s;
SELECT verdict, detail FROM fencing.prove_guard('doc');
RELEASE s;
SELECT verdict, detail FROM fencing.prove_guard('doc');
COMMIT;
SELECT id, body, name_of(written) FROM doc;
-- Whoever maintains passes every guard, and that is what it finds then.
BEGIN;
SELECT fencing.maintain('test');
SELECT verdict, detail FROM fencing.prove_guard('doc');
ROLLBACK;
-- Nothing is left behind.
BEGIN;
SELECT verdict FROM fencing.prove_guard('doc');
SELECT try('INSERT INTO doc (body) VALUES (1)');
SELECT current_setting('lock_timeout'), current_setting('client_min_messages');
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
COMMIT;
-- Each trigger is proven, not only the first that fires.
ALTER TABLE doc DISABLE TRIGGER "~fencing";
SELECT * FROM fencing.prove_guard('doc');
ALTER TABLE doc ENABLE ALWAYS TRIGGER "~fencing", DISABLE TRIGGER "~fencing_statement";
SELECT * FROM fencing.prove_guard('doc');
ALTER TABLE doc DISABLE TRIGGER ALL;
SELECT * FROM fencing.prove_guard('doc');
DELETE FROM doc;
SELECT * FROM fencing.prove_guard('doc');
SELECT try($$SELECT fencing.alter_guard('doc', present_column => 'fence')$$);
SELECT * FROM fencing.prove_guard('doc');
ALTER TABLE doc DISABLE TRIGGER "~fencing";
SELECT * FROM fencing.prove_guard('doc');
-- Rules that let something pass: observing is none, admitting is only for those who present nothing.
SELECT try($$SELECT fencing.alter_guard('doc', mode => 'observe')$$);
SELECT * FROM fencing.prove_guard('doc');
SELECT try($$SELECT fencing.alter_guard('doc', mode => 'enforce', on_missing => 'admit')$$);
SELECT * FROM fencing.prove_guard('doc');
-- Another session_replication_role.
SET session_replication_role = replica;
SELECT * FROM fencing.prove_guard('doc');
RESET session_replication_role;
SELECT try($$SELECT fencing.alter_guard('doc', level => 'statement', present_column => '', token_column => '')$$);
SELECT * FROM fencing.prove_guard('doc');
ALTER TABLE doc DISABLE TRIGGER "~fencing_statement";
SELECT * FROM fencing.prove_guard('doc');

-- One lease for each value: keys of every type, alone and together, without a row and with one.
CREATE DOMAIN short AS varchar(9) NOT NULL CHECK (VALUE <> '');
CREATE DOMAIN needed AS int NOT NULL DEFAULT 7;
CREATE TYPE color AS ENUM ('red', 'green');
CREATE TABLE keyed (
    always int GENERATED ALWAYS AS IDENTITY, small smallint, big bigint, name short, tint color, at uuid, body text,
    size int GENERATED ALWAYS AS (1) STORED, filled needed, CHECK (body <> body));
CREATE FUNCTION prove(VARIADIC keys name[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    proven text;
BEGIN
    PERFORM fencing.protect('keyed', 'jobs', key_columns => keys);
    proven := (SELECT format('%s: %s: %s', keys, p.verdict, p.detail) FROM fencing.prove_guard('keyed') AS p);
    PERFORM fencing.unprotect('keyed');
    RETURN proven;
END
$$;
SELECT prove(k, 'name') FROM unnest('{always,small,big,tint,at,body}'::name[]) AS k;
-- A domain that refuses NULL does so before any trigger; without it, it is the guard's turn.
SELECT prove('small');
ALTER TABLE keyed DROP COLUMN name;
SELECT prove(k) FROM unnest('{always,small,big,tint,at,body}'::name[]) AS k;
-- A row that has a key is looked for; a row without one tells nothing.
INSERT INTO keyed (always, small) OVERRIDING SYSTEM VALUE VALUES (1, NULL), (2, 2);
SELECT prove('small');
SELECT prove('always');
-- A table without a column that can be assigned; one without any.
CREATE TABLE bare (a int GENERATED ALWAYS AS IDENTITY);
INSERT INTO bare DEFAULT VALUES;
SELECT * FROM fencing.prove_guard('bare');
SELECT try($$SELECT fencing.protect('bare', 'jobs', key_columns => '{a}')$$);
SELECT * FROM fencing.prove_guard('bare');
CREATE TABLE nil ();
SELECT * FROM fencing.prove_guard('nil');
SELECT try($$SELECT fencing.protect('nil', 'jobs', 'a')$$);
SELECT * FROM fencing.prove_guard('nil');

-- What it can't tell: an earlier trigger skips the row, or fails; a rule puts nothing in its place.
CREATE TABLE odd (id int, body text);
INSERT INTO odd VALUES (1);
SELECT try($$SELECT fencing.protect('odd', 'jobs', key_columns => '{id}')$$);
CREATE TRIGGER early BEFORE UPDATE ON odd FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT * FROM fencing.prove_guard('odd');
CREATE OR REPLACE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'of its own'; END$$;
CREATE OR REPLACE TRIGGER early BEFORE UPDATE ON odd FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT * FROM fencing.prove_guard('odd');
DROP TRIGGER early ON odd;
CREATE RULE aside AS ON UPDATE TO odd DO INSTEAD NOTHING;
SELECT * FROM fencing.prove_guard('odd');
DROP RULE aside ON odd;
-- A constraint of another table is none of this one's; an early trigger raised it.
CREATE TABLE strict (id int NOT NULL);
CREATE OR REPLACE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO strict VALUES (NULL); RETURN NEW; END$$;
CREATE TRIGGER early BEFORE UPDATE ON odd FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT * FROM fencing.prove_guard('odd');
-- Nor is another table's guard, whether a trigger meets it before or after.
CREATE OR REPLACE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO nil DEFAULT VALUES; RETURN NEW; END$$;
SELECT * FROM fencing.prove_guard('odd');
CREATE OR REPLACE TRIGGER early AFTER UPDATE ON odd FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT * FROM fencing.prove_guard('odd');
ALTER TABLE odd DISABLE TRIGGER "~fencing";
SELECT * FROM fencing.prove_guard('odd');
SELECT try($$SELECT fencing.alter_guard('odd')$$);
CREATE OR REPLACE TRIGGER early BEFORE UPDATE ON odd FOR EACH ROW EXECUTE FUNCTION nothing();
-- A trigger after the guard changes nothing of the verdict.
CREATE OR REPLACE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$;
ALTER TRIGGER early ON odd RENAME TO "~late";
SELECT * FROM fencing.prove_guard('odd');

-- Nothing that was written under it ever commits.
BEGIN;
SELECT fencing.present_stale(true);
SELECT left(try('UPDATE odd SET body = 1'), 5), left(try('INSERT INTO doc (body) VALUES (1)'), 5);
COMMIT;
-- What a savepoint presented is its parent's once it is released, in either form.
BEGIN;
SAVEPOINT s;
SELECT fencing.present_stale(false);
RELEASE s;
SAVEPOINT t;
ROLLBACK TO t;
PREPARE TRANSACTION 'stale';
BEGIN;
SAVEPOINT s;
SELECT fencing.present_stale(true);
RELEASE s;
SAVEPOINT t;
ROLLBACK TO t;
COMMIT;
SELECT left(try('SELECT fencing.present_stale(false)'), 5);
SELECT fencing.present_stale(false);
SELECT try('SELECT fencing.present_stale(NULL)');
BEGIN;
SAVEPOINT s;
SELECT fencing.present_stale(false);
ROLLBACK TO s;
SELECT present('new');
SELECT fencing.present_stale(true);
ROLLBACK TO s;
COMMIT;
-- It takes precedence over what is presented, and over what was accepted.
SELECT try($$SELECT fencing.alter_guard('doc', level => 'row', on_missing => 'reject', token_column => 'written', present_column => 'fence')$$);
BEGIN;
SELECT present('new');
SELECT try('INSERT INTO doc (body) VALUES (1)');
SAVEPOINT s;
SELECT fencing.present_stale(false);
SELECT left(try('INSERT INTO doc (body) VALUES (1)'), 5), left(try('UPDATE doc SET fence = {new}'), 5), left(try('TRUNCATE doc'), 5);
ROLLBACK TO s;
SELECT fencing.present_stale(true);
SELECT left(try('INSERT INTO doc (body) VALUES (1)'), 5), left(try('UPDATE doc SET fence = {new}'), 5), left(try('UPDATE doc SET fence = -1'), 5), left(try('TRUNCATE doc'), 5);
ROLLBACK TO s;
SELECT try('UPDATE doc SET body = 2');
COMMIT;

-- Rights, and what has no guard to prove.
SELECT try('SELECT fencing.prove_guard(NULL)');
SELECT try('SELECT fencing.prove_guard(1::oid::regclass)');
CREATE VIEW shown AS SELECT * FROM odd;
SELECT try('SELECT fencing.prove_guard(''shown'')');
SELECT try('SELECT fencing.prove_guard(''pg_class'')');
SELECT try('SELECT fencing.prove_guard(''fencing.lease'')');
CREATE ROLE regress_prove_anna;
CREATE ROLE regress_prove_ben IN ROLE regress_prove_anna;
CREATE ROLE regress_prove_carl;
GRANT ALL ON odd TO regress_prove_carl;
ALTER TABLE odd OWNER TO regress_prove_anna;
SET ROLE regress_prove_carl;
SELECT try('SELECT fencing.prove_guard(''odd'')');
SELECT try('SELECT fencing.prove_guard(''shown'')');
SET ROLE regress_prove_ben;
SELECT * FROM fencing.prove_guard('odd');
RESET ROLE;
-- The table's triggers run as the caller, under the caller's settings.
CREATE OR REPLACE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE '% %', current_user, current_setting('search_path'); END$$;
CREATE OR REPLACE TRIGGER early BEFORE UPDATE ON odd FOR EACH ROW EXECUTE FUNCTION nothing();
SET ROLE regress_prove_ben;
SET search_path = public, pg_catalog;
SELECT * FROM fencing.prove_guard('odd');
RESET search_path;
RESET ROLE;
-- An operator that somebody planted is never called.
CREATE SCHEMA planted;
CREATE FUNCTION planted.never(text, text) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'planted'; END$$;
CREATE FUNCTION planted.never(oid, oid) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'planted'; END$$;
CREATE OPERATOR planted.= (FUNCTION = planted.never, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR planted.<> (FUNCTION = planted.never, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR planted.= (FUNCTION = planted.never, LEFTARG = oid, RIGHTARG = oid);
SET search_path = planted, pg_catalog, public;
SELECT * FROM fencing.prove_guard('doc');
SELECT * FROM fencing.prove_guard('keyed');
RESET search_path;
DROP OWNED BY regress_prove_anna, regress_prove_carl CASCADE;
DROP ROLE regress_prove_anna, regress_prove_ben, regress_prove_carl;
