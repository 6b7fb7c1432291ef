//! `fencing.event`: what happened, for people. Nothing is decided by it.

use super::LeaseId;
use crate::pg::extension::oids;
use crate::pg::outcome::throw;
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Read, Row, Table};
use crate::pg::value::{Key, Value};
use crate::pg::{clock, mutant, role, sequence, text, xact};
use fencing_core::time::Instant;
use fencing_core::{Code, Error, Token, json};
use pgrx::pg_sys::Datum;

/// An event to be recorded. Who did it, and when, adds itself.
#[expect(missing_docs, reason = "named as the columns are")]
pub struct Event<'a> {
    pub kind: &'a str,
    pub lease: Option<&'a LeaseId>,
    pub token: Option<Token>,
    /// None is NULL. No payloads, credentials or environment: whoever reads events may read it.
    pub detail: &'a [(&'a str, &'a str)],
}

/// Records an event in this transaction, which takes it along if it is rolled back.
pub fn record(event: &Event) {
    insert(event, detail_of(event), false, in_this_transaction);
}

/// Records what somebody says, with a `jsonb` of its own for detail.
pub fn record_report(event: &Event, detail: Datum) {
    insert(event, Value::Raw(detail), true, in_this_transaction);
}

/// Records an event with that JSON for detail.
pub fn record_with(event: &Event, detail: &str) {
    insert(event, Value::Raw(text::jsonb_of(detail)), false, in_this_transaction);
}

fn in_this_transaction(table: &Table, row: &[Value]) {
    table.insert(row);
}

/// Records an event at once and for good: also if this transaction is rolled back, or the server
/// crashes.
pub fn record_at_once(event: &Event) {
    insert(event, detail_of(event), false, Table::insert_at_once);
    if !mutant::without("flush_what_stays") {
        xact::flush_own_wal();
    }
}

/// Whether there is an event of that kind on this token or a higher one, not from before `since`.
pub fn any(kind: &str, token: i64, since: Instant) -> bool {
    let keys = [(3, Key::Text(kind.as_bytes())), (6, Key::AtLeast(token))];
    let mut found = false;
    Table::open(oids().event, Access::Read)
        .each(oids().event_kind_idx, &keys, &Latest::take(), |row| found |= row.bigint(2) >= since && is_own(row));
    found
}

/// Whether there is an event of that kind on this token.
pub fn is_recorded(kind: &str, token: Token) -> bool {
    let keys = [(3, Key::Text(kind.as_bytes())), (6, Key::BigInt(token.to_bigint()))];
    let mut found = false;
    Table::open(oids().event, Access::Read)
        .each(oids().event_kind_idx, &keys, &Latest::take(), |row| found |= is_own(row));
    found
}

/// When the latest event of all was recorded, if it is of that kind.
pub fn last_of(kind: &str) -> Option<Instant> {
    let last = Table::open(oids().event, Access::Read).last(oids().event_pkey, &Latest::take())?;
    (last.with_text(3, |of| of == kind.as_bytes()) && is_own(&last)).then(|| last.bigint(2))
}

/// Whether the extension itself recorded it, and not whoever may `report`.
fn is_own(row: &Row) -> bool {
    !row.bool(9)
}

/// A number that no event has yet: events that came from elsewhere have not moved the sequence on.
fn next_id(table: &Table) -> i64 {
    loop {
        pgrx::check_for_interrupts!();
        let Some((id, _)) = sequence::draw(oids().event_id_seq) else {
            throw(Error::new(Code::TermsExhausted, "event numbers are exhausted"))
        };
        if table.find(oids().event_pkey, &[(1, Key::BigInt(id))], Read::Latest(&Latest::take())).is_none() {
            return id;
        }
    }
}

fn detail_of(event: &Event) -> Value<'static> {
    if event.detail.is_empty() { Value::Null } else { Value::Raw(text::jsonb_of(&json::object(event.detail))) }
}

fn insert(event: &Event, detail: Value, reported: bool, store: fn(&Table, &[Value])) {
    let table = Table::open(oids().event, Access::Write);
    let id = next_id(&table);
    store(
        &table,
        &[
            Value::BigInt(id),
            Value::Time(clock::now()),
            Value::Text(event.kind.as_bytes()),
            event.lease.map_or(Value::Null, |lease| Value::Int(lease.namespace)),
            event.lease.map_or(Value::Null, |lease| Value::Text(&lease.key)),
            event.token.map_or(Value::Null, |token| Value::BigInt(token.to_bigint())),
            Value::Oid(role::outer_user()),
            detail,
            Value::Bool(reported),
        ],
    );
}
