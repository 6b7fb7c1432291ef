//! Prepared statements with inline tokens: a statement is checked each time it runs, whatever it
//! was when it was prepared (hazards 6.6, 6.8).

use fencing_tests::{Cluster, Sql};
use postgres::{Client, Statement};

const WRITE: &str = "UPDATE t SET v = v + 1, fence = $1 WHERE id = $2";

struct Fixture {
    _cluster: Cluster,
    session: Client,
    other: Client,
    token: i64,
}

fn fixture(settings: &str) -> Fixture {
    let cluster = Cluster::new();
    let (mut session, mut other) = (cluster.connect(), cluster.connect());
    session.run(
        "SELECT fencing.create_namespace('jobs');
         CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL DEFAULT 0, fence bigint, seen bigint);
         INSERT INTO t VALUES (1);
         SELECT fencing.protect('t', 'jobs', key => 'a', present_column => 'fence', token_column => 'seen')",
    );
    session.run(settings);
    let token = other.acquire("a", "first").granted();
    Fixture { _cluster: cluster, session, other, token }
}

impl Fixture {
    fn write(&mut self, statement: &Statement, token: Option<i64>) -> String {
        match self.session.execute(statement, &[&token, &1]) {
            Ok(1) => "00000".to_owned(),
            Ok(n) => format!("{n} rows"),
            Err(error) => self.session.refusal(WRITE, &error).code().code().to_owned(),
        }
    }

    /// Another session takes over, and its token is what counts from now on.
    fn take_over(&mut self) -> i64 {
        self.other.run(&format!("SELECT fencing.release({})", self.token));
        std::mem::replace(&mut self.token, self.other.acquire("a", "next").granted())
    }
}

/// Custom plans, then a generic one; each with the parameter of its own run.
#[test]
fn each_run_presents_its_own_parameter() {
    for settings in ["", "SET plan_cache_mode = force_generic_plan"] {
        let mut f = fixture(settings);
        let write = f.session.prepare(WRITE).unwrap();
        for _ in 0..8 {
            let stale = f.take_over();
            assert_eq!(f.write(&write, Some(stale)), "LF001");
            assert_eq!(f.write(&write, None), "LF002");
            assert_eq!(f.write(&write, Some(f.token)), "00000");
            assert_eq!(f.write(&write, Some(f.token + 1)), "LF004");
            assert_eq!(f.write(&write, Some(0)), "LF013");
        }
        assert_eq!(f.session.get::<i32>("SELECT v FROM t"), 8);
        assert_eq!(f.session.get::<i64>("SELECT seen FROM t"), f.token);
    }
}

#[test]
fn across_rollbacks_and_errors() {
    let mut f = fixture("");
    let write = f.session.prepare(WRITE).unwrap();
    let token = Some(f.token);
    for end in ["ROLLBACK", "COMMIT", "SAVEPOINT s; ROLLBACK TO s; COMMIT", "SELECT 1/0"] {
        f.session.run("BEGIN");
        assert_eq!(f.write(&write, token), "00000");
        assert_eq!(f.write(&write, None), "LF002", "an inline token counts for its statement alone");
        f.session.run("ROLLBACK; BEGIN");
        assert_eq!(f.write(&write, token), "00000");
        if f.session.code(end) != "00000" {
            f.session.run("ROLLBACK");
        }
        assert_eq!(f.write(&write, None), "LF002", "after {end}");
        assert_eq!(f.write(&write, token), "00000", "after {end}");
    }
}

#[test]
fn across_discards() {
    let mut f = fixture("");
    for discard in ["DISCARD PLANS", "DISCARD SEQUENCES", "RESET ALL", "DEALLOCATE ALL", "DISCARD ALL"] {
        let write = f.session.prepare(WRITE).unwrap();
        assert_eq!(f.write(&write, Some(f.token)), "00000");
        f.session.run(discard);
        // The last two forget the statement itself.
        let write = if discard.ends_with("ALL") { f.session.prepare(WRITE).unwrap() } else { write };
        let stale = f.take_over();
        assert_eq!(f.write(&write, None), "LF002", "after {discard}");
        assert_eq!(f.write(&write, Some(stale)), "LF001", "after {discard}");
        assert_eq!(f.write(&write, Some(f.token)), "00000", "after {discard}");
    }
}

/// A guard that came or went since the statement was prepared.
#[test]
fn across_changes_of_the_guard() {
    let mut f = fixture("");
    let write = f.session.prepare(WRITE).unwrap();
    let token = Some(f.token);
    assert_eq!(f.write(&write, token), "00000");
    f.other.run("SELECT fencing.unprotect('t')");
    assert_eq!(f.write(&write, None), "00000");
    f.other.run("SELECT fencing.protect('t', 'jobs', key => 'b', present_column => 'fence')");
    assert_eq!(f.write(&write, None), "LF002");
    assert_eq!(f.write(&write, token), "LF004", "a token of another lease");
    let token = f.other.acquire("b", "x").granted();
    assert_eq!(f.write(&write, Some(token)), "00000");
}

#[test]
fn a_stale_statement_that_matches_no_row_is_an_error() {
    let mut f = fixture("");
    let none = "UPDATE t SET v = 9 WHERE id = 77";
    let stale = f.take_over();
    assert_eq!(f.session.code(&format!("BEGIN; SELECT fencing.present({stale}); {none}")), "LF001");
    f.session.run("ROLLBACK");
    f.session.run(&format!("BEGIN; SELECT fencing.present({}); {none}; COMMIT", f.token));
}
