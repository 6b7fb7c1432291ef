//! Entry points: how SQL calls into the library.
//!
//! Each SQL function is declared by hand in `sql/`, beside its comment and its grants, and bound
//! to a Rust function by [`sql_function!`]. A declaration that doesn't match (library and script
//! can meet in any combination of versions) is a clear error, not a crash. Errors keep their own
//! SQLSTATE; see [`super::report`].

use super::outcome::{Outcome, Script, throw};
use super::text;
use super::value::{Value, datums};
use super::{extension, memory, raw};
use fencing_core::name::Interval;
use fencing_core::{Code, Error};
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum, Oid};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::c_char;

/// A function's result.
pub enum Answer<'a> {
    /// Nothing to say.
    Void,
    /// One value.
    One(Value<'a>),
    /// One row of OUT parameters, in their order.
    Record(Vec<Value<'a>>),
    /// Any number of such rows.
    Set(Vec<Vec<Value<'a>>>),
    /// SQL to run with the caller's rights, then nothing to say; `grants` is run by the
    /// extension's owner before and after.
    Execute {
        /// Statements.
        sql: String,
        /// What grants a missing right, and what takes it back.
        grants: Option<(String, String)>,
    },
}

/// Expected type of an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Arg {
    /// A type of PostgreSQL's own.
    Of(Oid),
    /// An enum of the extension.
    Enum,
}

/// bigint
pub const BIGINT: Arg = Arg::Of(pg_sys::INT8OID);
/// text
pub const TEXT: Arg = Arg::Of(pg_sys::TEXTOID);
/// name
pub const NAME: Arg = Arg::Of(pg_sys::NAMEOID);
/// bigint[]
pub const BIGINTS: Arg = Arg::Of(pg_sys::INT8ARRAYOID);
/// name[]
pub const NAMES: Arg = Arg::Of(pg_sys::NAMEARRAYOID);
/// interval
pub const INTERVAL: Arg = Arg::Of(pg_sys::INTERVALOID);
/// boolean
pub const BOOL: Arg = Arg::Of(pg_sys::BOOLOID);
/// jsonb
pub const JSONB: Arg = Arg::Of(pg_sys::JSONBOID);
/// uuid
pub const UUID: Arg = Arg::Of(pg_sys::UUIDOID);
/// regclass
pub const REGCLASS: Arg = Arg::Of(pg_sys::REGCLASSOID);
/// regrole
pub const REGROLE: Arg = Arg::Of(pg_sys::REGROLEOID);
/// VARIADIC "any"
pub const ANY: Arg = Arg::Of(pg_sys::ANYOID);

/// The arguments of a call. None of the functions is STRICT: each says itself what NULL means.
pub struct Args {
    fcinfo: pg_sys::FunctionCallInfo,
}

impl Args {
    /// # Safety
    /// `fcinfo` must be what PostgreSQL passed, for a function declared with these argument types.
    pub unsafe fn new(fcinfo: pg_sys::FunctionCallInfo, declared: &[Arg]) -> Args {
        // SAFETY: the caller's promise.
        unsafe { check_declaration((*(*fcinfo).flinfo).fn_oid, declared) };
        Args { fcinfo }
    }

    /// The call itself.
    pub fn fcinfo(&self) -> pg_sys::FunctionCallInfo {
        self.fcinfo
    }

    /// How many arguments were passed.
    pub fn count(&self) -> usize {
        // SAFETY: PostgreSQL passed it.
        unsafe { (*self.fcinfo).nargs as usize }
    }

    /// Argument `n`, from 0.
    pub fn raw(&self, n: usize) -> Option<Datum> {
        assert!(n < self.count());
        // SAFETY: within the arguments passed.
        let arg = unsafe { &*(*self.fcinfo).args.as_ptr().add(n) };
        (!arg.isnull).then_some(arg.value)
    }

    /// A bigint.
    pub fn bigint(&self, n: usize) -> Option<i64> {
        self.raw(n).map(|d| d.value() as i64)
    }

    /// A boolean.
    pub fn bool(&self, n: usize) -> Option<bool> {
        self.raw(n).map(|d| d.value() as u8 != 0)
    }

    /// An oid, regclass or regrole.
    pub fn oid(&self, n: usize) -> Option<Oid> {
        self.raw(n).map(|d| Oid::from(d.value() as u32))
    }

    /// The bytes of a text.
    pub fn bytes(&self, n: usize) -> Option<Vec<u8>> {
        // SAFETY: the declaration was checked: a text.
        self.raw(n).map(|d| unsafe { text::bytes_of(d) })
    }

    /// A text, as UTF-8.
    pub fn string(&self, n: usize) -> Option<String> {
        self.bytes(n).map(|b| text::from_server(&b))
    }

    /// A name.
    pub fn name(&self, n: usize) -> Option<String> {
        // SAFETY: the declaration was checked: a name, NUL-terminated.
        self.raw(n).map(|d| unsafe { name_of(d) })
    }

    /// An array of names; `Err` where one of them is NULL.
    pub fn names(&self, n: usize, argument: &str) -> Option<Result<Vec<String>, Error>> {
        // SAFETY: the declaration was checked: a name[].
        self.raw(n).map(|array| without_nulls(unsafe { text::strings_of_name_array(array) }, argument))
    }

    /// An array of texts; `Err` where one of them is NULL.
    pub fn texts(&self, n: usize, argument: &str) -> Option<Result<Vec<String>, Error>> {
        // SAFETY: the declaration was checked: a text[].
        self.raw(n).map(|array| without_nulls(unsafe { text::strings_of_array(array) }, argument))
    }

    /// An array of bigints, of however many dimensions.
    pub fn bigints(&self, n: usize) -> Option<Vec<Option<i64>>> {
        // SAFETY: the declaration was checked: a bigint[].
        self.raw(n).map(|array| unsafe { text::bigints_of_array(array) })
    }

    /// An interval.
    pub fn interval(&self, n: usize) -> Option<Interval> {
        // SAFETY: the declaration was checked: an interval.
        self.raw(n).map(|d| unsafe { &*d.cast_mut_ptr::<pg_sys::Interval>() }).map(|i| Interval {
            months: i.month,
            days: i.day,
            micros: i.time,
        })
    }

    /// The label of an enum.
    pub fn label(&self, n: usize) -> Option<String> {
        self.raw(n).map(enum_label)
    }

    /// The type of argument `n` at this call, for functions of "any".
    pub fn actual_type(&self, n: usize) -> Oid {
        // SAFETY: PostgreSQL passed the call.
        unsafe { pg_sys::get_fn_expr_argtype((*self.fcinfo).flinfo, n as i32) }
    }
}

fn without_nulls(strings: Vec<Option<String>>, argument: &str) -> Result<Vec<String>, Error> {
    strings.into_iter().map(|string| string.ok_or_else(|| Error::null(argument))).collect()
}

unsafe fn name_of(datum: Datum) -> String {
    // SAFETY: the caller's: a name, which is NUL-terminated.
    text::from_server(unsafe { std::ffi::CStr::from_ptr(datum.cast_mut_ptr::<c_char>()) }.to_bytes())
}

/// The label of an enum value of the extension.
pub fn enum_label(value: Datum) -> String {
    text::from_server(&enum_label_bytes(value))
}

/// The label of any enum value, in the server's encoding.
pub fn enum_label_bytes(value: Datum) -> Vec<u8> {
    // SAFETY: a syscache look-up; the label is copied before the tuple is released.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(pg_sys::SysCacheIdentifier::ENUMOID as i32, value);
        if tuple.is_null() {
            throw(Error::new(Code::InvalidParameter, "invalid enum value"));
        }
        let form = pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_enum>();
        let label = std::ffi::CStr::from_ptr((&raw const (*form).enumlabel.data).cast()).to_bytes().to_vec();
        pg_sys::ReleaseSysCache(tuple);
        label
    }
}

