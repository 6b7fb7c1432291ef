//! `purge_fences`: forgets the fences of leases that are used no more. A floor stands for them.

use super::hold::USE_RECORDED_EVERY;
use super::register::{enter, require_authority};
use crate::epoch::gate;
use crate::pg::entry::{Answer, Args};
use crate::pg::lock::{Mode, Tag};
use crate::pg::outcome::throw;
use crate::pg::table::Written;
use crate::pg::value::Value;
use crate::pg::{clock, memory, mutant, xact};
use crate::store::coordinator;
use crate::store::event::{self, Event};
use crate::store::remote_fence::{self, RemoteId};
use crate::transaction;
use fencing_core::time::Span;
use fencing_core::{Code, Error, Token, name};
use std::collections::BTreeMap;
use std::rc::Rc;

/// `purge_fences(coordinator, idle_for)`
pub fn purge_fences(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.purge_fences()");
    let name = args.string(0).ok_or_else(|| Error::null("coordinator"))?;
    let idle_for = args.interval(1).ok_or_else(|| Error::null("idle_for"))?;
    let idle_for = name::check_span("idle_for", idle_for)?;
    require_authority()?;
    enter(&name)?;
    coordinator::require(&name)?;
    let mut floors = BTreeMap::<Rc<str>, Token>::new();
    let mut purged = 0;
    remote_fence::each(&name, |lease| {
        pgrx::check_for_interrupts!();
        if let Some(token) = purge_one(&lease, idle_for) {
            purged += 1;
            let floor = floors.entry(lease.namespace).or_insert(token);
            *floor = token.max(*floor);
        }
    });
    if !floors.is_empty() {
        // They are raised by one at a time.
        gate::take(&Tag::floors(&name), Mode::Exclusive, || {
            let message = format!("fences of coordinator \"{name}\" are being purged");
            Error::new(Code::LockNotAvailable, message).hint(
                "Repeat the call once the other transaction has ended, or end it: pg_terminate_backend, ROLLBACK PREPARED.",
            )
        })?;
    }
    for (namespace, token) in floors {
        let written = remote_fence::raise_floor(&name, &namespace, token);
        if !mutant::without("remote_floor") {
            written.required("a floor of the coordinator's fences is locked")?;
        }
    }
    if purged > 0 {
        let count = purged.to_string();
        let detail = [("coordinator", name.as_str()), ("fences", &count)];
        event::record(&Event { kind: "fences_purged", lease: None, token: None, detail: &detail });
        transaction::with(|t| t.durable = true);
    }
    Ok(Answer::One(Value::BigInt(purged)))
}

/// Removes a fence that has been idle for so long and is not held; gives its token.
fn purge_one(lease: &RemoteId, idle_for: Span) -> Option<Token> {
    if transaction::with(|t| t.remote.accepted(lease)).is_some() {
        return None;
    }
    let lock = lease.lock();
    if !lock.try_lock(Mode::Exclusive) {
        return None;
    }
    let token = memory::transient(|| {
        let fence = remote_fence::read(lease).filter(|fence| !fence.is_being_changed())?;
        let used = remote_fence::last_use(lease).map_or(fence.advanced_at, |at| at.max(fence.advanced_at));
        // Up to so long after it was recorded it may have been used without a record.
        if clock::now() - used < idle_for + USE_RECORDED_EVERY && !mutant::without("remote_idle") {
            return None;
        }
        match remote_fence::forget(lease, &fence) {
            Written::Done => Some(fence.token),
            Written::Busy | Written::Changed => throw(
                Error::new(Code::LockNotAvailable, "a fence is locked")
                    .hint("Try again once the other transaction has ended."),
            ),
        }
    });
    // Their number is not bounded, locks are. Until this commits, whoever finds the row removed waits.
    lock.unlock(Mode::Exclusive);
    token
}
