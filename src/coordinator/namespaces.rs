//! Namespaces: creating, changing, dropping, granting.

use super::drop::remove;
use super::required;
use crate::epoch::{self, gate};
use crate::pg::entry::{Answer, Args};
use crate::pg::lock::{Mode, Tag};
use crate::pg::table::Written;
use crate::pg::{catalog, clock, extension, mutant, relation, role, xact};
use crate::store::namespace::{self, Columns, Namespace, Privilege, expiry_rule};
use crate::store::{epoch as epoch_rows, lease};
use fencing_core::definition::Definition;
use fencing_core::lease::Policy;
use fencing_core::name::{self, Interval};
use fencing_core::{Code, Error};
use pgrx::pg_sys::Oid;
use std::rc::Rc;

/// `create_namespace(name, ttl, max_ttl, on_expiry, min_hold, cool_down, ephemeral, notify)`
pub fn create(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.create_namespace()");
    let name = required(args, 0, "name")?;
    name::check_namespace(&name)?;
    let interval = |n, argument: &str| args.interval(n).ok_or_else(|| Error::null(argument));
    let on_expiry = args.raw(3).ok_or_else(|| Error::null("on_expiry"))?;
    let max_ttl = check_max_ttl(interval(2, "max_ttl")?)?;
    let policy = Policy {
        max_ttl,
        ttl: check_own_ttl(interval(1, "ttl")?, max_ttl)?,
        on_expiry: expiry_rule(on_expiry),
        min_hold: name::check_span("min_hold", interval(4, "min_hold")?)?,
        cool_down: name::check_span("cool_down", interval(5, "cool_down")?)?,
    };
    let columns = Columns {
        policy,
        on_expiry,
        ephemeral: args.bool(6).ok_or_else(|| Error::null("ephemeral"))?,
        notify: args.bool(7).ok_or_else(|| Error::null("notify"))?,
    };
    check_policy(&columns)?;
    epoch::require_authority("create a namespace")?;
    serialize(&name)?;
    if namespace::by_name(&name).is_some() {
        return Err(Error::new(Code::DuplicateObject, format!("namespace \"{name}\" already exists")));
    }
    epoch::open_first("first namespace")?;
    let id = namespace::insert(&name, &columns, clock::now());
    for privilege in [Privilege::Hold, Privilege::Administer] {
        namespace::grant(id, role::asking_user(), privilege);
    }
    Ok(Answer::Void)
}

/// Keeps others from creating, changing or dropping the namespace of that name until this transaction ends;
/// 55P03 with whoever does so already. Others of other names go on.
fn serialize(name: &str) -> Result<(), Error> {
    gate::take(&Tag::administration(name), Mode::Exclusive, || {
        Error::new(Code::LockNotAvailable, format!("namespace \"{name}\" is being changed")).hint(
            "An open transaction creates, alters or drops it, or grants or revokes privileges on it. Repeat the call once that has ended, or end it: pg_terminate_backend, ROLLBACK PREPARED.",
        )
    })?;
    extension::catch_up();
    Ok(())
}

/// The namespace, for its administrator, whom nobody else interferes with until this transaction ends.
pub fn administered(name: &str) -> Result<Rc<Namespace>, Error> {
    let permitted = || {
        let namespace = namespace::require(name)?;
        namespace::require_privilege(&namespace, &[Privilege::Administer])?;
        Ok(namespace)
    };
    // Nobody is kept from what isn't the caller's.
    permitted()?;
    serialize(name)?;
    permitted()
}

/// The upper bound of a ttl is a ttl itself.
fn check_max_ttl(interval: Interval) -> Result<i64, Error> {
    name::check_ttl("max_ttl", interval, name::LONGEST)
}

/// A ttl can be too long without having been given, where only `max_ttl` was.
fn check_own_ttl(ttl: Interval, max_ttl: i64) -> Result<i64, Error> {
    name::check_ttl("ttl", ttl, max_ttl).map_err(|error| match name::check_any_ttl("ttl", ttl) {
        Ok(_) => error.hint("A namespace's ttl is at most its max_ttl: change both together."),
        Err(_) => error,
    })
}

/// What the parts of a policy must not be together: a row that is gone keeps nothing back.
fn check_policy(columns: &Columns) -> Result<(), Error> {
    let kept_back = [("min_hold", columns.policy.min_hold), ("cool_down", columns.policy.cool_down)];
    match kept_back.iter().find(|(_, span)| columns.ephemeral && *span > 0) {
        None => Ok(()),
        Some((what, _)) => {
            Err(Error::new(Code::InvalidParameter, format!("an ephemeral namespace cannot have a {what}"))
                .detail("A released lease's row disappears, and with it what the lease would be kept back by.")
                .hint(format!("Set {what} to 0, or ephemeral to false.")))
        }
    }
}

