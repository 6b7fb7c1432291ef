//! The life of a lease: when it may be granted, and what has become of a term.

use crate::time::{Instant, Span};
use crate::token::Token;

/// May the holder of an expired term that nobody superseded still write?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExpiryRule {
    /// No: its writes are rejected from the moment of expiry.
    Reject,
    /// Yes, until another term is granted.
    AcceptUntilSuperseded,
}

/// A namespace's policy, in microseconds where it is a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// The ttl of a term that asks for none.
    pub ttl: Span,
    /// The longest ttl that may be asked for.
    pub max_ttl: Span,
    /// What expiry means to a guard.
    pub on_expiry: ExpiryRule,
    /// After a clean release, not grantable before `acquired_at` plus this.
    pub min_hold: Span,
    /// After an abnormal end, not grantable for this long.
    pub cool_down: Span,
}

/// How a term ended before anybody took over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum EndReason {
    /// Its ttl ran out; recorded once somebody observes it.
    Expired,
    /// Its holder gave it back.
    Released,
    /// An administrator took it away.
    Revoked,
    /// Its lease was dropped.
    Deleted,
    /// The backend that it was bound to is gone.
    SessionLost,
    /// Another epoch was opened; recorded by the takeover.
    EpochClosed,
}

impl EndReason {
    /// Every reason.
    pub const ALL: [EndReason; 6] = [
        EndReason::Expired,
        EndReason::Released,
        EndReason::Revoked,
        EndReason::Deleted,
        EndReason::SessionLost,
        EndReason::EpochClosed,
    ];

    /// As it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            EndReason::Expired => "expired",
            EndReason::Released => "released",
            EndReason::Revoked => "revoked",
            EndReason::Deleted => "deleted",
            EndReason::SessionLost => "session_lost",
            EndReason::EpochClosed => "epoch_closed",
        }
    }

    /// Reads what [`EndReason::as_str`] wrote.
    pub fn parse(text: &str) -> Option<EndReason> {
        EndReason::ALL.into_iter().find(|r| r.as_str() == text)
    }
}

/// A lease's heartbeat row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// The latest term of the lease.
    pub token: Token,
    /// How that term ended; `None` while it is held (or merely lapsed).
    pub ended: Option<EndReason>,
    /// When it was granted.
    pub acquired_at: Instant,
    /// Last time recorded for it: of the grant, or a renewal.
    pub renewed_at: Instant,
    /// When it runs out, unless renewed.
    pub expires_at: Instant,
    /// When it ended, for every recorded end but expiry.
    pub ended_at: Option<Instant>,
    /// When it is revoked, if that was announced; [`NEVER`] otherwise. No renewal reaches beyond it.
    pub revoke_at: Instant,
    /// Whether it is bound to a backend that is gone.
    pub session_gone: bool,
    /// Until when an unclean start of the server keeps it back: see [`kept_until`].
    pub kept_until: Instant,
}

/// Until when a lease is not granted, because of the last unclean start of the server: a renewal that
/// its holder was told of, not long before, may have been lost, and lasts no longer than the ttl from then.
///
/// [`Instant::MIN`] where its row, of the time `renewed_at`, is younger than that start, or there was none.
pub fn kept_until(renewed_at: Instant, ttl: Span, unclean_start: Option<Instant>) -> Instant {
    unclean_start.filter(|start| renewed_at < *start).map_or(Instant::MIN, |start| start.saturating_add(ttl))
}

/// A moment that doesn't come; `infinity` as PostgreSQL stores it.
pub const NEVER: Instant = Instant::MAX;

impl Record {
    /// The last time recorded of its lease, which coordinator time never goes behind.
    pub fn last_recorded(&self) -> Instant {
        self.ended_at.map_or(self.renewed_at, |ended| ended.max(self.renewed_at))
    }

    /// How the term has ended by `now`, recorded or not; `None` while it is held.
    ///
    /// Expiry is not the last word on a term: of every other end the first is named. A backend that
    /// was seen to be gone only after the term had run out may have outlived it.
    pub fn end(&self, now: Instant) -> Option<EndReason> {
        let lapsed = now >= self.expires_at;
        match self.ended_for_good(now) {
            Some(EndReason::SessionLost) if self.ended.is_none() && lapsed => Some(EndReason::Expired),
            None if lapsed => Some(EndReason::Expired),
            end => end,
        }
    }

    /// How the term has ended by `now`, whatever its namespace's rule for expiry says: by anything else.
    pub fn ended_for_good(&self, now: Instant) -> Option<EndReason> {
        let announced = (now >= self.revoke_at).then_some(EndReason::Revoked);
        self.ended.or(announced).or(self.session_gone.then_some(EndReason::SessionLost))
    }

    /// What stops the term's writers: its end, unless it has merely run out and that stops nobody.
    pub fn end_for_writers(&self, on_expiry: ExpiryRule, now: Instant) -> Option<EndReason> {
        match on_expiry {
            ExpiryRule::Reject => self.end(now),
            ExpiryRule::AcceptUntilSuperseded => self.ended_for_good(now),
        }
    }

    /// Whether a guard still lets the term write.
    pub fn may_write(&self, on_expiry: ExpiryRule, now: Instant) -> bool {
        self.end_for_writers(on_expiry, now).is_none()
    }

