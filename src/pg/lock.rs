//! Heavyweight locks in a private space: transaction-scoped, without WAL or multixacts.
//!
//! | lock      | shared by                           | exclusive for                  |
//! |-----------|-------------------------------------|--------------------------------|
//! | gate      | every writer and acquirer           | an epoch transition            |
//! | fence     | writers of one lease                | the `acquire` that advances it |
//! | namespace | writers with too many fences        | every `acquire` (as an intent), its drop |
//!
//! The gate is the relation lock of `fencing.epoch`: it costs a writer a slot of its own fast path,
//! and granting it makes the backend see every change of epoch that was committed before.

use super::extension;
use pgrx::pg_sys::{self, LOCKMODE, LOCKTAG, Oid};

/// Kinds of lock: `field4` of the tag, far from the user's advisory locks (1, 2) and from those of
/// other extensions.
#[derive(Clone, Copy)]
enum Kind {
    Fence = 19501,
    Namespace = 19502,
}

/// A lock's name.
#[derive(Clone, Copy)]
pub struct Tag(LOCKTAG);

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// With others of its kind; writers.
    Shared,
    /// With its own kind and against `Shared`: acquirers, on the namespace lock.
    Intent,
    /// With every kind but `Exclusive`: whoever needs the namespace to stay.
    Reference,
    /// Alone.
    Exclusive,
}

impl Mode {
    fn lockmode(self) -> LOCKMODE {
        (match self {
            Mode::Shared => pg_sys::ShareLock,
            Mode::Intent => pg_sys::RowExclusiveLock,
            Mode::Reference => pg_sys::RowShareLock,
            Mode::Exclusive => pg_sys::ExclusiveLock,
        }) as LOCKMODE
    }
}

impl Tag {
    fn new(kind: Kind, hash: u64) -> Tag {
        Tag(LOCKTAG {
            // SAFETY: a static of this backend.
            locktag_field1: unsafe { pg_sys::MyDatabaseId }.to_u32(),
            locktag_field2: (hash >> 32) as u32,
            locktag_field3: hash as u32,
            locktag_field4: kind as u16,
            locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        })
    }

    /// The fence of a lease, whether or not the lease exists yet.
    pub fn fence(namespace: i32, key: &[u8]) -> Tag {
        Tag::new(Kind::Fence, fencing_core::hash::lock_hash(namespace, key))
    }

    /// The lock of a whole namespace.
    pub fn namespace(namespace: i32) -> Tag {
        Tag::new(Kind::Namespace, fencing_core::hash::lock_hash(namespace, b""))
    }

    /// Takes the lock until the transaction ends, waiting for it if need be.
    pub fn lock(&self, mode: Mode) {
        // SAFETY: a well-formed tag; the lock belongs to the transaction.
        unsafe { pg_sys::LockAcquire(&self.0, mode.lockmode(), false, false) };
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self, mode: Mode) -> bool {
        // SAFETY: as `lock`.
        let got = unsafe { pg_sys::LockAcquire(&self.0, mode.lockmode(), false, true) };
        got != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
    }

    /// Gives back one `lock` or `try_lock` before the transaction ends.
    pub fn unlock(&self, mode: Mode) {
        // SAFETY: as `lock`; the caller holds it.
        unsafe { pg_sys::LockRelease(&self.0, mode.lockmode(), false) };
    }

    /// Whether this backend holds it in that mode.
    pub fn held_by_me(&self, mode: Mode) -> bool {
        // SAFETY: looks at this backend's own lock table.
        unsafe {
            #[cfg(any(feature = "pg15", feature = "pg16"))]
            return pg_sys::LockHeldByMe(&self.0, mode.lockmode());
            #[cfg(any(feature = "pg17", feature = "pg18"))]
            return pg_sys::LockHeldByMe(&self.0, mode.lockmode(), false);
        }
    }

    /// Who, other than this backend, stands in the way of `mode`: process ids, 0 for a prepared
    /// transaction.
    pub fn in_the_way_of(&self, mode: Mode) -> Vec<i32> {
        let mut count = 0;
        // SAFETY: the result is an array of `count` entries in the current memory context.
        let holders = unsafe {
            let list = pg_sys::GetLockConflicts(&self.0, mode.lockmode(), &mut count);
            std::slice::from_raw_parts(list, count as usize)
        };
        let mut pids: Vec<i32> = holders.iter().filter_map(pid_of).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }
}

unsafe extern "C-unwind" {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    fn BackendIdGetProc(backend: i32) -> *mut pg_sys::PGPROC;
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    fn ProcNumberGetProc(proc: i32) -> *mut pg_sys::PGPROC;
}

/// The process behind a virtual transaction: `Some(0)` for a prepared one, `None` if it has gone.
fn pid_of(vxid: &pg_sys::VirtualTransactionId) -> Option<i32> {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    let (number, look_up) = (vxid.backendId, BackendIdGetProc as unsafe extern "C-unwind" fn(i32) -> _);
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    let (number, look_up) = (vxid.procNumber, ProcNumberGetProc as unsafe extern "C-unwind" fn(i32) -> _);
    if number == -1 {
        return Some(0);
    }
    // SAFETY: a look-up in shared memory that takes and drops its own lock and can't raise.
    let proc: *mut pg_sys::PGPROC = unsafe { look_up(number) };
    // SAFETY: PGPROC entries are never unmapped; a reused one shows another or no pid.
    (!proc.is_null()).then(|| unsafe { (*proc).pid })
}

/// The process that runs transaction `xid`, 0 for a prepared one.
pub fn pid_of_transaction(xid: pg_sys::TransactionId) -> i32 {
    // SAFETY: look-ups in shared memory.
    unsafe { pg_sys::BackendXidGetPid(pg_sys::SubTransGetTopmostTransaction(xid)) }
}

const GATE_SHARED: LOCKMODE = pg_sys::RowShareLock as LOCKMODE;

/// Passes the gate: waits out an epoch transition, and keeps the next one out until this
/// transaction ends.
pub fn enter_gate() {
    // SAFETY: a lock of an existing relation.
    unsafe { pg_sys::LockRelationOid(gate_relation(), GATE_SHARED) };
}

/// Passes the gate if nobody holds it shut.
pub fn try_enter_gate() -> bool {
    // SAFETY: as `enter_gate`.
    unsafe { pg_sys::ConditionalLockRelationOid(gate_relation(), GATE_SHARED) }
}

/// Undoes one `try_enter_gate`.
pub fn leave_gate() {
    // SAFETY: as `enter_gate`; the caller holds it.
    unsafe { pg_sys::UnlockRelationOid(gate_relation(), GATE_SHARED) };
}

fn gate_relation() -> Oid {
    extension::oids().epoch
}
