//! `fencing.lease`: the heartbeat row.

use super::clean_start;
use super::places::Places;
use super::{LeaseId, LeaseMap, new_map, token};
use crate::pg::backend::Backend;
use crate::pg::clock;
use crate::pg::extension::{self, oids};
use crate::pg::glance::{Glance, Place, Version, is_still, look_at};
use crate::pg::lock::Tag;
use crate::pg::mutant;
use crate::pg::session::{self, Session};
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Read, Row, Table, Written};
use crate::pg::value::{Key, Value};
use fencing_core::lease::{EndReason, NEVER, Record, kept_until};
use fencing_core::time::{Instant, Span};
use fencing_core::{Token, name};
use pgrx::pg_sys::Oid;
use std::cell::RefCell;

/// A lease's row.
pub struct Lease {
    row: Row,
    /// What decisions are made by.
    pub record: Record,
    /// The role that acquired the term.
    pub role: Oid,
    /// How long the term lasts from each renewal.
    pub ttl: Span,
    /// The transaction that granted the term.
    pub granted_by: u64,
    /// Whether somebody asked its holder to hand over.
    pub handover_requested: bool,
}

impl Lease {
    /// Label of the holder.
    pub fn holder(&self) -> Vec<u8> {
        self.row.text(13)
    }

    /// Whether somebody else's open transaction is changing the row, or has locked it.
    pub fn is_being_changed(&self) -> bool {
        self.row.busy
    }

    /// The lock that says who, [`Mode::Shared`](crate::pg::lock::Mode): nobody once that has ended.
    pub fn changer(&self) -> Option<Tag> {
        self.row.changer()
    }
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
    /// The backend that the term is bound to.
    pub session: Option<Session>,
}

/// The table, open for several steps.
pub struct Leases(Table);

impl Leases {
    /// For who reads.
    pub fn to_read() -> Leases {
        Leases(Table::open(oids().lease, Access::Read))
    }

    /// For who writes.
    pub fn to_write() -> Leases {
        Leases(Table::open(oids().lease, Access::Write))
    }

    /// For who [may write leases](crate::pg::lock::try_write_leases).
    pub fn locked() -> Leases {
        Leases(Table::open(oids().lease, Access::Locked))
    }

    /// The lease's row as of now; `None` for a lease that was never granted, or dropped.
    pub fn read(&self, lease: &LeaseId) -> Option<Lease> {
        current(&self.0, lease).map(from_row)
    }

    /// Makes `grant` the current term.
    pub fn grant(&self, lease: &LeaseId, previous: Option<&Lease>, grant: &Grant) -> Written {
        let row = columns(lease, grant);
        match previous {
            Some(previous) => {
                let changes: [_; 16] = std::array::from_fn(|n| (n + 1, row[n]));
                self.0.update(&previous.row, &changes)
            }
            None => {
                self.0.insert(&row);
                Written::Done
            }
        }
    }

    /// Records a renewal.
    pub fn renew(&self, lease: &Lease, now: Instant, expires_at: Instant) -> Written {
        self.0.update(&lease.row, &renewed(now, expires_at))
    }

    /// Records an end.
    pub fn end(&self, lease: &Lease, reason: EndReason, now: Instant) -> Written {
        self.0.update(&lease.row, &[(12, Value::Text(reason.as_str().as_bytes())), (15, Value::Time(now))])
    }

    /// Announces that the term will be revoked.
    pub fn announce_revocation(&self, lease: &Lease, revoke_at: Instant) -> Written {
        let expires_at = lease.record.expires_at.min(revoke_at);
        let changes = [(7, Value::Time(expires_at)), (8, Value::Time(revoke_at)), (16, Value::Bool(true))];
        self.0.update(&lease.row, &changes)
    }

    /// Asks the holder to hand over.
    pub fn request_handover(&self, lease: &Lease) -> Written {
        self.0.update(&lease.row, &[(16, Value::Bool(true))])
    }

