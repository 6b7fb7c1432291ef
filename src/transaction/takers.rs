//! Who has taken a token that was presented by its lease's name. The name doesn't say who grants the lease,
//! and several may: the token is for the first whose guard accepts a write under it.

use super::log::Log;
use crate::store::{LeaseId, LeaseMap, new_map};

/// This database, among those who take one.
pub const HERE: &str = "";

/// The taker of each: a coordinator's name, or [`HERE`]. Follows savepoints.
pub struct Takers {
    by_lease: LeaseMap<Box<str>>,
    nested: Log<LeaseId>,
}

impl Takers {
    /// Nobody.
    pub const EMPTY: Takers = Takers { by_lease: new_map(), nested: Log::EMPTY };

    /// Forgets everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.by_lease.clear();
        self.nested.clear();
    }

    /// Whether somebody else than `who` has taken it.
    pub fn is_taken(&self, lease: &LeaseId, who: &str) -> bool {
        self.by_lease.get(lease).is_some_and(|taker| **taker != *who)
    }

    /// Takes it, unless somebody has.
    pub fn take(&mut self, lease: &LeaseId, who: &str, level: i32) {
        if !self.by_lease.contains_key(lease) {
            self.by_lease.insert(lease.clone(), who.into());
            self.nested.note(level, || lease.clone());
        }
    }

    /// What a released savepoint took is its parent's.
    pub fn reparent(&mut self, level: i32) {
        self.nested.reparent(level, |_| ());
    }

    /// What a rolled back savepoint took is free again.
    pub fn roll_back(&mut self, level: i32) {
        while let Some(lease) = self.nested.undo(level) {
            self.by_lease.remove(&lease);
        }
    }
}
