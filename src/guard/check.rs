//! The check of a write: lock, read, decide. Every rule is in `core`; the order here is what makes
//! the verdict hold until commit (G1, G4): gate, fence, and only then any read.

use super::resolve::Guard;
use crate::epoch::{history, lineage};
use crate::pg::table::Access;
use crate::pg::{clock, extension, mutant, role, snapshot, xact};
use crate::store::fence;
use crate::store::lease::{self, Heartbeat};
use crate::store::namespace;
use crate::store::subject::Subject;
use crate::store::{LeaseId, epoch, installation, term};
use crate::transaction::presentation::{self, Own};
use crate::transaction::{self, fences};
use fencing_core::admission::{Case, Claim, MissingRule, Presented, Rejection, Verdict, admit};
use fencing_core::epoch::{Blocked, Coordinator};
use fencing_core::lease::{EndReason, ExpiryRule};
use fencing_core::time::Instant;
use fencing_core::{Error, Token};
use pgrx::pg_sys::Oid;
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
    /// The guard that asks.
    pub guard: &'a Guard,
    /// The table that is written.
    pub table: Oid,
    /// The lease's key.
    pub key: &'a [u8],
    /// The token that the row itself presents.
    pub inline: Option<i64>,
    /// The rule for a missing token.
    pub on_missing: MissingRule,
    /// How strictly.
    pub strictness: Strictness,
}

/// The lease that a guard is asked about, or 42704. Mostly it is the one that it was asked about last.
fn subject(guard: &Guard, key: &[u8]) -> Result<Rc<Subject>, Error> {
    let version = extension::configuration_version();
    if let Some((v, last)) = &*guard.last_subject.borrow()
        && *v == version
        && *last.lease.key == *key
    {
        return Ok(last.clone());
    }
    found(guard, key, version)
}

#[inline(never)]
fn found(guard: &Guard, key: &[u8], version: u64) -> Result<Rc<Subject>, Error> {
    let namespace = namespace::require(&guard.definition.namespace)?;
    fencing_core::name::check_key(key)?;
    let lease = LeaseId::new(namespace.id, key);
    let subject = Subject::new(namespace, lease);
    // Whatever has changed since `version` was read makes this entry one of the past.
    guard.last_subject.replace(Some((version, subject.clone())));
    Ok(subject)
}

/// Decides whether a write may pass. An accepted one holds the fence from now on.
#[unsafe(link_section = ".text_hot")]
pub fn check(question: &Question) -> Result<(Verdict, Rc<Subject>), Error> {
    let enforce = question.strictness == Strictness::Enforce;
    if !(enforce && fences::enter_gate()) {
        extension::catch_up();
    }
    // Namespaces and epochs change behind the gate, or tell every backend before they let go.
    let (mut coordinator, any_blocked) = epoch::admission();
    let subject = subject(question.guard, question.key)?;
    let (nothing, stale, older_epoch) =
        transaction::with(|t| (t.presents_nothing(), t.stale.is_presented(), t.stale.is_of_older_epoch()));
    // A proof that the older epoch is rejected comes before the table is unblocked.
    let blocked = if any_blocked && !older_epoch { blocked(question.table) } else { None };
    let malformed = question.inline.filter(|value| *value <= 0 && !stale);
    let lenient = mutant::without("expiry");
    let on_expiry = if lenient { ExpiryRule::AcceptUntilSuperseded } else { subject.on_expiry };

    let (mut now, mut seen) = (None, None);
    let (presented, fence) = if let Some(value) = malformed {
        (Presented::Malformed(value), None)
    } else if nothing || blocked.is_some() || !matches!(coordinator, Coordinator::Open(_)) {
        (Presented::Nothing, None)
    } else {
        if enforce {
            if !stale && let Some(token) = trusted(&subject.lease, question.inline) {
                return Ok((Verdict::Accepted(token), subject));
            }
            fences::lock_shared(&subject.lease);
        }
        let latest = Latest::read(&subject.lease, question.strictness);
        let fence = latest.as_ref().map(|latest| latest.token);
        if mutant::without("epoch")
            && let Some(latest) = &latest
        {
            coordinator = Coordinator::Open(latest.token.epoch());
        }
        seen = latest.as_ref().and_then(|latest| latest.heartbeat.as_ref()?.seen);
        let now = *now.insert(clock::now());
        let proof = match (stale, older_epoch) {
            (false, _) => None,
            (true, false) => Claim::superseded(fence, coordinator),
            (true, true) => Claim::of_older_epoch(fence, coordinator),
        };
        match proof {
            Some((claim, fence)) => (Presented::Own(claim), Some(fence)),
            None => (presented(&subject.lease, question.inline, latest.as_ref(), on_expiry, now), fence),
        }
    };
    let now = now.unwrap_or_else(clock::now);
    let mut verdict =
        admit(&Case { coordinator, blocked, presented, fence, on_missing: question.on_missing, on_expiry, now });
    if let Verdict::Accepted(token) = verdict
        && presentation::take_here(&subject.lease, token.to_bigint(), enforce)
    {
        verdict = Verdict::Rejected(Rejection::Taken(token.to_bigint()));
    }
    if enforce && let Verdict::Accepted(token) = verdict {
        fences::accept(subject.clone(), token, seen);
    }
    if older_epoch && matches!(verdict, Verdict::Rejected(Rejection::Epoch { .. })) {
        transaction::with(|t| t.stale.rejected(question.table));
    }
    Ok((verdict, subject))
}

