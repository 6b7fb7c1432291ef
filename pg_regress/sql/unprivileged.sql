-- Everything that is there, as a role that was given nothing: every function, table and sequence of the schema.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '1 h')$$);
SELECT take('a');
SELECT try($$SELECT fencing.register_coordinator('etcd', 'etcd', 'c')$$);
CREATE TABLE doc (body text);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
CREATE ROLE regress_nobody;
GRANT CREATE ON SCHEMA public TO regress_nobody;
GRANT ALL ON doc TO regress_nobody;
CREATE TABLE call (name text, statement text);
INSERT INTO call (name, statement) VALUES
    ('acquire', $$SELECT fencing.acquire('jobs', 'b', 'nobody')$$),
    ('advance_epoch', $$SELECT fencing.advance_epoch('mine')$$),
    ('alter_guard', $$SELECT fencing.alter_guard('doc', mode => 'observe')$$),
    ('alter_namespace', $$SELECT fencing.alter_namespace('jobs', ttl => '1 s')$$),
    ('assert_current', 'SELECT fencing.assert_current({a})'),
    ('base_type', $$SELECT fencing.base_type('int'::regtype)$$),
    ('begin_epoch_transition', $$SELECT fencing.begin_epoch_transition('mine')$$),
    ('blockers', $$SELECT fencing.blockers('jobs', 'a')$$),
    ('check_token', 'SELECT fencing.check_token({a})'),
    ('coordinators', 'SELECT fencing.coordinators()'),
    ('create_namespace', $$SELECT fencing.create_namespace('mine')$$),
    ('drop_coordinator', $$SELECT fencing.drop_coordinator('etcd')$$),
    ('drop_lease', $$SELECT fencing.drop_lease('jobs', 'a')$$),
    ('drop_namespace', $$SELECT fencing.drop_namespace('jobs')$$),
    ('enforcement_gaps', 'SELECT fencing.enforcement_gaps()'),
    ('epoch_of', 'SELECT fencing.epoch_of({a})'),
    ('evict', $$SELECT fencing.evict('jobs', 'a')$$),
    ('format_token', 'SELECT fencing.format_token({a})'),
    ('gaps_in_definitions', 'SELECT fencing.gaps_in_definitions()'),
    ('gaps_in_settings', 'SELECT fencing.gaps_in_settings()'),
    ('gaps_in_tables', 'SELECT fencing.gaps_in_tables()'),
    ('gaps_in_triggers', 'SELECT fencing.gaps_in_triggers()'),
    ('grant_namespace', $$SELECT fencing.grant_namespace('jobs', 'regress_nobody', 'hold')$$),
    ('guard_definition', $$SELECT fencing.guard_definition('{}'::text[])$$),
    ('guard_definition', $$SELECT fencing.guard_definition(''::bytea)$$),
    ('guard_row', 'CREATE TABLE own (id int); CREATE TRIGGER t BEFORE INSERT ON own FOR EACH ROW EXECUTE FUNCTION fencing.guard_row()'),
    ('guard_statement', 'CREATE TABLE own (id int); CREATE TRIGGER t BEFORE INSERT ON own EXECUTE FUNCTION fencing.guard_statement()'),
    ('guard_tables', 'SELECT fencing.guard_tables()'),
    ('guard_triggers', 'SELECT fencing.guard_triggers()'),
    ('guard_truncate', 'CREATE TABLE own (id int); CREATE TRIGGER t BEFORE TRUNCATE ON own EXECUTE FUNCTION fencing.guard_truncate()'),
    ('inspect', $$SELECT fencing.inspect('jobs', 'a')$$),
    ('install_epoch', $$SELECT fencing.install_epoch('etcd', 1, '00000000-0000-4000-8000-000000000001')$$),
    ('install_local', $$SELECT fencing.install_local('doc')$$),
    ('keep_guard', $$SELECT fencing.keep_guard('doc'::regclass)$$),
    ('key_of', 'SELECT fencing.key_of(1)'),
    ('maintain', $$SELECT fencing.maintain('mine')$$),
    ('lineage', 'SELECT verdict FROM fencing.lineage()'),
    ('make_token', 'SELECT fencing.make_token(1, 1)'),
    ('note_proof', $$SELECT fencing.note_proof('doc', true)$$),
    ('open_epoch', $$SELECT fencing.open_epoch('mine')$$),
    ('present', $$DO 'BEGIN PERFORM fencing.present({a}); INSERT INTO doc VALUES (1); END'$$),
    ('present', $$DO $q$BEGIN PERFORM fencing.present('jobs', 'a', {a}); INSERT INTO doc VALUES (1); END$q$ $$),
    ('present_all', $$DO 'BEGIN PERFORM fencing.present_all(ARRAY[{a}]); INSERT INTO doc VALUES (1); END'$$),
    ('present_stale', 'SELECT fencing.present_stale(true)'),
    ('protect', $$SELECT fencing.protect('doc', 'jobs', 'a')$$),
    ('protect', $$DO $q$BEGIN CREATE TABLE own (id int); PERFORM fencing.protect('own', 'jobs', 'a'); END$q$ $$),
    ('prove_epoch', $$SELECT fencing.prove_epoch('doc')$$),
    ('prove_guard', $$SELECT fencing.prove_guard('doc')$$),
    ('prove_tables', $$SELECT fencing.prove_tables('doc')$$),
    ('purge_fences', $$SELECT fencing.purge_fences('etcd', '0')$$),
    ('purge_leases', $$SELECT fencing.purge_leases('0')$$),
    ('qualified_name', $$SELECT fencing.qualified_name('doc'::regclass)$$),
    ('refuse_applied_row', 'CREATE TABLE own (id int); CREATE TRIGGER t BEFORE INSERT ON own FOR EACH ROW EXECUTE FUNCTION fencing.refuse_applied_row()'),
    ('refuse_direct_write', 'CREATE TABLE own (id int); CREATE TRIGGER t BEFORE INSERT ON own EXECUTE FUNCTION fencing.refuse_direct_write()'),
    ('register_coordinator', $$SELECT fencing.register_coordinator('mine', 'etcd', 'mine')$$),
    ('release', 'SELECT fencing.release({a})'),
    ('renew', 'SELECT fencing.renew({a})'),
    ('renew_all', 'SELECT (fencing.renew_all(ARRAY[{a}])).status'),
    ('report', $$SELECT fencing.report({a}, 'mine', '{}')$$),
    ('request_handover', $$SELECT fencing.request_handover('jobs', 'a')$$),
    ('resume', $$SELECT fencing.resume('doc')$$),
    ('revoke', $$SELECT fencing.revoke('jobs', 'a', 'mine')$$),
    ('revoke_namespace', $$SELECT fencing.revoke_namespace('jobs', 'regress_nobody', 'hold')$$),
    ('sample_insert', $$SELECT fencing.sample_insert('doc', 'doc', '{}')$$),
    ('seal', $$SELECT fencing.seal('etcd', 'jobs', 'a', {a})$$),
    ('seq_of', 'SELECT fencing.seq_of({a})'),
    ('should_be_guarded', $$SELECT fencing.should_be_guarded('public', 'doc')$$),
    ('tables_to_prove', $$SELECT fencing.tables_to_prove('doc')$$),
    ('unresolved', 'SELECT fencing.unresolved()'),
    ('unprotect', $$SELECT fencing.unprotect('doc')$$),
    ('watch_command', 'SELECT fencing.watch_command(NULL)'),
    ('watch_ddl', 'CREATE EVENT TRIGGER mine ON ddl_command_end EXECUTE FUNCTION fencing.watch_ddl()'),
    ('watch_drop', 'CREATE EVENT TRIGGER mine ON sql_drop EXECUTE FUNCTION fencing.watch_drop()');
