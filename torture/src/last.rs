//! What the tables say at the end of a round, when nobody writes any more.

use crate::plan::Lease;
use fencing_tests::Sql;
use postgres::{Client, Row as SqlRow};

/// A write, as the witness has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// The lease whose row was written.
    pub lease: Lease,
    /// Counted by the row: the order of its writes.
    pub n: i64,
    /// What the writer believed to be next.
    pub v: i64,
    /// What it presented.
    pub token: i64,
    /// What the guard stamped it with, where it does.
    pub stamped: Option<i64>,
    /// The operation.
    pub op: u64,
}

/// A row's counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Writes so far.
    pub n: i64,
    /// Its value.
    pub v: i64,
}

/// A term, as the extension has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// Its lease.
    pub lease: Lease,
    /// Its token.
    pub token: i64,
    /// In us of the wall clock.
    pub acquired_at: i64,
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub struct Last {
    /// Writes of this round.
    pub written: Vec<Written>,
    /// By lease.
    pub counters: Vec<Counter>,
    /// By lease, before the round.
    pub before: Vec<Counter>,
    /// Terms of this round.
    pub terms: Vec<Term>,
    /// The highest token of earlier rounds.
    pub highest_before: i64,
}

/// Counters of all leases.
pub fn counters(session: &mut Client) -> Vec<Counter> {
    let one = |lease: Lease| {
        let sql = lease.read().replace("SELECT v", "SELECT n, v");
        let row = session.query_one(&sql, &[&i32::from(lease.0)]).expect("a counter");
        Counter { n: row.get(0), v: row.get(1) }
    };
    Lease::all().map(one).collect()
}

/// Reads what a round has left; `terms` where the extension grants them.
pub fn read(session: &mut Client, terms: bool, before: Vec<Counter>, highest_before: i64) -> Last {
    let written = |row: SqlRow| Written {
        lease: Lease(row.get::<_, i32>(0) as u16),
        n: row.get(1),
        v: row.get(2),
        token: row.get(3),
        stamped: row.get(4),
        op: row.get::<_, i64>(5) as u64,
    };
    let sql = "SELECT lease, n, v, token, stamped, op FROM work.witness ORDER BY lease, n, token";
    let rows = session.query(sql, &[]).expect("the witness").into_iter().map(written).collect();
    let term = |row: SqlRow| {
        let lease = Lease::of(row.get(0), row.get(1))?;
        Some(Term { lease, token: row.get(2), acquired_at: row.get(3) })
    };
    let sql = "SELECT n.name, t.key, t.token, (extract(epoch FROM t.acquired_at) * 1000000)::bigint
                 FROM fencing.term AS t JOIN fencing.namespace AS n ON n.id = t.namespace
                WHERE t.token > $1 ORDER BY t.token";
    let terms = match terms {
        true => session.query(sql, &[&highest_before]).expect("terms").into_iter().filter_map(term).collect(),
        false => Vec::new(),
    };
    Last { written: rows, counters: counters(session), before, terms, highest_before }
}

/// Makes room for the next round.
pub fn clear(session: &mut Client) {
    session.run("TRUNCATE work.witness");
    session.run("VACUUM");
}
