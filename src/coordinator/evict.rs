//! `evict`: ends the sessions that stand in the way of a takeover.
//!
//! That a process was told to end proves nothing; that its locks are gone does.

use super::blockers::in_the_way;
use super::{named_lease, patience};
use crate::pg::entry::{Answer, Args};
use crate::pg::holder::{At, Holder};
use crate::pg::value::Value;
use crate::pg::wait::{Deadline, poll};
use crate::pg::{clock, memory, prepared, role, session, text, xact};
use crate::store::LeaseId;
use crate::store::event::{self, Event};
use crate::store::namespace::{Namespace, Privilege};
use crate::store::{epoch, lease};
use fencing_core::time::{SECOND, Span};
use fencing_core::{Code, Error, Token};

/// Whoever ends within this time needs no ending: a grant in flight, a write that is being rejected.
const BY_THEMSELVES: Span = SECOND / 10;

struct Target {
    holder: Holder,
    pid: Option<i32>,
    role: Option<String>,
    signalled: bool,
}

/// `evict(namespace, key)`
pub fn evict(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.evict()");
    let (namespace, id) = named_lease(args, &[Privilege::Administer])?;
    // First who is in the way, then whether anybody holds the lease: who was in the way of a lease
    // that nobody holds is not its holder.
    let mut targets = targets(&id);
    let token = not_held(&id).map_err(|Held| is_held(&namespace, &id))?;
    wait(&id, &targets, Deadline::after(BY_THEMSELVES));
    // A renewal that was open until now may have saved the term.
    if not_held(&id).is_ok() {
        for target in those_left(&id, &mut targets) {
            target.signalled = target.holder.terminate();
        }
        wait(&id, &targets, patience());
    }
    Ok(Answer::Set(answer(&id, token, &targets)))
}

fn targets(id: &LeaseId) -> Vec<Target> {
    let activity = session::activity();
    let target = |holder: Holder| {
        let pid = match holder.at() {
            At::Process(pid) => Some(pid),
            At::Prepared(_) => None,
            At::Over => return None,
        };
        let does = activity.iter().find(|a| Some(a.pid) == pid);
        Some(Target { holder, pid, role: does.and_then(|a| role::name_if_any(a.role)), signalled: false })
    };
    in_the_way(id).into_iter().filter_map(target).collect()
}

struct Held;

/// The lease's latest token, unless that is of a term that holds it.
fn not_held(id: &LeaseId) -> Result<Option<Token>, Held> {
    let Some(record) = lease::read(id).map(|lease| lease.record) else { return Ok(None) };
    let now = clock::of_lease(Some(&record));
    if record.end(now).is_none() && !epoch::is_void(&record) { Err(Held) } else { Ok(Some(record.token)) }
}

fn is_held(namespace: &Namespace, id: &LeaseId) -> Error {
    Error::new(Code::ObjectInUse, format!("lease \"{}\" is held", id.describe(&namespace.name)))
        .detail("Sessions are ended only where they keep back a lease that nobody holds.")
        .hint("Revoke it first: SELECT fencing.revoke(namespace, key, reason).")
}

fn is_left(target: &Target, holders: &[Holder]) -> bool {
    holders.contains(&target.holder) && target.holder.at() != At::Over
}

fn those_left<'a>(id: &LeaseId, targets: &'a mut [Target]) -> impl Iterator<Item = &'a mut Target> {
    let holders = in_the_way(id);
    targets.iter_mut().filter(move |target| is_left(target, &holders))
}

/// Waits until none of them is in the way any more, prepared transactions apart.
fn wait(id: &LeaseId, targets: &[Target], deadline: Deadline) {
    poll(deadline, || {
        let holders = memory::transient(|| in_the_way(id));
        let runs = |target: &&Target| matches!(target.holder.at(), At::Process(_));
        targets.iter().filter(runs).all(|target| !is_left(target, &holders)).then_some(())
    });
}

fn answer(id: &LeaseId, token: Option<Token>, targets: &[Target]) -> Vec<Vec<Value<'static>>> {
    let (holders, prepared) = (in_the_way(id), prepared::all());
    let gid_of = |target: &Target| match target.holder.at() {
        At::Prepared(xid) => prepared.iter().find(|p| p.xid == xid).map(|p| p.gid.clone()),
        _ => None,
    };
    let mut rows = Vec::new();
    for target in targets {
        let gid = gid_of(target);
        let status = match is_left(target, &holders) {
            true if gid.is_some() => "prepared",
            true => "still_there",
            false if target.signalled => "terminated",
            false => "gone",
        };
        record(id, token, target, gid.as_deref(), status);
        let pid = target.pid.filter(|_| gid.is_none());
        rows.push(vec![
            pid.map_or(Value::Null, Value::Int),
            gid.map_or(Value::Null, |gid| Value::Raw(text::datum_of(&gid))),
            Value::Text(status.as_bytes()),
        ]);
    }
    rows
}

/// What became of each is evidence of its own.
fn record(id: &LeaseId, token: Option<Token>, target: &Target, gid: Option<&[u8]>, status: &str) {
    let (pid, gid) = (target.pid.map(|pid| pid.to_string()), gid.map(text::from_server));
    let known = [
        ("status", Some(status)),
        ("pid", pid.as_deref()),
        ("role", target.role.as_deref()),
        ("prepared_gid", gid.as_deref()),
    ];
    let detail: Vec<_> = known.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    event::record(&Event { kind: "eviction", lease: Some(id), token, detail: &detail });
}
