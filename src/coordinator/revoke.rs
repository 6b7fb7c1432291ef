//! `revoke` and `request_handover`: what others do about a term that is held.
//!
//! Neither takes a fence lock: a revocation ends what writers have open at their commit, and delays
//! no one. Both wait, within `fencing.max_wait`, for whoever is writing the lease's row.

use super::announce::announce;
use super::{named_lease, patience, require_done, required};
use crate::epoch::gate;
use crate::pg::entry::{Answer, Args};
use crate::pg::lock::{Mode, Tag};
use crate::pg::table::Written;
use crate::pg::value::Value;
use crate::pg::wait::{Waited, lock_until, poll};
use crate::pg::{clock, extension, role, xact};
use crate::store::event::{self, Event};
use crate::store::lease::{self, Lease, Leases};
use crate::store::namespace::{Namespace, Privilege};
use crate::store::{LeaseId, epoch, term};
use crate::transaction;
use fencing_core::lease::EndReason;
use fencing_core::time::{Instant, Span};
use fencing_core::{Code, Error, name};

/// `revoke(namespace, key, reason, grace)`
pub fn revoke(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.revoke()");
    let reason = required(args, 2, "reason")?;
    let grace = args.interval(3).ok_or_else(|| Error::null("grace"))?;
    let (namespace, id) = named_lease(args, &[Privilege::Administer])?;
    name::check_reason(&reason)?;
    let grace = name::check_span("grace", grace)?;
    let heartbeat = lock_heartbeat(&namespace, &id)?;
    let status = once_free(&namespace, &id, || {
        let Some((lease, now)) = live(&namespace, &id) else { return Ok(Some("not_held")) };
        if grace == 0 {
            return Ok(take_away(&namespace, &id, &lease, now, &reason)?.then_some("revoked"));
        }
        Ok(give_notice(&namespace, &id, &lease, now, &reason, grace)?.then_some("revoking"))
    })?;
    if status == "not_held" {
        heartbeat.unlock(Mode::Exclusive);
    }
    Ok(Answer::One(Value::Text(status.as_bytes())))
}

/// `request_handover(namespace, key)`
pub fn request_handover(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.request_handover()");
    let (namespace, id) = named_lease(args, &[Privilege::Hold, Privilege::Administer])?;
    require_alone()?;
    let is_held = || held(&id).filter(|(lease, now)| lease.record.end(*now).is_none());
    let Some((lease, _)) = is_held() else { return Ok(Answer::One(Value::Bool(false))) };
    if lease.handover_requested {
        return Ok(Answer::One(Value::Bool(true)));
    }
    let heartbeat = lock_heartbeat(&namespace, &id)?;
    let asked = once_free(&namespace, &id, || {
        let Some((lease, _)) = is_held() else { return Ok(Some(false)) };
        if Leases::to_write().request_handover(&lease) != Written::Done {
            return Ok(None);
        }
        event::record(&Event {
            kind: "handover_requested",
            lease: Some(&id),
            token: Some(lease.record.token),
            detail: &[],
        });
        Ok(Some(true))
    })?;
    if !asked {
        heartbeat.unlock(Mode::Exclusive);
    }
    Ok(Answer::One(Value::Bool(asked)))
}

/// Whoever may hold may ask: an open block of theirs must not keep the holder from renewing.
fn require_alone() -> Result<(), Error> {
    if xact::in_block() {
        return Err(Error::new(
            Code::ActiveTransaction,
            "fencing.request_handover() cannot run inside a transaction block",
        )
        .detail("Until the block ended, the lease's holder could not renew.")
        .hint("Run it by itself, in autocommit mode."));
    }
    xact::commit_immediately();
    Ok(())
}

