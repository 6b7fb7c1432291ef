//! Databases of one cluster have nothing in common, and no setting of a session changes an answer.

use fencing_tests::{Cluster, Sql};
use postgres::Client;

const SETUP: &str = "CREATE EXTENSION IF NOT EXISTS fencing;
    SELECT fencing.create_namespace('jobs');
    CREATE TABLE t (id int, fence bigint);
    SELECT fencing.protect('t', 'jobs', key => 'a', present_column => 'fence')";

fn second_database(cluster: &Cluster) -> (Client, Client) {
    let mut first = cluster.connect();
    first.run("CREATE DATABASE second");
    let mut second = cluster.connect_as("postgres", "second");
    first.run(SETUP);
    second.run(SETUP);
    (first, second)
}

#[test]
fn two_databases_share_no_lock() {
    let cluster = Cluster::new();
    let (mut first, mut second) = second_database(&cluster);
    // The same namespace, the same number of it, the same key.
    let token = first.acquire("a", "x").granted();
    first.run(&format!("BEGIN; INSERT INTO t VALUES (1, {token})"));
    assert_eq!(cluster.connect().acquire_later("a", "y").status, "blocked");
    let there = second.acquire("a", "x").granted();
    second.run(&format!("INSERT INTO t VALUES (1, {there})"));
    first.run("COMMIT");
    // An acquirer in one does not hold up another in the other.
    first.run("SET fencing.acquire_in_block = on; BEGIN");
    first.acquire("b", "x").granted();
    second.acquire("b", "x").granted();
    first.run("ROLLBACK");
}

#[test]
fn a_token_of_one_database_is_nothing_in_another() {
    let cluster = Cluster::new();
    let (mut first, mut second) = second_database(&cluster);
    let token = first.acquire("a", "x").granted();
    second.acquire("a", "x").granted();
    assert_eq!(second.code(&format!("INSERT INTO t VALUES (1, {token})")), "LF004");
    assert_eq!(second.get::<String>(&format!("SELECT status FROM fencing.renew({token})")), "unknown");
}

/// Grant, renewal, expiry, takeover and rejection, with everything that a time zone could shift.
fn scenario(session: &mut Client) {
    session.run(SETUP);
    let around = "SELECT expires_at - clock_timestamp() BETWEEN '29 s' AND '30 s'
                     AND trust_for BETWEEN '29 s' AND '30 s' AND acquired_at - clock_timestamp() BETWEEN '-1 s' AND '0'";
    assert!(session.get::<bool>(&format!("{around} FROM fencing.acquire('jobs', 'a', 'x')")));
    assert_eq!(session.acquire("a", "y").status, "held");
    let token: i64 = session.get("SELECT token FROM fencing.lease");
    let renewed =
        "SELECT expires_at - clock_timestamp() BETWEEN '59 s' AND '60 s' AND trust_for BETWEEN '59 s' AND '60 s'";
    assert!(session.get::<bool>(&format!("{renewed} FROM fencing.renew({token}, '1 min')")));
    let left = "SELECT state = 'held' AND remaining BETWEEN '59 s' AND '60 s' FROM fencing.inspect('jobs', 'a')";
    assert!(session.get::<bool>(left));
    session.run(&format!("INSERT INTO t VALUES (1, {token})"));
    session.run("SET fencing.test_clock_offset = '59 s'");
    assert_eq!(session.acquire("a", "y").status, "held");
    session.run("SET fencing.test_clock_offset = '61 s'");
    assert_eq!(session.get::<String>("SELECT state FROM fencing.inspect('jobs', 'a')"), "expired");
    assert_eq!(session.code(&format!("INSERT INTO t VALUES (2, {token})")), "LF003");
    let next = session.acquire("a", "y").granted();
    assert_eq!(session.code(&format!("INSERT INTO t VALUES (2, {token})")), "LF001");
    session.run(&format!("INSERT INTO t VALUES (2, {next})"));
    let epoch = "SELECT epoch BETWEEN floor(extract(epoch FROM now() - '2025-01-01 00:00+00') / 60) - 5
                                  AND floor(extract(epoch FROM now() - '2025-01-01 00:00+00') / 60) FROM fencing.epoch";
    assert!(session.get::<bool>(epoch), "numbered by the minute, in UTC");
}

#[test]
fn time_zones() {
    let cluster = Cluster::new();
    let mut admin = cluster.connect();
    for (n, zone) in ["UTC", "America/New_York", "Pacific/Kiritimati", "Asia/Kathmandu"].into_iter().enumerate() {
        admin.run(&format!("CREATE DATABASE zone{n}"));
        admin.run(&format!("CREATE ROLE zone{n} LOGIN SUPERUSER"));
        admin.run(&format!("ALTER ROLE zone{n} SET TimeZone = '{zone}'; ALTER ROLE zone{n} SET DateStyle = 'German'"));
        let mut session = cluster.connect_as(&format!("zone{n}"), &format!("zone{n}"));
        assert_eq!(session.get::<String>("SHOW TimeZone"), zone);
        scenario(&mut session);
    }
}

/// A term granted under one time zone, judged under others.
#[test]
fn one_lease_seen_from_several_time_zones() {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    session.run(&format!("{SETUP}; SET TimeZone = 'Pacific/Kiritimati'"));
    let token = session.acquire("a", "x").granted();
    for zone in ["Pacific/Pago_Pago", "UTC", "America/New_York"] {
        session.run(&format!("SET TimeZone = '{zone}'; INSERT INTO t VALUES (1, {token})"));
        assert_eq!(session.acquire("a", "y").status, "held");
        let left = "SELECT remaining BETWEEN '20 s' AND '30 s' FROM fencing.inspect('jobs', 'a')";
        assert!(session.get::<bool>(left), "{zone}");
    }
}