    /// How and when the term ends where its lease's row is removed: by that, if it could still write.
    pub fn end_by_removal(&self, on_expiry: ExpiryRule, now: Instant) -> (EndReason, Instant) {
        match self.end(now) {
            Some(reason) if !self.may_write(on_expiry, now) => (reason, self.end_time(now)),
            _ => (EndReason::Deleted, now),
        }
    }

    /// How and when the term ended whose epoch admitted nothing any more from `closed_at` on: by that,
    /// unless it had run out, or had been taken away, before. Nobody knows of a backend's end without a
    /// record whether it came first.
    pub fn end_with_epoch(&self, closed_at: Instant) -> (EndReason, Instant) {
        let known = Record { session_gone: false, ..*self };
        match known.end(closed_at) {
            Some(reason) => (reason, known.end_time(closed_at)),
            None => (EndReason::EpochClosed, closed_at),
        }
    }

    /// When a term ended that is over, as far as that is known: a backend's end is only seen.
    pub fn end_time(&self, now: Instant) -> Instant {
        let unrecorded = match self.end(now) {
            Some(EndReason::Revoked) => self.revoke_at,
            Some(EndReason::Expired) => self.expires_at,
            _ => now,
        };
        self.ended_at.unwrap_or(unrecorded)
    }
}

/// Whether a lease can be granted now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grantability {
    /// Yes.
    Grantable,
    /// Somebody holds it, until then at the earliest.
    Held {
        /// When the holder's term runs out.
        until: Instant,
    },
    /// Its policy keeps it back until then.
    CoolingDown {
        /// When it can be granted.
        until: Instant,
    },
}

/// Decides whether a lease can be granted at `now`, in the epoch that is open. `record` is `None` for a
/// lease never granted. What was granted in another epoch is void, and keeps nothing back: opening
/// this one has waited for its writers.
pub fn grantability(record: Option<&Record>, policy: &Policy, epoch: i64, now: Instant) -> Grantability {
    let Some(record) = record.filter(|record| record.token.epoch() == epoch) else { return Grantability::Grantable };
    let until = match record.end(now) {
        None => return Grantability::Held { until: record.expires_at },
        Some(EndReason::Released) => record.acquired_at.saturating_add(policy.min_hold),
        // When its backend went, nobody recorded: it may have been just now.
        Some(EndReason::SessionLost) if record.ended.is_none() && policy.cool_down > 0 => {
            record.expires_at.saturating_add(policy.cool_down)
        }
        // Its holder may have let it run out before: what was grantable then stays so.
        Some(EndReason::Revoked) if record.ended.is_none() => record.expires_at.saturating_add(policy.cool_down),
        Some(EndReason::Expired) => record.expires_at.saturating_add(policy.cool_down).max(record.kept_until),
        Some(EndReason::Revoked | EndReason::SessionLost) => record.end_time(now).saturating_add(policy.cool_down),
        Some(EndReason::Deleted | EndReason::EpochClosed) => now,
    };
    if now < until { Grantability::CoolingDown { until } } else { Grantability::Grantable }
}

/// What the record of a term says of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    /// Its token.
    pub token: Token,
    /// How it ended, where that was recorded.
    pub ended: Option<EndReason>,
    /// Whether a later term of its lease was granted in the same epoch.
    pub superseded: bool,
}

/// What has become of a term.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Standing {
    /// The latest term of its lease, held and not run out.
    Current,
    /// Run out; nobody has taken over yet.
    Expired,
    /// Run out, and a later term was granted.
    Superseded,
    /// Given back.
    Released,
    /// Taken away.
    Revoked,
    /// Its backend is gone.
    SessionLost,
    /// Its lease was dropped.
    Deleted,
    /// Of another epoch.
    EpochClosed,
    /// Never issued.
    Unknown,
}

impl Standing {
    /// As `check_token`, `renew` and `release` answer.
    pub fn as_str(self) -> &'static str {
        match self {
            Standing::Current => "current",
            Standing::Expired => "expired",
            Standing::Superseded => "superseded",
            Standing::Released => "released",
            Standing::Revoked => "revoked",
            Standing::SessionLost => "session_lost",
            Standing::Deleted => "deleted",
            Standing::EpochClosed => "epoch_closed",
            Standing::Unknown => "unknown",
        }
    }
}

impl From<EndReason> for Standing {
    fn from(reason: EndReason) -> Standing {
        match reason {
            EndReason::Expired => Standing::Expired,
            EndReason::Released => Standing::Released,
            EndReason::Revoked => Standing::Revoked,
            EndReason::Deleted => Standing::Deleted,
            EndReason::SessionLost => Standing::SessionLost,
            EndReason::EpochClosed => Standing::EpochClosed,
        }
    }
}

/// What has become of a term: `term` is its record, `lease` its lease's heartbeat row, `epoch` the
/// open epoch.
///
/// A term that merely lapsed is `expired` until someone takes over and `superseded` after; of every
/// other end the first is named.
pub fn standing(term: Option<&Term>, lease: Option<&Record>, epoch: i64, now: Instant) -> Standing {
    let Some(term) = term else { return Standing::Unknown };
    match term.ended {
        Some(EndReason::Expired) | None => {}
        Some(reason) => return reason.into(),
    }
    if term.superseded {
        return Standing::Superseded;
    }
    if term.token.epoch() != epoch {
        return Standing::EpochClosed;
    }
    match lease {
        None => term.ended.unwrap_or(EndReason::Deleted).into(),
        Some(record) if record.token != term.token => Standing::Superseded,
        Some(record) => record.end(now).map_or(Standing::Current, Standing::from),
    }
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
