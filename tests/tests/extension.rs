//! The extension dropped and created in one session while others stay connected: what they keep in
//! memory of it must not outlive it.

use fencing_tests::cluster::run;
use fencing_tests::{Cluster, Sql};
use postgres::Client;
use std::fs;
use std::path::Path;

const SETUP: &str = "SELECT fencing.create_namespace('jobs');
    SELECT fencing.protect('t', 'jobs', key => 'a', present_column => 'fence')";

struct Scene {
    cluster: Cluster,
    /// Who drops and creates.
    admin: Client,
    /// Who stays connected, and has used everything.
    client: Client,
    token: i64,
}

fn scene() -> Scene {
    let cluster = Cluster::new();
    let (mut admin, mut client) = (cluster.connect(), cluster.connect());
    admin.run("CREATE TABLE t (id int, fence bigint)");
    admin.run(SETUP);
    let token = client.acquire("a", "x").granted();
    client.run(&format!(
        "INSERT INTO t VALUES (1, {token}); SELECT fencing.renew({token}); SELECT fencing.check_token({token});
         SELECT fencing.inspect('jobs', 'a'); SELECT fencing.key_of(1);
         BEGIN; SELECT fencing.present({token}); INSERT INTO t VALUES (2); COMMIT"
    ));
    Scene { cluster, admin, client, token }
}

impl Scene {
    /// Two minutes later, so that the new history's first epoch is above the old one's.
    fn create_again(&mut self) {
        self.admin.run("DROP EXTENSION fencing CASCADE");
        self.admin.run("SET fencing.test_clock_offset = '2 min'; CREATE EXTENSION fencing; RESET ALL");
        self.admin.run(&format!("SET fencing.test_clock_offset = '2 min'; {SETUP}; RESET ALL"));
    }
}

fn write(token: i64) -> String {
    format!("INSERT INTO t VALUES (9, {token})")
}

#[test]
fn not_while_a_guard_depends_on_it() {
    let mut scene = scene();
    assert_eq!(scene.admin.code("DROP EXTENSION fencing"), "2BP01");
    scene.admin.run("SELECT fencing.unprotect('t'); DROP EXTENSION fencing");
    scene.client.run("INSERT INTO t VALUES (1)");
    let code = scene.client.code("SELECT fencing.inspect('jobs', 'a')");
    assert!(["3F000", "42883"].contains(&code.as_str()), "{code}");
}

#[test]
fn created_again() {
    let mut scene = scene();
    let old = scene.token;
    scene.create_again();
    assert_eq!(scene.client.code(&write(old)), "LF004");
    assert_eq!(scene.client.code("INSERT INTO t VALUES (9)"), "LF002");
    assert_eq!(scene.client.get::<String>(&format!("SELECT status FROM fencing.renew({old})")), "unknown");
    assert_eq!(scene.client.get::<String>(&format!("SELECT fencing.release({old})")), "unknown");
    assert_eq!(scene.client.get::<String>("SELECT state FROM fencing.inspect('jobs', 'a')"), "free");
    let new = scene.client.acquire("a", "x").granted();
    assert!(new > old, "{new} after {old}");
    scene.client.run(&write(new));
    assert_eq!(scene.client.code(&write(old)), "LF004");
    // The sessions agree on who holds it, and on its locks.
    scene.client.run(&format!("BEGIN; {}", write(new)));
    let pid: i32 = scene.admin.get("SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction'");
    assert_eq!(scene.admin.acquire_later("a", "y").blocked_by, [pid]);
    assert_eq!(scene.cluster.connect().acquire_later("a", "z").status, "blocked");
    scene.client.run("COMMIT");
}

/// Dropped by the very session that goes on.
#[test]
fn created_again_by_the_same_session() {
    let mut scene = scene();
    std::mem::swap(&mut scene.admin, &mut scene.client);
    scene.create_again();
    std::mem::swap(&mut scene.admin, &mut scene.client);
    let old = scene.token;
    assert_eq!(scene.client.code(&write(old)), "LF004");
    let new = scene.client.acquire("a", "x").granted();
    scene.client.run(&write(new));
}