/// `alter_namespace(name, ...)`: NULL keeps.
pub fn alter(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.alter_namespace()");
    let name = required(args, 0, "name")?;
    let span = |n, argument: &str, old| args.interval(n).map_or(Ok(old), |i| name::check_span(argument, i));
    administered(&name)?;
    namespace::alter(&name, |old| {
        let max_ttl = args.interval(2).map_or(Ok(old.policy.max_ttl), check_max_ttl)?;
        let kept = Interval { micros: old.policy.ttl, ..Default::default() };
        let ttl = check_own_ttl(args.interval(1).unwrap_or(kept), max_ttl)?;
        let on_expiry = args.raw(3).unwrap_or(old.on_expiry);
        let policy = Policy {
            ttl,
            max_ttl,
            on_expiry: expiry_rule(on_expiry),
            min_hold: span(4, "min_hold", old.policy.min_hold)?,
            cool_down: span(5, "cool_down", old.policy.cool_down)?,
        };
        let columns = Columns {
            policy,
            on_expiry,
            ephemeral: args.bool(6).unwrap_or(old.ephemeral),
            notify: args.bool(7).unwrap_or(old.notify),
        };
        check_policy(&columns)?;
        Ok(columns)
    })?;
    Ok(Answer::Void)
}

/// `drop_namespace(name)`
pub fn drop(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.drop_namespace()");
    let name = required(args, 0, "name")?;
    namespace::require(&name).map_err(Error::without_hint)?;
    let namespace = administered(&name)?;
    let in_use = |detail: String, hint: &str| {
        Err(Error::new(Code::DependentObjects, format!("cannot drop namespace \"{name}\" because it is in use"))
            .detail(detail)
            .hint(hint))
    };
    // Every acquire shares this lock, and so does every protect.
    gate::take(&Tag::namespace(namespace.id), Mode::Exclusive, || {
        Error::new(Code::LockNotAvailable, format!("namespace \"{name}\" is in use")).hint(
            "Open transactions have acquired one of its leases, write under very many of them, or guard a table with it. Repeat the call once they have ended, or end them: pg_terminate_backend, ROLLBACK PREPARED.",
        )
    })?;
    if let Some(table) = guarded_table(&name).filter(|_| !mutant::without("namespace")) {
        return in_use(format!("A guard of table {table} names it."), "Unprotect the table first.");
    }
    let leases = lease::all(namespace.id);
    let now = clock::now();
    if let Some((id, _)) =
        leases.iter().find(|(_, lease)| lease.record.end(now).is_none() && !epoch_rows::is_void(&lease.record))
    {
        return in_use(format!("Lease \"{}\" is held.", id.describe(&name)), "Release its leases first.");
    }
    for (id, lease) in &leases {
        if remove(lease, namespace.policy.on_expiry, now)? != Written::Done {
            return in_use(format!("Lease \"{}\" is being changed.", id.describe(&name)), "Try again.");
        }
    }
    namespace::remove(&namespace)?;
    Ok(Answer::Void)
}

/// A table whose guard names the namespace.
fn guarded_table(namespace: &str) -> Option<String> {
    let names = |arguments: &[String]| {
        Definition::parse(arguments).is_ok_and(|d| d.coordinator.is_none() && d.namespace == namespace)
    };
    let guards = catalog::triggers_calling(&extension::guard_functions());
    guards.iter().find(|trigger| names(&trigger.arguments)).map(|trigger| relation::quoted_name(trigger.table))
}

/// `grant_namespace(name, role, privilege)`
pub fn grant(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.grant_namespace()");
    let (name, role, privilege) = read_grant(args)?;
    if !role::exists(role) {
        return Err(role::missing(role));
    }
    let namespace = administered(&name)?;
    namespace::grant(namespace.id, role, privilege);
    Ok(Answer::Void)
}

/// Name of the namespace, role and privilege.
pub fn read_grant(args: &Args) -> Result<(String, Oid, Privilege), Error> {
    let name = required(args, 0, "name")?;
    let role = args.oid(1).ok_or_else(|| Error::null("role"))?;
    let privilege = required(args, 2, "privilege")?;
    let Some(parsed) = Privilege::parse(&privilege) else {
        return Err(Error::new(Code::InvalidParameter, format!("unknown privilege \"{privilege}\""))
            .detail("The privileges on a namespace are hold, observe and administer."));
    };
    Ok((name, role, parsed))
}