thread_local! {
    /// Functions whose declaration has been compared; an oid is never declared anew.
    static CHECKED: RefCell<HashSet<Oid>> = RefCell::new(HashSet::new());
}

fn check_declaration(function: Oid, declared: &[Arg]) {
    if CHECKED.with_borrow(|checked| checked.contains(&function)) {
        return;
    }
    let mut arguments: *mut Oid = std::ptr::null_mut();
    let mut count = 0;
    // SAFETY: a catalog look-up; the array has `count` entries.
    let actual = unsafe {
        pg_sys::get_func_signature(function, &mut arguments, &mut count);
        std::slice::from_raw_parts(arguments, count as usize)
    };
    let same = |(actual, declared): (&Oid, &Arg)| match declared {
        Arg::Of(oid) => oid == actual,
        // SAFETY: a catalog look-up.
        Arg::Enum => unsafe { pg_sys::type_is_enum(*actual) },
    };
    if actual.len() != declared.len() || !actual.iter().zip(declared).all(same) {
        throw(
            Error::new(Code::NotInPrerequisiteState, "fencing library does not match this database's functions").hint(
                "Reconnect to load the installed library; if that is not enough, run ALTER EXTENSION fencing UPDATE.",
            ),
        );
    }
    CHECKED.with_borrow_mut(|checked| checked.insert(function));
}

thread_local! {
    /// The columns of functions that give a row; they never change.
    static COLUMNS: RefCell<HashMap<Oid, pg_sys::TupleDesc>> = RefCell::new(HashMap::new());
}

