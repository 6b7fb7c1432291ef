//! The running server, as a copy of it would look different.

use super::backend::Backend;
use super::extension::oids;
use fencing_core::lineage::Lineage;
use pgrx::pg_sys::{self, Datum, Oid};
use std::cell::RefCell;
use std::ffi::CStr;
use std::os::unix::fs::MetadataExt;
use std::time::UNIX_EPOCH;

/// Whether the server is recovering, or a standby.
pub fn in_recovery() -> bool {
    // SAFETY: reads shared memory.
    unsafe { pg_sys::RecoveryInProgress() }
}

/// The server, and the fingerprint of this database's own directory.
static LINEAGE: Backend<RefCell<Option<(Lineage, String)>>> = Backend::new(RefCell::new(None));

/// The running server, and this database on it. The server is looked at once a backend, the WAL's
/// position apart: nothing of it changes any more. Nobody asks before recovery has ended, when it has no
/// timeline of its own yet: who is not about to write has looked for that.
pub fn lineage() -> Lineage {
    let known = LINEAGE.with_borrow(Clone::clone);
    let (identity, own) = known.unwrap_or_else(|| {
        let identity = Lineage {
            system_identifier: system_identifier(),
            timeline: timeline(),
            database: database().to_u32(),
            fingerprint: fingerprint("PG_VERSION"),
            lsn: 0,
        };
        let own = fingerprint(&format!("{}/PG_VERSION", database_path()));
        LINEAGE.replace(Some((identity.clone(), own.clone())));
        (identity, own)
    });
    // A dump is restored into tables of its own.
    let fingerprint = format!("{}/{}/{own}", identity.fingerprint, oids().epoch.to_u32());
    Lineage { fingerprint, lsn: insert_lsn(), ..identity }
}

/// The cluster's system identifier.
pub fn system_identifier() -> u64 {
    // SAFETY: reads shared memory.
    unsafe { pg_sys::GetSystemIdentifier() }
}

/// The timeline of the WAL that is being written. Read from the insertion point: the control file
/// lags after a promotion.
pub fn timeline() -> u32 {
    // SAFETY: reads shared memory; not in recovery, where nothing of this extension writes.
    unsafe { pg_sys::GetWALInsertionTimeLine() }
}

/// The position of the WAL that is being written.
pub fn insert_lsn() -> u64 {
    // SAFETY: reads shared memory.
    unsafe { pg_sys::GetXLogInsertRecPtr() }
}

/// This database's oid.
pub fn database() -> Oid {
    // SAFETY: reads a static of this backend.
    unsafe { pg_sys::MyDatabaseId }
}

/// This database's own directory, within the data directory.
fn database_path() -> String {
    // SAFETY: set once, when the backend connects to its database.
    unsafe { CStr::from_ptr(pg_sys::DatabasePath) }.to_string_lossy().into_owned()
}

/// Inode and time of birth of a file that is never written again: a copy has others.
fn fingerprint(path: &str) -> String {
    // The server's working directory is the data directory.
    match std::fs::metadata(path) {
        Ok(file) => {
            let born = file.created().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
            format!("{}:{}", file.ino(), born.map_or(0, |d| d.as_micros()))
        }
        Err(error) => pgrx::error!("could not look at {path} in the data directory: {error}"),
    }
}

/// Random bytes from the server's strong source.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0u8; N];
    // SAFETY: room for as many bytes as asked for.
    if !unsafe { pg_sys::pg_strong_random(bytes.as_mut_ptr().cast(), N) } {
        pgrx::error!("could not get random bytes");
    }
    bytes
}

/// A random uuid (version 4), in the current memory context.
pub fn random_uuid() -> Datum {
    let mut bytes = random::<16>();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    // SAFETY: 16 bytes of fresh memory.
    unsafe {
        let uuid = pg_sys::palloc(16).cast::<u8>();
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), uuid, 16);
        Datum::from(uuid)
    }
}
