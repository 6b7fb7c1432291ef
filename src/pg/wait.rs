//! Waiting: for a lock no longer than so long, for time to pass, and no longer than the client is
//! there.

use super::backend::{Backend, BackendCell};
use super::lock::{Mode, Tag};
use fencing_core::time::Span;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::{PgSqlErrorCode, PgTryBuilder, pg_sys};
use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

unsafe extern "C-unwind" {
    // None of these can raise, but for the first where a process has registered too many.
    fn RegisterTimeout(id: i32, handler: unsafe extern "C-unwind" fn()) -> i32;
    fn enable_timeout_after(id: i32, delay_ms: i32);
    fn enable_timeout_every(id: i32, first: pg_sys::TimestampTz, delay_ms: i32);
    fn disable_timeout(id: i32, keep_indicator: bool);
    fn CheckDeadLockAlert();
}

/// PostgreSQL's numbers of timeouts.
#[cfg(any(feature = "pg15", feature = "pg16"))]
const CLIENT_CONNECTION_CHECK_TIMEOUT: i32 = 10;
#[cfg(any(feature = "pg17", feature = "pg18"))]
const CLIENT_CONNECTION_CHECK_TIMEOUT: i32 = 11;
/// The first that is nobody's.
const USER_TIMEOUT: i32 = CLIENT_CONNECTION_CHECK_TIMEOUT + 2;

/// When to give up. Measured by a clock that nobody sets.
#[derive(Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// So long from now.
    pub fn after(span: Span) -> Deadline {
        Deadline(Instant::now() + Duration::from_micros(span.max(0) as u64))
    }

    /// What is left of it.
    pub fn left(&self) -> Span {
        self.0.saturating_duration_since(Instant::now()).as_micros() as Span
    }
}

/// How a wait for a lock ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waited {
    /// With the lock.
    Locked,
    /// Without, in time.
    TimedOut,
    /// Without: somebody who is in the way waits for this transaction.
    Deadlock,
}

/// Takes a lock until the transaction ends, waiting for it in the order of arrival until the
/// deadline. The session's `lock_timeout` has no part in this: how long to wait was said.
pub fn lock_until(tag: &Tag, mode: Mode, deadline: Deadline) -> Waited {
    let left = milliseconds(deadline.left());
    // A wait ends by an error alone, and an error is over only once a transaction was rolled back: a
    // savepoint here, which takes no transaction id and leaves the lock to the transaction around it.
    // SAFETY: statics of this backend; the savepoint is ended on either way out.
    unsafe {
        let (context, owner) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        let lock_timeout = pg_sys::LockTimeout;
        pg_sys::LockTimeout = left;
        let error = PgTryBuilder::new(AssertUnwindSafe(|| {
            tag.lock(mode);
            // A timeout that was on its way when the lock came is this one's, not the next wait's.
            pgrx::check_for_interrupts!();
            None
        }))
        .catch_others(Some)
        .catch_rust_panic(Some)
        .execute();
        pg_sys::LockTimeout = lock_timeout;
        if error.is_none() {
            pg_sys::ReleaseCurrentSubTransaction();
        } else {
            pg_sys::RollbackAndReleaseCurrentSubTransaction();
        }
        (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner) = (context, owner);
        match error {
            None => Waited::Locked,
            Some(error) => ended(&error).unwrap_or_else(|| error.rethrow()),
        }
    }
}

/// How the wait ended, if the error is one of its own ends; cancelling is the caller's affair.
fn ended(error: &CaughtError) -> Option<Waited> {
    let CaughtError::PostgresError(report) = error else { return None };
    match report.sql_error_code() {
        PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE => Some(Waited::TimedOut),
        PgSqlErrorCode::ERRCODE_T_R_DEADLOCK_DETECTED => Some(Waited::Deadlock),
        _ => None,
    }
}

