//! Where rows were last seen, so that the next look needs no index. Whatever has become of the table
//! meanwhile, a look there meets the row itself, or nothing, or a row of another key.

use super::LeaseHasher;
use crate::pg::backend::Backend;
use crate::pg::glance::Place;
use crate::pg::table::{Read, Row, Table};
use crate::pg::value::Key;
use pgrx::pg_sys::Oid;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};

/// So many rows of a table are remembered.
const KEPT: usize = 1024;

/// Places of one table's rows, by what names a row.
pub struct Places<K>(RefCell<HashMap<K, Place, BuildHasherDefault<LeaseHasher>>>);

impl<K: Eq + Hash + Clone> Places<K> {
    /// None.
    pub const fn new() -> Backend<Places<K>> {
        Backend::new(Places(RefCell::new(super::new_map())))
    }

    /// The row that `name` names: `is_it` compares its key, `index` and `keys` find it.
    pub fn find(
        &self,
        table: &Table,
        name: &K,
        is_it: impl FnOnce(&Row) -> bool,
        (index, keys): (Oid, &[(i16, Key)]),
        read: Read,
    ) -> Option<Row> {
        let place = self.0.borrow().get(name).copied();
        if let Some(row) = place.and_then(|place| table.at(place, read)).filter(is_it) {
            return Some(row);
        }
        let row = table.find(index, keys, read)?;
        self.remember(name.clone(), row.root);
        Some(row)
    }

    /// Notes where a row stands.
    pub fn remember(&self, name: K, place: Place) {
        let mut places = self.0.borrow_mut();
        if places.len() >= KEPT {
            places.clear();
        }
        places.insert(name, place);
    }
}
