//! Waiting for a lease: first come, first served; bounded; and a hand-over is quick and wakes nobody
//! but the next in line.

use fencing_tests::psql::Psql;
use fencing_tests::{Cluster, Sql, cluster::until, sql};
use postgres::Client;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn cluster_with(settings: &[&str]) -> (Cluster, Client) {
    let cluster = Cluster::with(settings);
    let mut session = cluster.connect();
    session.run(
        "SELECT fencing.create_namespace('jobs', ttl => '10 min');
         CREATE TABLE doc (v text);
         SELECT fencing.protect('doc', 'jobs', key => 'k')",
    );
    (cluster, session)
}

fn waiters(session: &mut Client) -> i32 {
    session.get("SELECT waiters FROM fencing.inspect('jobs', 'k')")
}

/// What a call answered, and how long it took.
type Answer = (sql::Grant, Duration);

/// Asks in a thread of its own.
fn ask(mut session: Client, wait: &str) -> JoinHandle<(Client, Result<Answer, String>)> {
    let sql = format!("SELECT status, token, blocked_by FROM fencing.acquire('jobs', 'k', 'x', wait => '{wait}')");
    spawn(move || {
        let since = Instant::now();
        let row = session.query_one(&sql, &[]);
        let answer = row.map(|row| (sql::grant(&row), since.elapsed())).map_err(|e| sql::describe(&e));
        (session, answer)
    })
}

fn answer(call: JoinHandle<(Client, Result<Answer, String>)>) -> (Client, Answer) {
    let (session, answer) = call.join().expect("a session");
    (session, answer.unwrap_or_else(|error| panic!("{error}")))
}

/// Waiters who give the lease back as soon as they have it, and tell who they are, their token, and
/// when they had it and gave it back.
fn line_up(cluster: &Cluster, session: &mut Client, count: usize) -> Receiver<(usize, i64, Instant, Instant)> {
    let (tell, told) = channel();
    let already = waiters(session);
    for n in 0..count {
        let mut waiter = cluster.connect();
        waiter.run(&format!("SET default_transaction_isolation = '{}'", LEVELS[n % 3]));
        let tell = tell.clone();
        spawn(move || {
            let acquire = "SELECT status, token, blocked_by FROM fencing.acquire('jobs', 'k', 'x', wait => '30 s')";
            let token = sql::grant(&waiter.query_one(acquire, &[]).unwrap_or_else(|e| panic!("{}", sql::describe(&e))))
                .granted();
            let granted = Instant::now();
            waiter.run(&format!("SELECT fencing.release({token})"));
            let _ = tell.send((n, token, granted, Instant::now()));
        });
        until("it waits", || waiters(session) == already + n as i32 + 1);
    }
    told
}

/// In every isolation level. Nobody overtakes, whether or not it would wait.
#[test]
fn in_the_order_of_arrival() {
    let (cluster, mut session) = cluster_with(&[]);
    let token = session.acquire("k", "holder").granted();
    let told = line_up(&cluster, &mut session, 12);
    session.run(&format!("SELECT fencing.release({token})"));
    let (mut last, mut impatient) = (token, None);
    for expected in 0..12 {
        let answer = session.acquire("k", "impatient");
        if answer.status == "granted" {
            // Then nobody waits any more, though not all have been heard of.
            impatient = Some(answer.granted());
            session.run(&format!("SELECT fencing.release({})", impatient.unwrap()));
        } else {
            assert_eq!(answer.status, "held");
        }
        let (n, token, ..) = told.recv_timeout(ms(20_000)).expect("a grant");
        assert_eq!(n, expected);
        assert!(token > last);
        last = token;
    }
    assert!(impatient.is_none_or(|token| token > last), "somebody was overtaken");
    assert_eq!(waiters(&mut session), 0);
    session.acquire("k", "impatient").granted();
}

