//! A coordinator in one cluster, a guarded table in another: takeovers there are obeyed here.

use fencing_tests::{Cluster, Sql, Stop};
use postgres::Client;

/// Registers the epoch that is open at a coordinator.
fn install(coordinator: &mut Client, destination: &mut Client) {
    let row = coordinator
        .query_one("SELECT epoch, identity::text FROM fencing.epoch ORDER BY epoch DESC LIMIT 1", &[])
        .expect("an epoch");
    let (epoch, identity): (i64, String) = (row.get(0), row.get(1));
    destination.run(&format!("SELECT fencing.install_epoch('hq', {epoch}, '{identity}')"));
}

/// Guards a table of this database by leases of `hq`.
fn destination(session: &mut Client) {
    session.run(
        "SELECT fencing.register_coordinator('hq', 'fencing', 'headquarters');
         CREATE TABLE doc (v text, t bigint, written bigint);
         SELECT fencing.protect('doc', 'jobs', 'a', present_column => 't', token_column => 'written',
                                fence => 'destination', coordinator => 'hq')",
    );
}

fn write(token: i64) -> String {
    format!("INSERT INTO doc VALUES ('x', {token})")
}

#[test]
fn takeovers_of_another_cluster() {
    let hq = Cluster::new();
    let here = Cluster::new();
    let (mut there, mut session) = (hq.connect(), here.connect());
    there.run("SELECT fencing.create_namespace('jobs', ttl => '10 min')");
    destination(&mut session);
    let first = there.acquire("a", "first").granted();
    assert_eq!(session.code(&write(first)), "LF005", "before an epoch is installed");
    install(&mut there, &mut session);
    session.run(&write(first));

    // The holder is paused in the middle of a transaction; its lease runs out, and somebody takes over.
    let mut paused = here.connect();
    paused.run(&format!("BEGIN; {}", write(first)));
    let second = there.acquire_later("a", "second").granted();
    // Nobody here knows yet: that is the difference to a local guard, and what sealing is for.
    session.run(&write(first));
    let mut sealing = here.connect();
    sealing.run("SET lock_timeout = '100 ms'");
    assert_eq!(sealing.code(&format!("SELECT fencing.seal('hq', 'jobs', 'a', {second})")), "55P03");
    paused.run("COMMIT");
    sealing.run(&format!("SELECT fencing.seal('hq', 'jobs', 'a', {second})"));
    // From here on what the second one reads is what the first one left.
    assert_eq!(session.code(&write(first)), "LF001");
    assert_eq!(paused.code(&write(first)), "LF001");
    session.run(&write(second));
    // By name, behind any guard that compares these tokens.
    session.run(&format!("BEGIN; SELECT fencing.present('jobs', 'a', {second}); DELETE FROM doc; COMMIT"));
    assert_eq!(
        session.code(&format!("BEGIN; SELECT fencing.present('jobs', 'a', {first}); DELETE FROM doc; COMMIT")),
        "LF001"
    );
    session.run("ROLLBACK");

    // A new epoch there: its tokens are unknown here until it is installed, and void are the others then.
    there.run("SELECT fencing.advance_epoch('test')");
    let third = there.acquire("a", "third").granted();
    assert_eq!(session.code(&write(third)), "LF005");
    session.run(&write(second));
    install(&mut there, &mut session);
    assert_eq!(session.code(&write(second)), "LF005");
    session.run(&write(third));
    install(&mut there, &mut session);
    session.run(&write(third));
    // Two histories of the coordinator that opened the same epoch can't be told apart by their tokens.
    let epoch: i64 = session.get("SELECT epoch FROM fencing.coordinators()");
    session.run(&format!("SELECT fencing.install_epoch('hq', {epoch}, '00000000-0000-4000-8000-000000000001')"));
    assert_eq!(session.code(&write(third)), "LF007");
    there.run("SELECT fencing.advance_epoch('another history')");
    install(&mut there, &mut session);
    assert_eq!(session.code(&write(third)), "LF005");
    let fourth = there.acquire("a", "fourth").granted();
    session.run(&write(fourth));
}

