//! `register_coordinator`, `drop_coordinator`, `coordinators`.

use crate::epoch::gate;
use crate::pg::entry::{Answer, Args};
use crate::pg::lock::{Mode, Tag};
use crate::pg::table::{Written, locked_by_hand};
use crate::pg::value::Value;
use crate::pg::{catalog, extension, mutant, relation, text, xact};
use crate::store::event::{self, Event};
use crate::store::{coordinator, remote_fence};
use crate::{epoch, transaction};
use fencing_core::definition::Definition;
use fencing_core::remote::{self, Kind, Source};
use fencing_core::{Code, Error, name};

/// What a coordinator's functions are for: the members of this role.
pub fn require_authority() -> Result<(), Error> {
    epoch::require_authority("change what a coordinator's tokens are accepted for")
}

/// The coordinator must not be dropped until the triggers that name it are there for all to see.
pub fn hold_coordinator(name: &str) -> Result<(), Error> {
    require_authority()?;
    Tag::coordinator(name).lock(Mode::Reference);
    extension::catch_up();
    coordinator::require(name).map(drop)
}

/// Keeps a coordinator's epoch as it is until this transaction ends, as a write does; but waits within bounds
/// alone for whoever is changing it, or 55P03 with who that is.
pub fn enter(name: &str) -> Result<(), Error> {
    gate::take(&Tag::coordinator(name), Mode::Reference, || {
        Error::new(Code::LockNotAvailable, format!("coordinator \"{name}\" is being changed")).hint(
            "An open transaction installs an epoch of it or drops it, or waits to. Repeat the call once it has ended, or end it: pg_terminate_backend.",
        )
    })?;
    transaction::remote::enter(name);
    Ok(())
}

/// Waits for every writer under a token of a coordinator, and keeps others out until this transaction
/// ends. 55P03 with those in the way.
pub fn shut(name: &str) -> Result<(), Error> {
    if transaction::with(|t| t.remote.any_locked()) {
        return Err(Error::new(
            Code::ActiveTransaction,
            "cannot change a coordinator in a transaction that holds one",
        )
        .detail("It has written under a coordinator's token, sealed or purged: it would wait for itself, or others for it.")
        .hint("Run it by itself, in autocommit mode."));
    }
    if !mutant::without("remote_shut") {
        let busy = || {
            let message = format!("open transactions are in the way of a change of coordinator \"{name}\"");
            Error::new(Code::LockNotAvailable, message).hint(
                "They have written under its tokens, sealed a lease of it, purged its fences, guarded a table with it, or changed it as well. Wait until they have ended, or end them (pg_terminate_backend, ROLLBACK PREPARED); then repeat the call.",
            )
        };
        gate::take(&Tag::coordinator(name), Mode::Exclusive, busy)?;
    }
    gate::begin_step();
    Ok(())
}

fn required(args: &Args, n: usize, argument: &str) -> Result<String, Error> {
    args.string(n).ok_or_else(|| Error::null(argument))
}

/// `register_coordinator(name, kind, identity)`
pub fn register_coordinator(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.register_coordinator()");
    let name = required(args, 0, "name")?;
    let kind = required(args, 1, "kind")?;
    let identity = required(args, 2, "identity")?;
    remote::check_name(&name)?;
    let kind = Kind::parse(&kind)?;
    name::check_filled("identity", &identity, "It says for people which one is meant.")?;
    require_authority()?;
    shut(&name)?;
    if coordinator::by_name(&name).is_some() {
        return Err(Error::new(Code::DuplicateObject, format!("coordinator \"{name}\" already exists")));
    }
    coordinator::register(&name, kind, &identity)?;
    let detail = [("coordinator", name.as_str()), ("kind", kind.as_str()), ("identity", &identity)];
    event::record(&Event { kind: "coordinator_registered", lease: None, token: None, detail: &detail });
    Ok(Answer::Void)
}

/// `drop_coordinator(name)`
pub fn drop_coordinator(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.drop_coordinator()");
    let name = required(args, 0, "name")?;
    require_authority()?;
    let require = || coordinator::require(&name).map(drop).map_err(Error::without_hint);
    require()?;
    shut(&name)?;
    require()?;
    if let Some(table) = guarded_table(&name).filter(|_| !mutant::without("remote_dependents")) {
        let message = format!("cannot drop coordinator \"{name}\" because it is in use");
        return Err(Error::new(Code::DependentObjects, message)
            .detail(format!("A guard of table {table} names it."))
            .hint("Unprotect the table first."));
    }
    // Only an epoch above all of these is ever installed under the name again.
    let mut in_use = false;
    remote_fence::each(&name, |lease| {
        if let Some(fence) = remote_fence::read(&lease) {
            in_use |= remote_fence::forget(&lease, &fence) != Written::Done;
        }
    });
    if in_use {
        return Err(locked_by_hand(format!("a fence of coordinator \"{name}\" is locked")));
    }
    remote_fence::forget_floors(&name);
    coordinator::remove(&name)?;
    event::record(&Event { kind: "coordinator_dropped", lease: None, token: None, detail: &[("coordinator", &name)] });
    Ok(Answer::Void)
}

/// A table whose guard names the coordinator.
fn guarded_table(coordinator: &str) -> Option<String> {
    let names = |arguments: &[String]| {
        Definition::parse(arguments).is_ok_and(|d| d.coordinator.as_deref() == Some(coordinator))
    };
    let guards = catalog::triggers_calling(&extension::guard_functions());
    guards.iter().find(|trigger| names(&trigger.arguments)).map(|trigger| relation::quoted_name(trigger.table))
}

/// `coordinators()`
pub fn coordinators(_args: &Args) -> Result<Answer<'static>, Error> {
    let text = |s: &str| Value::Raw(text::datum_of_str(s));
    let rows = coordinator::all().into_iter().map(|c| {
        let state = match c.source() {
            Source::Open(_) => "open",
            Source::NoEpoch => "no epoch",
            Source::Conflict(_) => "conflict",
            Source::LineageChanged => "lineage changed",
        };
        let installed = c.epoch.as_ref().filter(|_| c.source() != Source::NoEpoch);
        vec![
            text(&c.name),
            text(&c.kind),
            text(&c.identity),
            text(state),
            installed.map_or(Value::Null, |e| Value::BigInt(e.number)),
            installed.map_or(Value::Null, |e| Value::Uuid(e.identity)),
            installed.map_or(Value::Null, |e| Value::Time(e.installed_at)),
        ]
    });
    Ok(Answer::Set(rows.collect()))
}
