//! The extension's tables and how they are written, below SQL: past the triggers that keep everyone
//! else from writing them. [`super::scan`] reads them.

use super::glance::Place;
use super::lock::Tag;
use super::scan::{Versions, is_heap_only};
use super::snapshot::Latest;
use super::value::{COLUMNS, EMPTY, Value, datums};
use super::{raw, text, xact};
use fencing_core::name::Interval;
use fencing_core::{Code, Error};
use pgrx::pg_sys::{self, Datum, Oid};
use std::cell::Cell;
use std::rc::Rc;

/// What a table is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// SELECT's lock.
    Read,
    /// The lock of INSERT, UPDATE and DELETE.
    Write,
    /// Alone among writers.
    Serialize,
    /// Under a lock that this transaction holds already.
    Locked,
}

impl Access {
    fn lockmode(self) -> pg_sys::LOCKMODE {
        (match self {
            Access::Read => pg_sys::AccessShareLock,
            Access::Write => pg_sys::RowExclusiveLock,
            Access::Serialize => pg_sys::ShareRowExclusiveLock,
            Access::Locked => pg_sys::NoLock,
        }) as _
    }

    /// How an index is locked to be read: one that will be written to is locked once.
    pub(super) fn index_lockmode(self) -> pg_sys::LOCKMODE {
        if self == Access::Write { Access::Write.lockmode() } else { Access::Read.lockmode() }
    }
}

/// An open table. The lock is kept until the transaction ends.
pub struct Table {
    pub(super) rel: pg_sys::Relation,
    pub(super) access: Access,
}

/// How a row is read.
#[derive(Clone, Copy)]
pub enum Read<'a> {
    /// No snapshot at all: what is committed, or this transaction's own, at the moment of the look. Under a lock
    /// that keeps every writer of the row out (fence rows), or on one page, which is locked meanwhile.
    Locked,
    /// As of now, while others may be writing it.
    Latest(&'a Latest),
}

/// One row; usually a copy.
pub struct Row {
    pub(super) tuple: pg_sys::HeapTuple,
    pub(super) values: [Datum; COLUMNS],
    pub(super) nulls: [bool; COLUMNS],
    /// Where it was read.
    pub versions: Versions,
    /// Where that is remembered: kept up to date by whoever writes the row.
    pub seen: Option<Rc<Cell<Versions>>>,
    /// Somebody else's open transaction is changing the row, or has locked it.
    pub busy: bool,
    /// The row was replaced or removed after the snapshot was taken: read again.
    pub outdated: bool,
}

/// The outcome of writing a row that others may be writing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// It is done.
    Done,
    /// Somebody else's open transaction has changed or locked the row.
    Busy,
    /// The row has changed since it was read.
    Changed,
}

impl Written {
    /// For rows that others write under a lock which is held. 55P03 where it isn't done all the same;
    /// `message` says what is locked.
    pub fn required(self, message: &str) -> Result<(), Error> {
        if self == Written::Done { Ok(()) } else { Err(locked_by_hand(message)) }
    }
}

/// 55P03, of a row that only somebody's own statements can have locked.
pub fn locked_by_hand(message: impl Into<String>) -> Error {
    Error::new(Code::LockNotAvailable, message)
        .hint("Somebody has locked rows of the extension's tables by hand. Try again once that transaction has ended.")
}

impl Row {
    /// Column `n`, from 1, as a datum.
    pub fn raw(&self, n: usize) -> Option<Datum> {
        (!self.nulls[n - 1]).then(|| self.values[n - 1])
    }

    /// A column that is never null.
    pub fn int(&self, n: usize) -> i32 {
        self.values[n - 1].value() as i32
    }

    /// A column that is never null.
    pub fn bigint(&self, n: usize) -> i64 {
        self.values[n - 1].value() as i64
    }

    /// A bigint or timestamptz column.
    pub fn bigint_or_null(&self, n: usize) -> Option<i64> {
        self.raw(n).map(|d| d.value() as i64)
    }

    /// A column that is never null.
    pub fn bool(&self, n: usize) -> bool {
        self.values[n - 1].value() as u8 != 0
    }

    /// A column that is never null.
    pub fn oid(&self, n: usize) -> Oid {
        Oid::from(self.values[n - 1].value() as u32)
    }

