//! Guarded tables, as epochs see them: each with all below it.

use super::attach;
use crate::pg::catalog;
use pgrx::pg_sys::Oid;

/// A guarded table.
pub struct Tree {
    /// Where its guard is declared.
    pub root: Oid,
    /// That table, its partitions and children.
    pub tables: Vec<Oid>,
}

/// Every guarded table whose guard rejects what this database's own leases don't allow.
pub fn trees() -> Vec<Tree> {
    let triggers = attach::all();
    let mut roots: Vec<_> = triggers.iter().filter_map(|trigger| attach::root(&triggers, trigger.table)).collect();
    roots.sort_unstable_by_key(|root| root.to_u32());
    roots.dedup();
    // What cannot be read lets nothing pass, whatever the epoch.
    let enforces = |root: &Oid| attach::own(&triggers, *root).is_none_or(|definition| !definition.observe);
    let lasting = |table: &Oid| !catalog::is_temporary(*table) && !catalog::is_foreign(*table);
    let tree = |root| Tree { root, tables: catalog::tree(root).into_iter().filter(lasting).collect() };
    roots.into_iter().filter(enforces).map(tree).collect()
}
