//! The triggers of a guarded table: the hot path. A row whose verdict is known costs a comparison;
//! no SPI, no allocation, no call into PostgreSQL that could raise.

use super::attach::Part;
use super::check::{Question, Strictness, closed, with_history};
use super::observe;
use super::resolve;
use super::row::{check_row, of_same_token, same_key};
use super::ruling::rule;
use super::statement::Statement;
use crate::pg::outcome::{Outcome, finish, guarded, guarded_by};
use crate::pg::relation::{Relation, Trigger, quote_literal, quoted_name};
use crate::pg::{mutant, raw, role, xact};
use crate::store::installation;
use crate::transaction::maintenance;
use crate::{finfo, remote, transaction};
use fencing_core::admission::{MissingRule, Rejection};
use fencing_core::epoch::Blocked;
use fencing_core::{Code, Error};
use pgrx::pg_sys::{self, Datum, Oid};
use std::ffi::c_void;

const OPERATION: u32 = pg_sys::TRIGGER_EVENT_OPMASK;

finfo!(fencing_guard_row);
/// SQL: `fencing.guard_row()`, BEFORE INSERT, UPDATE, DELETE, for each row.
///
/// # Safety
/// PostgreSQL calls it.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text_hot")]
pub unsafe extern "C-unwind" fn fencing_guard_row(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: PostgreSQL passed the call; `fn_extra` is this function's own, set by
    // `Statement::install`. The frame holds no destructor.
    unsafe {
        let data = (*fcinfo).context.cast::<pg_sys::TriggerData>();
        let statement = (*(*fcinfo).flinfo).fn_extra.cast::<Statement>();
        if !statement.is_null() && settled(&*statement) && same_key(data, &*statement) {
            if (*statement).plain {
                return Datum::from(passed_tuple(data));
            }
            if let Some(row) = of_same_token(data, &*statement) {
                return Datum::from(row);
            }
        }
        finish(guarded_by(guarded_row, fcinfo.cast()), fcinfo)
    }
}

/// The row as it is to be stored; `call` is what PostgreSQL passed.
#[unsafe(link_section = ".text_hot")]
unsafe fn guarded_row(call: *mut c_void) -> Result<Outcome, Error> {
    // SAFETY: the caller's promise.
    unsafe {
        let fcinfo: pg_sys::FunctionCallInfo = call.cast();
        let data = trigger_data(fcinfo, pg_sys::TRIGGER_EVENT_ROW | pg_sys::TRIGGER_EVENT_BEFORE)?;
        let statement = match statement_of(fcinfo, data) {
            // A guard that can't be understood lets nothing pass but maintenance.
            Err(_) if maintenance::is_on() || mutant::without("missing_column") => {
                return Ok(Outcome::Value(Datum::from(passed_tuple(data))));
            }
            statement => statement?,
        };
        Ok(Outcome::Value(Datum::from(check_row(data, statement)?)))
    }
}

/// Whether the verdict that the statement remembers still stands for a row that has nothing of its
/// own to add.
#[inline]
pub fn settled(statement: &Statement) -> bool {
    // SAFETY: reads a static of this backend and can't raise.
    statement.bypass
        || statement.generation == transaction::generation() && statement.user == unsafe { raw::GetOuterUserId() }
}

/// The row as it is to be stored: the new one, or the one to be deleted.
///
/// # Safety
/// `data` must be that of a row trigger's call.
pub unsafe fn passed_tuple(data: *mut pg_sys::TriggerData) -> pg_sys::HeapTuple {
    // SAFETY: the caller's promise.
    unsafe { if is_update(data) { (*data).tg_newtuple } else { (*data).tg_trigtuple } }
}

/// # Safety
/// `data` must be that of a trigger's call.
pub unsafe fn is_update(data: *mut pg_sys::TriggerData) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*data).tg_event & OPERATION == pg_sys::TRIGGER_EVENT_UPDATE }
}

/// # Safety
/// `data` must be that of a trigger's call.
pub unsafe fn is_delete(data: *mut pg_sys::TriggerData) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*data).tg_event & OPERATION == pg_sys::TRIGGER_EVENT_DELETE }
}

finfo!(fencing_guard_statement);
/// SQL: `fencing.guard_statement()`, BEFORE INSERT, UPDATE, DELETE, for each statement.
///
/// # Safety
/// PostgreSQL calls it.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text_hot")]
pub unsafe extern "C-unwind" fn fencing_guard_statement(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: PostgreSQL passed the call. The frame holds no destructor.
    unsafe { finish(guarded_by(guarded_statement, fcinfo.cast()), fcinfo) }
}

