-- A schema of that name that somebody else made beforehand stays theirs: they could add functions
-- to it that callers take for the extension's.
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_catalog.pg_namespace AS n
         WHERE n.nspname OPERATOR(pg_catalog.=) 'fencing'
           AND pg_catalog.pg_get_userbyid(n.nspowner) OPERATOR(pg_catalog.=) CURRENT_USER)
    THEN
        RAISE EXCEPTION USING
            ERRCODE = 'invalid_schema_name',
            MESSAGE = 'schema "fencing" belongs to another role',
            HINT = 'Drop or rename it; CREATE EXTENSION makes the schema itself.';
    END IF;
END
$$;

-- Tables: what the coordinator remembers. Everything here is safety state, read and written by the
-- library below SQL; nobody else may change it (see "refusal" at the end).

CREATE TYPE fencing.expiry_rule AS ENUM ('reject', 'accept_until_superseded');
COMMENT ON TYPE fencing.expiry_rule IS
    'May the holder of an expired term that nobody superseded still write?';

CREATE TABLE fencing.namespace (
    id          integer GENERATED ALWAYS AS IDENTITY,
    name        text COLLATE "C" NOT NULL,
    ttl         interval NOT NULL,
    max_ttl     interval NOT NULL,
    on_expiry   fencing.expiry_rule NOT NULL,
    min_hold    interval NOT NULL,
    cool_down   interval NOT NULL,
    ephemeral   boolean NOT NULL,
    notify      boolean NOT NULL,
    contract    jsonb,
    created_at  timestamptz NOT NULL,
    CONSTRAINT namespace_pkey PRIMARY KEY (id),
    CONSTRAINT namespace_name_key UNIQUE (name)
);
COMMENT ON TABLE fencing.namespace IS 'Named families of leases, each with one policy and one access list';
COMMENT ON SEQUENCE fencing.namespace_id_seq IS 'Numbers of namespaces';
COMMENT ON COLUMN fencing.namespace.id IS 'Number that leases, fences and terms refer to; never used again';
COMMENT ON COLUMN fencing.namespace.name IS 'Name: [a-z0-9][a-z0-9_.-]{0,62}';
COMMENT ON COLUMN fencing.namespace.ttl IS 'How long a term lasts that asks for nothing else';
COMMENT ON COLUMN fencing.namespace.max_ttl IS 'The longest that may be asked for';
COMMENT ON COLUMN fencing.namespace.on_expiry IS 'May the holder of an expired term that nobody superseded still write?';
COMMENT ON COLUMN fencing.namespace.min_hold IS 'After a clean release, not grantable before acquired_at plus this';
COMMENT ON COLUMN fencing.namespace.cool_down IS 'After an abnormal end, not grantable for this long';
COMMENT ON COLUMN fencing.namespace.ephemeral IS 'Whether a released lease''s row disappears';
COMMENT ON COLUMN fencing.namespace.notify IS 'Whether grant and release send NOTIFY fencing';
COMMENT ON COLUMN fencing.namespace.contract IS 'What its users agreed on, for people';
COMMENT ON COLUMN fencing.namespace.created_at IS 'Coordinator time of create_namespace';

CREATE TABLE fencing.member (
    namespace   integer NOT NULL,
    role        regrole NOT NULL,
    privilege   text COLLATE "C" NOT NULL,
    CONSTRAINT member_pkey PRIMARY KEY (namespace, role, privilege),
    CONSTRAINT member_privilege CHECK (privilege IN ('hold', 'observe', 'administer'))
);
COMMENT ON TABLE fencing.member IS 'Who may hold, observe or administer the leases of a namespace';
COMMENT ON COLUMN fencing.member.namespace IS 'namespace.id';
COMMENT ON COLUMN fencing.member.role IS 'The role; its members count as the role';
COMMENT ON COLUMN fencing.member.privilege IS 'hold, observe or administer';

