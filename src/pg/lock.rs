//! Heavyweight locks in a private space: transaction-scoped, without WAL or multixacts.
//!
//! | lock      | shared by                           | exclusive for                  |
//! |-----------|-------------------------------------|--------------------------------|
//! | gate      | every writer and acquirer           | an epoch transition            |
//! | fence     | writers of one lease                | the `acquire` that advances it |
//! | heartbeat | nobody                              | whoever writes the lease's row: renew, release, acquire |
//! | namespace | writers with too many fences        | every `acquire` (as an intent), its drop |
//! | issue     | whoever draws a number, while it does (as an intent) | whoever moves the sequence on |
//! | remote fence | writers under one token of a lease of a coordinator elsewhere | the write or `seal` that advances it |
//! | coordinator | every writer under its tokens (as a reference) | its registration, `install_epoch`, its drop |
//! | floors    | nobody                              | whoever purges a coordinator's fences |
//! | administration | nobody                         | whoever creates, changes or drops a namespace, or opens the first epoch |
//! | grants    | nobody                              | whoever grants on the extension's functions for a statement |
//! | turn      | nobody                              | the head of the lease's queue; the others wait for it in the order of their arrival |
//!
//! The gate is the relation lock of `fencing.lease`, which whoever passes it reads next: it costs a
//! writer one slot of its own fast path, and granting it makes the backend see every change of epoch
//! that was committed before. The issue lock is that of `fencing.protocol`, which nobody else takes, for
//! the fast path as well.

use super::{catalog, extension, raw};
use pgrx::pg_sys::{self, LOCKMODE, LOCKTAG, Oid, TransactionId};

/// Kinds of lock: `field4` of the tag, far from the user's advisory locks (1, 2) and from those of
/// other extensions.
#[derive(Clone, Copy)]
enum Kind {
    Fence = 19501,
    Namespace = 19502,
    Heartbeat = 19503,
    Turn = 19504,
    Grants = 19505,
    RemoteFence = 19506,
    Coordinator = 19507,
    Floors = 19508,
    Administration = 19509,
}

/// A lock's name.
#[derive(Clone, Copy)]
pub struct Tag(LOCKTAG);

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Mode {
    /// With others of its kind; writers.
    Shared = pg_sys::ShareLock,
    /// With its own kind and against `Shared`: acquirers, on the namespace lock.
    Intent = pg_sys::RowExclusiveLock,
    /// With every kind but `Exclusive`: whoever needs the namespace to stay.
    Reference = pg_sys::RowShareLock,
    /// Alone.
    Exclusive = pg_sys::ExclusiveLock,
    /// Alone, and nobody reads: a relation gets another file.
    Rewrite = pg_sys::AccessExclusiveLock,
}

