-- The coordinator: namespaces, leases, tokens. No function is STRICT: each says itself what NULL means.

CREATE FUNCTION fencing.create_namespace(
    name text, ttl interval DEFAULT '30 s', max_ttl interval DEFAULT '1 h',
    on_expiry fencing.expiry_rule DEFAULT 'reject', min_hold interval DEFAULT '0', cool_down interval DEFAULT '0',
    ephemeral boolean DEFAULT false, notify boolean DEFAULT false)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_create_namespace';
COMMENT ON FUNCTION fencing.create_namespace(text, interval, interval, fencing.expiry_rule, interval, interval, boolean, boolean) IS
    'Creates a namespace; the first one opens the first epoch. The caller gets hold and administer. Waits for whoever is creating one of that name, or the first, within fencing.max_wait (55P03 names them). For superusers and fencing.epoch_authority';

CREATE FUNCTION fencing.alter_namespace(
    name text, ttl interval DEFAULT NULL, max_ttl interval DEFAULT NULL, on_expiry fencing.expiry_rule DEFAULT NULL,
    min_hold interval DEFAULT NULL, cool_down interval DEFAULT NULL,
    ephemeral boolean DEFAULT NULL, notify boolean DEFAULT NULL)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_alter_namespace';
COMMENT ON FUNCTION fencing.alter_namespace(text, interval, interval, fencing.expiry_rule, interval, interval, boolean, boolean) IS
    'Changes a namespace''s policy; null keeps. Waits for whoever else changes it, within fencing.max_wait (55P03 names them). Needs administer';

CREATE FUNCTION fencing.drop_namespace(name text)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_drop_namespace';
COMMENT ON FUNCTION fencing.drop_namespace(text) IS
    'Drops a namespace and its leases. Refused (2BP01) while a guard names it or a lease is held. Waits for acquires in flight and whoever else changes it, within fencing.max_wait (55P03 names them). Needs administer';

CREATE FUNCTION fencing.grant_namespace(name text, role regrole, privilege text)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_grant_namespace';
COMMENT ON FUNCTION fencing.grant_namespace(text, regrole, text) IS
    'Grants hold, observe or administer on a namespace to a role and its members. Waits for whoever else changes it, within fencing.max_wait (55P03 names them). Needs administer';

CREATE FUNCTION fencing.revoke_namespace(name text, role regrole, privilege text)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_revoke_namespace';
COMMENT ON FUNCTION fencing.revoke_namespace(text, regrole, text) IS
    'Withdraws hold, observe or administer on a namespace from a role. With hold, the live terms of the role and its members end as revoked, unless they may still hold by another grant. Waits for acquires in flight and whoever else changes it, within fencing.max_wait (55P03 names them). Needs administer';

CREATE FUNCTION fencing.acquire(
    namespace text, key text, holder text, ttl interval DEFAULT NULL, wait interval DEFAULT '0',
    request_id uuid DEFAULT NULL, purpose text DEFAULT NULL, bind_session boolean DEFAULT false,
    OUT status text, OUT token bigint, OUT epoch bigint, OUT seq bigint, OUT acquired_at timestamptz,
    OUT expires_at timestamptz, OUT trust_for interval, OUT holder text, OUT retry_after interval, OUT blocked_by integer[])
    RETURNS record LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_acquire';
COMMENT ON FUNCTION fencing.acquire(text, text, text, interval, interval, uuid, text, boolean) IS
    'Asks for a lease: one row whose status is granted, held, cooling_down, blocked, closed or over. ttl: 100 ms to the namespace''s max_ttl; null takes its ttl. wait: how long to wait for the grant, first come, first served, no longer than fencing.max_wait; the ttl starts at the grant. bind_session: the term also ends (session_lost) as soon as this backend is gone; behind a pooler that is the pooler''s connection. Runs alone (25001 in a transaction block; see fencing.acquire_in_block). Needs hold';

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
    'One row on a lease: state is free, held, expired, cooling_down or closed; waiters: how many queue for it; blocked_by names the processes that stand in the way of its next acquire (0: a prepared transaction). Needs hold, observe or administer';

CREATE FUNCTION fencing.check_token(token bigint, OUT status text)
    RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_check_token';
COMMENT ON FUNCTION fencing.check_token(bigint) IS
    'What has become of a term: current, expired, superseded, released, revoked, session_lost, deleted, epoch_closed or unknown. Advisory: only a guard or assert_current decides';

CREATE FUNCTION fencing.revoke(namespace text, key text, reason text, grace interval DEFAULT '0', OUT status text)
    RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_revoke';
COMMENT ON FUNCTION fencing.revoke(text, text, text, interval) IS
    'Ends the current term of a lease, whoever holds it: revoked, or revoking while grace runs (until then its holder is asked to hand over, and renews no further), or not_held. Durable. Open transactions of the term fail at commit (LF003). Waits for a renewal, release or acquire in flight, within fencing.max_wait (55P03). Needs administer';

CREATE FUNCTION fencing.request_handover(namespace text, key text)
    RETURNS boolean LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_request_handover';
COMMENT ON FUNCTION fencing.request_handover(text, text) IS
    'Asks the holder of a lease to hand over: its next renewals say handover_requested. Whether anybody holds it. Runs alone (25001 in a transaction block). Needs hold or administer';

CREATE FUNCTION fencing.blockers(
    namespace text, key text,
    OUT pid integer, OUT prepared_gid text, OUT role text, OUT application text, OUT xact_age interval)
    RETURNS SETOF record LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'fencing_blockers';
COMMENT ON FUNCTION fencing.blockers(text, text) IS
    'The transactions that the next acquire of a lease would find in its way: of processes (role: as which it logged in) and prepared ones (by gid; age since PREPARE). Needs hold, observe or administer';

CREATE FUNCTION fencing.evict(namespace text, key text, OUT pid integer, OUT prepared_gid text, OUT status text)
    RETURNS SETOF record LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'fencing_evict';
COMMENT ON FUNCTION fencing.evict(text, text) IS
    'Ends the sessions that stand in the way of a lease''s next acquire, and waits, within fencing.max_wait, until their locks are gone: terminated, gone (by itself), prepared (named, not ended) or still_there. Only of a lease that nobody holds (55006). Needs administer';

CREATE FUNCTION fencing.drop_lease(namespace text, key text, OUT status text)
    RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_drop_lease';
COMMENT ON FUNCTION fencing.drop_lease(text, text) IS
    'Removes a lease, held or not, and ends its term: deleted, or blocked by open writers or whoever changes it, or unknown where there is none. Never waits. Its fence stays: later tokens are higher. Durable. Needs administer';

CREATE FUNCTION fencing.purge_leases(idle_for interval)
    RETURNS bigint LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_purge_leases';
COMMENT ON FUNCTION fencing.purge_leases(interval) IS
    'Removes leases that have been over for at least idle_for and are kept back by no min_hold or cool_down, in every namespace that the caller administers; skips what is locked. How many. Fences and terms stay';

CREATE FUNCTION fencing.report(token bigint, kind text, detail jsonb)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_report';
COMMENT ON FUNCTION fencing.report(bigint, text, jsonb) IS
    'Records what a holder or an operator knows of a term, such as renewal_indeterminate or worker_stopped, in fencing.event. kind: [a-z0-9][a-z0-9_.-]{0,62}; detail: at most 8192 bytes, without secrets. For the term''s role, its members, and administer';

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
