//! `protect`, `alter_guard`, `unprotect`: attaching a guard to a table, changing it, taking it off.

use super::attach::{self, Extent};
use super::declare::{changed, check_inline_column, declared, may_drop_triggers, require_guardable, require_plain};
use super::{grants, record, resolve};
use crate::pg::catalog::{StoredTrigger, is_foreign, is_temporary};
use crate::pg::entry::{Answer, Args};
use crate::pg::lock::{Mode, Tag};
use crate::pg::relation::{Change, Kind, Locked, Relation, quote_identifier, quoted_name};
use crate::pg::xact;
use crate::remote;
use crate::store::namespace::{self, Privilege};
use crate::store::{coordinator, installation};
use fencing_core::definition::Definition;
use fencing_core::{Code, Error};
use pgrx::pg_sys::Oid;

/// A table of the tree, which stays as long as the one above it is locked.
fn open_below(table: Oid, change: Change) -> Result<Locked, Error> {
    Locked::open(table, change).ok_or_else(|| Error::new(Code::UndefinedObject, "a table below was dropped meanwhile"))
}

/// `protect(relation, namespace, key, key_columns, token_column, present_column, fence, on_missing,
/// mode, level, coordinator)`
pub fn protect(args: &Args) -> Result<Answer<'static>, Error> {
    let relation = args.oid(0).ok_or_else(|| Error::null("relation"))?;
    let definition = declared(args)?;
    // A typo is told before anything is locked.
    require_grantor(&definition)?;
    xact::require_writable(c"fencing.protect()");
    let target = Locked::open_own(relation, Change::Add)?;
    require_guardable(&target)?;
    hold_grantor(&definition)?;
    let mut tables = target.with_descendants(Change::Add);
    tables.retain(|table| !is_temporary(*table));
    // Once all of the tree is locked: whatever was done to it before is to be seen.
    let triggers = attach::all();
    refuse_below_guarded(&target, &triggers, Code::DuplicateObject)?;
    for table in &tables {
        refuse_guarded(*table, relation, &triggers)?;
    }
    fit(&target, &tables, &definition, true)?;
    installation::begin_again(&tables)?;
    Ok(execute(&target, attach::plan(relation, &tables, &definition, &triggers, Extent::All)))
}

/// `alter_guard(relation, ...)`: the same arguments; NULL keeps. With none at all it puts right what
/// is missing, disabled or changed.
pub fn alter_guard(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.alter_guard()");
    let relation = args.oid(0).ok_or_else(|| Error::null("relation"))?;
    let change = if may_drop_triggers(args) { Change::Drop } else { Change::Add };
    let target = Locked::open_own(relation, change)?;
    require_guardable(&target)?;
    let triggers = attach::all();
    refuse_below_guarded(&target, &triggers, Code::WrongObjectType)?;
    let earlier = attach::own(&triggers, relation).ok_or_else(|| not_guarded(&target))?;
    let definition = changed(args, &earlier)?;
    require_right(&earlier)?;
    hold_grantor(&definition)?;
    let mut tables = target.with_descendants(change);
    // What has joined and can't be guarded is a gap of its own, and no reason to leave others.
    tables.retain(|table| !is_temporary(*table) && !is_foreign(*table));
    // Again, once all of the tree is locked: partitions may have come and gone below it.
    let triggers = attach::all();
    // What is in the inline column was looked at when it became one.
    let new_column = definition.present_column.is_some() && definition.present_column != earlier.present_column;
    fit(&target, &tables, &definition, new_column)?;
    // The DDL watch warns where a table that should be guarded loses a trigger.
    record::forget(&target);
    record::forget_below(relation, &tables);
    Ok(execute(&target, attach::plan(relation, &tables, &definition, &triggers, Extent::All)))
}

