//! The end of this backend: what is to be recorded of it, while it still can be.

use super::extension;
use pgrx::pg_sys::{self, Datum};
use std::cell::Cell;

use super::backend::{Backend, BackendCell};

/// Something to record: whether there is more for another transaction. It waits for no lock, since
/// nothing could interrupt it.
pub type Work = fn() -> Recorded;

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// This is to be committed, and there is more.
    Some,
    /// This is to be committed, and it is all.
    All,
    /// This is to be rolled back, and nothing else recorded.
    Nothing,
}

static WORK: BackendCell<Option<Work>> = Backend::new(Cell::new(None));

/// Has `work` done when this backend ends, however it does, short of a crash.
pub fn before_exit(work: Work) {
    if WORK.replace(Some(work)).is_none() {
        // SAFETY: a static function, registered once for this backend.
        unsafe { pg_sys::before_shmem_exit(Some(exiting), Datum::from(0usize)) };
    }
}

/// Called while the backend ends, perhaps by a FATAL error from anywhere. As PostgreSQL does to drop
/// temporary tables, this gets out of whatever transaction there is and begins one of its own. An error
/// in it is FATAL by now: it leaves the rest of the exit as it is.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn exiting(_code: i32, _arg: Datum) {
    let Some(work) = WORK.get() else { return };
    // SAFETY: `before_shmem_exit` functions may run transactions.
    unsafe {
        pg_sys::AbortOutOfAnyTransaction();
        if pg_sys::RecoveryInProgress() {
            return;
        }
        // Nobody waits for this backend's word, and it must not wait for a standby: without the record,
        // that the backend is gone says the same.
        pg_sys::synchronous_commit = pg_sys::SyncCommitLevel::SYNCHRONOUS_COMMIT_OFF as i32;
        let mut recorded = Recorded::Some;
        while recorded == Recorded::Some {
            pg_sys::StartTransactionCommand();
            pg_sys::XactIsoLevel = pg_sys::XACT_READ_COMMITTED as i32;
            pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
            recorded = if extension::lock_for_exit() { work() } else { Recorded::Nothing };
            if recorded == Recorded::Nothing {
                pg_sys::AbortOutOfAnyTransaction();
            } else {
                pg_sys::PopActiveSnapshot();
                pg_sys::CommitTransactionCommand();
            }
        }
    }
}
