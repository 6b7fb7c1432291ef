//! Tokens presented: for the transaction by `present`, or for one statement by its inline column.
//!
//! A token counts for the lease that it was issued for. One that was presented for a certain lease
//! counts for that one alone: for none, if it was issued for another.

use super::log::Log;
use super::lower;
use super::takers::{HERE, Takers};
use crate::pg::{mutant, xact};
use crate::store::{LeaseId, LeaseMap, NumberMap, namespace, new_map, term};
use fencing_core::admission::Presented;
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
    /// The savepoint level at which it was presented for the lease that it was issued for.
    presented: Option<i32>,
    /// The leases that it was presented for by name, with their savepoint level.
    named: Vec<(LeaseId, i32)>,
    /// The statements that assigned it inline, with their savepoint level.
    statements: SmallVec<[(u64, i32); 1]>,
}

impl Entry {
    fn is_unpresented(&self) -> bool {
        self.presented.is_none() && self.named.is_empty() && self.statements.is_empty()
    }

    /// Whether it counts for `lease`, if it was issued for that.
    fn counts_for(&self, lease: &LeaseId) -> bool {
        self.presented.is_some() || !self.statements.is_empty() || self.named.iter().any(|(named, _)| named == lease)
    }

    fn levels(&mut self) -> impl Iterator<Item = &mut i32> {
        let named = self.named.iter_mut().map(|(_, level)| level);
        self.presented.iter_mut().chain(named).chain(self.statements.iter_mut().map(|(_, level)| level))
    }
}

/// A token that one statement assigned inline.
#[derive(Clone, Copy)]
struct Inline {
    token: i64,
    statement: u64,
    level: i32,
}

/// Everything presented now.
pub struct Presentation {
    /// The usual case, kept out of all the rest: one inline token, and nothing else.
    only: Option<Inline>,
    tokens: NumberMap<i64, Entry>,
    /// The tokens of each lease, as they were issued.
    by_lease: LeaseMap<SmallVec<[i64; 2]>>,
    /// The token that was presented for each lease that was named.
    by_name: LeaseMap<i64>,
    /// Who has taken it.
    takers: Takers,
    /// Names of namespaces that don't exist here: the first is numbered -1, the next -2.
    unknown: Vec<String>,
    /// Tokens not looked up yet; some may have been since, or are presented no more.
    unresolved: Vec<i64>,
    /// What each running statement assigned inline.
    inline: NumberMap<u64, SmallVec<[i64; 1]>>,
    /// What open savepoints presented.
    nested: Log<i64>,
}

impl Presentation {
    /// Nothing.
    pub const EMPTY: Presentation = Presentation {
        only: None,
        tokens: new_map(),
        by_lease: new_map(),
        by_name: new_map(),
        takers: Takers::EMPTY,
        unknown: Vec::new(),
        unresolved: Vec::new(),
        inline: new_map(),
        nested: Log::EMPTY,
    };

    /// Nothing at all?
    pub fn is_empty(&self) -> bool {
        self.only.is_none() && self.tokens.is_empty()
    }

    /// Forgets everything, and keeps a little memory for the next transaction.
    pub fn clear(&mut self) {
        self.only = None;
        // Otherwise nothing else was ever presented.
        if self.tokens.capacity() != 0 {
            self.forget();
        }
    }

    #[inline(never)]
    fn forget(&mut self) {
        if self.tokens.capacity() > super::KEPT {
            *self = Presentation::EMPTY;
            return;
        }
        self.tokens.clear();
        self.by_lease.clear();
        self.by_name.clear();
        self.takers.clear();
        self.unknown.clear();
        self.unresolved.clear();
        self.inline.clear();
        self.nested.clear();
    }

    /// What is presented where no token counts for this lease: the one that names it, one of its own
    /// that names another, or any.
    pub fn none_of(&mut self, lease: &LeaseId) -> Presented {
        self.spread();
        let named = self.by_name.get(lease).copied();
        let own = || self.by_lease.get(lease).and_then(|own| Token::from_bigint(*own.first()?));
        let any = || self.tokens.keys().min().copied().map(Presented::Foreign);
        let named = named.map(Presented::Foreign).or_else(|| own().map(Presented::Elsewhere));
        named.or_else(any).unwrap_or(Presented::Nothing)
    }