    /// Removes the row.
    pub fn remove(&self, lease: &Lease) -> Written {
        self.0.delete(&lease.row)
    }
}

/// The lease's row as of now, for one look.
pub fn read(lease: &LeaseId) -> Option<Lease> {
    Leases::to_read().read(lease)
}

static SEEN: Backend<Places<LeaseId>> = Places::new();

fn current(table: &Table, lease: &LeaseId) -> Option<Row> {
    let look = || SEEN.now(table, lease, |row| is_of(row, lease), (oids().lease_pkey, &key_of(lease)));
    let mut row = look()?;
    // A version that was replaced after the snapshot: look again.
    while row.outdated {
        row = look()?;
    }
    Some(row)
}

fn is_of(row: &Row, lease: &LeaseId) -> bool {
    row.int(1) == lease.namespace && row.with_text(11, |key| *key == *lease.key)
}

/// The leases of many terms, for whoever renews them in one command.
pub struct Batch {
    leases: Leases,
    snapshot: Latest,
}

impl Batch {
    /// As of now, for who [may write leases](crate::pg::lock::try_write_leases).
    #[expect(clippy::new_without_default, reason = "opening a table is no default")]
    pub fn new() -> Batch {
        Batch { leases: Leases::locked(), snapshot: Latest::take() }
    }

    /// As [`read`]; a lease that was granted for the first time since is not seen.
    pub fn read(&self, lease: &LeaseId) -> Option<Lease> {
        let by_key = (oids().lease_pkey, &key_of(lease)[..]);
        let row = SEEN.find(&self.leases.0, lease, |row| is_of(row, lease), by_key, Read::Latest(&self.snapshot))?;
        let row = if row.outdated { current(&self.leases.0, lease)? } else { row };
        Some(from_row(row))
    }

    /// As [`renew`], for commands to come: once for each lease.
    pub fn renew(&self, lease: &Lease, now: Instant, expires_at: Instant) -> Written {
        self.leases.0.replace(&lease.row, &renewed(now, expires_at))
    }
}

/// Every lease of a namespace.
pub fn all(namespace: i32) -> Vec<(LeaseId, Lease)> {
    let rows =
        Table::open(oids().lease, Access::Read).all(oids().lease_pkey, &[(1, Key::Int(namespace))], &Latest::take());
    rows.into_iter().map(|row| (LeaseId::new(namespace, &row.text(11)), from_row(row))).collect()
}

/// Visits every lease of a namespace, as of now; `visit` may write.
pub fn each(namespace: i32, mut visit: impl FnMut(LeaseId, Record, Oid)) {
    let table = Table::open(oids().lease, Access::Read);
    table.each(oids().lease_pkey, &[(1, Key::Int(namespace))], &Latest::take(), |row| {
        visit(LeaseId::new(namespace, &row.text(11)), record(row), row.oid(2));
    });
}

/// How many terms of that epoch are held.
pub fn count_held(epoch: i64) -> i64 {
    let mut held = 0;
    Table::open(oids().lease, Access::Read).visit(&Latest::take(), |row| {
        pgrx::check_for_interrupts!();
        if token(row.bigint(3)).epoch() == epoch {
            let record = record(row);
            let now = clock::of_lease(Some(&record));
            held += i64::from(record.end(now).is_none());
        }
    });
    held
}

