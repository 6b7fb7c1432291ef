//! Maintenance: what a transaction writes passes every guard unchecked. Follows savepoints, and is
//! gone with the transaction.

use crate::pg::backend::{Backend, BackendCell};
use crate::pg::xact;
use std::cell::Cell;

/// The savepoint level that it belongs to; 0 while there is none.
static LEVEL: BackendCell<i32> = Backend::new(Cell::new(0));

/// Whether this transaction's writes pass unchecked.
#[inline]
pub fn is_on() -> bool {
    LEVEL.get() != 0
}

/// From now on they do.
pub fn begin() {
    if !is_on() {
        LEVEL.set(xact::nest_level());
        super::distrust_verdicts();
    }
}

/// The transaction has ended, or been prepared; verdicts are distrusted by then.
pub(super) fn ended() {
    LEVEL.set(0);
}

/// A savepoint was released: what it began is its parent's.
pub(super) fn reparent(level: i32) {
    LEVEL.set(LEVEL.get().min(level - 1));
}

/// A savepoint was rolled back, and what it began with it; verdicts are distrusted by then.
pub(super) fn roll_back(level: i32) {
    if LEVEL.get() >= level {
        LEVEL.set(0);
    }
}
