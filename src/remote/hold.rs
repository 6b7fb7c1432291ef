//! Taking hold of a fence under a token: shared with others under the same one, or alone to advance it.
//!
//! Which of the two is decided before locking, by a look. Under the lock the fence is looked at again; if
//! it now wants the other mode, the lock is let go and all begins anew. No lock is ever upgraded, and
//! nothing of this lease is held while anybody is waited for.

use crate::epoch::gate;
use crate::pg::lock::{Mode, Tag};
use crate::pg::table::{self, Written};
use crate::pg::wait::{Deadline, DeadlockWatch, Waited, lock_until};
use crate::pg::{clock, mutant, snapshot, xact};
use crate::store::remote_fence::{self, Fence, RemoteId};
use crate::transaction;
use crate::transaction::remote::{self, Held};
use fencing_core::remote::{Hold, Rejection, Source, compare, stale};
use fencing_core::time::{Instant, SECOND, Span};
use fencing_core::{Code, Error, Token};

/// How long to wait for those who write under another token.
#[derive(Clone, Copy)]
pub enum Patience {
    /// As for a row: until they have ended, or `lock_timeout` says otherwise.
    Endless,
    /// No longer than this.
    Until(Deadline),
}

/// The use of a fence is recorded no more often.
pub const USE_RECORDED_EVERY: Span = 3600 * SECOND;

/// Holds the fence of a lease until the transaction ends, if the token may pass.
pub fn hold(lease: &RemoteId, token: Token, patience: Patience) -> Result<Result<(), Rejection>, Error> {
    loop {
        // What is stored never falls: no lock is needed to be told that the token is stale.
        let planned = match Seen::look(lease).compare(token) {
            Ok(hold) => hold,
            Err(_) if mutant::without("remote_compare") => Hold::Share,
            Err(why) => return Ok(Err(why)),
        };
        let many = transaction::with(|t| t.remote.holds_many()) && !mutant::without("remote_rows");
        let mode = mode_of(planned, many);
        let lock = lease.lock();
        if !mutant::without("remote_lock") {
            acquire(lease, &lock, mode, patience)?;
        }
        match under_lock(lease, token, mode, many)? {
            Found::Held(held) => {
                if held == Held::Row {
                    lock.unlock(mode);
                }
                remote::accept(lease, token, held);
                return Ok(Ok(()));
            }
            Found::Rejected(why) => {
                release(&lock, mode);
                return Ok(Err(why));
            }
            Found::Other => release(&lock, mode),
            Found::Busy(changer) => {
                release(&lock, mode);
                acquire(lease, &changer, Mode::Shared, patience)?;
                changer.unlock(Mode::Shared);
            }
        }
        pgrx::check_for_interrupts!();
    }
}

/// How the lock is to be held; a fence that is held by its row is written either way.
fn mode_of(hold: Hold, by_row: bool) -> Mode {
    if hold == Hold::Advance || by_row { Mode::Exclusive } else { Mode::Shared }
}

/// What is found under the lock.
enum Found {
    /// The fence is held so.
    Held(Held),
    /// The token may not pass.
    Rejected(Rejection),
    /// It takes the other mode.
    Other,
    /// An open transaction has changed the fence without keeping its lock; the lock that says which.
    Busy(Tag),
}

fn under_lock(lease: &RemoteId, token: Token, mode: Mode, many: bool) -> Result<Found, Error> {
    let mut seen = Seen::look(lease);
    if seen.fence.is_none() && !mutant::without("remote_inserter") {
        if let Some(inserter) = remote_fence::inserter(lease) {
            return Ok(Found::Busy(inserter));
        }
        // Whoever was about to store it may have committed since.
        seen = Seen::look(lease);
    }
    if let Some(fence) = seen.fence.as_ref().filter(|fence| fence.is_being_changed()) {
        return fence.changer().map(Found::Busy).ok_or_else(|| locked_by_hand(lease));
    }
    let needed = match seen.compare(token) {
        Ok(hold) => hold,
        Err(_) if mutant::without("remote_compare") => Hold::Share,
        Err(why) => return Ok(Found::Rejected(why)),
    };
    if mode_of(needed, many) != mode {
        return Ok(Found::Other);
    }
    if !seen.takeover_visible(lease) {
        return Ok(Found::Rejected(Rejection::SnapshotPredatesTakeover(token)));
    }
    if needed == Hold::Advance && seen.may_hide_writes() {
        // It stays advanced: run again, the transaction finds its term where it begins.
        remote_fence::advance_at_once(lease, seen.fence.as_ref(), token, xact::full_xid(), clock::now());
        transaction::with(|t| t.remote.cannot_see(lease));
        return Ok(Found::Rejected(Rejection::SnapshotPredatesTakeover(token)));
    }
    let written = match (needed, &seen.fence) {
        (Hold::Advance, _) if mutant::without("remote_advance") => Written::Done,
        (Hold::Advance, fence) => {
            // One that a crash forgets is one that an older holder gets round.
            transaction::with(|t| t.durable |= !mutant::without("remote_durable"));
            remote_fence::advance(lease, fence.as_ref(), token, xact::full_xid(), clock::now())
        }
        (Hold::Share, Some(fence)) => {
            record_use(lease, fence);
            if many { remote_fence::touch(fence) } else { Written::Done }
        }
        (Hold::Share, None) => Written::Done,
    };
    if written != Written::Done {
        return Err(locked_by_hand(lease));
    }
    Ok(Found::Held(if many { Held::Row } else { Held::Lock(mode) }))
}

