//! Who stands in the way of a takeover.

use super::named_lease;
use crate::pg::entry::{Answer, Args};
use crate::pg::holder::{At, Holder};
use crate::pg::lock::{Mode, Tag};
use crate::pg::value::Value;
use crate::pg::{clock, prepared, role, session, text};
use crate::store::LeaseId;
use crate::store::lease::{self, Lease};
use crate::store::namespace::Privilege;
use fencing_core::Error;

/// The locks that an `acquire` takes behind the gate.
pub fn locks(id: &LeaseId) -> [(Tag, Mode); 3] {
    [
        (Tag::fence(id.hash), Mode::Exclusive),
        (Tag::heartbeat(id.hash), Mode::Exclusive),
        (Tag::namespace(id.namespace), Mode::Intent),
    ]
}

/// Those, and that of whoever has the lease's row open: a batch of renewals locks rows alone.
pub fn locks_and_row(id: &LeaseId, lease: Option<&Lease>) -> impl Iterator<Item = (Tag, Mode)> {
    let row = lease.and_then(Lease::changer).map(|changer| (changer, Mode::Shared));
    locks(id).into_iter().chain(row)
}

/// The transactions, other than this one, that the next `acquire` would find in its way.
pub fn in_the_way(id: &LeaseId) -> Vec<Holder> {
    let mut holders = Vec::new();
    for holder in locks_and_row(id, lease::read(id).as_ref()).flat_map(|(lock, mode)| lock.held_against(mode)) {
        if !holders.contains(&holder) {
            holders.push(holder);
        }
    }
    holders
}

/// `blockers(namespace, key)`
pub fn blockers(args: &Args) -> Result<Answer<'static>, Error> {
    let (_, id) = named_lease(args, &[Privilege::Hold, Privilege::Observe, Privilege::Administer])?;
    let places: Vec<_> = in_the_way(&id).iter().map(Holder::at).collect();
    let prepared = if places.iter().any(|at| matches!(at, At::Prepared(_))) { prepared::all() } else { Vec::new() };
    let activity = if places.iter().any(|at| matches!(at, At::Process(_))) { session::activity() } else { Vec::new() };
    let now = clock::server();
    let string = |bytes: &[u8]| Value::Raw(text::datum_of(bytes));
    let name = |role| role::name_if_any(role).map_or(Value::Null, |name| Value::Raw(text::datum_of_str(&name)));
    let age = |since: i64| Value::Span((now - since).max(0));
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let mut pids: Vec<_> =
        places.iter().filter_map(|at| if let At::Process(pid) = at { Some(*pid) } else { None }).collect();
    pids.sort_unstable();
    for pid in pids {
        let does = activity.iter().find(|a| a.pid == pid);
        rows.push(vec![
            Value::Int(pid),
            Value::Null,
            does.map_or(Value::Null, |a| name(a.role)),
            does.map_or(Value::Null, |a| string(&a.application)),
            does.and_then(|a| a.transaction_start).map_or(Value::Null, age),
        ]);
    }
    let mut waiting: Vec<_> = prepared.iter().filter(|p| places.contains(&At::Prepared(p.xid))).collect();
    waiting.sort_unstable_by(|a, b| a.gid.cmp(&b.gid));
    rows.extend(waiting.iter().map(|p| vec![Value::Null, string(&p.gid), name(p.role), Value::Null, age(p.at)]));
    Ok(Answer::Set(rows))
}
