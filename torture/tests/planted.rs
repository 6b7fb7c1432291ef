//! The checker on histories that are made up: nothing is found where all is well, and each planted fault is.

mod story;

use fencing_torture::check::Fault;
use fencing_torture::history::{Kind, Status};
use fencing_torture::last::Counter;
use fencing_torture::plan::{Lease, THREADS};
use story::{LENIENT, STAMPED, STRICT, Story};

/// A term is followed by the next one, after it has run out: two clients, both have written.
fn takeover(lease: Lease) -> (Story, i64, i64) {
    let mut story = Story::new(4);
    let first = story.grant(0, lease);
    story.write(0, lease, first);
    story.expire();
    let second = story.grant(1, lease);
    story.write(1, lease, second);
    story.is_good();
    (story, first, second)
}

#[track_caller]
fn found(story: &Story, fault: Fault) {
    let faults = story.faults();
    assert!(faults.contains(&fault), "{fault:?} is not among {faults:?}");
}

#[test]
fn all_is_well() {
    for lease in [STRICT, STAMPED, LENIENT] {
        let (mut story, first, second) = takeover(lease);
        story.refused(0, lease, first, "LF001");
        story.renew(1, lease, second, Status::Renewed);
        story.release(1, lease, second);
        story.refused(1, lease, second, "LF003");
        let third = story.grant(2, lease);
        story.revoke(3, lease, 0);
        story.refused(2, lease, third, "LF003");
        story.refused(2, lease, 0, "LF002");
        story.refused(2, Lease(20), third, "LF004");
        let fourth = story.grant(2, lease);
        story.advance();
        story.refused(2, lease, fourth, "LF005");
        story.crash();
        let fifth = story.grant(3, lease);
        story.write(3, lease, fifth);
        story.is_good();
    }
}

#[test]
fn what_a_lenient_namespace_lets_pass() {
    let mut story = Story::new(2);
    let token = story.grant(0, LENIENT);
    story.expire();
    story.write(0, LENIENT, token);
    story.is_good();
}

#[test]
fn a_stale_write_after_the_successors() {
    let (mut story, first, _) = takeover(STRICT);
    story.write(0, STRICT, first);
    found(&story, Fault::StaleWrite);
    found(&story, Fault::LateWrite);
    found(&story, Fault::EndedWrite);
    found(&story, Fault::NotLinearizable);
}

#[test]
fn a_write_committed_once_the_successor_is_known() {
    let mut story = Story::new(2);
    let first = story.grant(0, LENIENT);
    story.expire();
    story.grant(1, LENIENT);
    story.write(0, LENIENT, first);
    found(&story, Fault::LateWrite);
}

#[test]
fn a_commit_that_began_before_and_ended_after() {
    let mut story = Story::new(2);
    let first = story.grant(0, LENIENT);
    story.begin(0, Kind::Begin, Lease(0), 0, 0);
    let write = story.begin(0, Kind::Write, LENIENT, first, 1);
    story.answer(0, write, Status::Done, 0, 0, 0);
    story.expire();
    story.grant(1, LENIENT);
    let commit = story.begin(0, Kind::Commit, Lease(0), 0, 0);
    story.row(LENIENT, first, 1, write);
    story.answer(0, commit, Status::Done, 0, 0, 0);
    assert_eq!(story.faults(), [Fault::LateWrite]);
}

#[test]
fn a_write_after_the_terms_end() {
    let ends: [fn(&mut Story, i64); 5] = [
        |story, token| story.release(0, STRICT, token),
        |story, _| story.revoke(1, STRICT, 0),
        |story, _| {
            story.revoke(1, STRICT, 20);
            story.pass(30);
        },
        |story, _| story.advance(),
        |story, _| story.expire(),
    ];
    for end in ends {
        let mut story = Story::new(2);
        let token = story.grant(0, STRICT);
        story.write(0, STRICT, token);
        end(&mut story, token);
        story.is_good();
        story.write(0, STRICT, token);
        assert_eq!(story.faults(), [Fault::EndedWrite]);
    }
}

