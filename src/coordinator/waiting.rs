//! Waiting for a lease: first come, first served.
//!
//! Those who wait for a lease queue for its *turn*. Only the head of the queue, who has it, looks, and
//! without locks, as long as the lease can't be granted: a request for the fence would hold up the
//! holder's own writers. Once it can be granted and writers of the old term are in the way, the head
//! queues for the fence, so that new ones line up behind it; it holds no other lock of the lease
//! meanwhile.
//!
//! A hand-over costs two transactions, the release and the takeover, and wakes one process: the next
//! head. The others sleep in the lock manager's queue until their own turn comes.

use super::acquire::{Attempt, Request, attempts};
use crate::pg::lock::{Mode, Tag};
use crate::pg::wait::{ClientWatch, Deadline, DeadlockWatch, Waited, lock_timeout, lock_until, sleep};
use crate::pg::{memory, mutant, server, xact};
use crate::transaction;
use fencing_core::Error;
use fencing_core::time::Span;
use fencing_core::waiting;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

static MAX_WAIT_MS: GucSetting<i32> = GucSetting::<i32>::new(30_000);

/// Defines `fencing.max_wait`.
pub fn define_settings() {
    GucRegistry::define_int_guc(
        c"fencing.max_wait",
        c"The longest that a call waits for a lease, or for an epoch step, whatever it asked for.",
        c"",
        &MAX_WAIT_MS,
        0,
        i32::MAX,
        GucContext::Sighup,
        GucFlags::UNIT_MS,
    );
}

/// `fencing.max_wait`
fn max_wait() -> Span {
    Span::from(MAX_WAIT_MS.get()) * 1000
}

/// How long those wait for others who didn't say: `fencing.max_wait`, or the session's `lock_timeout`
/// where that is less.
pub fn patience() -> Deadline {
    Deadline::after(max_wait().min(lock_timeout().unwrap_or(Span::MAX)))
}

/// Waits until the request is granted or time is up, and says what became of it.
pub fn wait(request: &mut Request, wait: Span) -> Result<Attempt, Error> {
    let deadline = Deadline::after(wait.min(max_wait()));
    let _client = (!mutant::without("client_watch")).then(ClientWatch::begin);
    let turn = Tag::turn(request.lease.hash);
    // Who holds what others may wait for must not stand in a queue: a writer might be the one to pay
    // for the deadlock. It looks from aside, and gets the lease when nobody queues.
    request.first = !holds_something() && {
        match lock_until(&turn, Mode::Exclusive, deadline) {
            Waited::Locked => true,
            Waited::Deadlock => false,
            Waited::TimedOut => return request.refresh().and_then(|()| attempts(request)),
        }
    };
    let outcome = poll(request, deadline)?;
    // A grant that is about to be committed keeps the next in line from asking for it in vain.
    if request.first && (xact::in_block() || !matches!(outcome, Attempt::Granted(_))) {
        turn.unlock(Mode::Exclusive);
    }
    Ok(outcome)
}

fn holds_something() -> bool {
    let something =
        xact::full_xid_if_any().is_some() || transaction::with(|t| t.fences.any_held() || t.remote.any_held());
    something && !mutant::without("aside")
}

/// Asks again and again.
fn poll(request: &mut Request, deadline: Deadline) -> Result<Attempt, Error> {
    let fence = Tag::fence(request.lease.hash);
    let mut may_queue = request.first && !mutant::without("queue");
    let mut queued = false;
    loop {
        // What a look leaves in memory must not add up. An outcome holds nothing of it.
        let outcome = memory::transient(|| request.refresh().and_then(|()| attempts(request)))?;
        if matches!(outcome, Attempt::Granted(_)) {
            return Ok(outcome);
        }
        if std::mem::take(&mut queued) {
            fence.unlock(Mode::Exclusive);
        }
        if !outcome.may_change() {
            return Ok(outcome);
        }
        let left = deadline.left();
        if left == 0 {
            return Ok(outcome);
        }
        let until = match outcome {
            Attempt::Blocked { writing: true, .. } if may_queue => {
                let _watch = (!mutant::without("deadlock_watch")).then(DeadlockWatch::begin);
                let waited = lock_until(&fence, Mode::Exclusive, deadline);
                queued = waited == Waited::Locked;
                may_queue = waited != Waited::Deadlock;
                continue;
            }
            Attempt::Held { retry_after, .. } | Attempt::CoolingDown { retry_after } => Some(retry_after),
            _ => None,
        };
        sleep(waiting::sleep(until, left, u16::from_ne_bytes(server::random())));
    }
}
