//! The extension's own tables in this database: their oids, and when what was read of them is out
//! of date.

use super::backend::{Backend, BackendCell};
use super::lock::{Mode, Tag};
use fencing_core::hash::PROTOCOL;
use fencing_core::{Code, Error};
use pgrx::pg_sys::{self, Oid};
use std::cell::Cell;
use std::ffi::CStr;

/// Oids of the extension's objects.
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "named as the objects are")]
pub struct Oids {
    pub namespace: Oid,
    pub namespace_pkey: Oid,
    pub namespace_name_key: Oid,
    pub namespace_id_seq: Oid,
    pub member: Oid,
    pub member_pkey: Oid,
    pub lease: Oid,
    pub lease_pkey: Oid,
    pub fence: Oid,
    pub fence_pkey: Oid,
    pub term: Oid,
    pub term_pkey: Oid,
    pub request: Oid,
    pub request_pkey: Oid,
    pub epoch: Oid,
    pub epoch_pkey: Oid,
    pub installation: Oid,
    pub installation_pkey: Oid,
    pub clean_start: Oid,
    pub event: Oid,
    pub event_pkey: Oid,
    pub event_kind_idx: Oid,
    pub event_id_seq: Oid,
    pub guarded: Oid,
    pub guarded_pkey: Oid,
    pub coordinator: Oid,
    pub coordinator_pkey: Oid,
    pub remote_fence: Oid,
    pub remote_fence_pkey: Oid,
    pub remote_use: Oid,
    pub remote_use_pkey: Oid,
    pub fence_floor: Oid,
    pub fence_floor_pkey: Oid,
    pub protocol: Oid,
    pub term_seq: Oid,
    pub guard_row: Oid,
    pub guard_statement: Oid,
    pub guard_truncate: Oid,
    /// The role that owns the extension's tables.
    pub owner: Oid,
}

static OIDS: BackendCell<Option<Oids>> = Backend::new(Cell::new(None));
/// Counts changes to any relation: what a trigger's definition was resolved under.
static RELATIONS: BackendCell<u64> = Backend::new(Cell::new(1));
/// Counts changes to the namespace and epoch tables: what their cached rows were read under.
static CONFIGURATION: BackendCell<u64> = Backend::new(Cell::new(1));

/// Changes whenever any relation's definition may have changed.
pub fn relations_version() -> u64 {
    RELATIONS.get()
}

/// Changes whenever a namespace or an epoch may have changed.
pub fn configuration_version() -> u64 {
    CONFIGURATION.get()
}

/// Brings word of every change that was committed before: what was read into memory under an older
/// version is read anew.
pub fn catch_up() {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::AcceptInvalidationMessages() };
}

/// Announces a change to a namespace or an epoch: to this backend now, and again if the change is
/// rolled back; at commit to every backend, before the locks go.
pub fn announce_change(relation: Oid) {
    // SAFETY: an existing relation; queues a message.
    unsafe { pg_sys::CacheInvalidateRelcacheByRelid(relation) };
    super::xact::next_command();
}

/// To be called once, when the library is loaded.
pub fn watch_relations() {
    // SAFETY: the callback is a static function; called once.
    unsafe { pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), pg_sys::Datum::from(0usize)) };
}

/// Only sets plain cells: it may run whenever PostgreSQL looks at a relation, also in an abort.
unsafe extern "C-unwind" fn relation_changed(_arg: pg_sys::Datum, relation: Oid) {
    RELATIONS.set(RELATIONS.get() + 1);
    let ours = |oids: Oids| {
        [
            oids.namespace,
            oids.coordinator,
            oids.epoch,
            oids.clean_start,
            oids.lease,
            oids.fence,
            oids.term,
            oids.member,
            oids.request,
            // Of these nothing is cached but the oids of their indexes, which REINDEX CONCURRENTLY changes.
            oids.installation,
            oids.event,
            oids.guarded,
            oids.remote_fence,
            oids.remote_use,
            oids.fence_floor,
        ]
        .contains(&relation)
    };
    // Without the oids, any message may be about one of them.
    if relation == Oid::INVALID || OIDS.get().is_none_or(ours) {
        OIDS.set(None);
        CONFIGURATION.set(CONFIGURATION.get() + 1);
    }
}

/// The extension's objects. Raises where they don't exist or are of another protocol.
#[inline]
pub fn oids() -> Oids {
    OIDS.get().unwrap_or_else(find)
}

/// One of them, for the hot path: copies no others.
#[inline]
pub fn oid(which: impl Fn(&Oids) -> Oid) -> Oid {
    match OIDS.get() {
        Some(oids) => which(&oids),
        None => which(&find()),
    }
}

#[cold]
fn find() -> Oids {
    let version = relations_version();
    let oids = look_up();
    check_protocol(&oids);
    if relations_version() == version {
        OIDS.set(Some(oids));
    }
    oids
}

