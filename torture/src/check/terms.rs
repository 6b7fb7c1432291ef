//! Terms: that none is granted twice, that their tokens grow in the order in which they were granted, that
//! one at a time is current, and that those a client was told of are there.

use super::facts::{Facts, NEVER, Span};
use super::{Fault, Violations};
use crate::history::Status;
use crate::last::Last;
use crate::plan::Lease;
use fencing_core::Token;
use std::collections::HashMap;

/// Between the two clocks, in us: reading them is not one moment.
const SLACK: i64 = 2_000;

/// A term, as clients saw it.
#[derive(Debug, Clone)]
pub struct Term {
    /// Its token.
    pub token: i64,
    /// From when it was asked for to when a client knew ([`NEVER`]: none did).
    pub span: Span,
    /// Wall clock, us.
    pub acquired_at: i64,
    /// As granted, wall clock, us; 0 if no client knew.
    pub expires_at: i64,
    /// When the session that it is bound to may have been over.
    pub session_end: u64,
    /// Renewals: when, and until when.
    pub renewed: Vec<Renewed>,
    /// Whether a renewal was asked for that has no answer.
    pub maybe_renewed: bool,
    /// Releases that may have been committed.
    pub released: Vec<Span>,
    /// From then on it is over, whatever else happens.
    pub over: u64,
}

/// A renewal.
#[derive(Debug, Clone, Copy)]
pub struct Renewed {
    /// When.
    pub span: Span,
    /// Until when, wall clock, us.
    pub until: i64,
    /// Whether a crash can't have undone it.
    pub durable: bool,
}

/// A revocation.
#[derive(Debug, Clone, Copy)]
pub struct Revoked {
    /// When.
    pub span: Span,
    /// Grace, ns.
    pub grace: u64,
    /// Whether it is known to have taken place.
    pub certain: bool,
}

/// All terms of a round.
#[derive(Debug, Default)]
pub struct Terms {
    /// Of each lease, in order of their tokens.
    pub of_lease: Vec<Vec<Term>>,
    /// Of each lease, the first moment at which a term from here on was known.
    known: Vec<Vec<u64>>,
    /// Of each lease, the first moment at which a term from here on may have been granted.
    asked: Vec<Vec<u64>>,
    /// Where a token is.
    index: HashMap<i64, (Lease, usize)>,
    /// Revocations of each lease, in order.
    pub revoked: Vec<Vec<Revoked>>,
    offset: (i64, i64),
}

impl Terms {
    /// Of a history, together with terms that no client heard of.
    pub fn of(facts: &Facts, last: &Last, found: &mut Violations) -> Terms {
        let leases = Lease::all().count();
        let mut terms = Terms {
            of_lease: vec![Vec::new(); leases],
            revoked: vec![Vec::new(); leases],
            offset: facts.clock.unwrap_or((0, 0)),
            ..Terms::default()
        };
        terms.grants(facts, found);
        terms.orphans(facts, last, found);
        for (lease, list) in terms.of_lease.iter_mut().enumerate() {
            list.sort_by_key(|term| term.token);
            for (n, term) in list.iter().enumerate() {
                terms.index.insert(term.token, (Lease(lease as u16), n));
            }
            terms.known.push(from_here_on(list, |term| term.span.end));
            terms.asked.push(from_here_on(list, |term| term.span.start));
        }
        terms.ends(facts);
        terms
    }

