//! What a guard says to a write: of a lease of this database, or of a coordinator elsewhere.

use super::check::{self, Question, error_of};
use super::observe;
use super::statement::Statement;
use super::trigger::explained;
use crate::pg::relation::Relation;
use crate::remote;
use crate::store::subject::Subject;
use fencing_core::admission::{Rejection, Verdict};
use fencing_core::remote::Verdict as There;
use fencing_core::{Error, Token};
use pgrx::pg_sys;
use std::rc::Rc;

/// A verdict; where the write is rejected, with what it is about.
pub enum Ruling {
    /// The write may pass, under that token.
    Accepted(Token),
    /// The write may pass without one.
    Admitted,
    /// Rejected, for a lease of this database.
    Local(Rejection, Rc<Subject>),
    /// Rejected, for a lease of a coordinator elsewhere.
    Remote(fencing_core::remote::Rejection, remote::Subject),
}

/// Asks about one lease. `question` is that of the statement's guard.
#[unsafe(link_section = ".text_hot")]
pub fn rule(statement: &Statement, question: &Question) -> Result<Ruling, Error> {
    match statement.guard.definition.coordinator.as_deref() {
        None => check::check(question).map(|(verdict, subject)| match verdict {
            Verdict::Accepted(token) => Ruling::Accepted(token),
            Verdict::Admitted => Ruling::Admitted,
            Verdict::Rejected(why) => Ruling::Local(why, subject),
        }),
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
    Ok(match verdict {
        There::Accepted(token) => Ruling::Accepted(token),
        There::Admitted => Ruling::Admitted,
        There::Rejected(why) => Ruling::Remote(why, subject),
    })
}

impl Ruling {
    /// Whether it is only that no token of the lease was presented, so far.
    pub fn is_for_lack_of_a_token(&self) -> bool {
        use fencing_core::remote::Rejection as Elsewhere;
        match self {
            Ruling::Local(why, _) => matches!(
                why,
                Rejection::Missing | Rejection::Unknown(_) | Rejection::Elsewhere(_) | Rejection::Taken(_)
            ),
            Ruling::Remote(why, _) => {
                matches!(why, Elsewhere::Missing | Elsewhere::Unknown(_) | Elsewhere::Taken(_))
            }
            _ => false,
        }
    }

    /// Acts on it: the token that a write was accepted under, `None` where it passes without.
    ///
    /// # Safety
    /// `data` must be that of the trigger call at hand.
    #[inline]
    pub unsafe fn settle(self, data: *mut pg_sys::TriggerData, statement: &Statement) -> Result<Option<Token>, Error> {
        match self {
            Ruling::Accepted(token) => {
                // It holds nothing that would have to be dropped.
                std::mem::forget(self);
                Ok((!statement.guard.definition.observe).then_some(token))
            }
            // SAFETY: the caller's promise.
            _ => unsafe { self.settle_otherwise(data, statement) },
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn settle_otherwise(
        self,
        data: *mut pg_sys::TriggerData,
        statement: &Statement,
    ) -> Result<Option<Token>, Error> {
        // SAFETY: the call's relation is open.
        let table = unsafe { Relation::new((*data).tg_relation) };
        let (error, lease) = match self {
            Ruling::Accepted(_) | Ruling::Admitted => return Ok(None),
            Ruling::Local(why, subject) => {
                let error = error_of(why, &subject, Some(&table.display_name()));
                (explained(why, error, statement), Some(subject.lease.clone()))
            }
            Ruling::Remote(why, subject) => (subject.error(why, Some(&table.display_name())), None),
        };
        if statement.guard.definition.observe {
            observe::violation(&error, lease.as_ref());
            return Ok(None);
        }
        Err(error)
    }
}
