//! Snapshots: what a read may see.

use super::raw;
use pgrx::pg_sys::{self, CommandId};

/// A registered snapshot of this very moment, also under REPEATABLE READ and SERIALIZABLE.
///
/// It is only ever used to judge tuples one by one, never to scan: an MVCC scan would take
/// predicate locks under SERIALIZABLE and fail healthy transactions with 40001.
pub struct Latest(pg_sys::Snapshot);

impl Latest {
    /// Takes it. Take it after the lock that keeps what is to be read in place.
    pub fn take() -> Latest {
        // SAFETY: inside a transaction; registered until dropped.
        Latest(unsafe { raw::catch(|| raw::RegisterSnapshot(raw::GetLatestSnapshot())) })
    }

    pub(super) fn raw(&self) -> pg_sys::Snapshot {
        self.0
    }
}

impl Drop for Latest {
    fn drop(&mut self) {
        // While an error unwinds, the transaction's abort releases it.
        if !std::thread::panicking() {
            // SAFETY: registered by `take`, once.
            unsafe { raw::UnregisterSnapshot(self.0) };
        }
    }
}

/// Whether the snapshot that the running statement decides by sees what transaction `xid`
/// committed; for this transaction's own writes, those of commands before `written_by`'s end.
///
/// `written_by` is the command that wrote, where the writer is this transaction itself.
#[unsafe(link_section = ".text_hot")]
pub fn statement_sees(xid: u64, written_by: Option<CommandId>) -> bool {
    // SAFETY: inside a transaction; the active snapshot outlives the call.
    unsafe {
        // A foreign key's own queries run under a snapshot of their own; what led to them was
        // decided under the transaction's.
        let snapshot = if super::xact::uses_one_snapshot() {
            raw::catch(|| raw::GetTransactionSnapshot())
        } else if raw::ActiveSnapshotSet() {
            raw::GetActiveSnapshot()
        } else {
            return true;
        };
        if let Some(command) = written_by {
            return (*snapshot).curcid > command;
        }
        let now = super::xact::next_full_xid();
        // So old that 32 bits could no longer order it: seen by everyone.
        if xid + (1 << 30) < now {
            return true;
        }
        // From a future that this cluster doesn't have: of another one's dump.
        if xid > now + (1 << 30) {
            return false;
        }
        let xid = xid as u32;
        // Older than all that was open then, as it usually is.
        if (xid.wrapping_sub((*snapshot).xmin.into_inner()) as i32) < 0 {
            return true;
        }
        !raw::catch(|| raw::XidInMVCCSnapshot(pg_sys::TransactionId::from_inner(xid), snapshot))
    }
}

/// So many transactions that have begun since a snapshot are looked at.
const LOOKED_AT: u32 = 1000;

/// Whether nobody has committed anything since the snapshot of a transaction that has only one. After very many
/// transactions it isn't said of any more.
pub fn is_of_now() -> bool {
    // SAFETY: inside a transaction; both snapshots outlive the look, which changes nothing.
    unsafe {
        let then = pg_sys::GetTransactionSnapshot();
        // A list that may be null where it is empty.
        if (0..(*then).xcnt as usize).any(|n| pg_sys::TransactionIdDidCommit(*(*then).xip.add(n))) {
            return false;
        }
        let (first, end) = ((*then).xmax.into_inner(), (*pg_sys::GetLatestSnapshot()).xmax.into_inner());
        let begun = end.wrapping_sub(first);
        let committed = |n| {
            let xid = pg_sys::TransactionId::from_inner(first.wrapping_add(n));
            xid >= pg_sys::TransactionId::FIRST_NORMAL && pg_sys::TransactionIdDidCommit(xid)
        };
        begun <= LOOKED_AT && !(0..begun).any(committed)
    }
}
