//! Triggers and inheritance, as the catalogs have them: for looking at many tables without opening,
//! and so without locking, any.

use super::value::{Key, scan_keys};
use super::{raw, text};
use pgrx::pg_sys::{self, Oid};
use std::ffi::CStr;

/// A row of `pg_trigger`.
pub struct StoredTrigger {
    /// Its table.
    pub table: Oid,
    /// Its name.
    pub name: String,
    /// The function that it calls.
    pub function: Oid,
    /// When it fires: PostgreSQL's bits for row or statement, before or after, and the events.
    pub fires: i16,
    /// Whether it is enabled ALWAYS.
    pub always: bool,
    /// Whether a partitioned parent's trigger was cloned to this partition.
    pub is_clone: bool,
    /// Whether nothing narrows it down: neither WHEN nor a list of columns.
    pub unconditional: bool,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// Fires before each row of INSERT, UPDATE and DELETE.
pub const BEFORE_EACH_ROW: i16 = (pg_sys::TRIGGER_TYPE_ROW | pg_sys::TRIGGER_TYPE_BEFORE) as i16 | WRITES;
/// Fires before each statement that inserts, updates or deletes.
pub const BEFORE_STATEMENT: i16 = pg_sys::TRIGGER_TYPE_BEFORE as i16 | WRITES;
/// Fires before TRUNCATE.
pub const BEFORE_TRUNCATE: i16 = (pg_sys::TRIGGER_TYPE_BEFORE | pg_sys::TRIGGER_TYPE_TRUNCATE) as i16;
const WRITES: i16 = (pg_sys::TRIGGER_TYPE_INSERT | pg_sys::TRIGGER_TYPE_UPDATE | pg_sys::TRIGGER_TYPE_DELETE) as i16;

/// Every trigger in the database that calls one of these functions.
pub fn triggers_calling(functions: &[Oid]) -> Vec<StoredTrigger> {
    let mut found = Vec::new();
    scan(pg_sys::TriggerRelationId, Oid::INVALID, None, |tuple, descriptor| {
        // SAFETY: a row of pg_trigger, pinned.
        unsafe {
            let form = &*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_trigger>();
            if functions.contains(&form.tgfoid) {
                found.push(stored(tuple, descriptor));
            }
        }
    });
    found
}

/// The trigger of that oid.
pub fn trigger(oid: Oid) -> Option<StoredTrigger> {
    let mut found = None;
    scan(pg_sys::TriggerRelationId, Oid::from(pg_sys::TriggerOidIndexId), Some(oid), |tuple, descriptor| {
        // SAFETY: a row of pg_trigger, pinned.
        found = Some(unsafe { stored(tuple, descriptor) });
    });
    found
}

/// Whether a table has a trigger of that name.
pub fn has_trigger(table: Oid, name: &str) -> bool {
    // SAFETY: a catalog look-up; the name is NUL-terminated.
    unsafe { pg_sys::get_trigger_oid(table, text::to_server_cstr(name), true) != Oid::INVALID }
}

/// # Safety
/// `tuple` must be a row of `pg_trigger`, pinned, `descriptor` that table's.
unsafe fn stored(tuple: pg_sys::HeapTuple, descriptor: pg_sys::TupleDesc) -> StoredTrigger {
    // SAFETY: the caller's promise; the columns are of their declared types.
    unsafe {
        let form = &*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_trigger>();
        let attribute = |number: u32| {
            let mut null = false;
            let value = pg_sys::htup::heap_getattr(tuple, number as i32, descriptor, &mut null);
            (!null).then_some(value)
        };
        StoredTrigger {
            table: form.tgrelid,
            name: text::from_server(CStr::from_ptr((&raw const form.tgname.data).cast()).to_bytes()),
            function: form.tgfoid,
            fires: form.tgtype,
            always: form.tgenabled as u8 == pg_sys::TRIGGER_FIRES_ALWAYS,
            is_clone: form.tgparentid != Oid::INVALID,
            unconditional: attribute(pg_sys::Anum_pg_trigger_tgqual).is_none() && form.tgattr.dim1 == 0,
            arguments: split_arguments(
                &attribute(pg_sys::Anum_pg_trigger_tgargs).map_or_else(Vec::new, |value| text::bytes_of(value)),
            ),
        }
    }
}

/// `pg_trigger.tgargs`: strings that each end with a NUL.
pub fn split_arguments(arguments: &[u8]) -> Vec<String> {
    arguments.strip_suffix(&[0]).map_or_else(Vec::new, |all| all.split(|b| *b == 0).map(text::from_server).collect())
}

const INHERITS: u32 = 2611;
const INHERITS_BY_CHILD: u32 = 2680;
const INHERITS_PARENT: i32 = 2;

/// The tables that this one is a partition or an inheritance child of, directly.
pub fn parents(relation: Oid) -> Vec<Oid> {
    let mut found = Vec::new();
    scan(Oid::from(INHERITS), Oid::from(INHERITS_BY_CHILD), Some(relation), |tuple, descriptor| {
        let mut null = false;
        // SAFETY: a row of pg_inherits, pinned; the column is an oid.
        let parent = unsafe { pg_sys::htup::heap_getattr(tuple, INHERITS_PARENT, descriptor, &mut null) };
        found.push(Oid::from(parent.value() as u32));
    });
    found
}

/// All tables above this one, the nearest first.
pub fn ancestors(relation: Oid) -> Vec<Oid> {
    let mut found = parents(relation);
    let mut next = 0;
    while next < found.len() {
        for parent in parents(found[next]) {
            if !found.contains(&parent) {
                found.push(parent);
            }
        }
        next += 1;
    }
    found
}

unsafe extern "C-unwind" {
    fn find_all_inheritors(parent: Oid, lock: pg_sys::LOCKMODE, parents: *mut *mut pg_sys::List) -> *mut pg_sys::List;
}

/// This table and all below it, partitions and inheritance children, each locked so.
pub fn with_descendants(relation: Oid, lock: pg_sys::LOCKMODE) -> Vec<Oid> {
    // SAFETY: the closure holds no destructor; the list has as many elements as it says, all oids.
    unsafe {
        let list = raw::catch(|| find_all_inheritors(relation, lock, std::ptr::null_mut()));
        (0..(*list).length as usize).map(|i| (*(*list).elements.add(i)).oid_value).collect()
    }
}

/// This table and all below it, as they are now: none is locked.
pub fn tree(relation: Oid) -> Vec<Oid> {
    with_descendants(relation, pg_sys::NoLock as i32)
}

/// Whether a relation is a partition; `false` for one that is gone.
pub fn is_partition(relation: Oid) -> bool {
    // SAFETY: a syscache look-up.
    unsafe { pg_sys::get_rel_relispartition(relation) }
}

/// Whether a relation is partitioned; `false` for one that is gone.
pub fn is_partitioned(relation: Oid) -> bool {
    // SAFETY: a syscache look-up.
    unsafe { pg_sys::get_rel_relkind(relation) as u8 == pg_sys::RELKIND_PARTITIONED_TABLE }
}

/// The relation of that name.
pub fn relation(schema: &str, name: &str) -> Option<Oid> {
    let (schema, name) = (text::to_server_cstr(schema), text::to_server_cstr(name));
    // SAFETY: syscache look-ups; both names are NUL-terminated; invalid where there is none.
    let relation = unsafe { pg_sys::get_relname_relid(name, pg_sys::get_namespace_oid(schema, true)) };
    (relation != Oid::INVALID).then_some(relation)
}

/// Whether a relation is a foreign table; `false` for one that is gone.
pub fn is_foreign(relation: Oid) -> bool {
    // SAFETY: a syscache look-up.
    unsafe { pg_sys::get_rel_relkind(relation) as u8 == pg_sys::RELKIND_FOREIGN_TABLE }
}

/// Whether only its own session sees a relation; `false` for one that is gone.
pub fn is_temporary(relation: Oid) -> bool {
    // SAFETY: syscache look-ups; the second fails for what is gone, the first doesn't.
    unsafe {
        pg_sys::get_rel_relkind(relation) != 0
            && pg_sys::get_rel_persistence(relation) as u8 == pg_sys::RELPERSISTENCE_TEMP
    }
}

/// Whether a relation is unlogged: emptied when the server starts uncleanly.
pub fn is_unlogged(relation: Oid) -> bool {
    // SAFETY: a syscache look-up of an existing relation.
    let persistence = unsafe { pg_sys::get_rel_persistence(relation) };
    persistence as u8 == pg_sys::RELPERSISTENCE_UNLOGGED
}

/// The owner of a relation; invalid for one that is gone.
pub fn owner_of(relation: Oid) -> Oid {
    // SAFETY: a syscache look-up; the tuple is released before the struct is left.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(pg_sys::SysCacheIdentifier::RELOID as i32, relation.into());
        if tuple.is_null() {
            return Oid::INVALID;
        }
        let owner = (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_class>()).relowner;
        pg_sys::ReleaseSysCache(tuple);
        owner
    }
}

/// The tables of a schema.
pub fn tables_of_schema(tables: impl Iterator<Item = Oid>, schema: Oid) -> Vec<Oid> {
    // SAFETY: a syscache look-up; invalid for one that is gone.
    tables.filter(|table| unsafe { pg_sys::get_rel_namespace(*table) } == schema).collect()
}

/// Visits the rows of a catalog, or those whose first index column is `key`.
fn scan(catalog: Oid, index: Oid, key: Option<Oid>, mut visit: impl FnMut(pg_sys::HeapTuple, pg_sys::TupleDesc)) {
    let mut keys = key.map_or_else(Vec::new, |key| scan_keys(&[(1, Key::Oid(key))]));
    let count = keys.len() as i32;
    // SAFETY: a scan with a catalog snapshot; each tuple is pinned while it is visited.
    unsafe {
        let table = pg_sys::table_open(catalog, pg_sys::AccessShareLock as i32);
        let by_index = index != Oid::INVALID;
        let scan = pg_sys::systable_beginscan(table, index, by_index, std::ptr::null_mut(), count, keys.as_mut_ptr());
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            visit(tuple, (*table).rd_att);
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(table, pg_sys::AccessShareLock as i32);
    }
}
