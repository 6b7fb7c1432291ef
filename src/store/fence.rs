//! `fencing.fence`: the highest accepted term per lease.

use super::places::Places;
use super::{LeaseId, token};
use crate::pg::backend::Backend;
use crate::pg::extension::oids;
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Read, Row, Table, Written};
use crate::pg::value::{Key, Value};
use fencing_core::Token;

/// A fence.
pub struct Fence {
    row: Row,
    /// Highest accepted token.
    pub token: Token,
    /// The transaction that advanced it.
    pub advanced_by: u64,
}

static SEEN: Backend<Places<LeaseId>> = Places::new();

fn find(table: &Table, lease: &LeaseId, read: Read) -> Option<Fence> {
    let is_it = |row: &Row| row.int(1) == lease.namespace && row.with_text(2, |key| *key == *lease.key);
    let keys = [(1, Key::Int(lease.namespace)), (2, Key::Text(&lease.key))];
    let row = SEEN.find(table, lease, is_it, (oids().fence_pkey, &keys), read)?;
    Some(Fence { token: token(row.bigint(3)), advanced_by: row.bigint(4) as u64, row })
}

/// The fence, read under its lock.
pub fn read_locked(lease: &LeaseId) -> Option<Fence> {
    find(&Table::open(oids().fence, Access::Read), lease, Read::Locked)
}

/// The fence as of now, for those who hold no lock and decide nothing by it.
pub fn read_latest(lease: &LeaseId) -> Option<Fence> {
    find(&Table::open(oids().fence, Access::Read), lease, Read::Latest(&Latest::take()))
}

/// Raises the fence to `token`, under its exclusive lock; gives what it was before.
pub fn advance(lease: &LeaseId, to: Token, xid: u64) -> (Written, Option<Token>) {
    let table = Table::open(oids().fence, Access::Write);
    match find(&table, lease, Read::Locked) {
        Some(fence) => {
            debug_assert!(fence.token < to);
            let written = table.update(&fence.row, &[(3, Value::BigInt(to.to_bigint())), (4, Value::Xid8(xid))]);
            (written, Some(fence.token))
        }
        None => {
            table.insert(&[
                Value::Int(lease.namespace),
                Value::Text(&lease.key),
                Value::BigInt(to.to_bigint()),
                Value::Xid8(xid),
            ]);
            (Written::Done, None)
        }
    }
}