/// The last step: it would have run out before the commit, but is given back before.
#[test]
fn a_term_given_back_in_the_transaction_itself() {
    for given_back in [true, false] {
        let mut story = Story::new(2);
        let token = story.grant(0, STRICT);
        story.begin(0, Kind::Begin, Lease(0), 0, 0);
        let write = story.begin(0, Kind::Write, STRICT, token, 1);
        story.answer(0, write, Status::Done, 0, 0, 0);
        if given_back {
            let release = story.begin(0, Kind::Release, STRICT, token, 1);
            story.answer(0, release, Status::Released, 0, 0, 0);
        }
        story.expire();
        let commit = story.begin(0, Kind::Commit, Lease(0), 0, 0);
        story.row(STRICT, token, 1, write);
        story.answer(0, commit, Status::Done, 0, 0, 0);
        assert_eq!(story.faults(), if given_back { vec![] } else { vec![Fault::EndedWrite] });
    }
}

#[test]
fn a_write_under_another_leases_term() {
    let mut story = Story::new(2);
    let token = story.grant(0, STRICT);
    story.write(0, STAMPED, token);
    assert_eq!(story.faults(), [Fault::ForeignWrite]);
}

#[test]
fn a_write_without_a_term() {
    let mut story = Story::new(2);
    story.write(0, STRICT, 0);
    assert_eq!(story.faults(), [Fault::ForeignWrite]);
}

#[test]
fn a_row_that_is_stamped_otherwise() {
    let (mut story, first, _) = takeover(STAMPED);
    for stamp in [Some(first), None] {
        story.last.written[1].stamped = stamp;
        assert_eq!(story.faults(), [Fault::ForeignWrite]);
    }
}

#[test]
fn a_holder_that_has_not_seen_the_last_write() {
    let mut story = Story::new(2);
    let first = story.grant(0, STRICT);
    story.write(0, STRICT, first);
    story.release(0, STRICT, first);
    let second = story.grant(1, STRICT);
    let op = story.begin(1, Kind::Alone, STRICT, second, 1);
    story.row(STRICT, second, 1, op);
    story.answer(1, op, Status::Done, 0, 0, 0);
    assert_eq!(story.faults(), [Fault::LostUpdate]);
}

/// In REPEATABLE READ (and not in READ COMMITTED) a term must not be younger than what was read.
#[test]
fn a_write_under_a_term_that_the_snapshot_is_older_than() {
    for isolation in [0, 1] {
        let mut story = Story::new(2);
        story.begin(0, Kind::Begin, Lease(0), 0, isolation);
        let token = story.grant(0, STRICT);
        let write = story.begin(0, Kind::Write, STRICT, token, 1);
        story.answer(0, write, Status::Done, 0, 0, 0);
        let commit = story.begin(0, Kind::Commit, Lease(0), 0, 0);
        story.row(STRICT, token, 1, write);
        story.answer(0, commit, Status::Done, 0, 0, 0);
        assert_eq!(story.faults(), if isolation > 0 { vec![Fault::OldSnapshot] } else { vec![] });
    }
}

#[test]
fn a_committed_write_that_is_gone() {
    let (mut story, ..) = takeover(STRICT);
    story.last.written.pop();
    story.last.counters[usize::from(STRICT.0)] = Counter { n: 1, v: 1 };
    assert_eq!(story.faults(), [Fault::LostWrite]);
}

/// One whose commit didn't wait may be lost in a crash, but not behind one that did.
#[test]
fn an_asynchronous_commit_behind_a_durable_one() {
    let lazy = usize::from(THREADS - 1);
    let story = |durable: bool| {
        let mut story = Story::new(4);
        let token = story.grant(lazy, STRICT);
        let op = story.begin(lazy, Kind::Alone, STRICT, token, 1);
        story.answer(lazy, op, Status::Done, 0, 0, 0);
        if durable {
            let other = story.grant(0, STAMPED);
            story.write(0, STAMPED, other);
        }
        story.crash();
        story
    };
    story(false).is_good();
    assert_eq!(story(true).faults(), [Fault::LostWrite]);
}

#[test]
fn an_asynchronous_commit_without_a_crash() {
    let lazy = usize::from(THREADS - 1);
    let mut story = Story::new(4);
    story.crash();
    let token = story.grant(lazy, STRICT);
    let op = story.begin(lazy, Kind::Alone, STRICT, token, 1);
    story.answer(lazy, op, Status::Done, 0, 0, 0);
    assert_eq!(story.faults(), [Fault::LostWrite]);
}