#[unsafe(link_section = ".text_hot")]
unsafe fn guarded_statement(call: *mut c_void) -> Result<Outcome, Error> {
    // SAFETY: the caller's promise.
    unsafe {
        let data = trigger_data(call.cast(), pg_sys::TRIGGER_EVENT_BEFORE)?;
        if !maintenance::is_on() {
            let statement = new_statement(data, Part::Statement)?;
            if !statement.bypass {
                or_observe(check_statement(data, &statement), &statement)?;
            }
        }
        Ok(Outcome::Value(Datum::from(0usize)))
    }
}

finfo!(fencing_guard_truncate);
/// SQL: `fencing.guard_truncate()`, BEFORE TRUNCATE, for each statement.
///
/// # Safety
/// PostgreSQL calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fencing_guard_truncate(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: PostgreSQL passed the call. The frame holds no destructor.
    unsafe {
        let outcome = guarded(|| {
            let data = trigger_data(fcinfo, pg_sys::TRIGGER_EVENT_BEFORE)?;
            if !maintenance::is_on() {
                let statement = new_statement(data, Part::Truncate)?;
                if !statement.bypass {
                    or_observe(check_truncate(data, &statement), &statement)?;
                }
            }
            Ok(Outcome::Value(Datum::from(0usize)))
        });
        finish(outcome, fcinfo)
    }
}

/// The row of an INSERT as it came.
///
/// # Safety
/// `fcinfo` must be what PostgreSQL passed.
pub unsafe fn inserted(fcinfo: pg_sys::FunctionCallInfo) -> Result<Outcome, Error> {
    // SAFETY: the caller's promise.
    unsafe {
        let data = trigger_data(fcinfo, pg_sys::TRIGGER_EVENT_ROW | pg_sys::TRIGGER_EVENT_BEFORE)?;
        let owner = Relation::new((*data).tg_relation).owner();
        if !role::is_member(role::current_user(), owner) && !mutant::without("own_inserts") {
            return Err(direct_write());
        }
        Ok(Outcome::Value(Datum::from(passed_tuple(data))))
    }
}

/// 42501, of the extension's own tables.
pub fn direct_write() -> Error {
    Error::new(Code::InsufficientPrivilege, "the extension's tables can't be written directly")
        .detail("They are what guards and leases are decided by.")
        .hint("Use the functions of schema fencing.")
}

/// A guard that only observes warns of a violation and lets the write pass.
fn or_observe(checked: Result<(), Error>, statement: &Statement) -> Result<(), Error> {
    match checked {
        Err(violation) if statement.guard.definition.observe => {
            observe::violation(&violation, None);
            Ok(())
        }
        checked => checked,
    }
}

/// The trigger call, if it is one of the expected kind.
unsafe fn trigger_data(fcinfo: pg_sys::FunctionCallInfo, kind: u32) -> Result<*mut pg_sys::TriggerData, Error> {
    // SAFETY: PostgreSQL passed the call.
    unsafe {
        let data = (*fcinfo).context.cast::<pg_sys::TriggerData>();
        let mask = pg_sys::TRIGGER_EVENT_ROW | pg_sys::TRIGGER_EVENT_TIMINGMASK;
        if data.is_null() || (*data).type_ != pg_sys::NodeTag::T_TriggerData || (*data).tg_event & mask != kind {
            return Err(Error::new(Code::WrongObjectType, "guard function called out of place")
                .hint("Attach guards with fencing.protect."));
        }
        Ok(data)
    }
}

#[unsafe(link_section = ".text_hot")]
unsafe fn statement_of<'a>(
    fcinfo: pg_sys::FunctionCallInfo,
    data: *mut pg_sys::TriggerData,
) -> Result<&'a mut Statement, Error> {
    // SAFETY: PostgreSQL passed the call; `fn_extra` is this library's own and outlives the call;
    // no other reference to it exists while this one is in use, as a nested statement has its own.
    unsafe {
        let flinfo = (*fcinfo).flinfo;
        let mut statement = (*flinfo).fn_extra.cast::<Statement>();
        if statement.is_null() {
            statement = new_statement(data, Part::Row)?.install(flinfo);
        }
        Ok(&mut *statement)
    }
}