    /// A text column, without copying it; null reads as empty.
    pub fn with_text<T>(&self, n: usize, body: impl FnOnce(&[u8]) -> T) -> T {
        match self.raw(n) {
            // SAFETY: the column is of type text.
            Some(datum) => unsafe { text::with_bytes(datum, body) },
            None => body(&[]),
        }
    }

    /// A text column; null reads as empty.
    pub fn text(&self, n: usize) -> Vec<u8> {
        // SAFETY: the column is of type text.
        self.raw(n).map_or_else(Vec::new, |d| unsafe { text::bytes_of(d) })
    }

    /// A text[] column that is never null.
    pub fn texts(&self, n: usize) -> Vec<String> {
        // SAFETY: the column is a non-null text[].
        unsafe { text::strings_of_array(self.values[n - 1]) }.into_iter().flatten().collect()
    }

    /// An interval column that is never null.
    pub fn interval(&self, n: usize) -> Interval {
        // SAFETY: the column is a non-null interval, stored in full.
        let i = unsafe { &*self.values[n - 1].cast_mut_ptr::<pg_sys::Interval>() };
        Interval { months: i.month, days: i.day, micros: i.time }
    }

    /// Where it was read.
    pub fn place(&self) -> Place {
        // SAFETY: the tuple is whole.
        Place::new(unsafe { (*self.tuple).t_self })
    }

    /// The lock of the transaction that changes or has locked a row that is [`Row::busy`], shared with
    /// nobody until it ends; none where several have locked it.
    pub fn changer(&self) -> Option<Tag> {
        // SAFETY: the tuple is a whole copy.
        let (xmax, infomask) = unsafe {
            let header = (*self.tuple).t_data;
            ((*header).t_choice.t_heap.t_xmax, (*header).t_infomask)
        };
        let several = u32::from(infomask) & pg_sys::HEAP_XMAX_IS_MULTI != 0;
        (self.busy && !several).then(|| Tag::transaction(xmax))
    }

    /// Whether this transaction itself wrote this version of the row.
    pub fn written_by_me(&self) -> bool {
        // SAFETY: the tuple is a whole copy; a look at this backend's own transaction state.
        unsafe {
            let xmin = (*(*self.tuple).t_data).t_choice.t_heap.t_xmin;
            raw::TransactionIdIsCurrentTransactionId(xmin)
        }
    }
}

impl Table {
    /// Opens a table of the extension.
    pub fn open(relation: Oid, access: Access) -> Table {
        // SAFETY: raises if there is no such table.
        let table = Table { rel: unsafe { pg_sys::table_open(relation, access.lockmode()) }, access };
        assert!(table.columns() <= COLUMNS);
        table
    }

    pub(super) fn descriptor(&self) -> pg_sys::TupleDesc {
        // SAFETY: the relation is open.
        unsafe { (*self.rel).rd_att }
    }

    fn columns(&self) -> usize {
        // SAFETY: the relation is open.
        unsafe { (*self.descriptor()).natts as usize }
    }

    /// Adds a row, of one value for each column. Gives where it is.
    pub fn insert(&self, row: &[Value]) -> Versions {
        debug_assert_eq!(row.len(), self.columns());
        // SAFETY: the relation is open for writing.
        let store = || unsafe {
            let (mut values, mut nulls) = datums(row);
            let tuple = raw::heap_form_tuple(self.descriptor(), values.as_mut_ptr(), nulls.as_mut_ptr());
            raw::heap_insert(self.rel, tuple, xact::writing_command(), 0, std::ptr::null_mut());
            self.index(tuple, &values, &nulls);
            let versions = self.stored_at((*tuple).t_self);
            raw::CommandCounterIncrement();
            versions
        };
        // SAFETY: as the closure says; it has no destructor.
        unsafe { raw::catch(store) }
    }

    /// Adds a row that is there at once and for good, for everyone: also if this transaction is rolled
    /// back, as what was drawn from a sequence stays drawn. Whoever wants it to outlive a crash flushes.
    /// So short a row that nothing of it is stored elsewhere.
    ///
    /// It begins as any other, which an error or a crash takes away with its index entries; it becomes one
    /// of the past last of all, in one step.
    pub fn insert_at_once(&self, row: &[Value]) {
        let place = self.insert(row).first();
        // SAFETY: a row was stored there by the last command. The page is changed under its lock; the
        // closure holds no destructor.
        let freeze = || unsafe {
            let buffer = raw::ReadBuffer(self.rel, place.block());
            raw::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
            let change = raw::GenericXLogStart(self.rel);
            let page = raw::GenericXLogRegisterBuffer(change, buffer, 0);
            let header: pg_sys::HeapTupleHeader =
                pg_sys::PageGetItem(page, pg_sys::PageGetItemId(page, place.at.ip_posid)).cast();
            (*header).t_infomask |= pg_sys::HEAP_XMIN_FROZEN as u16;
            raw::GenericXLogFinish(change);
            raw::UnlockReleaseBuffer(buffer);
        };
        // SAFETY: as the closure says.
        unsafe { raw::catch(freeze) }
    }

