//! Guarded tables, as epochs see them: each with all below it.

use super::attach::{self, Extent};
use super::protect::{not_guarded, refuse_below_guarded};
use crate::pg::catalog;
use crate::pg::relation::{Change, Locked, quote_literal, quoted_name};
use crate::store::installation;
use fencing_core::{Code, Error};
use pgrx::pg_sys::Oid;

/// A guarded table.
pub struct Tree {
    /// Where its guard is declared.
    pub root: Oid,
    /// That table, its partitions and children.
    pub tables: Vec<Oid>,
}

/// Every guarded table whose guard rejects what this database's own leases don't allow; epochs of a
/// coordinator elsewhere are another matter.
pub fn trees() -> Vec<Tree> {
    let triggers = attach::all();
    let mut roots: Vec<_> = triggers.iter().filter_map(|trigger| attach::root(&triggers, trigger.table)).collect();
    roots.sort_unstable_by_key(|root| root.to_u32());
    roots.dedup();
    // What cannot be read lets nothing pass, whatever the epoch.
    let enforces = |root: &Oid| attach::own(&triggers, *root).is_none_or(|d| !d.observe && d.coordinator.is_none());
    roots.into_iter().filter(enforces).map(below).collect()
}

/// A temporary child is its own session's alone; a foreign table has no guard.
fn below(root: Oid) -> Tree {
    let lasting = |table: &Oid| !catalog::is_temporary(*table) && !catalog::is_foreign(*table);
    Tree { root, tables: catalog::tree(root).into_iter().filter(lasting).collect() }
}

/// The tree of the table that a guard is declared for; 42704 where it has none, 42809 where its guard is
/// that of a table above.
pub fn tree(relation: Oid) -> Result<Tree, Error> {
    let Some(table) = Locked::open(relation, Change::None) else {
        let message = format!("relation with OID {} does not exist", relation.to_u32());
        return Err(Error::new(Code::UndefinedObject, message));
    };
    let triggers = attach::all();
    refuse_below_guarded(&table, &triggers, Code::WrongObjectType)?;
    if attach::is_guarded(&triggers, relation) { Ok(below(relation)) } else { Err(not_guarded(&table)) }
}

/// Whether any table is blocked that is still there, and guarded.
pub fn any_blocked() -> bool {
    let rows = installation::all();
    let triggers = if rows.is_empty() { Vec::new() } else { attach::all() };
    rows.iter().any(|row| attach::is_guarded(&triggers, row.relation))
}

/// 55000 where a trigger of the guard is missing, disabled or changed, anywhere in the tree.
pub fn require_whole(tree: &Tree) -> Result<(), Error> {
    let triggers = attach::all();
    let definition = attach::own(&triggers, tree.root);
    let plan = definition.map(|d| attach::plan(tree.root, &tree.tables, &d, &triggers, Extent::All));
    if plan.is_some_and(|plan| plan.is_empty()) {
        return Ok(());
    }
    let table = quoted_name(tree.root);
    Err(Error::new(Code::NotInPrerequisiteState, format!("the guard of table {table} is not whole"))
        .detail("A trigger of it is missing, disabled or changed.")
        .hint(format!(
            "SELECT * FROM fencing.enforcement_gaps() says which; SELECT fencing.alter_guard({}) puts it right.",
            quote_literal(&table)
        )))
}
