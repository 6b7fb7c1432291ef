//! Copies of the files alone: beside the original, in its place, and into its very files, where nothing
//! but the tokens of its clients tells.

use fencing_tests::cluster::run;
use fencing_tests::copies::{of_files, overwrite, put_back, save, snapshot};
use fencing_tests::past::{Past, original, verdict, worker};
use fencing_tests::{Cluster, Sql, Stop};

/// More than a sequence can lose without being seen to.
const STRIDE: i64 = 1 << 24;

#[test]
fn beside_the_original() {
    let (mut cluster, mut past) = original(&[]);
    cluster.stop(Stop::Fast);
    let mut copy = of_files(&cluster);
    cluster.start();
    past.goes_on(&cluster);
    copy.start();
    past.is_closed(&copy, "postgres", &["data directory"]);
    let token = past.is_opened_again(&copy, "postgres");
    past.is_untouched(&cluster, token);
}

#[test]
fn in_place() {
    let (mut cluster, mut past) = original(&[]);
    cluster.stop(Stop::Fast);
    let saved = save(&cluster);
    cluster.start();
    past.goes_on(&cluster);
    put_back(&mut cluster, &saved);
    cluster.start();
    past.is_closed(&cluster, "postgres", &["data directory"]);
    past.is_opened_again(&cluster, "postgres");
}

/// Moved to another name, or to another socket and port, it is the same.
#[test]
fn moved_is_no_copy() {
    let (mut cluster, past) = original(&[]);
    cluster.stop(Stop::Fast);
    let moved = Cluster::bare();
    run(moved.tool("mv").arg(cluster.data()).arg(moved.data()));
    let mut moved = moved;
    moved.configure(&[]);
    moved.start();
    past.is_untouched(&moved, 1);
}

/// A snapshot of the volume of a running server, put back: an unclean start, like any crash. What was
/// lost was drawn since, and the sequence has moved on by more.
#[test]
fn snapshot_of_a_running_server() {
    let (mut cluster, mut past) = original(&[]);
    let saved = snapshot(&cluster);
    past.goes_on(&cluster);
    cluster.kill();
    overwrite(&mut cluster, &saved);
    cluster.start();
    let mut admin = cluster.connect();
    assert_eq!(verdict(&mut admin), ["unclean start"]);
    let mut session = worker(&cluster, "postgres");
    let next = session.acquire("new", "x").granted();
    let highest = past.lost.iter().max().unwrap();
    assert!(next > highest + STRIDE / 2, "{next} after {highest}");
    assert_eq!(verdict(&mut admin), ["same"]);
    for token in &past.lost {
        assert_eq!(session.code(&format!("INSERT INTO report (fence) VALUES ({token})")), "LF004");
        assert_eq!(session.get::<String>(&format!("SELECT fencing.check_token({token})")), "unknown");
    }
    // What was held at the snapshot is held still: nobody has taken over here.
    assert_eq!(session.code(&format!("INSERT INTO report (fence) VALUES ({})", past.current)), "00000");
    past.is_opened_again(&cluster, "postgres");
}

/// The same where the configuration asks for a person; the second time, with an epoch among what is lost.
#[test]
fn snapshot_of_a_running_server_under_the_strict_setting() {
    let (mut cluster, mut past) = original(&["fencing.on_unclean_start=closed"]);
    let saved = snapshot(&cluster);
    cluster.restart(Stop::Immediate);
    past.is_closed(&cluster, "postgres", &["unclean start"]);
    past.lost.push(past.is_opened_again(&cluster, "postgres"));
    cluster.kill();
    overwrite(&mut cluster, &saved);
    cluster.start();
    past.is_closed(&cluster, "postgres", &["unclean start"]);
    // Epochs are numbered by the minute: it is a later one.
    cluster.stop(Stop::Fast);
    cluster.configure(&["fencing.test_clock_offset='2 min'"]);
    cluster.start();
    past.is_opened_again(&cluster, "postgres");
    cluster.restart(Stop::Fast);
    assert_eq!(verdict(&mut cluster.connect()), ["same"]);
}

/// A server whose files of an earlier day, when it was stopped, were put back into the same files; and what
/// it did in between.
fn overwritten() -> (Cluster, Past) {
    let (mut cluster, mut past) = original(&[]);
    cluster.stop(Stop::Fast);
    let saved = save(&cluster);
    cluster.start();
    past.goes_on(&cluster);
    cluster.stop(Stop::Fast);
    overwrite(&mut cluster, &saved);
    cluster.start();
    (cluster, past)
}

/// Files of a server that was stopped, put back into the same files: nothing tells, until a client comes
/// with a token that was never drawn here.
#[test]
fn without_a_trace_until_a_token_comes_from_the_future() {
    let (cluster, past) = overwritten();
    assert_eq!(verdict(&mut cluster.connect()), ["same"], "it does leave a trace");
    let highest = *past.lost.iter().max().unwrap();
    let mut session = worker(&cluster, "postgres");
    assert_eq!(session.code(&format!("INSERT INTO report (fence) VALUES ({highest})")), "LF004");
    let found = verdict(&mut cluster.connect());
    assert!(found.contains(&"history lost".to_owned()), "{found:?}");
    // Burned, its number goes to nobody else, nor does any below.
    let next = session.acquire("new", "x");
    assert!(next.status == "closed" || next.token > highest, "{next:?} after {highest}");
    for token in &past.lost {
        assert_ne!(session.code(&format!("INSERT INTO report (fence) VALUES ({token})")), "00000");
    }
    past.is_opened_again(&cluster, "postgres");
}

/// The runbook's way: an epoch is opened before anybody is let in.
#[test]
fn without_a_trace_and_opened_at_once() {
    let (cluster, past) = overwritten();
    past.is_opened_again(&cluster, "postgres");
}

/// Transactions that were committed are lost, and nothing but the runbook knows.
#[test]
fn after_pg_resetwal() {
    let (mut cluster, mut past) = original(&[]);
    cluster.restart(Stop::Fast);
    past.goes_on(&cluster);
    cluster.kill();
    run(cluster.tool("rm").arg(cluster.data().join("postmaster.pid")));
    run(cluster.program("pg_resetwal").arg("-f").arg("-D").arg(cluster.data()));
    cluster.start();
    assert_eq!(verdict(&mut cluster.connect()), ["same"], "it does leave a trace");
    past.is_opened_again(&cluster, "postgres");
}