#[test]
fn a_prepared_transaction_that_is_gone() {
    let mut story = Story::new(2);
    let token = story.grant(0, STRICT);
    story.begin(0, Kind::Begin, Lease(0), 0, 0);
    let write = story.begin(0, Kind::Write, STRICT, token, 1);
    story.answer(0, write, Status::Done, 0, 0, 0);
    let prepare = story.begin(0, Kind::Prepare, Lease(0), 0, 0);
    story.answer(0, prepare, Status::Done, 0, 0, 0);
    assert_eq!(story.faults(), [Fault::LostWrite]);
}

#[test]
fn a_refused_write_that_is_there() {
    let (mut story, first, second) = takeover(STRICT);
    let op = story.refused(0, STRICT, first, "LF001");
    story.row(STRICT, second, 3, op);
    found(&story, Fault::Phantom);
}

#[test]
fn a_write_undone_by_a_savepoint_that_is_there() {
    let mut story = Story::new(2);
    let token = story.grant(0, STRICT);
    story.begin(0, Kind::Begin, Lease(0), 0, 0);
    let mark = story.begin(0, Kind::Undo, Lease(0), 0, 0);
    let write = story.begin(0, Kind::Write, STRICT, token, 1);
    story.answer(0, write, Status::Done, 0, 0, 0);
    let undo = story.begin(0, Kind::Undo, Lease(0), 0, mark as i64);
    story.answer(0, undo, Status::Done, 0, 0, 0);
    let commit = story.begin(0, Kind::Commit, Lease(0), 0, 0);
    story.answer(0, commit, Status::Done, 0, 0, 0);
    story.is_good();
    story.row(STRICT, token, 1, write);
    assert_eq!(story.faults(), [Fault::Phantom]);
}

#[test]
fn a_row_that_nobody_wrote() {
    let (mut story, _, second) = takeover(STRICT);
    story.row(STRICT, second, 3, 4711);
    assert_eq!(story.faults(), [Fault::Phantom]);
}

#[test]
fn a_counter_that_is_not_its_writes() {
    let (mut story, ..) = takeover(STRICT);
    story.last.counters[usize::from(STRICT.0)].n += 1;
    assert_eq!(story.faults(), [Fault::Miscounted]);
}

#[test]
fn a_token_granted_twice() {
    let (mut story, _, second) = takeover(STRICT);
    story.grant_of(2, STAMPED, second);
    found(&story, Fault::DuplicateTerm);
}

#[test]
fn a_token_granted_again_after_a_crash() {
    let (mut story, _, second) = takeover(STRICT);
    story.crash();
    story.expire();
    story.grant_of(2, STRICT, second);
    found(&story, Fault::DuplicateTerm);
}

#[test]
fn a_later_term_with_a_lower_token() {
    let (mut story, first, _) = takeover(STRICT);
    story.grant_of(2, STAMPED, first - 1);
    assert_eq!(story.faults(), [Fault::ReorderedTerms]);
}

#[test]
fn a_token_of_an_earlier_round() {
    let (mut story, _, second) = takeover(STRICT);
    story.last.highest_before = second + 10;
    assert_eq!(story.faults(), [Fault::ReorderedTerms]);
}

#[test]
fn a_term_granted_while_another_is_current() {
    let mut story = Story::new(2);
    story.grant(0, STRICT);
    story.grant(1, STRICT);
    assert_eq!(story.faults(), [Fault::TwoCurrent]);
}

#[test]
fn a_term_granted_in_spite_of_a_renewal() {
    let mut story = Story::new(2);
    let first = story.grant(0, STRICT);
    story.pass(200);
    story.renew(0, STRICT, first, Status::Renewed);
    story.pass(100);
    story.grant(1, STRICT);
    assert_eq!(story.faults(), [Fault::TwoCurrent]);
}

#[test]
fn a_term_granted_before_the_grace_is_over() {
    let mut story = Story::new(2);
    story.grant(0, STRICT);
    story.revoke(1, STRICT, 100);
    story.pass(50);
    story.grant(1, STRICT);
    assert_eq!(story.faults(), [Fault::TwoCurrent]);
}

#[test]
fn a_term_that_is_gone() {
    let (mut story, ..) = takeover(STRICT);
    story.last.terms.pop();
    found(&story, Fault::LostTerm);
}