fn key_of(lease: &LeaseId) -> [(i16, Key<'_>); 2] {
    [(1, Key::Int(lease.namespace)), (11, Key::Text(&lease.key))]
}

fn from_row(row: Row) -> Lease {
    Lease {
        record: record(&row),
        role: row.oid(2),
        ttl: ttl(&row),
        granted_by: row.bigint(4) as u64,
        handover_requested: row.bool(16),
        row,
    }
}

fn record(row: &Row) -> Record {
    Record {
        token: token(row.bigint(3)),
        ended: row.with_text(12, end_reason),
        acquired_at: row.bigint(5),
        renewed_at: row.bigint(6),
        expires_at: row.bigint(7),
        ended_at: row.bigint_or_null(15),
        revoke_at: row.bigint(8),
        session_gone: is_gone(row.int(10), row.bigint(9)),
        kept_until: kept_until(row.bigint(6), ttl(row), clean_start::unclean_start()),
    }
}

fn ttl(row: &Row) -> Span {
    name::check_span("ttl", row.interval(14)).unwrap_or(0)
}

/// Whether a term is bound to a backend that is gone. Process 0 binds none.
#[inline]
fn is_gone(pid: i32, started: Instant) -> bool {
    pid != 0 && !session::is_alive(Session { pid, started })
}

/// How a term ended, by the column `state`; `None` while it is held.
fn end_reason(state: &[u8]) -> Option<EndReason> {
    std::str::from_utf8(state).ok().and_then(EndReason::parse)
}

/// What a guard needs to know of a lease.
#[derive(Clone, Copy)]
pub struct Heartbeat {
    /// What decisions are made by.
    pub record: Record,
    /// The role that acquired the term.
    pub role: Oid,
    /// The transaction that granted the term.
    pub granted_by: u64,
    /// Whether this transaction itself wrote the row as it is.
    pub written_by_me: bool,
    /// How to tell that nobody has changed it since.
    pub seen: Option<Seen>,
}

/// A row that nobody was changing when it was read.
#[derive(Clone, Copy)]
pub struct Seen {
    place: Place,
    version: Version,
    record: Record,
}

impl Seen {
    /// What it said, if it still does. For those who have passed the gate since before it was read.
    pub fn still(&self) -> Option<&Record> {
        is_still(&self.place, self.version).then_some(&self.record)
    }
}

/// Where rows were found, as long as nothing is known to have moved them.
static PLACES: Backend<RefCell<(u64, LeaseMap<Place>)>> = Backend::new(RefCell::new((0, new_map())));

/// So many places are remembered.
const PLACES_KEPT: usize = 1024;

fn place_of(lease: &LeaseId, version: u64) -> Option<Place> {
    PLACES.with_borrow(|(v, places)| (*v == version).then(|| places.get(lease).copied()).flatten())
}

fn remember(lease: &LeaseId, version: u64, place: Place) {
    PLACES.with_borrow_mut(|(v, places)| {
        if *v != version || places.len() >= PLACES_KEPT {
            places.clear();
            *v = version;
        }
        places.insert(lease.clone(), place);
    });
}

/// The row that was looked at last and that nobody was changing, with the configuration that it was found in.
static LAST: Backend<RefCell<Option<(u64, LeaseId, Heartbeat)>>> = Backend::new(RefCell::new(None));

/// What was seen last, if that was this lease and is still so.
#[inline]
fn seen_last(lease: &LeaseId, version: u64) -> Option<Heartbeat> {
    let last =
        LAST.with_borrow(|last| last.as_ref().filter(|(v, l, _)| *v == version && l == lease).map(|(_, _, h)| *h))?;
    let same = last.seen.as_ref()?.still().is_some() || mutant::without("page_same");
    same.then_some(last)
}

/// The leading columns of a row, as they are stored: a text follows the last one closely.
#[repr(C, packed(4))]
struct Head {
    namespace: i32,
    role: u32,
    token: i64,
    granted_by: u64,
    acquired_at: i64,
    renewed_at: i64,
    expires_at: i64,
    revoke_at: i64,
    session_start: i64,
    session_pid: i32,
}

/// The lease's row as this transaction or the latest to commit left it; for the hot path.
///
/// Reads without a snapshot, first where the row was last time, then by its key. Such a read may meet
/// two versions while one replaces the other, either of which was the latest at some moment of the
/// read, or miss both: then a snapshot decides.
///
/// `access`: [`Access::Locked`] for those who have passed the gate, which is this table's lock.
#[unsafe(link_section = ".text_hot")]
pub fn heartbeat(lease: &LeaseId, access: Access) -> Option<Heartbeat> {
    // Locking the table brought word if it was moved or has shrunk.
    let version = extension::configuration_version();
    if access == Access::Locked {
        let known = seen_last(lease, version).or_else(|| where_it_was(lease, version));
        if known.is_some() {
            return known;
        }
    }
    found(lease, access, version)
}

/// The row where it was last time, if it still is there.
#[inline(never)]
#[unsafe(link_section = ".text_hot")]
fn where_it_was(lease: &LeaseId, version: u64) -> Option<Heartbeat> {
    let mut place = place_of(lease, version)?;
    let buffer = place.buffer();
    let found = look_at(extension::oid(|oids| oids.lease), &mut place, |row| glance(row, lease)).flatten();
    let (pid, started, settled, mut heartbeat) = found?;
    heartbeat.record.session_gone = is_gone(pid, started);
    if place.buffer() != buffer {
        remember(lease, version, place);
    }
    // That a backend is gone changes no row.
    if let Some(page) = settled.filter(|_| pid == 0) {
        heartbeat.seen = Some(Seen { place, version: page, record: heartbeat.record });
        LAST.replace(Some((version, lease.clone(), heartbeat)));
    }
    Some(heartbeat)
}

#[inline(never)]
fn found(lease: &LeaseId, access: Access, version: u64) -> Option<Heartbeat> {
    let table = Table::open(oids().lease, access);
    if let Some(row) = table.find(oids().lease_pkey, &key_of(lease), Read::Locked) {
        remember(lease, version, row.place());
        return Some(heartbeat_of(&row));
    }
    read(lease).map(|lease| heartbeat_of(&lease.row))
}

/// What a guard needs to know, if the row is that lease's and can be read where it lies; and the backend
/// that it is bound to, which is yet to be looked for.
fn glance(row: &Glance, lease: &LeaseId) -> Option<(i32, Instant, Option<Version>, Heartbeat)> {
    // SAFETY: the table's leading columns are those of `Head`, and not null; two texts follow.
    let (head, texts) = unsafe { (row.head::<Head>(), row.two_texts_after::<Head>()) };
    let (key, state) = texts?;
    if head.namespace != lease.namespace || *key != *lease.key {
        return None;
    }
    let heartbeat = Heartbeat {
        record: Record {
            token: token(head.token),
            ended: if state == b"held" { None } else { end_reason(state) },
            acquired_at: head.acquired_at,
            renewed_at: head.renewed_at,
            expires_at: head.expires_at,
            ended_at: None,
            revoke_at: head.revoke_at,
            session_gone: false,
            // Guards grant nothing.
            kept_until: Instant::MIN,
        },
        role: Oid::from(head.role),
        granted_by: head.granted_by,
        written_by_me: row.written_by_me(),
        seen: None,
    };
    Some((head.session_pid, head.session_start, row.settled, heartbeat))
}

fn heartbeat_of(row: &Row) -> Heartbeat {
    Heartbeat {
        record: record(row),
        role: row.oid(2),
        granted_by: row.bigint(4) as u64,
        written_by_me: row.written_by_me(),
        seen: None,
    }
}

/// A new term's columns.
fn columns<'a>(lease: &'a LeaseId, grant: &Grant<'a>) -> [Value<'a>; 16] {
    [
        Value::Int(lease.namespace),
        Value::Oid(grant.role),
        Value::BigInt(grant.token.to_bigint()),
        Value::Xid8(grant.granted_by),
        Value::Time(grant.now),
        Value::Time(grant.now),
        Value::Time(grant.expires_at),
        Value::Time(NEVER),
        Value::Time(grant.session.map_or(0, |session| session.started)),
        Value::Int(grant.session.map_or(0, |session| session.pid)),
        Value::Text(&lease.key),
        Value::Text(b"held"),
        Value::Text(grant.holder),
        Value::Span(grant.ttl),
        Value::Null,
        Value::Bool(false),
    ]
}

fn renewed(now: Instant, expires_at: Instant) -> [(usize, Value<'static>); 2] {
    [(6, Value::Time(now)), (7, Value::Time(expires_at))]
}
