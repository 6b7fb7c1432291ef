//! A term bound to its session ends with the session's backend, however that ends, and with nothing
//! else.

use fencing_tests::psql::Psql;
use fencing_tests::wire::Wire;
use fencing_tests::{Cluster, Sql, cluster::until, sql};
use postgres::Client;
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

fn cluster() -> (Cluster, Client) {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    session.run(
        "SELECT fencing.create_namespace('jobs', ttl => '10 min');
         SELECT fencing.create_namespace('lenient', ttl => '10 min', on_expiry => 'accept_until_superseded');
         SELECT fencing.create_namespace('calm', ttl => '10 min', cool_down => '1 min')",
    );
    (cluster, session)
}

fn bind(namespace: &str, key: &str) -> String {
    format!("SELECT token FROM fencing.acquire('{namespace}', '{key}', 'bound', bind_session => true)")
}

fn gone(session: &mut Client, pid: i32) {
    until("the backend ends", || {
        session.get::<bool>(&format!("SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = {pid})"))
    });
}

/// Reason, who, and whether the end came before the term had run out.
fn end(session: &mut Client, token: i64) -> (Option<String>, bool, Option<bool>) {
    let sql = "SELECT end_reason, ended_by IS NULL, ended_at < expires_at AND end_observed_at = ended_at
                 FROM fencing.term WHERE token = $1";
    let row = session.query_one(sql, &[&token]).unwrap();
    (row.get(0), row.get(1), row.get(2))
}

fn lost() -> (Option<String>, bool, Option<bool>) {
    (Some("session_lost".to_owned()), true, Some(true))
}

fn check(session: &mut Client, token: i64) -> String {
    session.get(&format!("SELECT fencing.check_token({token})"))
}

/// Waits for the lease, and tells when it was granted.
fn waiter(cluster: &Cluster, session: &mut Client) -> JoinHandle<Instant> {
    let mut waiter = cluster.connect();
    let call = spawn(move || {
        let sql = "SELECT status, token, blocked_by FROM fencing.acquire('jobs', 'k', 'next', wait => '30 s')";
        let token = sql::grant(&waiter.query_one(sql, &[]).unwrap()).granted();
        let granted = Instant::now();
        waiter.run(&format!("SELECT fencing.release({token})"));
        granted
    });
    until("it waits", || session.get::<i32>("SELECT waiters FROM fencing.inspect('jobs', 'k')") == 1);
    call
}

/// Whatever ends the backend: the client killed, idle or in the middle of a transaction; the network
/// cut; the backend terminated, idle or in the middle of a statement. Measured from there to the next
/// holder's grant, as its client sees it.
#[test]
fn taken_over_at_once() {
    let (cluster, mut session) = cluster();
    let mut took = Vec::new();
    for round in 0..15 {
        let mut holder = Psql::start(&cluster);
        let pid = holder.ask("SELECT pg_backend_pid()");
        let token: i64 = holder.ask(&bind("jobs", "k")).parse().expect("a token");
        let call = waiter(&cluster, &mut session);
        let since = Instant::now();
        match round % 5 {
            0 => drop(holder),
            1 => {
                holder.ask("BEGIN; CREATE TABLE t (v text)");
                drop(holder);
            }
            2 => {
                // A term that is renewed is bound as it was.
                holder.ask(&format!("SELECT fencing.renew({token})"));
                holder.ask("SELECT 1");
                drop(holder);
            }
            3 => session.run(&format!("SELECT pg_terminate_backend({pid})")),
            _ => {
                holder.say("SELECT pg_sleep(60)");
                let busy = format!("SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = {pid}");
                until("it is busy", || session.get::<Option<bool>>(&busy) == Some(true));
                session.run(&format!("SELECT pg_terminate_backend({pid})"));
            }
        }
        took.push(call.join().expect("a grant") - since);
        assert_eq!(end(&mut session, token), lost(), "round {round}");
        assert_eq!(check(&mut session, token), "session_lost");
    }
    took.sort();
    println!("from the end of the backend to the next grant: median {:?}, most {:?}", took[7], took[14]);
    assert!(took[7] < Duration::from_millis(200), "{took:?}");
}

