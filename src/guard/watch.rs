//! The DDL watch: keeps guards whole while people change tables, and says where it can't.

use super::attach::{self, Extent};
use super::{grants, record, resolve};
use crate::pg::catalog::{self, StoredTrigger};
use crate::pg::ddl::{self, Command};
use crate::pg::entry::{Answer, Args};
use crate::pg::mutant::without;
use crate::pg::relation::{Change, Kind, Locked, owned_by, quote_literal, quoted_name};
use crate::pg::{extension, report, role};
use crate::store::{guarded, installation};
use fencing_core::definition::Definition;
use fencing_core::{Code, Error};
use pgrx::pg_sys::Oid;
use std::collections::HashSet;

/// `watch_command(command)`: what an event trigger was told of.
pub fn watch_command(args: &Args) -> Result<Answer<'static>, Error> {
    let Some(command) = args.raw(0).filter(|_| !without("watch")) else { return Ok(Answer::Void) };
    if !ddl::is_at_hand(command) {
        return Err(Error::new(Code::InvalidParameter, "not a command that an event trigger was told of"));
    }
    let triggers = attach::all();
    // SAFETY: it is at hand.
    match unsafe { ddl::read(command) } {
        Command::Tree { table, left } => {
            if !without("blocked_child") {
                left.into_iter().for_each(|parent| installation::follow(parent, table));
            }
            warn_of_statement_level(table, &triggers);
            return Ok(execute(complete(table, &triggers)));
        }
        Command::ColumnRenamed { table, from, to } => return Ok(execute(follow(table, &from, &to, &triggers))),
        Command::Owner(table) => return Ok(grant_to_owner(table, &triggers)),
        Command::TableMoved(table) => {
            warn_of_taken_name(table, &triggers);
            record::keep(table, &triggers);
        }
        Command::SchemaRenamed(schema) => {
            let guarded = triggers.iter().map(|trigger| trigger.table);
            for table in catalog::tables_of_schema(guarded, schema) {
                record::keep(table, &triggers);
            }
        }
        Command::Altered(table) => warn_of_changes(table, &triggers),
        Command::Trigger(trigger) => {
            if let Some(trigger) = catalog::trigger(trigger) {
                warn_of_trigger(&trigger, &triggers);
            }
        }
        Command::Rule(table) => warn_of_rule(table, &triggers),
        Command::Other => {}
    }
    Ok(Answer::Void)
}

/// `keep_guard(relation)`: completes a guard on what has joined its table, and records it. Changes
/// nothing that somebody has changed on purpose.
pub fn keep_guard(args: &Args) -> Result<Answer<'static>, Error> {
    let Some(table) = args.oid(0) else { return Ok(Answer::Void) };
    let triggers = attach::all();
    record::keep(table, &triggers);
    Ok(execute(complete(table, &triggers)))
}

/// `should_be_guarded(schema, name)`
pub fn should_be_guarded(args: &Args) -> Result<Answer<'static>, Error> {
    let (Some(schema), Some(name)) = (args.string(0), args.string(1)) else { return Ok(Answer::One(false.into())) };
    let incomplete = catalog::relation(&schema, &name).is_some_and(is_incomplete);
    let guarded = incomplete || guarded::is_recorded(&guarded::Name { schema, name });
    Ok(Answer::One(guarded.into()))
}

/// Whether a table below a guarded one lacks a trigger of its guard. Not while the guard itself is being
/// changed: then it isn't recorded.
fn is_incomplete(table: Oid) -> bool {
    let triggers = attach::all();
    let Some(root) = attach::root(&triggers, table).filter(|root| *root != table) else { return false };
    let definition = attach::own(&triggers, root).filter(|_| record::is_kept(root));
    definition.is_some_and(|d| !attach::plan(root, &[table], &d, &triggers, Extent::Joined).is_empty())
}

/// Runs what is to be done, if anything is.
fn execute(sql: String) -> Answer<'static> {
    if sql.is_empty() { Answer::Void } else { Answer::Execute { sql, grants: grants::lent(None) } }
}

