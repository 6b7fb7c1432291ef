//! Values of columns, and of keys to look rows up by.

use super::{raw, text};
use pgrx::pg_sys::{self, Datum, Oid};

/// No table of the extension has more columns, and no function's row.
pub const COLUMNS: usize = 20;
/// No values.
pub const EMPTY: ([Datum; COLUMNS], [bool; COLUMNS]) = ([Datum::null(); COLUMNS], [false; COLUMNS]);

/// One value of a column.
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "named as the types are")]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i32),
    BigInt(i64),
    Text(&'a [u8]),
    Oid(Oid),
    Time(i64),
    Span(i64),
    Xid8(u64),
    Uuid([u8; 16]),
    Raw(Datum),
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl Value<'_> {
    /// As a datum in the current memory context; whether it is null.
    ///
    /// # Safety
    /// Inside of [`raw::catch`](super::raw::catch), without destructors.
    pub unsafe fn datum(self) -> (Datum, bool) {
        let datum = match self {
            Value::Null => return (Datum::null(), true),
            Value::Bool(b) => b.into(),
            Value::Int(n) => n.into(),
            Value::BigInt(n) | Value::Time(n) => n.into(),
            Value::Xid8(n) => (n as i64).into(),
            Value::Oid(oid) => oid.into(),
            // SAFETY: the caller's promise; the pointer and length describe what the call copies.
            Value::Text(bytes) => unsafe {
                raw::cstring_to_text_with_len(bytes.as_ptr().cast(), bytes.len() as i32).into()
            },
            // SAFETY: the caller's promise.
            Value::Uuid(bytes) => unsafe { stored(bytes) },
            Value::Raw(datum) => datum,
            // SAFETY: the caller's promise.
            Value::Span(time) => unsafe { stored(pg_sys::Interval { time, day: 0, month: 0 }) },
        };
        (datum, false)
    }
}

/// A value that is passed by reference.
///
/// # Safety
/// Inside of [`raw::catch`](super::raw::catch), without destructors.
unsafe fn stored<T: Copy>(value: T) -> Datum {
    // SAFETY: the caller's promise; room for one.
    unsafe {
        let place = raw::palloc(size_of::<T>()).cast::<T>();
        place.write(value);
        Datum::from(place)
    }
}

/// A row's values, one for each column.
///
/// # Safety
/// Inside of [`raw::catch`](super::raw::catch), without destructors.
pub unsafe fn datums(row: &[Value]) -> ([Datum; COLUMNS], [bool; COLUMNS]) {
    let (mut values, mut nulls) = EMPTY;
    for (column, value) in row.iter().enumerate() {
        // SAFETY: the caller's promise.
        (values[column], nulls[column]) = unsafe { value.datum() };
    }
    (values, nulls)
}

/// A value to look a row up by. Passed with the number of its column in the table, in the order of
/// the index.
pub enum Key<'a> {
    /// integer
    Int(i32),
    /// bigint
    BigInt(i64),
    /// a bigint of at least so much
    AtLeast(i64),
    /// oid
    Oid(Oid),
    /// text COLLATE "C"
    Text(&'a [u8]),
    /// uuid
    Uuid(Datum),
}

const F_INT4EQ: u32 = 65;
const F_TEXTEQ: u32 = 67;
const F_OIDEQ: u32 = 184;
const F_INT8EQ: u32 = 467;
const F_INT8GE: u32 = 472;
const F_UUID_EQ: u32 = 2956;

/// As PostgreSQL's scans take them.
pub(super) fn scan_keys(keys: &[(i16, Key)]) -> Vec<pg_sys::ScanKeyData> {
    let mut out = vec![pg_sys::ScanKeyData::default(); keys.len()];
    for (entry, (column, key)) in out.iter_mut().zip(keys) {
        use pg_sys::{BTEqualStrategyNumber as EQUAL, BTGreaterEqualStrategyNumber as AT_LEAST};
        let (strategy, function, datum) = match key {
            Key::Int(n) => (EQUAL, F_INT4EQ, (*n).into()),
            Key::BigInt(n) => (EQUAL, F_INT8EQ, (*n).into()),
            Key::AtLeast(n) => (AT_LEAST, F_INT8GE, (*n).into()),
            Key::Oid(oid) => (EQUAL, F_OIDEQ, (*oid).into()),
            Key::Text(bytes) => (EQUAL, F_TEXTEQ, text::datum_of(bytes)),
            Key::Uuid(datum) => (EQUAL, F_UUID_EQ, *datum),
        };
        // SAFETY: fills one entry; the collation it sets is "C", as the indexed columns have it.
        unsafe { pg_sys::ScanKeyInit(entry, *column, strategy as u16, Oid::from(function), datum) };
    }
    out
}