#[test]
fn a_term_that_nobody_asked_for() {
    let (mut story, ..) = takeover(STRICT);
    let (token, acquired_at) = (story.token(), story.wall());
    story.last.terms.push(fencing_torture::last::Term { lease: STRICT, token, acquired_at });
    assert_eq!(story.faults(), [Fault::PhantomTerm]);
}

#[test]
fn a_term_renewed_after_its_end() {
    let (mut story, first, _) = takeover(STRICT);
    story.renew(0, STRICT, first, Status::Renewed);
    found(&story, Fault::Resurrected);
}

#[test]
fn a_refusal_without_a_reason() {
    for state in ["LF001", "LF002", "LF003", "LF004", "LF005", "LF006", "LF007", "40001", "55000", "23505"] {
        let mut story = Story::new(2);
        let token = story.grant(0, STRICT);
        story.refused(0, STRICT, token, state);
        found(&story, Fault::NoEvidence);
    }
}

#[test]
fn a_refusal_before_its_reason() {
    let mut story = Story::new(2);
    let first = story.grant(0, LENIENT);
    story.expire();
    story.refused(0, LENIENT, first, "LF001");
    story.pass(1);
    story.grant(1, LENIENT);
    found(&story, Fault::NoEvidence);
    found(&story, Fault::NotLinearizable);
}

#[test]
fn a_commit_refused_without_a_reason() {
    let mut story = Story::new(2);
    let token = story.grant(0, STRICT);
    story.begin(0, Kind::Begin, Lease(0), 0, 0);
    let write = story.begin(0, Kind::Write, STRICT, token, 1);
    story.answer(0, write, Status::Done, 0, 0, 0);
    let commit = story.begin(0, Kind::Commit, Lease(0), 0, 0);
    let number = "LF003".bytes().fold(0, |n, byte| n << 8 | i64::from(byte));
    story.answer(0, commit, Status::Refused, 0, number, 0);
    assert_eq!(story.faults(), [Fault::NoEvidence]);
}

/// A bound term is over with its session, which lived as long as it answered.
#[test]
fn a_term_whose_session_is_over() {
    for alive in [false, true] {
        let mut story = Story::new(2);
        let token = story.grant_bound(0, STRICT);
        story.refused(1, STRICT, token, "LF003");
        if alive {
            story.write(0, STRICT, token);
        }
        story.end(0);
        assert_eq!(story.faults(), if alive { vec![Fault::NoEvidence] } else { vec![] });
    }
}

#[test]
fn a_lease_that_is_held_while_it_is_removed() {
    for removed in [true, false] {
        let (mut story, _, second) = takeover(STRICT);
        story.release(1, STRICT, second);
        let purge = story.purge();
        if !removed {
            story.answer(4, purge, Status::Done, 0, 1, 0);
        }
        let op = story.begin(2, Kind::Acquire, STRICT, 0, 0);
        story.answer(2, op, Status::Held, 0, 0, 0);
        assert_eq!(story.faults(), if removed { vec![] } else { vec![Fault::NoEvidence] });
    }
}

#[test]
fn a_term_that_is_said_to_be_over() {
    for status in [
        Status::Expired,
        Status::Superseded,
        Status::Released,
        Status::Revoked,
        Status::SessionLost,
        Status::EpochClosed,
        Status::Unknown,
    ] {
        let mut story = Story::new(2);
        let token = story.grant(0, STRICT);
        story.renew(0, STRICT, token, status);
        assert_eq!(story.faults(), [Fault::NoEvidence], "{status:?}");
    }
}

#[test]
fn a_lease_that_is_held_by_nobody() {
    for status in [Status::Held, Status::Closed, Status::CoolingDown, Status::Over] {
        let (mut story, _, second) = takeover(STRICT);
        story.release(1, STRICT, second);
        let op = story.begin(2, Kind::Acquire, STRICT, 0, 0);
        story.answer(2, op, status, 0, 0, 0);
        assert_eq!(story.faults(), [Fault::NoEvidence], "{status:?}");
    }
}

#[test]
fn an_error_that_has_no_place() {
    let mut story = Story::new(2);
    let op = story.begin(0, Kind::Revoke, STRICT, 0, 0);
    let number = "XX000".bytes().fold(0, |n, byte| n << 8 | i64::from(byte));
    story.answer(0, op, Status::Refused, 0, number, 0);
    assert_eq!(story.faults(), [Fault::Unexpected]);
}
