use super::*;
use proptest::prelude::*;

fn token(epoch: i64, seq: i64) -> Token {
    Token::new(epoch, seq).unwrap()
}

fn one(epoch: i64, seq: i64) -> Presented {
    Presented::One(token(epoch, seq).to_bigint())
}

const ID: [u8; 16] = [1; 16];
const OTHER_ID: [u8; 16] = [2; 16];

fn rejected(source: Source, presented: Presented, on_missing: MissingRule) -> Rejection {
    match claim(source, presented, on_missing, None) {
        Err(Verdict::Rejected(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_order_of_the_rules() {
    use {MissingRule::Reject, Rejection as R, Source as S};
    let everything =
        [Presented::Nothing, Presented::Other(1), Presented::One(0), Presented::Contradiction(1, 2), one(5, 1)];
    for presented in everything {
        assert_eq!(rejected(S::LineageChanged, presented, Reject), R::LineageChanged);
        assert_eq!(rejected(S::Conflict(5), presented, Reject), R::Conflict(5));
    }
    for source in [S::Open(5), S::NoEpoch] {
        assert_eq!(rejected(source, Presented::Nothing, Reject), R::Missing);
        assert_eq!(rejected(source, Presented::Other(7), Reject), R::Unknown(7));
        assert_eq!(rejected(source, Presented::One(-1), Reject), R::Malformed(-1));
        assert_eq!(rejected(source, Presented::Contradiction(1, 2), Reject), R::Contradiction(1, 2));
    }
    assert_eq!(claim(S::Open(5), one(5, 1), Reject, None), Ok(token(5, 1)));
}

#[test]
fn older_epochs_and_unknown_newer_ones_are_rejected() {
    for (installed, source) in [(Some(5), Source::Open(5)), (None, Source::NoEpoch)] {
        for epoch in [4, 6] {
            let why = rejected(source, one(epoch, 9), MissingRule::Reject);
            assert_eq!(why, Rejection::Epoch { presented: token(epoch, 9), installed });
        }
    }
}

#[test]
fn only_what_presents_nothing_is_admitted() {
    let admit = MissingRule::Admit;
    assert_eq!(claim(Source::Open(5), Presented::Nothing, admit, None), Err(Verdict::Admitted));
    assert_eq!(rejected(Source::Open(5), Presented::Other(7), admit), Rejection::Unknown(7));
    assert_eq!(rejected(Source::Conflict(5), Presented::Nothing, admit), Rejection::Conflict(5));
    assert_eq!(rejected(Source::LineageChanged, Presented::Nothing, admit), Rejection::LineageChanged);
}

#[test]
fn a_transaction_goes_on_under_no_newer_token() {
    let (old, new) = (token(5, 1), token(5, 2));
    let claim = |presented, accepted| claim(Source::Open(5), presented, MissingRule::Reject, Some(accepted));
    assert_eq!(claim(one(5, 1), old), Ok(old));
    let contradiction = Rejection::Contradiction(old.to_bigint(), new.to_bigint());
    assert_eq!(claim(one(5, 2), old), Err(Verdict::Rejected(contradiction)));
    // The older one is for the fence to reject.
    assert_eq!(claim(one(5, 1), new), Ok(old));
}

#[test]
fn the_floor_stands_for_what_was_forgotten() {
    let floor = Some(token(5, 10));
    assert!(matches!(compare(token(5, 9), None, floor), Err(Rejection::Stale { .. })));
    // Forgotten itself, it is accepted again.
    assert_eq!(compare(token(5, 10), None, floor), Ok(Hold::Advance));
    // A lease that was not forgotten is no staler for it.
    assert_eq!(compare(token(5, 3), Some(token(5, 3)), floor), Ok(Hold::Share));
    assert_eq!(compare(token(5, 4), Some(token(5, 3)), floor), Ok(Hold::Advance));
}

#[test]
fn epochs_are_installed_upwards_alone() {
    let earlier = |source| Some(Installed { epoch: 5, identity: ID, source });
    assert_eq!(install(None, 1, ID), Ok(Installation::New));
    for source in [Source::Open(5), Source::NoEpoch, Source::Conflict(5), Source::LineageChanged] {
        assert_eq!(install(earlier(source), 6, ID), Ok(Installation::New));
        assert_eq!(install(earlier(source), 6, OTHER_ID), Ok(Installation::New));
        assert_eq!(install(earlier(source), 4, ID).unwrap_err().code, Code::EpochMismatch);
        assert_eq!(install(earlier(source), 4, OTHER_ID).unwrap_err().code, Code::EpochMismatch);
        let again = install(earlier(source), 5, OTHER_ID);
        match source {
            Source::NoEpoch => assert_eq!(again.unwrap_err().code, Code::EpochMismatch),
            _ => assert_eq!(again, Ok(Installation::Conflict)),
        }
    }
    assert_eq!(install(None, 0, ID).unwrap_err().code, Code::InvalidParameter);
    assert_eq!(install(None, crate::token::MAX_EPOCH + 1, ID).unwrap_err().code, Code::TermsExhausted);
}

#[test]
fn the_same_epoch_again_opens_nothing() {
    let earlier = |source| Some(Installed { epoch: 5, identity: ID, source });
    assert_eq!(install(earlier(Source::Open(5)), 5, ID), Ok(Installation::Same));
    assert_eq!(install(earlier(Source::Conflict(5)), 5, ID), Ok(Installation::Conflict));
    assert_eq!(install(earlier(Source::LineageChanged), 5, ID).unwrap_err().code, Code::LineageChanged);
    assert_eq!(install(earlier(Source::NoEpoch), 5, ID).unwrap_err().code, Code::EpochMismatch);
}

#[test]
fn a_proof_meets_a_stale_token_or_what_closes_the_destination() {
    let stale_of = |stored: Option<Token>, floor| match stale(Source::Open(5), stored, floor) {
        Rejection::Stale { presented, highest } => (presented, highest),
        other => panic!("{other:?}"),
    };
    assert_eq!(stale_of(Some(token(5, 7)), None), (token(5, 6), token(5, 7)));
    assert_eq!(stale_of(None, Some(token(5, 7))), (token(5, 6), token(5, 7)));
    assert_eq!(stale_of(Some(token(4, 7)), None), (token(5, 1), token(5, 2)));
    assert_eq!(stale_of(None, None), (token(5, 1), token(5, 2)));
    assert_eq!(stale(Source::Conflict(5), None, None), Rejection::Conflict(5));
    assert_eq!(stale(Source::LineageChanged, None, None), Rejection::LineageChanged);
    assert!(matches!(stale(Source::NoEpoch, None, None), Rejection::Epoch { installed: None, .. }));
    assert!(matches!(stale(Source::Open(crate::token::MAX_EPOCH), None, None), Rejection::Stale { .. }));
}

#[test]
fn names() {
    for kind in Kind::ALL {
        assert_eq!(Kind::parse(kind.as_str()), Ok(kind));
    }
    assert_eq!(Kind::parse("consul").unwrap_err().code, Code::InvalidParameter);
    assert_eq!(Kind::parse("").unwrap_err().code, Code::InvalidParameter);
    assert!(check_name("etcd-1").is_ok());
    assert_eq!(check_name("Etcd").unwrap_err().message, "invalid coordinator name \"Etcd\"");
    assert!(check_namespace("/locks/a b").is_ok());
    assert_eq!(check_namespace("").unwrap_err().code, Code::InvalidParameter);
    assert_eq!(check_namespace(&"x".repeat(513)).unwrap_err().code, Code::InvalidParameter);
}

#[test]
fn messages_are_whole() {
    let about = Subject { coordinator: "etcd", lease: "jobs/a", relation: Some("public.doc"), differences: "" };
    let all = [
        Rejection::LineageChanged,
        Rejection::Conflict(5),
        Rejection::Missing,
        Rejection::Malformed(0),
        Rejection::Contradiction(1, 2),
        Rejection::Unknown(1),
        Rejection::Epoch { presented: token(4, 1), installed: Some(5) },
        Rejection::Epoch { presented: token(6, 1), installed: Some(5) },
        Rejection::Epoch { presented: token(6, 1), installed: None },
        Rejection::Stale { presented: token(5, 1), highest: token(5, 2) },
        Rejection::SnapshotPredatesTakeover(token(5, 1)),
    ];
    for why in all {
        let error = why.error(about);
        assert!(!error.message.ends_with('.') && error.message.starts_with(|c: char| !c.is_uppercase()), "{error}");
        let (detail, hint) = (error.detail.unwrap(), error.hint.unwrap());
        assert!(detail.ends_with('.') && detail.contains("\"etcd\"") || why == Rejection::Conflict(5), "{detail}");
        assert!(hint.ends_with('.'), "{hint}");
    }
}

/// What the transactions of a history do to one fence, one after the other.
#[derive(Clone, Copy, Debug)]
enum Step {
    Write(i64),
    Forget,
}

proptest! {
    /// Whatever is forgotten meanwhile, nothing older than an accepted token is accepted after it.
    #[test]
    fn accepted_tokens_never_fall(steps in prop::collection::vec(
        prop_oneof![4 => (1..20i64).prop_map(Step::Write), 1 => Just(Step::Forget)], 0..60,
    )) {
        let (mut stored, mut floor) = (None, None);
        let mut highest = None;
        for step in steps {
            match step {
                Step::Write(seq) => if compare(token(5, seq), stored, floor).is_ok() {
                    prop_assert!(highest <= Some(seq));
                    (stored, highest) = (Some(token(5, seq)), Some(seq));
                } else {
                    prop_assert!(Some(seq) < highest);
                },
                Step::Forget => {
                    floor = floor.max(stored);
                    stored = None;
                }
            }
        }
    }

    /// Whoever only shares the fence has nothing to write to it.
    #[test]
    fn sharers_are_equal(seq in 1..9i64, stored in prop::option::of(1..9i64), floor in prop::option::of(1..9i64)) {
        let (stored, floor) = (stored.map(|n| token(5, n)), floor.map(|n| token(5, n)));
        let held = compare(token(5, seq), stored, floor);
        prop_assert_eq!(held == Ok(Hold::Share), stored == Some(token(5, seq)));
    }
}