-- The heartbeat row. Nothing that a renewal changes is indexed, and pages are left two thirds empty,
-- so that a renewal stays on its page and touches no index: there is room for the versions that open
-- transactions still hold on to while several batches of renewals run (in half a page there is not).
-- The table's own lock is the gate: shared by writers and acquirers, exclusive for an epoch
-- transition, and never for a vacuum.
-- The columns of fixed width stand first, where a guard reads them without taking the row apart.
CREATE TABLE fencing.lease (
    namespace   integer NOT NULL,
    role        oid NOT NULL,
    token       bigint NOT NULL,
    granted_by  xid8 NOT NULL,
    acquired_at timestamptz NOT NULL,
    renewed_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    revoke_at   timestamptz NOT NULL,
    session_start timestamptz NOT NULL,
    session_pid integer NOT NULL,
    key         text COLLATE "C" NOT NULL,
    state       text COLLATE "C" NOT NULL,
    holder      text NOT NULL,
    ttl         interval NOT NULL,
    ended_at    timestamptz,
    handover_requested boolean NOT NULL,
    CONSTRAINT lease_pkey PRIMARY KEY (namespace, key),
    CONSTRAINT lease_state CHECK (state IN ('held', 'released', 'revoked', 'deleted', 'session_lost'))
) WITH (fillfactor = 30, vacuum_truncate = off, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.05);
COMMENT ON TABLE fencing.lease IS 'One coordination record per lease: its latest term, and the heartbeat';
COMMENT ON COLUMN fencing.lease.namespace IS 'namespace.id';
COMMENT ON COLUMN fencing.lease.role IS 'Role that acquired the term';
COMMENT ON COLUMN fencing.lease.token IS 'Token of the latest term; the same as the fence''s';
COMMENT ON COLUMN fencing.lease.granted_by IS 'Transaction that granted the term; the same as advanced the fence';
COMMENT ON COLUMN fencing.lease.acquired_at IS 'Coordinator time of the grant';
COMMENT ON COLUMN fencing.lease.renewed_at IS 'Coordinator time of the last renewal, or of the grant';
COMMENT ON COLUMN fencing.lease.expires_at IS 'When the term runs out unless renewed';
COMMENT ON COLUMN fencing.lease.revoke_at IS 'When the term is revoked, if that was announced; infinity otherwise';
COMMENT ON COLUMN fencing.lease.session_start IS 'When the backend was started that the term is bound to';
COMMENT ON COLUMN fencing.lease.session_pid IS 'Process of the backend that the term is bound to; 0 for none';
COMMENT ON COLUMN fencing.lease.key IS 'The lease''s key within its namespace';
COMMENT ON COLUMN fencing.lease.state IS 'held (which may have lapsed: see expires_at), or how the term ended';
COMMENT ON COLUMN fencing.lease.holder IS 'Label of the holder, for people; never compared';
COMMENT ON COLUMN fencing.lease.ttl IS 'How long the term lasts from each renewal';
COMMENT ON COLUMN fencing.lease.ended_at IS 'When it ended, for every end but expiry';
COMMENT ON COLUMN fencing.lease.handover_requested IS 'Whether its holder was asked to hand over';

CREATE TABLE fencing.fence (
    namespace   integer NOT NULL,
    key         text COLLATE "C" NOT NULL,
    token       bigint NOT NULL,
    advanced_by xid8 NOT NULL,
    CONSTRAINT fence_pkey PRIMARY KEY (namespace, key)
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.05);
COMMENT ON TABLE fencing.fence IS
    'The highest accepted term per lease, which guards compare against. Outlives its lease; changed only under the exclusive fence lock';
COMMENT ON COLUMN fencing.fence.namespace IS 'namespace.id';
COMMENT ON COLUMN fencing.fence.key IS 'The lease''s key';
COMMENT ON COLUMN fencing.fence.token IS 'Highest accepted token';
COMMENT ON COLUMN fencing.fence.advanced_by IS 'Transaction that advanced it: a snapshot that can''t see it is older than the takeover';