    /// Any token that is presented.
    pub fn any(&self) -> Option<i64> {
        self.only.map(|only| only.token).or_else(|| self.tokens.keys().min().copied())
    }

    /// Every token presented, in whatever way.
    pub fn all(&self) -> Vec<i64> {
        self.tokens.keys().copied().chain(self.only.map(|only| only.token)).collect()
    }

    /// Is this token presented for the whole transaction already?
    fn is_presented(&self, token: i64) -> bool {
        self.tokens.get(&token).is_some_and(|entry| entry.presented.is_some())
    }

    /// Presents a token for the transaction, at savepoint level `level`.
    fn present(&mut self, token: i64, level: i32) {
        self.spread();
        self.entry(token).presented.get_or_insert(level);
        self.note(token, level);
    }

    /// Presents a token for one lease. LF013 where another was.
    fn present_for(&mut self, token: i64, lease: LeaseId, level: i32) -> Result<(), Error> {
        self.spread();
        if let Some(other) = self.other_for(&lease, token) {
            return Err(second(other, token));
        }
        let named = &mut self.entry(token).named;
        if !named.iter().any(|(other, _)| *other == lease) {
            named.push((lease.clone(), level));
            self.by_name.insert(lease, token);
            self.note(token, level);
        }
        Ok(())
    }

    /// Whether a token counts for its lease by that lease's name alone.
    fn counts_by_name(&self, lease: &LeaseId, token: i64) -> bool {
        let entry = || self.tokens.get(&token);
        self.by_name.get(lease) == Some(&token)
            && entry().is_some_and(|entry| entry.presented.is_none() && entry.statements.is_empty())
    }

    /// Another token than this that the transaction presents for `lease`, as far as tokens were looked
    /// up.
    fn other_for(&self, lease: &LeaseId, token: i64) -> Option<i64> {
        let issued = self.by_lease.get(lease).map_or(&[][..], SmallVec::as_slice);
        let mut presented = issued.iter().filter(|other| self.is_presented(**other)).chain(self.by_name.get(lease));
        presented.find(|other| **other != token).copied()
    }

    /// The number of a namespace that doesn't exist here.
    fn unknown(&mut self, name: &str) -> i32 {
        let known = self.unknown.iter().position(|other| other == name);
        let at = known.unwrap_or_else(|| {
            self.unknown.push(name.to_owned());
            self.unknown.len() - 1
        });
        -1 - at as i32
    }

    /// The same, if anything was presented for it.
    fn number_of(&self, name: &str) -> Option<i32> {
        self.unknown.iter().position(|other| other == name).map(|at| -1 - at as i32)
    }

    /// Presents a token for one statement and what it causes.
    pub fn present_inline(&mut self, token: i64, statement: u64, level: i32) {
        match self.only {
            None if self.tokens.is_empty() => self.only = Some(Inline { token, statement, level }),
            Some(only) if only.token == token && only.statement == statement => {}
            _ => self.add_to_others(Inline { token, statement, level }),
        }
    }

    #[inline(never)]
    fn add_to_others(&mut self, inline: Inline) {
        self.spread();
        self.add_inline(inline);
    }

    /// Moves the only token to where several have their place.
    fn spread(&mut self) {
        if let Some(only) = self.only.take() {
            self.add_inline(only);
        }
    }

    fn add_inline(&mut self, Inline { token, statement, level }: Inline) {
        let statements = &mut self.entry(token).statements;
        if !statements.iter().any(|(s, _)| *s == statement) {
            statements.push((statement, level));
            self.inline.entry(statement).or_default().push(token);
            self.note(token, level);
        }
    }

    fn note(&mut self, token: i64, level: i32) {
        self.nested.note(level, || token);
    }

    fn entry(&mut self, token: i64) -> &mut Entry {
        self.tokens.entry(token).or_insert_with(|| {
            self.unresolved.push(token);
            Entry { owner: Owner::Unresolved, presented: None, named: Vec::new(), statements: SmallVec::new() }
        })
    }

    /// The statement has ended, and its inline tokens with it.
    pub fn statement_ended(&mut self, statement: u64) {
        self.only.take_if(|only| only.statement == statement);
        if !self.inline.is_empty() {
            self.withdraw_inline(statement);
        }
    }

