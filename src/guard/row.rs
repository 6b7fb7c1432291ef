//! The check of one row.

use super::observe;
use super::resolve::Guard;
use super::ruling::rule;
use super::statement::Statement;
use super::trigger::{is_delete, is_update, passed_tuple, question, settled};
use crate::pg::key_type::{KeyBytes, KeyType};
use crate::pg::tuple::{bigint, column};
use crate::pg::{mutant, tuple, xact};
use crate::transaction::{self, maintenance};
use fencing_core::definition::KeySource;
use fencing_core::{Code, Error, Token, key};
use pgrx::pg_sys::{self, HeapTuple, TupleDesc};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Checks a row and gives it back as it is to be stored: with the inline column NULL and the token
/// column stamped.
///
/// # Safety
/// `data` must be that of the row trigger's call at hand.
#[unsafe(link_section = ".text_hot")]
pub unsafe fn check_row(data: *mut pg_sys::TriggerData, statement: &mut Statement) -> Result<HeapTuple, Error> {
    // SAFETY: the caller's promise; both tuples match the relation's descriptor.
    unsafe {
        let descriptor = (*(*data).tg_relation).rd_att;
        let row = passed_tuple(data);
        if statement.bypass {
            return Ok(row);
        }
        let old = if is_update(data) { Some((*data).tg_trigtuple) } else { None };
        let inline = statement.guard.present_column;
        let assigned = if inline == 0 || is_delete(data) { None } else { bigint(row, inline, descriptor) };
        let accepted = if maintenance::is_on() {
            None
        } else {
            match accepted(data, statement, descriptor, row, old, assigned) {
                Err(violation) if statement.guard.definition.observe => {
                    observe::violation(&violation, None);
                    None
                }
                accepted => accepted?,
            }
        };
        if is_delete(data) { Ok(row) } else { Ok(stamp(data, statement, row, old, assigned.is_some(), accepted)) }
    }
}

/// The token that the row is accepted under, `None` where it passes without.
unsafe fn accepted(
    data: *mut pg_sys::TriggerData,
    statement: &mut Statement,
    descriptor: TupleDesc,
    row: HeapTuple,
    old: Option<HeapTuple>,
    assigned: Option<i64>,
) -> Result<Option<Token>, Error> {
    // SAFETY: the caller's: the call's data, and tuples of this descriptor.
    unsafe {
        let inline = inline_token(statement, assigned, old, descriptor)?;
        if statement.guard.key_columns.is_empty() {
            check_fixed(data, statement, inline)
        } else {
            check_columns(data, statement, descriptor, row, old, inline)
        }
    }
}

/// Presents what was assigned to the inline column, for this statement and what that causes.
unsafe fn inline_token(
    statement: &mut Statement,
    assigned: Option<i64>,
    old: Option<HeapTuple>,
    descriptor: TupleDesc,
) -> Result<Option<i64>, Error> {
    let guard = &statement.guard;
    if guard.present_column == 0 {
        return Ok(None);
    }
    // SAFETY: the caller's: tuples of this descriptor.
    let stored = old.and_then(|old| unsafe { bigint(old, guard.present_column, descriptor) });
    if let Some(stored) = stored.filter(|_| !mutant::without("inline_stored")) {
        return Err(stored_value(guard, stored));
    }
    let Some(token) = assigned else { return Ok(None) };
    // With a default, nobody can tell the client's token from the default's.
    if guard.present_has_default && !mutant::without("inline_default") {
        return Ok(None);
    }
    if token > 0 {
        statement.presented_inline = true;
        // Of a coordinator elsewhere it is known only with its row's key whose token it is.
        if guard.definition.coordinator.is_none() {
            let level = xact::nest_level();
            transaction::with(|t| t.presentation.present_inline(token, statement.id, level));
        }
    }
    Ok(Some(token))
}

#[cold]
fn stored_value(guard: &Guard, stored: i64) -> Error {
    let name = guard.definition.present_column.as_deref().unwrap_or_default();
    Error::new(Code::InvalidPresentation, format!("stored value in inline column \"{name}\""))
        .detail(format!("The row holds {stored} there. What can be read back from a row is no presentation."))
        .hint("Set the column to NULL with the guard removed, then protect the table again.")
}

