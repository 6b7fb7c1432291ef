//! A look at a row where it was last time, for the hot path: no index, and the row is read where it
//! lies.

use super::raw::{self, RelFile};
use super::text;
use pgrx::pg_sys::{self, Buffer, HeapTupleHeader, Oid, Page};
use std::sync::atomic::{Ordering, fence};

/// Where a row is stored.
#[derive(Clone, Copy)]
pub struct Place {
    pub(super) at: pg_sys::ItemPointerData,
    /// Where its page was in memory last time.
    pub(super) page: Option<(RelFile, Buffer)>,
}

impl Place {
    pub(super) fn new(at: pg_sys::ItemPointerData) -> Place {
        Place { at, page: None }
    }

    /// The number of its page.
    pub(super) fn block(&self) -> u32 {
        u32::from(self.at.ip_blkid.bi_hi) << 16 | u32::from(self.at.ip_blkid.bi_lo)
    }

    /// Where its page was in memory last time.
    pub fn buffer(&self) -> Option<Buffer> {
        self.page.map(|(_, buffer)| buffer)
    }
}

/// A row in its page, pinned.
pub struct Glance(HeapTupleHeader);

/// Looks at the row at `place`, if one is there as this transaction or the latest to commit left it.
/// What `read` sees is gone once it returns. The caller holds a lock of the table, and forgets the
/// place when the table shrinks or moves, which takes a lock that conflicts with the caller's.
pub fn look_at<T>(table: Oid, place: &mut Place, read: impl FnOnce(&Glance) -> T) -> Option<T> {
    // SAFETY: the block exists, as the caller promises; the page stays pinned while the row is read.
    // No destructor in here.
    let look = || unsafe {
        let buffer = pin(table, place);
        let header = row_at(pg_sys::BufferGetPage(buffer), place.at, |item| {
            is_settled(item) || is_latest(table, place.at, buffer)
        });
        (buffer, header)
    };
    // SAFETY: as the closure says.
    let (buffer, header) = unsafe { pg_sys::ffi::pg_guard_ffi_boundary(look) };
    let result = header.map(|header| read(&Glance(header)));
    // SAFETY: pinned above.
    unsafe { raw::ReleaseBuffer(buffer) };
    result
}

/// Pins the page of a row: where it was last time, or looked up anew.
///
/// # Safety
/// As [`look_at`]; inside a guard.
unsafe fn pin(table: Oid, place: &mut Place) -> Buffer {
    let block = place.block();
    // SAFETY: the caller's promise.
    unsafe {
        if let Some((file, buffer)) = place.page
            && raw::ReadRecentBuffer(file, pg_sys::ForkNumber::MAIN_FORKNUM, block, buffer)
        {
            return buffer;
        }
        let rel = raw::table_open(table, pg_sys::NoLock as i32);
        let buffer = raw::ReadBuffer(rel, block);
        let file = file_of(rel);
        raw::table_close(rel, pg_sys::NoLock as i32);
        place.page = Some((file, buffer));
        buffer
    }
}

/// The file of a relation's pages.
///
/// # Safety
/// The relation is open.
pub(super) unsafe fn file_of(rel: pg_sys::Relation) -> RelFile {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(feature = "pg15")]
        return (*rel).rd_node;
        #[cfg(not(feature = "pg15"))]
        return (*rel).rd_locator;
    }
}

/// The row at `at`, if one is stored there and `judge` finds it to be the one.
///
/// # Safety
/// The page must be pinned.
unsafe fn row_at(
    page: Page,
    at: pg_sys::ItemPointerData,
    judge: impl FnOnce(HeapTupleHeader) -> bool,
) -> Option<HeapTupleHeader> {
    // SAFETY: the caller's promise: pinned, lines keep their place, and rows theirs.
    unsafe {
        if at.ip_posid as usize > pg_sys::PageGetMaxOffsetNumber(page) as usize {
            return None;
        }
        let item = pg_sys::PageGetItemId(page, at.ip_posid);
        if (*item).lp_flags() != pg_sys::LP_NORMAL {
            return None;
        }
        let header: HeapTupleHeader = pg_sys::PageGetItem(page, item).cast();
        judge(header).then_some(header)
    }
}

/// Whether a row is known to be committed and nobody has begun to change it: its header alone says
/// so, and needs no lock of the page. A change that begins now has not been committed yet.
///
/// # Safety
/// The row's page must be pinned.
unsafe fn is_settled(header: HeapTupleHeader) -> bool {
    let settled = pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMAX_INVALID;
    // SAFETY: the caller's promise. Others may change the mask meanwhile: it is read once.
    let mask = u32::from(unsafe { (&raw const (*header).t_infomask).read_volatile() });
    fence(Ordering::Acquire);
    mask & (settled | pg_sys::HEAP_MOVED) == settled
}

/// Whether a row is as this transaction or the latest to commit left it.
///
/// # Safety
/// As [`pin`], with the page pinned.
unsafe fn is_latest(table: Oid, at: pg_sys::ItemPointerData, buffer: Buffer) -> bool {
    // SAFETY: the caller's promise; judged under the page's share lock, as PostgreSQL demands.
    unsafe {
        raw::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let page = pg_sys::BufferGetPage(buffer);
        let item = pg_sys::PageGetItemId(page, at.ip_posid);
        let mut tuple = pg_sys::HeapTupleData {
            t_self: at,
            t_len: (*item).lp_len(),
            t_tableOid: table,
            t_data: pg_sys::PageGetItem(page, item).cast(),
        };
        let latest = &raw mut pg_sys::SnapshotSelfData;
        let visible = raw::HeapTupleSatisfiesVisibility(&mut tuple, latest, buffer);
        raw::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
        visible
    }
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
