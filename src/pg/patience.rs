//! Waiting with a bound. A cancelled statement, or one past its timeout, waits no longer.

use super::lock::{Mode, Tag};
use fencing_core::time::Span;
use pgrx::PgSqlErrorCode;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::CaughtError;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Takes a lock until the transaction ends, in its queue, for at most so long or the session's
/// `lock_timeout`. Whether it was to be had; if not, the transaction must end in an error.
pub fn lock(tag: &Tag, mode: Mode, limit: Span) -> bool {
    if tag.try_lock(mode) {
        return true;
    }
    let bound = Bound::set(limit);
    let outcome = catch_unwind(AssertUnwindSafe(|| tag.lock(mode)));
    drop(bound);
    match outcome {
        Ok(()) => true,
        Err(panic) => match panic.downcast::<CaughtError>() {
            Ok(error) if is_timeout(&error) => false,
            Ok(error) => resume_unwind(error),
            Err(other) => resume_unwind(other),
        },
    }
}

fn is_timeout(error: &CaughtError) -> bool {
    matches!(error, CaughtError::PostgresError(report)
        if report.sql_error_code() == PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE)
}

/// `lock_timeout`, lowered for a while.
struct Bound(c_int);

impl Bound {
    fn set(limit: Span) -> Bound {
        let limit = c_int::try_from(limit / 1000).unwrap_or(c_int::MAX).max(1);
        // SAFETY: a static of this backend.
        unsafe {
            let old = pg_sys::LockTimeout;
            pg_sys::LockTimeout = if old > 0 { old.min(limit) } else { limit };
            Bound(old)
        }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // SAFETY: a static of this backend.
        unsafe { pg_sys::LockTimeout = self.0 };
    }
}

/// How often [`poll`] looks.
const BETWEEN: Duration = Duration::from_millis(10);

/// Looks again and again, for at most so long, until there is something to see.
pub fn poll<T>(limit: Span, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let limit = Duration::from_micros(u64::try_from(limit).unwrap_or(0));
    let since = Instant::now();
    loop {
        if let Some(seen) = look() {
            return Some(seen);
        }
        if since.elapsed() >= limit {
            return None;
        }
        sleep(BETWEEN);
    }
}

fn sleep(time: Duration) {
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: this backend's own latch.
    unsafe {
        pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, time.as_millis() as i64, pg_sys::PG_WAIT_EXTENSION);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
    pgrx::check_for_interrupts!();
}
