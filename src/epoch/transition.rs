//! From one epoch to the next: stop admitting, preserve the last state, open the next one.
//!
//! Each step is one transaction, durable, and behind the shut gate: a crash between two of them leaves
//! the coordinator closed, and the step that was lost is done again.

use super::{gate, issue, lineage, require_authority, steps};
use crate::pg::entry::{Answer, Args};
use crate::pg::table::Written;
use crate::pg::value::Value;
use crate::pg::{clock, extension, role, sequence, server, xact};
use crate::store::epoch::{self, NewEpoch, Recorded};
use crate::store::event::{self, Event};
use crate::store::{clean_start, lease, term};
use fencing_core::epoch::{State, may_open, next_epoch};
use fencing_core::json;
use fencing_core::lineage::Lineage;
use fencing_core::time::coordinator_time;
use fencing_core::{Code, Error, name};

/// `begin_epoch_transition(reason)`
pub fn begin(args: &Args) -> Result<Answer<'static>, Error> {
    require_writable("begin_epoch_transition")?;
    let reason = reason(args)?;
    require_authority("begin an epoch transition")?;
    gate::shut()?;
    let epoch = epoch::latest().ok_or_else(no_epoch)?;
    let here = server::lineage();
    if !epoch.is_closing_on(&here) {
        stop(&epoch, &here, &reason)?;
    }
    Ok(Answer::Void)
}

/// `unresolved()`: what is to be reconciled before the next epoch is opened.
pub fn unresolved(_args: &Args) -> Result<Answer<'static>, Error> {
    require_authority("see what is unresolved")?;
    Ok(Answer::Set(Vec::new()))
}

/// How many effects are to be reconciled.
fn count_unresolved() -> usize {
    0
}

/// `open_epoch(reason, carry_unresolved, force)`
pub fn open(args: &Args) -> Result<Answer<'static>, Error> {
    require_writable("open_epoch")?;
    let order = Order::read(args)?;
    require_authority("open an epoch")?;
    gate::shut()?;
    let epoch = epoch::latest().ok_or_else(no_epoch)?;
    let here = server::lineage();
    if !epoch.is_closing_on(&here) {
        return Err(not_begun(&epoch));
    }
    let number = open_next(&epoch, here, &order)?;
    steps::block_all(number)?;
    Ok(Answer::One(Value::BigInt(number)))
}

/// `advance_epoch(reason, carry_unresolved, force)`: everything in one transaction.
pub fn advance(args: &Args) -> Result<Answer<'static>, Error> {
    require_writable("advance_epoch")?;
    let order = Order::read(args)?;
    require_authority("open an epoch")?;
    gate::shut()?;
    if epoch::latest().is_none() {
        super::open_first(&order.reason)?;
        return Ok(Answer::One(Value::BigInt(epoch::last().unwrap_or_default())));
    }
    let mut epoch = epoch::latest().ok_or_else(no_epoch)?;
    let here = server::lineage();
    if !epoch.is_closing_on(&here) {
        stop(&epoch, &here, &order.reason)?;
        epoch = epoch::latest().ok_or_else(no_epoch)?;
    }
    let number = open_next(&epoch, here, &order)?;
    steps::unblock_all()?;
    Ok(Answer::One(Value::BigInt(number)))
}

/// How the next epoch is to be opened.
struct Order {
    reason: String,
    carry_unresolved: bool,
    force: bool,
}

impl Order {
    fn read(args: &Args) -> Result<Order, Error> {
        let flag = |n, argument: &str| args.bool(n).ok_or_else(|| Error::null(argument));
        Ok(Order { reason: reason(args)?, carry_unresolved: flag(1, "carry_unresolved")?, force: flag(2, "force")? })
    }
}

fn reason(args: &Args) -> Result<String, Error> {
    let reason = args.string(0).ok_or_else(|| Error::null("reason"))?;
    name::check_reason(&reason)?;
    Ok(reason)
}