/// From release to the next one's grant, as the clients see it; two transactions each.
#[test]
fn a_hand_over_with_fifty_waiters() {
    let (cluster, mut session) = cluster_with(&[]);
    let token = session.acquire("k", "holder").granted();
    let told = line_up(&cluster, &mut session, 50);
    let next_xid = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
    let before: i64 = session.get(next_xid);
    session.run(&format!("SELECT fencing.release({token})"));
    let mut released = Instant::now();
    let mut took = Vec::new();
    for _ in 0..50 {
        let (_, _, granted, done) = told.recv_timeout(ms(20_000)).expect("a grant");
        took.push(granted.saturating_duration_since(released));
        released = done;
    }
    let after: i64 = session.get(next_xid);
    assert_eq!(after - before, 1 + 50 * 2, "transactions that wrote");
    took.sort();
    println!("from release to grant: median {:?}, 90 % {:?}, most {:?}", took[25], took[45], took[49]);
    assert!(took[25] < ms(100), "{took:?}");
}

/// Of those who wait, one looks.
#[test]
fn the_head_alone_looks() {
    let (cluster, mut session) = cluster_with(&[]);
    session.acquire("k", "holder").granted();
    let scans = "SELECT idx_scan FROM pg_stat_user_tables WHERE relid = 'fencing.lease'::regclass";
    let flush = "SELECT pg_stat_force_next_flush()";
    session.run(flush);
    let before: i64 = session.get(scans);
    let calls: Vec<_> = (0..20).map(|_| ask(cluster.connect(), "1 s")).collect();
    let kept: Vec<_> = calls
        .into_iter()
        .map(|call| {
            let (mut waiter, (grant, took)) = answer(call);
            assert_eq!(grant.status, "held");
            assert!(took >= ms(1000) && took < ms(5000), "{took:?}");
            waiter.run(flush);
            waiter
        })
        .collect();
    session.run("SELECT pg_stat_clear_snapshot()");
    let looks = session.get::<i64>(scans) - before;
    // Each looks when it comes and when it goes; the head some 25 times in between.
    assert!(looks < 20 * 4 + 60, "{looks} looks");
    drop(kept);
}

/// A client that is killed leaves the queue soon, whether it is the head or not.
#[test]
fn whose_client_is_gone_leaves() {
    let (cluster, mut session) = cluster_with(&[]);
    let token = session.acquire("k", "holder").granted();
    let mut clients: Vec<_> = (0..3)
        .map(|n| {
            let mut client = Psql::start(&cluster);
            client.say("SELECT status FROM fencing.acquire('jobs', 'k', 'x', wait => '30 s')");
            until("it waits", || waiters(&mut session) == n + 1);
            client
        })
        .collect();
    for (left, gone) in [(2, 1), (1, 0)] {
        let since = Instant::now();
        // Killed.
        drop(clients.remove(gone));
        until("it leaves", || waiters(&mut session) == left);
        assert!(since.elapsed() < ms(3000), "{:?}", since.elapsed());
    }
    session.run(&format!("SELECT fencing.release({token})"));
    assert_eq!(clients[0].hear(), ("granted".to_owned(), "00000".to_owned()));
    assert_eq!(session.get::<i64>("SELECT count(*) FROM fencing.term"), 2);
    // The session's own setting is back.
    let setting = clients[0].ask("SELECT setting FROM pg_settings WHERE name = 'client_connection_check_interval'");
    assert_eq!(setting, "0");
}

/// Cancelled, or out of time for its statement: an error, and its place is free.
#[test]
fn cancelled() {
    let (cluster, mut session) = cluster_with(&[]);
    session.acquire("k", "holder").granted();
    for queued in [false, true] {
        let head = queued.then(|| {
            let call = ask(cluster.connect(), "30 s");
            until("the head waits", || waiters(&mut session) == 1);
            call
        });
        let (waiter, before) = (cluster.connect(), waiters(&mut session));
        let cancel = waiter.cancel_token();
        let call = ask(waiter, "30 s");
        until("it waits", || waiters(&mut session) == before + 1);
        cancel.cancel_query(postgres::NoTls).expect("a cancel request");
        let (mut waiter, answer) = call.join().expect("a session");
        assert!(answer.as_ref().is_err_and(|e| e.starts_with("57014")), "{answer:?}");
        // The error is sent before the locks go.
        until("its place is free", || waiters(&mut session) == before);

        waiter.run("SET statement_timeout = '200ms'");
        assert_eq!(waiter.code("SELECT fencing.acquire('jobs', 'k', 'x', wait => '30 s')"), "57014");
        assert_eq!(waiters(&mut session), before);
        // A session's lock_timeout is about waits that nobody asked for.
        waiter.run("SET statement_timeout = 0; SET lock_timeout = '100 ms'");
        let (mut waiter, (grant, took)) = self::answer(ask(waiter, "400 ms"));
        assert_eq!(grant.status, "held");
        assert!(took >= ms(400), "{took:?}");
        assert_eq!(waiter.get::<String>("SHOW lock_timeout"), "100ms");
        if let Some(call) = head {
            let pids = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE objsubid = 19504";
            session.run(pids);
            assert!(call.join().expect("a session").1.is_err());
        }
    }
}

