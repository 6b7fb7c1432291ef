//! DDL on a guarded table: a guard goes with its table, and one that can't read its columns any
//! more lets nothing pass (hazards 2.17).

use fencing_tests::{Cluster, Sql};
use postgres::Client;

struct Scene {
    cluster: Cluster,
    /// The owner, who alters.
    owner: Client,
    /// Who writes, and has written before the change.
    writer: Client,
    /// The tokens of leases `a` and `b`.
    a: i64,
    b: i64,
}

fn scene(table: &str) -> Scene {
    let cluster = Cluster::new();
    let (mut owner, writer) = (cluster.connect(), cluster.connect());
    owner.run("SELECT fencing.create_namespace('jobs')");
    owner.run(table);
    let (a, b) = (owner.acquire("a", "x").granted(), owner.acquire("b", "x").granted());
    Scene { cluster, owner, writer, a, b }
}

const KEYED: &str = "CREATE TABLE t (id int PRIMARY KEY, k text, fence bigint, seen bigint, v int);
    SELECT fencing.protect('t', 'jobs', key_columns => '{k}', present_column => 'fence', token_column => 'seen')";

impl Scene {
    /// The SQLSTATE of a statement in which `@a` and `@b` are the tokens.
    fn write(&mut self, sql: &str) -> String {
        let sql = sql.replace("@a", &self.a.to_string()).replace("@b", &self.b.to_string());
        let code = self.writer.code(&sql);
        assert!(!code.starts_with("XX"), "{sql}: {code}");
        self.writer.run("ROLLBACK");
        code
    }

    fn refused(&mut self, sql: &str) {
        let code = self.write(sql);
        assert_ne!(code, "00000", "{sql}");
    }

    /// Under either token or none. With the right one it may pass, where the guard has followed.
    fn only_the_right_token(&mut self, sql: &str) {
        for (token, right) in [("NULL", false), ("@b", false), ("@a", true)] {
            let code = self.write(&sql.replace("@@", token));
            let clear = ["42703", "42804", "42611", "LF001", "LF002", "LF004", "55000"].contains(&code.as_str());
            assert!(clear || right && code == "00000", "{sql}, {token}: {code}");
        }
        // Presented for the transaction instead.
        let presented = format!("BEGIN; SELECT fencing.present(@b); {}", sql.replace("@@", "NULL"));
        self.refused(&presented);
    }
}

#[test]
fn renamed_columns() {
    for (column, name, insert) in [
        ("k", "kk", "INSERT INTO t (id, kk, fence) VALUES (2, 'a', @@)"),
        ("fence", "ff", "INSERT INTO t (id, k, ff) VALUES (2, 'a', @@)"),
        ("seen", "ss", "INSERT INTO t (id, k, fence) VALUES (2, 'a', @@)"),
    ] {
        let mut scene = scene(KEYED);
        assert_eq!(scene.write("INSERT INTO t VALUES (1, 'a', @a)"), "00000");
        scene.owner.run(&format!("ALTER TABLE t RENAME COLUMN {column} TO {name}"));
        scene.only_the_right_token(insert);
        for write in ["UPDATE t SET v = 1", "DELETE FROM t", "TRUNCATE t"] {
            scene.refused(write);
            scene.refused(&format!("BEGIN; SELECT fencing.present(@b); {write}"));
        }
        // Another column of that name does not present, and does not say whose row it is.
        scene.owner.run(&format!("ALTER TABLE t ADD COLUMN {column} bigint"));
        scene.refused("DELETE FROM t");
        scene.refused("UPDATE t SET v = 1");
        scene.owner.run(&format!("ALTER TABLE t DROP COLUMN {column}, ADD COLUMN {column} text DEFAULT 'b'"));
        scene.refused("DELETE FROM t");
        // Renamed back, it is as it was.
        scene.owner.run(&format!("ALTER TABLE t DROP COLUMN {column}; ALTER TABLE t RENAME COLUMN {name} TO {column}"));
        if scene.write("INSERT INTO t VALUES (3, 'a', @a)") == "00000" {
            assert_eq!(scene.owner.get::<i64>("SELECT seen FROM t WHERE id = 3"), scene.a);
        }
        scene.refused("INSERT INTO t VALUES (4, 'a', @b)");
        scene.refused("INSERT INTO t VALUES (4, 'a')");
    }
}