CREATE TABLE fencing.term (
    token           bigint NOT NULL,
    namespace       integer NOT NULL,
    key             text COLLATE "C" NOT NULL,
    epoch           bigint NOT NULL,
    seq             bigint NOT NULL,
    holder          text NOT NULL,
    role            oid NOT NULL,
    request_id      uuid,
    purpose         text,
    acquired_at     timestamptz NOT NULL,
    last_renewed_at timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    ended_at        timestamptz,
    end_reason      text COLLATE "C",
    ended_by        oid,
    end_observed_at timestamptz,
    superseded_by   bigint,
    CONSTRAINT term_pkey PRIMARY KEY (token)
) WITH (fillfactor = 80);
COMMENT ON TABLE fencing.term IS 'Every term that was ever granted, by its token';
COMMENT ON COLUMN fencing.term.token IS 'The term''s token: epoch << 39 | seq';
COMMENT ON COLUMN fencing.term.namespace IS 'namespace.id';
COMMENT ON COLUMN fencing.term.key IS 'The lease''s key';
COMMENT ON COLUMN fencing.term.epoch IS 'Epoch of the token';
COMMENT ON COLUMN fencing.term.seq IS 'Sequence number of the token within the epoch';
COMMENT ON COLUMN fencing.term.holder IS 'Label of the holder';
COMMENT ON COLUMN fencing.term.role IS 'Role that acquired it';
COMMENT ON COLUMN fencing.term.request_id IS 'The caller''s own id of its request, so that a lost reply can be asked for again';
COMMENT ON COLUMN fencing.term.purpose IS 'What the holder wanted it for';
COMMENT ON COLUMN fencing.term.acquired_at IS 'Coordinator time of the grant';
COMMENT ON COLUMN fencing.term.last_renewed_at IS 'Last accepted renewal; written when the term ends (until then: lease.renewed_at)';
COMMENT ON COLUMN fencing.term.expires_at IS 'When it ran out; written when the term ends (until then: lease.expires_at)';
COMMENT ON COLUMN fencing.term.ended_at IS 'When it ended';
COMMENT ON COLUMN fencing.term.end_reason IS 'expired, released, revoked, deleted, session_lost or epoch_closed';
COMMENT ON COLUMN fencing.term.ended_by IS 'Role that ended it, or announced that it would be revoked; null for expiry and where its epoch ended';
COMMENT ON COLUMN fencing.term.end_observed_at IS 'When the coordinator saw that it had ended';
COMMENT ON COLUMN fencing.term.superseded_by IS 'Token of the term that took over from one that nobody had ended; null for any other';

CREATE TABLE fencing.request (
    request_id  uuid NOT NULL,
    role        oid NOT NULL,
    namespace   integer NOT NULL,
    key         text COLLATE "C" NOT NULL,
    token       bigint NOT NULL,
    CONSTRAINT request_pkey PRIMARY KEY (request_id, role, namespace, key)
);
COMMENT ON TABLE fencing.request IS 'Which term answered a request_id, so that repeating it grants nothing twice';
COMMENT ON COLUMN fencing.request.request_id IS 'The caller''s id';
COMMENT ON COLUMN fencing.request.role IS 'The caller''s role';
COMMENT ON COLUMN fencing.request.namespace IS 'namespace.id';
COMMENT ON COLUMN fencing.request.key IS 'The lease''s key';
COMMENT ON COLUMN fencing.request.token IS 'The term that it was granted';