/// No call waits longer than the administrator allows.
#[test]
fn no_longer_than_max_wait() {
    let (cluster, mut session) = cluster_with(&["fencing.max_wait=300ms"]);
    session.acquire("k", "holder").granted();
    let calls = [0, 1].map(|_| ask(cluster.connect(), "1 day"));
    for call in calls {
        let (mut waiter, (grant, took)) = answer(call);
        assert_eq!(grant.status, "held");
        assert!(took >= ms(300) && took < ms(5000), "{took:?}");
        assert_eq!(waiter.code("SET fencing.max_wait = '1 h'"), "55P02");
    }
}

/// What was decided when the call came may not hold at the grant.
#[test]
fn the_namespace_as_it_is_at_the_grant() {
    let (cluster, mut session) = cluster_with(&[]);
    let token = session.acquire("k", "holder").granted();
    let mut waiter = cluster.connect();
    let call = spawn(move || waiter.code("SELECT fencing.acquire('jobs', 'k', 'x', ttl => '5 min', wait => '30 s')"));
    until("it waits", || waiters(&mut session) == 1);
    session.run("SELECT fencing.alter_namespace('jobs', ttl => '1 min', max_ttl => '1 min')");
    session.run(&format!("SELECT fencing.release({token})"));
    assert_eq!(call.join().expect("a session"), "22023");
}

/// Two sessions with the same request, one of which has lost its reply: one term.
#[test]
fn one_request_from_two_sessions() {
    let (cluster, mut session) = cluster_with(&[]);
    let token = session.acquire("k", "holder").granted();
    let sql = "SELECT status, token, blocked_by FROM fencing.acquire('jobs', 'k', 'x', wait => '30 s',
                   request_id => '00000000-0000-0000-0000-000000000001')";
    let calls = [1, 2].map(|n| {
        let mut waiter = cluster.connect();
        let call = spawn(move || sql::grant(&waiter.query_one(sql, &[]).unwrap()));
        until("it waits", || waiters(&mut session) == n);
        call
    });
    session.run(&format!("SELECT fencing.release({token})"));
    let [one, two] = calls.map(|call| call.join().expect("a session").granted());
    assert_eq!(one, two);
}

