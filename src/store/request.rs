//! `fencing.request`: which term answered a request id.

use super::{LeaseId, token};
use crate::pg::extension::oids;
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Read, Table};
use crate::pg::value::{Key, Value};
use fencing_core::Token;
use pgrx::pg_sys::{Datum, Oid};

/// The term that this request of this role for this lease was granted.
pub fn read(request_id: Datum, role: Oid, lease: &LeaseId) -> Option<Token> {
    let table = Table::open(oids().request, Access::Read);
    let snapshot = Latest::take();
    let keys =
        [(1, Key::Uuid(request_id)), (2, Key::Oid(role)), (3, Key::Int(lease.namespace)), (4, Key::Text(&lease.key))];
    table.find(oids().request_pkey, &keys, Read::Latest(&snapshot)).map(|row| token(row.bigint(5)))
}

/// Records it. Under the lease's exclusive fence lock.
pub fn insert(request_id: Datum, role: Oid, lease: &LeaseId, granted: Token) {
    Table::open(oids().request, Access::Write).insert(&[
        Value::Raw(request_id),
        Value::Oid(role),
        Value::Int(lease.namespace),
        Value::Text(&lease.key),
        Value::BigInt(granted.to_bigint()),
    ]);
}
