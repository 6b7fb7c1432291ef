//! Tokens presented: for the transaction by `present`, or for one statement by its inline column.

use crate::pg::xact;
use crate::store::{LeaseId, LeaseMap, NumberMap, new_map, term};
use fencing_core::{Code, Error, Token};
use smallvec::SmallVec;

/// Whose token it is.
#[derive(Clone, PartialEq, Eq)]
enum Owner {
    /// Not looked up yet.
    Unresolved,
    /// Of this lease.
    Lease(LeaseId),
    /// Of none: never issued.
    Nobody,
}

struct Entry {
    owner: Owner,
    /// The savepoint level at which `present` named it.
    presented: Option<i32>,
    /// The statements that assigned it inline, with their savepoint level.
    statements: SmallVec<[(u64, i32); 1]>,
}

/// Everything presented now.
pub struct Presentation {
    tokens: NumberMap<i64, Entry>,
    by_lease: LeaseMap<SmallVec<[i64; 2]>>,
    /// Tokens not looked up yet; some may have been since, or are presented no more.
    unresolved: Vec<i64>,
    /// What each running statement assigned inline.
    inline: NumberMap<u64, SmallVec<[i64; 1]>>,
    /// What open savepoints presented, with their levels, the deepest last: a savepoint's end costs
    /// what it presented itself, however much the transaction does.
    nested: Vec<(i32, i64)>,
}

impl Presentation {
    /// Nothing.
    pub const fn new() -> Presentation {
        Presentation {
            tokens: new_map(),
            by_lease: new_map(),
            unresolved: Vec::new(),
            inline: new_map(),
            nested: Vec::new(),
        }
    }

    /// Nothing at all?
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Forgets everything, and keeps a little memory for the next transaction.
    pub fn clear(&mut self) {
        if self.tokens.capacity() > super::KEPT {
            *self = Presentation::new();
            return;
        }
        self.tokens.clear();
        self.by_lease.clear();
        self.unresolved.clear();
        self.inline.clear();
        self.nested.clear();
    }

    /// Any token, to name in an error.
    pub fn any(&self) -> Option<i64> {
        self.tokens.keys().min().copied()
    }

    /// Is this token presented for the whole transaction already?
    fn is_presented(&self, token: i64) -> bool {
        self.tokens.get(&token).is_some_and(|entry| entry.presented.is_some())
    }

    /// Presents a token for the transaction, at savepoint level `level`.
    fn present(&mut self, token: i64, level: i32) {
        let entry = self.entry(token);
        entry.presented = Some(entry.presented.map_or(level, |earlier| earlier.min(level)));
        self.note(token, level);
    }

    /// Presents a token for one statement and what it causes.
    pub fn present_inline(&mut self, token: i64, statement: u64, level: i32) {
        let statements = &mut self.entry(token).statements;
        if !statements.iter().any(|(s, _)| *s == statement) {
            statements.push((statement, level));
            self.inline.entry(statement).or_default().push(token);
            self.note(token, level);
        }
    }

    fn note(&mut self, token: i64, level: i32) {
        if level > 1 {
            self.nested.push((level, token));
        }
    }

    fn entry(&mut self, token: i64) -> &mut Entry {
        self.tokens.entry(token).or_insert_with(|| {
            self.unresolved.push(token);
            Entry { owner: Owner::Unresolved, presented: None, statements: SmallVec::new() }
        })
    }

    /// The statement has ended, and its inline tokens with it.
    pub fn statement_ended(&mut self, statement: u64) {
        for token in self.inline.remove(&statement).unwrap_or_default() {
            self.withdraw(token, |entry| entry.statements.retain(|(s, _)| *s != statement));
        }
    }

    /// What a released savepoint presented is its parent's.
    pub fn reparent(&mut self, level: i32) {
        for (at, token) in self.nested.iter_mut().rev().take_while(|(at, _)| *at >= level) {
            *at = level - 1;
            if let Some(entry) = self.tokens.get_mut(token) {
                for l in entry.presented.iter_mut().chain(entry.statements.iter_mut().map(|(_, l)| l)) {
                    *l = (*l).min(level - 1);
                }
            }
        }
        if level <= 2 {
            self.nested.clear();
        }
    }