CREATE TABLE fencing.epoch (
    epoch             bigint NOT NULL,
    identity          uuid NOT NULL,
    opened_at         timestamptz NOT NULL,
    reason            text NOT NULL,
    opened_by         oid NOT NULL,
    system_identifier bigint NOT NULL,
    timeline          bigint NOT NULL,
    database          oid NOT NULL,
    fingerprint       text NOT NULL,
    lsn               pg_lsn NOT NULL,
    state             text COLLATE "C" NOT NULL,
    after_seq         bigint NOT NULL DEFAULT 0,
    closed_at         timestamptz,
    closing_on        text COLLATE "C",
    passed_over       bigint NOT NULL DEFAULT 0,
    CONSTRAINT epoch_pkey PRIMARY KEY (epoch),
    CONSTRAINT epoch_state CHECK (state IN ('open', 'closing', 'closed'))
);
COMMENT ON TABLE fencing.epoch IS 'Comparison domains of tokens, and the lineage of the server that opened each';
COMMENT ON COLUMN fencing.epoch.epoch IS 'Number: greatest(previous + 1, minutes since 2025-01-01 UTC)';
COMMENT ON COLUMN fencing.epoch.identity IS 'Random identity: the same number with another identity is another epoch';
COMMENT ON COLUMN fencing.epoch.opened_at IS 'Coordinator time of its opening';
COMMENT ON COLUMN fencing.epoch.reason IS 'Why it was opened';
COMMENT ON COLUMN fencing.epoch.opened_by IS 'Role that opened it';
COMMENT ON COLUMN fencing.epoch.system_identifier IS 'The cluster''s system identifier then';
COMMENT ON COLUMN fencing.epoch.timeline IS 'The WAL timeline then';
COMMENT ON COLUMN fencing.epoch.database IS 'The database''s oid then';
COMMENT ON COLUMN fencing.epoch.fingerprint IS 'Inode and time of birth of the data directory''s PG_VERSION then; after a slash the oid of this table, which a restored dump has anew; after another the same of the database''s own PG_VERSION';
COMMENT ON COLUMN fencing.epoch.lsn IS 'The WAL position then';
COMMENT ON COLUMN fencing.epoch.after_seq IS 'Where the sequence stood then: it issues nothing up to there';
COMMENT ON COLUMN fencing.epoch.state IS 'open, closing while a transition from it is under way, closed once the next one was opened';
COMMENT ON COLUMN fencing.epoch.closed_at IS 'Coordinator time from which on nothing was admitted in it any more';
COMMENT ON COLUMN fencing.epoch.closing_on IS 'The server that closed it, as its lineage tells it from others: a copy of that one must begin a transition of its own';
COMMENT ON COLUMN fencing.epoch.passed_over IS 'The highest number that was passed over since, as a lost history may have issued it: the sequence issues nothing up to there';

CREATE TABLE fencing.installation (
    relation regclass NOT NULL,
    epoch    bigint NOT NULL,
    state    text COLLATE "C" NOT NULL,
    CONSTRAINT installation_pkey PRIMARY KEY (relation),
    CONSTRAINT installation_state CHECK (state IN ('blocked', 'installed', 'proved'))
);
COMMENT ON TABLE fencing.installation IS
    'Guarded tables that are blocked since an epoch was opened: each until it is installed, proved and resumed, and then gone from here';
COMMENT ON COLUMN fencing.installation.relation IS 'The table; one of a tree is blocked with what is above it';
COMMENT ON COLUMN fencing.installation.epoch IS 'The epoch that was opened';
COMMENT ON COLUMN fencing.installation.state IS 'What has been done: blocked (nothing yet), installed or proved';

CREATE SEQUENCE fencing.event_id_seq AS bigint CACHE 1;
COMMENT ON SEQUENCE fencing.event_id_seq IS 'Numbers of events';

