//! How the extension's tables are read, below SQL: fresh in every isolation level, and without
//! predicate locks. A row is found by an index, or where it was last seen.

use super::glance::{Place, file_of};
use super::lock::Tag;
use super::snapshot::Latest;
use super::table::{Read, Row, Table};
use super::value::{EMPTY, Key, scan_keys};
use super::{memory, raw};
use pgrx::pg_sys::{self, Buffer, OffsetNumber, Oid};
use std::ops::ControlFlow;

/// Where a row is: its versions on one page are a chain, of which an index knows the first alone. All of
/// it may be out of date.
#[derive(Clone, Copy)]
pub struct Versions {
    first: Place,
    /// The line on the page of the last that was seen.
    last: OffsetNumber,
}

impl Versions {
    /// Where the first of them is.
    pub(super) fn first(&self) -> Place {
        self.first
    }

    fn begin_at(first: Place) -> Versions {
        Versions { first, last: first.at.ip_posid }
    }

    /// This row's, once `tuple` has become its last version.
    ///
    /// # Safety
    /// Inside of [`raw::catch`], without destructors. `tuple` was stored in `table` by this command.
    pub(super) unsafe fn followed_by(mut self, table: &Table, tuple: pg_sys::HeapTuple) -> Versions {
        // SAFETY: the caller's promise.
        unsafe {
            if is_heap_only(tuple) {
                self.last = (*tuple).t_self.ip_posid;
                return self;
            }
            table.stored_at((*tuple).t_self)
        }
    }
}

/// Whether a version has no entry in an index.
///
/// # Safety
/// The tuple is whole.
pub(super) unsafe fn is_heap_only(tuple: pg_sys::HeapTuple) -> bool {
    // SAFETY: the caller's promise.
    u32::from(unsafe { (*(*tuple).t_data).t_infomask2 }) & pg_sys::HEAP_ONLY_TUPLE != 0
}

const SHARE: i32 = pg_sys::BUFFER_LOCK_SHARE as i32;
const UNLOCK: i32 = pg_sys::BUFFER_LOCK_UNLOCK as i32;
const MAIN: pg_sys::ForkNumber::Type = pg_sys::ForkNumber::MAIN_FORKNUM;

impl Table {
    /// Copies a version of a row out of its page, if it is the one to see.
    ///
    /// # Safety
    /// Inside of [`raw::catch`], without destructors. `tuple` lies in `buffer`, which is pinned and locked.
    unsafe fn judge(&self, tuple: pg_sys::HeapTuple, buffer: Buffer, first: Place, read: Read) -> Option<Row> {
        use pg_sys::TM_Result as Tm;
        let (mut values, mut nulls) = EMPTY;
        let (mut busy, mut outdated) = (false, false);
        let snapshot = match read {
            Read::Locked => &raw mut pg_sys::SnapshotSelfData,
            Read::Latest(snapshot) => snapshot.raw(),
        };
        // SAFETY: the caller's promise; visibility is judged under the buffer's lock, as PostgreSQL
        // requires. The arrays have room for every column, and point into the copy, which lives in the
        // current memory context.
        unsafe {
            if !raw::HeapTupleSatisfiesVisibility(tuple, snapshot, buffer) {
                return None;
            }
            match raw::HeapTupleSatisfiesUpdate(tuple, raw::GetCurrentCommandId(false), buffer) {
                Tm::TM_BeingModified => {
                    let xmax = (*(*tuple).t_data).t_choice.t_heap.t_xmax;
                    busy = !raw::TransactionIdIsCurrentTransactionId(xmax);
                }
                Tm::TM_Updated | Tm::TM_Deleted => outdated = true,
                _ => {}
            }
            let versions = Versions { first, last: (*tuple).t_self.ip_posid };
            let tuple = raw::heap_copytuple(tuple);
            raw::heap_deform_tuple(tuple, self.descriptor(), values.as_mut_ptr(), nulls.as_mut_ptr());
            Some(Row { tuple, values, nulls, versions, seen: None, busy, outdated })
        }
    }

    /// A page with less room than this is tidied: half of what the table's fill factor sets aside.
    ///
    /// PostgreSQL, left to itself, does so from the fill factor on: at every update, that is. The other
    /// half is for versions that nobody can clear away yet, while a transaction is open that may see them.
    fn tight(&self) -> usize {
        (self.set_aside() / 2).max(pg_sys::BLCKSZ as usize / 10)
    }

