//! One connection serves many clients, as behind a pooler: nothing that one presented is left for
//! the next (hazards 6.1, failures 13).

use fencing_tests::{Cluster, Sql};
use postgres::Client;

struct Pool {
    _cluster: Cluster,
    /// The shared connection.
    shared: Client,
    token: i64,
}

/// `t` is guarded by lease `a`, which is held; so is `inline`, with an inline column.
fn pool() -> Pool {
    let cluster = Cluster::new();
    let mut shared = cluster.connect();
    shared.run(
        "SELECT fencing.create_namespace('jobs');
         CREATE ROLE somebody;
         CREATE TABLE t (v int, CONSTRAINT one UNIQUE (v) DEFERRABLE INITIALLY DEFERRED);
         CREATE TABLE inline (id int PRIMARY KEY, v int, fence bigint);
         INSERT INTO inline VALUES (1, 0), (2, 0);
         SELECT fencing.protect('t', 'jobs', key => 'a');
         SELECT fencing.protect('inline', 'jobs', key => 'a', present_column => 'fence')",
    );
    let token = shared.acquire("a", "x").granted();
    Pool { _cluster: cluster, shared, token }
}

impl Pool {
    /// The next client, which presents nothing, is refused in every way of writing.
    fn next_is_refused(&mut self, after: &str) {
        for write in [
            "INSERT INTO t VALUES (2)",
            "UPDATE t SET v = 3",
            "DELETE FROM t",
            "TRUNCATE t",
            "UPDATE inline SET v = 3",
            "INSERT INTO inline VALUES (3, 3)",
            "DELETE FROM inline",
            "BEGIN; INSERT INTO t VALUES (2)",
            "BEGIN; SAVEPOINT s; UPDATE inline SET v = 3",
        ] {
            assert_eq!(self.shared.code(write), "LF002", "{write}, after {after}");
            self.shared.run("ROLLBACK");
        }
    }

    /// Client 1 presents and writes; `end` is how its transaction ends, statement by statement.
    fn after(&mut self, end: &str, code: &str) {
        let token = self.token;
        self.shared.run(&format!("BEGIN; SELECT fencing.present({token}); INSERT INTO t VALUES (1); DELETE FROM t"));
        let codes: Vec<_> = end.split("; ").map(|statement| self.shared.code(statement)).collect();
        assert_eq!(codes.iter().find(|code| *code != "00000").map_or("00000", String::as_str), code, "{end}");
        // As poolers do where a client leaves a transaction behind.
        self.shared.run("ROLLBACK");
        self.next_is_refused(end);
    }
}

#[test]
fn after_every_end_of_a_transaction() {
    let mut pool = pool();
    pool.after("COMMIT", "00000");
    pool.after("ROLLBACK", "00000");
    pool.after("SELECT 1/0", "22012");
    pool.after("INSERT INTO t VALUES (1), (1); COMMIT", "23505");
    pool.after("COMMIT; DISCARD ALL", "00000");
    pool.after("ABORT; DISCARD ALL", "00000");
    pool.after("SET LOCAL statement_timeout = 1; SELECT pg_sleep(9)", "57014");
    pool.after("SAVEPOINT s; SELECT 1/0", "22012");
    pool.after("SAVEPOINT s; RELEASE s; COMMIT", "00000");
    // An error of the guard itself.
    let foreign = pool.shared.acquire("b", "x").granted();
    pool.after(&format!("SELECT fencing.present({foreign}); SELECT fencing.present(0)"), "LF013");
    pool.after("PREPARE TRANSACTION 'refused'", "0A000");
}

#[test]
fn in_a_transaction_that_is_chained() {
    let mut pool = pool();
    for end in ["COMMIT AND CHAIN", "ROLLBACK AND CHAIN"] {
        let token = pool.token;
        pool.shared.run(&format!("BEGIN; SELECT fencing.present({token}); INSERT INTO t VALUES (1); DELETE FROM t"));
        pool.shared.run(end);
        assert_eq!(pool.shared.code("INSERT INTO t VALUES (2)"), "LF002", "{end}");
        pool.shared.run("ROLLBACK");
    }
}

#[test]
fn after_prepare_transaction() {
    let mut pool = pool();
    for decision in ["COMMIT", "ROLLBACK"] {
        pool.shared.run("SET fencing.allow_prepare = on");
        // The prepared transaction's own locks are in TRUNCATE's way.
        pool.shared.run(&format!("BEGIN; SELECT fencing.present({}); UPDATE inline SET v = 1", pool.token));
        pool.shared.run("PREPARE TRANSACTION 'gid'");
        assert_eq!(pool.shared.code("INSERT INTO t VALUES (2)"), "LF002");
        assert_eq!(pool.shared.code("INSERT INTO inline VALUES (3, 3)"), "LF002");
        pool.shared.run(&format!("{decision} PREPARED 'gid'"));
        pool.next_is_refused(decision);
    }
}

