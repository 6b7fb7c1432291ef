use super::*;
use crate::lease::NEVER;
use proptest::prelude::*;

const EPOCH: i64 = 7;

fn token(seq: i64) -> Token {
    Token::new(EPOCH, seq).unwrap()
}

fn claim(seq: i64) -> Claim {
    Claim { token: token(seq), role_permitted: true, ended: None, expires_at: 100, takeover_visible: true }
}

fn case(presented: Presented) -> Case {
    Case {
        coordinator: Coordinator::Open(EPOCH),
        blocked: None,
        presented,
        fence: Some(token(5)),
        on_missing: MissingRule::Reject,
        on_expiry: ExpiryRule::Reject,
        now: 50,
    }
}

fn code(case: &Case) -> &'static str {
    match admit(case) {
        Verdict::Accepted(_) => "accepted",
        Verdict::Admitted => "admitted",
        Verdict::Rejected(why) => why.error("jobs/a", Some("public.t")).code.sqlstate(),
    }
}

#[test]
fn the_current_term_passes() {
    assert_eq!(admit(&case(Presented::Own(claim(5)))), Verdict::Accepted(token(5)));
}

#[test]
fn each_rejection_has_its_code() {
    let own = |c| case(Presented::Own(c));
    assert_eq!(code(&case(Presented::Nothing)), "LF002");
    assert_eq!(code(&case(Presented::Malformed(-3))), "LF013");
    assert_eq!(code(&case(Presented::Contradiction(4, 5))), "LF013");
    assert_eq!(code(&case(Presented::Foreign(9))), "LF004");
    assert_eq!(code(&case(Presented::Elsewhere(token(5)))), "LF004");
    assert_eq!(code(&own(claim(6))), "LF004", "above anything issued for the lease");
    assert_eq!(code(&own(Claim { role_permitted: false, ..claim(5) })), "LF008");
    assert_eq!(code(&own(claim(4))), "LF001");
    assert_eq!(code(&own(Claim { ended: Some(EndReason::Released), ..claim(5) })), "LF003");
    assert_eq!(code(&own(Claim { expires_at: 50, ..claim(5) })), "LF003");
    assert_eq!(code(&own(Claim { takeover_visible: false, ..claim(5) })), "40001");
    assert_eq!(code(&Case { fence: None, ..own(claim(5)) }), "LF004");
    let older = Token::new(EPOCH - 1, 5).unwrap();
    assert_eq!(code(&own(Claim { token: older, ..claim(5) })), "LF005");
    assert_eq!(code(&Case { coordinator: Coordinator::LineageChanged, ..own(claim(5)) }), "LF006");
    assert_eq!(code(&Case { coordinator: Coordinator::Closed, ..own(claim(5)) }), "LF007");
}

#[test]
fn a_superseded_term_is_rejected_whatever_the_rules() {
    let open = Coordinator::Open(EPOCH);
    let rejected = |fence, coordinator| {
        let (claim, fence) = Claim::superseded(fence, coordinator).unwrap();
        for on_missing in [MissingRule::Reject, MissingRule::Admit] {
            for on_expiry in [ExpiryRule::Reject, ExpiryRule::AcceptUntilSuperseded] {
                let case = case(Presented::Own(claim));
                let verdict = admit(&Case { coordinator, fence: Some(fence), on_missing, on_expiry, ..case });
                assert!(matches!(verdict, Verdict::Rejected(_)), "{verdict:?}");
            }
        }
        code(&Case { coordinator, fence: Some(fence), ..case(Presented::Own(claim)) })
    };
    assert_eq!(rejected(Some(token(5)), open), "LF001");
    assert_eq!(rejected(Some(token(1)), open), "LF003", "nothing is older than the first");
    assert_eq!(rejected(None, open), "LF003", "never granted");
    assert_eq!(rejected(Some(Token::new(EPOCH - 1, 5).unwrap()), open), "LF005");
    for closed in [Coordinator::Closed, Coordinator::LineageChanged] {
        assert_eq!(Claim::superseded(Some(token(5)), closed), None);
    }
}

/// What proves that an epoch has come to a table.
#[test]
fn a_term_of_the_epoch_before_is_rejected_whatever_the_rules() {
    let open = Coordinator::Open(EPOCH);
    let fences = [None, Some(token(5)), Some(token(1)), Token::new(EPOCH - 1, 5).ok(), Token::new(1, 1).ok()];
    for fence in fences {
        let (claim, fence) = Claim::of_older_epoch(fence, open).unwrap();
        for on_missing in [MissingRule::Reject, MissingRule::Admit] {
            for on_expiry in [ExpiryRule::Reject, ExpiryRule::AcceptUntilSuperseded] {
                let case = case(Presented::Own(claim));
                assert_eq!(code(&Case { fence: Some(fence), on_missing, on_expiry, ..case }), "LF005", "{fence}");
            }
        }
    }
    for none in [Coordinator::Closed, Coordinator::LineageChanged, Coordinator::Open(1)] {
        assert_eq!(Claim::of_older_epoch(Some(token(5)), none), None);
    }
}

#[test]
fn a_blocked_table_takes_nothing_and_says_what_is_next() {
    for blocked in [Blocked::Install, Blocked::Prove, Blocked::Resume] {
        for case in [case(Presented::Own(claim(5))), case(Presented::Nothing)] {
            let case = Case { blocked: Some(blocked), on_missing: MissingRule::Admit, ..case };
            let Verdict::Rejected(why) = admit(&case) else { panic!("{case:?}") };
            let error = why.error("jobs/a", Some("public.t"));
            assert_eq!(error.code, Code::CoordinatorClosed);
            assert!(error.hint.unwrap().contains(blocked.function()));
        }
    }
    let blocked = Case { blocked: Some(Blocked::Resume), ..case(Presented::Own(claim(5))) };
    assert_eq!(code(&Case { coordinator: Coordinator::LineageChanged, ..blocked }), "LF006");
}