/// A partitioned table's owner makes its partitions, and needs a right for that.
fn grant_to_owner(table: Oid, triggers: &[StoredTrigger]) -> Answer<'static> {
    let open = Locked::open(table, Change::None).filter(|_| attach::is_guarded(triggers, table));
    match open.and_then(|table| grants::to_owner(&table)) {
        Some(grants) => Answer::Execute { sql: String::new(), grants: Some(grants) },
        None => Answer::Void,
    }
}

/// Gives the tables that have joined the tree what they are missing, and those that have left it
/// what they have lost.
fn complete(table: Oid, triggers: &[StoredTrigger]) -> String {
    let Some(root) = attach::root(triggers, table) else { return String::new() };
    let Some(definition) = attach::own(triggers, root) else { return String::new() };
    let tables = catalog::tree(root);
    // What can't be changed here must not keep the rest from being completed.
    let user = role::current_user();
    let (within, beyond): (Vec<_>, Vec<_>) =
        tables.iter().copied().partition(|below| owned_by(*below, user) && !catalog::is_foreign(*below));
    let mut sql = attach::plan(root, &within, &definition, triggers, Extent::Joined);
    for below in beyond.into_iter().filter(|below| *below == table || catalog::parents(*below).contains(&table)) {
        if !attach::plan(root, &[below], &definition, triggers, Extent::Joined).is_empty() {
            warn_of_incomplete(below);
        }
    }
    if !sql.is_empty() {
        // One that was detached and is back has its guard from above again.
        record::forget_below(root, &tables);
    }
    // A partition that was detached keeps the guard: what it lost is the clone of the row trigger.
    let argument = definition.argument();
    let left = |t: &&StoredTrigger| t.arguments == [&*argument] && !tables.contains(&t.table);
    let left: HashSet<_> = triggers.iter().filter(left).map(|t| t.table).collect();
    let row = extension::oids().guard_row;
    let lost_row = |table: &Oid| !attach::of_table(triggers, *table).any(|t| t.function == row);
    // Others may have the same definition, and have lost a trigger on purpose: those are recorded. One
    // who changes this tree has nothing to do with the tables of other owners.
    let detached =
        |table: &Oid| lost_row(table) && attach::root(triggers, *table) == Some(*table) && !record::is_kept(*table);
    for table in left.into_iter().filter(detached) {
        if !without("blocked_detached") {
            installation::follow(root, table);
        }
        if owned_by(table, user) && catalog::owner_of(table) == catalog::owner_of(root) {
            record::keep(table, triggers);
            sql += &attach::plan_left(table, &definition, triggers);
        } else {
            warn_of_incomplete(table);
        }
    }
    sql
}

/// Statement triggers alone are for plain tables: neither parents nor children.
fn warn_of_statement_level(table: Oid, triggers: &[StoredTrigger]) {
    let by_statement = |t: &Oid| attach::own(triggers, *t).is_some_and(|d| d.statement_level);
    for joined in catalog::tree(table).into_iter().filter(by_statement) {
        let parents = catalog::parents(joined);
        if joined == table && !parents.is_empty() || parents.contains(&table) {
            let hint = format!(
                "SELECT fencing.alter_guard({}, level => 'row') puts it right.",
                quote_literal(&quoted_name(joined))
            );
            warn(joined, "its statement triggers don't see what is written through a parent", hint);
        }
    }
}

fn warn_of_incomplete(table: Oid) {
    let why = if catalog::is_foreign(table) {
        "it is a foreign table, which no guard covers"
    } else {
        "it lacks triggers that only its owner can make"
    };
    warn(table, why, MEND);
}

/// A guard names columns; they may get other names.
fn follow(table: Oid, from: &str, to: &str, triggers: &[StoredTrigger]) -> String {
    let Some(renamed) = attach::own(triggers, table).and_then(|d| d.with_column_renamed(from, to)) else {
        return String::new();
    };
    let tables = catalog::tree(table);
    let sql = attach::plan(table, &tables, &renamed, triggers, Extent::All);
    record::keep_as(table, &renamed);
    sql
}

