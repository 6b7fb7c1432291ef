//! A server's lineage as a row has it: five columns, side by side.

use crate::pg::table::Row;
use crate::pg::text;
use crate::pg::value::Value;
use fencing_core::lineage::Lineage;
use pgrx::pg_sys::Oid;

/// So many columns.
pub const COLUMNS: usize = 5;

/// What a row's columns from `first` on say; where they are null, no server's.
pub fn read(row: &Row, first: usize) -> Lineage {
    Lineage {
        system_identifier: row.bigint_or_null(first).unwrap_or(0) as u64,
        timeline: row.bigint_or_null(first + 1).unwrap_or(0) as u32,
        database: row.raw(first + 2).map_or(0, |database| database.value() as u32),
        fingerprint: text::from_server(&row.text(first + 3)),
        lsn: row.bigint_or_null(first + 4).unwrap_or(0) as u64,
    }
}

/// What to put into them.
pub fn columns(lineage: &Lineage) -> [Value<'_>; COLUMNS] {
    [
        Value::BigInt(lineage.system_identifier as i64),
        Value::BigInt(i64::from(lineage.timeline)),
        Value::Oid(Oid::from(lineage.database)),
        Value::Text(lineage.fingerprint.as_bytes()),
        Value::BigInt(lineage.lsn as i64),
    ]
}