/// An open writer of the old term is in the way (failures 6 and 15): the head queues for the fence, a
/// term lasts from its grant, and at the end of the wait who is in the way is named.
#[test]
fn for_an_open_writer() {
    let (cluster, mut session) = cluster_with(&[]);
    let token = session.acquire("k", "holder").granted();
    let mut writer = cluster.connect();
    let pid: i32 = writer.get("SELECT pg_backend_pid()");
    writer.run(&format!("BEGIN; SELECT fencing.present({token}); INSERT INTO doc VALUES ('old')"));
    let later = |cluster: &Cluster| {
        let mut session = cluster.connect();
        session.run("SET fencing.test_clock_offset = '1 h'");
        session
    };
    let (_, (grant, took)) = answer(ask(later(&cluster), "300 ms"));
    assert_eq!((grant.status.as_str(), grant.blocked_by), ("blocked", vec![pid]));
    assert!(took >= ms(300), "{took:?}");

    let mut waiter = later(&cluster);
    let call = spawn(move || {
        let sql = "SELECT a.status, a.expires_at - a.acquired_at = interval '2 s',
                          a.acquired_at > transaction_timestamp() + interval '1 h 500 ms',
                          a.trust_for = interval '2 s'
                     FROM fencing.acquire('jobs', 'k', 'x', ttl => '2 s', wait => '20 s') AS a";
        let row = waiter.query_one(sql, &[]).unwrap();
        (row.get::<_, String>(0), row.get::<_, bool>(1), row.get::<_, bool>(2), row.get::<_, bool>(3))
    });
    let queued = "SELECT EXISTS (SELECT FROM pg_locks WHERE objsubid = 19501 AND NOT granted)";
    until("it queues for the fence", || session.get::<bool>(queued));
    // While it does, it holds no lock that anybody else of the lease could wait for, but its turn.
    let held = "SELECT string_agg(objsubid::text, ' ') FROM pg_locks AS l WHERE locktype = 'advisory' AND granted
                   AND pid IN (SELECT pid FROM pg_locks WHERE objsubid = 19501 AND NOT granted)";
    assert_eq!(session.get::<Option<String>>(held).as_deref(), Some("19504"));
    let gate = "SELECT string_agg(mode, ' ') FROM pg_locks AS l WHERE relation = 'fencing.lease'::regclass AND granted
                   AND pid IN (SELECT pid FROM pg_locks WHERE objsubid = 19501 AND NOT granted)";
    assert_eq!(session.get::<Option<String>>(gate).as_deref(), Some("AccessShareLock"));
    assert_eq!(session.acquire_later("k", "impatient").status, "held");
    sleep(ms(600));
    writer.run("ROLLBACK");
    assert_eq!(call.join().expect("a session"), ("granted".to_owned(), true, true, true));
}

/// A writer that waits for the one who waits for it is never the one to pay, even where it can't be
/// known beforehand what the waiter holds.
#[test]
fn a_deadlock_is_the_waiters() {
    let (cluster, mut session) = cluster_with(&["deadlock_timeout=400ms"]);
    let token = session.acquire("k", "holder").granted();
    let mut writer = cluster.connect();
    writer.run(&format!("BEGIN; SELECT fencing.present({token}); INSERT INTO doc VALUES ('old')"));
    let mut waiter = cluster.connect();
    waiter.run("SET fencing.test_clock_offset = '1 h'; SELECT pg_advisory_lock(1)");
    let call = ask(waiter, "3 s");
    let queued = "SELECT EXISTS (SELECT FROM pg_locks WHERE objsubid = 19501 AND NOT granted)";
    until("it queues for the fence", || session.get::<bool>(queued));
    // It has looked for a deadlock once, and found none.
    sleep(ms(500));
    let call_writer = spawn(move || (writer.code("SELECT pg_advisory_lock(1)"), writer));
    let (mut waiter, (grant, _)) = answer(call);
    assert_eq!(grant.status, "blocked");
    assert_eq!(waiters(&mut session), 0);
    waiter.run("SELECT pg_advisory_unlock(1)");
    let (code, mut writer) = call_writer.join().expect("a session");
    assert_eq!(code, "00000");
    writer.run("COMMIT");
}

/// Who holds row locks doesn't stand in any queue.
#[test]
fn whoever_has_written_looks_from_aside() {
    let (cluster, mut session) = cluster_with(&["deadlock_timeout=50ms"]);
    session.run("CREATE TABLE plain (v text); INSERT INTO plain VALUES ('x')");
    let token = session.acquire("k", "holder").granted();
    let mut writer = cluster.connect();
    writer.run(&format!("BEGIN; SELECT fencing.present({token}); INSERT INTO doc VALUES ('old')"));
    let mut waiter = cluster.connect();
    waiter.run(
        "SET fencing.test_clock_offset = '1 h'; SET fencing.acquire_in_block = on;
         BEGIN; UPDATE plain SET v = 'waiter'",
    );
    let call = ask(waiter, "1 s");
    let call_writer = spawn(move || (writer.code("UPDATE plain SET v = 'writer'"), writer));
    let (mut waiter, (grant, _)) = answer(call);
    assert_eq!(grant.status, "blocked");
    waiter.run("COMMIT");
    let (code, mut writer) = call_writer.join().expect("a session");
    assert_eq!(code, "00000");
    writer.run("COMMIT");
}