-- Audit detail: nothing is decided by it.
CREATE TABLE fencing.event (
    id        bigint NOT NULL,
    at        timestamptz NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    namespace integer,
    key       text COLLATE "C",
    token     bigint,
    actor     oid NOT NULL,
    detail    jsonb,
    reported  boolean NOT NULL,
    CONSTRAINT event_pkey PRIMARY KEY (id)
);
CREATE INDEX event_kind_idx ON fencing.event (kind, token);
COMMENT ON TABLE fencing.event IS 'What happened, for people: detail that may be purged. No decision reads it';
COMMENT ON COLUMN fencing.event.id IS 'Its number';
COMMENT ON COLUMN fencing.event.at IS 'Coordinator time at which it was recorded';
COMMENT ON COLUMN fencing.event.kind IS 'What it was';
COMMENT ON COLUMN fencing.event.namespace IS 'namespace.id of the lease, where it is about one';
COMMENT ON COLUMN fencing.event.key IS 'The lease''s key, where it is about one';
COMMENT ON COLUMN fencing.event.token IS 'Token of the term, where it is about one';
COMMENT ON COLUMN fencing.event.actor IS 'Role that did it';
COMMENT ON COLUMN fencing.event.detail IS 'More about it';
COMMENT ON COLUMN fencing.event.reported IS 'Whether its actor says so, by report(); else the extension itself saw or did it';

-- Tables are remembered by name: a copy that is renamed into a guarded table's place has no guard.
CREATE TABLE fencing.guarded (
    schema     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    definition text[] NOT NULL,
    CONSTRAINT guarded_pkey PRIMARY KEY (schema, name)
);
COMMENT ON TABLE fencing.guarded IS
    'What should be guarded, for enforcement_gaps() alone: a guard''s own definition is in its triggers';
COMMENT ON COLUMN fencing.guarded.schema IS 'The table''s schema';
COMMENT ON COLUMN fencing.guarded.name IS 'The table''s name';
COMMENT ON COLUMN fencing.guarded.definition IS 'The guard''s definition, as its triggers'' argument says it, setting by setting';

-- Coordinators elsewhere, and what this destination has accepted under their tokens.
CREATE TABLE fencing.coordinator (
    name              text COLLATE "C" NOT NULL,
    kind              text COLLATE "C" NOT NULL,
    identity          text NOT NULL,
    state             text COLLATE "C" NOT NULL,
    registered_at     timestamptz NOT NULL,
    registered_by     oid NOT NULL,
    epoch             bigint,
    epoch_identity    uuid,
    installed_at      timestamptz,
    installed_by      oid,
    system_identifier bigint,
    timeline          bigint,
    database          oid,
    fingerprint       text,
    lsn               pg_lsn,
    CONSTRAINT coordinator_pkey PRIMARY KEY (name),
    CONSTRAINT coordinator_kind CHECK (kind IN ('fencing', 'etcd', 'kubernetes', 'zookeeper', 'other')),
    CONSTRAINT coordinator_state CHECK (state IN ('registered', 'installed', 'conflict', 'dropped'))
);
COMMENT ON TABLE fencing.coordinator IS 'Coordinators elsewhere whose tokens guards compare, each with the epoch that is installed here';
COMMENT ON COLUMN fencing.coordinator.name IS 'Its name here: [a-z0-9][a-z0-9_.-]{0,62}';
COMMENT ON COLUMN fencing.coordinator.kind IS 'fencing, etcd, kubernetes, zookeeper or other';
COMMENT ON COLUMN fencing.coordinator.identity IS 'Which one it is, for people: such as etcd''s cluster id';
COMMENT ON COLUMN fencing.coordinator.state IS 'registered (no epoch yet), installed, conflict (one epoch with two identities), or dropped: the number of its last epoch stays';
COMMENT ON COLUMN fencing.coordinator.registered_at IS 'When it was registered';
COMMENT ON COLUMN fencing.coordinator.registered_by IS 'Role that registered it';
COMMENT ON COLUMN fencing.coordinator.epoch IS 'The epoch that was installed last; a lower one never is again';
COMMENT ON COLUMN fencing.coordinator.epoch_identity IS 'Its identity: the same number with another identity is another epoch';
COMMENT ON COLUMN fencing.coordinator.installed_at IS 'When it was installed, by the server''s clock';
COMMENT ON COLUMN fencing.coordinator.installed_by IS 'Role that installed it';
COMMENT ON COLUMN fencing.coordinator.system_identifier IS 'The cluster''s system identifier then';
COMMENT ON COLUMN fencing.coordinator.timeline IS 'The WAL timeline then';
COMMENT ON COLUMN fencing.coordinator.database IS 'The database''s oid then';
COMMENT ON COLUMN fencing.coordinator.fingerprint IS 'As that of fencing.epoch';
COMMENT ON COLUMN fencing.coordinator.lsn IS 'The WAL position then';