/// The columns of the row that a function gives: so many.
///
/// # Safety
/// `fcinfo` must be what PostgreSQL passed.
unsafe fn columns_of(fcinfo: pg_sys::FunctionCallInfo, count: usize) -> pg_sys::TupleDesc {
    // SAFETY: the caller's promise.
    let function = unsafe { (*(*fcinfo).flinfo).fn_oid };
    let known = COLUMNS.with_borrow(|columns| columns.get(&function).copied());
    let descriptor = known.unwrap_or_else(|| {
        let mut descriptor = std::ptr::null_mut();
        // SAFETY: as above. The copy lives as long as the backend, as what registers it does.
        unsafe {
            pg_sys::get_call_result_type(fcinfo, std::ptr::null_mut(), &mut descriptor);
            require_columns(descriptor, count);
            descriptor = PgMemoryContexts::TopMemoryContext.switch_to(|_| pg_sys::CreateTupleDescCopy(descriptor));
            descriptor = pg_sys::BlessTupleDesc(descriptor);
        }
        COLUMNS.with_borrow_mut(|columns| columns.insert(function, descriptor));
        descriptor
    });
    // SAFETY: PostgreSQL made it.
    unsafe { require_columns(descriptor, count) };
    descriptor
}

impl Answer<'_> {
    /// As PostgreSQL wants it.
    ///
    /// # Safety
    /// `fcinfo` must be what PostgreSQL passed for the function that gives this answer.
    pub unsafe fn outcome(self, fcinfo: pg_sys::FunctionCallInfo) -> Outcome {
        match self {
            Answer::Void => Outcome::Value(Datum::null()),
            Answer::Execute { sql, grants } => {
                let text = |s: Option<&String>| s.map_or(std::ptr::null(), |s| text::to_server_cstr(s));
                let (before, after) = grants.unzip();
                let (before, after) = (text(before.as_ref()), text(after.as_ref()));
                let owner = extension::oids().owner;
                Outcome::Execute(Script { before, sql: text::to_server_cstr(&sql), after, owner })
            }
            // SAFETY: the closure has no destructor.
            Answer::One(value) => match unsafe { raw::catch(|| value.datum()) } {
                (_, true) => Outcome::Null,
                (datum, false) => Outcome::Value(datum),
            },
            // SAFETY: the caller's promise; the descriptor is checked to have as many columns, and the closure
            // has no destructor.
            Answer::Record(row) => unsafe {
                let descriptor = columns_of(fcinfo, row.len());
                raw::catch(|| {
                    let (mut values, mut nulls) = datums(&row);
                    let tuple = raw::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
                    Outcome::Value(raw::HeapTupleHeaderGetDatum((*tuple).t_data))
                })
            },
            // SAFETY: as above; a caller that takes no set is an error of PostgreSQL's.
            Answer::Set(rows) => unsafe {
                pg_sys::InitMaterializedSRF(fcinfo, 0);
                let result = (*fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
                let descriptor = (*result).setDesc;
                let put = |row: &Vec<Value>| {
                    require_columns(descriptor, row.len());
                    raw::catch(|| {
                        let (mut values, mut nulls) = datums(row);
                        raw::tuplestore_putvalues(
                            (*result).setResult,
                            descriptor,
                            values.as_mut_ptr(),
                            nulls.as_mut_ptr(),
                        );
                    });
                };
                // The store has copies; what they were made from goes a thousand rows at a time.
                for some in rows.chunks(1000) {
                    memory::transient(|| some.iter().for_each(put));
                }
                Outcome::Null
            },
        }
    }
}

/// # Safety
/// `descriptor` must be null or valid.
unsafe fn require_columns(descriptor: pg_sys::TupleDesc, count: usize) {
    // SAFETY: the caller's promise.
    if unsafe { descriptor.as_ref() }.is_none_or(|d| d.natts as usize != count) {
        let message = "fencing library does not match this database's functions";
        throw(Error::new(Code::NotInPrerequisiteState, message));
    }
}

/// Binds an SQL function to a Rust one: `sql_function!(symbol, [argument types], path::to::body)`,
/// where the body is `fn(&Args) -> Result<Answer, Error>`.
#[macro_export]
macro_rules! sql_function {
    ($symbol:ident, [$($arg:expr),*], $body:path) => {
        $crate::finfo!($symbol);
        #[doc = concat!("SQL: `", stringify!($symbol), "`.")]
        ///
        /// # Safety
        /// PostgreSQL calls it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $symbol(
            fcinfo: ::pgrx::pg_sys::FunctionCallInfo,
        ) -> ::pgrx::pg_sys::Datum {
            // SAFETY: PostgreSQL called; this frame holds no destructor.
            unsafe {
                let outcome = $crate::pg::outcome::guarded(|| {
                    let args = $crate::pg::entry::Args::new(fcinfo, &[$($arg),*]);
                    Ok($body(&args)?.outcome(fcinfo))
                });
                $crate::pg::outcome::finish(outcome, fcinfo)
            }
        }
    };
}

/// Declares the calling convention of a function that PostgreSQL calls.
#[macro_export]
macro_rules! finfo {
    ($symbol:ident) => {
        const _: () = {
            #[unsafe(export_name = concat!("pg_finfo_", stringify!($symbol)))]
            extern "C" fn finfo() -> &'static ::pgrx::pg_sys::Pg_finfo_record {
                const V1: ::pgrx::pg_sys::Pg_finfo_record = ::pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
                &V1
            }
        };
    };
}