#[inline(never)]
#[unsafe(link_section = ".text_hot")]
unsafe fn check_fixed(
    data: *mut pg_sys::TriggerData,
    statement: &mut Statement,
    inline: Option<i64>,
) -> Result<Option<Token>, Error> {
    if settled(statement) && agrees(statement, inline) {
        return Ok(statement.token);
    }
    let generation = transaction::generation();
    // SAFETY: the caller's: the call's data.
    let accepted = unsafe { ask(data, statement, &statement.guard.fixed_key, inline) }?;
    remember(statement, generation, accepted);
    Ok(accepted)
}

#[inline(never)]
#[unsafe(link_section = ".text_hot")]
unsafe fn check_columns(
    data: *mut pg_sys::TriggerData,
    statement: &mut Statement,
    descriptor: TupleDesc,
    row: HeapTuple,
    old: Option<HeapTuple>,
    inline: Option<i64>,
) -> Result<Option<Token>, Error> {
    // SAFETY: the caller's: tuples of this descriptor.
    if mutant::without("null_key") && unsafe { has_null_key(statement, row, descriptor) } {
        return Ok(None);
    }
    // SAFETY: as above.
    let moves = unsafe {
        read_key(&statement.guard, row, descriptor, &mut statement.row_key)?;
        match old {
            Some(old) if has_key(&statement.guard, old, descriptor, &statement.row_key) => false,
            Some(old) => {
                read_key(&statement.guard, old, descriptor, &mut statement.old_key)?;
                statement.row_key != statement.old_key
            }
            None => false,
        }
    };
    if !moves && statement.row_key == statement.key && settled(statement) && agrees(statement, inline) {
        return Ok(statement.token);
    }
    let generation = transaction::generation();
    // SAFETY: as above.
    let accepted = unsafe {
        match old.filter(|_| moves) {
            Some(old) => check_move(data, statement, descriptor, row, old, inline)?,
            None => {
                let key = key_text(&statement.guard, row, descriptor, &statement.row_key);
                ask(data, statement, &key, inline)?
            }
        }
    };
    std::mem::swap(&mut statement.key, &mut statement.row_key);
    remember(statement, generation, accepted);
    Ok(accepted)
}

/// A row that leaves one lease for another: the token of that which it enters.
#[inline(never)]
unsafe fn check_move(
    data: *mut pg_sys::TriggerData,
    statement: &Statement,
    descriptor: TupleDesc,
    row: HeapTuple,
    old: HeapTuple,
    inline: Option<i64>,
) -> Result<Option<Token>, Error> {
    // SAFETY: the caller's: the call's data, tuples of this descriptor whose keys the statement has read.
    unsafe {
        let key = key_text(&statement.guard, row, descriptor, &statement.row_key);
        let old_key = key_text(&statement.guard, old, descriptor, &statement.old_key);
        // Both must be authorised, and the row's own token, if it has one, must be one of the two. A token that
        // says nothing of its lease is the row's as it is to be stored.
        let own = inline.filter(|_| statement.guard.definition.coordinator.is_some());
        let ask_one = |key: &[u8], inline, name| {
            if mutant::without(name) { Ok(None) } else { ask(data, statement, key, inline) }
        };
        let (left, entered) = (ask_one(&old_key, None, "old_key")?, ask_one(&key, own, "new_key")?);
        let known = |token: i64| [left, entered].iter().flatten().any(|t| t.to_bigint() == token);
        if let Some(token) = inline.filter(|token| !known(*token)) {
            ask(data, statement, &key, Some(token))?;
        }
        Ok(entered)
    }
}

#[inline]
unsafe fn ask(
    data: *mut pg_sys::TriggerData,
    statement: &Statement,
    key: &[u8],
    inline: Option<i64>,
) -> Result<Option<Token>, Error> {
    let ruling = rule(statement, &question(statement, key, inline))?;
    // SAFETY: the caller's: the call's data.
    unsafe { ruling.settle(data, statement) }
}

