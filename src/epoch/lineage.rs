//! Lineage: which server this is, among all the copies of it that there may be.

use crate::store::epoch::Lineage;
use pgrx::pg_sys;
use std::os::unix::fs::MetadataExt;
use std::time::UNIX_EPOCH;

/// The running server.
pub fn actual() -> Lineage {
    // SAFETY: reads of shared memory and of statics. The timeline is read from the insertion point:
    // the control file lags after a promotion.
    unsafe {
        Lineage {
            system_identifier: pg_sys::GetSystemIdentifier() as i64,
            timeline: i64::from(pg_sys::GetWALInsertionTimeLine()),
            database: pg_sys::MyDatabaseId,
            fingerprint: fingerprint(),
            lsn: pg_sys::GetXLogInsertRecPtr(),
        }
    }
}

/// Inode and time of birth of `PG_VERSION`: a copied data directory has others.
fn fingerprint() -> String {
    // The server's working directory is the data directory.
    match std::fs::metadata("PG_VERSION") {
        Ok(file) => {
            let born = file.created().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
            format!("{}:{}", file.ino(), born.map_or(0, |d| d.as_micros()))
        }
        Err(error) => pgrx::error!("could not look at PG_VERSION in the data directory: {error}"),
    }
}