#[test]
fn dropped_columns() {
    for column in ["k", "fence", "seen"] {
        let mut scene = scene(KEYED);
        assert_eq!(scene.write("INSERT INTO t VALUES (1, 'a', @a)"), "00000");
        if scene.owner.code(&format!("ALTER TABLE t DROP COLUMN {column}")) != "00000" {
            continue; // refused is as good
        }
        scene.refused("BEGIN; SELECT fencing.present(@b); DELETE FROM t");
        scene.refused("DELETE FROM t");
        scene.refused("INSERT INTO t (id) VALUES (7)");
        // And the owner can get rid of the guard.
        scene.owner.run("SELECT fencing.unprotect('t')");
        assert_eq!(scene.write("DELETE FROM t"), "00000");
    }
}

#[test]
fn changed_types_and_defaults() {
    for (change, insert) in [
        ("ALTER COLUMN k TYPE numeric USING 1", "INSERT INTO t (id, k, fence) VALUES (2, 1, @@)"),
        ("ALTER COLUMN k TYPE char(9)", "INSERT INTO t (id, k, fence) VALUES (2, 'a', @@)"),
        ("ALTER COLUMN fence TYPE int USING NULL", "INSERT INTO t (id, k, fence) VALUES (2, 'a', (@@ % 7)::int)"),
        ("ALTER COLUMN fence TYPE text", "INSERT INTO t (id, k, fence) VALUES (2, 'a', (@@)::text)"),
        ("ALTER COLUMN seen TYPE text", "INSERT INTO t (id, k, fence) VALUES (2, 'a', @@)"),
        (
            "DROP COLUMN k, ADD COLUMN k text GENERATED ALWAYS AS ('a') STORED",
            "INSERT INTO t (id, fence) VALUES (2, @@)",
        ),
    ] {
        let mut scene = scene(KEYED);
        assert_eq!(scene.write("INSERT INTO t VALUES (1, 'a', @a)"), "00000");
        scene.owner.run(&format!("ALTER TABLE t {change}"));
        scene.only_the_right_token(insert);
    }
    // What a default puts there was not presented.
    let mut scene = scene(KEYED);
    assert_eq!(scene.write("INSERT INTO t VALUES (1, 'a', @a)"), "00000");
    let token = scene.a;
    scene.owner.run(&format!("ALTER TABLE t ALTER COLUMN fence SET DEFAULT {token}"));
    assert_eq!(scene.write("INSERT INTO t (id, k) VALUES (2, 'a')"), "LF002");
    scene.owner.run("ALTER TABLE t ALTER COLUMN fence DROP DEFAULT");
    assert_eq!(scene.write("INSERT INTO t VALUES (2, 'a', @a)"), "00000");
}

#[test]
fn renamed_and_moved_tables() {
    let mut scene = scene(
        "CREATE SCHEMA s; CREATE TABLE t (id int, fence bigint);
         SELECT fencing.protect('t', 'jobs', key => 'a', present_column => 'fence')",
    );
    let mut name = "t".to_owned();
    for (change, next) in [
        ("ALTER TABLE t RENAME TO u", "u"),
        ("ALTER TABLE u SET SCHEMA s", "s.u"),
        ("ALTER SCHEMA s RENAME TO \"odd schema\"", "\"odd schema\".u"),
        ("ALTER TABLE \"odd schema\".u RENAME TO \"odd \"\"table\"", "\"odd schema\".\"odd \"\"table\""),
        (
            "CREATE ROLE somebody; ALTER TABLE \"odd schema\".\"odd \"\"table\" OWNER TO somebody",
            "\"odd schema\".\"odd \"\"table\"",
        ),
    ] {
        assert_eq!(scene.write(&format!("INSERT INTO {name} VALUES (1, @a)")), "00000");
        scene.owner.run(change);
        name = next.to_owned();
        for (token, code) in [("NULL", "LF002"), ("@b", "LF004"), ("@a", "00000")] {
            assert_eq!(scene.write(&format!("INSERT INTO {name} VALUES (1, {token})")), code, "{change}");
        }
        assert_eq!(scene.write(&format!("TRUNCATE {name}")), "LF002", "{change}");
        assert_eq!(scene.write(&format!("DELETE FROM {name}")), "LF002", "{change}");
        let guarded = format!("SELECT count(*) FROM fencing.guards WHERE relation = '{name}'::regclass AND key = 'a'");
        assert_eq!(scene.owner.get::<i64>(&guarded), 1);
    }
    scene.owner.run(&format!("SELECT fencing.unprotect('{name}')"));
    assert_eq!(scene.write(&format!("DELETE FROM {name}")), "00000");
    assert_eq!(
        scene.owner.get::<i64>("SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal AND tgname LIKE '~%'"),
        0
    );
}

