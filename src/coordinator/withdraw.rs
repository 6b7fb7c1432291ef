//! `revoke_namespace`: withdrawing a privilege, and with `hold` the terms that it stood for.

use super::namespaces::{administered, read_grant};
use super::revoke::{lock_heartbeat, once_free, take_away};
use crate::epoch::gate;
use crate::pg::entry::{Answer, Args};
use crate::pg::lock::{Mode, Tag};
use crate::pg::{clock, role, xact};
use crate::store::namespace::{self, Namespace, Privilege};
use crate::store::{LeaseId, epoch, lease};
use fencing_core::{Code, Error};
use pgrx::pg_sys::Oid;

/// `revoke_namespace(name, role, privilege)`
pub fn revoke_namespace(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.revoke_namespace()");
    let (name, role, privilege) = read_grant(args)?;
    let namespace = administered(&name)?;
    if privilege == Privilege::Hold {
        // What is being acquired is decided first, by whoever may still hold.
        lock_out_acquirers(&namespace)?;
    }
    // A role that was dropped may still be on the list, by its number.
    if !namespace::withdraw(namespace.id, role, privilege) && !role::exists(role) {
        return Err(role::missing(role));
    }
    if privilege == Privilege::Hold {
        end_terms(&namespace, role)?;
    }
    Ok(Answer::Void)
}

fn lock_out_acquirers(namespace: &Namespace) -> Result<(), Error> {
    // Shared by writers, shut for acquirers.
    let tag = Tag::namespace(namespace.id);
    gate::take(&tag, Mode::Shared, || {
        let message = format!("leases of namespace \"{}\" are being acquired", namespace.name);
        Error::new(Code::LockNotAvailable, message)
            .hint("An open transaction has acquired one of them, or drops the namespace. Try again once it has ended.")
    })
}

/// Ends the live terms of the role and its members, as far as they may hold no more.
fn end_terms(namespace: &Namespace, withdrawn: Oid) -> Result<(), Error> {
    let mut terms = Vec::new();
    lease::each(namespace.id, |id, record, role| {
        let now = clock::of_lease(Some(&record));
        if record.may_write(namespace.policy.on_expiry, now)
            && !epoch::is_void(&record)
            && role::is_member(role, withdrawn)
            && !namespace::permits(namespace, role, &[Privilege::Hold])
        {
            terms.push(id);
        }
    });
    for id in &terms {
        pgrx::check_for_interrupts!();
        end_term(namespace, id, withdrawn)?;
    }
    Ok(())
}

fn end_term(namespace: &Namespace, id: &LeaseId, withdrawn: Oid) -> Result<(), Error> {
    let heartbeat = lock_heartbeat(namespace, id)?;
    let reason = format!(
        "hold was withdrawn from {}",
        role::name_if_any(withdrawn).unwrap_or_else(|| withdrawn.to_u32().to_string())
    );
    once_free(namespace, id, || {
        let Some(lease) = lease::read(id) else { return Ok(Some(())) };
        let now = clock::of_lease(Some(&lease.record));
        if !lease.record.may_write(namespace.policy.on_expiry, now) || epoch::is_void(&lease.record) {
            return Ok(Some(()));
        }
        Ok(take_away(namespace, id, &lease, now, &reason)?.then_some(()))
    })?;
    // Their number is not bounded, locks are. Until this commits, the row itself keeps others out.
    heartbeat.unlock(Mode::Exclusive);
    Ok(())
}
