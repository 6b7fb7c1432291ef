-- CREATE EXTENSION and DROP EXTENSION: where it goes, what stands in the way, and starting again.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

CREATE EXTENSION fencing;
SELECT extname, extnamespace::regnamespace, extrelocatable, superuser, trusted
  FROM pg_extension JOIN pg_available_extension_versions ON name = extname AND version = extversion WHERE extname = 'fencing';
SELECT try('CREATE EXTENSION fencing');
SELECT try('ALTER EXTENSION fencing SET SCHEMA public');
SELECT try('DROP SCHEMA fencing');
SELECT try('DROP TABLE fencing.fence');
SELECT try('DROP FUNCTION fencing.guard_row()');

-- A guarded table stands in the way.
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT take('before');
CREATE TABLE doc (id int);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
SELECT split_part(try('DROP EXTENSION fencing'), E'\n', 1);
SELECT try($$SELECT fencing.unprotect('doc')$$);
SELECT epoch AS epoch_before FROM fencing.epoch \gset
DROP EXTENSION fencing;
SELECT count(*) FROM pg_class WHERE relnamespace = 'fencing'::regnamespace;
SELECT try('INSERT INTO doc VALUES (1)');

-- Made again it knows nothing of before, in the same session too; and it issues other tokens.
CREATE EXTENSION fencing;
SELECT try($$SELECT fencing.inspect('jobs', 'a')$$);
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT status FROM fencing.check_token(token('before'));
SELECT take('after');
SELECT token('after') <> token('before'), fencing.epoch_of(token('after')) >= :epoch_before;
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
BEGIN;
SELECT present('before');
SELECT left(try('INSERT INTO doc VALUES (2)'), 5);
ROLLBACK;
BEGIN;
SELECT present('after');
SELECT try('INSERT INTO doc VALUES (3)');
COMMIT;
-- CASCADE takes the guards with it.
DROP EXTENSION fencing CASCADE;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'doc'::regclass;
SELECT try('INSERT INTO doc VALUES (4)');

-- In a transaction that is rolled back; made and used in one.
BEGIN;
CREATE EXTENSION fencing;
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
SET LOCAL fencing.acquire_in_block = on;
SELECT take('within');
SELECT present('within');
SELECT try('INSERT INTO doc VALUES (5)');
ROLLBACK;
SELECT try('INSERT INTO doc VALUES (6)');
DROP SCHEMA fencing;

-- Not into a schema that somebody else made, not by everyone, nowhere else.
CREATE ROLE regress_extension_anna;
CREATE SCHEMA fencing AUTHORIZATION regress_extension_anna;
SELECT split_part(try('CREATE EXTENSION fencing'), E'\n', 1);
DROP SCHEMA fencing;
SELECT split_part(try('CREATE EXTENSION fencing SCHEMA public'), E'\n', 1);
DO $$BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO regress_extension_anna', current_database()); END$$;
SET ROLE regress_extension_anna;
SELECT split_part(try('CREATE EXTENSION fencing'), E'\n', 1);
RESET ROLE;
DROP OWNED BY regress_extension_anna;
DROP ROLE regress_extension_anna;

-- Default privileges of the installing role open nothing.
CREATE ROLE regress_extension_bert;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO PUBLIC;
CREATE EXTENSION fencing;
SELECT count(*) FROM pg_class WHERE relnamespace = 'fencing'::regnamespace AND relkind IN ('r', 'S')
   AND has_table_privilege('regress_extension_bert', oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE');
SELECT has_table_privilege('regress_extension_bert', 'fencing.guards', 'INSERT, UPDATE, DELETE, TRUNCATE');
SELECT count(*) FROM pg_proc WHERE pronamespace = 'fencing'::regnamespace AND prorettype = 'trigger'::regtype AND has_function_privilege('regress_extension_bert', oid, 'EXECUTE');
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON SEQUENCES FROM PUBLIC;
DROP ROLE regress_extension_bert;