/// Rows older than a column that was added with a default do not hold it (the catalog does).
#[test]
fn rows_older_than_their_key_column() {
    let mut scene = scene(
        "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3);
         ALTER TABLE t ADD COLUMN k text DEFAULT 'a', ADD COLUMN seen bigint, ADD COLUMN fence bigint;
         SELECT fencing.protect('t', 'jobs', key_columns => '{k}', present_column => 'fence', token_column => 'seen')",
    );
    for write in
        ["UPDATE t SET id = 10 WHERE id = 1", "DELETE FROM t WHERE id = 2", "UPDATE t SET k = 'a' WHERE id = 3"]
    {
        assert_eq!(scene.write(write), "LF002");
        assert_eq!(scene.write(&format!("BEGIN; SELECT fencing.present(@b); {write}")), "LF004");
        assert_eq!(scene.write(&format!("BEGIN; SELECT fencing.present(@a); {write}; COMMIT")), "00000");
    }
    // To another lease, both count.
    assert_eq!(scene.write("BEGIN; SELECT fencing.present(@a); UPDATE t SET k = 'b' WHERE id = 3"), "LF004");
    let both =
        "BEGIN; SELECT fencing.present(@a); SELECT fencing.present(@b); UPDATE t SET k = 'b' WHERE id = 3; COMMIT";
    assert_eq!(scene.write(both), "00000");
}

/// Columns at other places, after dropped ones and in a partition made the other way round.
#[test]
fn columns_at_other_places() {
    let mut scene = scene(
        "CREATE TABLE p (gone int, id int, k text, fence bigint, seen bigint) PARTITION BY RANGE (id);
         ALTER TABLE p DROP COLUMN gone;
         CREATE TABLE p1 (seen bigint, fence bigint, x text, k text, id int);
         ALTER TABLE p1 DROP COLUMN x;
         ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (0) TO (10);
         CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20);
         SELECT fencing.protect('p', 'jobs', key_columns => '{k}', present_column => 'fence', token_column => 'seen')",
    );
    for table in ["p", "p1", "p2"] {
        for id in [1, 11].into_iter().filter(|id| table == "p" || (table == "p1") == (*id < 10)) {
            let insert = |token: &str| format!("INSERT INTO {table} (id, k, fence) VALUES ({id}, 'a', {token})");
            assert_eq!(scene.write(&insert("NULL")), "LF002");
            assert_eq!(scene.write(&insert("@b")), "LF004");
            assert_eq!(scene.write(&insert("@a")), "00000");
        }
    }
    let stamped = format!("SELECT count(*) FROM p WHERE seen = {} AND fence IS NULL", scene.a);
    assert_eq!(scene.owner.get::<i64>(&stamped), 4);
    // From one partition to the other, as one write with an inline token.
    assert_eq!(scene.write("UPDATE p SET id = id + 10, fence = @b WHERE id < 10"), "LF004");
    assert_eq!(scene.write("UPDATE p SET id = id + 10, fence = @a WHERE id < 10"), "00000");
    assert_eq!(scene.owner.get::<i64>(&stamped), 4);
}

/// A session that has written before sees what another one changes, also inside its transaction.
#[test]
fn a_guard_that_appears_or_changes_between_two_statements() {
    let mut scene = scene("CREATE TABLE t (id int); CREATE TABLE u (id int)");
    assert_eq!(scene.write("INSERT INTO t VALUES (1)"), "00000");
    let a = scene.a;
    scene.writer.run(&format!("BEGIN; SELECT fencing.present({a}); SELECT 1 FROM u"));
    scene.owner.run("SELECT fencing.protect('t', 'jobs', key => 'b')");
    assert_eq!(scene.writer.code("INSERT INTO t VALUES (1)"), "LF004");
    scene.writer.run("ROLLBACK");
    scene.owner.run("BEGIN; SELECT fencing.unprotect('t'); SELECT fencing.protect('t', 'jobs', key => 'a'); COMMIT");
    assert_eq!(scene.write("BEGIN; SELECT fencing.present(@b); INSERT INTO t VALUES (1)"), "LF004");
    assert_eq!(scene.write("BEGIN; SELECT fencing.present(@a); INSERT INTO t VALUES (1); COMMIT"), "00000");
    // Rolled back, nothing has changed.
    scene.owner.run("BEGIN; SELECT fencing.unprotect('t'); ROLLBACK");
    assert_eq!(scene.write("INSERT INTO t VALUES (1)"), "LF002");
    assert_eq!(scene.cluster.connect().code("INSERT INTO t VALUES (1)"), "LF002");
}
