//! Just before commit: whatever ended an accepted term in the meantime ends the transaction.

use crate::pg::table::Access;
use crate::pg::{clock, lock, mutant, xact};
use crate::store::lease::{self, Seen};
use crate::store::subject::Subject;
use crate::store::{LeaseId, term};
use crate::transaction::fences::{self, Accepted};
use crate::transaction::{self, remote, stale};
use fencing_core::admission::{Rejection, ended_before_commit};
use fencing_core::lease::Record;
use fencing_core::{Code, Error, Token};
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

static ALLOW_PREPARE: GucSetting<bool> = GucSetting::<bool>::new(false);

/// Defines `fencing.allow_prepare`.
pub fn define_settings() {
    GucRegistry::define_bool_guc(
        c"fencing.allow_prepare",
        c"Allows PREPARE TRANSACTION where the transaction holds a fence or has changed a lease.",
        c"A prepared transaction keeps its locks, also across a restart, and blocks every takeover until it is committed or rolled back.",
        &ALLOW_PREPARE,
        GucContext::Suset,
        GucFlags::default(),
    );
}

/// Whether there is anything to do before commit.
pub fn has_work() -> bool {
    transaction::with(|t| t.durable || t.fences.any_held() || t.remote.any_held() || t.stale.is_presented())
}

/// Checks every term that this transaction wrote under once more; makes an acquisition durable.
#[unsafe(link_section = ".text_hot")]
pub fn before_commit() -> Result<(), Error> {
    stale::require_rolled_back()?;
    recheck()?;
    if transaction::with(|t| t.durable) {
        xact::commit_durably();
    }
    Ok(())
}

/// As [`before_commit`], and refuses to prepare what must not wait for a second phase.
pub fn before_prepare() -> Result<(), Error> {
    stale::require_rolled_back()?;
    let (acquired, held) = transaction::with(|t| (t.fences.any_acquired(), t.fences.any_held() || t.remote.any_held()));
    if transaction::with(|t| t.epoch_step) {
        return Err(Error::new(Code::FeatureNotSupported, "cannot PREPARE a transaction that changes an epoch")
            .detail("Prepared, it would keep others out until it is committed or rolled back.")
            .hint("Run what changes an epoch by itself, in autocommit mode: a step of its transition, a change of a coordinator, the first create_namespace."));
    }
    if acquired {
        return Err(Error::new(Code::FeatureNotSupported, "cannot PREPARE a transaction that has acquired a lease")
            .hint("Acquire the lease in a transaction of its own."));
    }
    if !ALLOW_PREPARE.get() {
        if held {
            return Err(Error::new(
                Code::FeatureNotSupported,
                "cannot PREPARE a transaction that has written under a fencing token",
            )
            .detail("Prepared, it would keep the lease's fence and block every takeover until it is committed or rolled back.")
            .hint("A superuser can allow it: SET fencing.allow_prepare = on."));
        }
        if lock::writes_leases() && !mutant::without("prepare_changed") {
            return Err(Error::new(Code::FeatureNotSupported, "cannot PREPARE a transaction that has changed a lease")
                .detail("Prepared, it would block every takeover of the lease until it is committed or rolled back.")
                .hint("Renew or release it in a transaction of its own. A superuser can allow it: SET fencing.allow_prepare = on."));
        }
    }
    recheck()
}

#[unsafe(link_section = ".text_hot")]
fn recheck() -> Result<(), Error> {
    if mutant::without("recheck") {
        return Ok(());
    }
    if transaction::with(|t| t.remote.any_held()) {
        remote::require_locks()?;
    }
    fences::each_accepted(recheck_one)
}

#[unsafe(link_section = ".text_hot")]
fn recheck_one(accepted: &Accepted) -> Result<(), Error> {
    let lease = &accepted.subject.lease;
    fences::require_lock(lease)?;
    // Accepted behind the gate, which is held as long as the verdict is.
    let same = accepted.seen.as_ref().and_then(Seen::still).copied();
    let (record, ended_here) = same.map_or_else(|| read_again(lease, accepted.token), |same| (Some(same), false));
    let on_expiry = accepted.subject.on_expiry;
    match ended_before_commit(accepted.token, record.as_ref(), ended_here, on_expiry, clock::now()) {
        Some(why) => Err(ended(why, &accepted.subject)),
        None => Ok(()),
    }
}

#[cold]
fn ended(why: Rejection, subject: &Subject) -> Error {
    let mut error = why.error(&subject.describe(), None);
    error.message = "term ended before commit".to_owned();
    error
}

/// What is known of a lease now, and whether this transaction itself has ended its term.
#[inline(never)]
fn read_again(id: &LeaseId, token: Token) -> (Option<Record>, bool) {
    match lease::heartbeat(id, Access::Locked) {
        Some(row) => (Some(row.record), row.written_by_me && row.record.ended.is_some()),
        // It may have gone with this transaction's own release.
        None => (None, term::is_ended_by_me(token)),
    }
}