impl Mode {
    fn lockmode(self) -> LOCKMODE {
        self as LOCKMODE
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
            // A transaction gives back first those of this method, then the users' own: its other locks
            // are of this one, and nothing is left for a second round.
            locktag_lockmethodid: pg_sys::DEFAULT_LOCKMETHOD as u8,
        })
    }

    /// The gate, for who shuts it: [`Mode::Exclusive`], which also keeps out who writes any lease's row
    /// ([`Mode::Intent`]).
    pub fn gate() -> Tag {
        Tag::relation(gate_relation())
    }

    /// PostgreSQL's own lock of a table or sequence of this database.
    pub fn relation(relation: Oid) -> Tag {
        Tag(LOCKTAG {
            // SAFETY: a static of this backend.
            locktag_field1: unsafe { pg_sys::MyDatabaseId }.to_u32(),
            locktag_field2: relation.to_u32(),
            locktag_field3: 0,
            locktag_field4: 0,
            locktag_type: pg_sys::LockTagType::LOCKTAG_RELATION as u8,
            locktag_lockmethodid: pg_sys::DEFAULT_LOCKMETHOD as u8,
        })
    }

    /// The fence of a lease, whether or not the lease exists yet.
    pub fn fence(lease_hash: u64) -> Tag {
        Tag::new(Kind::Fence, lease_hash)
    }

    /// The lock of a lease's heartbeat row.
    pub fn heartbeat(lease_hash: u64) -> Tag {
        Tag::new(Kind::Heartbeat, lease_hash)
    }

    /// The queue of those who wait for a lease.
    pub fn turn(lease_hash: u64) -> Tag {
        Tag::new(Kind::Turn, lease_hash)
    }

    /// The lock of the sequence that numbers terms. Held for a moment, and never while anybody is waited
    /// for, unless it is for the sequence itself.
    pub fn issue() -> Tag {
        Tag::relation(extension::oids().protocol)
    }

    /// The right to grant on the extension's functions.
    pub fn grants() -> Tag {
        Tag::new(Kind::Grants, 0)
    }

    /// The fence of a lease of a coordinator elsewhere.
    pub fn remote_fence(lease_hash: u64) -> Tag {
        Tag::new(Kind::RemoteFence, lease_hash)
    }

    /// A coordinator elsewhere, with its epoch.
    pub fn coordinator(name: &str) -> Tag {
        Tag::new(Kind::Coordinator, fencing_core::hash::remote_hash(name, "", b""))
    }

    /// What stands for the forgotten fences of a coordinator elsewhere.
    pub fn floors(coordinator: &str) -> Tag {
        Tag::new(Kind::Floors, fencing_core::hash::remote_hash(coordinator, "", b""))
    }

    /// Everything of the namespace of that name that isn't its leases, whether or not there is one.
    pub fn administration(namespace: &str) -> Tag {
        Tag::new(Kind::Administration, fencing_core::hash::lock_hash(0, namespace.as_bytes()))
    }

    /// The opening of the first epoch: no namespace is named so.
    pub fn first_epoch() -> Tag {
        Tag::administration("")
    }

    /// The lock of a whole namespace.
    pub fn namespace(namespace: i32) -> Tag {
        Tag::new(Kind::Namespace, fencing_core::hash::lock_hash(namespace, b""))
    }

    /// What a transaction, or the savepoint in which it wrote, holds exclusively until it ends.
    pub fn transaction(xid: TransactionId) -> Tag {
        // SAFETY: look-ups.
        let top = unsafe { pg_sys::SubTransGetTopmostTransaction(xid) };
        // SAFETY: the same.
        let parent = |of| unsafe { pg_sys::SubTransGetParent(of) };
        // A savepoint's own lock goes when it is rolled back; when it is released, that of what is around it
        // stays.
        let mut of = xid;
        while of != top && Tag::of_xid(of).requests() == 0 {
            of = Some(parent(of)).filter(|parent| *parent != pg_sys::TransactionId::INVALID).unwrap_or(top);
        }
        Tag::of_xid(of)
    }

    fn of_xid(xid: TransactionId) -> Tag {
        Tag(LOCKTAG {
            locktag_field1: xid.into_inner(),
            locktag_field2: 0,
            locktag_field3: 0,
            locktag_field4: 0,
            locktag_type: pg_sys::LockTagType::LOCKTAG_TRANSACTION as u8,
            locktag_lockmethodid: pg_sys::DEFAULT_LOCKMETHOD as u8,
        })
    }

    /// Takes the lock until the transaction ends, waiting for it if need be.
    pub fn lock(&self, mode: Mode) {
        // SAFETY: a well-formed tag.
        owned_by_transaction(|| unsafe { raw::catch(|| raw::LockAcquire(&self.0, mode.lockmode(), false, false)) });
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self, mode: Mode) -> bool {
        // SAFETY: as `lock`.
        let got =
            owned_by_transaction(|| unsafe { raw::catch(|| raw::LockAcquire(&self.0, mode.lockmode(), false, true)) });
        got != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
    }

    /// Gives back one `lock` or `try_lock` before the transaction ends.
    pub fn unlock(&self, mode: Mode) {
        // SAFETY: as `lock`; the caller holds it.
        owned_by_transaction(|| unsafe { raw::LockRelease(&self.0, mode.lockmode(), false) });
    }

    /// Whether this backend holds it in that mode.
    pub fn held_by_me(&self, mode: Mode) -> bool {
        // SAFETY: looks at this backend's own lock table.
        unsafe {
            #[cfg(any(feature = "pg15", feature = "pg16"))]
            return raw::LockHeldByMe(&self.0, mode.lockmode());
            #[cfg(any(feature = "pg17", feature = "pg18"))]
            return raw::LockHeldByMe(&self.0, mode.lockmode(), false);
        }
    }

    /// How many hold it or wait for it.
    pub fn requests(&self) -> i32 {
        // SAFETY: a look-up in shared memory; a well-formed tag.
        unsafe { raw::LockWaiterCount(&self.0) }
    }

    /// Who, other than this backend, stands in the way of `mode`: process ids, 0 for a prepared
    /// transaction.
    pub fn in_the_way_of(&self, mode: Mode) -> Vec<i32> {
        let mut pids = Vec::new();
        let mut processless = Vec::new();
        for holder in self.conflicts(mode) {
            match pid_of(&holder) {
                Some(pid) => pids.push(pid),
                None => processless.push(holder),
            }
        }
        // A transaction without its process was prepared, or has ended since: only the former is
        // still in the way.
        if !processless.is_empty() {
            let still = self.conflicts(mode);
            let same = |a: &pg_sys::VirtualTransactionId, b: &pg_sys::VirtualTransactionId| {
                a.localTransactionId == b.localTransactionId && number_of(a) == number_of(b)
            };
            if processless.iter().any(|holder| still.iter().any(|other| same(holder, other))) {
                pids.push(0);
            }
        }
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    pub(super) fn conflicts(&self, mode: Mode) -> Vec<pg_sys::VirtualTransactionId> {
        let mut count = 0;
        // SAFETY: the result is an array of `count` entries in the current memory context.
        unsafe {
            let list = pg_sys::GetLockConflicts(&self.0, mode.lockmode(), &mut count);
            std::slice::from_raw_parts(list, count as usize).to_vec()
        }
    }
}