GRANT SELECT ON call TO regress_nobody;
-- Whatever happened is undone, so that each finds the same.
CREATE FUNCTION undone(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    outcome text;
BEGIN
    BEGIN
        outcome := split_part(try(statement), E'\n', 1);
        RAISE EXCEPTION 'undo';
    EXCEPTION WHEN raise_exception THEN
        RETURN outcome;
    END;
END
$$;
SET ROLE regress_nobody;
SELECT name, undone(statement) FROM call ORDER BY name COLLATE "C", statement COLLATE "C";
-- A namespace that isn't there is no secret; what is in it is.
SELECT undone($$SELECT fencing.inspect('job', 'a')$$);
RESET ROLE;
-- None is missing above.
SELECT p.oid::regprocedure FROM pg_proc AS p WHERE p.pronamespace = 'fencing'::regnamespace AND p.proname NOT IN (SELECT name FROM call);
SELECT name FROM call EXCEPT SELECT proname FROM pg_proc WHERE pronamespace = 'fencing'::regnamespace;

-- Relations: one view can be read.
CREATE FUNCTION tried(name regclass) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(CASE left(outcome, 5) WHEN '42501' THEN 'no' ELSE outcome END, ' ')
      FROM unnest(ARRAY['SELECT FROM %s', 'SELECT count(*) FROM %s', 'INSERT INTO %s DEFAULT VALUES', 'DELETE FROM %s', 'TRUNCATE %s', 'LOCK %s IN ACCESS SHARE MODE',
                         'CREATE TRIGGER mine BEFORE INSERT ON %s EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()']) WITH ORDINALITY AS s (statement, n),
           LATERAL undone(format(statement, name)) AS outcome
$$;
SET ROLE regress_nobody;
SELECT c.oid::regclass, tried(c.oid) FROM pg_class AS c WHERE c.relnamespace = 'fencing'::regnamespace AND c.relkind IN ('r', 'v') ORDER BY c.relname COLLATE "C";
SELECT c.oid::regclass, undone(format('SELECT nextval(%L)', c.oid::regclass)), undone(format('SELECT setval(%L, 1)', c.oid::regclass)), undone(format('SELECT * FROM %s', c.oid::regclass))
  FROM pg_class AS c WHERE c.relnamespace = 'fencing'::regnamespace AND c.relkind = 'S' ORDER BY c.relname COLLATE "C";
SELECT undone('CREATE TABLE fencing.mine ()'), undone('CREATE FUNCTION fencing.mine() RETURNS int LANGUAGE sql AS $$SELECT 1$$');
SELECT undone('DROP EXTENSION fencing'), undone('ALTER EXTENSION fencing UPDATE');
SELECT undone('SET fencing.allow_prepare = on'), undone('SET fencing.epoch_authority = regress_nobody'), undone('SET fencing.acquire_in_block = on');
RESET ROLE;
SELECT status FROM fencing.check_token(token('a'));
REVOKE ALL ON SCHEMA public FROM regress_nobody;
DROP OWNED BY regress_nobody;
DROP ROLE regress_nobody;