/// A connection that breaks in the middle of the protocol.
#[test]
fn network_cut() {
    let (cluster, mut session) = cluster();
    let mut wire = Wire::connect(&cluster, "postgres");
    wire.query(bind("jobs", "k"));
    let call = waiter(&cluster, &mut session);
    drop(wire);
    call.join().expect("a grant");
    let reasons = "SELECT string_agg(end_reason, ' ' ORDER BY token) FROM fencing.term";
    assert_eq!(session.get::<String>(reasons), "session_lost released");
}

/// What merely cleans a session up, or ends a transaction, ends no term; nor is one bound that was
/// rolled back, or asked for without binding.
#[test]
fn by_nothing_else() {
    let (cluster, mut session) = cluster();
    let mut holder = cluster.connect();
    let token: i64 = holder.get(&bind("jobs", "k"));
    for clean in ["DISCARD ALL", "SELECT pg_advisory_unlock_all()", "RESET ALL", "ROLLBACK", "SELECT 1/0"] {
        holder.code(clean);
        assert_eq!(check(&mut session, token), "current", "{clean}");
    }
    let unbound = holder.acquire("unbound", "x").granted();
    holder.run("SET fencing.acquire_in_block = on");
    holder.run("BEGIN");
    holder.run(&bind("jobs", "undone"));
    holder.run("ROLLBACK");
    holder.run("BEGIN; SAVEPOINT s");
    holder.run(&bind("jobs", "undone"));
    holder.run("ROLLBACK TO s; COMMIT");
    holder.run("BEGIN");
    let in_block: i64 = holder.get(&bind("jobs", "in block"));
    holder.run("COMMIT");
    let released: i64 = holder.get(&bind("jobs", "released"));
    holder.run(&format!("SELECT fencing.release({released})"));
    let passed_on: i64 = holder.get(&bind("jobs", "passed on"));
    holder.run(&format!("SELECT fencing.release({passed_on})"));
    let next = session.acquire("passed on", "x").granted();
    assert_eq!(session.acquire("undone", "x").status, "granted");
    let pid: i32 = holder.get("SELECT pg_backend_pid()");
    drop(holder);
    gone(&mut session, pid);
    assert_eq!(end(&mut session, token), lost());
    assert_eq!(end(&mut session, in_block), lost());
    for token in [unbound, next] {
        assert_eq!(check(&mut session, token), "current");
    }
    assert_eq!(check(&mut session, released), "released");
}

/// More than are recorded in one transaction; and more than are kept, most of which are over.
#[test]
fn many() {
    let (cluster, mut session) = cluster();
    let mut holder = cluster.connect();
    holder.run(
        "SELECT fencing.release(a.token)
           FROM generate_series(1, 300) AS n, fencing.acquire('jobs', 'over ' || n, 'x', bind_session => true) AS a",
    );
    holder
        .run("SELECT fencing.acquire('jobs', 'k ' || n, 'x', bind_session => true) FROM generate_series(1, 250) AS n");
    let pid: i32 = holder.get("SELECT pg_backend_pid()");
    drop(holder);
    gone(&mut session, pid);
    let lost = "SELECT count(*) FROM fencing.term JOIN fencing.lease USING (token)
                 WHERE end_reason = 'session_lost' AND state = 'session_lost'";
    assert_eq!(session.get::<i64>(lost), 250);
    assert_eq!(session.get::<i64>("SELECT count(*) FROM fencing.term WHERE end_reason = 'released'"), 300);
}

