//! Sequences of the extension. Whoever looks at one holds a lock of it, and has heard since of what was
//! altered: that puts it into another file.

use super::raw;
use pgrx::pg_sys::{self, Oid};

/// PostgreSQL's `FormData_pg_sequence_data`.
#[repr(C)]
#[derive(Clone, Copy)]
struct SequenceData {
    last_value: i64,
    /// So many more are on record already.
    log_cnt: i64,
    is_called: bool,
}

/// So many draws are put on record at once. PostgreSQL's own 32 are drawn in the time of a flush or two, for
/// which everyone would wait who draws meanwhile.
const AHEAD: i64 = 1024;

unsafe extern "C-unwind" {
    fn nextval_internal(relation: Oid, check_permissions: bool) -> i64;
    fn ResetSequence(relation: Oid);
}

/// Draws the next value and the LSN up to which WAL must be flushed before anyone outside may
/// learn of it: a draw is often covered by a record that some other backend wrote, and that
/// record need not be on disk yet.
///
/// `None` where the sequence is exhausted; the caller must then raise an error of its own, since
/// PostgreSQL's was caught in the middle.
pub fn draw(sequence: Oid) -> Option<(i64, pg_sys::XLogRecPtr)> {
    pgrx::PgTryBuilder::new(|| {
        // SAFETY: the closure calls straight into PostgreSQL and holds no destructor. Drawing has locked the
        // sequence until the transaction ends.
        let draw = || unsafe {
            let value = nextval_internal(sequence, false);
            let (state, lsn) = state(sequence);
            if state.log_cnt == 0 {
                log_ahead(sequence);
            }
            (value, lsn)
        };
        // SAFETY: as the closure says.
        Some(unsafe { raw::catch(draw) })
    })
    .catch_when(pgrx::PgSqlErrorCode::ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED, |_| None)
    .execute()
}

/// Whether nothing has ever been drawn and nobody has moved it.
pub fn is_fresh(sequence: Oid) -> bool {
    let (SequenceData { last_value, is_called, .. }, _) = look(sequence);
    (last_value, is_called) == (1, false)
}

/// Columns of `pg_sequence`.
const SEQINCREMENT: i16 = 4;
const SEQMAX: i16 = 5;
const SEQCACHE: i16 = 7;
const SEQCYCLE: i16 = 8;

/// The highest value that it gives.
pub fn highest(sequence: Oid) -> i64 {
    definition(sequence, [SEQMAX]).map_or(i64::MAX, |[highest]| highest.value() as i64)
}

/// Whether somebody has altered it so that its values don't come one by one.
pub fn is_altered(sequence: Oid) -> bool {
    definition(sequence, [SEQINCREMENT, SEQCACHE, SEQCYCLE]).is_some_and(|[increment, cache, cycle]| {
        (increment.value() as i64, cache.value() as i64) != (1, 1) || cycle.value() as u8 != 0
    })
}

/// Columns of the row that defines it.
fn definition<const N: usize>(sequence: Oid, columns: [i16; N]) -> Option<[pg_sys::Datum; N]> {
    // SAFETY: a syscache look-up; the columns are passed by value, and never null.
    unsafe {
        let id = pg_sys::SysCacheIdentifier::SEQRELID as i32;
        let tuple = pg_sys::SearchSysCache1(id, sequence.into());
        if tuple.is_null() {
            return None;
        }
        let values = columns.map(|column| pg_sys::SysCacheGetAttr(id, tuple, column, &mut false));
        pg_sys::ReleaseSysCache(tuple);
        Some(values)
    }
}

/// The highest value drawn, or passed over; what comes before the first where there is none.
pub fn last_drawn(sequence: Oid) -> i64 {
    let (SequenceData { last_value, is_called, .. }, _) = look(sequence);
    if is_called { last_value } else { last_value - 1 }
}

/// Makes `value` the next one to be drawn.
pub fn start_at(sequence: Oid, value: i64) {
    set(sequence, value, false);
}

