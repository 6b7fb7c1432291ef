//! Where rows were last seen, so that the next look needs no index. Whatever has become of the table
//! meanwhile, a look there meets the row itself, or nothing, or a row of another key.

use super::LeaseHasher;
use crate::pg::backend::Backend;
use crate::pg::scan::Versions;
use crate::pg::snapshot::Latest;
use crate::pg::table::{Read, Row, Table};
use crate::pg::value::Key;
use pgrx::pg_sys::Oid;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};
use std::rc::Rc;

/// So many rows of a table are remembered.
const KEPT: usize = 1024;

/// Places of one table's rows, by what names a row.
pub struct Places<K>(RefCell<HashMap<K, Rc<Cell<Versions>>, BuildHasherDefault<LeaseHasher>>>);

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
        self.seen(table, name, is_it, read).or_else(|| self.look_up(table, name, index, keys, read))
    }

    /// The row that `name` names, as of now: by the index with a snapshot, since without one it may meet none of
    /// two versions while one replaces the other on another page.
    pub fn now(
        &self,
        table: &Table,
        name: &K,
        is_it: impl FnOnce(&Row) -> bool,
        (index, keys): (Oid, &[(i16, Key)]),
    ) -> Option<Row> {
        self.seen(table, name, is_it, Read::Locked)
            .or_else(|| self.look_up(table, name, index, keys, Read::Latest(&Latest::take())))
    }

    /// The row where it was last seen.
    fn seen(&self, table: &Table, name: &K, is_it: impl FnOnce(&Row) -> bool, read: Read) -> Option<Row> {
        let seen = self.0.borrow().get(name).cloned()?;
        let mut row = table.at(seen.get(), read).filter(is_it)?;
        seen.set(row.versions);
        row.seen = Some(seen);
        Some(row)
    }

    fn look_up(&self, table: &Table, name: &K, index: Oid, keys: &[(i16, Key)], read: Read) -> Option<Row> {
        let mut row = table.find(index, keys, read)?;
        row.seen = Some(self.remember(name.clone(), row.versions));
        Some(row)
    }

    /// Notes where a row is.
    pub fn remember(&self, name: K, versions: Versions) -> Rc<Cell<Versions>> {
        let mut places = self.0.borrow_mut();
        if places.len() >= KEPT {
            places.clear();
        }
        let seen = Rc::new(Cell::new(versions));
        places.insert(name, seen.clone());
        seen
    }
}
