-- The proofs under a caller's own settings: however literals are read and names written, they prove the same.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE "P q" (k text NOT NULL, "Id" int, f bigint) PARTITION BY LIST (k);
CREATE TABLE pa PARTITION OF "P q" FOR VALUES IN ('a');
CREATE TABLE pb PARTITION OF "P q" FOR VALUES IN (E'b\\(', E'\\');
CREATE TABLE pd PARTITION OF "P q" DEFAULT;
CREATE TABLE own (k text, v text);
ALTER TABLE own ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY "all" ON own USING (true);
CREATE ROLE regress_prove_anna;
GRANT CREATE ON SCHEMA public TO regress_prove_anna;
ALTER TABLE own OWNER TO regress_prove_anna;
SELECT fencing.grant_namespace('jobs', 'regress_prove_anna', 'administer');

SET standard_conforming_strings = off;
SET escape_string_warning = on;
SET backslash_quote = off;
SET quote_all_identifiers = on;
SET client_min_messages = warning;
SET array_nulls = off;
SET transform_null_equals = on;
SET constraint_exclusion = on;
SET check_function_bodies = off;
SET default_transaction_deferrable = on;
SET plpgsql.extra_errors = 'all';
SET plpgsql.variable_conflict = 'use_column';
-- Attached by statements that the extension runs.
SELECT fencing.protect('"P q"', 'jobs', key_columns => '{k}', present_column => 'f');
SELECT * FROM fencing.prove_guard('"P q"');
CREATE TABLE pc PARTITION OF "P q" FOR VALUES IN ('c');
SELECT fencing.alter_guard('"P q"', token_column => 'f', present_column => '');
SELECT relation, severity, gap FROM fencing.enforcement_gaps() WHERE severity <> 'note';
CREATE TABLE one (v text);
SELECT fencing.protect('one', 'jobs', E'it''s \\ one');
SELECT key FROM fencing.guards WHERE relation = 'one'::regclass;
-- A policy may hide a row; it must not fail the proof.
SET ROLE regress_prove_anna;
SET row_security = off;
SELECT fencing.protect('own', 'jobs', key_columns => '{k}');
SELECT * FROM fencing.prove_guard('own');
RESET ROLE;
RESET row_security;
SELECT fencing.begin_epoch_transition('test');
SELECT fencing.open_epoch('test') > 0;
SELECT fencing.install_local('"P q"'), fencing.prove_epoch('"P q"'), fencing.resume('"P q"');
SELECT fencing.install_local('one'), fencing.prove_epoch('one'), fencing.resume('one');
SELECT relation, state FROM fencing.installation ORDER BY relation::text COLLATE "C";
DROP TABLE own;
SELECT fencing.revoke_namespace('jobs', 'regress_prove_anna', 'administer');
DROP OWNED BY regress_prove_anna;
DROP ROLE regress_prove_anna;
