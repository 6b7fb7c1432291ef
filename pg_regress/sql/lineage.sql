-- lineage(): the server that the epoch was opened on, and the one that runs.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

-- Before the first namespace there is nothing to compare.
SELECT recorded, verdict FROM fencing.lineage();
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT verdict FROM fencing.lineage();
SELECT key, recorded ->> key = actual ->> key AS same FROM fencing.lineage(), jsonb_object_keys(actual) AS key WHERE key <> 'lsn' ORDER BY key;
SELECT recorded ->> 'epoch' = epoch::text, recorded ->> 'state' FROM fencing.lineage(), fencing.epoch;
SELECT (recorded ->> 'lsn')::pg_lsn < (actual ->> 'lsn')::pg_lsn FROM fencing.lineage();
-- It is what PostgreSQL itself says.
SELECT actual ->> 'system_identifier' = system_identifier::text FROM fencing.lineage(), pg_control_system();
SELECT actual ->> 'timeline' = ltrim(left(pg_walfile_name(pg_current_wal_lsn()), 8), '0') FROM fencing.lineage();
SELECT actual ->> 'database' = oid::text FROM fencing.lineage(), pg_database WHERE datname = current_database();
-- For everyone, and in a transaction that writes nothing.
CREATE ROLE regress_lineage_anna;
SET ROLE regress_lineage_anna;
BEGIN READ ONLY;
SELECT verdict FROM fencing.lineage();
COMMIT;
RESET ROLE;
DROP ROLE regress_lineage_anna;
-- Terms granted change nothing.
SELECT take('first');
SELECT verdict FROM fencing.lineage();
-- Nor does what somebody reports, whatever they call it.
SELECT try($$SELECT fencing.report({first}, 'history_lost', '{}')$$);
SELECT verdict FROM fencing.lineage();