/// Why nothing at all is admitted to a table now, if nothing is.
pub fn closed(table: Oid, enforce: bool) -> Option<Rejection> {
    if !(enforce && fences::enter_gate()) {
        extension::catch_up();
    }
    let (coordinator, any_blocked) = epoch::admission();
    match coordinator {
        Coordinator::Open(_) => blocked(table).filter(|_| any_blocked).map(Rejection::Blocked),
        Coordinator::LineageChanged => Some(Rejection::LineageChanged),
        Coordinator::Closed => Some(Rejection::CoordinatorClosed),
    }
}

/// What is still to be done for the table before it is written to in this epoch.
fn blocked(table: Oid) -> Option<Blocked> {
    installation::blocked(table).map(|(next, _)| next).filter(|_| !mutant::without("blocked"))
}

/// The term accepted before, if it is what is presented for this lease now.
fn trusted(lease: &LeaseId, inline: Option<i64>) -> Option<Token> {
    let user = role::outer_user();
    let token = transaction::with(|t| t.fences.trusted(lease, user))?;
    let value = token.to_bigint();
    let same = presentation::of_lease(lease, Some(token)) == Own::One(value);
    (same && inline.is_none_or(|inline| inline == value)).then_some(token)
}

/// The latest term of a lease: what the fence says. The lease's heartbeat row says the same as long
/// as there is one (both are written by the same `acquire` alone), so the common case reads it alone.
struct Latest {
    token: Token,
    granted_by: u64,
    heartbeat: Option<Heartbeat>,
}

impl Latest {
    /// Under the fence's lock, unless nothing depends on it.
    #[unsafe(link_section = ".text_hot")]
    fn read(lease: &LeaseId, strictness: Strictness) -> Option<Latest> {
        let access = if strictness == Strictness::Enforce { Access::Locked } else { Access::Read };
        if let Some(row) = lease::heartbeat(lease, access) {
            return Some(Latest { token: row.record.token, granted_by: row.granted_by, heartbeat: Some(row) });
        }
        Latest::of_fence(lease, strictness)
    }

    #[inline(never)]
    fn of_fence(lease: &LeaseId, strictness: Strictness) -> Option<Latest> {
        let fence = match strictness {
            Strictness::Enforce => fence::read_locked(lease),
            Strictness::Observe => fence::read_latest(lease),
        }?;
        Some(Latest { token: fence.token, granted_by: fence.advanced_by, heartbeat: None })
    }
}

/// What the transaction presents, seen from this lease.
fn presented(
    lease: &LeaseId,
    inline: Option<i64>,
    latest: Option<&Latest>,
    on_expiry: ExpiryRule,
    now: Instant,
) -> Presented {
    let own = presentation::of_lease(lease, latest.map(|l| l.token));
    if let Own::One(value) = own
        && inline.is_none_or(|inline| inline == value)
        && let Some(token) = Token::from_bigint(value)
    {
        return Presented::Own(claim(lease, token, latest, on_expiry, now));
    }
    no_single_one(lease, own, inline, latest, on_expiry, now)
}

/// The same where it isn't just one token of the lease.
#[inline(never)]
fn no_single_one(
    lease: &LeaseId,
    own: Own,
    inline: Option<i64>,
    latest: Option<&Latest>,
    on_expiry: ExpiryRule,
    now: Instant,
) -> Presented {
    let is_own = |value| match own {
        Own::Nothing => false,
        Own::One(a) => a == value,
        Own::Several(a, b) => a == value || b == value,
    };
    match own {
        Own::Several(a, b) => Presented::Contradiction(a.min(b), a.max(b)),
        // An inline token speaks for its own row.
        _ if inline.is_some_and(|value| !is_own(value)) => Presented::Foreign(inline.unwrap_or_default()),
        Own::One(value) => Presented::Foreign(value),
        Own::Nothing if mutant::without("other_lease") && latest.is_some() => latest
            .map_or(Presented::Nothing, |latest| {
                Presented::Own(claim(lease, latest.token, Some(latest), on_expiry, now))
            }),
        Own::Nothing => transaction::with(|t| t.presentation.none_of(lease)),
    }
}

/// What is known of the term that `token` names.
#[unsafe(link_section = ".text_hot")]
fn claim(lease: &LeaseId, token: Token, latest: Option<&Latest>, on_expiry: ExpiryRule, now: Instant) -> Claim {
    let takeover_visible = latest.is_none_or(|latest| takeover_visible(lease, latest));
    // Whoever changes what a foreign key refers to also writes what refers to it.
    let user = role::outer_user();
    let current = latest.filter(|latest| latest.token == token).and_then(|latest| latest.heartbeat.as_ref());
    if let Some(row) = current {
        return Claim {
            token,
            role_permitted: mutant::without("role") || term::is_own(token, row.role, user),
            ended: row.record.end_for_writers(on_expiry, now).filter(|_| !mutant::without("ended")),
            expires_at: row.record.expires_at,
            takeover_visible,
        };
    }
    claim_of_former(token, user, takeover_visible)
}

