//! When fences were last used, as this backend has read it: most are used again and again.

use crate::pg::backend::Backend;
use crate::store::new_map;
use crate::store::remote_fence::{RemoteId, RemoteMap};
use fencing_core::time::Instant;
use std::cell::RefCell;

/// So many are remembered.
const KEPT: usize = 1024;

static KNOWN: Backend<RefCell<RemoteMap<Instant>>> = Backend::new(RefCell::new(new_map()));

/// Whether what is known of a lease's last use is recent.
pub fn is_known(lease: &RemoteId, recent: impl FnOnce(Instant) -> bool) -> bool {
    KNOWN.with_borrow(|known| known.get(lease).copied()).is_some_and(recent)
}

/// Notes when a lease was used: what was read, and so committed.
pub fn remember(lease: &RemoteId, at: Instant) {
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(lease.clone(), at);
    });
}
