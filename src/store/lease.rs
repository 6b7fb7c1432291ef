//! `fencing.lease`: the heartbeat row.

use super::{LeaseId, token};
use crate::pg::extension::oids;
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Read, Row, Table, Written};
use crate::pg::value::{Key, Value};
use fencing_core::lease::{EndReason, Record};
use fencing_core::time::{Instant, Span};
use fencing_core::{Token, name};
use pgrx::pg_sys::{Oid, TransactionId};

/// A lease's row.
pub struct Lease {
    row: Row,
    /// What decisions are made by.
    pub record: Record,
    /// Label of the holder.
    pub holder: Vec<u8>,
    /// The role that acquired the term.
    pub role: Oid,
    /// How long the term lasts from each renewal.
    pub ttl: Span,
}

impl Lease {
    /// The open transaction of somebody else that is changing the row.
    pub fn busy(&self) -> Option<TransactionId> {
        self.row.busy
    }

    /// Whether this transaction itself wrote the row as it is.
    pub fn written_by_me(&self) -> bool {
        self.row.written_by_me()
    }
}

/// A new term for a lease.
#[expect(missing_docs, reason = "named as the columns are")]
pub struct Grant<'a> {
    pub token: Token,
    pub holder: &'a [u8],
    pub role: Oid,
    pub ttl: Span,
    pub now: Instant,
    pub expires_at: Instant,
}

/// The lease's row as of now; `None` for a lease that was never granted, or dropped.
pub fn read(lease: &LeaseId) -> Option<Lease> {
    let table = Table::open(oids().lease, Access::Read);
    // A version that was replaced after the snapshot: look again with a younger one.
    loop {
        let snapshot = Latest::take();
        let keys = [(1, Key::Int(lease.namespace)), (2, Key::Text(&lease.key))];
        let row = table.find(oids().lease_pkey, &keys, Read::Latest(&snapshot))?;
        if !row.outdated {
            return Some(from_row(row));
        }
    }
}

/// Every lease of a namespace.
pub fn all(namespace: i32) -> Vec<(LeaseId, Lease)> {
    let rows =
        Table::open(oids().lease, Access::Read).all(oids().lease_pkey, &[(1, Key::Int(namespace))], &Latest::take());
    rows.into_iter().map(|row| (LeaseId { namespace, key: row.text(2) }, from_row(row))).collect()
}

fn from_row(row: Row) -> Lease {
    let state = row.text(4);
    let record = Record {
        token: token(row.bigint(3)),
        ended: EndReason::parse(&String::from_utf8_lossy(&state)),
        acquired_at: row.bigint(8),
        renewed_at: row.bigint(9),
        expires_at: row.bigint(10),
        ended_at: row.bigint_or_null(11),
    };
    Lease {
        record,
        holder: row.text(5),
        role: row.oid(6),
        ttl: name::check_span("ttl", row.interval(7)).unwrap_or(0),
        row,
    }
}

fn table() -> Table {
    Table::open(oids().lease, Access::Write)
}

/// Makes `grant` the current term.
pub fn grant(lease: &LeaseId, previous: Option<&Lease>, grant: &Grant) -> Written {
    let term = [
        Value::BigInt(grant.token.to_bigint()),
        Value::Text(b"held"),
        Value::Text(grant.holder),
        Value::Oid(grant.role),
        Value::Span(grant.ttl),
        Value::Time(grant.now),
        Value::Time(grant.now),
        Value::Time(grant.expires_at),
        Value::Null,
    ];
    match previous {
        Some(previous) => {
            let changes: Vec<_> = term.into_iter().enumerate().map(|(i, value)| (i + 3, value)).collect();
            table().update(&previous.row, &changes)
        }
        None => {
            let mut row = vec![Value::Int(lease.namespace), Value::Text(&lease.key)];
            row.extend(term);
            table().insert(&row);
            Written::Done
        }
    }
}

/// Records a renewal.
pub fn renew(lease: &Lease, now: Instant, expires_at: Instant) -> Written {
    table().update(&lease.row, &[(9, Value::Time(now)), (10, Value::Time(expires_at))])
}

/// Records an end.
pub fn end(lease: &Lease, reason: EndReason, now: Instant) -> Written {
    table().update(&lease.row, &[(4, Value::Text(reason.as_str().as_bytes())), (11, Value::Time(now))])
}

/// Removes the row.
pub fn remove(lease: &Lease) -> Written {
    table().delete(&lease.row)
}