    /// Replaces columns of fixed width in the very version of a row that was read, in no index: at once and
    /// for good, as [`Table::insert_at_once`]. It is still there: the snapshot that it was read with is held, or
    /// a lock that keeps it the last one. Whoever replaces it meanwhile may keep what was there.
    pub fn overwrite(&self, row: &Row, changes: &[(usize, Value)]) {
        // SAFETY: both tuples are whole.
        let (new, old) = unsafe {
            let (new, ..) = raw::catch(|| self.changed(row, changes));
            (columns_of(new), columns_of(row.tuple))
        };
        assert_eq!(new.1, old.1, "columns of another width");
        // SAFETY: that version is still there, as the caller promises, and as long as the copy of it; it is
        // changed under its page's lock. The closure holds no destructor.
        let overwrite = || unsafe {
            let buffer = raw::ReadBuffer(self.rel, row.place().block());
            raw::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
            let change = raw::GenericXLogStart(self.rel);
            let page = raw::GenericXLogRegisterBuffer(change, buffer, 0);
            let item = pg_sys::PageGetItemId(page, row.place().at.ip_posid);
            let columns = pg_sys::PageGetItem(page, item).add((*(*row.tuple).t_data).t_hoff.into());
            std::ptr::copy_nonoverlapping(new.0, columns.cast(), new.1);
            raw::GenericXLogFinish(change);
            raw::UnlockReleaseBuffer(buffer);
        };
        // SAFETY: as the closure says.
        unsafe { raw::catch(overwrite) }
    }

    /// Replaces columns (by number, from 1) of a row that was read, unless somebody else was faster:
    /// never waits for them.
    pub fn update(&self, row: &Row, changes: &[(usize, Value)]) -> Written {
        self.store(row, changes, true)
    }

    /// As [`Table::update`], in a table to which rows are added more than they are changed.
    pub fn update_once(&self, row: &Row, changes: &[(usize, Value)]) -> Written {
        let written = self.store(row, changes, true);
        // SAFETY: the page was there a moment ago, under a lock that keeps the table from shrinking; the
        // closure has no destructor.
        unsafe { raw::catch(|| self.make_room(row.place().block())) };
        written
    }

    /// As [`Table::update`], but seen only after [`xact::next_command`]: for many rows at once, each
    /// of them once.
    pub fn replace(&self, row: &Row, changes: &[(usize, Value)]) -> Written {
        self.store(row, changes, false)
    }

    /// Replaces columns, and makes that seen at once if it is the command's last.
    fn store(&self, row: &Row, changes: &[(usize, Value)], last: bool) -> Written {
        if row.busy {
            return Written::Busy;
        }
        let mut failure = pg_sys::TM_FailureData::default();
        let mut lockmode = pg_sys::LockTupleMode::LockTupleExclusive;
        // SAFETY: `t_self` is where the row was read.
        let store = || unsafe {
            let (tuple, values, nulls) = self.changed(row, changes);
            let outcome = raw::heap_update(
                self.rel,
                &raw mut (*row.tuple).t_self,
                tuple,
                xact::writing_command(),
                std::ptr::null_mut(),
                false,
                &mut failure,
                &mut lockmode,
                #[cfg(not(feature = "pg15"))]
                &mut { pg_sys::TU_UpdateIndexes::TU_None },
            );
            if outcome != pg_sys::TM_Result::TM_Ok {
                return (outcome, row.versions);
            }
            // A heap-only tuple is reached through its predecessor's index entries.
            if !is_heap_only(tuple) {
                self.index(tuple, &values, &nulls);
            }
            let versions = row.versions.followed_by(self, tuple);
            if last {
                raw::CommandCounterIncrement();
            }
            (outcome, versions)
        };
        // SAFETY: as the closure says; it has no destructor.
        let (outcome, versions) = unsafe { raw::catch(store) };
        if let Some(seen) = &row.seen {
            seen.set(versions);
        }
        written(outcome)
    }

