//! Raising errors with the project's own SQLSTATEs.
//!
//! PostgreSQL's `ereport` takes any SQLSTATE; pgrx's takes a closed list and turns the rest into
//! XX000. So an entry point runs its body under pgrx's guard, gets a plain [`Raise`] back once
//! every Rust frame has been left, and raises it here.

use super::raw;
use fencing_core::{Code, Error};
use pgrx::pg_sys;
use std::cell::RefCell;
use std::ffi::{c_char, c_int};

unsafe extern "C-unwind" {
    fn errstart(elevel: c_int, domain: *const c_char) -> bool;
    fn errcode(sqlerrcode: c_int) -> c_int;
    fn errmsg(fmt: *const c_char, ...) -> c_int;
    fn errdetail(fmt: *const c_char, ...) -> c_int;
    fn errhint(fmt: *const c_char, ...) -> c_int;
    fn errfinish(filename: *const c_char, lineno: c_int, funcname: *const c_char);
}

/// Keeps the library's own frames out of what clients are told, also where the server was started with
/// `RUST_BACKTRACE`: pgrx makes a backtrace the DETAIL of each error of PostgreSQL's that passes through.
/// `RUST_LIB_BACKTRACE` brings them back. To be called before the first error.
pub fn without_backtraces() {
    const VARIABLE: &str = "RUST_LIB_BACKTRACE";
    if std::env::var_os(VARIABLE).is_none() {
        // SAFETY: a backend has one thread.
        unsafe { std::env::set_var(VARIABLE, "0") };
    }
}

/// An error ready to be raised: strings in PostgreSQL's memory, nothing to drop.
#[derive(Clone, Copy)]
pub struct Raise {
    sqlstate: c_int,
    message: *const c_char,
    detail: *const c_char,
    hint: *const c_char,
}

impl Raise {
    /// Copies an error into PostgreSQL's memory, in the server's encoding.
    pub fn new(error: &Error) -> Raise {
        let text = |s: &Option<String>| s.as_deref().map_or(std::ptr::null(), super::text::to_server_cstr);
        Raise {
            sqlstate: error.code.packed_sqlstate(),
            message: super::text::to_server_cstr(&error.message),
            detail: text(&error.detail),
            hint: text(&error.hint),
        }
    }

    /// Raises it as an ERROR.
    ///
    /// # Safety
    /// No Rust frame with a pending destructor may lie between here and PostgreSQL: this returns by
    /// `longjmp`.
    pub unsafe fn error(self) -> ! {
        // SAFETY: the caller's promise.
        unsafe {
            self.report(pg_sys::PGERROR as c_int);
            // SAFETY: `errfinish` doesn't return from an ERROR.
            std::hint::unreachable_unchecked()
        }
    }

    /// # Safety
    /// As [`Raise::error`] for levels of ERROR and above.
    unsafe fn report(self, level: c_int) {
        // SAFETY: the strings are NUL-terminated and live in PostgreSQL's memory; the formats match.
        unsafe {
            if errstart(level, std::ptr::null()) {
                errcode(self.sqlstate);
                errmsg(c"%s".as_ptr(), self.message);
                if !self.detail.is_null() {
                    errdetail(c"%s".as_ptr(), self.detail);
                }
                if !self.hint.is_null() {
                    errhint(c"%s".as_ptr(), self.hint);
                }
                errfinish(c"fencing".as_ptr(), 0, c"fencing".as_ptr());
            }
        }
    }
}

thread_local! {
    static WARNED: RefCell<(i64, Vec<(Code, String)>)> = RefCell::default();
}

/// As [`warning`], once for each kind of error while one statement of the client runs: whether it was
/// this time.
pub fn warning_once(error: &Error) -> bool {
    // SAFETY: reads a static of this backend.
    let statement = unsafe { pg_sys::GetCurrentStatementStartTimestamp() };
    let first = WARNED.with_borrow_mut(|(of, warned)| {
        if *of != statement {
            (*of, *warned) = (statement, Vec::new());
        }
        let kind = (error.code, error.message.clone());
        let first = !warned.contains(&kind);
        if first {
            warned.push(kind);
        }
        first
    });
    if first {
        warning(error);
    }
    first
}

/// Sends `error` to the client as a WARNING and goes on.
pub fn warning(error: &Error) {
    say(pg_sys::WARNING as c_int, error);
}

/// Writes `error` to the server's log and goes on.
pub fn log(error: &Error) {
    say(pg_sys::LOG as c_int, error);
}

fn say(level: c_int, error: &Error) {
    let raise = Raise::new(error);
    // SAFETY: below ERROR, `errfinish` returns, unless a cancel arrives; the closure holds no
    // destructor.
    unsafe { raw::catch(|| raise.report(level)) }
}