    #[inline(never)]
    fn withdraw_inline(&mut self, statement: u64) {
        for token in self.inline.remove(&statement).unwrap_or_default() {
            self.withdraw(token, |entry| entry.statements.retain(|(s, _)| *s != statement));
        }
    }

    /// What a released savepoint presented is its parent's.
    pub fn reparent(&mut self, level: i32) {
        lower(self.only.as_mut().map(|only| &mut only.level), level);
        self.takers.reparent(level);
        self.nested.reparent(level, |token| {
            for l in self.tokens.get_mut(token).into_iter().flat_map(Entry::levels) {
                *l = (*l).min(level - 1);
            }
        });
    }

    /// What a rolled back savepoint presented was never presented.
    pub fn roll_back(&mut self, level: i32) {
        self.only.take_if(|only| only.level >= level);
        self.takers.roll_back(level);
        while let Some(token) = self.nested.undo(level) {
            let Some(entry) = self.tokens.get_mut(&token) else { continue };
            for (lease, _) in entry.named.extract_if(.., |(_, l)| *l >= level) {
                self.by_name.remove(&lease);
            }
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
        if !entry.is_unpresented() {
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

    /// The tokens of this lease among those presented; `None` where some must be looked up first.
    /// `latest` is the lease's latest token: it belongs to the lease without a look-up.
    fn of_lease(&mut self, lease: &LeaseId, latest: Option<Token>) -> Option<Own> {
        let latest = latest.map(Token::to_bigint);
        match (self.only, latest) {
            (Some(only), Some(latest)) if only.token == latest => Some(Own::One(latest)),
            _ => self.of_lease_among_several(lease, latest),
        }
    }

    #[inline(never)]
    fn of_lease_among_several(&mut self, lease: &LeaseId, latest: Option<i64>) -> Option<Own> {
        self.spread();
        if let Some(latest) = latest {
            self.own(latest, Some(lease.clone()));
        }
        if !self.unresolved().is_empty() {
            return None;
        }
        let issued = self.by_lease.get(lease).map_or(&[][..], SmallVec::as_slice);
        if self.by_name.is_empty() {
            return Some(Own::of(issued.iter()));
        }
        let counts = |token: &&i64| self.tokens.get(token).is_some_and(|entry| entry.counts_for(lease));
        let own = Own::of(issued.iter().filter(counts));
        // One that was presented for this lease and issued for another is no token of it, but a
        // contradiction to one that is, unless it is a coordinator's elsewhere.
        Some(match (own, self.by_name.get(lease).filter(|_| !self.takers.is_taken(lease, HERE))) {
            (Own::One(a), Some(b)) if a != *b => Own::Several(a, *b),
            _ => own,
        })
    }

    /// The tokens that nobody has looked up yet.
    fn unresolved(&mut self) -> &[i64] {
        let tokens = &self.tokens;
        self.unresolved.retain(|token| tokens.get(token).is_some_and(|entry| entry.owner == Owner::Unresolved));
        &self.unresolved
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

impl Own {
    fn of<'a>(mut tokens: impl Iterator<Item = &'a i64>) -> Own {
        match (tokens.next(), tokens.next()) {
            (None, _) => Own::Nothing,
            (Some(one), None) => Own::One(*one),
            (Some(a), Some(b)) => Own::Several(*a, *b),
        }
    }
}

/// What this transaction presents for a lease.
#[unsafe(link_section = ".text_hot")]
pub fn of_lease(lease: &LeaseId, latest: Option<Token>) -> Own {
    loop {
        match super::with(|t| t.presentation.of_lease(lease, latest)) {
            Some(own) => return own,
            None => resolve(),
        }
    }
}

/// Looks up whose tokens those are that nobody has asked about yet, with the transaction's state let
/// go: reading may end in an abort, which needs it.
fn resolve() {
    let tokens = super::with(|t| t.presentation.unresolved().to_vec());
    let leases = term::leases_of(&tokens);
    super::with(|t| {
        for (token, lease) in tokens.into_iter().zip(leases) {
            t.presentation.own(token, lease);
        }
    });
}

/// Presents tokens for the transaction, each for the lease that it was issued for: all of them, or
/// none and LF013 where two are of one lease. One that was never issued is for the write to reject.
pub fn present(tokens: &[i64]) -> Result<(), Error> {
    let mut new: Vec<_> =
        super::with(|t| tokens.iter().copied().filter(|token| !t.presentation.is_presented(*token)).collect());
    new.sort_unstable();
    new.dedup();
    if new.is_empty() {
        return Ok(());
    }
    // The first one can't contradict any, and needs no look-up.
    let mut leases = Vec::new();
    if new.len() > 1 || !super::with(|t| t.presentation.is_empty()) {
        resolve();
        leases = term::leases_of(&new);
        require_one_each(&new, &leases)?;
    }
    let level = xact::nest_level();
    super::with(|t| {
        for token in &new {
            t.presentation.present(*token, level);
        }
        // What isn't known yet is for the write to ask about.
        for (token, lease) in new.into_iter().zip(leases).filter(|(_, lease)| lease.is_some()) {
            t.presentation.own(token, lease);
        }
    });
    super::distrust_verdicts();
    Ok(())
}

/// LF013 where one of these tokens is of the same lease as another of them, or as one that was
/// presented before.
fn require_one_each(tokens: &[i64], leases: &[Option<LeaseId>]) -> Result<(), Error> {
    let mut seen = new_map::<&LeaseId, i64>();
    super::with(|t| {
        for (token, lease) in tokens.iter().zip(leases).filter_map(|(token, lease)| Some((*token, lease.as_ref()?))) {
            if let Some(other) = t.presentation.other_for(lease, token).or_else(|| seen.insert(lease, token)) {
                return Err(second(other, token));
            }
        }
        Ok(())
    })
}

/// Presents a token for one lease, whether or not it was issued for that, or the namespace exists
/// here: the write will tell. LF013 for a second token of that lease.
pub fn present_for(namespace: &str, key: &[u8], token: i64) -> Result<(), Error> {
    let known = namespace::by_name(namespace).map(|namespace| namespace.id);
    if !super::with(|t| t.presentation.is_empty()) {
        resolve();
    }
    let level = xact::nest_level();
    super::with(|t| {
        let lease = LeaseId::new(known.unwrap_or_else(|| t.presentation.unknown(namespace)), key);
        t.presentation.present_for(token, lease, level)
    })?;
    super::distrust_verdicts();
    Ok(())
}

/// A token that was presented for a lease by its name, whoever grants it.
pub struct Named {
    lease: LeaseId,
    /// The token.
    pub token: i64,
    /// Whether another has taken it.
    pub is_taken: bool,
}

/// The token that was presented for a lease by its name, as `coordinator` sees it.
pub fn named(namespace: &str, key: &[u8], coordinator: &str) -> Option<Named> {
    if super::with(|t| t.presentation.is_empty()) {
        return None;
    }
    let known = namespace::by_name(namespace).map(|namespace| namespace.id);
    super::with(|t| {
        let numbers = known.into_iter().chain(t.presentation.number_of(namespace));
        numbers.map(|number| LeaseId::new(number, key)).find_map(|lease| {
            let token = *t.presentation.by_name.get(&lease)?;
            let is_taken = t.presentation.takers.is_taken(&lease, coordinator) && !mutant::without("remote_taken");
            Some(Named { lease, token, is_taken })
        })
    })
}

/// A write under what was presented by name was accepted: it is this coordinator's from now on.
pub fn take(named: &Named, coordinator: &str) {
    let level = xact::nest_level();
    super::with(|t| t.presentation.takers.take(&named.lease, coordinator, level));
}

/// The same for a lease of this database, where its token is presented in no other way. Whether another has
/// taken it; where nothing is to be held, that is all.
pub fn take_here(lease: &LeaseId, token: i64, hold: bool) -> bool {
    super::with(|t| !t.presentation.by_name.is_empty()) && take_by_name(lease, token, hold)
}

#[inline(never)]
fn take_by_name(lease: &LeaseId, token: i64, hold: bool) -> bool {
    let level = xact::nest_level();
    super::with(|t| {
        if !t.presentation.counts_by_name(lease, token) {
            return false;
        }
        if hold {
            t.presentation.takers.take(lease, HERE, level);
        }
        t.presentation.takers.is_taken(lease, HERE)
    })
}

fn second(other: i64, token: i64) -> Error {
    Error::new(Code::InvalidPresentation, "a second fencing token of one lease")
        .detail(format!("Tokens {other} and {token} are presented for the same lease."))
}
