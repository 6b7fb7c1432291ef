//! Fences held by this transaction, and the terms accepted under them.

use crate::pg::lock::{self, Mode, Tag};
use crate::pg::{role, xact};
use crate::store::namespace::Namespace;
use crate::store::{LeaseId, LeaseMap, NumberMap};
use fencing_core::{Code, Error, Token};
use pgrx::pg_sys::{CommandId, Oid};
use std::rc::Rc;

/// So many fences of one namespace a transaction locks one by one; then it locks the namespace, so
/// that no statement exhausts the server's lock table.
const FENCES_PER_NAMESPACE: usize = 256;

/// A term that a write of this transaction was accepted under.
#[derive(Clone)]
pub struct Accepted {
    /// The savepoint level whose rollback gives the lock back.
    level: i32,
    /// The term.
    pub token: Token,
    /// Its namespace, for the rule on expiry and for messages.
    pub namespace: Rc<Namespace>,
    /// The role that was checked.
    user: Oid,
    /// Whether the verdict may be relied on without reading anything again.
    trusted: bool,
}

struct NamespaceLocks {
    fences: usize,
    whole: Option<i32>,
}

/// A lease that this transaction acquired.
struct Acquired {
    lease: LeaseId,
    level: i32,
    command: CommandId,
}

/// What is held.
#[derive(Default)]
pub struct Fences {
    locked: LeaseMap<i32>,
    namespaces: NumberMap<i32, NamespaceLocks>,
    accepted: LeaseMap<Accepted>,
    acquired: Vec<Acquired>,
    /// The savepoint level at which the gate was passed.
    gate: Option<i32>,
}

impl Fences {
    /// Forgets everything, and keeps a little memory for the next transaction.
    pub fn clear(&mut self) {
        if self.locked.capacity() > super::KEPT {
            *self = Fences::default();
            return;
        }
        self.locked.clear();
        self.namespaces.clear();
        self.accepted.clear();
        self.acquired.clear();
        self.gate = None;
    }

    /// How the fence of `lease` is to be locked, if this transaction doesn't hold it yet.
    fn missing_lock(&self, lease: &LeaseId) -> Option<Tag> {
        if self.locked.contains_key(lease) {
            return None;
        }
        match self.namespaces.get(&lease.namespace) {
            Some(locks) if locks.whole.is_some() => None,
            Some(locks) if locks.fences >= FENCES_PER_NAMESPACE => Some(Tag::namespace(lease.namespace)),
            _ => Some(Tag::fence(lease.hash)),
        }
    }

    fn locked(&mut self, lease: &LeaseId, level: i32) {
        let locks = self.namespaces.entry(lease.namespace).or_insert(NamespaceLocks { fences: 0, whole: None });
        if locks.fences >= FENCES_PER_NAMESPACE {
            locks.whole = Some(level);
        } else {
            locks.fences += 1;
            self.locked.insert(lease.clone(), level);
        }
    }

    /// The term that was accepted for this lease, if the caller may rely on it as it is.
    pub fn trusted(&self, lease: &LeaseId, user: Oid) -> Option<Token> {
        let accepted = self.accepted.get(lease)?;
        (accepted.trusted && accepted.user == user).then_some(accepted.token)
    }

    fn accept(&mut self, lease: &LeaseId, token: Token, namespace: Rc<Namespace>, user: Oid, level: i32) {
        let level = self.accepted.get(lease).map_or(level, |earlier| earlier.level);
        self.accepted.insert(lease.clone(), Accepted { level, token, namespace, user, trusted: true });
    }

    /// The next write under this lease is to be checked anew.
    pub fn distrust(&mut self, lease: &LeaseId) {
        if let Some(accepted) = self.accepted.get_mut(lease) {
            accepted.trusted = false;
        }
    }

    /// Every term that this transaction's writes depend on.
    pub fn accepted(&self) -> Vec<(LeaseId, Accepted)> {
        self.accepted.iter().map(|(lease, accepted)| (lease.clone(), accepted.clone())).collect()
    }

    /// Whether this transaction holds the fence of any lease.
    pub fn any_held(&self) -> bool {
        !self.namespaces.is_empty()
    }

    /// Whether this transaction holds this lease's fence, as a writer.
    pub fn holds(&self, lease: &LeaseId) -> bool {
        self.missing_lock(lease).is_none()
    }

    /// The command of this transaction that acquired the lease.
    pub fn acquired_by(&self, lease: &LeaseId) -> Option<CommandId> {
        self.acquired.iter().rev().find(|a| a.lease == *lease).map(|a| a.command)
    }

    /// Whether this transaction acquired any lease.
    pub fn any_acquired(&self) -> bool {
        !self.acquired.is_empty()
    }

    /// What a released savepoint held is its parent's.
    pub fn reparent(&mut self, level: i32) {
        let levels = self
            .locked
            .values_mut()
            .chain(self.accepted.values_mut().map(|a| &mut a.level))
            .chain(self.acquired.iter_mut().map(|a| &mut a.level))
            .chain(self.gate.as_mut())
            .chain(self.namespaces.values_mut().filter_map(|n| n.whole.as_mut()));
        for l in levels {
            *l = (*l).min(level - 1);
        }
    }

    /// What a rolled back savepoint locked is locked no more.
    pub fn roll_back(&mut self, level: i32) {
        self.accepted.retain(|_, a| a.level < level);
        self.acquired.retain(|a| a.level < level);
        self.gate = self.gate.filter(|l| *l < level);
        self.locked.retain(|_, l| *l < level);
        for (namespace, locks) in &mut self.namespaces {
            locks.whole = locks.whole.filter(|l| *l < level);
            locks.fences = self.locked.keys().filter(|lease| lease.namespace == *namespace).count();
        }
        self.namespaces.retain(|_, locks| locks.fences > 0 || locks.whole.is_some());
    }
}

/// Locks the fence of a lease, shared, until the transaction ends; waits while the lease is being
/// acquired.
pub fn lock_shared(lease: &LeaseId) {
    if let Some(tag) = super::with(|t| t.fences.missing_lock(lease)) {
        tag.lock(Mode::Shared);
        let level = xact::nest_level();
        super::with(|t| t.fences.locked(lease, level));
    }
}

/// Makes sure that the lock is held which is remembered as held: everything depends on it.
pub fn require_lock(lease: &LeaseId) -> Result<(), Error> {
    let held =
        Tag::fence(lease.hash).held_by_me(Mode::Shared) || Tag::namespace(lease.namespace).held_by_me(Mode::Shared);
    if held {
        return Ok(());
    }
    Err(Error::new(Code::NotInPrerequisiteState, "the lock of a fence that this transaction wrote under is gone")
        .hint("Run the transaction again."))
}

/// Passes the gate, unless this transaction has.
pub fn enter_gate() {
    if super::with(|t| t.fences.gate.is_none()) {
        lock::enter_gate();
        let level = xact::nest_level();
        super::with(|t| t.fences.gate = Some(level));
    }
}

/// Records that a write was accepted.
pub fn accept(lease: &LeaseId, token: Token, namespace: Rc<Namespace>) {
    let (user, level) = (role::outer_user(), xact::nest_level());
    super::with(|t| t.fences.accept(lease, token, namespace, user, level));
}

/// Records an acquisition by `command`: its verdicts start afresh, and its commit is durable.
pub fn acquired(lease: LeaseId, command: CommandId) {
    let level = xact::nest_level();
    super::with(|t| {
        t.fences.acquired.push(Acquired { lease, level, command });
        t.durable = true;
    });
    super::distrust_verdicts();
}
