//! Admission: may a write under this token pass the guard of a local lease?
//!
//! Decided with the gate and the fence locked and everything read after those locks, so that the
//! verdict still holds when the transaction commits (G1, G4).

use crate::epoch::{Blocked, Coordinator};
use crate::error::{Code, Error};
use crate::lease::{EndReason, ExpiryRule, Record};
use crate::time::Instant;
use crate::token::Token;

/// What a guard does with a write that presents nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MissingRule {
    /// Rejects it.
    Reject,
    /// Lets it pass, for the time of adoption.
    Admit,
}

/// What a transaction presents, seen from one lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presented {
    /// No token at all.
    Nothing,
    /// Tokens, none of them issued for this lease; one of them, to name in the error.
    Foreign(i64),
    /// A token of this lease, but for another lease alone.
    Elsewhere(Token),
    /// A bigint that is no token.
    Malformed(i64),
    /// Two tokens of this lease.
    Contradiction(i64, i64),
    /// One token of this lease.
    Own(Claim),
}

/// A token of this lease, with what is known of its term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The token.
    pub token: Token,
    /// Whether the writer is the term's role or a member of it.
    pub role_permitted: bool,
    /// What stops its writers, as far as its lease knows: running out is judged below as well.
    pub ended: Option<EndReason>,
    /// When it runs out.
    pub expires_at: Instant,
    /// Whether every snapshot that this transaction decides by can see the takeover.
    pub takeover_visible: bool,
}

impl Claim {
    /// A term that has been superseded, for a lease whose highest accepted term is `fence`, with
    /// the fence to compare it with: what a stale holder presents. Admitted under no rule.
    ///
    /// `None` where there is no such term: no epoch is open.
    pub fn superseded(fence: Option<Token>, coordinator: Coordinator) -> Option<(Claim, Token)> {
        let Coordinator::Open(epoch) = coordinator else { return None };
        // A lease that was never granted has none either: then it is one that has ended.
        let fence = fence.or_else(|| Token::new(epoch, 1).ok())?;
        let token = Token::new(fence.epoch(), fence.seq() - 1).unwrap_or(fence);
        let ended = Some(EndReason::Deleted);
        let claim = Claim { token, role_permitted: true, ended, expires_at: Instant::MIN, takeover_visible: false };
        Some((claim, fence))
    }

    /// As [`Claim::superseded`], of the epoch before the open one: what a holder presents that has not
    /// heard of the new one.
    pub fn of_older_epoch(fence: Option<Token>, coordinator: Coordinator) -> Option<(Claim, Token)> {
        let Coordinator::Open(epoch) = coordinator else { return None };
        let token = Token::new(epoch - 1, 1).ok()?;
        let fence = fence.filter(|fence| *fence > token).or_else(|| Token::new(epoch, 1).ok())?;
        let claim =
            Claim { token, role_permitted: true, ended: None, expires_at: Instant::MAX, takeover_visible: true };
        Some((claim, fence))
    }
}

/// Everything that admission depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// The coordinator's state.
    pub coordinator: Coordinator,
    /// What is still to be done for the table in this epoch, if anything is.
    pub blocked: Option<Blocked>,
    /// What was presented.
    pub presented: Presented,
    /// The highest accepted term; `None` for a lease never granted.
    pub fence: Option<Token>,
    /// The guard's rule for a missing token.
    pub on_missing: MissingRule,
    /// The namespace's rule for an expired term.
    pub on_expiry: ExpiryRule,
    /// Coordinator time.
    pub now: Instant,
}

/// The verdict on a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict<R = Rejection> {
    /// It passes, under this token.
    Accepted(Token),
    /// It passes without one.
    Admitted,
    /// It is rejected.
    Rejected(R),
}

