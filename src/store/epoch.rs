//! `fencing.epoch`: the comparison domains of tokens.

use crate::pg::backend::{Backend, BackendCell};
use crate::pg::extension::{self, oids};
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Row, Table};
use crate::pg::value::Value;
use fencing_core::epoch::Coordinator;
use fencing_core::lineage::Lineage;
use fencing_core::time::Instant;
use pgrx::pg_sys::{Datum, Oid};
use std::cell::Cell;

/// An epoch to be opened.
#[expect(missing_docs, reason = "named as the columns are")]
pub struct NewEpoch<'a> {
    pub epoch: i64,
    pub identity: Datum,
    pub opened_at: Instant,
    pub reason: &'a str,
    pub opened_by: Oid,
    pub lineage: &'a Lineage,
}

static CACHE: BackendCell<(u64, Option<Coordinator>)> = Backend::new(Cell::new((0, None)));

fn latest() -> Option<Row> {
    Table::open(oids().epoch, Access::Read).last(oids().epoch_pkey, &Latest::take())
}

/// The number of the latest epoch, if any was ever opened.
pub fn last() -> Option<i64> {
    latest().map(|row| row.bigint(1))
}

/// The coordinator's state, from memory where nothing has changed; `None` before the first epoch.
/// Whoever acts on it has passed the gate, which brings word of every change.
pub fn coordinator() -> Option<Coordinator> {
    // Known objects first: finding them anew may itself move the version on.
    let _ = oids();
    let version = extension::configuration_version();
    let (cached_at, cached) = CACHE.get();
    if cached_at == version && cached.is_some() {
        return cached;
    }
    let row = latest()?;
    let state = if row.text(11) == b"open" { Coordinator::Open(row.bigint(1)) } else { Coordinator::Closed };
    CACHE.set((version, Some(state)));
    Some(state)
}

/// The number of the open epoch; 0, which no epoch has, where the coordinator is closed.
pub fn open_number() -> i64 {
    match coordinator() {
        Some(Coordinator::Open(open)) => open,
        _ => 0,
    }
}

/// Opens an epoch.
pub fn insert(new: &NewEpoch) {
    Table::open(oids().epoch, Access::Write).insert(&[
        Value::BigInt(new.epoch),
        Value::Raw(new.identity),
        Value::Time(new.opened_at),
        Value::Text(new.reason.as_bytes()),
        Value::Oid(new.opened_by),
        Value::BigInt(new.lineage.system_identifier as i64),
        Value::BigInt(i64::from(new.lineage.timeline)),
        Value::Oid(Oid::from(new.lineage.database)),
        Value::Text(new.lineage.fingerprint.as_bytes()),
        Value::BigInt(new.lineage.lsn as i64),
        Value::Text(b"open"),
    ]);
    extension::announce_change(oids().epoch);
}
