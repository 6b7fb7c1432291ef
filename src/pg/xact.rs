//! The transaction around a call.

use super::backend::{Backend, BackendCell};
use super::raw;
use pgrx::pg_sys;
use std::cell::Cell;
use std::ffi::c_void;

unsafe extern "C-unwind" {
    fn ParamsErrorCallback(arg: *mut c_void);
}

/// Whether earlier or later statements share this transaction: a block, or a pipeline that has
/// begun. A function or a DO block called by itself is alone.
pub fn in_block() -> bool {
    // SAFETY: reads statics of this backend.
    unsafe { raw::IsTransactionBlock() || pg_sys::MyXactFlags & pg_sys::XACT_FLAGS_PIPELINING as i32 != 0 }
}

/// Commits as soon as the statement ends, even where a pipeline follows.
pub fn commit_immediately() {
    // SAFETY: sets a flag of this backend, as PostgreSQL's PreventInTransactionBlock does.
    unsafe { pg_sys::MyXactFlags |= pg_sys::XACT_FLAGS_NEEDIMMEDIATECOMMIT as i32 };
}

/// Whether the function was called by the client's own statement, not from within a function.
pub fn called_by_client() -> bool {
    // SAFETY: reads a static of this backend. Every procedural language and SPI push an error
    // context while they run; a client's own statement has none, or that of its parameters.
    unsafe {
        let context = pg_sys::error_context_stack;
        let parameters = ParamsErrorCallback as unsafe extern "C-unwind" fn(*mut c_void) as usize;
        context.is_null()
            || (*context).previous.is_null() && (*context).callback.is_some_and(|f| f as usize == parameters)
    }
}

/// REPEATABLE READ or SERIALIZABLE.
pub fn uses_one_snapshot() -> bool {
    // SAFETY: reads a static of this backend.
    unsafe { pg_sys::XactIsoLevel >= pg_sys::XACT_REPEATABLE_READ as i32 }
}

/// How deep in savepoints this is: 1 outside of any.
pub fn nest_level() -> i32 {
    // SAFETY: reads a static of this backend.
    unsafe { raw::GetCurrentTransactionNestLevel() }
}

/// The command that writes now.
pub fn writing_command() -> pg_sys::CommandId {
    // SAFETY: reads and marks a static of this backend.
    unsafe { raw::GetCurrentCommandId(true) }
}

/// Makes this command's writes visible to the next.
pub fn next_command() {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::CommandCounterIncrement() };
}

/// The transaction's full id; assigns one.
pub fn full_xid() -> u64 {
    // SAFETY: inside a transaction that may write.
    unsafe { pg_sys::GetTopFullTransactionId().value }
}

/// The transaction's full id, if it has one yet.
pub fn full_xid_if_any() -> Option<u64> {
    // SAFETY: inside a transaction.
    let xid = unsafe { raw::GetTopFullTransactionIdIfAny().value };
    (xid != 0).then_some(xid)
}

/// The full id that the next transaction of the server gets, or one that was given out just now.
pub fn next_full_xid() -> u64 {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    // SAFETY: set when the server starts.
    let counters = unsafe { pg_sys::ShmemVariableCache };
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    // SAFETY: as above.
    let counters = unsafe { pg_sys::TransamVariables };
    // SAFETY: in shared memory; others move it on meanwhile, 64 bits at once.
    unsafe { (&raw const (*counters).nextXid.value).read_volatile() }
}

/// Refuses (25006) on a standby and in a read-only transaction.
pub fn require_writable(command: &std::ffi::CStr) {
    // SAFETY: raise or return.
    unsafe {
        raw::catch(|| {
            raw::PreventCommandIfReadOnly(command.as_ptr());
            raw::PreventCommandDuringRecovery(command.as_ptr());
        });
    }
}

/// Whether this transaction may write.
pub fn is_writable() -> bool {
    // SAFETY: reads statics and shared memory.
    unsafe { !pg_sys::XactReadOnly && !pg_sys::RecoveryInProgress() }
}

/// Refuses (25006) on a standby.
pub fn require_primary(command: &std::ffi::CStr) {
    // SAFETY: raises or returns.
    unsafe { pg_sys::PreventCommandDuringRecovery(command.as_ptr()) };
}

/// Flushes WAL up to `lsn`; usually somebody has already.
pub fn flush_wal(lsn: pg_sys::XLogRecPtr) {
    // SAFETY: any LSN that was inserted may be flushed.
    unsafe { pg_sys::XLogFlush(lsn) };
}

/// Flushes what this transaction has written so far.
pub fn flush_own_wal() {
    // SAFETY: a static of this backend: where its last record ends.
    unsafe { pg_sys::XLogFlush(pg_sys::XactLastRecEnd) };
}

/// Makes the commit of this transaction durable here and, where synchronous standbys are
/// configured, there, whatever the session's `synchronous_commit` says. To be called before commit,
/// outside of any function's SET clause.
#[inline(never)]
pub fn commit_durably() {
    // SAFETY: statics of this backend; `set_config_option` with a constant, valid value.
    unsafe {
        raw::ForceSyncCommit();
        // Setting it costs a look at every setting when the transaction ends.
        let standbys = !pg_sys::SyncRepStandbyNames.is_null() && *pg_sys::SyncRepStandbyNames != 0;
        let asked = pg_sys::synchronous_commit;
        if standbys && asked < pg_sys::SyncCommitLevel::SYNCHRONOUS_COMMIT_REMOTE_FLUSH as i32 {
            pg_sys::set_config_option(
                c"synchronous_commit".as_ptr(),
                c"on".as_ptr(),
                pg_sys::GucContext::PGC_USERSET,
                pg_sys::GucSource::PGC_S_SESSION,
                pg_sys::GucAction::GUC_ACTION_LOCAL,
                true,
                0,
                false,
            );
        }
    }
}

/// Whether this runs inside a foreign key's own query.
pub fn in_foreign_key_action() -> bool {
    // SAFETY: reads a static; only foreign keys set this flag.
    unsafe { raw::InNoForceRLSOperation() }
}

/// What a backend is for life or never.
static IS_APPLY_WORKER: BackendCell<Option<bool>> = Backend::new(Cell::new(None));

/// Whether this is a worker that applies a subscription.
pub fn is_apply_worker() -> bool {
    let is_worker = IS_APPLY_WORKER.get().unwrap_or_else(|| {
        // SAFETY: reads a static of this backend.
        let is_worker = unsafe { raw::IsLogicalWorker() };
        IS_APPLY_WORKER.set(Some(is_worker));
        is_worker
    });
    // SAFETY: as above.
    let replica = || unsafe { pg_sys::SessionReplicationRole == pg_sys::SESSION_REPLICATION_ROLE_REPLICA as i32 };
    is_worker || super::mutant::without("apply_worker") && replica()
}

/// Whether the trigger that runs was fired by what another trigger does.
pub fn in_nested_trigger() -> bool {
    // SAFETY: reads a static of this backend, and no argument.
    unsafe { raw::pg_trigger_depth(std::ptr::null_mut()).value() > 1 }
}
