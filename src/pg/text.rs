//! Text between PostgreSQL (bytes in the server's encoding) and Rust (UTF-8).
//!
//! Keys and labels are stored and compared as bytes; only what is shown or parsed is converted.

use super::raw;
use pgrx::pg_sys;
use std::ffi::{CStr, c_char, c_int};

const UTF8: c_int = pg_sys::pg_enc::PG_UTF8 as c_int;

/// A server of encoding SQL_ASCII takes bytes as they come: each is read as the character of its
/// number, and written back as that byte.
fn is_sql_ascii() -> bool {
    // SAFETY: reads a static of this backend.
    unsafe { pg_sys::GetDatabaseEncoding() == pg_sys::pg_enc::PG_SQL_ASCII as c_int }
}

/// Bytes in the server's encoding, as UTF-8.
pub fn from_server(bytes: &[u8]) -> String {
    if bytes.is_ascii() || is_sql_ascii() {
        return bytes.iter().copied().map(char::from).collect();
    }
    let mut owned = bytes.to_vec();
    owned.push(0);
    // SAFETY: `owned` is NUL-terminated and outlives the call; the result is the input itself or a
    // fresh NUL-terminated string in the current memory context.
    let converted = unsafe {
        let out = pg_sys::pg_server_to_any(owned.as_ptr().cast(), bytes.len() as c_int, UTF8);
        CStr::from_ptr(out).to_bytes().to_vec()
    };
    String::from_utf8_lossy(&converted).into_owned()
}

/// A NUL-terminated copy in the server's encoding, in the current memory context.
pub fn to_server_cstr(text: &str) -> *const c_char {
    let plain = text.is_ascii() || is_sql_ascii();
    let bytes: Vec<u8> = if plain {
        text.chars().filter_map(|c| u8::try_from(u32::from(c)).ok()).filter(|b| *b != 0).chain([0]).collect()
    } else {
        text.bytes().filter(|b| *b != 0).chain([0]).collect()
    };
    // SAFETY: `bytes` is NUL-terminated; `pstrdup` copies it, or what the conversion made of it.
    unsafe {
        let source = bytes.as_ptr().cast::<c_char>();
        let converted =
            if plain { source.cast_mut() } else { pg_sys::pg_any_to_server(source, bytes.len() as c_int - 1, UTF8) };
        pg_sys::pstrdup(converted)
    }
}

/// A string in the server's encoding.
pub fn to_server(text: &str) -> Vec<u8> {
    // SAFETY: NUL-terminated.
    unsafe { CStr::from_ptr(to_server_cstr(text)) }.to_bytes().to_vec()
}

/// The bytes of a `text` datum, decompressed and fetched if need be.
///
/// # Safety
/// `datum` must be a non-null `text` (or `varchar`, `bpchar`) datum.
pub unsafe fn bytes_of(datum: pg_sys::Datum) -> Vec<u8> {
    // SAFETY: the caller's promise.
    unsafe { with_bytes(datum, <[u8]>::to_vec) }
}

/// As [`bytes_of`], without copying what is stored plainly.
///
/// # Safety
/// As [`bytes_of`].
#[unsafe(link_section = ".text_hot")]
pub unsafe fn with_bytes<T>(datum: pg_sys::Datum, body: impl FnOnce(&[u8]) -> T) -> T {
    // SAFETY: the caller's promise; `pg_detoast_datum_packed` returns a plain varlena.
    unsafe {
        let plain = plain_bytes(datum).or_else(|| {
            let whole = raw::catch(|| raw::pg_detoast_datum_packed(datum.cast_mut_ptr()));
            plain_bytes(pg_sys::Datum::from(whole))
        });
        body(plain.unwrap_or_default())
    }
}

/// The bytes of a text that is stored plainly; `None` if it is compressed or elsewhere.
///
/// # Safety
/// As [`bytes_of`]; the datum must outlive the bytes.
pub unsafe fn plain_bytes<'a>(datum: pg_sys::Datum) -> Option<&'a [u8]> {
    use pgrx::varlena::{varatt_is_1b, varatt_is_1b_e, varatt_is_4b_u, vardata_any, varsize_any_exhdr};
    // SAFETY: the caller's promise.
    unsafe {
        let varlena = datum.cast_mut_ptr();
        let plain = varatt_is_4b_u(varlena) || varatt_is_1b(varlena) && !varatt_is_1b_e(varlena);
        plain.then(|| std::slice::from_raw_parts(vardata_any(varlena).cast::<u8>(), varsize_any_exhdr(varlena)))
    }
}

