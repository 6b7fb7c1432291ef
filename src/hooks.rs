//! Where PostgreSQL calls in by itself: at the library's load, and at the end of transactions and
//! savepoints.

use crate::pg::outcome::{Outcome, guarded_by};
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
    match event {
        // SAFETY: no destructor in this frame.
        XactEvent::XACT_EVENT_PRE_COMMIT if guard::has_work() => unsafe { or_raise(before_commit) },
        XactEvent::XACT_EVENT_PRE_COMMIT => {}
        XactEvent::XACT_EVENT_COMMIT => transaction::ended(),
        // SAFETY: as above.
        _ => unsafe { other_event(event) },
    }
}

#[inline(never)]
unsafe fn other_event(event: XactEvent::Type) {
    match event {
        // SAFETY: the caller's promise.
        XactEvent::XACT_EVENT_PRE_PREPARE => unsafe { or_raise(before_prepare) },
        XactEvent::XACT_EVENT_ABORT | XactEvent::XACT_EVENT_PREPARE => transaction::ended(),
        _ => {}
    }
}

#[unsafe(link_section = ".text_hot")]
unsafe fn before_commit(_: *mut c_void) -> Result<Outcome, Error> {
    guard::before_commit().map(|()| Outcome::Null)
}

unsafe fn before_prepare(_: *mut c_void) -> Result<Outcome, Error> {
    guard::before_prepare().map(|()| Outcome::Null)
}

/// # Safety
/// To be called by a function that PostgreSQL calls and that holds nothing with a destructor.
unsafe fn or_raise(check: unsafe fn(*mut c_void) -> Result<Outcome, Error>) {
    // SAFETY: the caller's promise; the checks take no argument.
    unsafe {
        if let Outcome::Raise(raise) = guarded_by(check, std::ptr::null_mut()) {
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