    /// A row with other values in some columns: as a tuple, and column by column.
    ///
    /// # Safety
    /// Inside of [`raw::catch`], without destructors.
    unsafe fn changed(
        &self,
        row: &Row,
        changes: &[(usize, Value)],
    ) -> (pg_sys::HeapTuple, [Datum; COLUMNS], [bool; COLUMNS]) {
        let (mut values, mut nulls) = (row.values, row.nulls);
        // SAFETY: the caller's promise; the arrays have room for every column.
        unsafe {
            for (column, value) in changes {
                (values[column - 1], nulls[column - 1]) = value.datum();
            }
            let tuple = raw::heap_form_tuple(self.descriptor(), values.as_mut_ptr(), nulls.as_mut_ptr());
            (tuple, values, nulls)
        }
    }

    /// Removes a row that was read, unless somebody else was faster. As [`Table::update`].
    pub fn delete(&self, row: &Row) -> Written {
        if row.busy {
            return Written::Busy;
        }
        let mut failure = pg_sys::TM_FailureData::default();
        // SAFETY: `t_self` is where the row was read.
        let outcome = unsafe {
            pg_sys::heap_delete(
                self.rel,
                &raw mut (*row.tuple).t_self,
                xact::writing_command(),
                std::ptr::null_mut(),
                false,
                &mut failure,
                false,
            )
        };
        xact::next_command();
        written(outcome)
    }

    /// Enters a stored tuple into the table's indexes, which are plain columns without predicates.
    ///
    /// # Safety
    /// Inside of [`raw::catch`], without destructors. `tuple` must have been stored in this table by this command,
    /// with these values.
    unsafe fn index(&self, tuple: pg_sys::HeapTuple, values: &[Datum; COLUMNS], nulls: &[bool; COLUMNS]) {
        // SAFETY: the caller's promise; each index is closed again; its own columns are plain ones of
        // the table.
        unsafe {
            let list = raw::RelationGetIndexList(self.rel);
            for i in 0..list.as_ref().map_or(0, |l| l.length) {
                let oid = (*(*list).elements.add(i as usize)).oid_value;
                let index = raw::index_open(oid, pg_sys::RowExclusiveLock as i32);
                let info = raw::BuildIndexInfo(index);
                // One that is being built concurrently, and has no pages yet.
                if !(*info).ii_ReadyForInserts {
                    raw::index_close(index, pg_sys::NoLock as i32);
                    continue;
                }
                let (mut key, mut key_nulls) = EMPTY;
                for n in 0..(*info).ii_NumIndexAttrs as usize {
                    let column = (*info).ii_IndexAttrNumbers[n] as usize - 1;
                    (key[n], key_nulls[n]) = (values[column], nulls[column]);
                }
                let unique = if (*info).ii_Unique {
                    pg_sys::IndexUniqueCheck::UNIQUE_CHECK_YES
                } else {
                    pg_sys::IndexUniqueCheck::UNIQUE_CHECK_NO
                };
                let place = &raw mut (*tuple).t_self;
                raw::index_insert(
                    index,
                    key.as_mut_ptr(),
                    key_nulls.as_mut_ptr(),
                    place,
                    self.rel,
                    unique,
                    false,
                    info,
                );
                raw::index_close(index, pg_sys::NoLock as i32);
            }
        }
    }
}

/// The columns of a tuple as they are stored, and how many bytes these are.
///
/// # Safety
/// The tuple is whole.
unsafe fn columns_of(tuple: pg_sys::HeapTuple) -> (*const u8, usize) {
    // SAFETY: the caller's promise: they follow its header.
    unsafe {
        let header = usize::from((*(*tuple).t_data).t_hoff);
        ((*tuple).t_data.cast::<u8>().add(header), (*tuple).t_len as usize - header)
    }
}

fn written(outcome: pg_sys::TM_Result::Type) -> Written {
    use pg_sys::TM_Result as Tm;
    match outcome {
        Tm::TM_Ok => Written::Done,
        Tm::TM_BeingModified | Tm::TM_WouldBlock => Written::Busy,
        _ => Written::Changed,
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // While an error unwinds, the transaction's abort closes it.
        if !std::thread::panicking() {
            // SAFETY: opened by `open`, once; the lock stays.
            unsafe { raw::table_close(self.rel, pg_sys::NoLock as i32) };
        }
    }
}
