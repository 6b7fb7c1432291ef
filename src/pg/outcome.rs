//! How the library leaves: a call of PostgreSQL's ends in a plain [`Outcome`], and only then, with every
//! Rust frame left, is an error raised or SQL run.

use super::report::Raise;
use fencing_core::Error;
use pgrx::pg_sys::{self, Datum, Oid};
use std::ffi::{c_char, c_void};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What an entry point returns to PostgreSQL once all Rust frames have been left.
#[derive(Clone, Copy)]
pub enum Outcome {
    /// A value; void is one, too.
    Value(Datum),
    /// NULL.
    Null,
    /// An error to raise.
    Raise(Raise),
    /// SQL to run: it may fire other people's event triggers, whose errors must not pass through
    /// Rust.
    Execute(Script),
}

/// Statements to run with the caller's own rights and a search path that nobody can plant anything
/// in. What the caller has no right to is granted by `owner` before, and taken back after: DDL on
/// somebody's table runs that somebody's code (partition keys, event triggers), and must do so as
/// nobody else.
#[derive(Clone, Copy)]
pub struct Script {
    /// Run as `owner`, before; null for nothing.
    pub(super) before: *const c_char,
    pub(super) sql: *const c_char,
    /// Run as `owner`, after; null for nothing.
    pub(super) after: *const c_char,
    pub(super) owner: Oid,
}

/// Raises `error` from anywhere below an entry point.
pub fn throw(error: Error) -> ! {
    resume_unwind(Box::new(error))
}

/// Runs `body` so that nothing but a plain [`Outcome`] leaves it.
///
/// # Safety
/// To be called at the top of a function that PostgreSQL calls.
#[inline]
pub unsafe fn guarded<F: FnOnce() -> Result<Outcome, Error>>(body: F) -> Outcome {
    let mut body = ManuallyDrop::new(body);
    // SAFETY: `run` gets what it is made for, once; the rest is the caller's promise.
    unsafe { guarded_by(run::<F>, (&raw mut body).cast()) }
}

/// # Safety
/// `body` must be that of [`guarded`], which has this called once.
unsafe fn run<F: FnOnce() -> Result<Outcome, Error>>(body: *mut c_void) -> Result<Outcome, Error> {
    // SAFETY: the caller's promise.
    unsafe { ManuallyDrop::take(&mut *body.cast::<ManuallyDrop<F>>())() }
}

/// Runs `run` with `body` as [`guarded`] does. One for all, as [`catch`](super::raw::catch) is.
///
/// # Safety
/// As [`guarded`]; and `body` must be what `run` expects.
#[inline(never)]
#[unsafe(link_section = ".text_hot")]
pub unsafe fn guarded_by(run: unsafe fn(*mut c_void) -> Result<Outcome, Error>, body: *mut c_void) -> Outcome {
    // SAFETY: the caller's promise.
    let call = || unsafe { run(body) };
    let caught = || match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => Outcome::Raise(Raise::new(&error)),
        Err(panic) => match panic.downcast::<Error>() {
            Ok(error) => Outcome::Raise(Raise::new(&error)),
            Err(other) => resume_unwind(other),
        },
    };
    // SAFETY: the caller's promise.
    unsafe { pg_sys::panic::pgrx_extern_c_guard(caught) }
}

unsafe extern "C-unwind" {
    fn SPI_connect() -> i32;
    fn SPI_execute(sql: *const c_char, read_only: bool, count: std::ffi::c_long) -> i32;
    fn SPI_finish() -> i32;
    fn GetUserIdAndSecContext(user: *mut Oid, context: *mut i32);
    fn SetUserIdAndSecContext(user: Oid, context: i32);
    fn NewGUCNestLevel() -> i32;
    fn AtEOXact_GUC(commit: bool, nest_level: i32);
    fn set_config_option(
        name: *const c_char,
        value: *const c_char,
        context: pg_sys::GucContext::Type,
        source: pg_sys::GucSource::Type,
        action: pg_sys::GucAction::Type,
        change: bool,
        level: i32,
        reload: bool,
    ) -> i32;
}

/// Hands an outcome to PostgreSQL.
///
/// # Safety
/// To be called by a function that PostgreSQL calls and that holds nothing with a destructor.
#[unsafe(link_section = ".text_hot")]
pub unsafe fn finish(outcome: Outcome, fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: the caller's promise; an error inside leaves by longjmp over plain frames, and the
    // abort that follows restores the role.
    unsafe {
        // Apart from the others: this is the hot path's.
        if let Outcome::Value(datum) = outcome { datum } else { finish_otherwise(outcome, fcinfo) }
    }
}

#[inline(never)]
unsafe fn finish_otherwise(outcome: Outcome, fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: as `finish`.
    unsafe {
        match outcome {
            Outcome::Value(datum) => return datum,
            Outcome::Raise(raise) => raise.error(),
            Outcome::Execute(script) => {
                script.run();
                return Datum::null();
            }
            Outcome::Null => {}
        }
        (*fcinfo).isnull = true;
        Datum::from(0usize)
    }
}

impl Script {
    /// # Safety
    /// As [`finish`].
    unsafe fn run(self) {
        // SAFETY: the caller's promise; an abort restores role and settings.
        unsafe {
            let settings = NewGUCNestLevel();
            set_config_option(
                c"search_path".as_ptr(),
                c"pg_catalog, pg_temp".as_ptr(),
                pg_sys::GucContext::PGC_USERSET,
                pg_sys::GucSource::PGC_S_SESSION,
                pg_sys::GucAction::GUC_ACTION_SAVE,
                true,
                0,
                false,
            );
            SPI_connect();
            execute_as(self.owner, self.before);
            if *self.sql != 0 {
                SPI_execute(self.sql, false, 0);
            }
            execute_as(self.owner, self.after);
            SPI_finish();
            AtEOXact_GUC(false, settings);
        }
    }
}

/// # Safety
/// As [`finish`], within SPI.
unsafe fn execute_as(role: Oid, sql: *const c_char) {
    // SAFETY: NUL-terminated where it is not null.
    if sql.is_null() || unsafe { *sql == 0 } {
        return;
    }
    let (mut user, mut context) = (Oid::INVALID, 0);
    // SAFETY: the caller's promise; an abort restores the role.
    unsafe {
        GetUserIdAndSecContext(&mut user, &mut context);
        SetUserIdAndSecContext(role, context | pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32);
        SPI_execute(sql, false, 0);
        SetUserIdAndSecContext(user, context);
    }
}
