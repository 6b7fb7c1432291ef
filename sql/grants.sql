-- Grants, last: whatever default privileges the installing role has, this is what is granted and
-- nothing else.

DO $$
DECLARE
    kind text;
    name text;
    grantee text;
BEGIN
    FOR kind, name, grantee IN
        SELECT 'SCHEMA', pg_catalog.quote_ident(n.nspname), pg_catalog.quote_ident(r.rolname)
          FROM pg_catalog.pg_namespace AS n, pg_catalog.aclexplode(n.nspacl) AS a, pg_catalog.pg_roles AS r
         WHERE n.nspname OPERATOR(pg_catalog.=) 'fencing' AND r.oid OPERATOR(pg_catalog.=) a.grantee
           AND a.grantee OPERATOR(pg_catalog.<>) n.nspowner
        UNION
        SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
               c.oid::pg_catalog.regclass::pg_catalog.text, pg_catalog.quote_ident(r.rolname)
          FROM pg_catalog.pg_class AS c, pg_catalog.aclexplode(c.relacl) AS a, pg_catalog.pg_roles AS r
         WHERE c.relnamespace OPERATOR(pg_catalog.=) 'fencing'::pg_catalog.regnamespace
           AND r.oid OPERATOR(pg_catalog.=) a.grantee AND a.grantee OPERATOR(pg_catalog.<>) c.relowner
        UNION
        SELECT 'FUNCTION', p.oid::pg_catalog.regprocedure::pg_catalog.text, pg_catalog.quote_ident(r.rolname)
          FROM pg_catalog.pg_proc AS p, pg_catalog.aclexplode(p.proacl) AS a, pg_catalog.pg_roles AS r
         WHERE p.pronamespace OPERATOR(pg_catalog.=) 'fencing'::pg_catalog.regnamespace
           AND r.oid OPERATOR(pg_catalog.=) a.grantee AND a.grantee OPERATOR(pg_catalog.<>) p.proowner
        UNION
        SELECT 'TYPE', t.oid::pg_catalog.regtype::pg_catalog.text, pg_catalog.quote_ident(r.rolname)
          FROM pg_catalog.pg_type AS t, pg_catalog.aclexplode(t.typacl) AS a, pg_catalog.pg_roles AS r
         WHERE t.typnamespace OPERATOR(pg_catalog.=) 'fencing'::pg_catalog.regnamespace
           AND t.typtype OPERATOR(pg_catalog.=) 'e'
           AND r.oid OPERATOR(pg_catalog.=) a.grantee AND a.grantee OPERATOR(pg_catalog.<>) t.typowner
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON %s %s FROM %s', kind, name, grantee);
    END LOOP;
END
$$;

REVOKE ALL ON ALL TABLES IN SCHEMA fencing FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA fencing FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fencing FROM PUBLIC;
GRANT USAGE ON SCHEMA fencing TO PUBLIC;

-- Each of these checks the caller's own privilege on the namespace, or needs none.
GRANT EXECUTE ON FUNCTION
    fencing.create_namespace(text, interval, interval, fencing.expiry_rule, interval, interval, boolean, boolean),
    fencing.alter_namespace(text, interval, interval, fencing.expiry_rule, interval, interval, boolean, boolean),
    fencing.drop_namespace(text),
    fencing.grant_namespace(text, regrole, text),
    fencing.revoke_namespace(text, regrole, text),
    fencing.acquire(text, text, text, interval, interval, uuid, text, boolean),
    fencing.renew(bigint, interval),
    fencing.renew_all(bigint[], interval),
    fencing.release(bigint),
    fencing.inspect(text, text),
    fencing.revoke(text, text, text, interval),
    fencing.request_handover(text, text),
    fencing.blockers(text, text),
    fencing.evict(text, text),
    fencing.drop_lease(text, text),
    fencing.purge_leases(interval),
    fencing.report(bigint, text, jsonb),
    fencing.check_token(bigint),
    fencing.lineage(),
    fencing.epoch_of(bigint),
    fencing.seq_of(bigint),
    fencing.make_token(bigint, bigint),
    fencing.format_token(bigint),
    fencing.protect(regclass, text, text, name[], name, name, fencing.fence_kind, fencing.missing_rule, fencing.guard_mode, fencing.guard_level, text),
    fencing.alter_guard(regclass, text, text, name[], name, name, fencing.fence_kind, fencing.missing_rule, fencing.guard_mode, fencing.guard_level, text),
    fencing.unprotect(regclass),
    fencing.keep_guard(oid),
    fencing.watch_command(pg_ddl_command),
    fencing.should_be_guarded(text, text),
    fencing.guard_definition(text[]),
    fencing.present(bigint),
    fencing.present_all(bigint[]),
    fencing.present(text, text, bigint),
    fencing.maintain(text),
    fencing.assert_current(bigint),
    fencing.key_of("any"),
    fencing.guard_definition(bytea),
    fencing.register_coordinator(text, text, text),
    fencing.drop_coordinator(text),
    fencing.install_epoch(text, bigint, uuid),
    fencing.seal(text, text, text, bigint),
    fencing.purge_fences(text, interval),
    fencing.coordinators(),
    fencing.present_stale(boolean, boolean),
    fencing.base_type(oid),
    fencing.enforcement_gaps(),
    fencing.sample_insert(regclass, regclass, text[]),
    fencing.tables_to_prove(regclass),
    fencing.prove_tables(regclass, boolean),
    fencing.prove_guard(regclass),
    fencing.advance_epoch(text, boolean, boolean),
    fencing.begin_epoch_transition(text),
    fencing.unresolved(),
    fencing.open_epoch(text, boolean, boolean),
    fencing.install_local(regclass),
    fencing.note_proof(regclass, boolean),
    fencing.prove_epoch(regclass),
    fencing.resume(regclass)
TO PUBLIC;
GRANT SELECT ON fencing.guards TO PUBLIC;