/// What the trigger at hand knows of its statement as that begins.
#[unsafe(link_section = ".text_hot")]
unsafe fn new_statement(data: *mut pg_sys::TriggerData, part: Part) -> Result<Statement, Error> {
    // SAFETY: the caller's: the call's data.
    let (relation, trigger) = unsafe { (Relation::new((*data).tg_relation), Trigger::new((*data).tg_trigger)) };
    let guard = resolve::of_trigger(&relation, trigger, part)?;
    // Rows that a subscription applies were fenced where they come from. What a trigger
    // makes of them here was not.
    let applied = xact::is_apply_worker() && !xact::in_nested_trigger();
    Ok(Statement::new(relation.oid(), guard, applied || mutant::without(part.word())))
}

/// Takes the fence before any row lock, and makes a stale statement that matches no row an error.
#[unsafe(link_section = ".text_hot")]
unsafe fn check_statement(data: *mut pg_sys::TriggerData, statement: &Statement) -> Result<(), Error> {
    let guard = &statement.guard;
    if !guard.key_columns.is_empty() {
        return Ok(());
    }
    // Rows may present what the statement as a whole doesn't; and a foreign key's action may find
    // no row at all. Where there are row triggers, a token that is missing so far is left to them.
    let (nothing, left_to_rows) = transaction::with(|t| (t.presents_nothing(), t.stale.is_left_to_rows()));
    let rows_decide = !guard.definition.statement_level
        && (guard.present_column != 0 || left_to_rows || xact::in_foreign_key_action());
    if rows_decide && (nothing || left_to_rows) {
        return Ok(());
    }
    let ruling = rule(statement, &question(statement, &guard.fixed_key, None))?;
    if rows_decide && ruling.is_for_lack_of_a_token() {
        return Ok(());
    }
    // SAFETY: the caller's: the call's data.
    unsafe { ruling.settle(data, statement) }.map(drop)
}

unsafe fn check_truncate(data: *mut pg_sys::TriggerData, statement: &Statement) -> Result<(), Error> {
    let guard = &statement.guard;
    if guard.key_columns.is_empty() {
        let ruling = rule(statement, &question(statement, &guard.fixed_key, None))?;
        // SAFETY: the caller's: the call's data.
        return unsafe { ruling.settle(data, statement) }.map(drop);
    }
    // It names no lease; but while nothing is admitted, it isn't either.
    let enforce = !guard.definition.observe;
    if let Some(coordinator) = &guard.definition.coordinator {
        remote::require_open(coordinator, enforce)?;
    } else if let Some(why) = closed(statement.table, enforce) {
        // SAFETY: the call's relation is open.
        let table = unsafe { Relation::new((*data).tg_relation) }.display_name();
        return Err(explained(why, with_history(why, why.error("", Some(&table)), None), statement));
    }
    if guard.definition.on_missing == MissingRule::Admit && transaction::with(|t| t.presents_nothing()) {
        return Ok(());
    }
    // SAFETY: the call's relation is open.
    let table = unsafe { Relation::new((*data).tg_relation) }.display_name();
    Err(Error::new(Code::MissingToken, format!("cannot truncate table \"{table}\" under fencing tokens"))
        .detail("Its rows belong to one lease per key; TRUNCATE names none of them.")
        .hint("Delete the rows of the leases that you hold instead."))
}

/// The question that a statement's guard asks of one lease.
pub fn question<'a>(statement: &'a Statement, key: &'a [u8], inline: Option<i64>) -> Question<'a> {
    let definition = &statement.guard.definition;
    let admit = mutant::without("missing");
    Question {
        guard: &statement.guard,
        table: statement.table,
        key,
        inline,
        on_missing: if admit { MissingRule::Admit } else { definition.on_missing },
        strictness: if definition.observe { Strictness::Observe } else { Strictness::Enforce },
    }
}

/// The error of a rejected write, with what to do about it.
pub fn explained(why: Rejection, error: Error, statement: &Statement) -> Error {
    match why {
        Rejection::Blocked(next) => error.hint(unblocking(next, statement.table)),
        _ => error,
    }
}

/// What unblocks a table: of a tree, the highest that is blocked.
fn unblocking(next: Blocked, table: Oid) -> String {
    let table = installation::blocked(table).map_or(table, |(_, highest)| highest);
    format!("SELECT {}({}) is next.", next.function(), quote_literal(&quoted_name(table)))
}