#[test]
fn earlier_rules_come_first() {
    let stale = Claim { role_permitted: false, ended: Some(EndReason::Expired), takeover_visible: false, ..claim(4) };
    assert_eq!(code(&case(Presented::Own(stale))), "LF008");
    let stale = Claim { role_permitted: true, ..stale };
    assert_eq!(code(&case(Presented::Own(stale))), "LF001");
    let gone = Claim { takeover_visible: false, ended: Some(EndReason::Revoked), ..claim(5) };
    assert_eq!(code(&case(Presented::Own(gone))), "LF003", "a term that is over must not be retried");
    let closed = Case { coordinator: Coordinator::Closed, on_missing: MissingRule::Admit, ..case(Presented::Nothing) };
    assert_eq!(code(&closed), "LF007");
}

#[test]
fn admit_is_for_those_who_present_nothing() {
    let admit = |presented| code(&Case { on_missing: MissingRule::Admit, ..case(presented) });
    assert_eq!(admit(Presented::Nothing), "admitted");
    assert_eq!(admit(Presented::Foreign(9)), "LF004");
    assert_eq!(admit(Presented::Elsewhere(token(5))), "LF004");
    assert_eq!(admit(Presented::Own(claim(4))), "LF001");
}

#[test]
fn expiry_is_the_namespaces_choice() {
    let lapsed = Case { now: 1000, ..case(Presented::Own(claim(5))) };
    assert_eq!(code(&lapsed), "LF003");
    assert_eq!(code(&Case { on_expiry: ExpiryRule::AcceptUntilSuperseded, ..lapsed }), "accepted");
}

#[test]
fn what_ends_a_term_before_commit() {
    let held = Record {
        token: token(5),
        ended: None,
        acquired_at: 0,
        renewed_at: 0,
        expires_at: 100,
        ended_at: None,
        revoke_at: NEVER,
        session_gone: false,
        kept_until: Instant::MIN,
    };
    let check = |lease: Option<&Record>, here, rule, now| match ended_before_commit(token(5), lease, here, rule, now)? {
        Rejection::Ended(_, reason) => Some(reason),
        other => panic!("{other:?}"),
    };
    let reject = ExpiryRule::Reject;
    assert_eq!(check(Some(&held), false, reject, 99), None);
    assert_eq!(check(Some(&held), false, reject, 100), Some(EndReason::Expired));
    assert_eq!(check(Some(&held), false, ExpiryRule::AcceptUntilSuperseded, 100), None);
    assert_eq!(check(None, false, reject, 0), Some(EndReason::Deleted));
    for reason in EndReason::ALL {
        let over = Record { ended: Some(reason), ended_at: Some(50), ..held };
        assert_eq!(check(Some(&over), false, reject, 60), Some(reason));
        assert_eq!(check(Some(&over), true, reject, 200), None, "given back by this very transaction");
    }
    for rule in [reject, ExpiryRule::AcceptUntilSuperseded] {
        let announced = Record { revoke_at: 50, ..held };
        assert_eq!(check(Some(&announced), false, rule, 49), None);
        assert_eq!(check(Some(&announced), false, rule, 50), Some(EndReason::Revoked));
        let gone = Record { session_gone: true, ..held };
        assert_eq!(check(Some(&gone), false, rule, 10), Some(EndReason::SessionLost));
        // Seen only after the term had run out: named as everywhere else, where that ends it.
        let named = if rule == reject { EndReason::Expired } else { EndReason::SessionLost };
        assert_eq!(check(Some(&gone), false, rule, 100), Some(named));
    }
    let other = Record { token: token(6), ..held };
    let stale = Rejection::Stale { presented: token(5), fence: token(6) };
    assert_eq!(ended_before_commit(token(5), Some(&other), false, reject, 0), Some(stale));
}

fn any_claim() -> impl Strategy<Value = Claim> {
    (
        1i64..12,
        1i64..12,
        any::<bool>(),
        prop::option::of(prop::sample::select(EndReason::ALL.to_vec())),
        0i64..200,
        any::<bool>(),
    )
        .prop_map(|(epoch, seq, role_permitted, ended, expires_at, takeover_visible)| Claim {
            token: Token::new(epoch, seq).unwrap(),
            role_permitted,
            ended,
            expires_at,
            takeover_visible,
        })
}

proptest! {
    /// G1: nothing but the highest accepted term of the open epoch is ever accepted.
    #[test]
    fn only_the_fences_own_token_is_accepted(
        claim in any_claim(), fence_epoch in 1i64..12, fence_seq in 1i64..12, open in 1i64..12,
        admit_missing: bool, accept_expired: bool, now in 0i64..200,
    ) {
        let case = Case {
            coordinator: Coordinator::Open(open),
            blocked: None,
            presented: Presented::Own(claim),
            fence: Token::new(fence_epoch, fence_seq).ok(),
            on_missing: if admit_missing { MissingRule::Admit } else { MissingRule::Reject },
            on_expiry: if accept_expired { ExpiryRule::AcceptUntilSuperseded } else { ExpiryRule::Reject },
            now,
        };
        if let Verdict::Accepted(token) = admit(&case) {
            prop_assert_eq!(Some(token), case.fence);
            prop_assert_eq!(token.epoch(), open);
            prop_assert!(claim.role_permitted && claim.ended.is_none() && claim.takeover_visible);
            prop_assert!(accept_expired || now < claim.expires_at);
        }
        prop_assert_ne!(admit(&case), Verdict::Admitted);
    }
}
