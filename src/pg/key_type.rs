//! Types that a lease key can be made of.

use super::{entry, text};
use pgrx::pg_sys::{self, Datum, Oid};
use smallvec::SmallVec;
use std::ffi::CStr;
use std::io::Write;

/// Bytes of a key; a usual one needs no memory of its own.
pub type KeyBytes = SmallVec<[u8; 64]>;

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
    pub unsafe fn append_raw(self, datum: Datum, out: &mut KeyBytes) {
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

    /// As [`KeyType::append_raw`] of a key's last value: a text ends where the key does. One text alone is
    /// its own bytes.
    ///
    /// # Safety
    /// As [`KeyType::append_raw`].
    #[inline]
    pub unsafe fn append_last(self, datum: Datum, out: &mut KeyBytes) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                KeyType::Text if out.is_empty() => *out = text::with_bytes(datum, KeyBytes::from_slice),
                KeyType::Text => text::with_bytes(datum, |bytes| out.extend_from_slice(bytes)),
                _ => self.append_raw(datum, out),
            }
        }
    }

    /// The value's text, in the server's encoding.
    ///
    /// # Safety
    /// `datum` must be a non-null value of such a type.
    #[unsafe(link_section = ".text_hot")]
    pub unsafe fn text(self, datum: Datum) -> KeyBytes {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                KeyType::Int2 => decimal(i64::from(datum.value() as i16)),
                KeyType::Int4 => decimal(i64::from(datum.value() as i32)),
                KeyType::Int8 => decimal(datum.value() as i64),
                KeyType::Text => text::with_bytes(datum, KeyBytes::from_slice),
                KeyType::Uuid => fencing_core::key::uuid_text(&*datum.cast_mut_ptr::<[u8; 16]>()).into(),
                KeyType::Enum => entry::enum_label_bytes(datum).into(),
                KeyType::Literal => KeyBytes::from_slice(CStr::from_ptr(datum.cast_mut_ptr()).to_bytes()),
            }
        }
    }

    /// Whether this is the value whose own bytes stand at the start of `raw`: what follows them then.
    /// For a value that is stored out of line or compressed nobody knows without a look at it, which
    /// is not taken here: can't raise.
    ///
    /// # Safety
    /// `datum` must be a non-null value of such a type.
    #[inline]
    pub unsafe fn strip_raw(self, datum: Datum, raw: &[u8]) -> Option<&[u8]> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                KeyType::Int2 | KeyType::Int4 | KeyType::Int8 | KeyType::Enum => {
                    raw.strip_prefix(&datum.value().to_ne_bytes()[..])
                }
                KeyType::Uuid => raw.strip_prefix(std::slice::from_raw_parts(datum.cast_mut_ptr::<u8>(), 16)),
                KeyType::Text => {
                    let bytes = text::plain_bytes(datum)?;
                    raw.strip_prefix(&bytes.len().to_ne_bytes()[..])?.strip_prefix(bytes)
                }
                KeyType::Literal => None,
            }
        }
    }

    /// Whether `raw` is this value, a key's last one. As [`KeyType::strip_raw`].
    ///
    /// # Safety
    /// As [`KeyType::strip_raw`].
    #[inline]
    pub unsafe fn is_last(self, datum: Datum, raw: &[u8]) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                KeyType::Text => text::plain_bytes(datum) == Some(raw),
                _ => self.strip_raw(datum, raw).is_some_and(<[u8]>::is_empty),
            }
        }
    }
}

/// A number as SQL writes it.
fn decimal(number: i64) -> KeyBytes {
    let mut text = KeyBytes::new();
    // Writing to memory doesn't fail.
    let _ = write!(text, "{number}");
    text
}
