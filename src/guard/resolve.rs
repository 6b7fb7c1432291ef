//! A guard as one table has it: its definition with the columns looked up.

use super::attach::Part;
use crate::pg::backend::Backend;
use crate::pg::key_type::KeyType;
use crate::pg::relation::{Column, Relation, Trigger};
use crate::pg::{extension, text};
use crate::store::subject::Subject;
use crate::store::{NumberMap, new_map};
use fencing_core::definition::{Definition, KeySource};
use fencing_core::{Code, Error};
use pgrx::pg_sys::{self, Oid};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;

/// A guard, resolved.
pub struct Guard {
    /// As it was declared.
    pub definition: Definition,
    /// The key of the one lease for the table, in the server's encoding; empty for key columns.
    pub fixed_key: Vec<u8>,
    /// The key columns: number and type, in order. Empty for one lease for the table.
    pub key_columns: SmallVec<[(i32, KeyType); 4]>,
    /// Number of the token column, 0 for none.
    pub token_column: i32,
    /// Number of the inline column, 0 for none.
    pub present_column: i32,
    /// Whether the inline column has got a default since: then nothing in it was presented.
    pub present_has_default: bool,
    /// The lease that it was asked about last, and the configuration that it was found in.
    pub last_subject: RefCell<Option<(u64, Rc<Subject>)>>,
}

/// Each with the version of relations that it was resolved under.
type Resolved = (u64, Rc<Guard>);

/// By trigger.
static CACHE: Backend<RefCell<NumberMap<Oid, Resolved>>> = Backend::new(RefCell::new(new_map()));

/// By a trigger, or none yet.
type Last = Option<(Oid, Resolved)>;

/// The one that was asked for last by a trigger of each kind, without looking for it.
static LAST: Backend<RefCell<[Last; 3]>> = Backend::new(RefCell::new([const { None }; 3]));

/// The guard that a trigger of `relation` stands for, from memory where no relation has changed.
pub fn of_trigger(relation: &Relation, trigger: Trigger, part: Part) -> Result<Rc<Guard>, Error> {
    let version = extension::relations_version();
    let oid = trigger.oid();
    let current = |(v, guard): &Resolved| (*v == version).then(|| guard.clone());
    let of_oid = |last: &Last| last.as_ref().filter(|(o, _)| *o == oid).and_then(|(_, g)| current(g));
    let last = LAST.with_borrow(|last| of_oid(&last[part as usize]));
    if let Some(guard) = last {
        return Ok(guard);
    }
    let guard = match CACHE.with_borrow(|cache| cache.get(&oid).and_then(current)) {
        Some(guard) => guard,
        None => found(relation, trigger, version)?,
    };
    LAST.with_borrow_mut(|last| last[part as usize] = Some((oid, (version, guard.clone()))));
    Ok(guard)
}

/// The same, looked up and remembered.
#[inline(never)]
fn found(relation: &Relation, trigger: Trigger, version: u64) -> Result<Rc<Guard>, Error> {
    let unfit = |error: Error| {
        let detail = error.detail.clone().unwrap_or_else(|| "The table's guard names it.".to_owned());
        error.detail(detail).hint("Put the column back as it was, or change the guard with fencing.alter_guard; until then nothing is written.")
    };
    let guard = Rc::new(resolve(relation, Definition::parse(&trigger.arguments())?).map_err(unfit)?);
    CACHE.with_borrow_mut(|cache| {
        // Dropped triggers leave entries behind: start afresh now and then.
        if cache.len() > 1000 {
            cache.clear();
        }
        cache.insert(trigger.oid(), (version, guard.clone()));
    });
    Ok(guard)
}

/// Looks the definition's columns up in a table. A column that is missing or unfit is an error: a
/// guard that can't read its key or token lets nothing pass.
pub fn resolve(relation: &Relation, definition: Definition) -> Result<Guard, Error> {
    let (mut fixed_key, mut key_columns) = (Vec::new(), SmallVec::new());
    match &definition.key {
        KeySource::Fixed(key) => fixed_key = text::to_server(key),
        KeySource::Columns(names) => {
            for name in names {
                let found = relation.column(name)?;
                refuse_generated(name, &found)?;
                key_columns.push((found.number, key_type(name, &found)?));
            }
        }
    }
    let token_column = |name: &Option<String>| {
        name.as_ref().map_or(Ok(None), |name| {
            let found = relation.column(name)?;
            refuse_generated(name, &found)?;
            require_bigint(name, &found)?;
            Ok::<_, Error>(Some(found))
        })
    };
    let stamped = token_column(&definition.token_column)?;
    let inline = token_column(&definition.present_column)?;
    Ok(Guard {
        fixed_key,
        key_columns,
        token_column: stamped.map_or(0, |c| c.number),
        present_column: inline.as_ref().map_or(0, |c| c.number),
        present_has_default: inline.is_some_and(|c| c.has_default),
        last_subject: RefCell::new(None),
        definition,
    })
}

fn refuse_generated(name: &str, column: &Column) -> Result<(), Error> {
    if !column.is_generated {
        return Ok(());
    }
    Err(Error::new(Code::InvalidColumnDefinition, format!("column \"{name}\" is a generated column"))
        .detail("A guard sees a row before generated columns are computed."))
}

fn require_bigint(name: &str, column: &Column) -> Result<(), Error> {
    if column.type_oid == pg_sys::INT8OID {
        return Ok(());
    }
    Err(Error::new(Code::DatatypeMismatch, format!("column \"{name}\" is not of type bigint"))
        .detail("Fencing tokens are of type bigint."))
}

fn key_type(name: &str, column: &Column) -> Result<KeyType, Error> {
    KeyType::of(column.type_oid).ok_or_else(|| {
        Error::new(Code::DatatypeMismatch, format!("column \"{name}\" has a type that can't be a lease key"))
            .detail("A key is made of integers, text, varchar, uuid, enums and domains over them: types whose text no setting changes.")
    })
}
