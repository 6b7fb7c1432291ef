//! `inspect`: one row on a lease, read without locks.

use super::blockers::locks_and_row;
use super::named_lease;
use crate::pg::entry::{Answer, Args};
use crate::pg::lock::Tag;
use crate::pg::value::Value;
use crate::pg::{clock, text};
use crate::store::lease::Lease;
use crate::store::namespace::Privilege;
use crate::store::{LeaseId, epoch, lease};
use fencing_core::Error;
use fencing_core::lease::{EndReason, Grantability, grantability};

/// `inspect(namespace, key)`
pub fn inspect(args: &Args) -> Result<Answer<'static>, Error> {
    let (namespace, id) = named_lease(args, &[Privilege::Hold, Privilege::Observe, Privilege::Administer])?;
    let lease = lease::read(&id);
    let record = lease.as_ref().map(|l| &l.record);
    let now = clock::of_lease(record);
    let open = epoch::open_number();
    // What was granted in another epoch holds nothing.
    let record = record.filter(|r| open == 0 || r.token.epoch() == open);
    let state = match grantability(record, &namespace.policy, open, now) {
        _ if open == 0 => "closed",
        Grantability::Held { .. } => "held",
        Grantability::CoolingDown { .. } => "cooling_down",
        Grantability::Grantable if record.is_some_and(|r| r.end(now) == Some(EndReason::Expired)) => "expired",
        Grantability::Grantable => "free",
    };
    let blockers = if matches!(state, "free" | "expired") { blockers(&id, lease.as_ref()) } else { Vec::new() };
    // A term that was given back or taken away is nobody's; one that merely lapsed still names its
    // last holder.
    let term = record.filter(|r| matches!(r.end(now), None | Some(EndReason::Expired)));
    let holder = lease.as_ref().filter(|_| term.is_some()).map(|l| Value::Raw(text::datum_of(&l.holder())));
    Ok(Answer::Record(vec![
        Value::Raw(text::datum_of_str(&namespace.name)),
        Value::Raw(text::datum_of(&id.key)),
        Value::Text(state.as_bytes()),
        term.map_or(Value::Null, |r| Value::BigInt(r.token.to_bigint())),
        holder.unwrap_or(Value::Null),
        term.map_or(Value::Null, |r| Value::Time(r.acquired_at)),
        term.map_or(Value::Null, |r| Value::Time(r.expires_at)),
        term.map_or(Value::Null, |r| Value::Span((r.expires_at - now).max(0))),
        Value::Int(Tag::turn(id.hash).requests()),
        Value::Raw(text::array_of_int(&blockers)),
    ]))
}

/// The processes that the next `acquire` would find in its way; 0 for a prepared transaction.
fn blockers(id: &LeaseId, lease: Option<&Lease>) -> Vec<i32> {
    let mut pids: Vec<_> = locks_and_row(id, lease).flat_map(|(lock, mode)| lock.in_the_way_of(mode)).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}