/// Why a write is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejection {
    /// LF006
    LineageChanged,
    /// LF007
    CoordinatorClosed,
    /// LF007, of this table alone
    Blocked(Blocked),
    /// LF002
    Missing,
    /// LF013, of a bigint that is no token
    Malformed(i64),
    /// LF013, of two tokens for one lease
    Contradiction(i64, i64),
    /// LF013, of a token that was presented by name and is a coordinator's elsewhere
    Taken(i64),
    /// LF004
    Unknown(i64),
    /// LF004, of a token that was presented for another lease
    Elsewhere(Token),
    /// LF008
    NotAuthorized(Token),
    /// LF005
    Epoch {
        /// The presented token.
        presented: Token,
        /// The open epoch.
        open: i64,
    },
    /// LF001
    Stale {
        /// The presented token.
        presented: Token,
        /// The highest accepted one.
        fence: Token,
    },
    /// LF003
    Ended(Token, EndReason),
    /// 40001
    SnapshotPredatesTakeover(Token),
}

/// Decides, in the order of the contract: closed, missing, unknown, role, epoch, stale, ended,
/// expired, accepted; then whether the snapshot is younger than the takeover.
pub fn admit(case: &Case) -> Verdict {
    use Rejection as R;
    let open = match case.coordinator {
        Coordinator::Open(epoch) => epoch,
        Coordinator::LineageChanged => return Verdict::Rejected(R::LineageChanged),
        Coordinator::Closed => return Verdict::Rejected(R::CoordinatorClosed),
    };
    if let Some(next) = case.blocked {
        return Verdict::Rejected(R::Blocked(next));
    }
    let claim = match case.presented {
        Presented::Nothing if case.on_missing == MissingRule::Admit => return Verdict::Admitted,
        Presented::Nothing => return Verdict::Rejected(R::Missing),
        Presented::Malformed(value) => return Verdict::Rejected(R::Malformed(value)),
        Presented::Contradiction(a, b) => return Verdict::Rejected(R::Contradiction(a, b)),
        Presented::Foreign(token) => return Verdict::Rejected(R::Unknown(token)),
        Presented::Elsewhere(token) => return Verdict::Rejected(R::Elsewhere(token)),
        Presented::Own(claim) => claim,
    };
    let token = claim.token;
    let Some(fence) = case.fence.filter(|fence| token <= *fence) else {
        return Verdict::Rejected(R::Unknown(token.to_bigint()));
    };
    if !claim.role_permitted {
        return Verdict::Rejected(R::NotAuthorized(token));
    }
    if token.epoch() != open {
        return Verdict::Rejected(R::Epoch { presented: token, open });
    }
    if token < fence {
        return Verdict::Rejected(R::Stale { presented: token, fence });
    }
    if let Some(reason) = claim.ended {
        return Verdict::Rejected(R::Ended(token, reason));
    }
    if case.on_expiry == ExpiryRule::Reject && case.now >= claim.expires_at {
        return Verdict::Rejected(R::Ended(token, EndReason::Expired));
    }
    if !claim.takeover_visible {
        return Verdict::Rejected(R::SnapshotPredatesTakeover(token));
    }
    Verdict::Accepted(token)
}

/// Why the transaction that wrote under an accepted term must not commit; `None` if it may.
///
/// `lease` is the heartbeat row then, `None` if it is gone. A term that the transaction itself gave
/// back (`ended_here`) counts as held: final write and `release` may share a transaction, also where
/// the row goes with the release.
pub fn ended_before_commit(
    token: Token,
    lease: Option<&Record>,
    ended_here: bool,
    on_expiry: ExpiryRule,
    now: Instant,
) -> Option<Rejection> {
    let reason = match lease {
        None if ended_here => return None,
        None => EndReason::Deleted,
        Some(record) if record.token != token => {
            return Some(Rejection::Stale { presented: token, fence: record.token });
        }
        Some(_) if ended_here => return None,
        Some(record) => record.end_for_writers(on_expiry, now)?,
    };
    Some(Rejection::Ended(token, reason))
}

