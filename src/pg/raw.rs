//! PostgreSQL's functions as the hot path calls them.
//!
//! pgrx puts a `sigsetjmp` around every call. The first group can't raise and needs none. The second
//! can, and is called by the handful, inside of one [`catch`].

#![expect(missing_docs, reason = "PostgreSQL documents its own functions")]

#[cfg(not(feature = "pg15"))]
pub use pgrx::pg_sys::RelFileLocator as RelFile;
#[cfg(feature = "pg15")]
pub use pgrx::pg_sys::RelFileNode as RelFile;
use pgrx::pg_sys::{
    Buffer, BulkInsertState, CommandId, Datum, ForkNumber, FullTransactionId, FunctionCallInfo, GenericXLogState,
    HeapTuple, HeapTupleHeader, IndexInfo, IndexScanDesc, IndexUniqueCheck, ItemPointer, LOCKMODE, LOCKTAG, List,
    LockAcquireResult, LockTupleMode, MemoryContext, MemoryContextCallback, Oid, Page, Relation, ScanDirection,
    ScanKey, Snapshot, TM_FailureData, TM_Result, TimestampTz, TransactionId, TupleDesc, Tuplestorestate, XLogRecPtr,
    varlena,
};
use std::ffi::{c_char, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};

/// Runs `calls` so that an error which they raise unwinds Rust's frames as a panic. One copy of what that
/// takes is shared by all who come here: in a short transaction it is met for the first time once, not
/// once for every place that calls PostgreSQL.
///
/// # Safety
/// Nothing in `calls` has a destructor, or panics.
#[inline]
pub unsafe fn catch<T, F: FnOnce() -> T>(calls: F) -> T {
    let mut state = (ManuallyDrop::new(calls), MaybeUninit::<T>::uninit());
    // SAFETY: `run` gets the state of its own type, once, and fills it; the rest is the caller's promise.
    unsafe {
        catch_errors(run::<T, F>, (&raw mut state).cast());
        state.1.assume_init()
    }
}

/// # Safety
/// `state` must be that of [`catch`], which calls this once.
#[unsafe(link_section = ".text_hot")]
unsafe fn run<T, F: FnOnce() -> T>(state: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe {
        let (calls, result) = &mut *state.cast::<(ManuallyDrop<F>, MaybeUninit<T>)>();
        result.write(ManuallyDrop::take(calls)());
    }
}

/// PostgreSQL's `PG_TRY`.
#[cfg(all(any(target_os = "linux", target_os = "macos"), any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(never)]
#[unsafe(link_section = ".text_hot")]
unsafe fn catch_errors(run: unsafe fn(*mut c_void), state: *mut c_void) {
    use pgrx::pg_sys::{CurrentMemoryContext, PG_exception_stack, error_context_stack};
    // SAFETY: the caller's promise; statics of this backend, put back as they were.
    unsafe {
        let (context, handler, traceback) = (CurrentMemoryContext, PG_exception_stack, error_context_stack);
        let raised = cee_scape::call_with_sigsetjmp(false, |here| {
            PG_exception_stack = std::ptr::from_ref(here).cast_mut().cast();
            run(state);
            0
        });
        PG_exception_stack = handler;
        error_context_stack = traceback;
        if raised != 0 {
            CurrentMemoryContext = context;
            raise_again();
        }
    }
}

/// The error that was caught, for pgrx to make it a panic.
#[cold]
#[inline(never)]
unsafe fn raise_again() {
    // SAFETY: an error is at hand, and nothing here has a destructor.
    unsafe { pgrx::pg_sys::ffi::pg_guard_ffi_boundary(|| pg_re_throw()) }
}

#[cfg(not(all(any(target_os = "linux", target_os = "macos"), any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[inline(never)]
unsafe fn catch_errors(run: unsafe fn(*mut c_void), state: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { pgrx::pg_sys::ffi::pg_guard_ffi_boundary(|| run(state)) }
}

