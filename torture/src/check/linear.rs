//! A lease as an object: `stateright`'s tester looks for an order of its grants and writes that explains all
//! answers and keeps to what came after what.
//!
//! The tester tries orders, so it is given one piece of a lease's history at a time: from one moment at which
//! nothing was in flight to the next. What holds at such a moment is known (the highest token), so piece by
//! piece is as good as all at once. Pieces with an answer that never came, or with too much in flight, are
//! left to the other checks, which need no search. Time is no part of it: a term may run out at any moment,
//! so a grant is possible whenever its token is higher.

use super::facts::{Facts, Fate, Span};
use super::terms::Terms;
use super::{Fault, Violations};
use crate::history::Status;
use crate::plan::Lease;
use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};
use std::collections::HashSet;

/// Operations in a piece, at most: the search takes exponentially longer with each that is in flight.
const MOST: usize = 14;
/// Nobody: what cuts a history.
const CUT: usize = usize::MAX;
/// Around a moment of the coordinator's clock, in ns.
const SLACK: u64 = 2_000_000;

/// A lease and the row that it guards.
#[derive(Debug, Clone)]
struct Register {
    highest: i64,
}

/// What is asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Acquire,
    Write(i64),
}

/// What it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answered {
    Granted(i64),
    Accepted,
    Superseded,
}

impl SequentialSpec for Register {
    type Op = Asked;
    type Ret = Answered;

    /// Only what never came back is asked this way.
    fn invoke(&mut self, _: &Asked) -> Answered {
        Answered::Superseded
    }

    fn is_valid_step(&mut self, asked: &Asked, answered: &Answered) -> bool {
        match (asked, answered) {
            (Asked::Acquire, Answered::Granted(token)) => {
                let higher = *token > self.highest;
                self.highest = self.highest.max(*token);
                higher
            }
            (Asked::Write(token), Answered::Accepted) => *token == self.highest,
            (Asked::Write(token), Answered::Superseded) => *token < self.highest,
            _ => false,
        }
    }
}

/// An operation with its answer.
struct Operation {
    client: usize,
    span: Span,
    asked: Asked,
    answered: Answered,
}

impl Operation {
    /// Its token, if it is a grant.
    fn granted(&self) -> i64 {
        if let Answered::Granted(token) = self.answered { token } else { 0 }
    }
}

/// What must hold of each lease.
pub fn check(facts: &Facts, terms: &Terms, found: &mut Violations) {
    for (lease, operations) in by_lease(facts, terms).into_iter().enumerate() {
        pieces(Lease(lease as u16), operations, found);
    }
}

fn by_lease(facts: &Facts, terms: &Terms) -> Vec<Vec<Operation>> {
    let mut all: Vec<Vec<Operation>> = Lease::all().map(|_| Vec::new()).collect();
    for a in facts.acquires.iter().filter(|a| a.said.status == Status::Granted && a.request == 0) {
        let answered = Answered::Granted(a.token);
        let operation = Operation { client: a.client, span: a.span, asked: Asked::Acquire, answered };
        all[usize::from(a.lease.0)].push(operation);
    }
    let plain: HashSet<i64> = all.iter().flatten().map(|o| o.granted()).collect();
    // What was granted without an answer, or at another time than that of its answer, cuts the history.
    for (list, all) in terms.of_lease.iter().zip(&mut all) {
        for term in list.iter().filter(|term| !plain.contains(&term.token)) {
            let (start, end) = (terms.monotonic(term.acquired_at).0, terms.monotonic(term.acquired_at).1);
            let span = Span { start: start.saturating_sub(SLACK), end: end + SLACK };
            all.push(Operation { client: CUT, span, asked: Asked::Acquire, answered: Answered::Granted(term.token) });
        }
    }
    for t in &facts.transactions {
        let mut accepted: Vec<Lease> = Vec::new();
        for write in t.writes.iter().filter(|w| !w.undone && terms.get(w.token).is_some_and(|(of, _)| of == w.lease)) {
            let refused = write.said.state.is_some_and(|state| state.text() == "LF001");
            let committed = write.said.status == Status::Done && t.fate == Fate::Committed;
            let (span, answered) = match (refused, committed) {
                (true, _) => (write.span, Answered::Superseded),
                // Accepted until the commit; all of a transaction's writes to a lease are one.
                (_, true) if !accepted.contains(&write.lease) => {
                    accepted.push(write.lease);
                    (Span { start: write.span.start, end: t.commit.end }, Answered::Accepted)
                }
                _ => continue,
            };
            let asked = Asked::Write(write.token);
            all[usize::from(write.lease.0)].push(Operation { client: t.client, span, asked, answered });
        }
    }
    all
}

/// Cuts a lease's history where nothing is in flight.
fn pieces(lease: Lease, mut operations: Vec<Operation>, found: &mut Violations) {
    operations.sort_by_key(|operation| operation.span.start);
    // What is not known yet is found out from the first grant on.
    let mut register: Option<Register> = None;
    let mut piece: Vec<Operation> = Vec::new();
    let mut until = 0;
    for operation in operations {
        if operation.span.start > until && !piece.is_empty() {
            judge(lease, std::mem::take(&mut piece), &mut register, found);
        }
        until = until.max(operation.span.end);
        piece.push(operation);
    }
    judge(lease, piece, &mut register, found);
}

fn judge(lease: Lease, piece: Vec<Operation>, register: &mut Option<Register>, found: &mut Violations) {
    if piece.iter().any(|o| o.client == CUT) {
        *register = None;
        return;
    }
    if let Some(init) = register.as_ref().filter(|_| piece.len() <= MOST) {
        match is_linearizable(init.clone(), &piece) {
            Some(true) => found.ordered += piece.len() as u64,
            Some(false) => {
                let text: Vec<_> =
                    piece.iter().map(|o| format!("{:?} {:?} {:?}", o.span, o.asked, o.answered)).collect();
                found.add(Fault::NotLinearizable, format!("{lease:?}, {} before: {}", init.highest, text.join("; ")));
            }
            None => {}
        }
    }
    let granted = piece.iter().map(Operation::granted).max().unwrap_or_default();
    let before = register.as_ref().map_or(0, |register| register.highest);
    if granted > 0 {
        *register = Some(Register { highest: granted.max(before) });
    }
}

/// `None` where a client has two of them in flight: a write that is refused within a transaction.
fn is_linearizable(init: Register, piece: &[Operation]) -> Option<bool> {
    let mut tester = LinearizabilityTester::new(init);
    let mut moments: Vec<(u64, bool, &Operation)> = Vec::new();
    for operation in piece {
        moments.push((operation.span.start, false, operation));
        moments.push((operation.span.end, true, operation));
    }
    moments.sort_by_key(|(at, end, _)| (*at, *end));
    for (_, end, operation) in moments {
        let step = match end {
            false => tester.on_invoke(operation.client, operation.asked).map(drop),
            true => tester.on_return(operation.client, operation.answered).map(drop),
        };
        step.ok()?;
    }
    Some(tester.is_consistent())
}
