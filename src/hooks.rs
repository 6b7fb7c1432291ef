//! Where PostgreSQL calls in by itself: at the library's load, and at the end of transactions and
//! savepoints.

use crate::pg::entry::{Outcome, guarded};
use crate::{coordinator, epoch, guard, pg, transaction};
use fencing_core::Error;
use pgrx::pg_sys::{self, SubXactEvent, XactEvent};
use std::ffi::c_void;

/// Called once in each backend that loads the library.
///
/// # Safety
/// PostgreSQL calls it.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn _PG_init() {
    pg::report::without_backtraces();
    guard::define_settings();
    coordinator::define_settings();
    epoch::define_settings();
    #[cfg(feature = "test_clock")]
    pg::clock::test_clock::define();
    #[cfg(feature = "mutants")]
    pg::mutant::define();
    pg::extension::watch_relations();
    // SAFETY: static functions, registered once for the life of the backend: pgrx's own callbacks
    // last one transaction, and miss PREPARE.
    unsafe {
        pg_sys::MarkGUCPrefixReserved(c"fencing".as_ptr());
        pg_sys::RegisterXactCallback(Some(transaction_event), std::ptr::null_mut());
        pg_sys::RegisterSubXactCallback(Some(savepoint_event), std::ptr::null_mut());
    }
}

/// Before commit an error is still an error; after it (and in an abort) one would take the server
/// down, so nothing there but plain memory is touched.
#[unsafe(link_section = ".text_hot")]
unsafe extern "C-unwind" fn transaction_event(event: XactEvent::Type, _arg: *mut c_void) {
    use XactEvent::{XACT_EVENT_ABORT, XACT_EVENT_COMMIT, XACT_EVENT_PRE_COMMIT, XACT_EVENT_PRE_PREPARE, XACT_EVENT_PREPARE};
    if event == XACT_EVENT_PRE_COMMIT {
        if guard::has_work() {
            // SAFETY: no destructor in this frame.
            unsafe { or_raise(guard::before_commit) };
        }
    } else if event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE {
        transaction::ended();
    } else if event == XACT_EVENT_PRE_PREPARE {
        // SAFETY: as above.
        unsafe { or_raise(guard::before_prepare) };
    }
}

/// # Safety
/// To be called by a function that PostgreSQL calls and that holds nothing with a destructor.
unsafe fn or_raise(check: fn() -> Result<(), Error>) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Outcome::Raise(raise) = guarded(|| check().map(|()| Outcome::Null)) {
            raise.error();
        }
    }
}

unsafe extern "C-unwind" fn savepoint_event(
    event: SubXactEvent::Type,
    _id: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _arg: *mut c_void,
) {
    match event {
        SubXactEvent::SUBXACT_EVENT_COMMIT_SUB => transaction::savepoint_released(),
        SubXactEvent::SUBXACT_EVENT_ABORT_SUB => transaction::savepoint_rolled_back(),
        _ => {}
    }
}
