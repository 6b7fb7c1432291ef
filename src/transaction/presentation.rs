//! Tokens presented: for the transaction by `present`, or for one statement by its inline column.

use crate::store::{LeaseId, term};
use fencing_core::{Code, Error, Token};
use std::collections::HashMap;

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
    statements: Vec<(u64, i32)>,
}

/// Everything presented now.
#[derive(Default)]
pub struct Presentation {
    tokens: HashMap<i64, Entry>,
    by_lease: HashMap<LeaseId, Vec<i64>>,
    unresolved: Vec<i64>,
}

impl Presentation {
    /// Nothing at all?
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Any token, to name in an error.
    pub fn any(&self) -> Option<i64> {
        self.tokens.keys().min().copied()
    }

    /// Is this token presented for the whole transaction already?
    pub fn is_presented(&self, token: i64) -> bool {
        self.tokens.get(&token).is_some_and(|entry| entry.presented.is_some())
    }

    /// Presents a token for the transaction, at savepoint level `level`.
    pub fn present(&mut self, token: i64, level: i32) {
        let entry = self.entry(token);
        entry.presented = Some(entry.presented.map_or(level, |earlier| earlier.min(level)));
    }

    /// Presents a token for one statement and what it causes.
    pub fn present_inline(&mut self, token: i64, statement: u64, level: i32) {
        let statements = &mut self.entry(token).statements;
        if !statements.iter().any(|(s, _)| *s == statement) {
            statements.push((statement, level));
        }
    }

    fn entry(&mut self, token: i64) -> &mut Entry {
        self.tokens.entry(token).or_insert_with(|| {
            self.unresolved.push(token);
            Entry { owner: Owner::Unresolved, presented: None, statements: Vec::new() }
        })
    }

    /// The statement has ended, and its inline tokens with it.
    pub fn statement_ended(&mut self, statement: u64) {
        for entry in self.tokens.values_mut() {
            entry.statements.retain(|(s, _)| *s != statement);
        }
        self.drop_unpresented();
    }

    /// What a released savepoint presented is its parent's.
    pub fn reparent(&mut self, level: i32) {
        for entry in self.tokens.values_mut() {
            for l in entry.presented.iter_mut().chain(entry.statements.iter_mut().map(|(_, l)| l)) {
                *l = (*l).min(level - 1);
            }
        }
    }

    /// What a rolled back savepoint presented was never presented.
    pub fn roll_back(&mut self, level: i32) {
        for entry in self.tokens.values_mut() {
            entry.presented = entry.presented.filter(|l| *l < level);
            entry.statements.retain(|(_, l)| *l < level);
        }
        self.drop_unpresented();
    }

    fn drop_unpresented(&mut self) {
        let before = self.tokens.len();
        self.tokens.retain(|_, entry| entry.presented.is_some() || !entry.statements.is_empty());
        if self.tokens.len() == before {
            return;
        }
        let tokens = &self.tokens;
        self.unresolved.retain(|token| tokens.contains_key(token));
        self.by_lease.retain(|_, list| {
            list.retain(|token| tokens.contains_key(token));
            !list.is_empty()
        });
    }

    /// The tokens of this lease among those presented. `fence` is the lease's highest accepted one:
    /// it belongs to the lease without a look-up.
    pub fn of_lease(&mut self, lease: &LeaseId, fence: Option<Token>) -> Vec<i64> {
        if let Some(fence) = fence.map(Token::to_bigint)
            && let Some(entry) = self.tokens.get_mut(&fence)
            && entry.owner == Owner::Unresolved
        {
            entry.owner = Owner::Lease(lease.clone());
            self.unresolved.retain(|token| *token != fence);
            self.by_lease.entry(lease.clone()).or_default().push(fence);
        }
        self.resolve();
        self.by_lease.get(lease).cloned().unwrap_or_default()
    }

    /// Looks up whose tokens those are that nobody has asked about yet.
    fn resolve(&mut self) {
        for token in std::mem::take(&mut self.unresolved) {
            let lease = Token::from_bigint(token).and_then(term::read).map(|term| term.lease);
            let Some(entry) = self.tokens.get_mut(&token) else { continue };
            entry.owner = match lease {
                Some(lease) => {
                    self.by_lease.entry(lease.clone()).or_default().push(token);
                    Owner::Lease(lease)
                }
                None => Owner::Nobody,
            };
        }
    }

    /// Refuses (LF013) a second token of a lease for which `present` named one already.
    pub fn check_single(&mut self, token: i64) -> Result<(), Error> {
        if self.tokens.is_empty() {
            return Ok(());
        }
        let Some(lease) = Token::from_bigint(token).and_then(term::read).map(|term| term.lease) else {
            return Ok(()); // never issued: the write will say so
        };
        let others = self.of_lease(&lease, None);
        match others.into_iter().find(|other| *other != token && self.is_presented(*other)) {
            None => Ok(()),
            Some(other) => Err(Error::new(Code::InvalidPresentation, "a second fencing token of one lease")
                .detail(format!("Tokens {other} and {token} were issued for the same lease."))),
        }
    }
}
