//! The check of a write: lock, read, decide. Every rule is in `core`; the order here is what makes
//! the verdict hold until commit (G1, G4): gate, fence, and only then any read.

use crate::pg::lock;
use crate::pg::snapshot::{self, Latest};
use crate::pg::{clock, role, xact};
use crate::store::fence::{self, Fence};
use crate::store::namespace::{self, Namespace};
use crate::store::{LeaseId, epoch, lease, term};
use crate::transaction::{self, fences};
use fencing_core::admission::{Case, Claim, MissingRule, Presented, Rejection, Verdict, admit};
use fencing_core::epoch::Coordinator;
use fencing_core::{Error, Token};
use std::rc::Rc;

/// How strictly to check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strictness {
    /// Lock the fence, so that the verdict holds until commit.
    Enforce,
    /// Say what would happen, holding no lock.
    Observe,
}

/// What is to be checked.
pub struct Question<'a> {
    /// Name of the namespace.
    pub namespace: &'a str,
    /// The lease's key.
    pub key: &'a [u8],
    /// The token that the row itself presents.
    pub inline: Option<i64>,
    /// The guard's rule for a missing token.
    pub on_missing: MissingRule,
    /// How strictly.
    pub strictness: Strictness,
}

/// A lease with its namespace.
pub struct Subject {
    /// Its namespace.
    pub namespace: Rc<Namespace>,
    /// Its identity.
    pub lease: LeaseId,
}

impl Subject {
    /// Finds the namespace, or 42704.
    pub fn new(namespace: &str, key: &[u8]) -> Result<Subject, Error> {
        let namespace = namespace::require(namespace)?;
        fencing_core::name::check_key(key)?;
        Ok(Subject { lease: LeaseId { namespace: namespace.id, key: key.to_vec() }, namespace })
    }

    /// `namespace/key`
    pub fn describe(&self) -> String {
        self.lease.describe(&self.namespace.name)
    }
}

/// Decides whether a write may pass. An accepted one holds the fence from now on.
pub fn check(question: &Question) -> Result<(Verdict, Subject), Error> {
    let enforce = question.strictness == Strictness::Enforce;
    if enforce {
        lock::enter_gate();
    }
    // Namespaces and epochs change behind the gate, or tell every backend before they let go.
    let coordinator = epoch::coordinator().unwrap_or(Coordinator::Closed);
    let subject = Subject::new(question.namespace, question.key)?;
    let nothing = transaction::with(|t| t.presentation.is_empty());
    let malformed = question.inline.filter(|value| *value <= 0);

    let (presented, fence) = if let Some(value) = malformed {
        (Presented::Malformed(value), None)
    } else if nothing || !matches!(coordinator, Coordinator::Open(_)) {
        (Presented::Nothing, None)
    } else {
        if enforce {
            if let Some(token) = trusted(&subject.lease, question.inline) {
                return Ok((Verdict::Accepted(token), subject));
            }
            fences::lock_shared(&subject.lease);
        }
        let fence = match question.strictness {
            Strictness::Enforce => fence::read_locked(&subject.lease),
            Strictness::Observe => fence::read_latest(&subject.lease, &Latest::take()),
        };
        (presented(&subject.lease, question.inline, fence.as_ref()), fence)
    };
    let verdict = admit(&Case {
        coordinator,
        presented,
        fence: fence.map(|f| f.token),
        on_missing: question.on_missing,
        on_expiry: subject.namespace.policy.on_expiry,
        now: clock::now(),
    });
    if enforce && let Verdict::Accepted(token) = verdict {
        transaction::with(|t| t.fences.accept(&subject.lease, token, subject.namespace.clone()));
    }
    Ok((verdict, subject))
}

/// The term accepted before, if it is what is presented for this lease now.
fn trusted(lease: &LeaseId, inline: Option<i64>) -> Option<Token> {
    transaction::with(|t| {
        let token = t.fences.trusted(lease)?;
        let own = t.presentation.of_lease(lease, Some(token));
        let same = own == [token.to_bigint()] && inline.is_none_or(|value| value == token.to_bigint());
        same.then_some(token)
    })
}

