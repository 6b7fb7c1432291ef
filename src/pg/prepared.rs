//! Prepared transactions.

use super::{extension, role, text};
use fencing_core::time::Instant;
use pgrx::pg_sys::{self, Oid, TransactionId};

/// A prepared transaction.
pub struct Prepared {
    /// Its number.
    pub xid: TransactionId,
    /// What it was called, in the server's encoding.
    pub gid: Vec<u8>,
    /// When it was prepared.
    pub at: Instant,
    /// The role that prepared it.
    pub role: Oid,
}

/// Every prepared transaction of the server. As the extension's owner, whoever may call PostgreSQL's
/// own function.
pub fn all() -> Vec<Prepared> {
    role::with_rights_of(extension::oids().owner, read)
}

fn read() -> Vec<Prepared> {
    // There is no operator in it, and no name, that a search path leads elsewhere.
    let sql = c"SELECT p.transaction, p.gid, p.prepared, p.ownerid FROM pg_catalog.pg_prepared_xact() AS p";
    // SAFETY: inside a transaction, as SPI wants it; the rows live until SPI_finish, and are copied
    // before. None of the columns is ever null.
    unsafe {
        pg_sys::SPI_connect();
        pg_sys::SPI_execute(sql.as_ptr(), true, 0);
        let rows = pg_sys::SPI_tuptable;
        let column = |row: usize, n: i32| {
            let mut null = false;
            pg_sys::SPI_getbinval(*(*rows).vals.add(row), (*rows).tupdesc, n, &mut null)
        };
        let prepared = (0..pg_sys::SPI_processed as usize).map(|row| Prepared {
            xid: TransactionId::from_inner(column(row, 1).value() as u32),
            gid: text::bytes_of(column(row, 2)),
            at: column(row, 3).value() as Instant,
            role: Oid::from(column(row, 4).value() as u32),
        });
        let prepared = prepared.collect();
        pg_sys::SPI_finish();
        prepared
    }
}