CREATE TABLE fencing.remote_fence (
    coordinator text COLLATE "C" NOT NULL,
    namespace   text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    token       bigint NOT NULL,
    advanced_by xid8 NOT NULL,
    advanced_at timestamptz NOT NULL,
    CONSTRAINT remote_fence_pkey PRIMARY KEY (coordinator, namespace, key)
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.05);
COMMENT ON TABLE fencing.remote_fence IS
    'The highest token accepted per lease of a coordinator elsewhere. Changed only under the exclusive fence lock';
COMMENT ON COLUMN fencing.remote_fence.coordinator IS 'coordinator.name';
COMMENT ON COLUMN fencing.remote_fence.namespace IS 'The coordinator''s own namespace';
COMMENT ON COLUMN fencing.remote_fence.key IS 'The lease''s key';
COMMENT ON COLUMN fencing.remote_fence.token IS 'Highest accepted token';
COMMENT ON COLUMN fencing.remote_fence.advanced_by IS 'Transaction that advanced it';
COMMENT ON COLUMN fencing.remote_fence.advanced_at IS 'When';

-- Apart from the fence: nobody waits for it, nothing is decided by it but what a purge may forget.
CREATE TABLE fencing.remote_use (
    coordinator text COLLATE "C" NOT NULL,
    namespace   text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    used_at     timestamptz NOT NULL,
    CONSTRAINT remote_use_pkey PRIMARY KEY (coordinator, namespace, key)
) WITH (fillfactor = 70);
COMMENT ON TABLE fencing.remote_use IS 'When the fence of a lease of a coordinator elsewhere was last used: recorded once an hour';
COMMENT ON COLUMN fencing.remote_use.coordinator IS 'coordinator.name';
COMMENT ON COLUMN fencing.remote_use.namespace IS 'The coordinator''s own namespace';
COMMENT ON COLUMN fencing.remote_use.key IS 'The lease''s key';
COMMENT ON COLUMN fencing.remote_use.used_at IS 'A time at which it was used';

CREATE TABLE fencing.fence_floor (
    coordinator text COLLATE "C" NOT NULL,
    namespace   text COLLATE "C" NOT NULL,
    token       bigint NOT NULL,
    CONSTRAINT fence_floor_pkey PRIMARY KEY (coordinator, namespace)
);
COMMENT ON TABLE fencing.fence_floor IS 'What stands for the purged fences of a namespace: a lease without a fence takes no token below it';
COMMENT ON COLUMN fencing.fence_floor.coordinator IS 'coordinator.name';
COMMENT ON COLUMN fencing.fence_floor.namespace IS 'The coordinator''s own namespace';
COMMENT ON COLUMN fencing.fence_floor.token IS 'The highest token of a fence that was purged';

-- Unlogged: PostgreSQL empties it whenever it starts without having been shut down properly.
CREATE UNLOGGED TABLE fencing.clean_start (unclean_start timestamptz NOT NULL);
COMMENT ON TABLE fencing.clean_start IS
    'One row, which is gone after a crash: then renewals and draws may have been lost. No lease is granted before its ttl has passed since the start, and before the first grant the sequence moves on (fencing.on_unclean_start)';
COMMENT ON COLUMN fencing.clean_start.unclean_start IS 'When the server last started after a crash; -infinity for never';
INSERT INTO fencing.clean_start VALUES ('-infinity');

CREATE TABLE fencing.protocol (version integer NOT NULL);
COMMENT ON TABLE fencing.protocol IS 'Version of the locks and rows: a library of another version refuses to work';
COMMENT ON COLUMN fencing.protocol.version IS 'The version';
INSERT INTO fencing.protocol VALUES (2);

