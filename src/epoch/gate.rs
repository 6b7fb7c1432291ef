//! The gate, shut: nobody writes under a token or acquires, renews or releases a lease until this
//! transaction ends, and nobody who did is still open.

use super::issue;
use crate::coordinator::patience;
use crate::pg::holder::{At, Holder};
use crate::pg::lock::{Mode, Tag};
use crate::pg::wait::{ClientWatch, DeadlockWatch, Waited, lock_until};
use crate::pg::{extension, mutant, prepared, role, session, text};
use crate::transaction;
use fencing_core::{Code, Error};

/// Shuts the gate, or 55P03 with the names of those in the way. Before any other lock: whoever waits
/// here must hold nothing that a writer may wait for.
pub fn shut() -> Result<(), Error> {
    if transaction::with(|t| t.fences.in_gate()) {
        return Err(Error::new(Code::ActiveTransaction, "cannot change an epoch in a transaction that holds a fence")
            .detail("It has written under a fencing token or acquired a lease, and would wait for itself.")
            .hint("Run it by itself, in autocommit mode."));
    }
    if !mutant::without("gate_shut") {
        let busy = || {
            Error::new(Code::LockNotAvailable, "open transactions are in the way of the epoch").hint(
                "They have written under a fencing token, or are changing a lease or the epoch. Wait until they have ended, or end them (pg_terminate_backend, ROLLBACK PREPARED); then repeat the call.",
            )
        };
        take(&Tag::gate(), Mode::Exclusive, busy)?;
    }
    begin_step();
    // Nobody is kept out by the gate any longer than that.
    issue::hold_sequence()
}

/// Whoever changes an epoch goes on knowing every change before, and never loses its own: durable, and not
/// to be prepared.
pub fn begin_step() {
    extension::catch_up();
    transaction::with(|t| {
        t.durable |= !mutant::without("epoch_durable");
        t.epoch_step |= !mutant::without("epoch_prepared");
    });
}

/// Takes a lock until the transaction ends, within bounds, or the error with the names of those in the way.
/// A healthy writer is never the one to pay for a deadlock.
pub fn take(lock: &Tag, mode: Mode, busy: impl FnOnce() -> Error) -> Result<(), Error> {
    // The common case costs no savepoint.
    if lock.try_lock(mode) {
        return Ok(());
    }
    let _client = ClientWatch::begin();
    let _deadlock = (!mutant::without("deadlock_watch")).then(DeadlockWatch::begin);
    match lock_until(lock, mode, patience()) {
        Waited::Locked => Ok(()),
        Waited::TimedOut | Waited::Deadlock => Err(naming(busy(), lock, mode)),
    }
}

/// The error with the names of those who stand in the way of a lock.
pub fn naming(error: Error, lock: &Tag, mode: Mode) -> Error {
    let mut holders = lock.held_against(mode);
    if holders.is_empty() {
        // They stand in the way of somebody who came before.
        holders = lock.held_against(Mode::Exclusive);
    }
    let places: Vec<_> = holders.iter().map(Holder::at).collect();
    let (activity, prepared) = (session::activity(), prepared::all());
    let mut who: Vec<String> = Vec::new();
    for at in &places {
        match at {
            At::Process(pid) => {
                let known = activity.iter().find(|a| a.pid == *pid);
                let role = known.and_then(|a| role::name_if_any(a.role)).map(|name| format!("role {name}"));
                let application = known.map(|a| text::from_server(&a.application)).filter(|name| !name.is_empty());
                let application = application.map(|name| format!("application {name}"));
                let more: Vec<_> = role.into_iter().chain(application).collect();
                who.push(format!("process {pid} ({})", more.join(", ")));
            }
            At::Prepared(xid) => {
                let gid = prepared.iter().find(|p| p.xid == *xid).map(|p| text::from_server(&p.gid));
                who.extend(gid.map(|gid| format!("prepared transaction \"{gid}\"")));
            }
            At::Over => {}
        }
    }
    who.sort_unstable();
    who.dedup();
    if who.is_empty() { error } else { error.detail(format!("In the way: {}.", who.join(", "))) }
}
