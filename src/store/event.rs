//! `fencing.event`: what happened, for people. Nothing is decided by it.

use super::LeaseId;
use crate::pg::extension::oids;
use crate::pg::table::{Access, Table};
use crate::pg::value::Value;
use crate::pg::{clock, entry, role, sequence, text};
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
    let detail =
        if event.detail.is_empty() { Value::Null } else { Value::Raw(text::jsonb_of(&json::object(event.detail))) };
    insert(event, detail, false);
}

/// Records what somebody says, with a `jsonb` of its own for detail.
pub fn record_report(event: &Event, detail: Datum) {
    insert(event, Value::Raw(detail), true);
}

/// Records an event with that JSON for detail.
pub fn record_with(event: &Event, detail: &str) {
    insert(event, Value::Raw(text::jsonb_of(detail)), false);
}

fn insert(event: &Event, detail: Value, reported: bool) {
    let Some((id, _)) = sequence::draw(oids().event_id_seq) else {
        entry::throw(Error::new(Code::TermsExhausted, "event numbers are exhausted"))
    };
    Table::open(oids().event, Access::Write).insert(&[
        Value::BigInt(id),
        Value::Time(clock::now()),
        Value::Text(event.kind.as_bytes()),
        event.lease.map_or(Value::Null, |lease| Value::Int(lease.namespace)),
        event.lease.map_or(Value::Null, |lease| Value::Text(&lease.key)),
        event.token.map_or(Value::Null, |token| Value::BigInt(token.to_bigint())),
        Value::Oid(role::outer_user()),
        detail,
        Value::Bool(reported),
    ]);
}
