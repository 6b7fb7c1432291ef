-- Grants, last: whatever default privileges the installing role has, PUBLIC gets this and no more.

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
    fencing.acquire(text, text, text, interval, interval, uuid, text, boolean),
    fencing.renew(bigint, interval),
    fencing.release(bigint),
    fencing.inspect(text, text),
    fencing.check_token(bigint),
    fencing.epoch_of(bigint),
    fencing.seq_of(bigint),
    fencing.make_token(bigint, bigint),
    fencing.format_token(bigint),
    fencing.protect(regclass, text, text, name[], name, name, fencing.fence_kind, fencing.missing_rule, fencing.guard_mode, fencing.guard_level, text),
    fencing.unprotect(regclass),
    fencing.present(bigint),
    fencing.assert_current(bigint),
    fencing.key_of("any"),
    fencing.guard_definition(bytea)
TO PUBLIC;
GRANT SELECT ON fencing.guards TO PUBLIC;
