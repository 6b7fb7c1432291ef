//! The coordinator's clock. Never `now()`: that is when the transaction began.

use fencing_core::time::Instant;
use pgrx::pg_sys;

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
    let start = unsafe { pg_sys::GetCurrentStatementStartTimestamp() };
    start + offset()
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
