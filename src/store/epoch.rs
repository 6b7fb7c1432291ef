//! `fencing.epoch`: the comparison domains of tokens.

use crate::epoch::unclean::{self, OnUncleanStart};
use crate::pg::backend::{Backend, BackendCell};
use crate::pg::extension::{self, oids};
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Row, Table};
use crate::pg::value::Value;
use crate::pg::{mutant, sequence, server};
use fencing_core::epoch::Coordinator;
use fencing_core::lineage::{Lineage, differences};
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

/// An epoch that was opened.
pub struct Recorded {
    /// Its number.
    pub epoch: i64,
    /// Its random identity, a uuid.
    pub identity: Datum,
    /// When it was opened.
    pub opened_at: Instant,
    /// The server that it was opened on.
    pub lineage: Lineage,
    /// `open`, or why it isn't.
    pub state: String,
    /// The sequence's last number before it.
    pub after_seq: i64,
}

/// The coordinator's state, as long as nothing of what it was found by has changed.
#[derive(Clone, Copy)]
struct Cached {
    /// The configuration.
    version: u64,
    state: Option<Coordinator>,
    /// `fencing.on_unclean_start`, where the state depends on that.
    policy: Option<OnUncleanStart>,
}

static CACHE: BackendCell<Cached> = Backend::new(Cell::new(Cached { version: 0, state: None, policy: None }));

/// The latest epoch, if any was ever opened.
pub fn latest() -> Option<Recorded> {
    Table::open(oids().epoch, Access::Read).last(oids().epoch_pkey, &Latest::take()).map(|row| from_row(&row))
}

fn from_row(row: &Row) -> Recorded {
    Recorded {
        epoch: row.bigint(1),
        identity: row.raw(2).unwrap_or(Datum::null()),
        opened_at: row.bigint(3),
        lineage: Lineage {
            system_identifier: row.bigint(6) as u64,
            timeline: row.bigint(7) as u32,
            database: row.oid(8).to_u32(),
            fingerprint: String::from_utf8_lossy(&row.text(9)).into_owned(),
            lsn: row.bigint(10) as u64,
        },
        state: String::from_utf8_lossy(&row.text(11)).into_owned(),
        after_seq: row.bigint(12),
    }
}

/// The number of the latest epoch, if any was ever opened.
pub fn last() -> Option<i64> {
    latest().map(|recorded| recorded.epoch)
}

/// The coordinator's state, from memory where nothing has changed; `None` before the first epoch.
/// Whoever acts on it has passed the gate, which brings word of every change.
pub fn coordinator() -> Option<Coordinator> {
    // Known objects first: finding them anew may itself move the version on.
    let _ = oids();
    let version = extension::configuration_version();
    let cached = CACHE.get();
    if cached.version == version
        && cached.state.is_some()
        && cached.policy.is_none_or(|policy| policy == unclean::policy())
    {
        return cached.state;
    }
    find(version)
}

#[cold]
fn find(version: u64) -> Option<Coordinator> {
    let recorded = latest()?;
    let open = if recorded.state == "open" { Coordinator::Open(recorded.epoch) } else { Coordinator::Closed };
    // Which server this will be is open until recovery has ended, which a session may outlive.
    if server::in_recovery() {
        return Some(open);
    }
    let same = differences(&recorded.lineage, &server::lineage()).is_empty() || mutant::without("lineage");
    let state = if same && !unclean::closes() { open } else { Coordinator::LineageChanged };
    CACHE.set(Cached { version, state: Some(state), policy: unclean::policy_in_use() });
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
        Value::BigInt(sequence::last_drawn(oids().term_seq)),
    ]);
    extension::announce_change(oids().epoch);
}
