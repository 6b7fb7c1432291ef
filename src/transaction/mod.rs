//! What this transaction presents and holds. Lives in this backend's memory, follows savepoints,
//! and is gone with the transaction: nothing here survives into the next client's.

pub mod fences;
mod held;
mod log;
pub mod maintenance;
pub mod presentation;
pub mod remote;
pub mod stale;
mod takers;

use crate::pg::backend::{Backend, BackendCell};
use crate::pg::{mutant, xact};
use fences::Fences;
use presentation::Presentation;
use remote::Remote;
use stale::Stale;
use std::cell::{Cell, RefCell};

/// The transaction's state.
pub struct Transaction {
    /// Tokens presented.
    pub presentation: Presentation,
    /// Whether a stale term is presented in place of those.
    pub stale: Stale,
    /// Fences held and terms accepted under them.
    pub fences: Fences,
    /// What it holds of coordinators elsewhere.
    pub remote: Remote,
    /// Whether the commit must be durable, whatever the session's setting.
    pub durable: bool,
    /// Whether it is a step of an epoch transition: it must not be prepared.
    pub epoch_step: bool,
    /// Whether it has begun the sequence of tokens anew, which is undone if it is rolled back.
    pub sequence_restarted: bool,
}

impl Transaction {
    const fn new() -> Transaction {
        Transaction {
            presentation: Presentation::EMPTY,
            stale: Stale::EMPTY,
            fences: Fences::EMPTY,
            remote: Remote::EMPTY,
            durable: false,
            epoch_step: false,
            sequence_restarted: false,
        }
    }

    /// Whether a write would be one without a token.
    pub fn presents_nothing(&self) -> bool {
        self.presentation.is_empty() && !self.stale.is_presented()
    }
}

static CURRENT: Backend<RefCell<Transaction>> = Backend::new(RefCell::new(Transaction::new()));

/// Moves on whenever a verdict reached before may no longer hold: at a transaction's end, at a
/// savepoint's rollback, on a changed presentation, when maintenance begins, after this transaction's
/// own acquire or release.
/// A guard's statement remembers the generation that its verdict was reached in.
static GENERATION: BackendCell<u64> = Backend::new(Cell::new(1));

/// Maps of no more entries than this keep their memory from one transaction to the next.
const KEPT: usize = 64;

/// The current generation.
#[inline]
pub fn generation() -> u64 {
    GENERATION.get()
}

/// Verdicts reached so far must be reached anew.
pub fn distrust_verdicts() {
    GENERATION.set(GENERATION.get() + 1);
}

/// Reads or changes the state. Never spans a call into PostgreSQL: that may end in an abort, whose
/// callbacks need the state.
pub fn with<T>(body: impl FnOnce(&mut Transaction) -> T) -> T {
    CURRENT.with_borrow_mut(body)
}

/// A statement has ended: the tokens that it presented inline are presented no more. May run in the
/// middle of an abort, so it neither waits nor fails.
pub fn statement_ended(statement: u64) {
    in_callback(|t| {
        t.presentation.statement_ended(statement);
        t.remote.statement_ended(statement);
    });
}

/// The transaction has ended, or been prepared.
#[unsafe(link_section = ".text_hot")]
pub fn ended() {
    distrust_verdicts();
    let forget = !mutant::without("transaction");
    if forget {
        maintenance::ended();
    }
    in_callback(|t| {
        if forget {
            t.presentation.clear();
        }
        t.stale.clear();
        t.fences.clear();
        t.remote.clear();
        t.durable = false;
        t.epoch_step = false;
        t.sequence_restarted = false;
    });
}

/// The innermost savepoint was released: what it did is its parent's now.
pub fn savepoint_released() {
    let level = xact::nest_level();
    maintenance::reparent(level);
    in_callback(|t| {
        t.presentation.reparent(level);
        t.stale.reparent(level);
        t.fences.reparent(level);
        t.remote.reparent(level);
    });
}

/// The innermost savepoint was rolled back, and the locks that it took are given back.
pub fn savepoint_rolled_back() {
    distrust_verdicts();
    let level = xact::nest_level();
    let forget = !mutant::without("savepoint");
    if forget {
        maintenance::roll_back(level);
    }
    in_callback(|t| {
        if forget {
            t.presentation.roll_back(level);
        }
        t.stale.roll_back(level);
        t.fences.roll_back(level);
        t.remote.roll_back(level);
    });
}

/// A level of a savepoint that was released becomes its parent's.
fn lower(at: Option<&mut i32>, level: i32) {
    if let Some(at) = at {
        *at = (*at).min(level - 1);
    }
}

/// As [`with`], where PostgreSQL calls in the middle of an abort: a panic there would take the server
/// down. [`with`] never spans a call into PostgreSQL, so the state is free.
fn in_callback(body: impl FnOnce(&mut Transaction)) {
    if let Ok(mut state) = CURRENT.try_borrow_mut() {
        body(&mut state);
    }
}
