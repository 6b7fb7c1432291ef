//! `fencing.installation`: guarded tables that are blocked since an epoch was opened, and what has been
//! done for each. Whatever changes it announces a change of epoch.

use super::epoch;
use crate::pg::catalog;
use crate::pg::extension::{self, oids};
use crate::pg::lock::{self, Tag};
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Read, Row, Table, Written};
use crate::pg::value::{Key, Value};
use fencing_core::Error;
use fencing_core::epoch::Blocked;
use pgrx::pg_sys::Oid;

/// A blocked table.
pub struct Installation {
    row: Row,
    /// Which.
    pub relation: Oid,
    /// What is to be done next.
    pub blocked: Blocked,
}

impl Installation {
    /// Whether nobody has written it since, nor is about to.
    pub fn is_settled(&self) -> bool {
        !self.row.busy && !self.row.outdated
    }

    /// Whether somebody else's open transaction has written or locked it.
    pub fn is_being_changed(&self) -> bool {
        self.row.busy
    }

    /// The lock that says whose, shared with nobody until that has ended; none where several have locked it.
    pub fn changer(&self) -> Option<Tag> {
        self.row.changer()
    }
}

fn from_row(row: Row) -> Installation {
    Installation { relation: row.oid(1), blocked: row.with_text(3, Blocked::parse), row }
}

/// Whether any table is blocked.
pub fn any() -> bool {
    Table::open(oids().installation, Access::Read).first(&Latest::take()).is_some()
}

/// What is to be done for this very table, if it is blocked.
pub fn read(relation: Oid) -> Option<Installation> {
    let table = Table::open(oids().installation, Access::Read);
    table.find(oids().installation_pkey, &[(1, Key::Oid(relation))], Read::Latest(&Latest::take())).map(from_row)
}

/// Every table that is blocked.
pub fn all() -> Vec<Installation> {
    let table = Table::open(oids().installation, Access::Read);
    table.all(oids().installation_pkey, &[], &Latest::take()).into_iter().map(from_row).collect()
}

/// What is to be done next for a table that is blocked, itself or through a table above it, and for
/// which table: the highest of them.
pub fn blocked(relation: Oid) -> Option<(Blocked, Oid)> {
    let tables = std::iter::once(relation).chain(catalog::ancestors(relation));
    let rows: Vec<_> = tables.filter_map(read).collect();
    let next = rows.iter().map(|row| row.blocked).min()?;
    Some((next, rows.last()?.relation))
}

/// Blocks a table.
pub fn insert(relation: Oid, epoch: i64) {
    let row = [Value::Oid(relation), Value::BigInt(epoch), Value::Text(Blocked::Install.as_str().as_bytes())];
    Table::open(oids().installation, Access::Write).insert(&row);
    extension::announce_change(oids().epoch);
}

/// A table that leaves one above it takes along that it is blocked, with all below it.
pub fn follow(above: Oid, table: Oid) {
    if blocked(above).is_none() {
        return;
    }
    // Whoever unblocks all is to see this one, or to be over.
    lock::enter_gate();
    let (Some(_), Some(epoch)) = (blocked(above), epoch::last()) else { return };
    // A temporary table is its own session's alone.
    let lasting = catalog::tree(table).into_iter().filter(|below| !catalog::is_temporary(*below));
    for below in lasting.filter(|below| read(*below).is_none()) {
        insert(below, epoch);
    }
}

/// Notes what is to be done next.
pub fn advance(installation: &Installation, next: Blocked) -> Written {
    let table = Table::open(oids().installation, Access::Write);
    let written = table.update(&installation.row, &[(3, Value::Text(next.as_str().as_bytes()))]);
    extension::announce_change(oids().epoch);
    written
}

/// Tables that get another guard have nothing installed or proved.
pub fn begin_again(tables: &[Oid]) -> Result<(), Error> {
    let begun = |table: &Oid| read(*table).filter(|row| row.blocked != Blocked::Install);
    if !tables.iter().any(|table| begun(table).is_some()) {
        return Ok(());
    }
    // Whoever unblocks all is over, or is to see it.
    lock::enter_gate();
    let rows: Vec<_> = tables.iter().filter_map(begun).collect();
    rows.iter().try_for_each(|row| advance(row, Blocked::Install).required("a row of the epoch is locked"))
}

/// Unblocks a table.
pub fn remove(installation: &Installation) -> Written {
    let written = Table::open(oids().installation, Access::Write).delete(&installation.row);
    extension::announce_change(oids().epoch);
    written
}
