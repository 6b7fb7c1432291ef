//! What must hold in every state, and what must be reached in some.
//!
//! The violations are noted by the step that commits them (see [`Violation`]): a property looks at the
//! note alone.

use crate::config::{Config, Copied};
use crate::protocol::Protocol;
use crate::state::{Op, Server, Stage, State, Step, Violation, Writing};
use fencing_core::admission::{Rejection, Verdict};
use fencing_core::epoch::Coordinator;
use stateright::Property;

/// No write of an older term commits once the `acquire` of a newer one has.
pub const SEALED: &str = "G1 sealed takeover";
/// No write of an older epoch commits once a newer one is open.
pub const VOID: &str = "G1 an older epoch is void";
/// Nothing is written to a table that has not been resumed in its epoch.
pub const RESUMED: &str = "G1 a blocked table is not written to";
/// Nobody is granted a lease that somebody else may still rely on.
pub const ONE_HOLDER: &str = "G2 one holder";
/// No token reaches a second client.
pub const ONCE: &str = "G3 issued once";
/// Every term is above all terms before it.
pub const ORDER: &str = "G3 order";
/// No write commits under a term that had ended before.
pub const ENDED: &str = "G4 no write after the term's end";
/// No write commits that was decided by what was read before the takeover.
pub const FRESH: &str = "G4 no decision from before the takeover";

type Condition = fn(&Protocol, &State) -> bool;

fn always(name: &'static str, condition: Condition) -> Property<Protocol> {
    Property::always(name, condition)
}

fn sometimes(name: &'static str, condition: Condition) -> Property<Protocol> {
    Property::sometimes(name, condition)
}

/// The properties of a configuration.
pub fn all(config: &Config) -> Vec<Property<Protocol>> {
    let mut all = vec![
        always(SEALED, |_, s| !s.is_violated(Violation::Stale)),
        always(VOID, |_, s| !s.is_violated(Violation::OlderEpoch)),
        always(RESUMED, |_, s| !s.is_violated(Violation::Blocked)),
        always(ONE_HOLDER, |_, s| !s.is_violated(Violation::TwoHolders)),
        always(ONCE, |_, s| !s.is_violated(Violation::Twice)),
        always(ORDER, |_, s| !s.is_violated(Violation::Order)),
        always(ENDED, |_, s| !s.is_violated(Violation::Ended)),
        always(FRESH, |_, s| !s.is_violated(Violation::OldSnapshot)),
        sometimes("a second term is granted", |_, s| s.issued[1].seq() > 0 && s.issued[1] < s.issued[0]),
        sometimes("a stale write is rejected (LF001)", |p, s| {
            meets(p, s, |why| matches!(why, Rejection::Stale { .. }))
        }),
        sometimes("an open writer blocks a takeover", blocks),
    ];
    let reached: [(bool, Property<Protocol>); 9] = [
        (
            !config.accepts_expired,
            sometimes("a term that has ended is rejected (LF003)", |p, s| {
                meets(p, s, |why| matches!(why, Rejection::Ended(..)))
            }),
        ),
        (
            config.epochs > 0 && config.copies == 0,
            sometimes("an older epoch is rejected (LF005)", |p, s| {
                meets(p, s, |why| matches!(why, Rejection::Epoch { .. }))
            }),
        ),
        (
            config.epochs > 0,
            sometimes("a write is accepted in a second epoch", |_, s| {
                let accepted = |_: &Server, w: &Writing| w.token.epoch() > 1 && w.stage == Stage::Ready;
                any_writer(s, accepted)
            }),
        ),
        (
            config.copies > 0,
            sometimes("a copy is closed (LF006)", |p, s| {
                s.servers.iter().flatten().any(|here| p.coordinator(here) == Coordinator::LineageChanged)
            }),
        ),
        (
            config.guesses || config.kinds.contains(&Copied::Snapshot),
            sometimes("a token that was never drawn is rejected (LF004)", |p, s| {
                meets(p, s, |why| matches!(why, Rejection::Unknown(_)))
            }),
        ),
        (
            config.snapshots,
            sometimes("a snapshot from before the takeover is rejected (40001)", |p, s| {
                meets(p, s, |why| matches!(why, Rejection::SnapshotPredatesTakeover(_)))
            }),
        ),
        (
            config.two_phase,
            sometimes("a prepared transaction outlives a crash", |p, s| {
                let crashed = s.left.crashes < p.config.crashes;
                crashed && any_writer(s, |here, w| !here.settled && w.stage == Stage::Prepared)
            }),
        ),
        (
            config.crashes > 0,
            sometimes("an answer is lost, and the term is granted again on request", |_, s| {
                s.servers.iter().flatten().filter_map(|here| here.db.row).any(|row| {
                    let asker = s.clients.get(row.asked_by as usize).copied().flatten();
                    asker.is_some_and(|asker| asker.op == Op::Idle)
                })
            }),
        ),
        (
            config.in_block,
            sometimes("a token is known before it is committed", |_, s| {
                s.clients.iter().flatten().any(|client| matches!(client.op, Op::Taking(t) if t.step == Step::Told))
            }),
        ),
    ];
    all.extend(reached.into_iter().filter_map(|(here, property)| here.then_some(property)));
    all
}

fn any_writer(s: &State, is: impl Fn(&Server, &Writing) -> bool) -> bool {
    s.clients.iter().flatten().any(|client| match (&client.op, s.server(client.server)) {
        (Op::Writing(w), Some(here)) => is(here, w),
        _ => false,
    })
}

/// Whether a writer is about to be rejected in that way.
fn meets(p: &Protocol, s: &State, how: impl Fn(&Rejection) -> bool) -> bool {
    s.clients.iter().flatten().any(|client| match &client.op {
        Op::Writing(w) if matches!(w.stage, Stage::Gated | Stage::Locked) => {
            matches!(p.verdict(s, client.server, w), Some(Verdict::Rejected(why)) if how(&why))
        }
        _ => false,
    })
}

/// Whether an `acquire` finds the lease grantable, and the fence held by a writer.
fn blocks(p: &Protocol, s: &State) -> bool {
    let looks = |op: &Op| matches!(op, Op::Taking(t) if t.step == Step::Looked);
    (0..2).any(|server| s.ops(server).any(looks) && p.fence_is_held(s, server) && any_writer(s, |_, w| w.fence))
}

/// The promises: what holds in every state.
pub fn promises() -> impl Iterator<Item = &'static str> {
    [SEALED, VOID, RESUMED, ONE_HOLDER, ONCE, ORDER, ENDED, FRESH].into_iter()
}