    /// What a rolled back savepoint presented was never presented.
    pub fn roll_back(&mut self, level: i32) {
        while self.nested.last().is_some_and(|(at, _)| *at >= level) {
            let Some((_, token)) = self.nested.pop() else { break };
            self.withdraw(token, |entry| {
                entry.presented = entry.presented.filter(|l| *l < level);
                entry.statements.retain(|(_, l)| *l < level);
            });
        }
    }

    /// Takes something back of a token, which is gone if nothing of it is left.
    fn withdraw(&mut self, token: i64, take_back: impl FnOnce(&mut Entry)) {
        let Some(entry) = self.tokens.get_mut(&token) else { return };
        take_back(entry);
        if entry.presented.is_some() || !entry.statements.is_empty() {
            return;
        }
        if let Some(Owner::Lease(lease)) = self.tokens.remove(&token).map(|entry| entry.owner)
            && let Some(list) = self.by_lease.get_mut(&lease)
        {
            list.retain(|other| *other != token);
            if list.is_empty() {
                self.by_lease.remove(&lease);
            }
        }
    }

    /// The tokens of this lease among those presented, if all are known; the ones to look up first
    /// otherwise. `latest` is the lease's latest token: it belongs to the lease without a look-up.
    fn of_lease(&mut self, lease: &LeaseId, latest: Option<Token>) -> Result<Own, Vec<i64>> {
        if let Some(latest) = latest.map(Token::to_bigint) {
            self.own(latest, Some(lease.clone()));
        }
        let tokens = &self.tokens;
        self.unresolved.retain(|token| tokens.get(token).is_some_and(|entry| entry.owner == Owner::Unresolved));
        if !self.unresolved.is_empty() {
            return Err(self.unresolved.clone());
        }
        Ok(match self.by_lease.get(lease).map_or(&[][..], SmallVec::as_slice) {
            [] => Own::Nothing,
            [one] => Own::One(*one),
            [a, b, ..] => Own::Several(*a, *b),
        })
    }

    /// Records whose token it is, if that is not known yet.
    fn own(&mut self, token: i64, lease: Option<LeaseId>) {
        let Some(entry) = self.tokens.get_mut(&token).filter(|entry| entry.owner == Owner::Unresolved) else { return };
        entry.owner = match lease {
            Some(lease) => {
                self.by_lease.entry(lease.clone()).or_default().push(token);
                Owner::Lease(lease)
            }
            None => Owner::Nobody,
        };
    }
}

/// What is presented for one lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// Nothing.
    Nothing,
    /// One token.
    One(i64),
    /// Two or more.
    Several(i64, i64),
}

/// What this transaction presents for a lease. Looks up whose tokens those are that nobody has asked
/// about yet, with the transaction's state let go: reading may end in an abort, which needs it.
pub fn of_lease(lease: &LeaseId, latest: Option<Token>) -> Own {
    loop {
        match super::with(|t| t.presentation.of_lease(lease, latest)) {
            Ok(own) => return own,
            Err(unresolved) => {
                for token in unresolved {
                    let owner = lease_of(token);
                    super::with(|t| t.presentation.own(token, owner));
                }
            }
        }
    }
}

/// The lease that a token was issued for.
fn lease_of(token: i64) -> Option<LeaseId> {
    Token::from_bigint(token).and_then(term::read).map(|term| term.lease)
}

/// Presents a token for the transaction. LF013 for a second one of a lease.
pub fn present(token: i64) -> Result<(), Error> {
    if super::with(|t| t.presentation.is_presented(token)) {
        return Ok(());
    }
    // The first one can't contradict any, and needs no look-up.
    if !super::with(|t| t.presentation.is_empty()) {
        // One that was never issued is for the write to reject.
        if let Some(lease) = lease_of(token) {
            let (a, b) = match of_lease(&lease, None) {
                Own::Nothing => (token, token),
                Own::One(a) => (a, a),
                Own::Several(a, b) => (a, b),
            };
            let other = [a, b].into_iter().find(|t| *t != token && super::with(|s| s.presentation.is_presented(*t)));
            if let Some(other) = other {
                return Err(Error::new(Code::InvalidPresentation, "a second fencing token of one lease")
                    .detail(format!("Tokens {other} and {token} were issued for the same lease.")));
            }
        }
    }
    let level = xact::nest_level();
    super::with(|t| t.presentation.present(token, level));
    super::distrust_verdicts();
    Ok(())
}
