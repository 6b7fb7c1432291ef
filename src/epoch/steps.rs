//! From an open epoch to tables that are written to: each guarded table is blocked until it has been
//! installed, proved and resumed.

use crate::store::installation;
use crate::guard;

/// Blocks every guarded table, and each below it.
pub fn block_all(epoch: i64) {
    unblock_all();
    let mut blocked = Vec::new();
    for tree in guard::trees() {
        blocked.extend(tree.tables);
    }
    blocked.sort_unstable_by_key(|table| table.to_u32());
    blocked.dedup();
    for table in blocked {
        installation::insert(table, epoch);
    }
}

/// Blocks no table any more.
pub fn unblock_all() {
    for row in installation::all() {
        installation::remove(&row);
    }
}