/// The same of a term that its lease no longer names.
#[inline(never)]
fn claim_of_former(token: Token, user: Oid, takeover_visible: bool) -> Claim {
    match term::read(token) {
        Some(term) => Claim {
            token,
            role_permitted: term::is_own(token, term.role, user),
            // The lease's row is gone or is another term's: it has ended, recorded or not.
            ended: term.record.ended.or(Some(EndReason::Deleted)),
            expires_at: term.expires_at,
            takeover_visible,
        },
        None => Claim { token, role_permitted: false, ended: None, expires_at: 0, takeover_visible },
    }
}

/// Whether what this statement reads includes everything that the previous holder wrote. The
/// takeover waited for those writes, so seeing the takeover is seeing them.
fn takeover_visible(lease: &LeaseId, latest: &Latest) -> bool {
    if mutant::without("takeover_visible") {
        return true;
    }
    if xact::full_xid_if_any() != Some(latest.granted_by) {
        return snapshot::statement_sees(latest.granted_by, None);
    }
    sees_own_takeover(lease, latest)
}

#[inline(never)]
fn sees_own_takeover(lease: &LeaseId, latest: &Latest) -> bool {
    // Acquired by this transaction: a later statement sees it, unless all statements share one
    // snapshot from before.
    let command = transaction::with(|t| t.fences.acquired_by(lease));
    !xact::uses_one_snapshot() && command.is_some_and(|c| snapshot::statement_sees(latest.granted_by, Some(c)))
}

/// The error for a rejected write of `relation`, with what this database knows of it. What a token tells
/// of lost history is acted on, too.
pub fn error_of(why: Rejection, subject: &Subject, relation: Option<&str>) -> Error {
    with_history(why, why.error(&subject.describe(), relation), Some(&subject.lease))
}

/// The same where no lease is at hand.
pub fn with_history(why: Rejection, mut error: Error, lease: Option<&LeaseId>) -> Error {
    match why {
        Rejection::LineageChanged => error.detail = Some(lineage::why_closed()),
        Rejection::Unknown(value) => {
            let mut tokens = transaction::with(|t| t.presentation.all());
            tokens.push(value);
            if let Some(told) = history::witness(&tokens, lease) {
                error.detail = error.detail.map(|detail| format!("{detail} {told}"));
            }
        }
        _ => {}
    }
    error
}

/// `assert_current`: the guard without a trigger.
pub fn assert_current(value: i64) -> Result<(), Error> {
    // On a standby a lock holds nobody off.
    xact::require_primary(c"fencing.assert_current()");
    fences::enter_gate();
    let (coordinator, _) = epoch::admission();
    let term = Token::from_bigint(value).and_then(term::read);
    let subject = term.as_ref().and_then(|term| {
        let namespace = namespace::by_id(term.lease.namespace)?;
        Some(Subject::new(namespace, term.lease.clone()))
    });
    let on_expiry = subject.as_ref().map_or(ExpiryRule::Reject, |s| s.on_expiry);
    let mut now = clock::now();
    let (presented, latest) = match (&term, &subject) {
        _ if value <= 0 => (Presented::Malformed(value), None),
        (Some(term), Some(subject)) => {
            fences::lock_shared(&subject.lease);
            let latest = Latest::read(&subject.lease, Strictness::Enforce);
            now = clock::now();
            (Presented::Own(claim(&subject.lease, term.record.token, latest.as_ref(), on_expiry, now)), latest)
        }
        _ => (Presented::Foreign(value), None),
    };
    let verdict = admit(&Case {
        coordinator,
        blocked: None,
        presented,
        fence: latest.map(|latest| latest.token),
        on_missing: MissingRule::Reject,
        on_expiry,
        now,
    });
    match (verdict, subject) {
        (Verdict::Rejected(Rejection::NotAuthorized(token)), Some(subject)) => {
            Err(namespace::another_roles(&subject.lease, token))
        }
        (Verdict::Rejected(why), subject) => {
            Err(subject.map_or_else(|| of_no_lease(why), |subject| error_of(why, &subject, None)))
        }
        (Verdict::Accepted(token), Some(subject)) => {
            fences::accept(subject, token, None);
            Ok(())
        }
        (Verdict::Accepted(_) | Verdict::Admitted, _) => Ok(()),
    }
}

/// Why a number that is no lease's token is rejected.
fn of_no_lease(why: Rejection) -> Error {
    let mut error = why.error("", None);
    match why {
        Rejection::Malformed(_) => error.detail = Some("Tokens are positive.".to_owned()),
        Rejection::Unknown(value) => {
            error.message = "unknown term".to_owned();
            error.detail = Some(format!("{value} was never issued as a token."));
        }
        _ => {}
    }
    with_history(why, error, None)
}