/// Passes over everything up to `value`, for good: also if this transaction is rolled back, or the
/// server crashes.
pub fn pass_over(sequence: Oid, value: i64) {
    set(sequence, value, true);
    let (_, lsn) = look(sequence);
    if !super::mutant::without("flush_what_stays") {
        super::xact::flush_wal(lsn);
    }
}

fn set(sequence: Oid, value: i64, drawn: bool) {
    // SAFETY: SQL's own setval(regclass, bigint, boolean), as the sequence's owner, whose right
    // to it is checked inside.
    super::role::with_rights_of(super::extension::oids().owner, || unsafe {
        let args = [Some(sequence.into()), Some(value.into()), Some(drawn.into())];
        pgrx::direct_function_call_as_datum(pg_sys::setval3_oid, &args);
    });
}

/// As [`start_at`], and back: undone where this transaction is rolled back. With the sequence locked against
/// everybody.
pub fn restart_at(sequence: Oid, value: i64) {
    // SAFETY: PostgreSQL's own TRUNCATE ... RESTART IDENTITY does so; the closure holds no destructor.
    unsafe {
        raw::catch(|| ResetSequence(sequence));
    }
    start_at(sequence, value);
}

/// The sequence, and the LSN of its page.
fn look(sequence: Oid) -> (SequenceData, pg_sys::XLogRecPtr) {
    // SAFETY: the closure has no destructor.
    unsafe { raw::catch(|| state(sequence)) }
}

/// The same.
///
/// # Safety
/// Inside of [`raw::catch`], without destructors.
unsafe fn state(sequence: Oid) -> (SequenceData, pg_sys::XLogRecPtr) {
    // SAFETY: a sequence, locked, has one page with one tuple, which nobody removes; it is read under
    // the buffer's share lock.
    unsafe {
        let rel = raw::table_open(sequence, pg_sys::NoLock as i32);
        let buffer = raw::ReadBuffer(rel, 0);
        raw::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let lsn = raw::BufferGetLSNAtomic(buffer);
        let state = *data_on(pg_sys::BufferGetPage(buffer));
        raw::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
        raw::ReleaseBuffer(buffer);
        raw::table_close(rel, pg_sys::NoLock as i32);
        (state, lsn)
    }
}

/// The sequence's only row, on its page.
///
/// # Safety
/// A sequence's page, in a locked buffer or a copy.
unsafe fn data_on(page: pg_sys::Page) -> *mut SequenceData {
    // SAFETY: the caller's promise.
    unsafe {
        let header: pg_sys::HeapTupleHeader = pg_sys::PageGetItem(page, pg_sys::PageGetItemId(page, 1)).cast();
        header.cast::<u8>().add((*header).t_hoff.into()).cast()
    }
}

/// Puts the next draws on record, once those are used up that were: as drawing itself does, what is logged
/// is the last of them, which is where the sequence goes on after a crash. After a checkpoint it is drawing
/// that sees to a new record.
///
/// # Safety
/// As [`state`].
unsafe fn log_ahead(sequence: Oid) {
    // SAFETY: as `state`; between the two changes of the row nothing can raise, and the page's exclusive lock
    // lets nobody see it.
    unsafe {
        let rel = raw::table_open(sequence, pg_sys::NoLock as i32);
        let buffer = raw::ReadBuffer(rel, 0);
        raw::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
        let data = data_on(pg_sys::BufferGetPage(buffer));
        let drawn = (*data).last_value;
        // Somebody else may have been faster.
        if (*data).is_called && (*data).log_cnt == 0 {
            let change = raw::GenericXLogStart(rel);
            let copy = raw::GenericXLogRegisterBuffer(change, buffer, pg_sys::GENERIC_XLOG_FULL_IMAGE as i32);
            (*data_on(copy)).last_value = drawn.saturating_add(AHEAD);
            raw::GenericXLogFinish(change);
            (*data).last_value = drawn;
            (*data).log_cnt = AHEAD;
        }
        raw::UnlockReleaseBuffer(buffer);
        raw::table_close(rel, pg_sys::NoLock as i32);
    }
}
