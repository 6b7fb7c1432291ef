//! `fencing.lease`: the heartbeat row.

use super::{LeaseId, LeaseMap, new_map, token};
use crate::pg::backend::Backend;
use crate::pg::extension::{self, oids};
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Place, Read, Row, Table, Written};
use crate::pg::value::{Key, Value};
use fencing_core::lease::{EndReason, Record};
use fencing_core::time::{Instant, Span};
use fencing_core::{Token, name};
use pgrx::pg_sys::Oid;
use std::cell::RefCell;

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
    /// The transaction that granted the term.
    pub granted_by: u64,
}

/// A new term for a lease.
#[expect(missing_docs, reason = "named as the columns are")]
pub struct Grant<'a> {
    pub token: Token,
    pub granted_by: u64,
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
    rows.into_iter().map(|row| (LeaseId::new(namespace, &row.text(2)), from_row(row))).collect()
}

fn from_row(row: Row) -> Lease {
    Lease {
        record: record(&row),
        holder: row.text(6),
        role: row.oid(7),
        ttl: name::check_span("ttl", row.interval(8)).unwrap_or(0),
        granted_by: row.bigint(4) as u64,
        row,
    }
}

fn record(row: &Row) -> Record {
    Record {
        token: token(row.bigint(3)),
        ended: row.with_text(5, |state| std::str::from_utf8(state).ok().and_then(EndReason::parse)),
        acquired_at: row.bigint(9),
        renewed_at: row.bigint(10),
        expires_at: row.bigint(11),
        ended_at: row.bigint_or_null(12),
    }
}

/// What a guard needs to know of a lease.
pub struct Heartbeat {
    /// What decisions are made by.
    pub record: Record,
    /// The role that acquired the term.
    pub role: Oid,
    /// The transaction that granted the term.
    pub granted_by: u64,
    /// Whether this transaction itself wrote the row as it is.
    pub written_by_me: bool,
}

/// Where rows were found, as long as nothing is known to have moved them.
static PLACES: Backend<RefCell<(u64, LeaseMap<Place>)>> = Backend::new(RefCell::new((0, new_map())));

/// So many places are remembered.
const PLACES_KEPT: usize = 1024;

/// The lease's row as this transaction or the latest to commit left it; for the hot path.
///
/// Reads without a snapshot, first where the row was last time, then by its key. Such a read may meet
/// two versions while one replaces the other, either of which was the latest at some moment of the
/// read, or miss both: then a snapshot decides.
///
/// `access`: [`Access::Locked`] for those who have passed the gate, which is this table's lock.
pub fn heartbeat(lease: &LeaseId, access: Access) -> Option<Heartbeat> {
    let table = Table::open(oids().lease, access);
    // Locking the table has brought word if it was moved or has shrunk.
    let version = extension::configuration_version();
    let place = PLACES.with_borrow(|(v, places)| (*v == version).then(|| places.get(lease).copied()).flatten());
    let remembered = place.and_then(|place| table.look_at(place, |row| is_of(row, lease).then(|| heartbeat_of(row))));
    if let Some(heartbeat) = remembered.flatten() {
        return Some(heartbeat);
    }
    let keys = [(1, Key::Int(lease.namespace)), (2, Key::Text(&lease.key))];
    if let Some(row) = table.find(oids().lease_pkey, &keys, Read::Locked) {
        PLACES.with_borrow_mut(|(v, places)| {
            if *v != version || places.len() >= PLACES_KEPT {
                places.clear();
                *v = version;
            }
            places.insert(lease.clone(), row.place());
        });
        return Some(heartbeat_of(&row));
    }
    read(lease).map(|lease| heartbeat_of(&lease.row))
}

fn is_of(row: &Row, lease: &LeaseId) -> bool {
    row.int(1) == lease.namespace && row.with_text(2, |key| *key == *lease.key)
}

fn heartbeat_of(row: &Row) -> Heartbeat {
    Heartbeat {
        record: record(row),
        role: row.oid(7),
        granted_by: row.bigint(4) as u64,
        written_by_me: row.written_by_me(),
    }
}

fn table() -> Table {
    Table::open(oids().lease, Access::Write)
}

/// Makes `grant` the current term.
pub fn grant(lease: &LeaseId, previous: Option<&Lease>, grant: &Grant) -> Written {
    let term = [
        Value::BigInt(grant.token.to_bigint()),
        Value::Xid8(grant.granted_by),
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
    table().update(&lease.row, &[(10, Value::Time(now)), (11, Value::Time(expires_at))])
}

/// Records an end.
pub fn end(lease: &Lease, reason: EndReason, now: Instant) -> Written {
    table().update(&lease.row, &[(5, Value::Text(reason.as_str().as_bytes())), (12, Value::Time(now))])
}

/// Removes the row.
pub fn remove(lease: &Lease) -> Written {
    table().delete(&lease.row)
}
