//! Refusals: each must have its reason in the history.

use super::facts::{Acquire, Advance, Call, Facts, Fate, Span, Transaction};
use super::terms::{Terms, crashed_after, voided};
use super::{Fault, Violations};
use crate::history::{State, Status};
use crate::plan::{Lease, TTL};

/// Clocks are read one after the other, and timers late; in ns.
const SLACK: u64 = 2_000_000;

/// What must hold of refusals.
pub fn check(facts: &Facts, terms: &Terms, found: &mut Violations) {
    let judge = Judge { facts, terms };
    for transaction in &facts.transactions {
        judge.transaction(transaction, found);
    }
    for call in &facts.renewals {
        judge.said_over(call, "renew", found);
    }
    for call in &facts.releases {
        judge.said_over(call, "release", found);
    }
    for acquire in &facts.acquires {
        judge.acquire(acquire, found);
    }
    for call in &facts.releases {
        let serializable = call.within.is_some_and(|t| facts.transactions[t].isolation == 2);
        // What was done before has doomed such a transaction: whatever comes next is told.
        judge.error(call, if serializable { &["40001"] } else { &[] }, found);
    }
    facts.renewals.iter().for_each(|call| judge.error(call, &[], found));
    facts.revocations.iter().for_each(|call| judge.error(call, &["55P03"], found));
    facts.evictions.iter().for_each(|call| judge.error(call, &["55006"], found));
    for advance in &facts.advances {
        if let Some(state) = advance.said.state.filter(|state| state.text() != "55P03") {
            found.add(Fault::Unexpected, format!("{state:?} of {advance:?}"));
        }
    }
}

struct Judge<'a> {
    facts: &'a Facts,
    terms: &'a Terms,
}