fn look_up() -> Oids {
    // SAFETY: catalog look-ups inside a transaction.
    let schema = unsafe { pg_sys::get_namespace_oid(c"fencing".as_ptr(), true) };
    let relation = |name: &CStr| {
        // SAFETY: as above.
        let oid = unsafe { pg_sys::get_relname_relid(name.as_ptr(), schema) };
        if oid == Oid::INVALID {
            pgrx::ereport!(
                ERROR,
                pgrx::PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
                format!("relation \"fencing.{}\" does not exist", name.to_string_lossy()),
                "Install the extension, or update it to this library's version: ALTER EXTENSION fencing UPDATE."
            );
        }
        oid
    };
    let function = |name: &CStr| {
        // SAFETY: a syscache look-up by name, no arguments and schema; null where there is none.
        unsafe {
            let cache = pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as i32;
            let arguments = pg_sys::buildoidvector(std::ptr::null(), 0);
            let tuple = pg_sys::SearchSysCache3(cache, name.as_ptr().into(), arguments.into(), schema.into());
            if tuple.is_null() {
                return Oid::INVALID;
            }
            let oid = (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_proc>()).oid;
            pg_sys::ReleaseSysCache(tuple);
            oid
        }
    };
    let epoch = relation(c"epoch");
    Oids {
        guard_row: function(c"guard_row"),
        guard_statement: function(c"guard_statement"),
        guard_truncate: function(c"guard_truncate"),
        namespace: relation(c"namespace"),
        namespace_pkey: relation(c"namespace_pkey"),
        namespace_name_key: relation(c"namespace_name_key"),
        namespace_id_seq: relation(c"namespace_id_seq"),
        member: relation(c"member"),
        member_pkey: relation(c"member_pkey"),
        lease: relation(c"lease"),
        lease_pkey: relation(c"lease_pkey"),
        fence: relation(c"fence"),
        fence_pkey: relation(c"fence_pkey"),
        term: relation(c"term"),
        term_pkey: relation(c"term_pkey"),
        request: relation(c"request"),
        request_pkey: relation(c"request_pkey"),
        epoch,
        epoch_pkey: relation(c"epoch_pkey"),
        installation: relation(c"installation"),
        installation_pkey: relation(c"installation_pkey"),
        clean_start: relation(c"clean_start"),
        event: relation(c"event"),
        event_pkey: relation(c"event_pkey"),
        event_kind_idx: relation(c"event_kind_idx"),
        event_id_seq: relation(c"event_id_seq"),
        guarded: relation(c"guarded"),
        guarded_pkey: relation(c"guarded_pkey"),
        coordinator: relation(c"coordinator"),
        coordinator_pkey: relation(c"coordinator_pkey"),
        remote_fence: relation(c"remote_fence"),
        remote_fence_pkey: relation(c"remote_fence_pkey"),
        remote_use: relation(c"remote_use"),
        remote_use_pkey: relation(c"remote_use_pkey"),
        fence_floor: relation(c"fence_floor"),
        fence_floor_pkey: relation(c"fence_floor_pkey"),
        protocol: relation(c"protocol"),
        term_seq: relation(c"term_seq"),
        owner: super::catalog::owner_of(epoch),
    }
}

/// Whether the extension's tables are there and can be written without waiting for anybody: they are
/// locked then until the transaction ends. Raises nothing where they are not.
pub fn lock_for_exit() -> bool {
    let find = || {
        // SAFETY: catalog look-ups inside a transaction; a missing schema has no relations.
        unsafe {
            let schema = pg_sys::get_namespace_oid(c"fencing".as_ptr(), true);
            [c"lease", c"term", c"epoch", c"installation", c"clean_start", c"protocol"]
                .map(|name| pg_sys::get_relname_relid(name.as_ptr(), schema))
        }
    };
    let relations = find();
    let (write, read) = (pg_sys::RowExclusiveLock, pg_sys::AccessShareLock);
    let modes = [write, write, read, read, read, read];
    let lock = |(oid, mode): (&Oid, u32)| {
        // SAFETY: locks a relation, or one that is gone: as told by looking again.
        unsafe { pg_sys::ConditionalLockRelationOid(*oid, mode as i32) }
    };
    !relations.contains(&Oid::INVALID) && relations.iter().zip(modes).all(lock) && find() == relations
}

/// The functions that a guard's triggers call.
pub fn guard_functions() -> [Oid; 3] {
    let oids = oids();
    [oids.guard_row, oids.guard_statement, oids.guard_truncate]
}

/// The guard functions that a role has no EXECUTE on: attaching a trigger takes it.
pub fn not_executable_by(role: Oid) -> Vec<&'static str> {
    let oids = oids();
    let functions = [
        ("fencing.guard_row()", oids.guard_row),
        ("fencing.guard_statement()", oids.guard_statement),
        ("fencing.guard_truncate()", oids.guard_truncate),
    ];
    functions.into_iter().filter(|(_, oid)| !may_execute(role, *oid)).map(|(name, _)| name).collect()
}

fn may_execute(role: Oid, function: Oid) -> bool {
    // SAFETY: a catalog look-up.
    let result = unsafe {
        #[cfg(feature = "pg15")]
        {
            pg_sys::pg_proc_aclcheck(function, role, pg_sys::ACL_EXECUTE)
        }
        #[cfg(not(feature = "pg15"))]
        {
            pg_sys::object_aclcheck(pg_sys::ProcedureRelationId, function, role, pg_sys::ACL_EXECUTE.into())
        }
    };
    result == pg_sys::AclResult::ACLCHECK_OK
}

/// Keeps others from granting on the extension's functions until this transaction ends.
pub fn serialize_grants() {
    Tag::grants().lock(Mode::Exclusive);
}

/// Two libraries that lock or store differently must not meet in one database (they can after a
/// package upgrade: a backend keeps the library that it loaded).
fn check_protocol(oids: &Oids) {
    let table = super::table::Table::open(oids.protocol, super::table::Access::Read);
    let found = table.first(&super::snapshot::Latest::take()).map(|row| row.int(1));
    if found != Some(PROTOCOL) {
        let error = Error::new(Code::NotInPrerequisiteState, "fencing library does not match this database")
            .detail(format!("The library speaks protocol {PROTOCOL}, the database {}.", found.unwrap_or(0)))
            .hint(
                "Reconnect to load the installed library; if that is not enough, run ALTER EXTENSION fencing UPDATE.",
            );
        super::outcome::throw(error);
    }
}
