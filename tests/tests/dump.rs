//! Dump and restore of guarded tables: the data comes back, and the guard with it (hazards 4.13 to
//! 4.15).

use fencing_tests::cluster::run;
use fencing_tests::{Cluster, Sql};
use postgres::Client;
use std::process::Command;

/// What tells a copy from its original, once lineage is compared.
const CLOSED: &str = "LF006";

struct Scene {
    cluster: Cluster,
    session: Client,
    /// Lease `a`: superseded, and current.
    old: i64,
    new: i64,
}

fn scene() -> Scene {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    session.run(
        "SELECT fencing.create_namespace('jobs', ttl => '10 min', on_expiry => 'accept_until_superseded');
         SELECT fencing.create_namespace('other');
         CREATE ROLE worker;
         SELECT fencing.grant_namespace('jobs', 'worker', 'hold');
         CREATE SCHEMA s;
         CREATE TABLE s.t (id int PRIMARY KEY, v text, fence bigint, seen bigint);
         CREATE TABLE keyed (k text, v int);
         CREATE TABLE parted (k text, v int) PARTITION BY LIST (k);
         CREATE TABLE part PARTITION OF parted FOR VALUES IN ('a');
         SELECT fencing.protect('s.t', 'jobs', key => 'a', present_column => 'fence', token_column => 'seen');
         SELECT fencing.protect('keyed', 'jobs', key_columns => '{k}');
         SELECT fencing.protect('parted', 'jobs', key_columns => '{k}', mode => 'enforce')",
    );
    let old = session.acquire("a", "x").granted();
    session.run(&format!("SELECT fencing.release({old})"));
    let new = session.acquire("a", "y").granted();
    session.run(&format!(
        "INSERT INTO s.t SELECT g, 'row ' || g, {new} FROM generate_series(1, 100) AS g;
         BEGIN; SELECT fencing.present({new}); INSERT INTO keyed VALUES ('a', 1); INSERT INTO parted VALUES ('a', 1); COMMIT"
    ));
    session.run("CREATE DATABASE copy TEMPLATE template0");
    Scene { cluster, session, old, new }
}

impl Scene {
    fn program(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = self.cluster.program(name);
        command.args(arguments);
        command
    }

    fn copy(&self) -> Client {
        self.cluster.connect_as("postgres", "copy")
    }

    /// The copy has what the original has, and its guards.
    fn is_complete(&mut self, mut copy: Client) {
        for what in [
            "SELECT md5(string_agg(t::text, '|' ORDER BY id)) FROM s.t AS t",
            "SELECT string_agg(k || v, '|') FROM keyed",
            "SELECT string_agg(k || v, '|') FROM parted",
            "SELECT string_agg(g::text, '|' ORDER BY g::text) FROM fencing.guards AS g",
            "SELECT string_agg(concat_ws(' ', tgrelid::regclass, tgname, tgenabled), '|' ORDER BY tgrelid::regclass::text, tgname)
               FROM pg_trigger WHERE tgname LIKE '~fencing%'",
            "SELECT string_agg(n::text, '|' ORDER BY id) FROM fencing.namespace AS n",
            "SELECT string_agg(f::text, '|' ORDER BY token) FROM fencing.fence AS f",
            "SELECT string_agg(t::text, '|' ORDER BY token) FROM fencing.term AS t",
            "SELECT string_agg(m::text, '|' ORDER BY m::text) FROM fencing.member AS m",
            "SELECT string_agg(l::text, '|' ORDER BY token) FROM fencing.lease AS l",
            "SELECT string_agg(e::text, '|') FROM fencing.epoch AS e",
            "SELECT last_value::text FROM fencing.namespace_id_seq",
            "SELECT last_value::text FROM fencing.term_seq",
        ] {
            assert_eq!(copy.get::<String>(what), self.session.get::<String>(what), "{what}");
        }
        rejects(&mut copy, self.old, true);
        // Never a token that the original may have issued.
        assert_eq!(copy.acquire_later("a", "z").status, "closed");
        assert_eq!(copy.code("UPDATE fencing.fence SET token = 1"), "42501");
        assert_eq!(copy.code("DELETE FROM fencing.term"), "42501");
    }
}