/// Who to ask what mends it.
const MEND: &str = "SELECT * FROM fencing.enforcement_gaps() says what mends it.";

/// Says that a guard is weaker than it was.
fn warn(table: Oid, what: &str, hint: impl Into<String>) {
    let message = format!("guard of table {} is weakened: {what}", quoted_name(table));
    report::warning(&Error::new(Code::Warning, message).hint(hint));
}

fn warn_of_changes(table: Oid, triggers: &[StoredTrigger]) {
    let Some(root) = attach::root(triggers, table) else { return };
    let mend = || format!("SELECT fencing.alter_guard({}) puts it right.", quote_literal(&quoted_name(root)));
    for below in catalog::tree(table) {
        if let Some(weak) = attach::of_table(triggers, below).find(|t| !t.always) {
            warn(below, &format!("its trigger \"{}\" does not fire in every session", weak.name), mend());
        }
    }
    if let Some(open) = Locked::open(table, Change::None) {
        if open.is_unlogged() {
            let hint = format!("ALTER TABLE {} SET LOGGED puts it right.", quoted_name(table));
            warn(table, "a crash empties an unlogged table", hint);
        }
        let definition = attach::of_table(triggers, table).find_map(|t| Definition::parse(&t.arguments).ok());
        let unfit = definition.and_then(|definition| match resolve::resolve(&open, definition) {
            Ok(guard) if guard.present_has_default => {
                Some(("takes no token inline any more", "the inline column has a default".to_owned()))
            }
            Ok(_) => None,
            Err(error) => Some(("refuses every write", error.message)),
        });
        if let Some((what, why)) = unfit {
            let message = format!("guard of table {} {what}: {why}", quoted_name(table));
            let hint = "Undo the change, or change the guard: fencing.alter_guard.";
            report::warning(&Error::new(Code::Warning, message).hint(hint));
        }
    }
}

/// A copy that takes a guarded table's place has no triggers.
fn warn_of_taken_name(table: Oid, triggers: &[StoredTrigger]) {
    let is_table = || Locked::open(table, Change::None).is_some_and(|open| open.kind() != Kind::Other);
    if !attach::is_guarded(triggers, table) && is_table() && record::is_kept(table) {
        warn(table, "a table without a guard has taken its name", MEND);
    }
}

/// `CREATE OR REPLACE TRIGGER` may put something else in a guard's place.
fn warn_of_trigger(trigger: &StoredTrigger, triggers: &[StoredTrigger]) {
    let guarded = || attach::root(triggers, trigger.table).is_some() || record::is_kept(trigger.table);
    if attach::is_changed(trigger) && guarded() {
        warn(trigger.table, &format!("its trigger \"{}\" was replaced", trigger.name), MEND);
    }
    warn_of_later_triggers(trigger.table);
}

/// A trigger that fires after the guard's may change what the guard has checked.
fn warn_of_later_triggers(table: Oid) {
    let Some(open) = Locked::open(table, Change::None) else { return };
    let (ours, others): (Vec<_>, Vec<_>) = open
        .triggers()
        .into_iter()
        .filter(|trigger| trigger.is_before_row())
        .partition(|trigger| trigger.function() == extension::oids().guard_row);
    if let Some(guard) = ours.first().map(|trigger| trigger.name()) {
        for later in others.iter().map(|trigger| trigger.name()).filter(|name| *name > guard) {
            let hint = "Give it a name that sorts before the guard's: ALTER TRIGGER ... RENAME TO ...";
            warn(table, &format!("trigger \"{later}\" fires after it, and may change what it has checked"), hint);
        }
    }
}

fn warn_of_rule(table: Oid, triggers: &[StoredTrigger]) {
    if attach::is_guarded(triggers, table) {
        let hint = "SELECT * FROM fencing.enforcement_gaps() says whether it leaves a gap.";
        warn(table, "a rule rewrites statements before any trigger fires", hint);
    }
}