/// Within one transaction: what a savepoint presented goes with it.
#[test]
fn after_a_savepoint() {
    let mut pool = pool();
    let present = format!("SELECT fencing.present({})", pool.token);
    for kept in ["", "INSERT INTO t VALUES (1);", "SAVEPOINT inner_one; RELEASE inner_one;"] {
        pool.shared.run(&format!("BEGIN; SAVEPOINT s; {present}; {kept} ROLLBACK TO s"));
        assert_eq!(pool.shared.code("INSERT INTO t VALUES (2)"), "LF002", "{kept}");
        pool.shared.run("ROLLBACK");
    }
    // Caught errors are savepoints too.
    pool.shared.run(&format!(
        "BEGIN;
         DO $$ BEGIN PERFORM fencing.present({}); RAISE 'no'; EXCEPTION WHEN raise_exception THEN END $$",
        pool.token
    ));
    assert_eq!(pool.shared.code("INSERT INTO t VALUES (2)"), "LF002");
    pool.shared.run("ROLLBACK");
    // Released, it is its parent's, and goes with that.
    pool.shared.run(&format!(
        "BEGIN; SAVEPOINT a; SAVEPOINT b; {present}; RELEASE b; INSERT INTO t VALUES (1); ROLLBACK TO a"
    ));
    assert_eq!(pool.shared.code("INSERT INTO t VALUES (2)"), "LF002");
    pool.shared.run("ROLLBACK");
    // Presented before it, it stays.
    pool.shared.run(&format!(
        "BEGIN; {present}; SAVEPOINT s; INSERT INTO t VALUES (1); ROLLBACK TO s; INSERT INTO t VALUES (2); COMMIT"
    ));
}

#[test]
fn after_presenting_in_autocommit() {
    let mut pool = pool();
    pool.shared.run(&format!("SELECT fencing.present({})", pool.token));
    pool.next_is_refused("present in autocommit");
    pool.shared.run(&format!(
        "DO 'BEGIN PERFORM fencing.present({}); INSERT INTO t VALUES (1); DELETE FROM t; END'",
        pool.token
    ));
    pool.next_is_refused("present in a DO block");
}

#[test]
fn after_inline_presentation() {
    let mut pool = pool();
    let token = pool.token;
    let writes = [
        (format!("UPDATE inline SET v = 1, fence = {token}"), "00000"),
        (format!("UPDATE inline SET v = 1, fence = {token} WHERE id = 1"), "00000"),
        (format!("UPDATE inline SET v = 1 / (id - 2), fence = {token}"), "22012"),
        (format!("UPDATE inline SET id = 7, fence = {token}"), "23505"),
        (format!("INSERT INTO inline VALUES (1, 1, {token}) ON CONFLICT (id) DO NOTHING"), "00000"),
        (format!("INSERT INTO inline VALUES (1, 1, {token}) ON CONFLICT (id) DO UPDATE SET v = 5"), "00000"),
        (format!("WITH w AS (UPDATE inline SET v = 1, fence = {token} RETURNING id) SELECT sum(id) FROM w"), "00000"),
    ];
    for (write, code) in &writes {
        assert_eq!(pool.shared.code(write), *code, "{write}");
        pool.next_is_refused(write);
        // In one transaction as well.
        pool.shared.run("BEGIN; SAVEPOINT s");
        assert_eq!(pool.shared.code(write), *code, "{write}");
        if *code != "00000" {
            pool.shared.run("ROLLBACK TO s");
        }
        assert_eq!(pool.shared.code("UPDATE inline SET v = 3"), "LF002", "in the transaction of {write}");
        pool.shared.run("ROLLBACK");
        // And where the error was caught.
        let caught = format!(
            "DO $$ BEGIN
                 BEGIN {write}; EXCEPTION WHEN division_by_zero OR unique_violation THEN END;
                 UPDATE inline SET v = 3;
             END $$"
        );
        if !write.starts_with("WITH") {
            assert_eq!(pool.shared.code(&caught), "LF002", "{caught}");
        }
    }
}

#[test]
fn as_another_role() {
    let mut pool = pool();
    pool.shared.run("GRANT ALL ON t, inline TO somebody");
    let token = pool.token;
    pool.shared.run(&format!("BEGIN; SELECT fencing.present({token}); INSERT INTO t VALUES (1)"));
    // The same transaction, the same token, checked already: for another role.
    assert_eq!(pool.shared.code("SET ROLE somebody; INSERT INTO t VALUES (2)"), "LF008");
    pool.shared.run("ROLLBACK; RESET ROLE");
    pool.next_is_refused("SET ROLE");
}
