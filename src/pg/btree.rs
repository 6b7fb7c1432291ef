//! A look at the right end of a B-tree, where whoever draws rising numbers is always at home.

use super::raw;
use pgrx::pg_sys::{self, Oid};

/// The highest number that has an entry in a unique index on one bigint column, `None` where there is
/// none at all. It may be of a row that nobody sees yet, or any more.
///
/// A scan would say the same, and costs several times as much to begin.
pub fn highest(index: Oid) -> Option<i64> {
    const LEAVES: u32 = 0;
    // SAFETY: an index of this kind; the page is pinned and locked while its last entry is read, whose key
    // follows its header (never null). No destructor in here.
    let look = || unsafe {
        let index = raw::index_open(index, pg_sys::RowExclusiveLock as i32);
        let buffer = raw::_bt_get_endpoint(
            index,
            LEAVES,
            true,
            #[cfg(any(feature = "pg15", feature = "pg16"))]
            std::ptr::null_mut(),
        );
        raw::index_close(index, pg_sys::NoLock as i32);
        if buffer == pg_sys::InvalidBuffer as i32 {
            return None;
        }
        let page = pg_sys::BufferGetPage(buffer);
        // The rightmost page has no high key: each of its items is an entry.
        let last = pg_sys::PageGetMaxOffsetNumber(page);
        let key = (last > 0).then(|| {
            let entry = pg_sys::PageGetItem(page, pg_sys::PageGetItemId(page, last as _));
            entry.cast::<u8>().add(size_of::<pg_sys::IndexTupleData>()).cast::<i64>().read()
        });
        raw::UnlockReleaseBuffer(buffer);
        key
    };
    // SAFETY: as the closure says.
    unsafe { raw::catch(look) }
}
