//! Other people's tables: what guarding them needs to know.

use super::{catalog, role, text};
use fencing_core::{Code, Error};
use pgrx::pg_sys::{self, Oid};
use std::ffi::CStr;
use std::ops::Deref;

/// A column of a table.
pub struct Column {
    /// Its number.
    pub number: i32,
    /// Its type.
    pub type_oid: Oid,
    /// Whether a statement that doesn't name it gives it a value: a default or an identity.
    pub has_default: bool,
    /// Whether it is generated from other columns.
    pub is_generated: bool,
    /// Whether it is declared NOT NULL.
    pub is_not_null: bool,
}

/// Kinds of table that can be told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An ordinary table of the access method heap.
    Heap,
    /// A partitioned table.
    Partitioned,
    /// An ordinary table of another access method.
    OtherMethod,
    /// Anything else.
    Other,
}

/// A table that is open for as long as this is in use.
#[derive(Clone, Copy)]
pub struct Relation(pg_sys::Relation);

/// A trigger of an open table.
#[derive(Clone, Copy)]
pub struct Trigger(*mut pg_sys::Trigger);

impl Trigger {
    /// # Safety
    /// `trigger` must be a trigger of an open relation, and be used no longer than that is open.
    pub unsafe fn new(trigger: *mut pg_sys::Trigger) -> Trigger {
        Trigger(trigger)
    }

    /// Its oid.
    pub fn oid(self) -> Oid {
        // SAFETY: `new`'s promise.
        unsafe { (*self.0).tgoid }
    }

    /// Its name.
    pub fn name(self) -> String {
        // SAFETY: `new`'s promise; NUL-terminated.
        text::from_server(unsafe { CStr::from_ptr((*self.0).tgname) }.to_bytes())
    }

    /// Whether it fires before each row, of a statement of any session.
    pub fn is_before_row(self) -> bool {
        let wanted = pg_sys::TRIGGER_TYPE_ROW | pg_sys::TRIGGER_TYPE_BEFORE;
        // SAFETY: `new`'s promise.
        unsafe {
            let enabled = (*self.0).tgenabled as u8 != pg_sys::TRIGGER_DISABLED;
            enabled && !(*self.0).tgisinternal && (*self.0).tgtype as u32 & wanted == wanted
        }
    }

    /// The function that it calls.
    pub fn function(self) -> Oid {
        // SAFETY: `new`'s promise.
        unsafe { (*self.0).tgfoid }
    }

    /// Its arguments.
    pub fn arguments(self) -> Vec<String> {
        // SAFETY: `new`'s promise; as many as it says, NUL-terminated.
        unsafe {
            let count = (*self.0).tgnargs as usize;
            (0..count).map(|i| text::from_server(CStr::from_ptr(*(*self.0).tgargs.add(i)).to_bytes())).collect()
        }
    }
}

impl Relation {
    /// # Safety
    /// `relation` must be open, and stay open while this is in use.
    pub unsafe fn new(relation: pg_sys::Relation) -> Relation {
        Relation(relation)
    }

    fn form(&self) -> &pg_sys::FormData_pg_class {
        // SAFETY: the relation is open.
        unsafe { &*(*self.0).rd_rel }
    }

    /// Its oid.
    pub fn oid(&self) -> Oid {
        // SAFETY: the relation is open.
        unsafe { (*self.0).rd_id }
    }

    /// Its name.
    pub fn name(&self) -> String {
        name(&self.form().relname)
    }

    /// Its schema's name.
    pub fn schema(&self) -> Option<String> {
        // SAFETY: a catalog look-up; null where the schema is gone.
        unsafe {
            let schema = pg_sys::get_namespace_name(self.form().relnamespace);
            (!schema.is_null()).then(|| text::from_server(CStr::from_ptr(schema).to_bytes()))
        }
    }

    /// Its name with its schema, for messages.
    pub fn display_name(&self) -> String {
        self.schema().map_or_else(|| self.name(), |schema| format!("{schema}.{}", self.name()))
    }

    /// The same, quoted for SQL.
    pub fn quoted_name(&self) -> String {
        quoted_name(self.oid())
    }