CREATE SEQUENCE fencing.term_seq AS bigint MINVALUE 1 MAXVALUE 549755813887 NO CYCLE CACHE 1;
COMMENT ON SEQUENCE fencing.term_seq IS 'Sequence numbers of tokens';


SELECT pg_catalog.pg_extension_config_dump('fencing.namespace', '');
SELECT pg_catalog.pg_extension_config_dump('fencing.namespace_id_seq', '');
-- A role is dumped by its name, but one that was dropped by its number, which elsewhere is another role's.
SELECT pg_catalog.pg_extension_config_dump('fencing.member',
    'WHERE EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.oid OPERATOR(pg_catalog.=) member.role)');
SELECT pg_catalog.pg_extension_config_dump('fencing.lease', '');
SELECT pg_catalog.pg_extension_config_dump('fencing.fence', '');
SELECT pg_catalog.pg_extension_config_dump('fencing.term', '');
SELECT pg_catalog.pg_extension_config_dump('fencing.request', '');
SELECT pg_catalog.pg_extension_config_dump('fencing.epoch', '');
-- A table that was dropped is left out: its number would be another table's elsewhere.
SELECT pg_catalog.pg_extension_config_dump('fencing.installation',
    'WHERE EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.oid OPERATOR(pg_catalog.=) installation.relation)');
SELECT pg_catalog.pg_extension_config_dump('fencing.term_seq', '');
SELECT pg_catalog.pg_extension_config_dump('fencing.event', '');
SELECT pg_catalog.pg_extension_config_dump('fencing.event_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('fencing.guarded', '');
SELECT pg_catalog.pg_extension_config_dump('fencing.coordinator', '');
SELECT pg_catalog.pg_extension_config_dump('fencing.remote_fence', '');
SELECT pg_catalog.pg_extension_config_dump('fencing.remote_use', '');
SELECT pg_catalog.pg_extension_config_dump('fencing.fence_floor', '');

-- Refusal. INSERT stays free to the owner: that is how a dump is restored.
CREATE FUNCTION fencing.refuse_direct_write() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'fencing_refuse_direct_write';
COMMENT ON FUNCTION fencing.refuse_direct_write() IS
    'Trigger of the extension''s own tables: refuses UPDATE, DELETE and TRUNCATE, also to their owner';

-- Applied by a subscription, rows fire no statement triggers; FOR ALL TABLES publishes these as well.
CREATE FUNCTION fencing.refuse_applied_row() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'fencing_refuse_applied_row';
COMMENT ON FUNCTION fencing.refuse_applied_row() IS
    'Trigger of the extension''s own tables: refuses rows that a subscription applies, which are another coordinator''s, and whatever is not the owner''s, who restores a dump';

-- On every table that stands above.
DO $$
DECLARE
    own pg_catalog.regclass;
BEGIN
    FOR own IN
        SELECT c.oid FROM pg_catalog.pg_class AS c
         WHERE c.relnamespace OPERATOR(pg_catalog.=) 'fencing'::pg_catalog.regnamespace AND c.relkind OPERATOR(pg_catalog.=) 'r'
    LOOP
        EXECUTE pg_catalog.format('CREATE TRIGGER refuse_direct_write BEFORE UPDATE OR DELETE OR TRUNCATE ON %s
            FOR EACH STATEMENT EXECUTE FUNCTION fencing.refuse_direct_write()', own);
        EXECUTE pg_catalog.format('CREATE TRIGGER refuse_applied_row BEFORE INSERT OR UPDATE OR DELETE ON %s
            FOR EACH ROW EXECUTE FUNCTION fencing.refuse_applied_row()', own);
        EXECUTE pg_catalog.format('ALTER TABLE %s ENABLE ALWAYS TRIGGER refuse_direct_write, ENABLE ALWAYS TRIGGER refuse_applied_row', own);
    END LOOP;
END
$$;
