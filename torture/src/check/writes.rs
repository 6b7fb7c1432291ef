//! Writes: that none got past its fence, and that none is lost.

use super::facts::{Facts, Fate, NEVER, Transaction, Write};
use super::terms::Terms;
use super::{Fault, Violations};
use crate::history::Status;
use crate::last::{Counter, Last, Written};
use crate::plan::Form;
use std::collections::{HashMap, HashSet};

/// What must hold of writes.
pub fn check(facts: &Facts, last: &Last, terms: &Terms, found: &mut Violations) {
    let ops = by_operation(facts);
    let mut there = vec![false; ops.len()];
    let index: HashMap<u64, usize> = ops.iter().enumerate().map(|(n, (_, w))| (w.op, n)).collect();
    for row in &last.written {
        match index.get(&row.op) {
            Some(n) if !there[*n] => {
                there[*n] = true;
                written(row, &facts.transactions[ops[*n].0], ops[*n].1, terms, found);
            }
            Some(_) => found.add(Fault::Phantom, format!("twice: {row:?}")),
            None => found.add(Fault::Phantom, format!("nobody's: {row:?}")),
        }
    }
    order(last, found);
    // Whoever gives the term back in the transaction itself has ended it in time: that it would have run out
    // before the commit is nothing any more.
    let given_back: HashSet<(usize, i64)> = facts
        .releases
        .iter()
        .filter(|call| call.said.status == Status::Released)
        .filter_map(|call| Some((call.within?, call.token)))
        .collect();
    let durable = durable_until(facts);
    for ((n, write), there) in ops.iter().zip(there) {
        let transaction = &facts.transactions[*n];
        let accepted = write.said.status == Status::Done && !write.undone && transaction.fate == Fate::Committed;
        if accepted && !there && !may_be_lost(facts, &durable, transaction) {
            found.add(Fault::LostWrite, format!("{write:?}, committed {:?}", transaction.commit));
        }
        if there || accepted {
            let given_back = given_back.contains(&(*n, write.token));
            in_time(transaction, write, given_back, terms, found);
        }
    }
    for transaction in facts.transactions.iter().filter(|t| t.fate == Fate::Forgotten) {
        found.add(Fault::LostWrite, format!("a prepared transaction is gone: {:?}", transaction.checked));
    }
}

/// All writes, each with the number of its transaction.
fn by_operation(facts: &Facts) -> Vec<(usize, &Write)> {
    facts.transactions.iter().enumerate().flat_map(|(n, t)| t.writes.iter().map(move |w| (n, w))).collect()
}

/// A row of the witness, against the operation that wrote it.
fn written(row: &Written, transaction: &Transaction, write: &Write, terms: &Terms, found: &mut Violations) {
    if (row.lease, row.token, row.v) != (write.lease, write.token, write.v) {
        found.add(Fault::Phantom, format!("{row:?} of {write:?}"));
    }
    if transaction.fate == Fate::RolledBack || write.undone || write.said.status == Status::Refused {
        found.add(Fault::Phantom, format!("{row:?}, which was not committed: {write:?}, {:?}", transaction.said));
    }
    let stamped = (row.lease.form() == Form::Inline).then_some(row.token);
    if row.stamped != stamped {
        found.add(Fault::ForeignWrite, format!("not stamped with its token: {row:?}"));
    }
    if terms.get(row.token).is_none_or(|(lease, _)| lease != row.lease) {
        found.add(Fault::ForeignWrite, format!("no term of its lease: {row:?}"));
    }
}

/// Each row's writes: tokens never go down, none is left out, and a new holder has seen the last one.
fn order(last: &Last, found: &mut Violations) {
    let mut rows: Vec<_> = last.written.iter().collect();
    rows.sort_by_key(|row| (row.lease, row.n));
    let mut latest: Vec<(Counter, i64)> = last.before.iter().map(|counter| (*counter, 0)).collect();
    for row in rows {
        let Some((counter, token)) = latest.get_mut(usize::from(row.lease.0)) else { continue };
        if row.n != counter.n + 1 {
            found.add(Fault::Miscounted, format!("{row:?} follows {}", counter.n));
        }
        if row.token < *token {
            found.add(Fault::StaleWrite, format!("{row:?} follows {token}"));
        }
        // Within a term it is the holder's own affair.
        if row.token != *token && row.v != counter.v + 1 {
            found.add(Fault::LostUpdate, format!("{row:?} was written over {}", counter.v));
        }
        (*counter, *token) = (Counter { n: row.n, v: row.v }, row.token);
    }
    for (lease, ((counter, _), end)) in latest.iter().zip(&last.counters).enumerate() {
        if counter != end {
            found.add(Fault::Miscounted, format!("lease {lease}: {end:?} at the end, {counter:?} by its writes"));
        }
    }
}

/// Nothing is committed once its term is over or its successor known.
fn in_time(transaction: &Transaction, write: &Write, given_back: bool, terms: &Terms, found: &mut Violations) {
    let known = terms.successor_known(write.lease, write.token);
    if transaction.commit.start > known {
        found.add(Fault::LateWrite, format!("{write:?}, committed {:?}, successor known {known}", transaction.commit));
    }
    let term = terms.get(write.token).map(|(_, term)| term);
    // Its first statement was answered before the term was asked for.
    if transaction.isolation > 0 && term.is_some_and(|term| transaction.start < term.span.start) {
        found.add(Fault::OldSnapshot, format!("{write:?}, begun {}", transaction.start));
    }
    let over = term.map_or(NEVER, |term| term.over);
    if transaction.checked.start > over && !given_back {
        found.add(Fault::EndedWrite, format!("{write:?}, committed {:?}, over {over}", transaction.commit));
    }
}

/// For each crash, until when commits are known to be on disk: WAL is one sequence, and a commit that has
/// waited for its own has waited for all before it.
fn durable_until(facts: &Facts) -> Vec<u64> {
    let waited = facts
        .transactions
        .iter()
        .filter(|t| t.synchronous && t.fate == Fate::Committed && !t.writes.is_empty())
        .map(|t| t.commit);
    let granted = facts.acquires.iter().filter(|a| a.said.status == Status::Granted && a.request == 0).map(|a| a.span);
    let mut spans: Vec<_> = waited.chain(granted).collect();
    spans.sort_unstable_by_key(|span| span.end);
    let mut durable = Vec::with_capacity(facts.crashes.len());
    let (mut n, mut until) = (0, 0);
    for crash in &facts.crashes {
        while spans.get(n).is_some_and(|span| span.end < crash.span.start) {
            until = until.max(spans[n].start);
            n += 1;
        }
        durable.push(until);
    }
    durable
}

/// A commit that didn't wait, shortly before an unclean end.
fn may_be_lost(facts: &Facts, durable: &[u64], transaction: &Transaction) -> bool {
    let next = facts.crashes.iter().zip(durable).find(|(crash, _)| crash.span.end >= transaction.commit.end);
    !transaction.synchronous && next.is_some_and(|(crash, durable)| !crash.clean && transaction.commit.end > *durable)
}
