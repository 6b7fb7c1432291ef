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
mod tests {
    use super::*;
    use crate::time::coordinator_time;
    use proptest::prelude::*;

    const POLICY: Policy = Policy { ttl: 30, max_ttl: 100, on_expiry: ExpiryRule::Reject, min_hold: 0, cool_down: 0 };

    fn token(seq: i64) -> Token {
        Token::new(7, seq).unwrap()
    }

    fn held() -> Record {
        Record {
            token: token(1),
            ended: None,
            acquired_at: 100,
            renewed_at: 100,
            expires_at: 130,
            ended_at: None,
            revoke_at: NEVER,
            session_gone: false,
            kept_until: Instant::MIN,
        }
    }

    fn ended(reason: EndReason, at: Instant) -> Record {
        Record { ended: Some(reason), ended_at: Some(at), ..held() }
    }

    fn term(ended: Option<EndReason>, superseded: bool) -> Term {
        Term { token: token(1), ended, superseded }
    }

    #[test]
    fn a_lease_never_granted_is_grantable() {
        assert_eq!(grantability(None, &POLICY, 7, 0), Grantability::Grantable);
    }

    #[test]
    fn held_to_the_last_microsecond() {
        assert_eq!(grantability(Some(&held()), &POLICY, 7, 129), Grantability::Held { until: 130 });
        assert_eq!(grantability(Some(&held()), &POLICY, 7, 130), Grantability::Grantable);
    }

    #[test]
    fn cool_down_follows_an_abnormal_end_and_min_hold_a_release() {
        let policy = Policy { min_hold: 25, cool_down: 50, ..POLICY };
        let at = |record: &Record, now| grantability(Some(record), &policy, 7, now);
        assert_eq!(at(&held(), 179), Grantability::CoolingDown { until: 180 });
        assert_eq!(at(&held(), 180), Grantability::Grantable);
        assert_eq!(at(&ended(EndReason::Released, 110), 124), Grantability::CoolingDown { until: 125 });
        assert_eq!(at(&ended(EndReason::Released, 110), 125), Grantability::Grantable);
        for reason in [EndReason::Revoked, EndReason::SessionLost] {
            assert_eq!(at(&ended(reason, 110), 159), Grantability::CoolingDown { until: 160 });
        }
        assert_eq!(at(&ended(EndReason::Deleted, 110), 110), Grantability::Grantable);
    }

    #[test]
    fn a_lapsed_term_is_expired_until_someone_takes_over() {
        let later = Record { token: token(2), ..held() };
        assert_eq!(standing(Some(&term(None, false)), Some(&held()), 7, 129), Standing::Current);
        assert_eq!(standing(Some(&term(None, false)), Some(&held()), 7, 130), Standing::Expired);
        assert_eq!(standing(Some(&term(Some(EndReason::Expired), true)), Some(&later), 7, 129), Standing::Superseded);
        assert_eq!(standing(Some(&term(None, false)), Some(&later), 7, 129), Standing::Superseded);
    }

    #[test]
    fn of_every_other_end_the_first_is_named() {
        let later = Record { token: token(2), ..held() };
        for reason in EndReason::ALL.into_iter().filter(|r| *r != EndReason::Expired) {
            assert_eq!(standing(Some(&term(Some(reason), true)), Some(&later), 7, 129), reason.into());
            assert_eq!(standing(Some(&term(Some(reason), false)), Some(&later), 8, 129), reason.into());
        }
    }

    #[test]
    fn a_revocation_comes_when_it_was_announced_for() {
        let announced = Record { revoke_at: 120, expires_at: 120, ..held() };
        assert_eq!(announced.end(119), None);
        assert_eq!(announced.end(120), Some(EndReason::Revoked));
        // Its holder let it lapse before: it is over for good only then.
        let lapsed = Record { revoke_at: 120, expires_at: 110, ..held() };
        assert_eq!((lapsed.end(119), lapsed.ended_for_good(119)), (Some(EndReason::Expired), None));
        assert_eq!(lapsed.end(120), Some(EndReason::Revoked));
    }

