//! Rows as a trigger gets them, and gives them back.

use super::{mutant, raw};
use pgrx::pg_sys::{self, Datum, HeapTuple, HeapTupleHeader, HeapTupleTableSlot, TupleDesc, TupleTableSlot};

const HEADER: usize = std::mem::offset_of!(pg_sys::HeapTupleHeaderData, t_bits);
const BIGINT: usize = size_of::<i64>();

/// A column's value, `None` for NULL.
///
/// # Safety
/// `tuple` must be of this descriptor, which has that column; not a system column.
#[inline(always)]
pub unsafe fn column(tuple: HeapTuple, number: i32, descriptor: TupleDesc) -> Option<Datum> {
    // SAFETY: the caller's promise.
    unsafe {
        let header = (*tuple).t_data;
        let index = number as usize - 1;
        if number > columns_stored(header) {
            return added_later(number, descriptor);
        }
        if is_null(header, index) {
            return None;
        }
        let (offset, by_value, length) = layout(descriptor, index);
        if offset >= 0 && none_is_null_before(header, index) {
            let value = header.cast::<u8>().add(usize::from((*header).t_hoff) + offset as usize);
            match (by_value, length) {
                (false, _) => return Some(Datum::from(value)),
                (true, 4) => return Some(value.cast::<i32>().read().into()),
                (true, 8) => return Some(value.cast::<i64>().read().into()),
                _ => {}
            }
        }
        Some(raw::nocachegetattr(tuple, number, descriptor))
    }
}

/// A column of type bigint. The last one is where the row ends.
///
/// # Safety
/// As [`column`]; and it is one.
#[inline]
pub unsafe fn bigint(tuple: HeapTuple, number: i32, descriptor: TupleDesc) -> Option<i64> {
    // SAFETY: the caller's promise.
    unsafe {
        last_bigint(tuple, number, descriptor)
            .unwrap_or_else(|| column(tuple, number, descriptor).map(|value| value.value() as i64))
    }
}

/// As [`bigint`], `None` where it isn't the last column; doesn't raise.
///
/// # Safety
/// As [`bigint`].
#[inline]
pub unsafe fn last_bigint(tuple: HeapTuple, number: i32, descriptor: TupleDesc) -> Option<Option<i64>> {
    // SAFETY: the caller's promise; a row ends with its last column, whose length is a multiple of its alignment.
    unsafe {
        let header = (*tuple).t_data;
        let end = header.cast::<u8>().add((*tuple).t_len as usize);
        is_last(header, number, descriptor)
            .then(|| (!is_null(header, number as usize - 1)).then(|| end.sub(BIGINT).cast::<i64>().read()))
    }
}

/// How many columns a row has; those that were added later are missing.
unsafe fn columns_stored(header: HeapTupleHeader) -> i32 {
    // SAFETY: the caller's: a row.
    i32::from(unsafe { (*header).t_infomask2 }) & pg_sys::HEAP_NATTS_MASK as i32
}

/// Whether a column is the table's last one, and the row has it.
unsafe fn is_last(header: HeapTupleHeader, number: i32, descriptor: TupleDesc) -> bool {
    // SAFETY: the caller's: a row of this descriptor.
    unsafe { (*descriptor).natts == number && columns_stored(header) == number }
}

/// Whether the row has a bitmap of NULLs.
unsafe fn has_nulls(header: HeapTupleHeader) -> bool {
    // SAFETY: the caller's: a row.
    u32::from(unsafe { (*header).t_infomask }) & pg_sys::HEAP_HASNULL != 0
}

/// Whether a column that the row has is NULL.
unsafe fn is_null(header: HeapTupleHeader, index: usize) -> bool {
    // SAFETY: the caller's: a row with that column.
    unsafe { has_nulls(header) && *(*header).t_bits.as_ptr().add(index / 8) & 1 << (index % 8) == 0 }
}

/// Whether all columns before one that the row has are there; `false` where only a closer look would tell.
unsafe fn none_is_null_before(header: HeapTupleHeader, index: usize) -> bool {
    // SAFETY: the caller's: a row with that column.
    unsafe {
        let before = (1 << (index % 8)) - 1;
        !has_nulls(header) || index < 8 && *(*header).t_bits.as_ptr() & before == before
    }
}

/// Where a column begins in every row without NULLs (negative where that differs), whether it is stored as a
/// value, and its length.
unsafe fn layout(descriptor: TupleDesc, index: usize) -> (i32, bool, i16) {
    // SAFETY: the caller's: the descriptor has the column.
    unsafe {
        let count = (*descriptor).natts as usize;
        #[cfg(not(feature = "pg18"))]
        let column = &(*descriptor).attrs.as_slice(count)[index];
        #[cfg(feature = "pg18")]
        let column = &(*descriptor).compact_attrs.as_slice(count)[index];
        (column.attcacheoff, column.attbyval, column.attlen)
    }
}

