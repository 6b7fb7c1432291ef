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

/// A fence under its exclusive lock, to be raised.
pub struct Locked {
    table: Table,
    fence: Option<Fence>,
}

impl Locked {
    /// As [`read_locked`].
    pub fn read(lease: &LeaseId) -> Locked {
        let table = Table::open(oids().fence, Access::Write);
        let fence = find(&table, lease, Read::Locked);
        Locked { table, fence }
    }

    /// Its highest accepted token so far.
    pub fn token(&self) -> Option<Token> {
        self.fence.as_ref().map(|fence| fence.token)
    }

    /// Raises it to `token`.
    pub fn advance(&self, lease: &LeaseId, to: Token, xid: u64) -> Written {
        let (token, xid) = (Value::BigInt(to.to_bigint()), Value::Xid8(xid));
        match &self.fence {
            Some(fence) => {
                debug_assert!(fence.token < to);
                self.table.update(&fence.row, &[(3, token), (4, xid)])
            }
            None => {
                self.table.insert(&[Value::Int(lease.namespace), Value::Text(&lease.key), token, xid]);
                Written::Done
            }
        }
    }
}