    #[test]
    fn an_unclean_start_keeps_back_what_may_have_been_renewed() {
        assert_eq!(kept_until(100, 30, None), Instant::MIN);
        assert_eq!(kept_until(100, 30, Some(125)), 155);
        assert_eq!(kept_until(126, 30, Some(125)), Instant::MIN);
        let kept = Record { kept_until: 155, ..held() };
        assert_eq!(grantability(Some(&kept), &POLICY, 7, 129), Grantability::Held { until: 130 });
        assert_eq!(grantability(Some(&kept), &POLICY, 7, 130), Grantability::CoolingDown { until: 155 });
        assert_eq!(grantability(Some(&kept), &POLICY, 7, 155), Grantability::Grantable);
        // Whose end is recorded was not renewed after it.
        let released = Record { kept_until: 155, ..ended(EndReason::Released, 110) };
        assert_eq!(grantability(Some(&released), &POLICY, 7, 110), Grantability::Grantable);
    }

    #[test]
    fn a_backend_seen_to_be_gone_ends_a_term_that_has_not_lapsed() {
        let gone = Record { session_gone: true, ..held() };
        assert_eq!(gone.end(129), Some(EndReason::SessionLost));
        assert_eq!(gone.end(130), Some(EndReason::Expired));
        // Where expiry alone would not stop its writes, this does.
        assert_eq!(gone.ended_for_good(130), Some(EndReason::SessionLost));
        assert_eq!(grantability(Some(&gone), &POLICY, 7, 101), Grantability::Grantable);
        let cautious = Policy { cool_down: 50, ..POLICY };
        assert_eq!(grantability(Some(&gone), &cautious, 7, 101), Grantability::CoolingDown { until: 180 });
    }

    #[test]
    fn never_issued_dropped_and_of_another_epoch() {
        assert_eq!(standing(None, Some(&held()), 7, 100), Standing::Unknown);
        assert_eq!(standing(Some(&term(None, false)), None, 7, 100), Standing::Deleted);
        // Removed after it had run out, as its record says.
        assert_eq!(standing(Some(&term(Some(EndReason::Expired), false)), None, 7, 100), Standing::Expired);
        assert_eq!(standing(Some(&term(None, false)), Some(&held()), 8, 100), Standing::EpochClosed);
    }

    #[test]
    fn a_new_epoch_finds_every_lease_free() {
        let slow = Policy { min_hold: 1000, cool_down: 1000, ..POLICY };
        let kept = Record { kept_until: 1000, ..held() };
        for record in [held(), kept, ended(EndReason::Released, 110), ended(EndReason::Revoked, 110)] {
            assert_ne!(grantability(Some(&record), &slow, 7, 111), Grantability::Grantable);
            assert_eq!(grantability(Some(&record), &slow, 8, 111), Grantability::Grantable);
        }
    }

    #[test]
    fn an_epoch_ends_what_had_not_ended_before() {
        let announced = Record { revoke_at: 120, expires_at: 120, ..held() };
        let gone = Record { session_gone: true, ..held() };
        for (record, closed_at, end) in [
            (held(), 129, (EndReason::EpochClosed, 129)),
            (held(), 130, (EndReason::Expired, 130)),
            (announced, 119, (EndReason::EpochClosed, 119)),
            (announced, 125, (EndReason::Revoked, 120)),
            (gone, 129, (EndReason::EpochClosed, 129)),
            (ended(EndReason::Released, 110), 129, (EndReason::Released, 110)),
        ] {
            assert_eq!(record.end_with_epoch(closed_at), end, "{record:?} {closed_at}");
        }
    }

    #[test]
    fn removal_ends_what_could_still_write() {
        use ExpiryRule::{AcceptUntilSuperseded as Accept, Reject};
        let announced = Record { revoke_at: 125, expires_at: 120, ..held() };
        let gone = Record { session_gone: true, ..held() };
        let released = ended(EndReason::Released, 110);
        for (record, rule, now, may_write, end) in [
            (held(), Reject, 129, true, (EndReason::Deleted, 129)),
            (held(), Reject, 130, false, (EndReason::Expired, 130)),
            (held(), Accept, 150, true, (EndReason::Deleted, 150)),
            (released, Accept, 115, false, (EndReason::Released, 110)),
            (announced, Accept, 124, true, (EndReason::Deleted, 124)),
            (announced, Reject, 124, false, (EndReason::Expired, 120)),
            (announced, Accept, 125, false, (EndReason::Revoked, 125)),
            (gone, Reject, 129, false, (EndReason::SessionLost, 129)),
            (gone, Accept, 150, false, (EndReason::Expired, 130)),
        ] {
            assert_eq!(record.may_write(rule, now), may_write, "{record:?} {rule:?} {now}");
            assert_eq!(record.end_by_removal(rule, now), end, "{record:?} {rule:?} {now}");
        }
    }