/// What the record says or, where there is none, what everybody can see: the term is over for good, also
/// where mere expiry would not end it; and a term that ran out before is no session's loss.
#[test]
fn recorded_or_not() {
    let (cluster, mut session) = cluster();
    session.run(
        "CREATE TABLE doc (v text, fence bigint); CREATE TABLE draft (v text, fence bigint); CREATE TABLE late (v text, fence bigint);
         SELECT fencing.protect('late', 'jobs', key => 'ran out', present_column => 'fence');
         SELECT fencing.protect('doc', 'jobs', key => 'k', present_column => 'fence');
         SELECT fencing.protect('draft', 'lenient', key => 'k', present_column => 'fence')",
    );
    for (recorded, later) in [(true, "1 h"), (false, "3 h")] {
        let later = format!("SET fencing.test_clock_offset = '{later}'");
        let mut holder = cluster.connect();
        if !recorded {
            holder.run("SET fencing.test_without = 'session_record'");
        }
        let strict: i64 = holder.get(&bind("jobs", "k"));
        let lenient: i64 = holder.get(&bind("lenient", "k"));
        let calm: i64 = holder.get(&bind("calm", "k"));
        let ran_out: i64 = holder
            .get("SELECT token FROM fencing.acquire('jobs', 'ran out', 'x', ttl => '100 ms', bind_session => true)");
        until("it runs out", || check(&mut session, ran_out) == "expired");
        let write = |table: &str, token: i64| format!("INSERT INTO {table} VALUES ('x', {token})");
        assert_eq!(session.code(&write("doc", strict)), "00000");
        assert_eq!(session.code(&write("draft", lenient)), "00000");
        let pid: i32 = holder.get("SELECT pg_backend_pid()");
        drop(holder);
        gone(&mut session, pid);
        for token in [strict, lenient, calm] {
            assert_eq!(check(&mut session, token), "session_lost");
            assert_eq!(session.get::<String>(&format!("SELECT status FROM fencing.renew({token})")), "session_lost");
            assert_eq!(end(&mut session, token).0.is_some(), recorded);
        }
        assert_eq!(session.code(&write("doc", strict)), "LF003");
        assert_eq!(session.code(&write("draft", lenient)), "LF003");
        // One that had run out before is expired, to everybody who asks.
        assert_eq!(check(&mut session, ran_out), "expired");
        let refused = session.refused(&write("late", ran_out));
        assert!(refused.detail().is_some_and(|detail| detail.ends_with("is expired.")), "{refused:?}");
        // Also once it would have run out, had it not been lost before.
        session.run(&later);
        assert_eq!(session.code(&write("draft", lenient)), "LF003");
        session.run("RESET fencing.test_clock_offset");
        // The time of death is known from the record alone: without, the policy's worst case.
        let retry = "SELECT retry_after BETWEEN '30 s' AND '60 s' FROM fencing.acquire('calm', 'k', 'x')";
        assert_eq!(session.get::<Option<bool>>(retry), Some(recorded));

        let next = session.acquire("k", "next").granted();
        let (reason, by_nobody, in_time) = end(&mut session, strict);
        assert_eq!((reason.as_deref(), by_nobody, in_time), (Some("session_lost"), true, Some(true)));
        assert_eq!(check(&mut session, strict), "session_lost");
        let after = session.acquire("ran out", "next").granted();
        assert_eq!(end(&mut session, ran_out).0.as_deref(), Some("expired"));
        session.run(&format!("SELECT fencing.release(t) FROM unnest(ARRAY[{next}, {after}]) AS t"));
        session.run(&later);
        for namespace in ["calm", "lenient"] {
            session.run(&format!("SELECT fencing.release(token) FROM fencing.acquire('{namespace}', 'k', 'x')"));
        }
        session.run("RESET fencing.test_clock_offset");
    }
}

/// The same request from another session: the same term, bound to the session that it was.
#[test]
fn asked_again_from_elsewhere() {
    let (cluster, mut session) = cluster();
    let ask = "SELECT token FROM fencing.acquire('jobs', 'k', 'x', bind_session => true,
                   request_id => '00000000-0000-0000-0000-000000000001')";
    let mut first = cluster.connect();
    let token: i64 = first.get(ask);
    let mut second = cluster.connect();
    assert_eq!(second.get::<i64>(ask), token);
    let pid: i32 = second.get("SELECT pg_backend_pid()");
    drop(second);
    gone(&mut session, pid);
    assert_eq!(check(&mut session, token), "current");
    let pid: i32 = first.get("SELECT pg_backend_pid()");
    drop(first);
    gone(&mut session, pid);
    assert_eq!(check(&mut session, token), "session_lost");
}

