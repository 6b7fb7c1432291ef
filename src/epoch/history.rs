//! Lost history, as tokens tell of it: one that is above everything drawn was issued by a history that
//! this database has lost, or was made up.
//!
//! What is done about it outlives the transaction, which mostly fails for that very token.

use super::issue;
use crate::pg::backend::{Backend, BackendCell};
use crate::pg::{clock, mutant, role, xact};
use crate::store::LeaseId;
use crate::store::epoch::{self, Recorded};
use crate::store::event::{self, Event};
use crate::store::namespace::{self, Privilege};
use fencing_core::Token;
use fencing_core::epoch::{Coordinator, plausible, plausible_epoch};
use fencing_core::time::{Instant, MINUTE};
use std::cell::Cell;

/// Kinds of event: a token that a lost history may have issued, and one that tells nothing.
const LOST: &str = "history_lost";
const UNKNOWN: &str = "unknown_token";

const ABOVE: &str = "It is above every token that was drawn: this database has lost history, or the token is made up.";

/// Hears what tokens that were never issued here tell, presented for a lease if one is known. Gives what
/// to say of the highest, if it is above everything drawn and may yet have been issued.
///
/// Where its presenter might hold the lease, its number is passed over: it will never be issued to
/// anybody else.
pub fn witness(values: &[i64], lease: Option<&LeaseId>) -> Option<&'static str> {
    // The sequence first, which may have to be waited for: the next epoch may begin it anew.
    let last = issue::last_so_far().ok()?;
    let Some(Coordinator::Open(open)) = epoch::coordinator() else { return None };
    let tokens = || values.iter().filter_map(|value| Token::from_bigint(*value));
    let of_this_epoch = tokens().filter(|token| token.epoch() == open && token.seq() > last).max();
    let Some(token) = of_this_epoch.or_else(|| tokens().filter(|token| token.epoch() > open).max()) else {
        // Passed over before, for the same reason.
        return tokens().any(|token| event::is_recorded(LOST, token)).then_some(ABOVE);
    };
    let (recorded, now) = (epoch::latest()?, clock::now());
    let (plausible, told) = if of_this_epoch.is_some() {
        let plausible =
            plausible(token.seq(), recorded.after_seq, recorded.opened_at, now) || mutant::without("plausible");
        (plausible, ABOVE)
    } else {
        let plausible = plausible_epoch(token.epoch(), now);
        (plausible, "Its epoch was never opened here: this database has lost history, or the token is made up.")
    };
    if xact::is_writable() && !mutant::without("witness") {
        let believed = plausible && may_hold(lease);
        testify(token, lease, believed, believed && of_this_epoch.is_some(), now);
    }
    plausible.then_some(told)
}

/// Records what a token tells; passes its number over, if it is to be `burned`, and as many more as another
/// copy would not: where both hear of each other's, they don't go on at the same number.
fn testify(token: Token, lease: Option<&LeaseId>, believed: bool, burned: bool, now: Instant) {
    let kind = if believed { LOST } else { UNKNOWN };
    let burn = |last| {
        if last < token.seq() {
            issue::pass_over(token.epoch(), token.seq().saturating_add(issue::random_stride()));
        }
    };
    let burned = burned && !mutant::without("burn") && issue::exclusively(burn).is_ok();
    if !burned && !is_due(kind, now) {
        return;
    }
    event::record_at_once(&Event {
        kind,
        lease,
        token: Some(token),
        detail: &[("burned", if burned { "true" } else { "false" })],
    });
}

/// Whether the caller might be a holder of the lost history: of this lease, or of any where that is not
/// known. Nobody else moves the sequence.
fn may_hold(lease: Option<&LeaseId>) -> bool {
    if mutant::without("may_hold") {
        return true;
    }
    let user = role::asking_user();
    let holds = |namespace: &namespace::Namespace| namespace::permits(namespace, user, &[Privilege::Hold]);
    match lease {
        Some(lease) => namespace::by_id(lease.namespace).is_some_and(|namespace| holds(&namespace)),
        None => namespace::all().iter().any(|namespace| holds(namespace)),
    }
}

/// When this backend last recorded what it did nothing about.
static RECORDED: BackendCell<Option<Instant>> = Backend::new(Cell::new(None));

/// Once a minute is enough, in this session and in others: nothing else bounds what somebody makes up.
fn is_due(kind: &str, now: Instant) -> bool {
    let recent = |at: Instant| (at..at + MINUTE).contains(&now);
    if RECORDED.get().is_some_and(recent) || event::last_of(kind).is_some_and(recent) {
        return false;
    }
    RECORDED.set(Some(now));
    true
}

/// Whether anybody has presented a token since that epoch was opened that only a lost history explains.
pub fn is_lost(recorded: &Recorded) -> bool {
    let lowest = Token::new(recorded.epoch, 1).map_or(i64::MAX, Token::to_bigint);
    event::any(LOST, lowest, recorded.opened_at)
}
