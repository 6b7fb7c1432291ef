//! `fencing.term`: every term ever granted.

use super::places::Places;
use super::{LeaseId, epoch, token};
use crate::pg::backend::Backend;
use crate::pg::btree;
use crate::pg::extension::oids;
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Read, Row, Table, Written};
use crate::pg::value::{Key, Value};
use crate::pg::{memory, role};
use fencing_core::Token;
use fencing_core::lease::{self, EndReason};
use fencing_core::time::Instant;
use pgrx::pg_sys::{Datum, Oid};

/// A term's row.
pub struct Term {
    row: Row,
    /// Its lease.
    pub lease: LeaseId,
    /// What decisions are made by.
    pub record: lease::Term,
    /// The role that acquired it.
    pub role: Oid,
    /// When it was to expire at its grant, or did at its end.
    pub expires_at: Instant,
}

/// Whether a term is that user's, who is `role` or a member of it. One of another cluster is nobody's any
/// more: it is void, and is to hear that.
#[inline]
#[unsafe(link_section = ".text_hot")]
pub fn is_own(token: Token, role: Oid, user: Oid) -> bool {
    role::is_member(user, role) || !epoch::is_of_this_cluster(token.epoch())
}

/// A term to be recorded.
#[expect(missing_docs, reason = "named as the columns are")]
pub struct NewTerm<'a> {
    pub token: Token,
    pub lease: &'a LeaseId,
    pub holder: &'a [u8],
    pub role: Oid,
    pub request_id: Option<Datum>,
    pub purpose: Option<&'a [u8]>,
    pub acquired_at: Instant,
    pub expires_at: Instant,
}

/// The end of a term.
pub struct End {
    /// How.
    pub reason: EndReason,
    /// Who, unless it merely lapsed.
    pub by: Option<Oid>,
    /// When.
    pub at: Instant,
    /// When that was seen.
    pub observed_at: Instant,
}

static SEEN: Backend<Places<i64>> = Places::new();

/// The term of that token, as of now.
pub fn read(token: Token) -> Option<Term> {
    let token = token.to_bigint();
    let by_token = (oids().term_pkey, &[(1, Key::BigInt(token))][..]);
    let table = Table::open(oids().term, Access::Read);
    SEEN.now(&table, &token, |row| row.bigint(1) == token, by_token).map(from_row)
}

/// Terms as of one moment, for whoever reads many.
pub struct Reader {
    table: Table,
    snapshot: Latest,
}

impl Reader {
    /// As of now.
    #[expect(clippy::new_without_default, reason = "opening a table is no default")]
    pub fn new() -> Reader {
        Reader { table: Table::open(oids().term, Access::Read), snapshot: Latest::take() }
    }

    /// The term of that token.
    pub fn read(&self, token: Token) -> Option<Term> {
        let token = token.to_bigint();
        let by_token = (oids().term_pkey, &[(1, Key::BigInt(token))][..]);
        let row = SEEN.find(&self.table, &token, |row| row.bigint(1) == token, by_token, Read::Latest(&self.snapshot));
        row.map(from_row)
    }
}

/// The highest token of any term, and when that was granted.
pub fn highest() -> Option<(Token, Instant)> {
    let row = Table::open(oids().term, Access::Read).last(oids().term_pkey, &Latest::take());
    row.map(|row| (token(row.bigint(1)), row.bigint(10)))
}

/// The leases that these tokens were issued for; `None` for one that never was. The more there are,
/// the more it pays that they are in order.
pub fn leases_of(tokens: &[i64]) -> Vec<Option<LeaseId>> {
    if tokens.is_empty() {
        return Vec::new();
    }
    let (table, snapshot) = (Table::open(oids().term, Access::Read), Latest::take());
    let lease_of = |token: &i64| {
        let row = table.find(oids().term_pkey, &[(1, Key::BigInt(*token))], Read::Latest(&snapshot))?;
        Some(LeaseId::new(row.int(2), &row.text(3)))
    };
    // What was read of each is gone before the next thousand are.
    let mut leases = Vec::with_capacity(tokens.len());
    for some in tokens.chunks(1000) {
        pgrx::check_for_interrupts!();
        memory::transient(|| leases.extend(some.iter().map(lease_of)));
    }
    leases
}

