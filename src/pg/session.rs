//! Backends of this server, told apart for good: process ids come back, with another start.

use fencing_core::time::Instant;
use pgrx::pg_sys;

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
                let status = &entry.as_ref()?.backendStatus;
                Some(Session { pid: status.st_procpid, started: status.st_proc_start_timestamp })
            })
            .collect()
    }
}