    /// What kind of table it is.
    pub fn kind(&self) -> Kind {
        let form = self.form();
        match form.relkind as u8 {
            pg_sys::RELKIND_PARTITIONED_TABLE => Kind::Partitioned,
            pg_sys::RELKIND_RELATION if form.relam == pg_sys::HEAP_TABLE_AM_OID => Kind::Heap,
            pg_sys::RELKIND_RELATION => Kind::OtherMethod,
            _ => Kind::Other,
        }
    }

    /// Whether only its own session sees it.
    pub fn is_temporary(&self) -> bool {
        self.form().relpersistence as u8 == pg_sys::RELPERSISTENCE_TEMP
    }

    /// Its owner.
    pub fn owner(&self) -> Oid {
        self.form().relowner
    }

    /// Whether a crash empties it.
    pub fn is_unlogged(&self) -> bool {
        self.form().relpersistence as u8 == pg_sys::RELPERSISTENCE_UNLOGGED
    }

    /// Whether it is PostgreSQL's own, or this extension's.
    pub fn is_internal(&self) -> bool {
        // SAFETY: the relation is open.
        unsafe { pg_sys::IsCatalogRelation(self.0) || self.schema().as_deref() == Some("fencing") }
    }

    /// Whether it is a partition.
    pub fn is_partition(&self) -> bool {
        self.form().relispartition
    }

    /// Whether it takes part in old-style table inheritance, as a parent or as a child.
    pub fn inherits(&self) -> bool {
        let partitioning = self.is_partition() || self.kind() == Kind::Partitioned;
        !partitioning && (!catalog::parents(self.oid()).is_empty() || self.with_descendants(Change::Add).len() > 1)
    }

    /// It and every partition or inheritance child below, locked.
    pub fn with_descendants(&self, change: Change) -> Vec<Oid> {
        catalog::with_descendants(self.oid(), change.lockmode())
    }

    /// Its triggers.
    pub fn triggers(&self) -> Vec<Trigger> {
        // SAFETY: the relation is open; the descriptor has as many triggers as it says.
        unsafe {
            let triggers = (*self.0).trigdesc;
            let count = triggers.as_ref().map_or(0, |t| t.numtriggers as usize);
            (0..count).map(|i| Trigger((*triggers).triggers.add(i))).collect()
        }
    }

    /// The column of that name, or 42703.
    pub fn column(&self, column: &str) -> Result<Column, Error> {
        // SAFETY: the relation is open; attribute numbers are those of the descriptor.
        unsafe {
            let descriptor = (*self.0).rd_att;
            for i in 0..(*descriptor).natts as usize {
                let attribute = &*attribute(descriptor, i);
                if attribute.attisdropped || name(&attribute.attname) != column {
                    continue;
                }
                return Ok(Column {
                    number: i32::from(attribute.attnum),
                    type_oid: attribute.atttypid,
                    has_default: attribute.attgenerated == 0 && (attribute.atthasdef || attribute.attidentity != 0),
                    is_generated: attribute.attgenerated != 0,
                    is_not_null: attribute.attnotnull,
                });
            }
        }
        Err(Error::new(
            Code::UndefinedColumn,
            format!("column \"{column}\" of relation \"{}\" does not exist", self.name()),
        ))
    }

    /// Whether any row has a value in that column; reads the table once, whatever row security says.
    pub fn has_values(&self, column: i32) -> bool {
        // SAFETY: the relation is open; the slot is the scan's own.
        unsafe {
            let snapshot = pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot());
            let slot = pg_sys::table_slot_create(self.0, std::ptr::null_mut());
            let scan = pg_sys::table_beginscan(self.0, snapshot, 0, std::ptr::null_mut());
            let mut found = false;
            while !found && pg_sys::table_scan_getnextslot(scan, pg_sys::ScanDirection::ForwardScanDirection, slot) {
                pg_sys::check_for_interrupts!();
                pg_sys::slot_getsomeattrs_int(slot, column);
                found = !*(*slot).tts_isnull.add(column as usize - 1);
            }
            pg_sys::table_endscan(scan);
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            pg_sys::UnregisterSnapshot(snapshot);
            found
        }
    }
}

/// What a table is locked for. At once, never to be upgraded: a writer that comes in between would
/// deadlock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing is: only looked at.
    None,
    /// Triggers are added: writers are kept out.
    Add,
    /// Triggers are dropped: readers, too.
    Drop,
}

