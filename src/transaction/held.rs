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

/// What is held of each. In a place of its own, so that whoever visits it takes it along by its address.
pub struct HeldLeases(Option<Box<Leases>>);

#[derive(Default)]
struct Leases {
    /// The first, and whether that is of this transaction: what is left of one before is overwritten
    /// by the next, which costs less than to drop it when it has left the processor's caches.
    first: Option<(LeaseId, Held)>,
    first_is_held: bool,
    others: LeaseMap<Held>,
}

impl HeldLeases {
    /// Nothing.
    pub const EMPTY: HeldLeases = HeldLeases(None);

    /// Forgets everything, and keeps a little memory for the next transaction.
    pub fn clear(&mut self) {
        let Some(leases) = &mut self.0 else { return };
        leases.first_is_held = false;
        if leases.others.capacity() > KEPT {
            leases.others = new_map();
        }
        leases.others.clear();
    }

    /// What is held of this lease.
    #[inline]
    pub fn get(&self, lease: &LeaseId) -> Option<&Held> {
        let leases = self.0.as_ref()?;
        if leases.is_first(lease) { leases.first.as_ref().map(|(_, held)| held) } else { leases.others.get(lease) }
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, lease: &LeaseId) -> Option<&mut Held> {
        let leases = self.0.as_mut()?;
        if leases.is_first(lease) { leases.first.as_mut().map(|(_, held)| held) } else { leases.others.get_mut(lease) }
    }

    /// The same, from now on if nothing was held yet.
    #[unsafe(link_section = ".text_hot")]
    pub fn entry(&mut self, lease: &LeaseId) -> &mut Held {
        let leases = self.0.get_or_insert_default();
        if leases.first_is_held && !leases.is_first(lease) {
            return leases.others.entry(lease.clone()).or_default();
        }
        let first = leases.first.get_or_insert_with(|| (lease.clone(), Held::default()));
        if !std::mem::replace(&mut leases.first_is_held, true) {
            if first.0 != *lease {
                first.0 = lease.clone();
            }
            first.1 = Held::default();
        }
        &mut first.1
    }

    /// Nothing is held of this lease any more.
    pub fn remove(&mut self, lease: &LeaseId) {
        let Some(leases) = &mut self.0 else { return };
        if leases.is_first(lease) {
            leases.first_is_held = false;
        } else {
            leases.others.remove(lease);
        }
    }

    /// Everything that is held.
    pub fn iter(&self) -> impl Iterator<Item = (&LeaseId, &Held)> {
        self.0.iter().flat_map(|leases| {
            let first = leases.first.iter().filter(|_| leases.first_is_held).map(|(lease, held)| (lease, held));
            first.chain(&leases.others)
        })
    }
}

impl Leases {
    #[inline]
    fn is_first(&self, lease: &LeaseId) -> bool {
        self.first_is_held && self.first.as_ref().is_some_and(|(first, _)| first == lease)
    }
}