/// `unprotect(relation)`
pub fn unprotect(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.unprotect()");
    let relation = args.oid(0).ok_or_else(|| Error::null("relation"))?;
    let target = Locked::open_own(relation, Change::Drop)?;
    if target.kind() == Kind::Other {
        return Err(Error::new(Code::WrongObjectType, format!("\"{}\" has no guard", target.display_name()))
            .detail("Only ordinary and partitioned tables can be guarded."));
    }
    let triggers = attach::all();
    refuse_below_guarded(&target, &triggers, Code::DependentObjects)?;
    let own: Vec<_> = attach::of_table(&triggers, relation).collect();
    // A guard that can't be read, or whose namespace is gone, is its table's owner's to remove.
    if let Some(definition) = attach::own(&triggers, relation) {
        require_right(&definition)?;
    }
    let recorded = record::forget(&target);
    if own.is_empty() {
        // Its triggers were dropped by hand: then only the record was left.
        return if recorded { Ok(Answer::Void) } else { Err(not_guarded(&target)) };
    }
    let mut sql = String::new();
    let tables = target.with_descendants(Change::Drop);
    record::forget_below(relation, &tables);
    for table in tables {
        let same = |t: &&StoredTrigger| own.iter().any(|o| o.arguments == t.arguments);
        // A clone goes with its parent's trigger.
        for trigger in attach::of_table(&triggers, table).filter(|t| !t.is_clone).filter(same) {
            sql += &format!("DROP TRIGGER {} ON {};\n", quote_identifier(&trigger.name), quoted_name(table));
        }
    }
    Ok(Answer::Execute { sql, grants: grants::returned(&target, &triggers) })
}

pub fn not_guarded(target: &Relation) -> Error {
    Error::new(Code::UndefinedObject, format!("table \"{}\" is not guarded", target.display_name()))
        .hint("SELECT * FROM fencing.guards lists the guarded tables.")
}

/// Refuses a table that has a guard already; `target` is the one that `protect` was called for.
fn refuse_guarded(table: Oid, target: Oid, triggers: &[StoredTrigger]) -> Result<(), Error> {
    if !attach::is_guarded(triggers, table) {
        return Ok(());
    }
    let name = open_below(table, Change::Add)?.display_name();
    let hint = if table == target {
        "Change its guard with fencing.alter_guard, or remove it first: SELECT fencing.unprotect('table')."
    } else {
        "It is a partition or child of the table to be guarded. Remove its own guard first: SELECT fencing.unprotect('table')."
    };
    Err(Error::new(Code::DuplicateObject, format!("table \"{name}\" is already guarded")).hint(hint))
}

/// The guard of a partition or child is that of the table above.
pub fn refuse_below_guarded(target: &Relation, triggers: &[StoredTrigger], code: Code) -> Result<(), Error> {
    let above = attach::root(triggers, target.oid()).filter(|root| *root != target.oid());
    let Some(above) = above else { return Ok(()) };
    let above = quoted_name(above);
    Err(Error::new(code, format!("table \"{}\" is guarded through {above}", target.display_name()))
        .detail("A guard covers all partitions and inheritance children of its table.")
        .hint(format!("Change or remove the guard of {above}, or detach the table from it.")))
}

/// Whoever grants the leases must exist: the namespace, or the coordinator elsewhere.
fn require_grantor(definition: &Definition) -> Result<(), Error> {
    match &definition.coordinator {
        Some(coordinator) => coordinator::require(coordinator).map(drop),
        None => namespace::require(&definition.namespace).map(drop),
    }
}

/// The right to say what is guarded by these leases. Of what is gone, its table's owner may.
fn require_right(definition: &Definition) -> Result<(), Error> {
    if let Some(coordinator) = &definition.coordinator {
        return coordinator::by_name(coordinator).map_or(Ok(()), |_| remote::require_authority());
    }
    match namespace::by_name(&definition.namespace) {
        Some(namespace) => namespace::require_privilege(&namespace, &[Privilege::Administer]),
        None => Ok(()),
    }
}

/// Whoever grants the leases must not be dropped until the triggers that name it are there for all to see.
fn hold_grantor(definition: &Definition) -> Result<(), Error> {
    if let Some(coordinator) = &definition.coordinator {
        return remote::hold_coordinator(coordinator);
    }
    let namespace = namespace::require(&definition.namespace)?;
    namespace::require_privilege(&namespace, &[Privilege::Administer])?;
    Tag::namespace(namespace.id).lock(Mode::Reference);
    namespace::require(&definition.namespace).map(drop)
}

/// Whether every table of the tree can have the guard.
fn fit(target: &Relation, tables: &[Oid], definition: &Definition, inline: bool) -> Result<(), Error> {
    if definition.statement_level {
        require_plain(target, definition)?;
    }
    for table in tables {
        let table = open_below(*table, Change::Add)?;
        require_guardable(&table)?;
        let guard = resolve::resolve(&table, definition.clone())?;
        if inline {
            check_inline_column(&table, &guard)?;
        }
    }
    Ok(())
}

/// Runs a plan with the caller's rights; then what was done is recorded.
fn execute(target: &Relation, mut sql: String) -> Answer<'static> {
    sql += &format!("SELECT fencing.keep_guard({}::pg_catalog.oid);\n", target.oid().to_u32());
    Answer::Execute { sql, grants: grants::lent(Some(target)) }
}
