//! What a transaction holds of each lease. Most write under one: that one is kept apart from the
//! others, in memory that is at hand.

use super::KEPT;
use super::fences::Accepted;
use crate::store::{LeaseId, LeaseMap, new_map};

/// What is held of one lease.
#[derive(Default)]
pub struct Held {
    /// Whether its fence is locked; not where its namespace is.
    pub locked: bool,
    /// The term that was accepted.
    pub accepted: Option<Accepted>,
}

/// What is held of each.
pub struct HeldLeases {
    /// The first, and whether that is of this transaction: what is left of one before is overwritten
    /// by the next, which costs less than to drop it when it has left the processor's caches.
    first: Option<(LeaseId, Held)>,
    first_is_held: bool,
    others: LeaseMap<Held>,
}

impl HeldLeases {
    /// Nothing.
    pub const EMPTY: HeldLeases = HeldLeases { first: None, first_is_held: false, others: new_map() };

    /// Forgets everything, and keeps a little memory for the next transaction.
    pub fn clear(&mut self) {
        self.first_is_held = false;
        if self.others.capacity() > KEPT {
            self.others = new_map();
        }
        self.others.clear();
    }

    #[inline]
    fn is_first(&self, lease: &LeaseId) -> bool {
        self.first_is_held && self.first.as_ref().is_some_and(|(first, _)| first == lease)
    }

    /// What is held of this lease.
    #[inline]
    pub fn get(&self, lease: &LeaseId) -> Option<&Held> {
        if self.is_first(lease) { self.first.as_ref().map(|(_, held)| held) } else { self.others.get(lease) }
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, lease: &LeaseId) -> Option<&mut Held> {
        if self.is_first(lease) { self.first.as_mut().map(|(_, held)| held) } else { self.others.get_mut(lease) }
    }

    /// The same, from now on if nothing was held yet.
    #[unsafe(link_section = ".text_hot")]
    pub fn entry(&mut self, lease: &LeaseId) -> &mut Held {
        if self.first_is_held && !self.is_first(lease) {
            return self.others.entry(lease.clone()).or_default();
        }
        let first = self.first.get_or_insert_with(|| (lease.clone(), Held::default()));
        if !std::mem::replace(&mut self.first_is_held, true) {
            if first.0 != *lease {
                first.0 = lease.clone();
            }
            first.1 = Held::default();
        }
        &mut first.1
    }

    /// Nothing is held of this lease any more.
    pub fn remove(&mut self, lease: &LeaseId) {
        if self.is_first(lease) {
            self.first_is_held = false;
        } else {
            self.others.remove(lease);
        }
    }

    /// Everything that is held.
    pub fn iter(&self) -> impl Iterator<Item = (&LeaseId, &Held)> {
        self.first.iter().filter(|_| self.first_is_held).map(|(lease, held)| (lease, held)).chain(&self.others)
    }
}
