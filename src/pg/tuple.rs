//! Rows as a trigger gets them, and gives them back.

use super::raw;
use pgrx::pg_sys::{self, Datum, HeapTuple, TupleDesc};

const HEADER: usize = std::mem::offset_of!(pg_sys::HeapTupleHeaderData, t_bits);
const BIGINT: usize = size_of::<i64>();

/// A column's value, `None` for NULL.
///
/// # Safety
/// `tuple` must be of this descriptor, which has that column; not a system column.
#[inline]
pub unsafe fn column(tuple: HeapTuple, number: i32, descriptor: TupleDesc) -> Option<Datum> {
    // SAFETY: the caller's promise. What stands for a column added later is looked up where a row ends early.
    unsafe {
        let header = (*tuple).t_data;
        let index = number as usize - 1;
        let no_nulls = u32::from((*header).t_infomask) & pg_sys::HEAP_HASNULL == 0;
        let ends_early = number > i32::from((*header).t_infomask2) & pg_sys::HEAP_NATTS_MASK as i32;
        if ends_early || no_nulls && has_fixed_offset(descriptor, index) {
            let mut is_null = false;
            let value = pg_sys::htup::heap_getattr(tuple, number, descriptor, &mut is_null);
            return (!is_null).then_some(value);
        }
        let is_null = !no_nulls && *(*header).t_bits.as_ptr().add(index / 8) & 1 << (index % 8) == 0;
        (!is_null).then(|| raw::nocachegetattr(tuple, number, descriptor))
    }
}

/// Whether a column is known to begin at the same place in every row without NULLs.
unsafe fn has_fixed_offset(descriptor: TupleDesc, index: usize) -> bool {
    // SAFETY: the caller's: the descriptor has the column.
    unsafe {
        let count = (*descriptor).natts as usize;
        #[cfg(not(feature = "pg18"))]
        let columns = (*descriptor).attrs.as_slice(count);
        #[cfg(feature = "pg18")]
        let columns = (*descriptor).compact_attrs.as_slice(count);
        columns[index].attcacheoff >= 0
    }
}

/// A copy of `tuple` with some columns changed; `None` stores NULL.
///
/// # Safety
/// `tuple` must be of this descriptor, which has these columns, of type bigint.
pub unsafe fn with_columns(tuple: HeapTuple, descriptor: TupleDesc, changes: &[(i32, Option<i64>)]) -> HeapTuple {
    // SAFETY: the caller's promise.
    unsafe {
        if let [(column, None)] = changes
            && ends_with(tuple, descriptor, *column)
        {
            return without_last(tuple);
        }
        let mut columns: Vec<i32> = changes.iter().map(|(column, _)| *column).collect();
        let mut values: Vec<Datum> = changes.iter().map(|(_, value)| value.unwrap_or_default().into()).collect();
        let mut nulls: Vec<bool> = changes.iter().map(|(_, value)| value.is_none()).collect();
        let (columns, values, nulls) = (columns.as_mut_ptr(), values.as_mut_ptr(), nulls.as_mut_ptr());
        pg_sys::heap_modify_tuple_by_cols(tuple, descriptor, changes.len() as i32, columns, values, nulls)
    }
}

/// Whether the row ends with that column, not null, and can do without it as it is laid out: its
/// header has room for a bitmap of nulls.
unsafe fn ends_with(tuple: HeapTuple, descriptor: TupleDesc, column: i32) -> bool {
    // SAFETY: the caller's: a whole tuple of this descriptor.
    unsafe {
        let header = &*(*tuple).t_data;
        let (offset, length) = (header.t_hoff as usize, (*tuple).t_len as usize);
        let bitmap = (column as usize).div_ceil(8);
        (*descriptor).natts == column
            && i32::from(header.t_infomask2) & pg_sys::HEAP_NATTS_MASK as i32 == column
            && offset >= HEADER + bitmap
            && length >= offset + BIGINT
            && (length - offset).is_multiple_of(BIGINT)
    }
}

/// The row with NULL in its last column, without taking it apart.
unsafe fn without_last(tuple: HeapTuple) -> HeapTuple {
    // SAFETY: the caller's: what `ends_with` found. The copy has room for itself and its data, and
    // is filled before use.
    unsafe {
        let length = (*tuple).t_len as usize - BIGINT;
        let copy: HeapTuple = pg_sys::palloc(size_of::<pg_sys::HeapTupleData>() + length).cast();
        let data = copy.add(1).cast::<u8>();
        std::ptr::copy_nonoverlapping((*tuple).t_data.cast::<u8>(), data, length);
        *copy = *tuple;
        (*copy).t_data = data.cast();
        (*copy).t_len = length as u32;
        let header = &mut *(*copy).t_data;
        let last = (usize::from(header.t_infomask2) & pg_sys::HEAP_NATTS_MASK as usize) - 1;
        let bits = data.add(HEADER);
        if u32::from(header.t_infomask) & pg_sys::HEAP_HASNULL == 0 {
            // There was no bitmap: there is room for one of a byte.
            header.t_infomask |= pg_sys::HEAP_HASNULL as u16;
            *bits = (1 << last) - 1;
        }
        *bits.add(last / 8) &= !(1 << (last % 8));
        copy
    }
}