/// A fence as it is, and what stands for it if there is none.
pub(super) struct Seen {
    fence: Option<Fence>,
    floor: Option<Token>,
}

impl Seen {
    /// The floor last: it is raised together with the removal of the fences that it stands for.
    pub(super) fn look(lease: &RemoteId) -> Seen {
        let fence = remote_fence::read(lease);
        let floor = if fence.is_none() { remote_fence::floor(lease) } else { None };
        Seen { fence, floor: floor.filter(|_| !mutant::without("remote_floor")) }
    }

    fn stored(&self) -> Option<Token> {
        self.fence.as_ref().map(|fence| fence.token)
    }

    /// Compares a token with it.
    pub(super) fn compare(&self, token: Token) -> Result<Hold, Rejection> {
        compare(token, self.stored(), self.floor)
    }

    /// What a stale holder would be told.
    pub(super) fn stale(&self, source: Source) -> Rejection {
        stale(source, self.stored(), self.floor)
    }

    /// Whether what a transaction with one snapshot has read includes what was written before the last
    /// takeover that is known here. Under READ COMMITTED each statement sees what was committed before
    /// it began; whoever wants to be sure seals first.
    fn takeover_visible(&self, lease: &RemoteId) -> bool {
        let Some(fence) = self.fence.as_ref().filter(|_| xact::uses_one_snapshot()) else { return true };
        let mine = xact::full_xid_if_any() == Some(fence.advanced_by);
        mutant::without("remote_snapshot")
            || transaction::with(|t| t.remote.sees(lease))
                && (mine || snapshot::statement_sees(fence.advanced_by, None))
    }

    /// Whether a transaction with one snapshot, which makes the takeover known here, may have read what an
    /// older holder has replaced since. What that wrote under left no trace.
    fn may_hide_writes(&self) -> bool {
        let is_first = self.fence.is_none() && self.floor.is_none();
        !is_first && xact::uses_one_snapshot() && !snapshot::is_of_now() && !mutant::without("remote_hidden")
    }
}

/// Records now and then that a fence is in use, so that a purge leaves it alone.
fn record_use(lease: &RemoteId, fence: &Fence) {
    let now = clock::now();
    let recent = |at: Instant| now - at < USE_RECORDED_EVERY;
    if recent(fence.advanced_at) || super::uses::is_known(lease, recent) || mutant::without("remote_use") {
        return;
    }
    match remote_fence::last_use(lease) {
        Some(at) if recent(at) => super::uses::remember(lease, at),
        _ => remote_fence::record_use(lease, now),
    }
}

fn acquire(lease: &RemoteId, lock: &Tag, mode: Mode, patience: Patience) -> Result<(), Error> {
    let Patience::Until(deadline) = patience else {
        lock.lock(mode);
        return Ok(());
    };
    // Whoever can wait for so long only is not to make a writer pay for a deadlock.
    let _watch = DeadlockWatch::begin();
    if lock_until(lock, mode, deadline) == Waited::Locked {
        return Ok(());
    }
    let message = format!("lease \"{}\" of coordinator \"{}\" is written to", lease.describe(), lease.coordinator);
    let error = Error::new(Code::LockNotAvailable, message).hint(
        "Open transactions have written under a token of it, or are raising or purging its fence. Try again once they have ended, or end them: pg_terminate_backend, ROLLBACK PREPARED.",
    );
    Err(gate::naming(error, lock, mode))
}

fn release(lock: &Tag, mode: Mode) {
    if !mutant::without("remote_lock") {
        lock.unlock(mode);
    }
}

fn locked_by_hand(lease: &RemoteId) -> Error {
    let message =
        format!("the fence of lease \"{}\" of coordinator \"{}\" is locked", lease.describe(), lease.coordinator);
    table::locked_by_hand(message)
}
