//! Fences held by this transaction, and the terms accepted under them.

use super::held::{Held, HeldLeases};
use super::log::Log;
use super::lower;
use crate::pg::lock::{self, Mode, Tag};
use crate::pg::{mutant, role, xact};
use crate::store::LeaseId;
use crate::store::lease::Seen;
use crate::store::subject::Subject;
use fencing_core::{Code, Error, Token};
use pgrx::pg_sys::{CommandId, Oid};
use smallvec::SmallVec;
use std::rc::Rc;

/// So many fences of one namespace a transaction locks one by one, and so many in all; then it locks
/// whole namespaces, so that no statement exhausts the server's lock table.
const FENCES_PER_NAMESPACE: usize = 256;
const FENCES_IN_ALL: usize = 1024;

/// A term that a write of this transaction was accepted under.
pub struct Accepted {
    /// The term.
    pub token: Token,
    /// Its lease, for the rule on expiry and for messages.
    pub subject: Rc<Subject>,
    /// What was seen of its lease, if nobody was changing that.
    pub seen: Option<Seen>,
    /// The role that was checked.
    user: Oid,
    /// Whether the verdict may be relied on without reading anything again.
    trusted: bool,
}

/// What a savepoint did, to be undone if it is rolled back.
enum Done {
    Locked(LeaseId),
    Accepted(LeaseId),
}

/// What is locked of one namespace.
struct NamespaceLocks {
    namespace: i32,
    fences: usize,
    /// The savepoint level at which all of it was locked.
    whole: Option<i32>,
}

/// A lease that this transaction acquired.
struct Acquired {
    lease: LeaseId,
    level: i32,
    command: CommandId,
}

/// What is held.
pub struct Fences {
    leases: HeldLeases,
    namespaces: SmallVec<[NamespaceLocks; 2]>,
    acquired: Vec<Acquired>,
    done: Log<Done>,
    /// Whether a savepoint locked any: its locks may go before the transaction does.
    locked_in_savepoint: bool,
    /// The savepoint level at which the gate was passed.
    gate: Option<i32>,
}

/// How a fence is to be locked.
#[derive(Clone, Copy)]
enum Lock {
    Fence,
    Namespace,
}

impl Fences {
    /// Nothing.
    pub const EMPTY: Fences = Fences {
        leases: HeldLeases::EMPTY,
        namespaces: SmallVec::new_const(),
        acquired: Vec::new(),
        done: Log::EMPTY,
        locked_in_savepoint: false,
        gate: None,
    };

    /// Forgets everything, and keeps a little memory for the next transaction.
    pub fn clear(&mut self) {
        self.leases.clear();
        self.namespaces.clear();
        self.acquired.clear();
        self.done.clear();
        self.locked_in_savepoint = false;
        self.gate = None;
    }

    /// How the fence of `lease` is to be locked, if this transaction doesn't hold it yet.
    #[unsafe(link_section = ".text_hot")]
    fn missing_lock(&self, lease: &LeaseId) -> Option<Lock> {
        let locks = self.namespaces.iter().find(|n| n.namespace == lease.namespace);
        if locks.is_some_and(|locks| locks.whole.is_some())
            || locks.is_some() && self.leases.get(lease).is_some_and(|held| held.locked)
        {
            return None;
        }
        let many = locks.is_some_and(|locks| locks.fences >= FENCES_PER_NAMESPACE)
            || self.namespaces.iter().map(|locks| locks.fences).sum::<usize>() >= FENCES_IN_ALL;
        Some(if many { Lock::Namespace } else { Lock::Fence })
    }

    fn locked(&mut self, lease: &LeaseId, lock: Lock, level: i32) {
        let known = self.namespaces.iter().position(|n| n.namespace == lease.namespace);
        let known = known.unwrap_or_else(|| {
            self.namespaces.push(NamespaceLocks { namespace: lease.namespace, fences: 0, whole: None });
            self.namespaces.len() - 1
        });
        self.locked_in_savepoint |= level > 1;
        let locks = &mut self.namespaces[known];
        match lock {
            Lock::Namespace => locks.whole = Some(level),
            Lock::Fence => {
                locks.fences += 1;
                self.leases.entry(lease).locked = true;
                self.done.note(level, || Done::Locked(lease.clone()));
            }
        }
    }

    fn accepted(&self, lease: &LeaseId) -> Option<&Accepted> {
        self.leases.get(lease)?.accepted.as_ref()
    }

    /// The term that was accepted for this lease, if the caller may rely on it as it is.
    pub fn trusted(&self, lease: &LeaseId, user: Oid) -> Option<Token> {
        let accepted = self.accepted(lease)?;
        (accepted.trusted && accepted.user == user).then_some(accepted.token)
    }

    fn accept(&mut self, accepted: Accepted, level: i32) {
        let held = self.leases.entry(&accepted.subject.lease);
        if held.accepted.is_none() {
            self.done.note(level, || Done::Accepted(accepted.subject.lease.clone()));
        }
        held.accepted = Some(accepted);
    }