/// Nothing is admitted in the epoch from now on. What it knew is recorded.
fn stop(epoch: &Recorded, here: &Lineage, reason: &str) -> Result<(), Error> {
    let at = coordinator_time(clock::now(), Some(epoch.opened_at));
    preserve(epoch, here, reason);
    done(epoch::begin_closing(epoch, at, here))
}

/// The last state of the epoch, as evidence.
fn preserve(epoch: &Recorded, here: &Lineage, reason: &str) {
    let (recorded, actual) = (lineage::object(&epoch.lineage.parts()), lineage::object(&here.parts()));
    let highest = term::highest().map_or_else(String::new, |(token, _)| token.to_bigint().to_string());
    let last = sequence::last_drawn(extension::oids().term_seq).to_string();
    let held = lease::count_held(epoch.epoch).to_string();
    let number = epoch.epoch.to_string();
    let texts = [
        ("epoch", number.as_str()),
        ("reason", reason),
        ("highest_term", &highest),
        ("last_sequence_value", &last),
        ("held_terms", &held),
    ];
    let texts: Vec<_> = texts.into_iter().map(|(key, value)| (key, json::string(value))).collect();
    let mut members: Vec<_> = texts.iter().map(|(key, value)| (*key, value.as_str())).collect();
    members.extend([("recorded", recorded.as_str()), ("actual", actual.as_str())]);
    let event = Event { kind: "epoch_transition", lease: None, token: None, detail: &[] };
    event::record_with(&event, &json::nested(&members));
}

/// Opens the epoch that follows `previous`, which is closing. Every older term is void from then on,
/// without a row of it being touched.
fn open_next(previous: &Recorded, here: Lineage, order: &Order) -> Result<i64, Error> {
    may_open(count_unresolved(), order.carry_unresolved)?;
    let clock = clock::now();
    let granted = term::highest().filter(|(token, _)| token.epoch() == previous.epoch);
    let number = next_epoch(clock, Some(previous.epoch), granted.map(|(_, at)| at), order.force)?;
    done(epoch::close(previous))?;
    // Two servers that open theirs in one minute don't issue equal tokens by accident.
    issue::move_on(clock)?;
    epoch::insert(&NewEpoch {
        epoch: number,
        identity: server::random_uuid(),
        opened_at: coordinator_time(clock, previous.closed_at),
        reason: &order.reason,
        opened_by: role::outer_user(),
        lineage: &here,
    });
    clean_start::note();
    let (number_text, previous_text) = (number.to_string(), previous.epoch.to_string());
    event::record(&Event {
        kind: "epoch_opened",
        lease: None,
        token: None,
        detail: &[("epoch", &number_text), ("previous", &previous_text), ("reason", &order.reason)],
    });
    Ok(number)
}

/// For rows that only whoever has shut the gate writes.
pub fn done(written: Written) -> Result<(), Error> {
    written.required("a row of the epoch is locked")
}

/// 25006 on a standby, and in a transaction that began on one.
pub fn require_writable(function: &str) -> Result<(), Error> {
    if xact::is_writable() {
        return Ok(());
    }
    let place = if server::in_recovery() { "on a standby" } else { "in a read-only transaction" };
    Err(Error::new(Code::ReadOnlyTransaction, format!("cannot execute fencing.{function}() {place}")).hint(
        "Epochs are opened on a primary. A transaction that began before the server was promoted stays read-only: repeat the call in a new one.",
    ))
}

fn no_epoch() -> Error {
    Error::new(Code::NotInPrerequisiteState, "no epoch has been opened yet")
        .hint("The first fencing.create_namespace() opens it.")
}

fn not_begun(epoch: &Recorded) -> Error {
    let error = Error::new(Code::NotInPrerequisiteState, "no epoch transition has begun on this server");
    let error = match epoch.state {
        State::Closing => error.detail(format!(
            "The one from epoch {} was begun on another server, of which this is a copy.",
            epoch.epoch
        )),
        State::Open | State::Closed => error.detail(format!("Epoch {} is open.", epoch.epoch)),
    };
    error.hint(
        "SELECT fencing.begin_epoch_transition('reason') begins one; fencing.advance_epoch('reason') does all of it.",
    )
}
