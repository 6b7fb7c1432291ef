//! Terms that end with the backend that acquired them.
//!
//! A bound term's row names its backend, and everybody can see whether that still runs. When it ends,
//! it records so itself, with the time, unless it crashes: nothing depends on the record.

use crate::pg::backend::Backend;
use crate::pg::exit::{self, Recorded};
use crate::pg::lock::{Mode, Tag};
use crate::pg::table::Written;
use crate::pg::{clock, memory, mutant};
use crate::store::lease::{self, Lease, Leases};
use crate::store::{LeaseId, epoch, term};
use fencing_core::Token;
use fencing_core::lease::EndReason;
use fencing_core::time::Instant;
use std::cell::RefCell;

struct Bound {
    lease: LeaseId,
    token: Token,
}

/// What this backend bound: also what was rolled back, or has ended since.
static BOUND: Backend<RefCell<Vec<Bound>>> = Backend::new(RefCell::new(Vec::new()));

/// So many are kept before it is seen which of them are over.
const KEPT: usize = 64;

/// So many ends are recorded in one transaction, which holds a lock for each.
const BATCH: usize = 100;

/// Binds a term that this backend has acquired to it.
pub fn bind(lease: LeaseId, token: Token) {
    exit::before_exit(record_losses);
    // Taken out, since looking calls PostgreSQL: an error there loses records, and no end of a term.
    let mut bound = BOUND.take();
    // Of as many as there are room for, half at least must be over: else there is room for twice as many.
    if bound.len() >= KEPT && bound.len() == bound.capacity() {
        memory::transient(|| bound.retain(|b| held(b).is_some()));
        bound.reserve(bound.len().max(KEPT));
    }
    bound.push(Bound { lease, token });
    BOUND.replace(bound);
}

/// The lease of a bound term that is held, and has not run out; with its coordinator time.
fn held(bound: &Bound) -> Option<(Lease, Instant)> {
    let lease = lease::read(&bound.lease)?;
    let now = clock::of_lease(Some(&lease.record));
    let held = lease.record.token == bound.token && lease.record.end(now).is_none() && !epoch::is_void(&lease.record);
    held.then_some((lease, now))
}

/// Records that this backend's terms are lost.
fn record_losses() -> Recorded {
    // Whoever was interrupted here for good has left it borrowed.
    let Ok(mut bound) = BOUND.try_borrow_mut() else { return Recorded::Nothing };
    if mutant::without("session_record") {
        return Recorded::Nothing;
    }
    let rest = bound.len().saturating_sub(BATCH);
    for bound in bound.drain(rest..) {
        if !record_loss(&bound) {
            return Recorded::Nothing;
        }
    }
    if bound.is_empty() { Recorded::All } else { Recorded::Some }
}

/// Whether what was written may be committed.
fn record_loss(bound: &Bound) -> bool {
    if !Tag::heartbeat(bound.lease.hash).try_lock(Mode::Exclusive) {
        return true;
    }
    let Some((lease, now)) = held(bound) else { return true };
    if Leases::to_write().end(&lease, EndReason::SessionLost, now) != Written::Done {
        return true;
    }
    let end = term::End { reason: EndReason::SessionLost, by: None, at: now, observed_at: now };
    term::read(bound.token).is_none_or(|term| term::close(&term, &lease.record, Some(&end), None) == Written::Done)
}