/// Locks a lease's heartbeat against everyone who writes it, or 55P03.
pub fn lock_heartbeat(namespace: &Namespace, id: &LeaseId) -> Result<Tag, Error> {
    let heartbeat = Tag::heartbeat(id.hash);
    // Whoever shuts the gate for an epoch is waited for no longer.
    for (lock, mode) in [(Tag::gate(), Mode::Intent), (heartbeat, Mode::Exclusive)] {
        if lock_until(&lock, mode, patience()) != Waited::Locked {
            return Err(gate::naming(being_changed(namespace, id), &lock, mode));
        }
    }
    extension::catch_up();
    Ok(heartbeat)
}

/// Does what it takes as soon as nobody else has the row open, or 55P03.
pub fn once_free<T>(
    namespace: &Namespace,
    id: &LeaseId,
    mut attempt: impl FnMut() -> Result<Option<T>, Error>,
) -> Result<T, Error> {
    poll(patience(), || attempt().transpose()).unwrap_or_else(|| {
        let changer = lease::read(id).and_then(|lease| lease.changer());
        let error = being_changed(namespace, id);
        Err(match changer {
            Some(changer) => gate::naming(error, &changer, Mode::Shared),
            None => error,
        })
    })
}

fn being_changed(namespace: &Namespace, id: &LeaseId) -> Error {
    let lease = id.describe(&namespace.name);
    Error::new(Code::LockNotAvailable, format!("lease \"{lease}\" is being changed")).hint(
        "An open transaction has renewed, released or acquired it, or changes the epoch. Try again once that has ended.",
    )
}

/// A lease with coordinator time, unless it is void: of an epoch that is not the open one.
fn held(id: &LeaseId) -> Option<(Lease, Instant)> {
    let lease = lease::read(id)?;
    let now = clock::of_lease(Some(&lease.record));
    (!epoch::is_void(&lease.record)).then_some((lease, now))
}

/// A lease whose term may still write.
fn live(namespace: &Namespace, id: &LeaseId) -> Option<(Lease, Instant)> {
    held(id).filter(|(lease, now)| lease.record.may_write(namespace.policy.on_expiry, *now))
}

/// Ends a lease's term at once, unless somebody else has its row open.
pub fn take_away(
    namespace: &Namespace,
    id: &LeaseId,
    lease: &Lease,
    now: Instant,
    reason: &str,
) -> Result<bool, Error> {
    if Leases::to_write().end(lease, EndReason::Revoked, now) != Written::Done {
        return Ok(false);
    }
    let end = term::End { reason: EndReason::Revoked, by: Some(role::outer_user()), at: now, observed_at: now };
    if let Some(term) = term::read(lease.record.token) {
        require_done(term::close(&term, &lease.record, Some(&end), None))?;
    }
    event::record(&Event {
        kind: "revoked",
        lease: Some(id),
        token: Some(lease.record.token),
        detail: &[("reason", reason)],
    });
    transaction::with(|t| {
        t.fences.distrust(id);
        t.durable = true;
    });
    transaction::distrust_verdicts();
    announce(namespace, id, lease.record.token, "revoked");
    Ok(true)
}

/// Announces the end of a lease's term; sooner than announced before, never later.
fn give_notice(
    namespace: &Namespace,
    id: &LeaseId,
    lease: &Lease,
    now: Instant,
    reason: &str,
    grace: Span,
) -> Result<bool, Error> {
    let revoke_at = lease.record.revoke_at.min(now + grace);
    if Leases::to_write().announce_revocation(lease, revoke_at) != Written::Done {
        return Ok(false);
    }
    if let Some(term) = term::read(lease.record.token) {
        require_done(term::announce_revocation(&term, role::outer_user()))?;
    }
    event::record(&Event {
        kind: "revocation_announced",
        lease: Some(id),
        token: Some(lease.record.token),
        detail: &[("reason", reason), ("grace_ms", &((revoke_at - now) / 1000).to_string())],
    });
    transaction::with(|t| t.durable = true);
    announce(namespace, id, lease.record.token, "revoking");
    Ok(true)
}
