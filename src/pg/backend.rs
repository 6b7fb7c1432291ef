//! State of this backend.

use std::cell::{Cell, RefCell};
use std::ops::Deref;

/// A static of a backend, which has one thread: the library starts none. Costs the hot path less
/// than a thread-local does.
pub struct Backend<T>(T);

// SAFETY: nothing but the backend's only thread runs this library.
unsafe impl<T> Sync for Backend<T> {}

impl<T> Backend<T> {
    /// A value to begin with.
    pub const fn new(value: T) -> Backend<T> {
        Backend(value)
    }
}

impl<T> Deref for Backend<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A plain value of this backend.
pub type BackendCell<T> = Backend<Cell<T>>;

impl<T> Backend<RefCell<T>> {
    /// Reads it.
    pub fn with_borrow<R>(&self, body: impl FnOnce(&T) -> R) -> R {
        body(&self.0.borrow())
    }

    /// Changes it.
    pub fn with_borrow_mut<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        body(&mut self.0.borrow_mut())
    }
}