    /// What clients were granted. A request that is repeated has one term, from when it was first asked.
    fn grants(&mut self, facts: &Facts, found: &mut Violations) {
        let mut requested = HashMap::new();
        for acquire in facts.acquires.iter().filter(|a| a.request != 0) {
            let first = requested.entry((acquire.request, acquire.lease)).or_insert(acquire.span.start);
            *first = acquire.span.start.min(*first);
        }
        let mut by_token: HashMap<i64, (Lease, i64, usize)> = HashMap::new();
        for a in facts.acquires.iter().filter(|a| a.said.status == Status::Granted) {
            let start = requested.get(&(a.request, a.lease)).copied().unwrap_or(a.span.start);
            if let Some((lease, request, n)) = by_token.get(&a.token) {
                if *lease != a.lease || *request != a.request || a.request == 0 {
                    found.add(
                        Fault::DuplicateTerm,
                        format!("{} answers two requests, for {lease:?} and {:?}", a.token, a.lease),
                    );
                }
                let term = &mut self.of_lease[usize::from(lease.0)][*n];
                term.span.end = term.span.end.min(a.span.end);
                continue;
            }
            let ends = &facts.sessions[a.client];
            let session_end = match a.bound {
                true => ends.iter().copied().find(|end| *end >= a.span.start).unwrap_or(a.span.start),
                false => NEVER,
            };
            let list = &mut self.of_lease[usize::from(a.lease.0)];
            by_token.insert(a.token, (a.lease, a.request, list.len()));
            list.push(Term {
                token: a.token,
                span: Span { start, end: a.span.end },
                acquired_at: a.acquired_at,
                expires_at: a.expires_at,
                session_end,
                renewed: Vec::new(),
                maybe_renewed: false,
                released: Vec::new(),
                over: NEVER,
            });
        }
    }

    /// Terms whose answer was lost; and those that somebody was told of but are not there.
    fn orphans(&mut self, facts: &Facts, last: &Last, found: &mut Violations) {
        let mut lost: Vec<Vec<u64>> = vec![Vec::new(); self.of_lease.len()];
        for acquire in facts.acquires.iter().filter(|a| a.said.status == Status::Lost) {
            lost[usize::from(acquire.lease.0)].push(acquire.span.start);
        }
        lost.iter_mut().for_each(|starts| starts.sort_unstable());
        let there: HashMap<i64, Lease> = last.terms.iter().map(|term| (term.token, term.lease)).collect();
        let mut told = HashMap::new();
        for (lease, list) in self.of_lease.iter().enumerate() {
            for term in list {
                told.insert(term.token, ());
                if !last.terms.is_empty() && there.get(&term.token) != Some(&Lease(lease as u16)) {
                    found.add(Fault::LostTerm, format!("{} of lease {lease} was granted and is not there", term.token));
                }
            }
        }
        for orphan in last.terms.iter().filter(|term| !told.contains_key(&term.token)) {
            let latest = self.monotonic(orphan.acquired_at + SLACK).1;
            let starts = &lost[usize::from(orphan.lease.0)];
            // Somebody asked before it was granted and never heard; the last one of these, at the latest.
            let before = starts.partition_point(|start| *start <= latest);
            if before == 0 {
                found.add(Fault::PhantomTerm, format!("{} of {:?} is nobody's", orphan.token, orphan.lease));
                continue;
            }
            let start = self.monotonic(orphan.acquired_at - SLACK).0;
            self.of_lease[usize::from(orphan.lease.0)].push(Term {
                token: orphan.token,
                span: Span { start, end: NEVER },
                acquired_at: orphan.acquired_at,
                expires_at: 0,
                session_end: 0,
                renewed: Vec::new(),
                maybe_renewed: true,
                released: Vec::new(),
                over: NEVER,
            });
        }
    }

