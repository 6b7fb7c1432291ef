//! `seal`: a new holder raises the fence before it reads what it will decide by.

use super::check::{Subject, decide};
use super::hold::Patience;
use super::register::enter;
use crate::coordinator::patience;
use crate::epoch;
use crate::pg::entry::{Answer, Args};
use crate::pg::{catalog, extension, mutant, role, xact};
use crate::store::coordinator;
use crate::store::remote_fence::RemoteId;
use fencing_core::admission::MissingRule;
use fencing_core::definition::{Definition, KeySource};
use fencing_core::remote::{Presented, Verdict, check_namespace};
use fencing_core::{Code, Error, name};

/// `seal(coordinator, namespace, key, token)`
pub fn seal(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.seal()");
    let name = args.string(0).ok_or_else(|| Error::null("coordinator"))?;
    let namespace = args.string(1).ok_or_else(|| Error::null("namespace"))?;
    let key = args.bytes(2).ok_or_else(|| Error::null("key"))?;
    let token = args.bigint(3).ok_or_else(|| Error::null("token"))?;
    check_namespace(&namespace)?;
    name::check_key(&key)?;
    require_young_snapshot()?;
    coordinator::require(&name)?;
    let lease = RemoteId::new(&name, &namespace, &key);
    require_writer(&lease)?;
    enter(&name)?;
    let coordinator = coordinator::require(&name)?;
    let presented = Presented::One(token);
    let patience = Patience::Until(patience());
    let verdict = decide(&lease, coordinator.source(), presented, MissingRule::Reject, Some(patience))?;
    match verdict {
        Verdict::Rejected(why) => Err(Subject::new(coordinator, lease).error(why, None)),
        Verdict::Accepted(_) | Verdict::Admitted => Ok(Answer::Void),
    }
}

/// What is read after a seal must be what was there when it was made.
fn require_young_snapshot() -> Result<(), Error> {
    let alone = !xact::in_block() && xact::called_by_client();
    if alone || !xact::uses_one_snapshot() || mutant::without("seal_alone") {
        return Ok(());
    }
    Err(Error::new(
        Code::ActiveTransaction,
        "fencing.seal() cannot share a REPEATABLE READ or SERIALIZABLE transaction",
    )
    .detail("All that the transaction reads is from before the seal.")
    .hint("Seal in a transaction of its own, and then begin this one."))
}

/// Whoever may write a table under this lease could raise its fence by that; nobody else may.
fn require_writer(lease: &RemoteId) -> Result<(), Error> {
    // What a SECURITY DEFINER function may write, it may seal.
    let user = role::current_user();
    let may = epoch::is_authority()
        || catalog::triggers_calling(&extension::guard_functions())
            .iter()
            .any(|trigger| is_under(&trigger.arguments, lease) && role::may_write(user, trigger.table));
    if may || mutant::without("seal_right") {
        return Ok(());
    }
    let message =
        format!("permission denied for lease \"{}\" of coordinator \"{}\"", lease.describe(), lease.coordinator);
    Err(Error::new(Code::InsufficientPrivilege, message)
        .detail("Sealing takes the right to write a table whose guard names the lease, or membership in the role that fencing.epoch_authority names."))
}

/// Whether a guard that enforces compares the lease's tokens.
fn is_under(arguments: &[String], lease: &RemoteId) -> bool {
    Definition::parse(arguments).is_ok_and(|guard| {
        let key = match &guard.key {
            KeySource::Fixed(key) => *crate::pg::text::to_server(key) == *lease.key,
            KeySource::Columns(_) => true,
        };
        key && !guard.observe
            && guard.coordinator.as_deref() == Some(&*lease.coordinator)
            && *guard.namespace == *lease.namespace
    })
}
