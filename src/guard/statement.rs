//! What a guard's trigger remembers while one statement runs.

use super::resolve::Guard;
use crate::pg::backend::{Backend, BackendCell};
use crate::pg::key_type::KeyBytes;
use crate::pg::raw;
use crate::transaction;
use fencing_core::Token;
use pgrx::pg_sys::{self, Oid};
use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

/// State of one trigger in one statement, kept in the call's `fn_extra`.
pub struct Statement {
    callback: pg_sys::MemoryContextCallback,
    /// The table that the trigger fires for.
    pub table: Oid,
    /// The guard.
    pub guard: Rc<Guard>,
    /// Names the statement among those that present inline.
    pub id: u64,
    /// Whether rows pass unchecked: applied by a subscription.
    pub bypass: bool,
    /// Whether a verdict alone lets a row pass: nothing in the row to stamp, nor to read but its key.
    pub plain: bool,
    /// The generation in which the last row was accepted; 0 for never.
    pub generation: u64,
    /// The role that it was accepted for.
    pub user: Oid,
    /// The token that it was accepted under.
    pub token: Option<Token>,
    /// The key columns' values in that row.
    pub key: KeyBytes,
    /// Those of the row at hand.
    pub row_key: KeyBytes,
    /// Those of the row that it replaces.
    pub old_key: KeyBytes,
    /// Whether any of its rows presented a token inline.
    pub presented_inline: bool,
}

static NEXT_ID: BackendCell<u64> = Backend::new(Cell::new(1));

impl Statement {
    /// As it begins.
    #[inline]
    pub fn new(table: Oid, guard: Rc<Guard>, bypass: bool) -> Statement {
        let id = NEXT_ID.get();
        NEXT_ID.set(id + 1);
        Statement {
            callback: pg_sys::MemoryContextCallback::default(),
            table,
            plain: guard.token_column == 0 && guard.present_column == 0,
            guard,
            id,
            bypass,
            generation: 0,
            user: Oid::INVALID,
            token: None,
            key: KeyBytes::new(),
            row_key: KeyBytes::new(),
            old_key: KeyBytes::new(),
            presented_inline: false,
        }
    }

    /// Puts the state into the call, to be dropped with the statement.
    ///
    /// # Safety
    /// `flinfo` must be that of the trigger call at hand.
    #[inline]
    pub unsafe fn install(self, flinfo: *mut pg_sys::FmgrInfo) -> *mut Statement {
        // SAFETY: the context that `flinfo` names lives as long as what `fn_extra` points to may be
        // used, and runs the callback before it frees it. What it gives is aligned for any type.
        unsafe {
            let context = (*flinfo).fn_mcxt;
            let statement: *mut Statement = raw::allocate(context, size_of::<Statement>()).cast();
            statement.write(self);
            (*statement).callback.func = Some(ended);
            (*statement).callback.arg = statement.cast();
            raw::MemoryContextRegisterResetCallback(context, &raw mut (*statement).callback);
            (*flinfo).fn_extra = statement.cast();
            statement
        }
    }
}

/// The statement has ended, one way or another. Touches this library's memory alone.
#[unsafe(link_section = ".text_hot")]
unsafe extern "C-unwind" fn ended(statement: *mut c_void) {
    let statement = statement.cast::<Statement>();
    // SAFETY: made by `install`, and PostgreSQL calls this once, before it frees the memory.
    unsafe {
        if (*statement).presented_inline {
            transaction::statement_ended((*statement).id);
        }
        statement.drop_in_place();
    }
}