    /// What is known of their ends.
    fn ends(&mut self, facts: &Facts) {
        let nothing = [Status::NotHeld, Status::Blocked, Status::Unknown];
        for call in facts.revocations.iter().filter(|call| !call.undone && !nothing.contains(&call.said.status)) {
            let certain = matches!(call.said.status, Status::Revoked | Status::Revoking | Status::Deleted);
            let revoked = Revoked { span: call.span, grace: call.value as u64, certain };
            self.revoked[usize::from(call.lease.0)].push(revoked);
        }
        self.revoked.iter_mut().for_each(|list| list.sort_by_key(|revoked| revoked.span.start));
        for call in &facts.renewals {
            let durable = call.synchronous || !crashed_after(facts, call.span.end);
            let Some(term) = self.get_mut(call.token) else { continue };
            match call.said.status {
                Status::Renewed => term.renewed.push(Renewed { span: call.span, until: call.value, durable }),
                Status::Lost => term.maybe_renewed = true,
                _ => {}
            }
        }
        for call in facts.releases.iter().filter(|call| !call.undone) {
            let certain = call.synchronous || !crashed_after(facts, call.span.end);
            let fate = call.within.map(|t| facts.transactions[t].fate);
            let certain = certain && fate.is_none_or(|fate| fate == super::facts::Fate::Committed);
            let Some(term) = self.get_mut(call.token) else { continue };
            if matches!(call.said.status, Status::Released | Status::Lost) {
                term.released.push(call.span);
            }
            if call.said.status == Status::Released && certain {
                term.over = term.over.min(call.span.end);
            }
        }
        self.over(facts);
    }

    /// From when on each is over for certain.
    fn over(&mut self, facts: &Facts) {
        let mut epochs: Vec<_> =
            facts.advances.iter().filter(|a| a.said.status == Status::Done).map(|a| (a.epoch, a.span.end)).collect();
        epochs.sort_unstable();
        let offset = self.offset;
        for (lease, list) in self.of_lease.iter_mut().enumerate() {
            let revoked = &self.revoked[lease];
            let certain = |r: &Revoked| if r.certain { r.span.end.saturating_add(r.grace) } else { NEVER };
            let suffix = from_here_on(revoked, certain);
            for term in list {
                let after = revoked.partition_point(|r| r.span.start <= term.span.end);
                term.over = term.over.min(suffix[after]);
                let next = epochs.partition_point(|(epoch, _)| *epoch <= epoch_of(term.token));
                if let Some((_, end)) = epochs.get(next) {
                    term.over = term.over.min(*end);
                }
                if !Lease(lease as u16).is_lenient() && !term.maybe_renewed {
                    let until = term.renewed.iter().map(|r| r.until).fold(term.expires_at, i64::max);
                    term.over = term.over.min(monotonic(offset, until + SLACK).1);
                }
            }
        }
    }

    /// A term by its token.
    pub fn get(&self, token: i64) -> Option<(Lease, &Term)> {
        let (lease, n) = self.index.get(&token)?;
        Some((*lease, &self.of_lease[usize::from(lease.0)][*n]))
    }

    fn get_mut(&mut self, token: i64) -> Option<&mut Term> {
        let (lease, n) = self.index.get(&token)?;
        self.of_lease[usize::from(lease.0)].get_mut(*n)
    }

    fn after(&self, lease: Lease, token: i64) -> usize {
        self.of_lease[usize::from(lease.0)].partition_point(|term| term.token <= token)
    }

    /// From when on a client knew of a successor of the token.
    pub fn successor_known(&self, lease: Lease, token: i64) -> u64 {
        self.known[usize::from(lease.0)][self.after(lease, token)]
    }

    /// From when on there may have been a successor.
    pub fn successor_asked(&self, lease: Lease, token: i64) -> u64 {
        self.asked[usize::from(lease.0)][self.after(lease, token)]
    }

    /// A moment of the wall clock on the other one: at the earliest, at the latest.
    pub fn monotonic(&self, wall: i64) -> (u64, u64) {
        monotonic(self.offset, wall)
    }
}

fn monotonic(offset: (i64, i64), wall: i64) -> (u64, u64) {
    let at = |offset: i64| (wall - offset).max(0) as u64 * 1000;
    (at(offset.1), at(offset.0))
}

/// The epoch of a token.
pub fn epoch_of(token: i64) -> i64 {
    Token::from_bigint(token).map_or(0, Token::epoch)
}