/// Every guard rejects what it has to; a copy, until an epoch is opened, everything.
fn rejects(copy: &mut Client, stale: i64, closed: bool) {
    let mut refused = |sql: &str, code: &str| {
        let found = copy.code(sql);
        copy.run("ROLLBACK");
        assert_eq!(found, if closed { CLOSED } else { code }, "{sql}");
    };
    for write in [
        "INSERT INTO s.t VALUES (1000, 'x')",
        "UPDATE s.t SET v = 'x'",
        "DELETE FROM s.t",
        "TRUNCATE s.t",
        "INSERT INTO keyed VALUES ('a', 2)",
        "TRUNCATE keyed",
        "INSERT INTO parted VALUES ('a', 2)",
        "UPDATE part SET v = 2",
        "TRUNCATE part",
    ] {
        refused(write, "LF002");
    }
    refused(&format!("INSERT INTO s.t VALUES (1000, 'x', {stale})"), "LF001");
    refused(&format!("BEGIN; SELECT fencing.present({stale}); DELETE FROM keyed"), "LF001");
    refused("BEGIN; SELECT fencing.present(1); DELETE FROM part", "LF004");
}

#[test]
fn custom_format() {
    let mut scene = scene();
    run(&mut scene.program("pg_dump", &["-Fc", "-f", "dump", "postgres"]));
    run(&mut scene.program("pg_restore", &["--exit-on-error", "-d", "copy", "dump"]));
    let copy = scene.copy();
    scene.is_complete(copy);
}

#[test]
fn plain_sql() {
    let mut scene = scene();
    run(&mut scene.program("pg_dump", &["-f", "dump.sql", "postgres"]));
    run(&mut scene.program("psql", &["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "copy", "-f", "dump.sql"]));
    let copy = scene.copy();
    scene.is_complete(copy);
}

/// A role is dumped by its name, but one that was dropped by its number: there, that may be another
/// role's, which must not come by its privileges.
#[test]
fn a_role_that_was_dropped() {
    let mut scene = scene();
    scene.session.run("CREATE ROLE gone; SELECT fencing.grant_namespace('jobs', 'gone', 'administer'); DROP ROLE gone");
    let members = "SELECT count(*) FROM fencing.member";
    let before = scene.session.get::<i64>(members);
    run(&mut scene.program("pg_dump", &["-Fc", "-f", "dump", "postgres"]));
    run(&mut scene.program("pg_restore", &["--exit-on-error", "-d", "copy", "dump"]));
    assert_eq!(scene.copy().get::<i64>(members), before - 1);
}

/// Without the rows of the extension a guard knows of no term, and lets nothing pass.
#[test]
fn schema_only() {
    let scene = scene();
    run(&mut scene.program("pg_dump", &["-Fc", "--schema-only", "-f", "dump", "postgres"]));
    run(&mut scene.program("pg_restore", &["--exit-on-error", "-d", "copy", "dump"]));
    let mut copy = scene.copy();
    for token in [scene.new, scene.old, 1] {
        let code = copy.code(&format!("INSERT INTO s.t VALUES (1, 'x', {token})"));
        assert_eq!(code, "42704");
    }
    copy.run("SELECT fencing.create_namespace('jobs')");
    rejects_all(&mut copy, &[scene.new, scene.old, 1]);
    let token = copy.acquire("a", "x").granted();
    copy.run(&format!("INSERT INTO s.t VALUES (1, 'x', {token})"));
}

fn rejects_all(copy: &mut Client, tokens: &[i64]) {
    for token in tokens {
        assert_eq!(copy.code(&format!("INSERT INTO s.t VALUES (1, 'x', {token})")), "LF004");
    }
    assert_eq!(copy.code("INSERT INTO s.t VALUES (1, 'x')"), "LF002");
}

/// Rows alone, into a table with a live guard: refused, as any write that presents nothing.
#[test]
fn data_only() {
    let mut scene = scene();
    run(&mut scene.program("pg_dump", &["-Fc", "-t", "s.t", "-f", "dump", "postgres"]));
    let new = scene.new;
    scene.session.run(&format!("BEGIN; SELECT fencing.present({new}); TRUNCATE s.t; COMMIT"));
    let restore = ["--data-only", "--exit-on-error", "-d", "postgres", "dump"];
    let refused = scene.program("pg_restore", &restore).output().expect("pg_restore");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no fencing token presented"), "{refused:?}");
    assert_eq!(scene.session.get::<i64>("SELECT count(*) FROM s.t"), 0);
    // With triggers disabled it works, and the guard is back afterwards.
    run(scene.program("pg_restore", &restore).arg("--disable-triggers"));
    assert_eq!(scene.session.get::<i64>("SELECT count(*) FROM s.t"), 100);
    let old = scene.old;
    rejects(&mut scene.session, old, false);
}