    /// The next write under this lease is to be checked anew.
    pub fn distrust(&mut self, lease: &LeaseId) {
        if let Some(accepted) = self.leases.get_mut(lease).and_then(|held| held.accepted.as_mut()) {
            accepted.trusted = false;
        }
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

    /// Whether this transaction has passed the gate, as a writer or to acquire.
    pub fn in_gate(&self) -> bool {
        self.gate.is_some() || self.any_held() || self.any_acquired()
    }

    /// Whether this transaction acquired any lease.
    pub fn any_acquired(&self) -> bool {
        !self.acquired.is_empty()
    }

    /// What a released savepoint held is its parent's.
    pub fn reparent(&mut self, level: i32) {
        self.done.reparent(level, |_| ());
        for acquired in self.acquired.iter_mut().rev().take_while(|acquired| acquired.level >= level) {
            acquired.level = level - 1;
        }
        for namespace in &mut self.namespaces {
            lower(namespace.whole.as_mut(), level);
        }
        lower(self.gate.as_mut(), level);
    }

    /// What a rolled back savepoint locked is locked no more.
    pub fn roll_back(&mut self, level: i32) {
        while let Some(done) = self.done.undo(level) {
            self.undo(&done);
        }
        while self.acquired.last().is_some_and(|acquired| acquired.level >= level) {
            self.acquired.pop();
        }
        self.gate = self.gate.filter(|l| *l < level);
        for locks in &mut self.namespaces {
            locks.whole = locks.whole.filter(|l| *l < level);
        }
        self.namespaces.retain(|locks| locks.fences > 0 || locks.whole.is_some());
    }

    fn undo(&mut self, done: &Done) {
        let (Done::Locked(lease) | Done::Accepted(lease)) = done;
        let Some(held) = self.leases.get_mut(lease) else { return };
        match done {
            Done::Locked(_) => {
                held.locked = false;
                if let Some(locks) = self.namespaces.iter_mut().find(|n| n.namespace == lease.namespace) {
                    locks.fences -= 1;
                }
            }
            Done::Accepted(_) => held.accepted = None,
        }
        if !held.locked && held.accepted.is_none() {
            self.leases.remove(lease);
        }
    }
}

/// Visits every term that this transaction's writes depend on, until an error. Last of all: while it
/// runs, nothing seems to be held.
#[inline]
pub fn each_accepted(visit: fn(&Accepted) -> Result<(), Error>) -> Result<(), Error> {
    // Taken out, since `visit` calls PostgreSQL; what an error leaves out goes with the transaction.
    let leases = super::with(|t| std::mem::replace(&mut t.fences.leases, HeldLeases::EMPTY));
    let visit = |held: &Held| held.accepted.as_ref().map_or(Ok(()), visit);
    leases.first().map_or(Ok(()), visit)?;
    if let Some(mut others) = leases.others() {
        others.try_for_each(visit)?;
    }
    super::with(|t| t.fences.leases = leases);
    Ok(())
}

/// Locks the fence of a lease, shared, until the transaction ends; waits while the lease is being
/// acquired.
#[unsafe(link_section = ".text_hot")]
pub fn lock_shared(lease: &LeaseId) {
    if mutant::without("fence") {
        return;
    }
    if let Some(lock) = super::with(|t| t.fences.missing_lock(lease)) {
        let tag = match lock {
            Lock::Fence => Tag::fence(lease.hash),
            Lock::Namespace => Tag::namespace(lease.namespace),
        };
        tag.lock(Mode::Shared);
        let level = xact::nest_level();
        super::with(|t| t.fences.locked(lease, lock, level));
    }
}

/// Makes sure that the lock is held which is remembered as held: everything depends on it.
pub fn require_lock(lease: &LeaseId) -> Result<(), Error> {
    if super::with(|t| t.fences.locked_in_savepoint) { require_lock_of_savepoint(lease) } else { Ok(()) }
}

#[inline(never)]
fn require_lock_of_savepoint(lease: &LeaseId) -> Result<(), Error> {
    let held =
        Tag::fence(lease.hash).held_by_me(Mode::Shared) || Tag::namespace(lease.namespace).held_by_me(Mode::Shared);
    if held || mutant::without("fence") {
        return Ok(());
    }
    Err(Error::new(Code::NotInPrerequisiteState, "the lock of a fence that this transaction wrote under is gone")
        .hint("Run the transaction again."))
}

/// Passes the gate, unless this transaction has. `true` where it passed it now, which brought word of
/// every change that was committed before.
#[unsafe(link_section = ".text_hot")]
pub fn enter_gate() -> bool {
    if super::with(|t| t.fences.gate.is_some()) {
        return false;
    }
    lock::enter_gate();
    let level = xact::nest_level();
    super::with(|t| t.fences.gate = Some(level));
    true
}

/// Records that a write was accepted.
#[unsafe(link_section = ".text_hot")]
pub fn accept(subject: Rc<Subject>, token: Token, seen: Option<Seen>) {
    let (user, level) = (role::outer_user(), xact::nest_level());
    super::with(|t| t.fences.accept(Accepted { token, subject, seen, user, trusted: true }, level));
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
