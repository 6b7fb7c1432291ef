//! `drop_lease` and `purge_leases`: removing a lease's row. Its fence and its terms stay, so that no
//! token is ever taken for a newer one.

use super::blockers::locks;
use super::{named_lease, require_done};
use crate::pg::entry::{Answer, Args};
use crate::pg::lock;
use crate::pg::outcome::throw;
use crate::pg::table::Written;
use crate::pg::value::Value;
use crate::pg::{clock, memory, role, xact};
use crate::store::event::{self, Event};
use crate::store::lease::{self, Lease, Leases};
use crate::store::namespace::{self, Namespace, Privilege};
use crate::store::{LeaseId, epoch, term};
use crate::transaction;
use fencing_core::lease::{EndReason, ExpiryRule, Grantability, Record, grantability};
use fencing_core::time::{Instant, Span};
use fencing_core::{Error, name};

/// `drop_lease(namespace, key)`
pub fn drop_lease(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.drop_lease()");
    let (namespace, id) = named_lease(args, &[Privilege::Administer])?;
    let status = |status: &'static str| Ok(Answer::One(Value::Text(status.as_bytes())));
    // A writer of this very transaction is in its way, too.
    if transaction::with(|t| t.fences.holds(&id)) || !seize(&id) {
        return status("blocked");
    }
    let Some(lease) = lease::read(&id) else {
        let_go(&id);
        return status("unknown");
    };
    let now = clock::of_lease(Some(&lease.record));
    if remove(&lease, namespace.policy.on_expiry, now)? != Written::Done {
        let_go(&id);
        return status("blocked");
    }
    event::record(&Event { kind: "lease_dropped", lease: Some(&id), token: Some(lease.record.token), detail: &[] });
    transaction::with(|t| t.durable = true);
    transaction::distrust_verdicts();
    status("deleted")
}

/// `purge_leases(idle_for)`
pub fn purge_leases(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.purge_leases()");
    let idle_for = args.interval(0).ok_or_else(|| Error::null("idle_for"))?;
    let idle_for = name::check_span("idle_for", idle_for)?;
    let user = role::asking_user();
    let mut purged = 0;
    for namespace in namespace::all() {
        if namespace::permits(&namespace, user, &[Privilege::Administer]) {
            purged += purge(&namespace, idle_for);
        }
    }
    Ok(Answer::One(Value::BigInt(purged)))
}

/// Removes what has been idle for so long in a namespace, and isn't locked.
fn purge(namespace: &Namespace, idle_for: Span) -> i64 {
    let mut purged = 0;
    lease::each(namespace.id, |id, record, _| {
        pgrx::check_for_interrupts!();
        if is_idle(&record, namespace, idle_for) && purge_one(&id, namespace, idle_for) {
            purged += 1;
        }
    });
    if purged > 0 {
        let count = purged.to_string();
        let detail = [("namespace", namespace.name.as_str()), ("leases", &count)];
        event::record(&Event { kind: "leases_purged", lease: None, token: None, detail: &detail });
        transaction::distrust_verdicts();
    }
    purged
}

/// Over for so long, and kept back by nothing.
fn is_idle(record: &Record, namespace: &Namespace, idle_for: Span) -> bool {
    let now = clock::of_lease(Some(record));
    let governing = epoch::governing(record);
    let ended_at = epoch::void_end(record, governing, now).map_or_else(|| record.end_time(now), |(_, at)| at);
    let open = governing.unwrap_or_default();
    grantability(Some(record), &namespace.policy, open, now) == Grantability::Grantable && now - ended_at >= idle_for
}

fn purge_one(id: &LeaseId, namespace: &Namespace, idle_for: Span) -> bool {
    if transaction::with(|t| t.fences.holds(id)) || !seize(id) {
        return false;
    }
    let lease = lease::read(id).filter(|lease| is_idle(&lease.record, namespace, idle_for));
    let now = clock::of_lease(lease.as_ref().map(|lease| &lease.record));
    let on_expiry = namespace.policy.on_expiry;
    let removed = lease.as_ref().is_some_and(|lease| match remove(lease, on_expiry, now) {
        Ok(written) => written == Written::Done,
        Err(error) => throw(error),
    });
    // Their number is not bounded, locks are. Until this commits, the row itself keeps acquirers out;
    // a writer of a term that could still write finds it gone when it commits.
    let_go(id);
    removed
}

/// Removes a lease's row; whatever its term has not ended by ends it.
pub fn remove(lease: &Lease, on_expiry: ExpiryRule, now: Instant) -> Result<Written, Error> {
    memory::transient(|| {
        let written = Leases::to_write().remove(lease);
        let term = term::read(lease.record.token).filter(|term| term.record.ended.is_none());
        if written == Written::Done
            && let Some(term) = term
        {
            let void = epoch::void_end(&lease.record, epoch::governing(&lease.record), now);
            let (reason, at) = void.unwrap_or_else(|| lease.record.end_by_removal(on_expiry, now));
            let by = (reason == EndReason::Deleted).then(role::outer_user);
            let end = term::End { reason, by, at, observed_at: now };
            require_done(term::close(&term, &lease.record, Some(&end), None))?;
        }
        Ok(written)
    })
}

/// Takes every lock that keeps writers and acquirers out, without waiting: all of them or none.
fn seize(id: &LeaseId) -> bool {
    if !lock::try_enter_gate() {
        return false;
    }
    let locks = locks(id);
    for (taken, (lock, mode)) in locks.iter().enumerate() {
        if !lock.try_lock(*mode) {
            locks[..taken].iter().rev().for_each(|(lock, mode)| lock.unlock(*mode));
            lock::leave_gate();
            return false;
        }
    }
    true
}

/// Undoes [`seize`].
fn let_go(id: &LeaseId) {
    locks(id).iter().rev().for_each(|(lock, mode)| lock.unlock(*mode));
    lock::leave_gate();
}