impl Judge<'_> {
    fn transaction(&self, transaction: &Transaction, found: &mut Violations) {
        for write in &transaction.writes {
            let Some(state) = write.said.state else { continue };
            if !self.has_reason(transaction, write.lease, write.token, write.span, state, true) {
                found.add(Fault::NoEvidence, format!("{state:?} of {write:?}"));
            }
        }
        // Whatever it wrote may have been the reason; a write alone has been judged.
        let Some(state) = transaction.said.state else { return };
        let alone = transaction.writes.first().is_some_and(|write| write.span == transaction.commit);
        let of = |write: &super::facts::Write| {
            self.has_reason(transaction, write.lease, write.token, transaction.checked, state, false)
        };
        if !alone && !transaction.writes.iter().any(of) {
            found.add(Fault::NoEvidence, format!("{state:?} at commit of {transaction:?}"));
        }
    }

    /// Whether there was reason to refuse a write (`statement`), or the commit after it, in that time.
    fn has_reason(&self, t: &Transaction, lease: Lease, token: i64, span: Span, state: State, statement: bool) -> bool {
        match state.text() {
            "LF001" => statement && self.terms.successor_asked(lease, token) < span.end,
            "LF002" => statement && token == 0,
            "LF003" => self.may_have_ended(lease, token, span),
            "LF004" => statement && token != 0 && self.terms.get(token).is_none_or(|(of, _)| of != lease),
            "LF005" => statement && voided(self.facts, token, span.end),
            "LF007" => statement && self.in_transition(span),
            "40001" => t.isolation > 0 && self.is_not_serializable(t, lease, token, span),
            _ => false,
        }
    }

    fn error(&self, call: &Call, allowed: &[&str], found: &mut Violations) {
        if let Some(state) = call.said.state.filter(|state| !allowed.contains(&state.text())) {
            found.add(Fault::Unexpected, format!("{state:?} of {call:?}"));
        }
    }

    fn in_transition(&self, span: Span) -> bool {
        let beside = |a: &Advance| a.span.start < span.end && a.span.end > span.start;
        self.facts.advances.iter().any(beside)
    }

    /// The snapshot is older than the term, or than another write of the row; what dooms a SERIALIZABLE
    /// transaction can't be seen from outside.
    fn is_not_serializable(&self, t: &Transaction, lease: Lease, token: i64, span: Span) -> bool {
        let newer = self.terms.get(token).is_some_and(|(_, term)| term.span.end > t.start);
        t.isolation == 2 || newer || self.was_written_beside(t, lease, span)
    }

    /// Somebody else wrote the row after the transaction had begun.
    fn was_written_beside(&self, t: &Transaction, lease: Lease, span: Span) -> bool {
        self.facts.transactions.iter().any(|other| {
            other.client != t.client
                && other.fate != Fate::RolledBack
                && other.commit.start < span.end
                && other.commit.end > t.start
                && other.writes.iter().any(|write| write.lease == lease)
        })
    }

    /// Whether the term may have come to an end by itself before the answer.
    fn may_have_ended(&self, lease: Lease, token: i64, span: Span) -> bool {
        let Some((of, term)) = self.terms.get(token) else { return false };
        of == lease
            && (!lease.is_lenient() && self.may_have_expired(token, span)
                || term.released.iter().any(|released| released.start < span.end)
                || term.session_end < span.end
                || self.terms.revoked_by(lease, term, span.end))
    }

    /// By the renewals that were known before it was asked.
    fn may_have_expired(&self, token: i64, span: Span) -> bool {
        let Some((_, term)) = self.terms.get(token) else { return false };
        let stands = |until: i64, r: &super::terms::Renewed| {
            if r.durable && r.span.end < span.start { until.max(r.until) } else { until }
        };
        let until = term.renewed.iter().fold(term.expires_at, stands);
        self.terms.monotonic(until).0.saturating_sub(SLACK) <= span.end
    }

    /// `renew` and `release` say why a term is over: it must be.
    fn said_over(&self, call: &Call, what: &str, found: &mut Violations) {
        let (lease, token, span) = (call.lease, call.token, call.span);
        let Some((of, term)) = self.terms.get(token) else {
            return found.add(Fault::NoEvidence, format!("{what} of what was never granted: {call:?}"));
        };
        let reason = match call.said.status {
            Status::Superseded => self.terms.successor_asked(lease, token) < span.end,
            Status::Expired => self.may_have_expired(token, span),
            Status::Revoked | Status::Deleted => self.terms.revoked_by(lease, term, span.end),
            Status::SessionLost => term.session_end < span.end,
            Status::EpochClosed => voided(self.facts, token, span.end),
            Status::Released if what == "renew" => term.released.iter().any(|r| r.start < span.end),
            Status::Unknown => false,
            _ => true,
        };
        if !reason || of != lease {
            found.add(Fault::NoEvidence, format!("{what} says {:?} of {call:?}", call.said.status));
        }
    }

    fn acquire(&self, acquire: &Acquire, found: &mut Violations) {
        let reason = match acquire.said.status {
            Status::Refused => false,
            Status::Held => self.may_be_held(acquire),
            Status::Closed => self.in_transition(acquire.span),
            Status::CoolingDown => {
                let since = acquire.span.start.saturating_sub(TTL * 1_000_000 + SLACK);
                crashed_after(self.facts, since)
            }
            Status::Over => acquire.request != 0,
            _ => true,
        };
        if !reason {
            found.add(Fault::NoEvidence, format!("acquire says {:?}: {acquire:?}", acquire.said));
        }
    }

    /// Whether somebody may have held it, or asked for it, while the call lasted.
    fn may_be_held(&self, acquire: &Acquire) -> bool {
        let terms = &self.terms.of_lease[usize::from(acquire.lease.0)];
        let held = terms.iter().rev().any(|term| {
            let lenient_over =
                self.terms.monotonic(term.renewed.iter().map(|r| r.until).fold(term.expires_at, i64::max));
            let over = match acquire.lease.is_lenient() && !term.maybe_renewed {
                true => term.over.min(lenient_over.1.saturating_add(SLACK)),
                false => term.over,
            };
            term.span.start < acquire.span.end && over > acquire.span.start
        });
        held || self.is_asked_for(acquire) || self.is_removed(acquire) || self.is_written(acquire)
    }

    /// Whoever removes it keeps everybody else out meanwhile.
    fn is_removed(&self, acquire: &Acquire) -> bool {
        let beside = |span: &Span| span.start < acquire.span.end && span.end > acquire.span.start;
        let dropped = |call: &Call| call.lease == acquire.lease && beside(&call.span);
        self.facts.purges.iter().any(beside) || self.facts.revocations.iter().any(dropped)
    }

    /// A writer was about to end: it keeps its fence a moment longer than it can be named.
    fn is_written(&self, acquire: &Acquire) -> bool {
        self.facts.transactions.iter().any(|t| {
            let of = |w: &&super::facts::Write| w.lease == acquire.lease && w.span.start < acquire.span.end;
            t.writes.iter().filter(of).any(|w| w.span.end.max(t.commit.end) > acquire.span.start)
        })
    }

    /// Somebody else's call was in flight.
    fn is_asked_for(&self, acquire: &Acquire) -> bool {
        self.facts.acquires.iter().any(|other| {
            other.lease == acquire.lease
                && other.span != acquire.span
                && other.span.start < acquire.span.end
                && other.span.end > acquire.span.start
        })
    }
}
