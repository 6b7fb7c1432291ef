//! `fencing.epoch`: the comparison domains of tokens.

use super::places::Places;
use super::{installation, lineage};
use crate::epoch::unclean::{self, OnUncleanStart};
use crate::pg::backend::{Backend, BackendCell};
use crate::pg::extension::{self, oids};
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Read, Row, Table, Written};
use crate::pg::value::{Key, Value};
use crate::pg::{mutant, sequence, server, text, xact};
use fencing_core::epoch::{Coordinator, State};
use fencing_core::lease::{EndReason, Record};
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
    row: Row,
    /// Its number.
    pub epoch: i64,
    /// Its random identity, a uuid.
    pub identity: Datum,
    /// When it was opened.
    pub opened_at: Instant,
    /// The server that it was opened on.
    pub lineage: Lineage,
    /// Whether it is open.
    pub state: State,
    /// The sequence's last number before it.
    pub after_seq: i64,
    /// The highest number that was passed over in it, as a lost history may have issued it.
    passed_over: i64,
    /// Since when it admits nothing.
    pub closed_at: Option<Instant>,
    /// The server that closed it, as [`Lineage::identity`] names it.
    closing_on: Vec<u8>,
}

/// The coordinator's state, as long as nothing of what it was found by has changed.
#[derive(Clone, Copy)]
struct Known {
    /// The configuration.
    version: u64,
    coordinator: Coordinator,
    /// Whether a guarded table is blocked since the epoch was opened.
    any_blocked: bool,
    /// `fencing.on_unclean_start`, where the state depends on that.
    policy: Option<OnUncleanStart>,
}

static CACHE: BackendCell<Option<Known>> = Backend::new(Cell::new(None));

/// The latest epoch, if any was ever opened.
pub fn latest() -> Option<Recorded> {
    Table::open(oids().epoch, Access::Read).last(oids().epoch_pkey, &Latest::take()).map(from_row)
}

fn from_row(row: Row) -> Recorded {
    Recorded {
        epoch: row.bigint(1),
        identity: row.raw(2).unwrap_or(Datum::null()),
        opened_at: row.bigint(3),
        lineage: lineage::read(&row, 6),
        state: row.with_text(11, State::parse),
        after_seq: row.bigint(12),
        closed_at: row.bigint_or_null(13),
        closing_on: row.text(14),
        passed_over: row.bigint(15),
        row,
    }
}

/// The number of the latest epoch, if any was ever opened.
pub fn last() -> Option<i64> {
    latest().map(|recorded| recorded.epoch)
}

/// Since when the epoch of that number admits nothing.
pub fn closed_at(number: i64) -> Option<Instant> {
    find_numbered(number).and_then(|recorded| recorded.closed_at)
}

fn find_numbered(number: i64) -> Option<Recorded> {
    now(number).map(from_row)
}

static SEEN: Backend<Places<i64>> = Places::new();

fn now(number: i64) -> Option<Row> {
    let table = Table::open(oids().epoch, Access::Read);
    SEEN.now(&table, &number, |row| row.bigint(1) == number, (oids().epoch_pkey, &[(1, Key::BigInt(number))]))
}

/// [`Recorded::floor`] of the epoch of that number, as of now.
pub fn floor(number: i64) -> i64 {
    if mutant::without("passed_over") {
        return 0;
    }
    now(number).map_or(0, |row| row.bigint(12).max(row.bigint(15)))
}

/// Nothing up to `seq` is issued in the epoch of that number any more: for good, also if this transaction is
/// rolled back. While nobody draws.
///
/// In the row's place: whoever replaces the row meanwhile ends the epoch.
pub fn pass_over(number: i64, seq: i64) {
    let (table, snapshot) = (Table::open(oids().epoch, Access::Write), Latest::take());
    let row = table.find(oids().epoch_pkey, &[(1, Key::BigInt(number))], Read::Latest(&snapshot));
    let Some(row) = row.filter(|row| row.bigint(15) < seq) else { return };
    table.overwrite(&row, &[(15, Value::BigInt(seq))]);
    if !mutant::without("flush_what_stays") {
        xact::flush_own_wal();
    }
}

/// Whether what was recorded under the epoch of that number was recorded in this cluster: the numbers of
/// roles that a restored dump brings along are those of another.
pub fn is_of_this_cluster(number: i64) -> bool {
    let recorded = find_numbered(number).map(|recorded| recorded.lineage.system_identifier);
    recorded == Some(server::system_identifier()) || mutant::without("roles_elsewhere")
}

impl Recorded {
    /// The number up to which nothing is issued in it, wherever the sequence stands.
    pub fn floor(&self) -> i64 {
        self.after_seq.max(self.passed_over)
    }

    /// Whether a transition from it has begun on that very server.
    pub fn is_closing_on(&self, server: &Lineage) -> bool {
        self.state == State::Closing && self.closing_on == server.identity().as_bytes()
    }
}