/// Sleeps, unless something wakes this backend. Cancelling ends it by an error.
pub fn sleep(span: Span) {
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: this backend's own latch.
    unsafe {
        let milliseconds = milliseconds(span).into();
        pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, milliseconds, pg_sys::PG_WAIT_EXTENSION);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
    pgrx::check_for_interrupts!();
}

/// How often [`poll`] looks.
const BETWEEN: Span = 10_000;

/// Looks again and again until there is something to see, or the deadline has passed.
pub fn poll<T>(deadline: Deadline, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        let seen = look();
        if seen.is_some() || deadline.left() == 0 {
            return seen;
        }
        sleep(BETWEEN);
    }
}

/// The session's `lock_timeout`, if it has one.
pub fn lock_timeout() -> Option<Span> {
    // SAFETY: a static of this backend.
    let milliseconds = unsafe { pg_sys::LockTimeout };
    (milliseconds > 0).then(|| Span::from(milliseconds) * 1000)
}

/// In whole milliseconds, upwards; at least one.
fn milliseconds(span: Span) -> i32 {
    i32::try_from((span + 999) / 1000).unwrap_or(i32::MAX).max(1)
}

/// How often to see whether the client is still there, in milliseconds.
const CLIENT_CHECK: i32 = 500;

/// While it lives, a client that is gone ends its session, also in the middle of a wait.
pub struct ClientWatch {
    /// The session's own setting, where it was another.
    interval: Option<i32>,
}

impl ClientWatch {
    /// Begins to look.
    pub fn begin() -> ClientWatch {
        // SAFETY: statics of this backend. Without a client there is nothing to look at.
        unsafe {
            let interval = pg_sys::client_connection_check_interval;
            if pg_sys::MyProcPort.is_null() || interval > 0 && interval <= CLIENT_CHECK {
                return ClientWatch { interval: None };
            }
            pg_sys::client_connection_check_interval = CLIENT_CHECK;
            enable_timeout_after(CLIENT_CONNECTION_CHECK_TIMEOUT, CLIENT_CHECK);
            ClientWatch { interval: Some(interval) }
        }
    }
}

impl Drop for ClientWatch {
    /// Also while an error unwinds.
    fn drop(&mut self) {
        let Some(interval) = self.interval else { return };
        // SAFETY: as `begin`.
        unsafe {
            pg_sys::client_connection_check_interval = interval;
            if interval > 0 {
                enable_timeout_after(CLIENT_CONNECTION_CHECK_TIMEOUT, interval);
            } else {
                disable_timeout(CLIENT_CONNECTION_CHECK_TIMEOUT, false);
            }
        }
    }
}

/// While it lives, this backend looks for deadlocks again and again while it waits for a lock, more
/// often than others do once: one that it is part of is found by it, and ends its wait.
pub struct DeadlockWatch(i32);

static DEADLOCK_WATCH: BackendCell<Option<i32>> = Backend::new(Cell::new(None));

impl DeadlockWatch {
    /// Begins to look.
    pub fn begin() -> DeadlockWatch {
        // SAFETY: registered once for each backend; the handler is a static function, and does what
        // PostgreSQL's own does.
        unsafe {
            let id = DEADLOCK_WATCH.get().unwrap_or_else(|| RegisterTimeout(USER_TIMEOUT, look_for_deadlock));
            DEADLOCK_WATCH.set(Some(id));
            let period = (pg_sys::DeadlockTimeout / 2).clamp(10, 500);
            enable_timeout_every(id, super::raw::GetCurrentTimestamp() + Span::from(period) * 1000, period);
            DeadlockWatch(id)
        }
    }
}

impl Drop for DeadlockWatch {
    fn drop(&mut self) {
        // SAFETY: registered.
        unsafe { disable_timeout(self.0, false) };
    }
}

/// Runs in a signal handler.
unsafe extern "C-unwind" fn look_for_deadlock() {
    // SAFETY: sets a flag and this backend's latch.
    unsafe { CheckDeadLockAlert() };
}
