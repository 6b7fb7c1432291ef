//! Backends of this server, told apart for good: process ids come back, with another start.

use fencing_core::time::Instant;
use pgrx::pg_sys::{self, Oid};
use std::ffi::CStr;

/// A backend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Session {
    /// Its process.
    pub pid: i32,
    /// When that was started.
    pub started: Instant,
}

impl Session {
    /// This backend.
    pub fn mine() -> Session {
        // SAFETY: statics of this backend.
        unsafe { Session { pid: pg_sys::MyProcPid, started: pg_sys::MyStartTimestamp } }
    }
}

/// Whether that backend still runs.
pub fn is_alive(session: Session) -> bool {
    if session == Session::mine() {
        return true;
    }
    // SAFETY: a look-up in shared memory.
    if unsafe { pg_sys::BackendPidGetProc(session.pid) }.is_null() {
        return false;
    }
    all().contains(&session)
}

/// Every backend, as of now.
fn all() -> Vec<Session> {
    each(|status| Session { pid: status.st_procpid, started: status.st_proc_start_timestamp })
}

/// When the server started: its checkpointer is of the same age. Later, at the worst: when this backend did.
pub fn server_start() -> Instant {
    let started = |status: &pg_sys::PgBackendStatus| {
        let is_it = status.st_backendType == pg_sys::BackendType::B_CHECKPOINTER;
        is_it.then_some(status.st_proc_start_timestamp)
    };
    each(started).into_iter().flatten().next().unwrap_or(Session::mine().started)
}

/// What a backend does, and for whom.
pub struct Activity {
    /// Its process.
    pub pid: i32,
    /// The role that logged in.
    pub role: Oid,
    /// `application_name`, in the server's encoding.
    pub application: Vec<u8>,
    /// When its transaction began, if it says so (`track_activities`).
    pub transaction_start: Option<Instant>,
}

/// What every backend does, as of now.
pub fn activity() -> Vec<Activity> {
    each(|status| Activity {
        pid: status.st_procpid,
        role: status.st_userid,
        // SAFETY: this backend's copy, NUL-terminated.
        application: unsafe { CStr::from_ptr(status.st_appname) }.to_bytes().to_vec(),
        transaction_start: Some(status.st_xact_start_timestamp).filter(|start| *start != 0),
    })
}

fn each<T>(read: impl Fn(&pg_sys::PgBackendStatus) -> T) -> Vec<T> {
    // SAFETY: what is read is this backend's copy, which stays until it is cleared.
    unsafe {
        pg_sys::pgstat_clear_backend_activity_snapshot();
        let count = pg_sys::pgstat_fetch_stat_numbackends();
        (1..=count)
            .filter_map(|n| {
                #[cfg(feature = "pg15")]
                let entry = pg_sys::pgstat_fetch_stat_local_beentry(n);
                #[cfg(not(feature = "pg15"))]
                let entry = pg_sys::pgstat_get_local_beentry_by_index(n);
                entry.as_ref().map(|entry| read(&entry.backendStatus))
            })
            .collect()
    }
}