/// In one cluster, too: a database is nobody's coordinator but its own.
#[test]
fn another_database_of_the_cluster() {
    let cluster = Cluster::new();
    let mut there = cluster.connect();
    there.run("SELECT fencing.create_namespace('jobs')");
    there.run("CREATE DATABASE here");
    let mut session = cluster.connect_as("postgres", "here");
    session.run("CREATE EXTENSION fencing");
    // Both may have opened their epochs in the same minute.
    session.run("SELECT fencing.create_namespace('jobs')");
    destination(&mut session);
    install(&mut there, &mut session);
    let token = there.acquire("a", "there").granted();
    let own = session.acquire("a", "here").granted();
    session.run(&write(token));
    assert_ne!(token, own);
    // A token of this database, presented as what it is, is none for the lease of that name there.
    assert_eq!(session.code(&format!("BEGIN; SELECT fencing.present({own}); INSERT INTO doc VALUES ('x')")), "LF004");
    session.run("ROLLBACK");
    // Nor does an epoch of its own concern it.
    session.run("SELECT fencing.advance_epoch('test')");
    session.run(&write(token));
    session.run("SELECT fencing.begin_epoch_transition('test')");
    session.run(&write(token));
}

/// What was accepted under a newer token is not forgotten in a crash, whatever the session says of its
/// own commits: the older holder stays out.
#[test]
fn an_advance_is_flushed() {
    let mut cluster =
        Cluster::with(&["wal_writer_delay=10s", "bgwriter_delay=10s", "wal_level=minimal", "max_wal_senders=0"]);
    let mut session = cluster.connect();
    destination(&mut session);
    session.run("SELECT fencing.install_epoch('hq', 5, '00000000-0000-4000-8000-000000000001')");
    session.run("CREATE TABLE control (n int)");
    let token = |n: i64| 5i64 << 39 | n;
    let calls: [fn(i64) -> String; 4] = [
        write,
        |token| format!("SELECT fencing.seal('hq', 'jobs', 'a', {token})"),
        |token| format!("BEGIN; SAVEPOINT s; {}; RELEASE s; COMMIT", write(token)),
        |token| format!("BEGIN; SELECT fencing.present('jobs', 'a', {token}); DELETE FROM doc WHERE false; COMMIT"),
    ];
    for (n, call) in calls.iter().enumerate() {
        let (old, new) = (token(2 * n as i64 + 1), token(2 * n as i64 + 2));
        session.run(&write(old));
        session.run("SET synchronous_commit = off; INSERT INTO control VALUES (1)");
        session.run(&call(new));
        cluster.kill();
        cluster.start();
        session = cluster.connect();
        assert_eq!(session.code(&write(old)), "LF001", "{}", call(new));
    }
    // What advances nothing follows the session.
    session.run("SET synchronous_commit = off");
    session.run(&write(token(8)));
    let unflushed: i64 = session.get("SELECT (pg_current_wal_insert_lsn() - pg_current_wal_flush_lsn())::bigint");
    assert!(unflushed > 64, "{unflushed}");
}

/// On a standby nothing is registered, installed, sealed or guarded; everything can be seen.
#[test]
fn a_standby_only_looks() {
    let primary = Cluster::new();
    let mut session = primary.connect();
    destination(&mut session);
    session.run("SELECT fencing.install_epoch('hq', 5, '00000000-0000-4000-8000-000000000001')");
    let mut standby = fencing_tests::copies::standby(&primary);
    let mut looking = standby.connect();
    assert_eq!(looking.get::<String>("SELECT state FROM fencing.coordinators()"), "open");
    for call in [
        "SELECT fencing.register_coordinator('x', 'other', 'x')",
        "SELECT fencing.protect('pg_class', 'jobs', 'a', fence => 'destination', coordinator => 'hq')",
        "SELECT fencing.alter_guard('pg_class')",
        "SELECT fencing.unprotect('pg_class')",
        "SELECT fencing.drop_coordinator('hq')",
        "SELECT fencing.install_epoch('hq', 6, '00000000-0000-4000-8000-000000000001')",
        "SELECT fencing.seal('hq', 'jobs', 'a', 1)",
        "SELECT fencing.purge_fences('hq', '1 h')",
    ] {
        let error = looking.execute(call, &[]).expect_err(call);
        let error = error.as_db_error().expect("the server's");
        let function = &call["SELECT ".len()..call.find('(').expect("a call")];
        assert_eq!((error.code().code(), error.message().contains(function)), ("25006", true), "{call}: {error}");
    }
    standby.stop(Stop::Fast);
}
