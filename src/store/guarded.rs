//! `fencing.guarded`: what should be guarded, by name.

use crate::pg::extension::{oids, serialize_grants};
use crate::pg::snapshot::Latest;
use crate::pg::table::{Access, Read, Row, Table, Written};
use crate::pg::text;
use crate::pg::value::{Key, Value};

/// A table's name.
pub struct Name {
    /// Its schema.
    pub schema: String,
    /// Its own name.
    pub name: String,
}

fn find(table: &Table, name: &Name) -> Option<Row> {
    let (schema, name) = (text::to_server(&name.schema), text::to_server(&name.name));
    let keys = [(1, Key::Text(&schema)), (2, Key::Text(&name))];
    table.find(oids().guarded_pkey, &keys, Read::Latest(&Latest::take()))
}

/// One writer at a time: each first looks whether there is a row. Granting the right to attach
/// triggers comes before or after this, so both locks are taken here, always in the same order.
fn serialize() -> Table {
    serialize_grants();
    Table::open(oids().guarded, Access::Serialize)
}

/// Records that a table should have this guard.
pub fn record(name: &Name, definition: &[String]) {
    let recorded = find(&Table::open(oids().guarded, Access::Read), name).map(|row| row.texts(3));
    if recorded.as_deref() == Some(definition) {
        return;
    }
    let table = serialize();
    let definition = Value::Raw(text::array_of_str(definition));
    let written = match find(&table, name) {
        Some(row) => table.update(&row, &[(3, definition)]),
        None => {
            let (schema, name) = (text::to_server(&name.schema), text::to_server(&name.name));
            table.insert(&[Value::Text(&schema), Value::Text(&name), definition]);
            Written::Done
        }
    };
    debug_assert_eq!(written, Written::Done);
}

/// Records that it needs none any more. Whether there was a record.
pub fn forget(name: &Name) -> bool {
    if !is_recorded(name) {
        return false;
    }
    let table = serialize();
    find(&table, name).is_some_and(|row| table.delete(&row) == Written::Done)
}

/// Whether a table should have a guard.
pub fn is_recorded(name: &Name) -> bool {
    find(&Table::open(oids().guarded, Access::Read), name).is_some()
}
