//! Guards: the triggers that make a table reject the writes of a holder whose authority has ended.

mod attach;
mod check;
mod commit;
mod declare;
mod grants;
mod maintain;
mod observe;
mod present;
mod protect;
mod record;
mod resolve;
mod row;
mod ruling;
mod statement;
mod trees;
mod trigger;
mod watch;

pub use check::Strictness;
pub use commit::{before_commit, before_prepare, define_settings, has_work};
pub use trees::{Tree, any_blocked, require_whole, tree, trees};

use crate::pg::entry::{ANY, Answer, Arg, Args, BIGINT, BIGINTS, BOOL, NAME, NAMES, REGCLASS, TEXT};
use crate::pg::key_type::KeyType;
use crate::pg::outcome::{Outcome, finish, guarded};
use crate::pg::value::Value;
use crate::pg::{catalog, mutant, text, xact};
use crate::{finfo, sql_function};
use fencing_core::admission::MissingRule;
use fencing_core::definition::{Definition, KeySource};
use fencing_core::{Code, Error, key};
use pgrx::pg_sys;
use smallvec::SmallVec;

sql_function!(
    fencing_protect,
    [REGCLASS, TEXT, TEXT, NAMES, NAME, NAME, Arg::Enum, Arg::Enum, Arg::Enum, Arg::Enum, TEXT],
    protect::protect
);
sql_function!(
    fencing_alter_guard,
    [REGCLASS, TEXT, TEXT, NAMES, NAME, NAME, Arg::Enum, Arg::Enum, Arg::Enum, Arg::Enum, TEXT],
    protect::alter_guard
);
sql_function!(fencing_unprotect, [REGCLASS], protect::unprotect);
sql_function!(fencing_watch_command, [Arg::Of(pg_sys::PG_DDL_COMMANDOID)], watch::watch_command);
sql_function!(fencing_keep_guard, [Arg::Of(pg_sys::OIDOID)], watch::keep_guard);
sql_function!(fencing_should_be_guarded, [TEXT, TEXT], watch::should_be_guarded);
sql_function!(fencing_present, [BIGINT], present::present);
sql_function!(fencing_present_all, [BIGINTS], present::present_all);
sql_function!(fencing_present_for, [TEXT, TEXT, BIGINT], present::present_for);
sql_function!(fencing_maintain, [TEXT], maintain::maintain);
sql_function!(fencing_present_stale, [BOOL, BOOL], present::present_stale);
sql_function!(fencing_assert_current, [BIGINT], assert_current);
sql_function!(fencing_key_of, [ANY], key_of);
sql_function!(fencing_guard_definition, [Arg::Of(pg_sys::BYTEAOID)], guard_definition);
sql_function!(fencing_guard_definition_of_array, [Arg::Of(pg_sys::TEXTARRAYOID)], guard_definition_of_array);

/// `assert_current(token)`: the guard without a trigger.
fn assert_current(args: &Args) -> Result<Answer<'static>, Error> {
    let token = args.bigint(0).ok_or_else(|| Error::null("token"))?;
    check::assert_current(token)?;
    Ok(Answer::Void)
}

/// `key_of(VARIADIC "any")`: the key that a guard makes of these values.
fn key_of(args: &Args) -> Result<Answer<'static>, Error> {
    // SAFETY: PostgreSQL passed the call.
    if unsafe { pg_sys::get_fn_expr_variadic((*args.fcinfo()).flinfo) } {
        return Err(Error::new(Code::FeatureNotSupported, "key_of takes its values one by one")
            .hint("Write fencing.key_of(a, b) instead of fencing.key_of(VARIADIC array)."));
    }
    let mut texts = Vec::new();
    for n in 0..args.count() {
        let type_oid = args.actual_type(n);
        let kind = if type_oid == pg_sys::UNKNOWNOID { Some(KeyType::Literal) } else { KeyType::of(type_oid) };
        let kind = kind.ok_or_else(|| {
            Error::new(Code::DatatypeMismatch, format!("argument {} has a type that can't be a lease key", n + 1))
                .detail("A key is made of integers, text, varchar, uuid, enums and domains over them.")
        })?;
        let value = args.raw(n).ok_or_else(|| {
            Error::new(Code::NotNullViolation, format!("argument {} of key_of is null", n + 1))
                .detail("A row with a null key column belongs to no lease.")
        })?;
        // SAFETY: a non-null value of that type.
        texts.push(unsafe { kind.text(value) });
    }
    let key = match texts.as_slice() {
        [one] => one.to_vec(),
        several => key::row_text(&several.iter().map(SmallVec::as_slice).collect::<Vec<_>>()),
    };
    Ok(Answer::One(Value::Raw(text::datum_of(&key))))
}

/// `guard_definition(arguments)`: for the view `guards`.
fn guard_definition(args: &Args) -> Result<Answer<'static>, Error> {
    let arguments = args.bytes(0).ok_or_else(|| Error::null("arguments"))?;
    Ok(show(Definition::parse(&catalog::split_arguments(&arguments))))
}

/// `guard_definition(settings)`, of what is recorded.
fn guard_definition_of_array(args: &Args) -> Result<Answer<'static>, Error> {
    let settings = args.texts(0, "settings").ok_or_else(|| Error::null("settings"))??;
    Ok(show(Definition::of_settings(&settings)))
}

fn show(definition: Result<Definition, Error>) -> Answer<'static> {
    // One that can't be read must not hide the others.
    let Ok(d) = definition else {
        return Answer::Record(vec![Value::Null; 10]);
    };
    let text = |s: &str| Value::Raw(text::datum_of_str(s));
    let optional = |s: &Option<String>| s.as_deref().map_or(Value::Null, text);
    let (key, columns) = match &d.key {
        KeySource::Fixed(key) => (text(key), Value::Null),
        KeySource::Columns(names) => (Value::Null, Value::Raw(text::array_of_str(names))),
    };
    Answer::Record(vec![
        text(&d.namespace),
        key,
        columns,
        optional(&d.token_column),
        optional(&d.present_column),
        text(if d.coordinator.is_some() { "destination" } else { "lease" }),
        text(if d.on_missing == MissingRule::Admit { "admit" } else { "reject" }),
        text(if d.observe { "observe" } else { "enforce" }),
        text(if d.statement_level { "statement" } else { "row" }),
        optional(&d.coordinator),
    ])
}

finfo!(fencing_refuse_direct_write);
/// SQL: `fencing.refuse_direct_write()`.
///
/// # Safety
/// PostgreSQL calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fencing_refuse_direct_write(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: PostgreSQL called; this frame holds no destructor.
    unsafe {
        let outcome = guarded(|| {
            if mutant::without("own_tables") {
                return Ok(Outcome::Value(pg_sys::Datum::from(0usize)));
            }
            Err(trigger::direct_write())
        });
        finish(outcome, fcinfo)
    }
}

finfo!(fencing_refuse_applied_row);
/// SQL: `fencing.refuse_applied_row()`: whatever a subscription brings into the extension's own
/// tables is another coordinator's, and must not be taken for this one's.
///
/// # Safety
/// PostgreSQL calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fencing_refuse_applied_row(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: PostgreSQL called; this frame holds no destructor.
    unsafe {
        let outcome = guarded(|| {
            if xact::is_apply_worker() {
                return Err(Error::new(
                    Code::InsufficientPrivilege,
                    "a subscription can't write the extension's tables",
                )
                .detail("What they say is the publisher's leases and fences, not those of this database.")
                .hint("Publish the tables that are meant, by name or by schema, instead of all tables."));
            }
            trigger::inserted(fcinfo)
        });
        finish(outcome, fcinfo)
    }
}
