//! What should be guarded, recorded by name: a tree of tables under the name of its root.

use super::attach;
use crate::pg::catalog::StoredTrigger;
use crate::pg::relation::{Change, Locked, Relation};
use crate::store::guarded;
use fencing_core::definition::Definition;
use pgrx::pg_sys::Oid;

fn name_of(table: &Relation) -> guarded::Name {
    guarded::Name { schema: table.schema().unwrap_or_default(), name: table.name() }
}

/// The name of a table, if there is one.
fn name(table: Oid) -> Option<guarded::Name> {
    Locked::open(table, Change::None).map(|table| name_of(&table))
}

/// Records the guard of a table under the name that it has now, if it is declared there. The name that
/// it had stays recorded: whatever takes it should be guarded as well.
pub fn keep(table: Oid, triggers: &[StoredTrigger]) {
    if let Some(definition) = attach::own(triggers, table).filter(|_| attach::root(triggers, table) == Some(table)) {
        keep_as(table, &definition);
    }
}

/// Records that a table should have this guard.
pub fn keep_as(table: Oid, definition: &Definition) {
    if let Some(name) = name(table) {
        guarded::record(&name, &definition.settings());
    }
}

/// Whether a guard is recorded under the table's name.
pub fn is_kept(table: Oid) -> bool {
    name(table).is_some_and(|name| guarded::is_recorded(&name))
}

/// Records that the table needs no guard any more. Whether there was a record.
pub fn forget(table: &Relation) -> bool {
    guarded::forget(&name_of(table))
}

/// The record of a tree is that of its root alone.
pub fn forget_below(root: Oid, tables: &[Oid]) {
    for name in tables.iter().filter(|table| **table != root).filter_map(|table| name(*table)) {
        guarded::forget(&name);
    }
}