/// Whether the row's own token, if it has one, is the one that the last row was accepted under.
fn agrees(statement: &Statement, inline: Option<i64>) -> bool {
    inline.is_none_or(|token| statement.token.is_some_and(|t| t.to_bigint() == token))
}

/// The next row with the same key and token needs no check. Only an accepted token is remembered:
/// what merely passed is asked about again.
fn remember(statement: &mut Statement, generation: u64, accepted: Option<Token>) {
    statement.token = accepted;
    statement.generation = if accepted.is_some() { generation } else { 0 };
    statement.user = crate::pg::role::outer_user();
}

/// Reads the key columns' values of `tuple`. NULL is refused.
#[inline]
#[unsafe(link_section = ".text_hot")]
unsafe fn read_key(guard: &Guard, tuple: HeapTuple, descriptor: TupleDesc, key: &mut KeyBytes) -> Result<(), Error> {
    key.clear();
    let Some((last, others)) = guard.key_columns.split_last() else { return Ok(()) };
    // SAFETY: the caller's: a tuple of this descriptor; the columns are of these types.
    unsafe {
        let value = |number| column(tuple, number, descriptor).ok_or_else(|| null_key(guard, number));
        for &(number, kind) in others {
            kind.append_raw(value(number)?, key);
        }
        last.1.append_last(value(last.0)?, key);
    }
    Ok(())
}

/// Whether a key column of `tuple` is NULL. For the mutant alone: nothing else may let such a row pass.
unsafe fn has_null_key(statement: &Statement, tuple: HeapTuple, descriptor: TupleDesc) -> bool {
    // SAFETY: the caller's: a tuple of this descriptor.
    statement.guard.key_columns.iter().any(|&(number, _)| unsafe { column(tuple, number, descriptor) }.is_none())
}

#[cold]
fn null_key(guard: &Guard, number: i32) -> Error {
    let position = guard.key_columns.iter().position(|(n, _)| *n == number).unwrap_or(0);
    let name = match &guard.definition.key {
        KeySource::Columns(names) => names[position].as_str(),
        KeySource::Fixed(_) => "",
    };
    Error::new(Code::NotNullViolation, format!("null value in key column \"{name}\""))
        .detail("The guard makes the lease's key of this column; a row without one belongs to no lease.")
}

/// The lease key of a row, whose values are `raw`: one column's text, or the text of a row of several.
#[inline]
unsafe fn key_text<'a>(guard: &Guard, tuple: HeapTuple, descriptor: TupleDesc, raw: &'a KeyBytes) -> Cow<'a, [u8]> {
    match guard.key_columns.as_slice() {
        [(_, KeyType::Text)] => Cow::Borrowed(raw),
        // SAFETY: the caller's: a tuple of this descriptor, with these values.
        columns => Cow::Owned(unsafe { text_of_others(columns, tuple, descriptor) }),
    }
}

#[inline(never)]
unsafe fn text_of_others(columns: &[(i32, KeyType)], tuple: HeapTuple, descriptor: TupleDesc) -> Vec<u8> {
    let text = |&(number, kind): &(i32, KeyType)| {
        // SAFETY: the caller's: a tuple of this descriptor; NULLs were refused.
        unsafe { column(tuple, number, descriptor).map_or_else(KeyBytes::new, |value| kind.text(value)) }
    };
    match columns {
        [one] => text(one).into_vec(),
        several => {
            let texts: Vec<_> = several.iter().map(text).collect();
            key::row_text(&texts.iter().map(SmallVec::as_slice).collect::<Vec<_>>())
        }
    }
}