/// What stands for a column that was added after the row was stored.
#[cold]
unsafe fn added_later(number: i32, descriptor: TupleDesc) -> Option<Datum> {
    let mut is_null = false;
    // SAFETY: the caller's: the descriptor has the column.
    let value = unsafe { raw::catch(|| raw::getmissingattr(descriptor, number, &mut is_null)) };
    (!is_null).then_some(value)
}

/// `tuple` with some columns changed, `None` stores NULL: a copy, or itself where `slot` holds it.
///
/// # Safety
/// `tuple` must be of this descriptor, which has these columns, of type bigint; and that of a BEFORE row
/// trigger's call, with its slot.
#[unsafe(link_section = ".text_hot")]
pub unsafe fn with_columns(
    tuple: HeapTuple,
    slot: *mut TupleTableSlot,
    descriptor: TupleDesc,
    changes: &[(i32, Option<i64>)],
) -> HeapTuple {
    // SAFETY: the caller's promise.
    unsafe {
        match changes {
            [(column, None)] if drop_last(tuple, slot, descriptor, *column) => tuple,
            _ => modified(tuple, descriptor, changes),
        }
    }
}

#[inline(never)]
unsafe fn modified(tuple: HeapTuple, descriptor: TupleDesc, changes: &[(i32, Option<i64>)]) -> HeapTuple {
    let mut columns: Vec<i32> = changes.iter().map(|(column, _)| *column).collect();
    let mut values: Vec<Datum> = changes.iter().map(|(_, value)| value.unwrap_or_default().into()).collect();
    let mut nulls: Vec<bool> = changes.iter().map(|(_, value)| value.is_none()).collect();
    let (columns, values, nulls) = (columns.as_mut_ptr(), values.as_mut_ptr(), nulls.as_mut_ptr());
    // SAFETY: the caller's: as many as it says, of this descriptor.
    unsafe { pg_sys::heap_modify_tuple_by_cols(tuple, descriptor, changes.len() as i32, columns, values, nulls) }
}

/// Whether the row ends with that column, not null, and can do without it as it is laid out: its
/// header has room for a bitmap of nulls.
unsafe fn ends_with(tuple: HeapTuple, descriptor: TupleDesc, column: i32) -> bool {
    // SAFETY: the caller's: a whole tuple of this descriptor.
    unsafe {
        let header = &*(*tuple).t_data;
        let (offset, length) = (header.t_hoff as usize, (*tuple).t_len as usize);
        let bitmap = (column as usize).div_ceil(8);
        is_last((*tuple).t_data, column, descriptor)
            && offset >= HEADER + bitmap
            && length >= offset + BIGINT
            && (length - offset).is_multiple_of(BIGINT)
    }
}

/// Whether the row is the slot's own, made for it and in no page: then what is stored is that very row.
unsafe fn owns(slot: *mut TupleTableSlot, tuple: HeapTuple) -> bool {
    // SAFETY: the caller's: a slot in use. One of these two kinds begins as the other does.
    unsafe {
        let kind = (*slot).tts_ops;
        let heap = kind == &raw const pg_sys::TTSOpsBufferHeapTuple || kind == &raw const pg_sys::TTSOpsHeapTuple;
        heap && u32::from((*slot).tts_flags) & pg_sys::TTS_FLAG_SHOULDFREE != 0
            && (*slot.cast::<HeapTupleTableSlot>()).tuple == tuple
    }
}

/// Puts NULL into a row's last column, without taking the row apart or making another; `false` where that
/// can't be done. Doesn't raise.
///
/// # Safety
/// As [`with_columns`].
#[unsafe(link_section = ".text_hot")]
pub unsafe fn drop_last(tuple: HeapTuple, slot: *mut TupleTableSlot, descriptor: TupleDesc, column: i32) -> bool {
    // SAFETY: the caller's promise, and what `ends_with` and `owns` find.
    unsafe {
        if !ends_with(tuple, descriptor, column) || !owns(slot, tuple) {
            return false;
        }
        let header = &mut *(*tuple).t_data;
        let last = columns_stored(header) as usize - 1;
        let bits = (*tuple).t_data.cast::<u8>().add(HEADER);
        if !has_nulls(header) {
            // There was no bitmap: there is room for one of a byte.
            header.t_infomask |= pg_sys::HEAP_HASNULL as u16;
            *bits = (1 << last) - 1;
        }
        *bits.add(last / 8) &= !(1 << (last % 8));
        (*tuple).t_len -= BIGINT as u32;
        // What has been read from it so far is read anew.
        if !mutant::without("slot_read_anew") {
            (*slot).tts_nvalid = 0;
            (*slot.cast::<HeapTupleTableSlot>()).off = 0;
        }
        true
    }
}
