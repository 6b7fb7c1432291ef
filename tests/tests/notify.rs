//! `NOTIFY fencing`: what is sent, to whom, and when.

use fencing_tests::{Cluster, Sql};
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;
use std::time::Duration;

/// Payloads that have arrived, without waiting for more than are on their way.
fn heard(session: &mut Client) -> Vec<String> {
    session.run("");
    let mut notifications = session.notifications();
    let waiting = notifications.timeout_iter(Duration::from_millis(100));
    waiting.map(|n| Ok(format!("{} {}", n.channel(), n.payload()))).collect().expect("notifications")
}

fn scene() -> (Cluster, Client, Client) {
    let cluster = Cluster::new();
    let (mut session, mut listener) = (cluster.connect(), cluster.connect());
    session.run(
        "SELECT fencing.create_namespace('jobs', notify => true);
         SELECT fencing.create_namespace('quiet');
         CREATE TABLE t (v int);
         SELECT fencing.protect('t', 'jobs', key => 'a')",
    );
    listener.run("LISTEN fencing");
    (cluster, session, listener)
}

fn payload(event: &str, key: &str, token: i64) -> String {
    format!(r#"fencing {{"event": "{event}", "namespace": "jobs", "key": "{key}", "token": "{token}"}}"#)
}

#[test]
fn grants_and_releases_are_announced() {
    let (_cluster, mut session, mut listener) = scene();
    let token = session.acquire("a", "x").granted();
    assert_eq!(heard(&mut listener), [payload("granted", "a", token)]);
    // Neither a renewal nor a refusal is.
    session.run(&format!("SELECT fencing.renew({token}); SELECT fencing.renew_all(ARRAY[{token}::bigint])"));
    assert_eq!(session.acquire("a", "y").status, "held");
    session.run(&format!("SELECT fencing.release({token})"));
    assert_eq!(heard(&mut listener), [payload("released", "a", token)]);
    session.run(&format!("SELECT fencing.release({token})"));
    // Nor the same grant a second time.
    let again =
        "SELECT token FROM fencing.acquire('jobs', 'a', 'x', request_id => '00000000-0000-0000-0000-000000000001')";
    let token: i64 = session.get(again);
    assert_eq!(session.get::<i64>(again), token);
    assert_eq!(heard(&mut listener), [payload("granted", "a", token)]);
    // A takeover is a grant.
    let next = session.acquire_later("a", "y").granted();
    assert_eq!(heard(&mut listener), [payload("granted", "a", next)]);
    // An announced revocation, and one that comes.
    session.run("SELECT fencing.revoke('jobs', 'a', 'a secret', '1 min')");
    assert_eq!(heard(&mut listener), [payload("revoking", "a", next)]);
    session.run("SELECT fencing.revoke('jobs', 'a', 'a secret')");
    assert_eq!(heard(&mut listener), [payload("revoked", "a", next)]);
}

#[test]
fn with_the_transaction_that_brings_it_about() {
    let (_cluster, mut session, mut listener) = scene();
    let token = session.acquire("a", "x").granted();
    assert_eq!(heard(&mut listener).len(), 1);
    let release = format!("SELECT fencing.release({token})");
    session.run(&format!("BEGIN; {release}; ROLLBACK"));
    session.run(&format!("BEGIN; SAVEPOINT s; {release}; ROLLBACK TO s; COMMIT"));
    assert!(heard(&mut listener).is_empty());
    session.run(&format!("BEGIN; SELECT fencing.present({token}); INSERT INTO t VALUES (1); {release}"));
    assert!(heard(&mut listener).is_empty());
    session.run("COMMIT");
    assert_eq!(heard(&mut listener), [payload("released", "a", token)]);
    // PostgreSQL prepares no transaction that notifies.
    session.run("SET fencing.allow_prepare = on");
    let token = session.acquire("b", "x").granted();
    session.run(&format!("BEGIN; SELECT fencing.release({token})"));
    assert_eq!(session.code("PREPARE TRANSACTION 'gid'"), "0A000");
    session.run("ROLLBACK");
}

#[test]
fn only_where_it_was_asked_for() {
    let (_cluster, mut session, mut listener) = scene();
    let token: i64 = session.get("SELECT token FROM fencing.acquire('quiet', 'a', 'x')");
    session.run(&format!("SELECT fencing.release({token})"));
    assert!(heard(&mut listener).is_empty());
    session.run("SELECT fencing.alter_namespace('quiet', notify => true)");
    session.run("SELECT fencing.acquire('quiet', 'a', 'x')");
    assert_eq!(heard(&mut listener).len(), 1);
    session.run("SELECT fencing.alter_namespace('jobs', notify => false)");
    session.acquire("a", "x").granted();
    assert!(heard(&mut listener).is_empty());
}

#[test]
fn so_is_a_revocation_when_it_is_announced_and_when_it_is_done() {
    let (_cluster, mut session, mut listener) = scene();
    session.run("CREATE ROLE worker; SELECT fencing.grant_namespace('jobs', 'worker', 'hold'); SET ROLE worker");
    let (a, b) = (session.acquire("a", "x").granted(), session.acquire("b", "x").granted());
    heard(&mut listener);
    session.run("RESET ROLE; SELECT fencing.revoke('jobs', 'a', 'x', '1 min')");
    assert_eq!(heard(&mut listener), [payload("revoking", "a", a)]);
    session.run("SELECT fencing.revoke('jobs', 'a', 'x'); SELECT fencing.revoke('jobs', 'a', 'x')");
    assert_eq!(heard(&mut listener), [payload("revoked", "a", a)]);
    session.run("SELECT fencing.revoke_namespace('jobs', 'worker', 'hold')");
    assert_eq!(heard(&mut listener), [payload("revoked", "b", b)]);
}

/// The longest key there is, of what takes the most room in JSON.
#[test]
fn any_key_fits() {
    let (_cluster, mut session, mut listener) = scene();
    for (key, shown) in
        [("\u{1}".repeat(512), "\\u0001".repeat(512)), ("\"é\\🔑\n".to_owned(), "\\\"é\\\\🔑\\u000a".to_owned())]
    {
        let token = session.acquire(&key, "a holder's name").granted();
        assert_eq!(heard(&mut listener), [payload("granted", &shown, token)]);
        let json: String = listener.get(&format!("SELECT $_${}$_$::json ->> 'key'", heard_json(&shown, token)));
        assert_eq!(json, key);
    }
}

fn heard_json(key: &str, token: i64) -> String {
    payload("granted", key, token).trim_start_matches("fencing ").to_owned()
}