/// The coordinator's state, from memory where nothing has changed; `None` before the first epoch.
/// Whoever acts on it has passed the gate, which brings word of every change.
pub fn coordinator() -> Option<Coordinator> {
    known().map(|known| known.coordinator)
}

/// The same for guards, to which none is as good as closed; and whether any guarded table is blocked.
#[unsafe(link_section = ".text_hot")]
pub fn admission() -> (Coordinator, bool) {
    known().map_or((Coordinator::Closed, false), |known| (known.coordinator, known.any_blocked))
}

fn known() -> Option<Known> {
    // Known objects first: finding them anew may itself move the version on.
    extension::oid(|oids| oids.epoch);
    let version = extension::configuration_version();
    match CACHE.get() {
        Some(known) if known.version == version && known.policy.is_none_or(|policy| policy == unclean::policy()) => {
            Some(known)
        }
        _ => find(version),
    }
}

#[cold]
fn find(version: u64) -> Option<Known> {
    let recorded = latest()?;
    let open = if recorded.state == State::Open { Coordinator::Open(recorded.epoch) } else { Coordinator::Closed };
    let known = Known { version, coordinator: open, any_blocked: installation::any(), policy: None };
    // Which server this will be is open until recovery has ended, which a session may outlive: where
    // PostgreSQL then has it forget what it knew, that is before this moment.
    if server::in_recovery() {
        return Some(known);
    }
    let here = server::lineage();
    // Once a transition has begun here, that is what is to be ended.
    let same = recorded.is_closing_on(&here)
        || differences(&recorded.lineage, &here).is_empty() && !unclean::closes()
        || mutant::without("lineage");
    let coordinator = if same { open } else { Coordinator::LineageChanged };
    let known = Known { coordinator, policy: unclean::policy_in_use(), ..known };
    CACHE.set(Some(known));
    Some(known)
}

/// The number of the open epoch; 0, which no epoch has, where the coordinator is closed.
pub fn open_number() -> i64 {
    match coordinator() {
        Some(Coordinator::Open(open)) => open,
        _ => 0,
    }
}

/// The epoch that a lease's term is to be of, `None` where a transition has ended every term. Where it is
/// the lineage that has changed, its own: it may yet be good.
pub fn governing(record: &Record) -> Option<i64> {
    match coordinator() {
        Some(Coordinator::Open(open)) => Some(open),
        Some(Coordinator::Closed) => None,
        Some(Coordinator::LineageChanged) | None => Some(record.token.epoch()),
    }
}

/// Whether a lease's term is void: of another epoch than the open one, or of one that is closing.
pub fn is_void(record: &Record) -> bool {
    governing(record) != Some(record.token.epoch())
}

/// How and when a term ended that is void; `None` for any other. `governing` is the epoch that it would
/// have to be of.
pub fn void_end(record: &Record, governing: Option<i64>, now: Instant) -> Option<(EndReason, Instant)> {
    let number = record.token.epoch();
    (governing != Some(number)).then(|| record.end_with_epoch(closed_at(number).unwrap_or(now)))
}

/// Stops admitting in the epoch; again, where it was stopped on another server.
pub fn begin_closing(epoch: &Recorded, at: Instant, on: &Lineage) -> Written {
    let (closed_at, on) = (epoch.closed_at.unwrap_or(at), on.identity());
    let state = State::Closing.as_str().as_bytes();
    change(epoch, &[(11, Value::Text(state)), (13, Value::Time(closed_at)), (14, Value::Text(on.as_bytes()))])
}

/// Notes that the next epoch is opened.
pub fn close(epoch: &Recorded) -> Written {
    change(epoch, &[(11, Value::Text(State::Closed.as_str().as_bytes()))])
}

fn change(epoch: &Recorded, changes: &[(usize, Value)]) -> Written {
    let written = Table::open(oids().epoch, Access::Write).update(&epoch.row, changes);
    extension::announce_change(oids().epoch);
    written
}

/// Opens an epoch.
pub fn insert(new: &NewEpoch) {
    let [system_identifier, timeline, database, fingerprint, lsn] = lineage::columns(new.lineage);
    Table::open(oids().epoch, Access::Write).insert(&[
        Value::BigInt(new.epoch),
        Value::Raw(new.identity),
        Value::Time(new.opened_at),
        Value::Text(&text::to_server(new.reason)),
        Value::Oid(new.opened_by),
        system_identifier,
        timeline,
        database,
        fingerprint,
        lsn,
        Value::Text(State::Open.as_str().as_bytes()),
        Value::BigInt(sequence::last_drawn(oids().term_seq)),
        Value::Null,
        Value::Null,
        Value::BigInt(0),
    ]);
    extension::announce_change(oids().epoch);
}