/// Whether this very transaction has recorded the term's end.
pub fn is_ended_by_me(token: Token) -> bool {
    read(token).is_some_and(|term| term.record.ended.is_some() && term.row.written_by_me())
}

/// The table, open for who is about to record a term.
pub struct Terms(Table);

impl Terms {
    /// Opens it.
    pub fn to_write() -> Terms {
        Terms(Table::open(oids().term, Access::Write))
    }

    /// Whether a term with a higher token may be there: an entry is, before its row can be committed.
    pub fn may_be_above(&self, token: i64) -> bool {
        btree::highest(oids().term_pkey).is_none_or(|highest| highest > token)
    }

    /// Whether a term with a higher token was committed when the snapshot was taken.
    pub fn any_above(&self, token: i64, then: &Latest) -> bool {
        // Usually none is.
        if !self.may_be_above(token) {
            return false;
        }
        let above = token.checked_add(1).map(Key::AtLeast);
        above.is_some_and(|above| self.0.find(oids().term_pkey, &[(1, above)], Read::Latest(then)).is_some())
    }

    /// Records a new one.
    pub fn insert(&self, term: &NewTerm) {
        let versions = self.0.insert(&[
            Value::BigInt(term.token.to_bigint()),
            Value::Int(term.lease.namespace),
            Value::Text(&term.lease.key),
            Value::BigInt(term.token.epoch()),
            Value::BigInt(term.token.seq()),
            Value::Text(term.holder),
            Value::Oid(term.role),
            term.request_id.map_or(Value::Null, Value::Raw),
            term.purpose.map_or(Value::Null, Value::Text),
            Value::Time(term.acquired_at),
            Value::Time(term.acquired_at),
            Value::Time(term.expires_at),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
        ]);
        SEEN.remember(term.token.to_bigint(), versions);
    }
}

fn from_row(row: Row) -> Term {
    let record = lease::Term {
        token: token(row.bigint(1)),
        ended: EndReason::parse(&String::from_utf8_lossy(&row.text(14))),
        // Its epoch, where that has ended first, is what ended it.
        superseded: row
            .raw(17)
            .is_some_and(|next| Token::epoch_of(next.value() as i64) == Token::epoch_of(row.bigint(1))),
    };
    Term { lease: LeaseId::new(row.int(2), &row.text(3)), record, role: row.oid(7), expires_at: row.bigint(12), row }
}

/// Records by which term one was superseded that was closed before.
pub fn supersede(term: &Term, by: Token) -> Written {
    Table::open(oids().term, Access::Write).update(&term.row, &[(17, Value::BigInt(by.to_bigint()))])
}

/// Records who has announced that the term will be revoked.
pub fn announce_revocation(term: &Term, by: Oid) -> Written {
    Table::open(oids().term, Access::Write).update(&term.row, &[(15, Value::Oid(by))])
}

/// Records what the heartbeat row knew when the term ended, how it ended, and by whom it was
/// superseded, as far as that is not recorded yet.
pub fn close(term: &Term, last: &lease::Record, end: Option<&End>, superseded_by: Option<Token>) -> Written {
    let mut changes = vec![(11, Value::Time(last.renewed_at)), (12, Value::Time(last.expires_at))];
    if let Some(end) = end.filter(|_| term.record.ended.is_none()) {
        changes.push((13, Value::Time(end.at)));
        changes.push((14, Value::Text(end.reason.as_str().as_bytes())));
        // Of a revocation that was announced, who announced it is recorded already.
        if end.by.is_some() || end.reason != EndReason::Revoked {
            changes.push((15, end.by.map_or(Value::Null, Value::Oid)));
        }
        changes.push((16, Value::Time(end.observed_at)));
    }
    if let Some(next) = superseded_by {
        changes.push((17, Value::BigInt(next.to_bigint())));
    }
    Table::open(oids().term, Access::Write).update_once(&term.row, &changes)
}
