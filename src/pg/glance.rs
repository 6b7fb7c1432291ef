//! A look at a row where it was last time, for the hot path: no index, and the row is read where it
//! lies.

use super::raw;
use super::table::Place;
use super::text;
use pgrx::pg_sys::{self, Oid};

/// A row in its page, pinned.
pub struct Glance(pg_sys::HeapTupleHeader);

/// Looks at the row at `place`, if one is there as this transaction or the latest to commit left it.
/// What `read` sees is gone once it returns. The caller holds a lock of the table.
pub fn look_at<T>(table: Oid, place: Place, read: impl FnOnce(&Glance) -> T) -> Option<T> {
    let at = place.0;
    let look = || {
        // SAFETY: the block exists: whoever remembers a place forgets it when the table shrinks, which
        // takes a lock that conflicts with the caller's. The line is judged under the page's share
        // lock; the page stays pinned while it is read. No destructor here.
        unsafe {
            let rel = raw::table_open(table, pg_sys::NoLock as i32);
            let block = u32::from(at.ip_blkid.bi_hi) << 16 | u32::from(at.ip_blkid.bi_lo);
            let buffer = raw::ReadBuffer(rel, block);
            let mut tuple = pg_sys::HeapTupleData { t_self: at, ..Default::default() };
            raw::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let page = pg_sys::BufferGetPage(buffer);
            if at.ip_posid as usize <= pg_sys::PageGetMaxOffsetNumber(page) as usize {
                let item = pg_sys::PageGetItemId(page, at.ip_posid);
                if (*item).lp_flags() == pg_sys::LP_NORMAL {
                    tuple.t_len = (*item).lp_len();
                    tuple.t_tableOid = table;
                    tuple.t_data = pg_sys::PageGetItem(page, item).cast();
                    let latest = &raw mut pg_sys::SnapshotSelfData;
                    if !raw::HeapTupleSatisfiesVisibility(&mut tuple, latest, buffer) {
                        tuple.t_data = std::ptr::null_mut();
                    }
                }
            }
            raw::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
            (rel, buffer, tuple.t_data)
        }
    };
    // SAFETY: as the closure says.
    let (rel, buffer, header) = unsafe { pg_sys::ffi::pg_guard_ffi_boundary(look) };
    let result = (!header.is_null()).then(|| read(&Glance(header)));
    // SAFETY: pinned and opened above.
    unsafe {
        raw::ReleaseBuffer(buffer);
        raw::table_close(rel, pg_sys::NoLock as i32);
    }
    result
}

impl Glance {
    fn data(&self) -> *const u8 {
        // SAFETY: the row is pinned; its columns begin where its header says.
        unsafe { self.0.cast::<u8>().add((*self.0).t_hoff as usize) }
    }

    /// Its leading columns.
    ///
    /// # Safety
    /// `H` must lay out the table's leading columns, which must be of fixed width and never null.
    pub unsafe fn head<H>(&self) -> &H {
        // SAFETY: the caller's promise; PostgreSQL aligns a row for any of its types.
        unsafe { &*self.data().cast::<H>() }
    }

    /// The two text columns that follow; `None` if they aren't stored plainly.
    ///
    /// # Safety
    /// As [`Glance::head`], and two columns of type text that are never null must follow.
    pub unsafe fn two_texts_after<H>(&self) -> Option<(&[u8], &[u8])> {
        // SAFETY: the caller's promise. Where a text is not padded, its first byte is never 0.
        unsafe {
            let first = self.data().add(size_of::<H>());
            let one = text::plain_bytes(pg_sys::Datum::from(first))?;
            let mut second = one.as_ptr_range().end;
            if *second == 0 {
                second = second.add(second.align_offset(align_of::<i32>()));
            }
            Some((one, text::plain_bytes(pg_sys::Datum::from(second))?))
        }
    }

    /// Whether this transaction itself wrote this version of the row.
    pub fn written_by_me(&self) -> bool {
        // SAFETY: the row is pinned; a look at this backend's own transaction state.
        unsafe { raw::TransactionIdIsCurrentTransactionId((*self.0).t_choice.t_heap.t_xmin) }
    }
}
