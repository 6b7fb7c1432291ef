//! A look at a row where it was last time, for the hot path: no index, and the row is read where it
//! lies.

use super::raw::{self, RelFile};
use super::{mutant, text};
use pgrx::pg_sys::{self, Buffer, HeapTupleHeader, Oid};
use std::sync::atomic::{AtomicU64, Ordering};

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

/// A row in its page, pinned and locked.
pub struct Glance {
    row: HeapTupleHeader,
    /// The page's version, if it is known to be committed and nobody has begun to change the row.
    pub settled: Option<Version>,
}

/// Whatever changes a page moves this on, its LSN, before that can be committed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Version(u64);

/// Whether the page of `place` is still of that version: nobody has begun to change a row that was
/// settled in it. The caller holds a lock of the table, as for [`look_at`].
///
/// Nothing else of the page is read, so a pin will do: an LSN is never that of an earlier version again.
pub fn is_still(place: &Place, version: Version) -> bool {
    let Some((file, buffer)) = place.page else { return false };
    // SAFETY: where the page is in that buffer, it stays there while pinned, and its LSN is what it begins
    // with. No destructor in here.
    unsafe {
        raw::catch(|| {
            if !raw::ReadRecentBuffer(file, pg_sys::ForkNumber::MAIN_FORKNUM, place.block(), buffer) {
                return false;
            }
            let lsn = AtomicU64::from_ptr(pg_sys::BufferGetPage(buffer).cast()).load(Ordering::Acquire);
            raw::ReleaseBuffer(buffer);
            // Its high half comes first.
            let lsn = if cfg!(target_endian = "little") { lsn.rotate_left(32) } else { lsn };
            Version(lsn) == version
        })
    }
}

/// Looks at the row at `place`, if one is there as this transaction or the latest to commit left it.
/// What `read` sees is gone once it returns, and it must not call PostgreSQL: the page is locked. The
/// caller holds a lock of the table, and forgets the place when the table shrinks or moves, which takes
/// a lock that conflicts with the caller's.
///
/// A pin alone would not do. A row stored here meanwhile is announced before its bytes are written, and
/// a page that is being tidied moves its rows under a pin that came too late to prevent it: either way
/// there is something of the past to be read, which may say that a term is current that is over.
pub fn look_at<T>(table: Oid, place: &mut Place, read: impl FnOnce(&Glance) -> T) -> Option<T> {
    // SAFETY: the block exists, as the caller promises; the page stays pinned and locked while the row
    // is read. No destructor in here.
    let look = || unsafe {
        let buffer = pin(table, place);
        raw::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        (buffer, row_at(table, place.at, buffer))
    };
    // SAFETY: as the closure says.
    let (buffer, header) = unsafe { raw::catch(look) };
    let result = header.map(|row| {
        // SAFETY: pinned and locked above; this can't raise.
        let settled = unsafe { is_settled(row).then(|| Version(raw::BufferGetLSNAtomic(buffer))) };
        // Where nothing is logged, it tells nothing.
        let settled = settled.filter(|version| version.0 != 0 || mutant::without("logged"));
        read(&Glance { row, settled })
    });
    // SAFETY: pinned and locked above.
    unsafe { raw::UnlockReleaseBuffer(buffer) };
    result
}

/// Pins the page of a row: where it was last time, or looked up anew.
///
/// # Safety
/// As [`look_at`]; inside of [`raw::catch`].
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

/// The row at `at`, if one is stored there as this transaction or the latest to commit left it.
///
/// # Safety
/// As [`pin`], with the page pinned and locked.
unsafe fn row_at(table: Oid, at: pg_sys::ItemPointerData, buffer: Buffer) -> Option<HeapTupleHeader> {
    // SAFETY: the caller's promise; visibility is judged under the page's lock, as PostgreSQL demands.
    unsafe {
        let page = pg_sys::BufferGetPage(buffer);
        if at.ip_posid as usize > pg_sys::PageGetMaxOffsetNumber(page) as usize {
            return None;
        }
        let item = pg_sys::PageGetItemId(page, at.ip_posid);
        if (*item).lp_flags() != pg_sys::LP_NORMAL {
            return None;
        }
        let header: HeapTupleHeader = pg_sys::PageGetItem(page, item).cast();
        if is_settled(header) {
            return Some(header);
        }
        let mut tuple =
            pg_sys::HeapTupleData { t_self: at, t_len: (*item).lp_len(), t_tableOid: table, t_data: header };
        let latest = &raw mut pg_sys::SnapshotSelfData;
        raw::HeapTupleSatisfiesVisibility(&mut tuple, latest, buffer).then_some(header)
    }
}

/// Whether a row is known to be committed and nobody has begun to change it: its header alone says so.
///
/// # Safety
/// The row's page must be pinned and locked.
unsafe fn is_settled(header: HeapTupleHeader) -> bool {
    let settled = pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMAX_INVALID;
    // SAFETY: the caller's promise.
    let mask = u32::from(unsafe { (*header).t_infomask });
    mask & (settled | pg_sys::HEAP_MOVED) == settled
}

impl Glance {
    fn data(&self) -> *const u8 {
        // SAFETY: the row is pinned; its columns begin where its header says.
        unsafe { self.row.cast::<u8>().add((*self.row).t_hoff as usize) }
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
        unsafe { raw::TransactionIdIsCurrentTransactionId((*self.row).t_choice.t_heap.t_xmin) }
    }
}
