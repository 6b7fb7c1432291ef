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
pub struct HeldLeases {
    leases: Option<Box<Leases>>,
    /// Whether the first is of this transaction: what is left of one before is overwritten by the next,
    /// which costs less than to drop it when it has left the processor's caches.
    first_is_held: bool,
    /// Whether there are others.
    several: bool,
}

#[derive(Default)]
struct Leases {
    first: Option<(LeaseId, Held)>,
    others: LeaseMap<Held>,
}

impl HeldLeases {
    /// Nothing.
    pub const EMPTY: HeldLeases = HeldLeases { leases: None, first_is_held: false, several: false };

    /// Forgets everything, and keeps a little memory for the next transaction.
    pub fn clear(&mut self) {
        self.first_is_held = false;
        if std::mem::take(&mut self.several)
            && let Some(leases) = &mut self.leases
        {
            leases.forget_others();
        }
    }

    /// What is held of this lease.
    #[inline]
    #[unsafe(link_section = ".text_hot")]
    pub fn get(&self, lease: &LeaseId) -> Option<&Held> {
        match self.first_place() {
            Some((first, held)) if first == lease => Some(held),
            _ if self.several => self.leases.as_ref()?.other(lease),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, lease: &LeaseId) -> Option<&mut Held> {
        let leases = self.leases.as_mut()?;
        match &mut leases.first {
            Some((first, held)) if self.first_is_held && first == lease => Some(held),
            _ => leases.others.get_mut(lease),
        }
    }

    /// The same, from now on if nothing was held yet.
    #[unsafe(link_section = ".text_hot")]
    pub fn entry(&mut self, lease: &LeaseId) -> &mut Held {
        let leases = self.leases.get_or_insert_default();
        let same = leases.first.as_ref().is_some_and(|(first, _)| first == lease);
        // One of the others stays there, also where the first was given back by a savepoint.
        if self.first_is_held && !same || self.several && leases.others.contains_key(lease) {
            self.several = true;
            return leases.other_entry(lease);
        }
        if !same {
            leases.first = Some((lease.clone(), Held::default()));
        }
        let held = &mut leases.first.get_or_insert_with(|| (lease.clone(), Held::default())).1;
        if !std::mem::replace(&mut self.first_is_held, true) && same {
            *held = Held::default();
        }
        held
    }

    /// Nothing is held of this lease any more.
    pub fn remove(&mut self, lease: &LeaseId) {
        if self.first_place().is_some_and(|(first, _)| first == lease) {
            self.first_is_held = false;
        } else if let Some(leases) = &mut self.leases {
            leases.others.remove(lease);
        }
    }

    /// What is held of the first.
    pub fn first(&self) -> Option<&Held> {
        self.first_place().map(|(_, held)| held)
    }

    #[inline]
    fn first_place(&self) -> Option<&(LeaseId, Held)> {
        self.leases.as_ref().filter(|_| self.first_is_held)?.first.as_ref()
    }

    /// What is held of each of the others, where there are any.
    pub fn others(&self) -> Option<impl Iterator<Item = &Held>> {
        Some(self.leases.as_ref().filter(|_| self.several)?.others.values())
    }
}

impl Leases {
    #[inline(never)]
    fn forget_others(&mut self) {
        if self.others.capacity() > KEPT {
            self.others = new_map();
        }
        self.others.clear();
    }

    #[inline(never)]
    fn other(&self, lease: &LeaseId) -> Option<&Held> {
        self.others.get(lease)
    }

    #[inline(never)]
    fn other_entry(&mut self, lease: &LeaseId) -> &mut Held {
        self.others.entry(lease.clone()).or_default()
    }
}