/// The least of each and those after it; one more than there are items.
fn from_here_on<T>(items: &[T], time: impl Fn(&T) -> u64) -> Vec<u64> {
    let mut least = vec![NEVER; items.len() + 1];
    for (n, item) in items.iter().enumerate().rev() {
        least[n] = least[n + 1].min(time(item));
    }
    least
}

/// Whether an unclean end of the server came later, or may have.
pub fn crashed_after(facts: &Facts, at: u64) -> bool {
    facts.crashes.iter().any(|crash| !crash.clean && crash.span.end >= at)
}

/// What must hold of terms.
pub fn check(facts: &Facts, last: &Last, terms: &Terms, found: &mut Violations) {
    ordered(last, terms, found);
    for (lease, list) in terms.of_lease.iter().enumerate() {
        for pair in list.windows(2) {
            one_at_a_time(facts, terms, Lease(lease as u16), &pair[0], &pair[1], found);
        }
    }
    for call in facts.renewals.iter().filter(|call| call.said.status == Status::Renewed) {
        let over = terms.get(call.token).map_or(NEVER, |(_, term)| term.over);
        // Also where its holder may still write, a term that has run out is not renewed.
        let over = over.min(terms.successor_known(call.lease, call.token));
        if over < call.span.start {
            let text = format!("{} of {:?} was renewed though over, {:?}", call.token, call.lease, call.span);
            found.add(Fault::Resurrected, text);
        }
    }
}

/// Whoever asks after a grant was known gets a higher token, whatever the lease.
fn ordered(last: &Last, terms: &Terms, found: &mut Violations) {
    let mut by_start: Vec<_> = terms.of_lease.iter().flatten().map(|t| (t.span, t.token)).collect();
    let mut by_end = by_start.clone();
    by_start.sort_by_key(|(span, _)| span.start);
    by_end.sort_by_key(|(span, _)| span.end);
    let (mut highest, mut n) = (last.highest_before, 0);
    for (span, token) in by_start {
        while by_end.get(n).is_some_and(|(known, _)| known.end < span.start) {
            highest = highest.max(by_end[n].1);
            n += 1;
        }
        if token <= highest {
            found.add(Fault::ReorderedTerms, format!("{token}, asked for when {highest} was known"));
        }
    }
}

/// The next term begins when the last one has come to an end, by the coordinator's own times.
fn one_at_a_time(facts: &Facts, terms: &Terms, lease: Lease, former: &Term, next: &Term, found: &mut Violations) {
    let until = former.renewed.iter().map(|r| r.until).fold(former.expires_at, i64::max);
    let known = next.span.end;
    if next.acquired_at < former.acquired_at {
        let text = format!("{:?}: {} begins before {}", lease, next.token, former.token);
        found.add(Fault::TwoCurrent, text);
    }
    let released = former.released.iter().any(|span| span.start < known);
    let ended = next.acquired_at >= until
        || released
        || former.session_end <= known
        || voided(facts, former.token, known)
        || terms.revoked_by(lease, former, known);
    if !ended {
        let text = format!(
            "{lease:?}: {} was granted at {} us while {} was current until {until} us",
            next.token, next.acquired_at, former.token
        );
        found.add(Fault::TwoCurrent, text);
    }
}

/// Whether an epoch may have ended the token's term before that.
pub fn voided(facts: &Facts, token: i64, before: u64) -> bool {
    let epoch = epoch_of(token);
    facts.advances.iter().any(|a| {
        a.span.start < before
            && match a.said.status {
                Status::Done => a.epoch > epoch,
                Status::Refused => false,
                _ => true,
            }
    })
}

impl Terms {
    /// Whether a revocation may have ended the term before that.
    pub fn revoked_by(&self, lease: Lease, term: &Term, before: u64) -> bool {
        let revoked = &self.revoked[usize::from(lease.0)];
        let slack = SLACK as u64 * 1000;
        revoked
            .iter()
            .take_while(|r| r.span.start < before)
            .any(|r| r.span.end >= term.span.start && (r.span.start + r.grace).saturating_sub(slack) <= before)
    }
}