    #[test]
    fn the_last_time_recorded_is_that_of_the_grant_a_renewal_or_the_end() {
        assert_eq!(held().last_recorded(), 100);
        assert_eq!(Record { renewed_at: 110, ..held() }.last_recorded(), 110);
        assert_eq!(ended(EndReason::Released, 120).last_recorded(), 120);
    }

    #[test]
    fn reasons_read_back() {
        for reason in EndReason::ALL {
            assert_eq!(EndReason::parse(reason.as_str()), Some(reason));
            assert_eq!(Standing::from(reason).as_str(), reason.as_str());
        }
        assert_eq!(EndReason::parse("held"), None);
    }

    fn any_end() -> impl Strategy<Value = Option<EndReason>> {
        prop_oneof![
            Just(None),
            Just(Some(EndReason::Released)),
            Just(Some(EndReason::Revoked)),
            Just(Some(EndReason::Deleted)),
            Just(Some(EndReason::SessionLost)),
        ]
    }

    proptest! {
        /// G2: a lease is never grantable while its term is current.
        #[test]
        fn never_both_current_and_grantable(
            end in any_end(), acquired in 0i64..1000, ttl in 1i64..1000, min_hold in 0i64..1000,
            cool_down in 0i64..1000, now in 0i64..4000,
        ) {
            let record = Record {
                ended: end, ended_at: end.map(|_| acquired), acquired_at: acquired, renewed_at: acquired,
                expires_at: acquired + ttl, ..held()
            };
            let policy = Policy { min_hold, cool_down, ..POLICY };
            let current = standing(Some(&term(end, false)), Some(&record), 7, now) == Standing::Current;
            if current {
                let held = matches!(grantability(Some(&record), &policy, 7, now), Grantability::Held { .. });
                prop_assert!(held);
            }
        }

        /// Guards read the bare clock: behind what was recorded of a lease, it says the same of its term.
        #[test]
        fn a_clock_behind_changes_no_verdict(
            end in any_end(), renewed in 0i64..1000, ttl in 1i64..1000, until_end in 0i64..1000,
            grace in prop_oneof![Just(NEVER), 1i64..1000], gone in any::<bool>(), clock in -1000i64..3000,
        ) {
            let revoke_at = renewed.saturating_add(grace);
            let record = Record {
                ended: end, ended_at: end.map(|_| renewed + until_end), renewed_at: renewed, revoke_at,
                session_gone: gone, expires_at: (renewed + ttl).min(revoke_at), ..held()
            };
            let time = coordinator_time(clock, Some(record.last_recorded()));
            prop_assert_eq!(record.end(clock), record.end(time));
            prop_assert_eq!(record.ended_for_good(clock), record.ended_for_good(time));
        }

        /// Once grantable, always grantable: what was seen before the lock is true under it.
        #[test]
        fn grantability_only_grows_with_time(
            end in any_end(), acquired in 0i64..1000, ttl in 1i64..1000, min_hold in 0i64..1000,
            cool_down in 0i64..1000, now in 0i64..4000, later in 0i64..4000,
            revoke_at in prop_oneof![Just(NEVER), 0i64..3000],
        ) {
            let record = Record {
                ended: end, ended_at: end.map(|_| acquired), acquired_at: acquired, renewed_at: acquired,
                expires_at: (acquired + ttl).min(revoke_at), revoke_at, ..held()
            };
            let policy = Policy { min_hold, cool_down, ..POLICY };
            if grantability(Some(&record), &policy, 7, now) == Grantability::Grantable {
                prop_assert_eq!(grantability(Some(&record), &policy, 7, now + later), Grantability::Grantable);
            }
        }
    }
}
