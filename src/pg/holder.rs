//! Transactions that stand in the way of a lock, told apart from what their processes do next.

use super::lock::{self, Mode, Tag};
use pgrx::pg_sys::{self, TransactionId, VirtualTransactionId};

unsafe extern "C-unwind" {
    // Takes and drops its own lock, and can't raise.
    fn TwoPhaseGetXidByVirtualXID(vxid: VirtualTransactionId, have_more: *mut bool) -> TransactionId;
    fn kill(pid: i32, signal: i32) -> i32;
}

/// A transaction, by its virtual id.
#[derive(Clone, Copy)]
pub struct Holder(VirtualTransactionId);

impl PartialEq for Holder {
    fn eq(&self, other: &Holder) -> bool {
        self.0.localTransactionId == other.0.localTransactionId && lock::number_of(&self.0) == lock::number_of(&other.0)
    }
}

/// Where a transaction is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// A process runs it.
    Process(i32),
    /// It was prepared, and waits for its second phase.
    Prepared(TransactionId),
    /// It has ended.
    Over,
}

impl Tag {
    /// The transactions, other than this one, that stand in the way of `mode`.
    pub fn held_against(&self, mode: Mode) -> Vec<Holder> {
        self.conflicts(mode).into_iter().map(Holder).collect()
    }
}

impl Holder {
    /// Where it is now.
    pub fn at(&self) -> At {
        if let Some(pid) = lock::pid_of(&self.0) {
            return At::Process(pid);
        }
        // Prepared by a server that was restarted since, it has its number for a virtual one.
        if lock::number_of(&self.0) < 0 {
            return At::Prepared(TransactionId::from_inner(self.0.localTransactionId));
        }
        let mut more = false;
        // SAFETY: a look-up in shared memory.
        let xid = unsafe { TwoPhaseGetXidByVirtualXID(self.0, &mut more) };
        if xid == TransactionId::from_inner(0) { At::Over } else { At::Prepared(xid) }
    }

    /// Ends the process that runs it, as `pg_terminate_backend` does, whoever asks. Whether there was
    /// one to end.
    pub fn terminate(&self) -> bool {
        let At::Process(pid) = self.at() else { return false };
        // SAFETY: a look-up in shared memory; then a signal to a backend, and to what it has started.
        unsafe { !pg_sys::BackendPidGetProc(pid).is_null() && kill(-pid, SIGTERM) == 0 }
    }
}

const SIGTERM: i32 = 15;