/// A `text` datum of these bytes, in the current memory context.
pub fn datum_of(bytes: &[u8]) -> pg_sys::Datum {
    // SAFETY: the pointer and length describe `bytes`, which the call copies.
    unsafe { pg_sys::cstring_to_text_with_len(bytes.as_ptr().cast(), bytes.len() as c_int).into() }
}

/// A `text` datum of a UTF-8 string, in the current memory context.
pub fn datum_of_str(text: &str) -> pg_sys::Datum {
    // SAFETY: `to_server_cstr` returns a NUL-terminated string, which the call copies.
    unsafe { pg_sys::cstring_to_text(to_server_cstr(text)).into() }
}

/// A `jsonb` datum of JSON, in the current memory context.
pub fn jsonb_of(json: &str) -> pg_sys::Datum {
    let json = pg_sys::Datum::from(to_server_cstr(json));
    // SAFETY: the input function of jsonb, which takes a NUL-terminated string and never gives NULL.
    unsafe { pgrx::direct_function_call_as_datum(pg_sys::jsonb_in, &[Some(json)]) }.unwrap_or(json)
}

/// A `text[]` datum of UTF-8 strings, in the current memory context.
pub fn array_of_str(texts: &[String]) -> pg_sys::Datum {
    let mut elements: Vec<_> = texts.iter().map(|t| datum_of_str(t)).collect();
    // SAFETY: the elements are text datums; the parameters are those of text.
    unsafe {
        let (text, align) = (pg_sys::TEXTOID, b'i' as c_char);
        pg_sys::construct_array(elements.as_mut_ptr(), elements.len() as c_int, text, -1, false, align).into()
    }
}

/// An `integer[]` datum, in the current memory context.
pub fn array_of_int(numbers: &[i32]) -> pg_sys::Datum {
    let mut elements: Vec<pg_sys::Datum> = numbers.iter().map(|n| (*n).into()).collect();
    // SAFETY: the elements are integer datums; the parameters are those of integer.
    unsafe {
        let (int, align) = (pg_sys::INT4OID, b'i' as c_char);
        pg_sys::construct_array(elements.as_mut_ptr(), elements.len() as c_int, int, 4, true, align).into()
    }
}

/// The strings of a `text[]`.
///
/// # Safety
/// `array` must be a non-null `text[]` datum.
pub unsafe fn strings_of_array(array: pg_sys::Datum) -> Vec<Option<String>> {
    // SAFETY: the caller's promise; each element is a text.
    unsafe { elements(array, pg_sys::TEXTOID, -1, false, b'i', |text| from_server(&bytes_of(text))) }
}

/// The strings of a `name[]`.
///
/// # Safety
/// `array` must be a non-null `name[]` datum.
pub unsafe fn strings_of_name_array(array: pg_sys::Datum) -> Vec<Option<String>> {
    let length = pg_sys::NAMEDATALEN as i32;
    let string = |name: pg_sys::Datum| {
        // SAFETY: each element is a name, which is NUL-terminated.
        from_server(unsafe { CStr::from_ptr(name.cast_mut_ptr::<c_char>()) }.to_bytes())
    };
    // SAFETY: the caller's promise.
    unsafe { elements(array, pg_sys::NAMEOID, length, false, b'c', string) }
}

/// The numbers of a `bigint[]`.
///
/// # Safety
/// `array` must be a non-null `bigint[]` datum.
pub unsafe fn bigints_of_array(array: pg_sys::Datum) -> Vec<Option<i64>> {
    // SAFETY: the caller's promise; each element is a bigint.
    unsafe { elements(array, pg_sys::INT8OID, 8, true, b'd', |n| n.value() as i64) }
}

/// The elements of an array, read one by one.
///
/// # Safety
/// `array` must be an array of this type, whose length, passing by value and alignment these are.
unsafe fn elements<T>(
    array: pg_sys::Datum,
    element: pg_sys::Oid,
    length: c_int,
    by_value: bool,
    align: u8,
    read: impl Fn(pg_sys::Datum) -> T,
) -> Vec<Option<T>> {
    let (mut elements, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
    // SAFETY: the caller's promise; both arrays have `count` entries.
    unsafe {
        let array = pg_sys::pg_detoast_datum(array.cast_mut_ptr()).cast();
        let align = align as c_char;
        pg_sys::deconstruct_array(array, element, length, by_value, align, &mut elements, &mut nulls, &mut count);
        (0..count as usize).map(|i| (!*nulls.add(i)).then(|| read(*elements.add(i)))).collect()
    }
}
