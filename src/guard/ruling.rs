//! What a guard says to a write: of a lease of this database, or of a coordinator elsewhere.

use super::check::{self, Question, Subject, error_of};
use super::observe;
use super::statement::Statement;
use super::trigger::explained;
use crate::pg::relation::Relation;
use crate::remote;
use fencing_core::admission::{Rejection, Verdict};
use fencing_core::{Error, Token};
use pgrx::pg_sys;

/// A verdict, with what it is about.
pub enum Ruling {
    /// Of a lease of this database.
    Local(Verdict, Subject),
    /// Of a lease of a coordinator elsewhere.
    Remote(fencing_core::remote::Verdict, remote::Subject),
}

/// Asks about one lease. `question` is that of the statement's guard.
#[unsafe(link_section = ".text_hot")]
pub fn rule(statement: &Statement, question: &Question) -> Result<Ruling, Error> {
    match statement.guard.definition.coordinator.as_deref() {
        None => check::check(question).map(|(verdict, subject)| Ruling::Local(verdict, subject)),
        Some(coordinator) => rule_elsewhere(statement, question, coordinator),
    }
}

#[inline(never)]
fn rule_elsewhere(statement: &Statement, question: &Question, coordinator: &str) -> Result<Ruling, Error> {
    let (verdict, subject) = remote::check(&remote::Question {
        coordinator,
        namespace: &question.guard.definition.namespace,
        key: question.key,
        inline: question.inline.map(|token| (statement.id, token)),
        on_missing: question.on_missing,
        strictness: question.strictness,
    })?;
    Ok(Ruling::Remote(verdict, subject))
}

impl Ruling {
    /// Whether it is only that no token of the lease was presented, so far.
    pub fn is_for_lack_of_a_token(&self) -> bool {
        use fencing_core::remote as there;
        match self {
            Ruling::Local(Verdict::Rejected(why), _) => {
                matches!(
                    why,
                    Rejection::Missing | Rejection::Unknown(_) | Rejection::Elsewhere(_) | Rejection::Taken(_)
                )
            }
            Ruling::Remote(there::Verdict::Rejected(why), _) => {
                matches!(why, there::Rejection::Missing | there::Rejection::Unknown(_) | there::Rejection::Taken(_))
            }
            _ => false,
        }
    }

    /// Acts on it: the token that a write was accepted under, `None` where it passes without.
    ///
    /// # Safety
    /// `data` must be that of the trigger call at hand.
    #[unsafe(link_section = ".text_hot")]
    pub unsafe fn settle(self, data: *mut pg_sys::TriggerData, statement: &Statement) -> Result<Option<Token>, Error> {
        use fencing_core::remote::Verdict as There;
        match self {
            Ruling::Local(Verdict::Accepted(token), _) | Ruling::Remote(There::Accepted(token), _) => {
                Ok((!statement.guard.definition.observe).then_some(token))
            }
            Ruling::Local(Verdict::Admitted, _) | Ruling::Remote(There::Admitted, _) => Ok(None),
            Ruling::Local(Verdict::Rejected(_), _) | Ruling::Remote(There::Rejected(_), _) => {
                // SAFETY: the caller's promise.
                unsafe { self.reject(data, statement) }
            }
        }
    }

    #[cold]
    unsafe fn reject(self, data: *mut pg_sys::TriggerData, statement: &Statement) -> Result<Option<Token>, Error> {
        use fencing_core::remote::Verdict as There;
        // SAFETY: the call's relation is open.
        let table = unsafe { Relation::new((*data).tg_relation) }.display_name();
        let (error, lease) = match self {
            Ruling::Local(Verdict::Rejected(why), subject) => {
                (explained(why, error_of(why, &subject, Some(&table)), statement), Some(subject.lease))
            }
            Ruling::Remote(There::Rejected(why), subject) => (subject.error(why, Some(&table)), None),
            Ruling::Local(..) | Ruling::Remote(..) => return Ok(None),
        };
        if statement.guard.definition.observe {
            observe::violation(&error, lease.as_ref());
            return Ok(None);
        }
        Err(error)
    }
}
