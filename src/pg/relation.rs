//! Other people's tables: their columns.

use super::{entry, text};
use fencing_core::{Code, Error};
use pgrx::pg_sys::{self, Datum, Oid};
use std::ffi::CStr;

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

/// The column of that name, or 42703.
///
/// # Safety
/// `relation` must be open.
pub unsafe fn column(relation: pg_sys::Relation, name: &str) -> Result<Column, Error> {
    // SAFETY: the caller's promise; attribute numbers are those of the descriptor.
    unsafe {
        let descriptor = (*relation).rd_att;
        for i in 0..(*descriptor).natts as usize {
            let attribute = attribute(descriptor, i);
            if (*attribute).attisdropped {
                continue;
            }
            let attname = CStr::from_ptr((&raw const (*attribute).attname.data).cast());
            if text::from_server(attname.to_bytes()) == name {
                return Ok(Column {
                    number: i32::from((*attribute).attnum),
                    type_oid: (*attribute).atttypid,
                    has_default: (*attribute).attgenerated == 0
                        && ((*attribute).atthasdef || (*attribute).attidentity != 0),
                    is_generated: (*attribute).attgenerated != 0,
                    is_not_null: (*attribute).attnotnull,
                });
            }
        }
        Err(Error::new(
            Code::UndefinedColumn,
            format!("column \"{name}\" of relation \"{}\" does not exist", self::name(relation)),
        ))
    }
}

unsafe extern "C-unwind" {
    fn has_superclass(relation: Oid) -> bool;
    fn find_all_inheritors(parent: Oid, lock: pg_sys::LOCKMODE, parents: *mut *mut pg_sys::List) -> *mut pg_sys::List;
}

/// Whether a table is a partition or an inheritance child.
pub fn has_parent(relation: Oid) -> bool {
    // SAFETY: a catalog look-up; the closure holds no destructor.
    unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| has_superclass(relation)) }
}

/// A table with all its partitions and inheritance children, locked against writers.
pub fn with_descendants(relation: Oid) -> Vec<Oid> {
    let lock = pg_sys::ShareRowExclusiveLock as pg_sys::LOCKMODE;
    // SAFETY: the closure holds no destructor; the list has as many elements as it says, all oids.
    unsafe {
        let list = pg_sys::ffi::pg_guard_ffi_boundary(|| find_all_inheritors(relation, lock, std::ptr::null_mut()));
        (0..(*list).length as usize).map(|i| (*(*list).elements.add(i)).oid_value).collect()
    }
}

/// The name of an open relation.
///
/// # Safety
/// `relation` must be open.
pub unsafe fn name(relation: pg_sys::Relation) -> String {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr((&raw const (*(*relation).rd_rel).relname.data).cast()) };
    text::from_server(name.to_bytes())
}

/// The name of an open relation, with its schema, for messages.
///
/// # Safety
/// `relation` must be open.
pub unsafe fn display_name(relation: pg_sys::Relation) -> String {
    // SAFETY: the caller's promise; a catalog look-up; null where the schema is gone.
    unsafe {
        let schema = pg_sys::get_namespace_name((*(*relation).rd_rel).relnamespace);
        if schema.is_null() {
            return name(relation);
        }
        format!("{}.{}", text::from_server(CStr::from_ptr(schema).to_bytes()), name(relation))
    }
}

/// The name of an open relation, with its schema and quoted for SQL.
///
/// # Safety
/// `relation` must be open.
pub unsafe fn quoted_name(relation: pg_sys::Relation) -> String {
    // SAFETY: the caller's promise; catalog look-ups.
    unsafe {
        let schema = pg_sys::get_namespace_name((*(*relation).rd_rel).relnamespace);
        let quoted = pg_sys::quote_qualified_identifier(schema, (&raw const (*(*relation).rd_rel).relname.data).cast());
        text::from_server(CStr::from_ptr(quoted).to_bytes())
    }
}

/// The name of a table by its oid, with its schema and quoted for SQL.
pub fn name_of(relation: Oid) -> String {
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

/// How a value of a key column becomes text. Only types whose text no setting of a session changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyType {
    /// smallint
    Int2,
    /// integer
    Int4,
    /// bigint
    Int8,
    /// text, varchar
    Text,
    /// uuid
    Uuid,
    /// An enum
    Enum,
    /// A string literal that has no type yet; only as an argument of a function.
    Literal,
}

impl KeyType {
    /// The kind of a type, domains included; `None` where it can't be a key.
    pub fn of(type_oid: Oid) -> Option<KeyType> {
        // SAFETY: catalog look-ups.
        let base = unsafe { pg_sys::getBaseType(type_oid) };
        match base {
            pg_sys::INT2OID => Some(KeyType::Int2),
            pg_sys::INT4OID => Some(KeyType::Int4),
            pg_sys::INT8OID => Some(KeyType::Int8),
            pg_sys::TEXTOID | pg_sys::VARCHAROID => Some(KeyType::Text),
            pg_sys::UUIDOID => Some(KeyType::Uuid),
            // SAFETY: as above.
            _ if unsafe { pg_sys::type_is_enum(base) } => Some(KeyType::Enum),
            _ => None,
        }
    }

    /// Appends the value's own bytes: equal bytes, equal text.
    ///
    /// # Safety
    /// `datum` must be a non-null value of such a type.
    pub unsafe fn append_raw(self, datum: Datum, out: &mut Vec<u8>) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                KeyType::Int2 | KeyType::Int4 | KeyType::Int8 | KeyType::Enum => {
                    out.extend_from_slice(&datum.value().to_ne_bytes());
                }
                KeyType::Uuid => out.extend_from_slice(std::slice::from_raw_parts(datum.cast_mut_ptr::<u8>(), 16)),
                KeyType::Text => text::with_bytes(datum, |bytes| {
                    out.extend_from_slice(&bytes.len().to_ne_bytes());
                    out.extend_from_slice(bytes);
                }),
                KeyType::Literal => out.extend_from_slice(&self.text(datum)),
            }
        }
    }

    /// The value's text, in the server's encoding.
    ///
    /// # Safety
    /// `datum` must be a non-null value of such a type.
    pub unsafe fn text(self, datum: Datum) -> Vec<u8> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                KeyType::Int2 => (datum.value() as i16).to_string().into_bytes(),
                KeyType::Int4 => (datum.value() as i32).to_string().into_bytes(),
                KeyType::Int8 => (datum.value() as i64).to_string().into_bytes(),
                KeyType::Text => text::bytes_of(datum),
                KeyType::Uuid => fencing_core::key::uuid_text(&*datum.cast_mut_ptr::<[u8; 16]>()),
                KeyType::Enum => entry::enum_label(datum).into_bytes(),
                KeyType::Literal => CStr::from_ptr(datum.cast_mut_ptr()).to_bytes().to_vec(),
            }
        }
    }
}