    /// How much of a page the table's fill factor sets aside.
    fn set_aside(&self) -> usize {
        // SAFETY: the relation is open; a table's options are of this type.
        let options = unsafe { (*self.rel).rd_options.cast::<pg_sys::StdRdOptions>().as_ref() };
        let set_aside = options.map_or(0, |options| 100 - options.fillfactor as usize);
        pg_sys::BLCKSZ as usize * set_aside / 100
    }

    /// Tidies a page to which PostgreSQL would add no row any more, once one of its rows was replaced: what
    /// that leaves is room for others. Later nobody may come by.
    ///
    /// # Safety
    /// Inside of [`raw::catch`], without destructors. The page exists.
    pub(super) unsafe fn make_room(&self, block: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let buffer = raw::ReadBuffer(self.rel, block);
            self.tidy(buffer, self.set_aside());
            raw::ReleaseBuffer(buffer);
        }
    }

    /// Clears old versions away from a page that has less room.
    ///
    /// # Safety
    /// Inside of [`raw::catch`], without destructors. `buffer` is pinned, and not locked.
    unsafe fn tidy(&self, buffer: Buffer, room: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            if raw::PageGetHeapFreeSpace(pg_sys::BufferGetPage(buffer).cast()) < room {
                raw::heap_page_prune_opt(self.rel, buffer);
            }
        }
    }

    /// The row, as the version to see of it says. Lets go of the buffer.
    ///
    /// # Safety
    /// Inside of [`raw::catch`], without destructors. `buffer` is pinned, and holds the row's page.
    unsafe fn version(&self, versions: Versions, buffer: Buffer, read: Read) -> Option<Row> {
        let Versions { mut first, last } = versions;
        // SAFETY: the caller's promise.
        unsafe {
            first.page = Some((file_of(self.rel), buffer));
            raw::LockBuffer(buffer, SHARE);
            // Usually nobody has written it since.
            let mut found = if last == first.at.ip_posid { None } else { self.on_line(last, buffer, first, read) };
            if found.is_none() {
                found = self.in_chain(buffer, first, read);
            }
            raw::LockBuffer(buffer, UNLOCK);
            self.tidy(buffer, self.tight());
            raw::ReleaseBuffer(buffer);
            found
        }
    }

    /// The version on a line of the page, if it is the one to see, and the last.
    ///
    /// # Safety
    /// As [`Table::version`], with the buffer locked.
    unsafe fn on_line(&self, line: OffsetNumber, buffer: Buffer, first: Place, read: Read) -> Option<Row> {
        // SAFETY: the caller's promise.
        unsafe {
            let page = pg_sys::BufferGetPage(buffer);
            if line > pg_sys::PageGetMaxOffsetNumber(page) as OffsetNumber {
                return None;
            }
            let item = pg_sys::PageGetItemId(page, line);
            if (*item).lp_flags() != pg_sys::LP_NORMAL {
                return None;
            }
            let mut tuple = pg_sys::HeapTupleData {
                t_len: (*item).lp_len(),
                t_self: pg_sys::ItemPointerData { ip_posid: line, ..first.at },
                t_tableOid: (*self.rel).rd_id,
                t_data: pg_sys::PageGetItem(page, item).cast(),
            };
            self.judge(&mut tuple, buffer, first, read).filter(|row| !row.outdated)
        }
    }

    /// The version to see in the chain that begins at `first`.
    ///
    /// # Safety
    /// As [`Table::version`], with the buffer locked.
    unsafe fn in_chain(&self, buffer: Buffer, first: Place, read: Read) -> Option<Row> {
        let mut tuple = pg_sys::HeapTupleData::default();
        let (mut at, mut begin, mut found) = (first.at, true, None);
        // Judged one by one: an MVCC scan would take predicate locks.
        let (any, none) = (&raw mut pg_sys::SnapshotAnyData, std::ptr::null_mut());
        // SAFETY: the caller's promise.
        unsafe {
            while found.is_none()
                && raw::heap_hot_search_buffer(&mut at, self.rel, buffer, any, &mut tuple, none, begin)
            {
                begin = false;
                found = self.judge(&mut tuple, buffer, first, read);
            }
        }
        found
    }

    /// The row with that key, if there is one.
    pub fn find(&self, index: Oid, keys: &[(i16, Key)], read: Read) -> Option<Row> {
        // SAFETY: as `search` promises.
        self.search(index, keys, |first, buffer| unsafe { self.version(Versions::begin_at(first), buffer, read) })
    }

    /// The lock of somebody else's open transaction that has stored a row with that key: nobody sees it yet,
    /// and none beside it may be stored.
    pub fn inserter(&self, index: Oid, keys: &[(i16, Key)]) -> Option<Tag> {
        let (any, none) = (&raw mut pg_sys::SnapshotAnyData, std::ptr::null_mut());
        let (mut tuple, committed) = (pg_sys::HeapTupleData::default(), pg_sys::HEAP_XMIN_COMMITTED);
        // SAFETY: as `search` promises; the first version alone can be nobody's yet.
        self.search(index, keys, |first, buffer| unsafe {
            let mut at = first.at;
            raw::LockBuffer(buffer, SHARE);
            let xmin = raw::heap_hot_search_buffer(&mut at, self.rel, buffer, any, &mut tuple, none, true)
                .then(|| &*tuple.t_data)
                .filter(|header| u32::from(header.t_infomask) & committed == 0)
                .map(|header| header.t_choice.t_heap.t_xmin);
            raw::LockBuffer(buffer, UNLOCK);
            raw::ReleaseBuffer(buffer);
            let open = |xmin: &pg_sys::TransactionId| {
                !raw::TransactionIdIsCurrentTransactionId(*xmin) && raw::TransactionIdIsInProgress(*xmin)
            };
            xmin.filter(open).map(Tag::transaction)
        })
    }

    /// Visits the rows with that key, each with its page, until one of them has what is looked for. `visit`
    /// runs inside of [`raw::catch`], without destructors, and lets go of the page.
    fn search<T>(
        &self,
        index: Oid,
        keys: &[(i16, Key)],
        mut visit: impl FnMut(Place, Buffer) -> Option<T>,
    ) -> Option<T> {
        let mut keys = scan_keys(keys);
        for (key, column) in keys.iter_mut().zip(1..) {
            key.sk_attno = column; // of the index
        }
        let (keys, count) = (keys.as_mut_ptr(), keys.len() as i32);
        let (none, any) = (std::ptr::null_mut(), &raw mut pg_sys::SnapshotAnyData);
        // SAFETY: an index of this table; the scan ends before the keys go away. The index's lock stays,
        // as the table's does.
        let search = || unsafe {
            let index = raw::index_open(index, self.access.index_lockmode());
            #[cfg(not(feature = "pg18"))]
            let scan = raw::index_beginscan(self.rel, index, any, count, 0);
            #[cfg(feature = "pg18")]
            let scan = raw::index_beginscan(self.rel, index, any, std::ptr::null_mut(), count, 0);
            raw::index_rescan(scan, keys, count, none, 0);
            let mut found = None;
            while found.is_none() {
                let first = raw::index_getnext_tid(scan, pg_sys::ScanDirection::ForwardScanDirection);
                if first.is_null() {
                    break;
                }
                let first = Place::new(*first);
                found = visit(first, raw::ReadBuffer(self.rel, first.block()));
            }
            raw::index_endscan(scan);
            raw::index_close(index, pg_sys::NoLock as i32);
            found
        };
        // SAFETY: as the closure says; it has no destructor.
        unsafe { raw::catch(search) }
    }

    /// Where a row is that has just been stored there.
    ///
    /// # Safety
    /// Inside of [`raw::catch`], without destructors. A row was stored there by this command.
    pub(super) unsafe fn stored_at(&self, at: pg_sys::ItemPointerData) -> Versions {
        // SAFETY: the caller's promise: the page exists.
        unsafe {
            let mut place = Place::new(at);
            let buffer = raw::ReadBuffer(self.rel, place.block());
            raw::ReleaseBuffer(buffer);
            place.page = Some((file_of(self.rel), buffer));
            Versions::begin_at(place)
        }
    }

    /// The row that was there, if its page is still in memory where it was. It may be another row by now.
    pub fn at(&self, versions: Versions, read: Read) -> Option<Row> {
        let Place { page, .. } = versions.first;
        let (_, buffer) = page?;
        // SAFETY: a page that has left its buffer is not read: it may be gone.
        let look = || unsafe {
            raw::ReadRecentBuffer(file_of(self.rel), MAIN, versions.first.block(), buffer)
                .then(|| self.version(versions, buffer, read))
                .flatten()
        };
        // SAFETY: as the closure says; it has no destructor.
        unsafe { raw::catch(look) }
    }

    /// Any row, for tables that have one.
    pub fn first(&self, snapshot: &Latest) -> Option<Row> {
        let none = std::ptr::null_mut();
        // SAFETY: the scan is ended before the relation goes away.
        unsafe {
            let any = &raw mut pg_sys::SnapshotAnyData;
            let scan = pg_sys::systable_beginscan(self.rel, Oid::INVALID, false, any, 0, none);
            let mut found = None;
            while found.is_none() {
                let tuple = pg_sys::systable_getnext(scan);
                if tuple.is_null() {
                    break;
                }
                found = self.judge_next(scan, tuple, snapshot);
            }
            pg_sys::systable_endscan(scan);
            found
        }
    }

    /// The row with the highest key of that index.
    pub fn last(&self, index: Oid, snapshot: &Latest) -> Option<Row> {
        let mut last = None;
        self.walk(index, &[], pg_sys::ScanDirection::BackwardScanDirection, snapshot, |row| {
            last = Some(row);
            ControlFlow::Break(())
        });
        last
    }

    /// Every row whose leading key columns match, in the index's order.
    pub fn all(&self, index: Oid, keys: &[(i16, Key)], snapshot: &Latest) -> Vec<Row> {
        let mut rows = Vec::new();
        self.walk(index, keys, pg_sys::ScanDirection::ForwardScanDirection, snapshot, |row| {
            rows.push(row);
            ControlFlow::Continue(())
        });
        rows
    }

    /// Visits every row, as they are stored. As [`Table::each`].
    pub fn visit(&self, snapshot: &Latest, mut visit: impl FnMut(&Row)) {
        let none = std::ptr::null_mut();
        // SAFETY: the scan is ended before the relation goes away; what was copied of a row is freed
        // once nobody refers to it any more.
        unsafe {
            let any = &raw mut pg_sys::SnapshotAnyData;
            let scan = pg_sys::systable_beginscan(self.rel, Oid::INVALID, false, any, 0, none);
            loop {
                let tuple = pg_sys::systable_getnext(scan);
                if tuple.is_null() {
                    break;
                }
                if let Some(row) = self.judge_next(scan, tuple, snapshot) {
                    memory::transient(|| visit(&row));
                    pg_sys::heap_freetuple(row.tuple);
                }
            }
            pg_sys::systable_endscan(scan);
        }
    }

    /// Visits them one by one. Of what `visit` reads of a row nothing stays in memory but what it
    /// copied for itself.
    pub fn each(&self, index: Oid, keys: &[(i16, Key)], snapshot: &Latest, mut visit: impl FnMut(&Row)) {
        self.walk(index, keys, pg_sys::ScanDirection::ForwardScanDirection, snapshot, |row| {
            memory::transient(|| visit(&row));
            // SAFETY: a copy, which nobody refers to any more.
            unsafe { pg_sys::heap_freetuple(row.tuple) };
            ControlFlow::Continue(())
        });
    }

    fn walk(
        &self,
        index: Oid,
        keys: &[(i16, Key)],
        direction: pg_sys::ScanDirection::Type,
        snapshot: &Latest,
        mut visit: impl FnMut(Row) -> ControlFlow<()>,
    ) {
        let mut keys = scan_keys(keys);
        // SAFETY: the scan is ended before the keys and the relation go away; the index is open while it
        // runs.
        unsafe {
            let index = pg_sys::index_open(index, pg_sys::AccessShareLock as i32);
            let any = &raw mut pg_sys::SnapshotAnyData;
            let scan = pg_sys::systable_beginscan_ordered(self.rel, index, any, keys.len() as i32, keys.as_mut_ptr());
            loop {
                let tuple = pg_sys::systable_getnext_ordered(scan, direction);
                if tuple.is_null() {
                    break;
                }
                if let Some(row) = self.judge_next(scan, tuple, snapshot)
                    && visit(row).is_break()
                {
                    break;
                }
            }
            pg_sys::systable_endscan_ordered(scan);
            pg_sys::index_close(index, pg_sys::AccessShareLock as i32);
        }
    }

    /// # Safety
    /// `tuple` is what `scan` gave last.
    unsafe fn judge_next(&self, scan: pg_sys::SysScanDesc, tuple: pg_sys::HeapTuple, snapshot: &Latest) -> Option<Row> {
        // SAFETY: a heap table's slot is a buffer slot, and it holds `tuple`, pinned.
        let judge = || unsafe {
            let buffer = (*(*scan).slot.cast::<pg_sys::BufferHeapTupleTableSlot>()).buffer;
            raw::LockBuffer(buffer, SHARE);
            let row = self.judge(tuple, buffer, Place::new((*tuple).t_self), Read::Latest(snapshot));
            raw::LockBuffer(buffer, UNLOCK);
            row
        };
        // SAFETY: as the closure says; it has no destructor.
        unsafe { raw::catch(judge) }
    }
}
