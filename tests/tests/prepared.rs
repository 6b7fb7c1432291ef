//! A prepared transaction holds its fence, across any restart, until somebody decides what becomes
//! of it (hazards 1.24).

use fencing_tests::{Cluster, Sql, Stop};
use postgres::Client;

/// A cluster whose lease `a` has written to table `t` in a prepared transaction `gid`.
fn prepared() -> (Cluster, i64) {
    let cluster = Cluster::new();
    let token = prepare(&mut cluster.connect());
    (cluster, token)
}

fn prepare(session: &mut Client) -> i64 {
    session.run(
        "SELECT fencing.create_namespace('jobs');
         CREATE TABLE t (v int);
         SELECT fencing.protect('t', 'jobs', key => 'a')",
    );
    let token = session.acquire("a", "first").granted();
    session.run(&format!(
        "SET fencing.allow_prepare = on;
         BEGIN;
         SELECT fencing.present({token});
         INSERT INTO t VALUES (1);
         PREPARE TRANSACTION 'gid'"
    ));
    token
}

/// The lease is grantable by the clock, yet the prepared transaction keeps it.
fn blocks(session: &mut Client) {
    for _ in 0..2 {
        let answer = session.acquire_later("a", "second");
        assert_eq!((answer.status.as_str(), answer.blocked_by.as_slice()), ("blocked", [0].as_slice()));
    }
    session.run("SET fencing.test_clock_offset = '1 h'");
    assert_eq!(session.get::<Vec<i32>>("SELECT blocked_by FROM fencing.inspect('jobs', 'a')"), [0]);
    session.run("RESET fencing.test_clock_offset");
}

/// Blocks the takeover until `decision`; then the old term is stale, and `rows` are there.
fn decided(cluster: &Cluster, old: i64, decision: &str, rows: i64) {
    let mut session = cluster.connect();
    blocks(&mut session);
    session.run(decision);
    let new = session.acquire_later("a", "second").granted();
    assert!(new > old);
    assert_eq!(session.get::<i64>("SELECT count(*) FROM t"), rows);
    let write = |token: i64| format!("BEGIN; SELECT fencing.present({token}); INSERT INTO t VALUES (2)");
    assert_eq!(session.code(&write(old)), "LF001");
    session.run("ROLLBACK");
    session.run("SET fencing.test_clock_offset = '1 h'");
    session.run(&format!("{}; COMMIT", write(new)));
}

/// Not the session that prepared it: that one has nothing to do with it any more.
#[test]
fn beside_the_session_that_prepared_it() {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    let token = prepare(&mut session);
    decided(&cluster, token, "COMMIT PREPARED 'gid'", 1);
    session.run("SELECT 1");
}

#[test]
fn in_the_place_of_the_session_that_prepared_it() {
    let (cluster, token) = prepared();
    decided(&cluster, token, "COMMIT PREPARED 'gid'", 1);
}

#[test]
fn after_the_session_that_prepared_it() {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    let token = prepare(&mut session);
    let mut other = cluster.connect();
    drop(session);
    let gone =
        "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    while !other.get::<bool>(gone) {}
    blocks(&mut other);
    other.run("ROLLBACK PREPARED 'gid'");
    assert!(other.acquire_later("a", "second").granted() > token);
}

#[test]
fn across_a_restart() {
    let (mut cluster, token) = prepared();
    cluster.restart(Stop::Fast);
    decided(&cluster, token, "ROLLBACK PREPARED 'gid'", 0);
}

#[test]
fn across_a_crash() {
    let (mut cluster, token) = prepared();
    cluster.restart(Stop::Immediate);
    decided(&cluster, token, "COMMIT PREPARED 'gid'", 1);
}

#[test]
fn across_a_kill_and_a_restart() {
    let (mut cluster, token) = prepared();
    cluster.kill();
    cluster.start();
    cluster.restart(Stop::Fast);
    decided(&cluster, token, "ROLLBACK PREPARED 'gid'", 0);
}

#[test]
fn the_holder_goes_on_beside_it() {
    let (cluster, token) = prepared();
    let mut session = cluster.connect();
    session.run(&format!("BEGIN; SELECT fencing.present({token}); INSERT INTO t VALUES (2); COMMIT"));
    assert_eq!(session.get::<String>(&format!("SELECT status FROM fencing.renew({token})")), "renewed");
}

#[test]
fn an_acquisition_is_never_prepared() {
    let (cluster, _) = prepared();
    let mut session = cluster.connect();
    session.run("SET fencing.allow_prepare = on; SET fencing.acquire_in_block = on; BEGIN");
    session.acquire("b", "first").granted();
    assert_eq!(session.code("PREPARE TRANSACTION 'second'"), "0A000");
    assert_eq!(session.acquire("b", "second").status, "granted");
}