/// Whether the row at hand (and the one that it replaces) has the key that the last one was accepted
/// with. Doesn't raise; `false` where only a closer look would tell.
///
/// # Safety
/// `data` must be that of the row trigger's call at hand.
#[inline]
pub unsafe fn same_key(data: *mut pg_sys::TriggerData, statement: &Statement) -> bool {
    let columns = statement.guard.key_columns.as_slice();
    if columns.is_empty() || statement.bypass {
        return true;
    }
    // SAFETY: the caller's promise; both tuples match the relation's descriptor.
    unsafe {
        let descriptor = (*(*data).tg_relation).rd_att;
        let same = |tuple: HeapTuple| has_key(&statement.guard, tuple, descriptor, &statement.key);
        same(passed_tuple(data)) && (!is_update(data) || same((*data).tg_trigtuple))
    }
}

/// Whether the key columns of `tuple` have these values. Doesn't raise; `false` where only a closer look
/// would tell.
#[inline]
#[unsafe(link_section = ".text_hot")]
unsafe fn has_key(guard: &Guard, tuple: HeapTuple, descriptor: TupleDesc, key: &KeyBytes) -> bool {
    let Some((last, others)) = guard.key_columns.split_last() else { return true };
    // SAFETY: the caller's: a tuple of this descriptor; the columns are of these types.
    unsafe {
        let strip = |rest, &(number, kind): &(i32, KeyType)| {
            column(tuple, number, descriptor).and_then(|value| kind.strip_raw(value, rest))
        };
        let Some(rest) = others.iter().try_fold(key.as_slice(), strip) else { return false };
        column(tuple, last.0, descriptor).is_some_and(|value| last.1.is_last(value, rest))
    }
}

/// The row as it is to be stored.
unsafe fn stamp(
    data: *mut pg_sys::TriggerData,
    statement: &Statement,
    row: HeapTuple,
    old: Option<HeapTuple>,
    assigned: bool,
    accepted: Option<Token>,
) -> HeapTuple {
    let guard = &statement.guard;
    let mut changes = SmallVec::<[(i32, Option<i64>); 2]>::new();
    // SAFETY: the caller's: the call's data and tuples; both columns are of type bigint.
    unsafe {
        let descriptor = (*(*data).tg_relation).rd_att;
        if assigned && !mutant::without("inline_null") {
            changes.push((guard.present_column, None));
        }
        if guard.token_column != 0 && !mutant::without("stamp") {
            let stored = match accepted {
                Some(token) => Some(token.to_bigint()),
                None => old.and_then(|old| bigint(old, guard.token_column, descriptor)),
            };
            if bigint(row, guard.token_column, descriptor) != stored {
                changes.push((guard.token_column, stored));
            }
        }
        if changes.is_empty() { row } else { tuple::with_columns(row, slot_of(data), descriptor, &changes) }
    }
}

/// The slot of the row to be stored.
unsafe fn slot_of(data: *mut pg_sys::TriggerData) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: the caller's: a row trigger's call.
    unsafe { if is_update(data) { (*data).tg_newslot } else { (*data).tg_trigslot } }
}

/// The row at hand as it is to be stored, where it has nothing of its own but the token that the last one
/// was accepted under, or none. Doesn't raise; `None` where only a closer look would tell.
///
/// # Safety
/// `data` must be that of the row trigger's call at hand, whose verdict is [`settled`] for a row of the
/// [same key](same_key).
#[inline]
pub unsafe fn of_same_token(data: *mut pg_sys::TriggerData, statement: &Statement) -> Option<HeapTuple> {
    let guard = &statement.guard;
    let column = guard.present_column;
    if statement.bypass || guard.token_column != 0 || guard.present_has_default {
        return None;
    }
    // SAFETY: the caller's promise; the tuples match the relation's descriptor.
    unsafe {
        let (row, descriptor) = (passed_tuple(data), (*(*data).tg_relation).rd_att);
        if is_delete(data) {
            return Some(row);
        }
        if is_update(data) && tuple::last_bigint((*data).tg_trigtuple, column, descriptor)?.is_some() {
            return None;
        }
        let token = statement.token?.to_bigint();
        match tuple::last_bigint(row, column, descriptor)? {
            None => Some(row),
            Some(own) => (own == token && tuple::drop_last(row, slot_of(data), descriptor, column)).then_some(row),
        }
    }
}
