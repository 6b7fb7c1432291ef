//! What this transaction holds of coordinators elsewhere: their locks, the fences that it wrote under,
//! and the tokens that running statements present inline. Follows savepoints.

use super::log::Log;
use super::lower;
use crate::pg::lock::Mode;
use crate::pg::lock::Tag;
use crate::pg::{extension, xact};
use crate::store::remote_fence::{RemoteId, RemoteMap};
use crate::store::{NumberMap, new_map};
use fencing_core::{Code, Error, Token};
use smallvec::SmallVec;

/// So many fences a transaction holds by their locks; the others by their rows, so that no statement
/// exhausts the server's lock table.
const FENCES: usize = 256;

/// How a fence is held until the transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// By its lock.
    Lock(Mode),
    /// By its row, which this transaction has written: whoever finds it so waits.
    Row,
}

struct Accepted {
    token: Token,
    held: Held,
}

/// What is held.
pub struct Remote {
    coordinators: SmallVec<[(Box<str>, i32); 1]>,
    fences: RemoteMap<Accepted>,
    locks: usize,
    /// What open savepoints were accepted for.
    done: Log<RemoteId>,
    /// What each running statement presents inline.
    inline: NumberMap<u64, RemoteMap<i64>>,
    /// Fences that this transaction has advanced for good, and whose takeover its one snapshot doesn't see.
    unseen: Vec<RemoteId>,
}

impl Remote {
    /// Nothing.
    pub const EMPTY: Remote = Remote {
        coordinators: SmallVec::new_const(),
        fences: new_map(),
        locks: 0,
        done: Log::EMPTY,
        inline: new_map(),
        unseen: Vec::new(),
    };

    /// Forgets everything.
    pub fn clear(&mut self) {
        if !self.coordinators.is_empty() || !self.inline.is_empty() || !self.unseen.is_empty() {
            self.forget();
        }
    }

    #[inline(never)]
    fn forget(&mut self) {
        *self = Remote::EMPTY;
    }

    /// Whether any fence is held.
    pub fn any_held(&self) -> bool {
        !self.fences.is_empty()
    }

    /// Whether anything is: a coordinator's lock, too.
    pub fn any_locked(&self) -> bool {
        !self.coordinators.is_empty()
    }

    /// The token that this transaction wrote under.
    pub fn accepted(&self, lease: &RemoteId) -> Option<Token> {
        self.fences.get(lease).map(|accepted| accepted.token)
    }

    /// Whether further fences are to be held by their rows.
    pub fn holds_many(&self) -> bool {
        self.locks >= FENCES
    }

    fn accept(&mut self, lease: RemoteId, token: Token, held: Held, level: i32) {
        self.done.note(level, || lease.clone());
        self.locks += usize::from(held != Held::Row);
        self.fences.insert(lease, Accepted { token, held });
    }

    /// Presents a token inline for a lease; whatever else is presented for it stays so.
    pub fn present_inline(&mut self, statement: u64, lease: &RemoteId, token: i64) {
        self.inline.entry(statement).or_default().entry(lease.clone()).or_insert(token);
    }

    /// What running statements present inline for a lease.
    pub fn inline<'a>(&'a self, lease: &'a RemoteId) -> impl Iterator<Item = i64> + 'a {
        self.inline.values().filter_map(|of| of.get(lease).copied())
    }

    /// Any token that is presented inline.
    pub fn any_inline(&self) -> Option<i64> {
        self.inline.values().flat_map(|of| of.values().copied()).min()
    }

    /// A statement has ended.
    pub fn statement_ended(&mut self, statement: u64) {
        if !self.inline.is_empty() {
            self.withdraw(statement);
        }
    }

    #[inline(never)]
    fn withdraw(&mut self, statement: u64) {
        self.inline.remove(&statement);
    }

    /// Records that the transaction's one snapshot is older than a takeover which it has made known for good:
    /// whatever savepoints are rolled back.
    pub fn cannot_see(&mut self, lease: &RemoteId) {
        self.unseen.push(lease.clone());
    }

    /// Whether that is recorded.
    pub fn sees(&self, lease: &RemoteId) -> bool {
        !self.unseen.contains(lease)
    }

    /// What a released savepoint held is its parent's.
    pub fn reparent(&mut self, level: i32) {
        self.done.reparent(level, |_| ());
        for (_, at) in &mut self.coordinators {
            lower(Some(at), level);
        }
    }

    /// What a rolled back savepoint held is held no more.
    pub fn roll_back(&mut self, level: i32) {
        while let Some(lease) = self.done.undo(level) {
            if let Some(accepted) = self.fences.remove(&lease) {
                self.locks -= usize::from(accepted.held != Held::Row);
            }
        }
        self.coordinators.retain(|(_, at)| *at < level);
    }
}

/// Keeps a coordinator's epoch as it is until this transaction ends. Brings word of every change that was
/// committed before.
pub fn enter(coordinator: &str) {
    if super::with(|t| t.remote.coordinators.iter().any(|(name, _)| **name == *coordinator)) {
        return;
    }
    Tag::coordinator(coordinator).lock(Mode::Reference);
    extension::catch_up();
    let level = xact::nest_level();
    super::with(|t| t.remote.coordinators.push((coordinator.into(), level)));
}

/// Records that a write was accepted, and how its fence is held.
pub fn accept(lease: &RemoteId, token: Token, held: Held) {
    let level = xact::nest_level();
    super::with(|t| t.remote.accept(lease.clone(), token, held, level));
}

/// Makes sure that the locks are held which are remembered as held: everything depends on them.
#[inline(never)]
pub fn require_locks() -> Result<(), Error> {
    let held: Vec<(RemoteId, Mode)> = super::with(|t| {
        let by_lock = |(lease, accepted): (&RemoteId, &Accepted)| match accepted.held {
            Held::Lock(mode) => Some((lease.clone(), mode)),
            Held::Row => None,
        };
        t.remote.fences.iter().filter_map(by_lock).collect()
    });
    let coordinators: Vec<_> = super::with(|t| t.remote.coordinators.iter().map(|(name, _)| name.clone()).collect());
    let fences = held.iter().all(|(lease, mode)| lease.lock().held_by_me(*mode));
    if fences && coordinators.iter().all(|name| Tag::coordinator(name).held_by_me(Mode::Reference)) {
        return Ok(());
    }
    Err(Error::new(Code::NotInPrerequisiteState, "the lock of a fence that this transaction wrote under is gone")
        .hint("Run the transaction again."))
}
