-- The coordinator: namespaces, leases, tokens. No function is STRICT: each says itself what NULL means.

CREATE FUNCTION fencing.create_namespace(
    name text, ttl interval DEFAULT '30 s', max_ttl interval DEFAULT '1 h',
    on_expiry fencing.expiry_rule DEFAULT 'reject', min_hold interval DEFAULT '0', cool_down interval DEFAULT '0',
    ephemeral boolean DEFAULT false, notify boolean DEFAULT false)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_create_namespace';
COMMENT ON FUNCTION fencing.create_namespace(text, interval, interval, fencing.expiry_rule, interval, interval, boolean, boolean) IS
    'Creates a namespace; the first one opens the first epoch. The caller gets hold and administer. For superusers and fencing.epoch_authority';

CREATE FUNCTION fencing.alter_namespace(
    name text, ttl interval DEFAULT NULL, max_ttl interval DEFAULT NULL, on_expiry fencing.expiry_rule DEFAULT NULL,
    min_hold interval DEFAULT NULL, cool_down interval DEFAULT NULL,
    ephemeral boolean DEFAULT NULL, notify boolean DEFAULT NULL)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_alter_namespace';
COMMENT ON FUNCTION fencing.alter_namespace(text, interval, interval, fencing.expiry_rule, interval, interval, boolean, boolean) IS
    'Changes a namespace''s policy; null keeps. Needs administer';

CREATE FUNCTION fencing.drop_namespace(name text)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_drop_namespace';
COMMENT ON FUNCTION fencing.drop_namespace(text) IS
    'Drops a namespace and its leases. Refused (2BP01) while a guard names it or a lease is held. Needs administer';

CREATE FUNCTION fencing.grant_namespace(name text, role regrole, privilege text)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_grant_namespace';
COMMENT ON FUNCTION fencing.grant_namespace(text, regrole, text) IS
    'Grants hold, observe or administer on a namespace to a role and its members. Needs administer';

CREATE FUNCTION fencing.acquire(
    namespace text, key text, holder text, ttl interval DEFAULT NULL, wait interval DEFAULT '0',
    request_id uuid DEFAULT NULL, purpose text DEFAULT NULL, bind_session boolean DEFAULT false,
    OUT status text, OUT token bigint, OUT epoch bigint, OUT seq bigint, OUT acquired_at timestamptz,
    OUT expires_at timestamptz, OUT trust_for interval, OUT holder text, OUT retry_after interval, OUT blocked_by integer[])
    RETURNS record LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_acquire';
COMMENT ON FUNCTION fencing.acquire(text, text, text, interval, interval, uuid, text, boolean) IS
    'Asks for a lease: one row whose status is granted, held, cooling_down, blocked, closed or over. ttl: 100 ms to the namespace''s max_ttl; null takes its ttl. Runs alone (25001 in a transaction block; see fencing.acquire_in_block). Needs hold';

CREATE FUNCTION fencing.renew(
    token bigint, ttl interval DEFAULT NULL,
    OUT status text, OUT expires_at timestamptz, OUT trust_for interval, OUT handover_requested boolean)
    RETURNS record LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_renew';
COMMENT ON FUNCTION fencing.renew(bigint, interval) IS
    'Extends a current term by ttl (null: the ttl it was acquired with) from now: renewed, or why it is over, or indeterminate. Takes no fence lock and never waits';

CREATE FUNCTION fencing.renew_all(
    tokens bigint[], ttl interval DEFAULT NULL,
    OUT token bigint, OUT status text, OUT expires_at timestamptz, OUT trust_for interval, OUT handover_requested boolean)
    RETURNS SETOF record LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_renew_all';
COMMENT ON FUNCTION fencing.renew_all(bigint[], interval) IS
    'Extends many terms in one statement: one row for each token, in their order, that says what renew would; unknown for another role''s token. A lease that another transaction is changing is indeterminate and delays none. One ttl for all; null: each its own';

CREATE FUNCTION fencing.release(token bigint, OUT status text)
    RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_release';
COMMENT ON FUNCTION fencing.release(bigint) IS
    'Gives a current term back: released, or why it is already over, or indeterminate. May be the last step of the holder''s last writing transaction';

CREATE FUNCTION fencing.inspect(
    namespace text, key text,
    OUT namespace text, OUT key text, OUT state text, OUT token bigint, OUT holder text, OUT acquired_at timestamptz,
    OUT expires_at timestamptz, OUT remaining interval, OUT waiters integer, OUT blocked_by integer[])
    RETURNS record LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_inspect';
COMMENT ON FUNCTION fencing.inspect(text, text) IS
    'One row on a lease: state is free, held, expired, cooling_down or closed; blocked_by names the processes that stand in the way of its next acquire (0: a prepared transaction). Needs hold, observe or administer';

CREATE FUNCTION fencing.check_token(token bigint, OUT status text)
    RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_check_token';
COMMENT ON FUNCTION fencing.check_token(bigint) IS
    'What has become of a term: current, expired, superseded, released, revoked, session_lost, deleted, epoch_closed or unknown. Advisory: only a guard or assert_current decides';

CREATE FUNCTION fencing.epoch_of(token bigint)
    RETURNS bigint LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'fencing_epoch_of';
COMMENT ON FUNCTION fencing.epoch_of(bigint) IS 'The epoch of a token: its upper 24 bits';

CREATE FUNCTION fencing.seq_of(token bigint)
    RETURNS bigint LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'fencing_seq_of';
COMMENT ON FUNCTION fencing.seq_of(bigint) IS 'The sequence number of a token: its lower 39 bits';

CREATE FUNCTION fencing.make_token(epoch bigint, seq bigint)
    RETURNS bigint LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'fencing_make_token';
COMMENT ON FUNCTION fencing.make_token(bigint, bigint) IS
    'Packs an epoch (1 to 2^24-1) and a sequence number (1 to 2^39-1); LF012 above the maximum';

CREATE FUNCTION fencing.format_token(token bigint)
    RETURNS text LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'fencing_format_token';
COMMENT ON FUNCTION fencing.format_token(bigint) IS 'A token as epoch:sequence, for people';
