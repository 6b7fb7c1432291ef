//! The coordinator's clock. Never `now()`: that is when the transaction began.

use super::backend::{Backend, BackendCell};
use super::report;
use fencing_core::lease::Record;
use fencing_core::time::{Instant, MINUTE, SECOND, Span, coordinator_time};
use fencing_core::{Code, Error};
use std::cell::Cell;

/// The coordinator's time, read now.
pub fn now() -> Instant {
    server() + offset()
}

/// The server's own clock, which transactions are dated by.
pub fn server() -> Instant {
    // SAFETY: reads the system clock.
    unsafe { super::raw::GetCurrentTimestamp() }
}

/// When the client's statement reached the server.
pub fn statement_start() -> Instant {
    // SAFETY: reads a static of this backend.
    let start = unsafe { super::raw::GetCurrentStatementStartTimestamp() };
    start + offset()
}

/// Coordinator time of a lease: now, but never before the last time recorded of it, if it has a row.
pub fn of_lease(record: Option<&Record>) -> Instant {
    let clock = now();
    let time = coordinator_time(clock, record.map(Record::last_recorded));
    if time - clock > SECOND {
        log_step_back(clock, time - clock);
    }
    time
}

/// When this backend last said that the clock has stepped back, by the clock.
static SAID: BackendCell<Option<Instant>> = Backend::new(Cell::new(None));

/// Tells the server's log, once a minute at most: whoever stepped the clock may not know what waits for it.
fn log_step_back(clock: Instant, by: Span) {
    if SAID.get().is_some_and(|said| (said..said + MINUTE).contains(&clock)) {
        return;
    }
    SAID.set(Some(clock));
    let seconds = by / SECOND;
    report::log(
        &Error::new(Code::Warning, format!("the clock is {seconds} s behind what was recorded of a lease"))
            .detail("Until it has caught up, the lease's time stands still, and its term doesn't run out.")
            .hint("Check the server's clock. fencing.release() and fencing.revoke() end the term meanwhile."),
    );
}

#[cfg(not(feature = "test_clock"))]
fn offset() -> i64 {
    0
}

#[cfg(feature = "test_clock")]
fn offset() -> i64 {
    i64::from(test_clock::OFFSET_MS.get()) * 1000
}

/// Test builds alone: a superuser may shift this session's clock.
#[cfg(feature = "test_clock")]
pub mod test_clock {
    use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

    pub(super) static OFFSET_MS: GucSetting<i32> = GucSetting::<i32>::new(0);

    /// Defines `fencing.test_clock_offset`.
    pub fn define() {
        GucRegistry::define_int_guc(
            c"fencing.test_clock_offset",
            c"Shifts the coordinator's clock of this session. Exists in test builds only.",
            c"",
            &OFFSET_MS,
            i32::MIN / 2,
            i32::MAX / 2,
            GucContext::Suset,
            GucFlags::UNIT_MS,
        );
    }
}
