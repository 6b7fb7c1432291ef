//! Each broken variant breaks its promise, by a path that is printed.

use fencing_model::measures::Without;
use fencing_model::variants::{self, Variant};
use fencing_model::{explore, shortest, trace};

fn is_caught(variant: Variant) {
    let Variant { title, without, config, breaks } = variant;
    let (path, explored) = shortest(config, Without::of(without), breaks).expect("a path that breaks the promise");
    let steps = path.clone().into_actions().len();
    println!("{title}: breaks \"{breaks}\" in {steps} steps; {} states seen, without {without:?}", explored.unique);
    println!("{}", trace(&path));
    let whole = explore(config, Without::default(), 1);
    assert_eq!(whole.broken(), None, "with all counter-measures, too");
}

macro_rules! caught {
    ($($test:ident: $variant:ident,)*) => {$(
        #[test]
        fn $test() {
            is_caught(variants::$variant);
        }
    )*};
}

caught! {
    plain_read: PLAIN_READ,
    check_before_lock: CHECK_BEFORE_LOCK,
    verdict_survives_savepoint: VERDICT_SURVIVES_SAVEPOINT,
    takeover_without_lock: TAKEOVER_WITHOUT_LOCK,
    acquire_not_durable: ACQUIRE_NOT_DURABLE,
    epoch_not_compared: EPOCH_NOT_COMPARED,
    gate_not_drained: GATE_NOT_DRAINED,
    epoch_reused: EPOCH_REUSED,
    table_not_blocked: TABLE_NOT_BLOCKED,
    renewal_forgotten: RENEWAL_FORGOTTEN,
    sequence_read_before_lock: SEQUENCE_READ_BEFORE_LOCK,
    lineage_not_compared: LINEAGE_NOT_COMPARED,
    sequence_stays: SEQUENCE_STAYS,
    draw_not_flushed: DRAW_NOT_FLUSHED,
    no_stride: NO_STRIDE,
    not_beyond: NOT_BEYOND,
    draw_before_lock: DRAW_BEFORE_LOCK,
    no_commit_check: NO_COMMIT_CHECK,
    end_not_compared: END_NOT_COMPARED,
    old_snapshot: OLD_SNAPSHOT,
}

/// Where a variant has to leave out two counter-measures, one alone breaks nothing: the other is behind it.
#[test]
fn second_lines() {
    for (without, config) in variants::SECOND_LINES {
        let explored = explore(config, Without::of(without), 1);
        println!("without {without:?} alone: {} states, none of which breaks a promise", explored.unique);
        assert_eq!(explored.broken(), None, "without {without:?}");
    }
}
