//! Promotions: of a standby that had not heard of the last acquisitions, of two at once, and of one
//! after the other.

use fencing_tests::copies::{LINGERING, cut_off, promote, promote_lingering, standby, standby_with};
use fencing_tests::past::{early_session, original, verdict};
use fencing_tests::{Sql, Stop};
use postgres::Client;

#[test]
fn a_standby_that_had_lost_the_last_acquisitions() {
    let (mut cluster, mut past) = original(&[]);
    let copy = standby(&cluster);
    cut_off(&copy);
    past.goes_on(&cluster);
    let mut early = early_session(&copy);
    // Whoever asks before the promotion learns nothing that would be wrong after it.
    let mut admin = copy.connect();
    assert_eq!(admin.get::<i64>("SELECT count(*) FROM fencing.coordinators()"), 0);
    assert_eq!(admin.code("SELECT fencing.lineage()"), "25006");
    cluster.stop(Stop::Immediate);
    promote(&copy);
    // Neither does a session that has seen it as a standby take it for its primary.
    for token in past.lost.iter().chain([&past.current]) {
        assert_eq!(early.code(&format!("INSERT INTO report (fence) VALUES ({token})")), "LF006");
    }
    past.is_closed(&copy, "postgres", &["timeline", "data directory", "unclean start"]);
    let token = past.is_opened_again(&copy, "postgres");
    assert_eq!(early.code(&format!("INSERT INTO report (fence) VALUES ({})", past.current)), "LF005");
    assert_eq!(early.code(&format!("INSERT INTO report (fence) VALUES ({token})")), "00000");
}

/// What a session was told by the standby, it asks anew once that is a primary. It may have been told at the
/// last moment: where PostgreSQL has sessions forget what they know (not every release does), it is before.
#[test]
fn a_session_that_has_asked_the_standby() {
    let (mut cluster, past) = original(&[]);
    let copy = standby_with(&cluster, &[LINGERING]);
    let write = |token| format!("INSERT INTO report (fence) VALUES ({token})");
    let mut sessions = [copy.connect(), copy.connect()];
    let ask = |session: &mut Client| {
        assert_eq!(session.get::<String>(&format!("SELECT fencing.check_token({})", past.current)), "current");
        assert_eq!(session.get::<String>("SELECT state FROM fencing.inspect('jobs', 'a')"), "held");
    };
    ask(&mut sessions[0]);
    cluster.stop(Stop::Immediate);
    promote_lingering(&copy, || ask(&mut sessions[1]));
    for session in &mut sessions {
        assert_eq!(session.code(&write(past.current)), "LF006");
        assert_eq!(session.acquire("new", "x").status, "closed");
    }
    let token = past.is_opened_again(&copy, "postgres");
    for session in &mut sessions {
        assert_eq!(session.code(&write(past.current)), "LF005");
        assert_eq!(session.code(&write(token)), "00000");
    }
}

/// Started as a primary without a promotion, it is on the timeline of its primary; its files are its own.
#[test]
fn a_standby_without_its_signal_file() {
    let (cluster, mut past) = original(&[]);
    let mut copy = standby(&cluster);
    cut_off(&copy);
    past.goes_on(&cluster);
    copy.stop(Stop::Fast);
    std::fs::remove_file(copy.data().join("standby.signal")).expect("standby.signal");
    copy.start();
    past.is_closed(&copy, "postgres", &["data directory", "unclean start"]);
    let token = past.is_opened_again(&copy, "postgres");
    past.is_untouched(&cluster, token);
}

/// Both choose the same timeline, and perhaps the same number of an epoch: they don't issue the same
/// tokens.
#[test]
fn two_at_once() {
    let (mut cluster, mut past) = original(&[]);
    let copies = [standby(&cluster), standby(&cluster)];
    copies.iter().for_each(cut_off);
    past.goes_on(&cluster);
    cluster.stop(Stop::Immediate);
    copies.iter().for_each(promote);
    let timelines = "SELECT actual ->> 'timeline' FROM fencing.lineage()";
    assert_eq!(copies.each_ref().map(|copy| copy.connect().get::<String>(timelines)), ["2", "2"]);
    for copy in &copies {
        past.is_closed(copy, "postgres", &["timeline", "data directory", "unclean start"]);
    }
    let issued = copies.each_ref().map(|copy| {
        let token = past.is_opened_again(copy, "postgres");
        let mut session = copy.connect();
        let mut tokens: Vec<i64> = (0..50).map(|n| session.acquire(&format!("n{n}"), "x").granted()).collect();
        tokens.push(token);
        tokens
    });
    for (of, others) in [(0, 1), (1, 0)] {
        let mut session = copies[of].connect();
        for token in &issued[others] {
            assert!(!issued[of].contains(token), "{token} twice");
            let code = session.code(&format!("INSERT INTO report (fence) VALUES ({token})"));
            assert!(["LF004", "LF005"].contains(&code.as_str()), "{token}: {code}");
        }
        let own = issued[of].last().unwrap();
        assert_eq!(session.code(&format!("INSERT INTO report (fence) VALUES ({own})")), "00000");
    }
}

/// A standby of what was opened again is a copy once more when its turn comes.
#[test]
fn one_after_the_other() {
    let (mut first, mut past) = original(&[]);
    let second = standby(&first);
    first.stop(Stop::Fast);
    promote(&second);
    past.is_closed(&second, "postgres", &["timeline", "data directory", "unclean start"]);
    let token = past.is_opened_again(&second, "postgres");
    past.over.clear();
    past.current = token;
    let third = standby(&second);
    cut_off(&third);
    past.goes_on(&second);
    promote(&third);
    past.is_closed(&third, "postgres", &["timeline", "data directory", "unclean start"]);
    let token = past.is_opened_again(&third, "postgres");
    past.is_untouched(&second, token);
    assert_eq!(verdict(&mut third.connect()), ["same"]);
}

/// A write that was prepared before is part of what the copy has: it is named, and to be ended, before
/// an epoch is opened, and none of its kind comes after.
#[test]
fn with_a_prepared_transaction() {
    let (mut cluster, past) = original(&["fencing.allow_prepare=on", "fencing.max_wait=1s"]);
    let write = format!(
        "BEGIN; SELECT fencing.present({}); INSERT INTO keyed VALUES ('a', 1); PREPARE TRANSACTION 'open'",
        past.current
    );
    cluster.connect().run(&write);
    let copy = standby(&cluster);
    cluster.stop(Stop::Immediate);
    promote(&copy);
    past.is_closed(&copy, "postgres", &["timeline", "data directory", "unclean start"]);
    let mut admin = copy.connect();
    let refused = admin.refused("SELECT fencing.advance_epoch('too early')");
    assert_eq!(refused.code().code(), "55P03");
    assert!(refused.detail().is_some_and(|detail| detail.contains("open")), "{refused:?}");
    admin.run("COMMIT PREPARED 'open'");
    past.is_opened_again(&copy, "postgres");
    assert_eq!(admin.code(&write), "LF005");
}