/// What the transaction presents, seen from this lease.
fn presented(lease: &LeaseId, inline: Option<i64>, fence: Option<&Fence>) -> Presented {
    let (own, any) =
        transaction::with(|t| (t.presentation.of_lease(lease, fence.map(|f| f.token)), t.presentation.any()));
    let mut tokens = own.iter().copied().filter_map(Token::from_bigint);
    match (tokens.next(), tokens.next()) {
        (Some(a), Some(b)) => Presented::Contradiction(a.min(b), a.max(b)),
        // An inline token speaks for its own row.
        _ if inline.is_some_and(|value| !own.contains(&value)) => Presented::Foreign(inline.unwrap_or_default()),
        (Some(token), None) => Presented::Own(claim(lease, token, fence)),
        (None, _) => any.map_or(Presented::Nothing, Presented::Foreign),
    }
}

/// What is known of the term that `token` names. The common case, the token being the fence's,
/// needs the lease's heartbeat row alone.
fn claim(lease: &LeaseId, token: Token, fence: Option<&Fence>) -> Claim {
    let takeover_visible = fence.is_none_or(|f| takeover_visible(lease, f));
    let user = role::outer_user();
    let current = fence.filter(|f| f.token == token).and_then(|_| lease::read(lease));
    if let Some(row) = current.filter(|row| row.record.token == token) {
        return Claim {
            token,
            role_permitted: role::is_member(user, row.role),
            ended: row.record.ended,
            expires_at: row.record.expires_at,
            takeover_visible,
        };
    }
    match term::read(token) {
        Some(term) => Claim {
            token,
            role_permitted: role::is_member(user, term.role),
            // The lease's row is gone or is another term's: it has ended, recorded or not.
            ended: term.record.ended.or(Some(fencing_core::lease::EndReason::Deleted)),
            expires_at: term.expires_at,
            takeover_visible,
        },
        None => Claim { token, role_permitted: false, ended: None, expires_at: 0, takeover_visible },
    }
}

/// Whether what this statement reads includes everything that the previous holder wrote. The
/// takeover waited for those writes, so seeing the takeover is seeing them.
fn takeover_visible(lease: &LeaseId, fence: &Fence) -> bool {
    if xact::full_xid_if_any() != Some(fence.advanced_by) {
        return snapshot::statement_sees(fence.advanced_by, None);
    }
    // Acquired by this transaction: a later statement sees it, unless all statements share one
    // snapshot from before.
    let command = transaction::with(|t| t.fences.acquired_by(lease));
    !xact::uses_one_snapshot() && command.is_some_and(|c| snapshot::statement_sees(fence.advanced_by, Some(c)))
}

/// `assert_current`: the guard without a trigger.
pub fn assert_current(value: i64) -> Result<(), Error> {
    let reject = |why: Rejection, lease: &str| Err(why.error(lease, None));
    if value <= 0 {
        return reject(Rejection::Malformed(value), "?");
    }
    let term = Token::from_bigint(value).and_then(term::read);
    let namespace = term.as_ref().and_then(|term| namespace::by_id(term.lease.namespace));
    let (Some(term), Some(namespace)) = (term, namespace) else {
        return reject(Rejection::Unknown(value), "?");
    };
    lock::enter_gate();
    fences::lock_shared(&term.lease);
    let fence = fence::read_locked(&term.lease);
    let verdict = admit(&Case {
        coordinator: epoch::coordinator().unwrap_or(Coordinator::Closed),
        presented: Presented::Own(claim(&term.lease, term.record.token, fence.as_ref())),
        fence: fence.map(|f| f.token),
        on_missing: MissingRule::Reject,
        on_expiry: namespace.policy.on_expiry,
        now: clock::now(),
    });
    match verdict {
        Verdict::Accepted(token) => {
            transaction::with(|t| t.fences.accept(&term.lease, token, namespace));
            Ok(())
        }
        Verdict::Rejected(why) => reject(why, &term.lease.describe(&namespace.name)),
        Verdict::Admitted => Ok(()),
    }
}