/// Memory of a context, or the error where there is none: only that is caught.
///
/// # Safety
/// As PostgreSQL's `MemoryContextAlloc`.
#[inline]
pub unsafe fn allocate(context: MemoryContext, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise; with these flags it returns null where it could raise.
    unsafe {
        let flags = pgrx::pg_sys::MCXT_ALLOC_NO_OOM | pgrx::pg_sys::MCXT_ALLOC_HUGE;
        let memory = MemoryContextAllocExtended(context, size, flags as i32);
        if memory.is_null() { catch(|| MemoryContextAlloc(context, size)) } else { memory }
    }
}

unsafe extern "C-unwind" {
    // These can't raise.
    pub fn GetOuterUserId() -> Oid;
    pub fn GetUserId() -> Oid;
    pub fn InSecurityRestrictedOperation() -> bool;
    pub fn GetCurrentTransactionNestLevel() -> i32;
    pub fn GetCurrentCommandId(used: bool) -> CommandId;
    pub fn GetCurrentTimestamp() -> TimestampTz;
    pub fn GetCurrentStatementStartTimestamp() -> TimestampTz;
    pub fn IsTransactionBlock() -> bool;
    pub fn ForceSyncCommit();
    pub fn GetTopFullTransactionIdIfAny() -> FullTransactionId;
    pub fn TransactionIdIsCurrentTransactionId(xid: TransactionId) -> bool;
    pub fn TransactionIdIsInProgress(xid: TransactionId) -> bool;
    pub fn ActiveSnapshotSet() -> bool;
    pub fn GetActiveSnapshot() -> Snapshot;
    pub fn InNoForceRLSOperation() -> bool;
    pub fn IsLogicalWorker() -> bool;
    pub fn pg_trigger_depth(fcinfo: FunctionCallInfo) -> Datum;
    pub fn nocachegetattr(tuple: HeapTuple, column: i32, descriptor: TupleDesc) -> Datum;
    pub fn UnregisterSnapshot(snapshot: Snapshot);
    pub fn table_close(relation: Relation, mode: LOCKMODE);
    pub fn LockRelease(tag: *const LOCKTAG, mode: LOCKMODE, session: bool) -> bool;
    pub fn LockWaiterCount(tag: *const LOCKTAG) -> i32;
    fn MemoryContextAllocExtended(context: MemoryContext, size: usize, flags: i32) -> *mut c_void;
    pub fn MemoryContextRegisterResetCallback(context: MemoryContext, callback: *mut MemoryContextCallback);
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    pub fn LockHeldByMe(tag: *const LOCKTAG, mode: LOCKMODE) -> bool;
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    pub fn LockHeldByMe(tag: *const LOCKTAG, mode: LOCKMODE, or_stronger: bool) -> bool;

    // These can.
    fn pg_re_throw();
    pub fn LockAcquire(tag: *const LOCKTAG, mode: LOCKMODE, session: bool, dont_wait: bool) -> LockAcquireResult::Type;
    pub fn AcceptInvalidationMessages();
    pub fn table_open(relation: Oid, mode: LOCKMODE) -> Relation;
    pub fn GetLatestSnapshot() -> Snapshot;
    pub fn GetTransactionSnapshot() -> Snapshot;
    pub fn XidInMVCCSnapshot(xid: TransactionId, snapshot: Snapshot) -> bool;
    pub fn pg_detoast_datum_packed(datum: *mut varlena) -> *mut varlena;
    pub fn has_privs_of_role(member: Oid, role: Oid) -> bool;
    pub fn getmissingattr(columns: TupleDesc, number: i32, is_null: *mut bool) -> Datum;
    pub fn RegisterSnapshot(snapshot: Snapshot) -> Snapshot;
    pub fn CommandCounterIncrement();
    pub fn PreventCommandIfReadOnly(command: *const c_char);
    pub fn PreventCommandDuringRecovery(command: *const c_char);
    pub fn palloc(size: usize) -> *mut c_void;
    fn MemoryContextAlloc(context: MemoryContext, size: usize) -> *mut c_void;
    pub fn ConditionalLockRelationOid(relation: Oid, mode: LOCKMODE) -> bool;
    pub fn cstring_to_text_with_len(bytes: *const c_char, length: i32) -> *mut varlena;
    pub fn tuplestore_putvalues(store: *mut Tuplestorestate, columns: TupleDesc, values: *mut Datum, nulls: *mut bool);
    pub fn HeapTupleHeaderGetDatum(tuple: HeapTupleHeader) -> Datum;
    pub fn ReadBuffer(relation: Relation, block: u32) -> Buffer;
    pub fn ReadRecentBuffer(file: RelFile, fork: ForkNumber::Type, block: u32, recent: Buffer) -> bool;
    pub fn LockBuffer(buffer: Buffer, mode: i32);
    pub fn HeapTupleSatisfiesVisibility(tuple: HeapTuple, snapshot: Snapshot, buffer: Buffer) -> bool;
    pub fn HeapTupleSatisfiesUpdate(tuple: HeapTuple, command: CommandId, buffer: Buffer) -> TM_Result::Type;
    pub fn ReleaseBuffer(buffer: Buffer);
    pub fn BufferGetLSNAtomic(buffer: Buffer) -> XLogRecPtr;
    pub fn PageGetHeapFreeSpace(page: *const c_void) -> usize;
    pub fn heap_page_prune_opt(relation: Relation, buffer: Buffer);
    pub fn heap_hot_search_buffer(
        tid: ItemPointer,
        relation: Relation,
        buffer: Buffer,
        snapshot: Snapshot,
        tuple: HeapTuple,
        all_dead: *mut bool,
        first_call: bool,
    ) -> bool;
    pub fn heap_copytuple(tuple: HeapTuple) -> HeapTuple;
    pub fn heap_deform_tuple(tuple: HeapTuple, descriptor: TupleDesc, values: *mut Datum, nulls: *mut bool);
    pub fn heap_form_tuple(descriptor: TupleDesc, values: *mut Datum, nulls: *mut bool) -> HeapTuple;
    pub fn heap_insert(relation: Relation, tuple: HeapTuple, command: CommandId, options: i32, bulk: BulkInsertState);
    pub fn heap_update(
        relation: Relation,
        old: ItemPointer,
        new: HeapTuple,
        command: CommandId,
        crosscheck: Snapshot,
        wait: bool,
        failure: *mut TM_FailureData,
        lockmode: *mut LockTupleMode::Type,
        #[cfg(not(feature = "pg15"))] indexes: *mut pgrx::pg_sys::TU_UpdateIndexes::Type,
    ) -> TM_Result::Type;
    pub fn RelationGetIndexList(relation: Relation) -> *mut List;
    pub fn BuildIndexInfo(index: Relation) -> *mut IndexInfo;
    pub fn index_insert(
        index: Relation,
        values: *mut Datum,
        nulls: *mut bool,
        tid: ItemPointer,
        table: Relation,
        unique: IndexUniqueCheck::Type,
        unchanged: bool,
        info: *mut IndexInfo,
    ) -> bool;
    pub fn index_open(index: Oid, mode: LOCKMODE) -> Relation;
    pub fn index_close(index: Relation, mode: LOCKMODE);
    #[cfg(not(feature = "pg18"))]
    pub fn index_beginscan(table: Relation, index: Relation, snapshot: Snapshot, keys: i32, by: i32) -> IndexScanDesc;
    #[cfg(feature = "pg18")]
    pub fn index_beginscan(
        table: Relation,
        index: Relation,
        snapshot: Snapshot,
        instrument: *mut c_void,
        keys: i32,
        by: i32,
    ) -> IndexScanDesc;
    pub fn index_rescan(scan: IndexScanDesc, keys: ScanKey, count: i32, by: ScanKey, by_count: i32);
    pub fn index_getnext_tid(scan: IndexScanDesc, direction: ScanDirection::Type) -> ItemPointer;
    pub fn index_endscan(scan: IndexScanDesc);
    pub fn _bt_get_endpoint(
        index: Relation,
        level: u32,
        rightmost: bool,
        #[cfg(any(feature = "pg15", feature = "pg16"))] snapshot: Snapshot,
    ) -> Buffer;
    pub fn UnlockReleaseBuffer(buffer: Buffer);
    pub fn GenericXLogStart(relation: Relation) -> *mut GenericXLogState;
    pub fn GenericXLogRegisterBuffer(state: *mut GenericXLogState, buffer: Buffer, flags: i32) -> Page;
    pub fn GenericXLogFinish(state: *mut GenericXLogState) -> XLogRecPtr;
}
