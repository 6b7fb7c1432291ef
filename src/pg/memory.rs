//! Memory of PostgreSQL's.

use pgrx::PgMemoryContexts;

/// Runs `body`, and frees what PostgreSQL allocated meanwhile. What it returns, or writes to, must be
/// Rust's alone.
pub fn transient<T>(body: impl FnOnce() -> T) -> T {
    let mut context = PgMemoryContexts::new("fencing transient");
    // SAFETY: the caller's promise; dropping the context leaves nothing behind that points into it.
    unsafe { context.switch_to(|_| body()) }
}