/// Runs a lock call on behalf of the transaction (or savepoint) itself. By default a lock belongs to
/// the portal that runs: a cursor that fails inside a savepoint would give back, with that
/// savepoint, locks that it took before it. What is remembered of a lock follows savepoints alone,
/// and so must the lock.
fn owned_by_transaction<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: statics of this backend. An error in between ends in an abort, which sets the owner
    // anew.
    unsafe {
        let owner = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = pg_sys::CurTransactionResourceOwner;
        let result = call();
        pg_sys::CurrentResourceOwner = owner;
        result
    }
}

unsafe extern "C-unwind" {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    fn BackendIdGetProc(backend: i32) -> *mut pg_sys::PGPROC;
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    fn ProcNumberGetProc(proc: i32) -> *mut pg_sys::PGPROC;
}

#[cfg(any(feature = "pg15", feature = "pg16"))]
pub(super) fn number_of(vxid: &pg_sys::VirtualTransactionId) -> i32 {
    vxid.backendId
}
#[cfg(any(feature = "pg17", feature = "pg18"))]
pub(super) fn number_of(vxid: &pg_sys::VirtualTransactionId) -> i32 {
    vxid.procNumber
}

/// The process that runs a virtual transaction; `None` if none does (any more). A prepared
/// transaction keeps the number of the process that prepared it, which has gone on to others.
pub(super) fn pid_of(vxid: &pg_sys::VirtualTransactionId) -> Option<i32> {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    // SAFETY: a look-up in shared memory that takes and drops its own lock and can't raise; entries
    // are never unmapped.
    let (proc, running) = unsafe {
        let proc = if vxid.backendId < 1 { std::ptr::null_mut() } else { BackendIdGetProc(vxid.backendId) };
        (proc, proc.as_ref().map(|p| p.lxid))
    };
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    // SAFETY: as above.
    let (proc, running) = unsafe {
        let proc = if vxid.procNumber < 0 { std::ptr::null_mut() } else { ProcNumberGetProc(vxid.procNumber) };
        (proc, proc.as_ref().map(|p| p.vxid.lxid))
    };
    // SAFETY: not null where there is a running transaction.
    (running == Some(vxid.localTransactionId)).then(|| unsafe { (*proc).pid })
}

/// Passes the gate: waits out an epoch transition, and keeps the next one out until this
/// transaction ends. Brings word of every change that was committed before.
pub fn enter_gate() {
    // As LockRelationOid does; which brings no word where the transaction holds the lock already.
    let (gate, mode) = (Tag::gate(), Mode::Reference.lockmode());
    // SAFETY: a lock of an existing relation; inside a transaction. No destructor in here.
    owned_by_transaction(|| unsafe {
        raw::catch(|| {
            raw::LockAcquire(&gate.0, mode, false, false);
            raw::AcceptInvalidationMessages();
        });
    });
}

/// Passes the gate if nobody holds it shut.
pub fn try_enter_gate() -> bool {
    try_gate(Mode::Reference)
}

/// Whether leases' rows may be written at once: nobody has shut the gate, or waits to. Nobody will then
/// until this transaction ends. It is the lock that writing a row takes anyway.
pub fn try_write_leases() -> bool {
    super::mutant::without("renew_gate") || try_gate(Mode::Intent)
}

/// Undoes one `try_write_leases`, where nothing is to be written.
pub fn leave_leases() {
    if !super::mutant::without("renew_gate") && !super::mutant::without("leave_leases") {
        Tag::gate().unlock(Mode::Intent);
    }
}

/// Whether this transaction has written a lease's row: nobody takes that lease over while it is open.
pub fn writes_leases() -> bool {
    // Where the extension is there at all.
    catalog::relation("fencing", "lease").is_some_and(|lease| Tag::relation(lease).held_by_me(Mode::Intent))
}

fn try_gate(mode: Mode) -> bool {
    let relation = gate_relation();
    // SAFETY: as `enter_gate`; brings word of changes as that does.
    owned_by_transaction(|| unsafe { raw::catch(|| raw::ConditionalLockRelationOid(relation, mode.lockmode())) })
}

/// Undoes one `try_enter_gate`.
pub fn leave_gate() {
    Tag::gate().unlock(Mode::Reference);
}

fn gate_relation() -> Oid {
    extension::oid(|oids| oids.lease)
}
