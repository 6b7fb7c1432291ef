//! The check of a write under a token of a coordinator elsewhere. Every rule is in `core`; the order here
//! is what makes the verdict hold until commit: the coordinator's lock, the fence's, and only then the
//! read that decides.

use super::hold::{Patience, Seen, hold};
use crate::guard::Strictness;
use crate::pg::{extension, mutant};
use crate::store::coordinator::{self, Coordinator};
use crate::store::remote_fence::RemoteId;
use crate::transaction::presentation::{self, Named};
use crate::transaction::{self, remote};
use fencing_core::Error;
use fencing_core::admission::MissingRule;
use fencing_core::remote::{self as rules, Presented, Rejection, Source, Verdict, claim};
use smallvec::SmallVec;
use std::rc::Rc;

/// What is to be checked.
pub struct Question<'a> {
    /// The coordinator.
    pub coordinator: &'a str,
    /// Its own namespace.
    pub namespace: &'a str,
    /// The lease's key.
    pub key: &'a [u8],
    /// The token that the row itself presents, in this statement.
    pub inline: Option<(u64, i64)>,
    /// The guard's rule for a missing token.
    pub on_missing: MissingRule,
    /// How strictly.
    pub strictness: Strictness,
}

/// A lease with its coordinator.
pub struct Subject {
    coordinator: Rc<Coordinator>,
    lease: RemoteId,
}

impl Subject {
    /// That lease.
    pub fn new(coordinator: Rc<Coordinator>, lease: RemoteId) -> Subject {
        Subject { coordinator, lease }
    }

    /// The error that a client sees.
    pub fn error(&self, why: Rejection, relation: Option<&str>) -> Error {
        let lease = self.lease.describe();
        let differences = if self.coordinator.differences.is_empty() {
            "The server has started after a crash, and fencing.on_unclean_start is closed."
        } else {
            &self.coordinator.differences
        };
        why.error(rules::Subject { coordinator: &self.coordinator.name, lease: &lease, relation, differences })
    }
}

/// Decides whether a write may pass. An accepted one holds the fence from now on.
pub fn check(question: &Question) -> Result<(Verdict, Subject), Error> {
    let enforce = question.strictness == Strictness::Enforce;
    enter(question.coordinator, enforce);
    let coordinator = coordinator::require(question.coordinator)?;
    let lease = RemoteId::new(question.coordinator, question.namespace, question.key);
    let source = coordinator.source();
    let subject = Subject::new(coordinator, lease);
    let verdict = if transaction::with(|t| t.stale.is_presented()) {
        Verdict::Rejected(Seen::look(&subject.lease).stale(source))
    } else {
        let (presented, named) = presented(&subject.lease, question.inline);
        let patience = enforce.then_some(Patience::Endless);
        let verdict = decide(&subject.lease, source, presented, question.on_missing, patience)?;
        if let Some(named) = named.filter(|_| enforce && matches!(verdict, Verdict::Accepted(_))) {
            presentation::take(&named, question.coordinator);
        }
        verdict
    };
    Ok((verdict, subject))
}

/// Hears of every change of a coordinator; who enforces keeps further ones off.
fn enter(coordinator: &str, enforce: bool) {
    if enforce {
        remote::enter(coordinator);
    } else {
        extension::catch_up();
    }
}

/// Refuses where nothing at all is admitted under a coordinator's tokens.
pub fn require_open(coordinator: &str, enforce: bool) -> Result<(), Error> {
    enter(coordinator, enforce);
    let coordinator = coordinator::require(coordinator)?;
    match claim(coordinator.source(), Presented::Nothing, MissingRule::Admit, None) {
        Err(Verdict::Rejected(why)) => Err(Subject::new(coordinator, RemoteId::new("", "", b"")).error(why, None)),
        _ => Ok(()),
    }
}

/// The verdict on a token; `enforce` says how long to wait for the fence, none that nothing is held.
pub fn decide(
    lease: &RemoteId,
    source: Source,
    presented: Presented,
    on_missing: MissingRule,
    enforce: Option<Patience>,
) -> Result<Verdict, Error> {
    let accepted = transaction::with(|t| t.remote.accepted(lease));
    let source = match source {
        Source::Conflict(epoch) if mutant::without("remote_conflict") => Source::Open(epoch),
        source => source,
    };
    let token = match claim(source, presented, on_missing, accepted) {
        Ok(token) => token,
        // Without the rule on epochs, order alone would decide.
        Err(Verdict::Rejected(Rejection::Epoch { presented, .. })) if mutant::without("remote_epoch") => presented,
        Err(verdict) => return Ok(verdict),
    };
    if accepted == Some(token) {
        return Ok(Verdict::Accepted(token));
    }
    let held = match enforce {
        Some(patience) => hold(lease, token, patience)?,
        None => Seen::look(lease).compare(token).map(drop),
    };
    Ok(held.map_or_else(Verdict::Rejected, |()| Verdict::Accepted(token)))
}

/// What the transaction presents, seen from this lease: by its name, or inline. A token itself doesn't
/// say which lease it is of, nor whose: what another coordinator has taken is not this one's. With what is
/// presented by name alone.
fn presented(lease: &RemoteId, inline: Option<(u64, i64)>) -> (Presented, Option<Named>) {
    // What is no token is presented by its own row alone, which is rejected.
    if let Some((statement, token)) = inline.filter(|(_, token)| *token > 0) {
        transaction::with(|t| t.remote.present_inline(statement, lease, token));
    }
    let (taken, named): (Option<Named>, Option<Named>) =
        match presentation::named(&lease.namespace, &lease.key, &lease.coordinator) {
            Some(named) if named.is_taken => (Some(named), None),
            named => (None, named),
        };
    let mine = inline.map(|(_, token)| token);
    transaction::with(|t| {
        let inline: SmallVec<[i64; 2]> = mine.into_iter().chain(t.remote.inline(lease)).collect();
        let mut tokens = inline.iter().copied().chain(named.as_ref().map(|named| named.token));
        let presented = match (tokens.next(), taken) {
            (Some(first), _) => match tokens.find(|other| *other != first) {
                Some(other) => Presented::Contradiction(first.min(other), first.max(other)),
                None => Presented::One(first),
            },
            (None, Some(taken)) => Presented::Taken(taken.token),
            (None, None) => match t.presentation.any().or_else(|| t.remote.any_inline()) {
                Some(other) => Presented::Other(other),
                None => Presented::Nothing,
            },
        };
        (presented, named.filter(|_| inline.is_empty()))
    })
}