/// A backend ends at once and quietly, whatever stands in the way of its record.
#[test]
fn nothing_keeps_a_backend_from_ending() {
    let (mut cluster, mut session) = cluster();
    let mut other = cluster.connect();
    let ends = |cluster: &Cluster, session: &mut Client, settings: &str| {
        let mut holder = cluster.connect();
        holder.run(settings);
        let token: i64 = holder.get(&bind("jobs", "k"));
        let pid: i32 = holder.get("SELECT pg_backend_pid()");
        (holder, token, pid, session.get::<String>("SELECT pg_postmaster_start_time()::text"))
    };
    // A table locked, the row locked, a standby that never answers, a session that may only read.
    for (settings, lock) in [
        ("", "BEGIN; LOCK TABLE fencing.lease IN SHARE MODE"),
        ("", "BEGIN; LOCK TABLE fencing.term IN ACCESS EXCLUSIVE MODE"),
        ("", "BEGIN; SELECT FROM fencing.lease FOR UPDATE"),
        ("", "BEGIN; SELECT FROM fencing.term FOR UPDATE"),
        ("SET default_transaction_read_only = on; SET transaction_read_only = off", ""),
        ("SET default_transaction_isolation = 'serializable'", ""),
    ] {
        let (holder, token, pid, _) = match settings.starts_with("SET default_transaction_read_only") {
            true => {
                let (mut holder, token, pid, start) = ends(&cluster, &mut session, "");
                holder.run(settings);
                (holder, token, pid, start)
            }
            false => ends(&cluster, &mut session, settings),
        };
        other.run(lock);
        let since = Instant::now();
        drop(holder);
        gone(&mut session, pid);
        assert!(since.elapsed() < Duration::from_secs(2), "{lock}: {:?}", since.elapsed());
        other.run("ROLLBACK");
        assert_eq!(check(&mut session, token), "session_lost", "{settings} {lock}");
        assert_eq!(end(&mut session, token).0.is_some(), lock.is_empty(), "{settings} {lock}");
        let next = session.acquire("k", "next").granted();
        session.run(&format!("SELECT fencing.release({next})"));
        assert_eq!(end(&mut session, token), lost(), "{settings} {lock}");
    }
    // A standby that never answers.
    let (holder, token, pid, _) = ends(&cluster, &mut session, "");
    session.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    session.run("SELECT pg_reload_conf()");
    until("it is set", || session.get::<String>("SHOW synchronous_standby_names") == "nobody");
    drop(holder);
    gone(&mut session, pid);
    assert_eq!(end(&mut session, token), lost());
    session.run("ALTER SYSTEM RESET synchronous_standby_names");
    session.run("SELECT pg_reload_conf()");
    until("it is reset", || session.get::<String>("SHOW synchronous_standby_names").is_empty());
    // The extension dropped, and made anew.
    for anew in ["", "CREATE EXTENSION fencing; SELECT fencing.create_namespace('jobs')"] {
        let (holder, _, pid, start) = ends(&cluster, &mut session, "");
        session.run("DROP EXTENSION fencing CASCADE");
        session.run(anew);
        drop(holder);
        gone(&mut session, pid);
        session.run("DROP EXTENSION IF EXISTS fencing CASCADE; CREATE EXTENSION fencing");
        session.run("SELECT fencing.create_namespace('jobs', ttl => '10 min')");
        assert_eq!(session.get::<String>("SELECT pg_postmaster_start_time()::text"), start);
    }
    // A server that is stopped in order records it too; one that crashes can't, and needn't.
    for (stop, recorded) in [(fencing_tests::Stop::Fast, true), (fencing_tests::Stop::Immediate, false)] {
        let (_holder, token, ..) = ends(&cluster, &mut session, "");
        cluster.restart(stop);
        session = cluster.connect();
        assert_eq!(check(&mut session, token), "session_lost");
        assert_eq!(end(&mut session, token).0.is_some(), recorded);
    }
    let log = cluster.log_text();
    for bad in ["FATAL:  XX000", "PANIC", "TRAP", "does not exist", "panicked"] {
        assert!(!log.contains(bad), "{log}");
    }
}
