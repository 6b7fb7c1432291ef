//! A stale presentation: every lease seems to be written under a term that was superseded. For
//! `prove_guard`, which fires a stale command and rolls it back.

use super::lower;
use fencing_core::{Code, Error};
use pgrx::pg_sys::Oid;

/// How a stale term is presented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// As `present` does: statements see it, and rows.
    Transaction,
    /// As an inline token: row triggers alone see it.
    Rows,
}

/// The savepoint levels at which a stale term was presented, in either form.
pub struct Stale {
    transaction: Option<i32>,
    rows: Option<i32>,
    /// The level from which on it is one of the epoch before.
    older_epoch: Option<i32>,
    /// Tables whose guard has rejected one of the epoch before. What is rolled back has happened.
    rejected_by: Vec<Oid>,
}

impl Stale {
    /// Nothing.
    pub const EMPTY: Stale = Stale { transaction: None, rows: None, older_epoch: None, rejected_by: Vec::new() };

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.transaction = None;
        self.rows = None;
        self.older_epoch = None;
        self.rejected_by.clear();
    }

    /// Presents it, at savepoint level `level`; as one of the epoch before, if it is to be.
    pub fn present(&mut self, form: Form, older_epoch: bool, level: i32) {
        if older_epoch {
            self.older_epoch = Some(self.older_epoch.map_or(level, |earlier| earlier.min(level)));
        }
        let at = match form {
            Form::Transaction => &mut self.transaction,
            Form::Rows => &mut self.rows,
        };
        *at = Some(at.map_or(level, |earlier| earlier.min(level)));
    }

    /// Whether every write is a stale one.
    #[inline]
    pub fn is_presented(&self) -> bool {
        self.transaction.is_some() || self.rows.is_some()
    }

    /// Whether it is one of the epoch before.
    pub fn is_of_older_epoch(&self) -> bool {
        self.older_epoch.is_some()
    }

    /// Notes that a table's guard has rejected one of the epoch before.
    pub fn rejected(&mut self, table: Oid) {
        if !self.rejected_by.contains(&table) {
            self.rejected_by.push(table);
        }
    }

    /// Whether it has.
    pub fn was_rejected_by(&self, table: Oid) -> bool {
        self.rejected_by.contains(&table)
    }

    /// Whether row triggers alone are to see it.
    pub fn is_left_to_rows(&self) -> bool {
        self.rows.is_some() && self.transaction.is_none()
    }

    /// What a released savepoint presented is its parent's.
    pub fn reparent(&mut self, level: i32) {
        lower(self.transaction.as_mut(), level);
        lower(self.rows.as_mut(), level);
        lower(self.older_epoch.as_mut(), level);
    }

    /// What a rolled back savepoint presented was never presented.
    pub fn roll_back(&mut self, level: i32) {
        self.transaction = self.transaction.filter(|l| *l < level);
        self.rows = self.rows.filter(|l| *l < level);
        self.older_epoch = self.older_epoch.filter(|l| *l < level);
    }
}

/// Nothing that was written in its name ever commits.
pub fn require_rolled_back() -> Result<(), Error> {
    if !super::with(|t| t.stale.is_presented()) {
        return Ok(());
    }
    Err(Error::new(Code::StaleTerm, "cannot commit a transaction that presented a stale term")
        .detail("fencing.present_stale() is for proofs, whose writes are rolled back.")
        .hint("Roll the transaction back, or to a savepoint before fencing.present_stale()."))
}