/// What a transaction presented before is nothing after.
#[test]
fn created_again_inside_an_open_transaction() {
    let mut scene = scene();
    scene.client.run(&format!("BEGIN; SELECT fencing.present({})", scene.token));
    scene.create_again();
    assert_ne!(scene.client.code("INSERT INTO t VALUES (9)"), "00000");
    scene.client.run("ROLLBACK");
    let new = scene.admin.acquire("a", "x").granted();
    scene.client.run(&format!("BEGIN; SELECT fencing.present({new}); INSERT INTO t VALUES (9); COMMIT"));
}

/// A transaction that holds a fence holds the extension.
#[test]
fn not_under_an_open_writer() {
    let mut scene = scene();
    scene.client.run(&format!("BEGIN; {}", write(scene.token)));
    scene.admin.run("SET lock_timeout = '100 ms'");
    assert_eq!(scene.admin.code("DROP EXTENSION fencing CASCADE"), "55P03");
    scene.client.run("COMMIT");
    assert_eq!(scene.client.code("INSERT INTO t VALUES (9)"), "LF002");
}

#[test]
fn a_drop_that_is_rolled_back() {
    let mut scene = scene();
    let token = scene.token;
    scene
        .admin
        .run("BEGIN; DROP EXTENSION fencing CASCADE; INSERT INTO t VALUES (3); CREATE EXTENSION fencing; ROLLBACK");
    for session in [&mut scene.admin, &mut scene.client] {
        assert_eq!(session.code("INSERT INTO t VALUES (9)"), "LF002");
        session.run(&write(token));
        assert_eq!(session.acquire("a", "y").status, "held");
    }
}

/// A namespace that was created in a transaction that rolled back, in its session and in others.
#[test]
fn a_namespace_that_is_rolled_back() {
    let mut scene = scene();
    let make = "SELECT fencing.create_namespace('other'); SELECT fencing.inspect('other', 'k')";
    scene.admin.run(&format!("BEGIN; {make}; ROLLBACK"));
    assert_eq!(scene.admin.code("SELECT fencing.acquire('other', 'k', 'x')"), "42704");
    scene.admin.run(&format!("BEGIN; SAVEPOINT s; {make}; ROLLBACK TO s"));
    assert_eq!(scene.admin.code("SELECT fencing.inspect('other', 'k')"), "42704");
    scene.admin.run("ROLLBACK");
    assert_eq!(scene.client.code("SELECT fencing.acquire('other', 'k', 'x')"), "42704");
    // A changed policy, too.
    let token = scene.token;
    scene.admin.run("BEGIN; SELECT fencing.alter_namespace('jobs', on_expiry => 'accept_until_superseded')");
    scene.admin.run(&format!("SET LOCAL fencing.test_clock_offset = '1 h'; {}; ROLLBACK", write(token)));
    scene.admin.run("SET fencing.test_clock_offset = '1 h'");
    assert_eq!(scene.admin.code(&write(token)), "LF003");
    scene.client.run("SELECT fencing.alter_namespace('jobs', on_expiry => 'accept_until_superseded')");
    scene.admin.run(&write(token));
}

/// A guard's trigger that goes with another extension is missed.
#[test]
fn another_extension_takes_a_trigger_with_it() {
    let mut scene = scene();
    let share = run(scene.cluster.program("pg_config").arg("--sharedir"));
    let directory = Path::new(share.trim()).join("extension");
    for (name, text) in [("other.control", "default_version = '1'"), ("other--1.sql", "SELECT 1;")] {
        fs::write(directory.join(name), text).expect("an extension's file");
    }
    scene.admin.run("CREATE EXTENSION other; ALTER TRIGGER \"~fencing\" ON t DEPENDS ON EXTENSION other");
    let output = scene.cluster.program("psql").args(["-X", "-c", "DROP EXTENSION other"]).output().expect("psql");
    let said = String::from_utf8_lossy(&output.stderr);
    let warning = "WARNING:  guard of table public.t is weakened: its trigger \"~fencing\" was dropped";
    assert!(output.status.success() && said.contains(warning), "{said}");
    let gaps = "SELECT string_agg(gap, ' ') FROM fencing.enforcement_gaps() WHERE severity = 'open'";
    assert_eq!(scene.admin.get::<String>(gaps), "trigger_missing");
}