impl Rejection {
    /// The error that a client sees. `lease` is "namespace/key", `relation` what was to be written,
    /// if it was a table.
    pub fn error(self, lease: &str, relation: Option<&str>) -> Error {
        let target = relation.map_or_else(|| format!("lease \"{lease}\""), |name| format!("table \"{name}\""));
        let lease = format!("Lease \"{lease}\"");
        match self {
            Rejection::LineageChanged => Error::new(Code::LineageChanged, "coordinator's lineage has changed").detail(
                "This server is not the one on which the epoch was opened: it was restored, cloned or promoted.",
            ),
            Rejection::CoordinatorClosed => {
                Error::new(Code::CoordinatorClosed, "coordinator is closed").detail("An epoch transition is under way.")
            }
            Rejection::Blocked(next) => Error::new(Code::CoordinatorClosed, format!("{target} is blocked"))
                .detail("A new epoch was opened, and the table has not been resumed in it.")
                .hint(format!("{} is next.", next.function())),
            Rejection::Missing => Error::new(Code::MissingToken, format!("no fencing token presented for {target}"))
                .detail(format!("{lease} guards it.")),
            Rejection::Malformed(value) => {
                Error::new(Code::InvalidPresentation, format!("{value} is not a fencing token"))
                    .detail(format!("{lease} guards {target}."))
            }
            Rejection::Contradiction(a, b) => {
                Error::new(Code::InvalidPresentation, format!("two fencing tokens presented for {target}"))
                    .detail(format!("{lease}: tokens {a} and {b}."))
            }
            Rejection::Taken(value) => taken(&target, &lease, value),
            Rejection::Unknown(value) => Error::new(Code::UnknownTerm, format!("unknown term for {target}")).detail(
                match Token::from_bigint(value) {
                    Some(token) => format!("{lease}: token {token} ({value}) was never issued for it."),
                    None => format!("{lease}: {value} was never issued as a token."),
                },
            ),
            Rejection::Elsewhere(token) => Error::new(Code::UnknownTerm, format!("unknown term for {target}"))
                .detail(format!("{lease}: token {token} ({}) was presented for another lease.", token.to_bigint())),
            Rejection::NotAuthorized(token) => {
                Error::new(Code::NotAuthorizedForTerm, format!("another role's term for {target}")).detail(format!(
                    "{lease}: token {token} ({}) was acquired by a role that you are not a member of.",
                    token.to_bigint()
                ))
            }
            Rejection::Epoch { presented, open } => Error::new(
                Code::EpochMismatch,
                format!("token of another epoch for {target}"),
            )
            .detail(format!("{lease}: presented token {presented} ({}), open epoch {open}.", presented.to_bigint())),
            Rejection::Stale { presented, fence } => Error::new(Code::StaleTerm, format!("stale term for {target}"))
                .detail(format!(
                    "{lease}: presented token {presented} ({}), highest accepted token {fence} ({}).",
                    presented.to_bigint(),
                    fence.to_bigint(),
                )),
            Rejection::Ended(token, reason) => Error::new(Code::TermEnded, format!("term has ended for {target}"))
                .detail(format!("{lease}: token {token} ({}) is {}.", token.to_bigint(), reason.as_str())),
            Rejection::SnapshotPredatesTakeover(token) => {
                Error::new(Code::SerializationFailure, "could not serialize access due to takeover of the lease")
                    .detail(format!(
                        "{lease}: the snapshot in use was taken before token {token} ({}) was granted.",
                        token.to_bigint(),
                    ))
                    .hint("Run the transaction again: what it read may be older than the takeover.")
            }
        }
    }
}

/// LF013, of a token that was presented by name, and was used for another lease of that name.
pub fn taken(target: &str, lease: &str, value: i64) -> Error {
    Error::new(Code::InvalidPresentation, format!("fencing token for {target} was used for another coordinator"))
        .detail(format!("{lease}: {value} was presented by name, and this transaction has written under it where another grants the lease of that name."))
        .hint("A token that is presented by name is for the first that takes it. Assign this one to the guard's inline column if it has one, or write there in a transaction of its own.")
}

/// LF008, for who may not know whose lease it is: a token is a number that can be guessed.
pub fn not_authorized(token: Token) -> Error {
    Error::new(Code::NotAuthorizedForTerm, "another role's term")
        .detail(format!("Token {token} ({}) was acquired by a role that you are not a member of.", token.to_bigint()))
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