impl Change {
    fn lockmode(self) -> pg_sys::LOCKMODE {
        (match self {
            Change::None => pg_sys::AccessShareLock,
            Change::Add => pg_sys::ShareRowExclusiveLock,
            Change::Drop => pg_sys::AccessExclusiveLock,
        }) as _
    }
}

/// A table that is being changed: open, and locked until the transaction ends.
pub struct Locked(Relation);

impl Locked {
    /// Opens a table of the current user's own; 42704 if there is none, 42501 if it is another's.
    pub fn open_own(relation: Oid, change: Change) -> Result<Locked, Error> {
        let missing =
            || Error::new(Code::UndefinedObject, format!("relation with OID {} does not exist", relation.to_u32()));
        // Nobody may lock what isn't theirs.
        let require_owner = || {
            if owned_by(relation, role::current_user()) {
                return Ok(());
            }
            Err(Error::new(Code::InsufficientPrivilege, format!("must be owner of table {}", quoted_name(relation))))
        };
        if !exists(relation) {
            return Err(missing());
        }
        require_owner()?;
        let locked = Locked::open(relation, change).ok_or_else(missing)?;
        require_owner()?;
        Ok(locked)
    }

    /// Opens a table, if there is one.
    pub fn open(relation: Oid, change: Change) -> Option<Locked> {
        // SAFETY: null where there is no such relation.
        let rel = unsafe { pg_sys::try_relation_open(relation, change.lockmode()) };
        // Made only then: what is made is closed.
        (!rel.is_null()).then(|| Locked(Relation(rel)))
    }
}

impl Deref for Locked {
    type Target = Relation;

    fn deref(&self) -> &Relation {
        &self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // While an error unwinds, the transaction's abort closes it.
        if !std::thread::panicking() {
            // SAFETY: opened by `open`; the lock stays.
            unsafe { pg_sys::relation_close(self.0.0, pg_sys::NoLock as i32) };
        }
    }
}

/// A `name` as a string.
fn name(name: &pg_sys::NameData) -> String {
    // SAFETY: NUL-terminated.
    text::from_server(unsafe { CStr::from_ptr((&raw const name.data).cast()) }.to_bytes())
}

/// Attribute `i`, from 0, of a descriptor.
unsafe fn attribute(descriptor: pg_sys::TupleDesc, i: usize) -> *const pg_sys::FormData_pg_attribute {
    // SAFETY: the caller's: within the descriptor's attributes.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        return (&raw const (*descriptor).attrs).cast::<pg_sys::FormData_pg_attribute>().add(i);
        #[cfg(feature = "pg18")]
        return pg_sys::TupleDescAttr(descriptor, i as i32);
    }
}

fn exists(relation: Oid) -> bool {
    // SAFETY: a syscache look-up.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::RELOID as i32;
        pg_sys::SearchSysCacheExists(cache, relation.into(), 0.into(), 0.into(), 0.into())
    }
}

/// Whether a role may change a relation as its owner may.
pub fn owned_by(relation: Oid, role: Oid) -> bool {
    // SAFETY: a catalog look-up.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::pg_class_ownercheck(relation, role);
        #[cfg(not(feature = "pg15"))]
        return pg_sys::object_ownercheck(pg_sys::RelationRelationId, relation, role);
    }
}

/// The name of a table by its oid, with its schema and quoted for SQL.
pub fn quoted_name(relation: Oid) -> String {
    // SAFETY: catalog look-ups; null where there is no such table any more.
    unsafe {
        let name = pg_sys::get_rel_name(relation);
        if name.is_null() {
            return relation.to_u32().to_string();
        }
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
        text::from_server(CStr::from_ptr(pg_sys::quote_qualified_identifier(schema, name)).to_bytes())
    }
}

/// A string as an SQL literal, whatever `standard_conforming_strings` says.
pub fn quote_literal(text: &str) -> String {
    let c = super::text::to_server_cstr(text);
    // SAFETY: NUL-terminated; the result is a fresh NUL-terminated string.
    unsafe { super::text::from_server(CStr::from_ptr(pg_sys::quote_literal_cstr(c)).to_bytes()) }
}

/// A string as an SQL identifier.
pub fn quote_identifier(text: &str) -> String {
    let c = super::text::to_server_cstr(text);
    // SAFETY: NUL-terminated; the result is NUL-terminated.
    unsafe { super::text::from_server(CStr::from_ptr(pg_sys::quote_identifier(c)).to_bytes()) }
}
