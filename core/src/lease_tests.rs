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
