//! Errors as a client sees them: the SQLSTATE, with DETAIL and HINT, straight and through PL/pgSQL.

use fencing_tests::{Cluster, Sql};
use postgres::Client;
use postgres::error::DbError;

struct Fixture {
    cluster: Cluster,
    session: Client,
    /// Of lease `a`: superseded, and current.
    old: i64,
    new: i64,
    /// Of lease `b`.
    other: i64,
}

fn fixture() -> Fixture {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    session.run(
        "SELECT fencing.create_namespace('jobs');
         CREATE TABLE t (id int, v int);
         CREATE TABLE inline (id int, fence bigint);
         CREATE TABLE keyed (k text, v int);
         CREATE TABLE front (id int);
         SELECT fencing.protect('t', 'jobs', key => 'a');
         SELECT fencing.protect('inline', 'jobs', key => 'a', present_column => 'fence');
         SELECT fencing.protect('keyed', 'jobs', key_columns => '{k}');
         CREATE FUNCTION write_through() RETURNS trigger LANGUAGE plpgsql
             AS $$ BEGIN INSERT INTO t VALUES (NEW.id); RETURN NEW; END $$;
         CREATE TRIGGER write_through AFTER INSERT ON front FOR EACH ROW EXECUTE FUNCTION write_through();
         CREATE ROLE stranger;
         GRANT ALL ON t, inline, keyed, front TO stranger",
    );
    let old = session.acquire("a", "x").granted();
    session.run(&format!("SELECT fencing.release({old})"));
    let new = session.acquire("a", "y").granted();
    let other = session.acquire("b", "x").granted();
    Fixture { cluster, session, old, new, other }
}

/// What matters of an error, and that all of it is there.
fn seen(error: &DbError) -> (String, String, String) {
    let text = |part: Option<&str>| part.unwrap_or_else(|| panic!("{error:?}: incomplete")).to_owned();
    let (detail, hint) = (text(error.detail()), text(error.hint()));
    for sentence in [&detail, &hint] {
        assert!(sentence.ends_with('.') && !sentence.contains("backtrace"), "{error:?}");
    }
    assert!(!error.message().ends_with('.'), "{error:?}");
    (error.code().code().to_owned(), detail, hint)
}

impl Fixture {
    /// The error of `statement` after `before`, the same in every way of running it.
    fn raises(&mut self, code: &str, before: &str, statement: &str) {
        let session = &mut self.session;
        session.run(&format!("BEGIN; {before}; SAVEPOINT s"));
        let straight = seen(&session.refused(statement));
        assert_eq!(straight.0, code, "{statement}");
        let quoted = statement.replace('\'', "''");
        let ways = [
            format!("DO $do$ BEGIN EXECUTE '{quoted}'; END $do$"),
            format!("DO $do$ BEGIN EXECUTE '{quoted}'; EXCEPTION WHEN SQLSTATE '{code}' THEN RAISE; END $do$"),
            format!("DO $do$ BEGIN EXECUTE '{quoted}'; EXCEPTION WHEN OTHERS THEN RAISE; END $do$"),
            format!(
                "DO $do$ DECLARE c text; d text; h text;
                 BEGIN EXECUTE '{quoted}';
                 EXCEPTION WHEN OTHERS THEN
                     GET STACKED DIAGNOSTICS c = RETURNED_SQLSTATE, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
                     RAISE 'again' USING ERRCODE = c, DETAIL = d, HINT = h;
                 END $do$"
            ),
            format!("PREPARE p AS {statement}; EXECUTE p"),
        ];
        for way in &ways {
            session.run("ROLLBACK TO s");
            assert_eq!(seen(&session.refused(way)), straight, "{way}");
        }
        session.run("ROLLBACK TO s; DEALLOCATE ALL");
        // The extended protocol, as drivers speak it.
        let error = session.query(statement, &[]).expect_err(statement);
        assert_eq!(seen(&session.refusal(statement, &error)), straight, "{statement}");
        session.run("ROLLBACK");
    }

    /// Each way of writing to `t`.
    fn writes_raise(&mut self, code: &str, before: &str) {
        for write in [
            "INSERT INTO t VALUES (1)",
            "INSERT INTO t SELECT g, g FROM generate_series(1, 5) AS g",
            "UPDATE t SET v = 1",
            "DELETE FROM t",
            "TRUNCATE t",
            "MERGE INTO t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id)",
            "WITH w AS (INSERT INTO t VALUES (1) RETURNING id) SELECT id FROM w",
            "INSERT INTO front VALUES (1)",
        ] {
            if write.starts_with("TRUNCATE") {
                // Not to be prepared.
                self.session.run(&format!("BEGIN; {before}"));
                assert_eq!(seen(&self.session.refused(write)).0, code, "{write}");
                self.session.run("ROLLBACK");
            } else {
                self.raises(code, before, write);
            }
        }
    }
}

#[test]
fn lf001_stale_term() {
    let mut f = fixture();
    let (old, present) = (f.old, format!("SELECT fencing.present({})", f.old));
    f.writes_raise("LF001", &present);
    f.raises("LF001", "SELECT", &format!("INSERT INTO inline VALUES (1, {old})"));
    f.raises("LF001", &present, "INSERT INTO keyed VALUES ('a', 1)");
    f.raises("LF001", "SELECT", &format!("SELECT fencing.assert_current({old})"));
}

#[test]
fn lf002_missing_token() {
    let mut f = fixture();
    f.writes_raise("LF002", "SELECT");
    f.raises("LF002", "SELECT", "INSERT INTO inline VALUES (1)");
    f.raises("LF002", "SELECT", "INSERT INTO keyed VALUES ('a', 1)");
}

#[test]
fn lf003_term_ended() {
    let mut f = fixture();
    let new = f.new;
    let later = format!("SET LOCAL fencing.test_clock_offset = '1 h'; SELECT fencing.present({new})");
    f.writes_raise("LF003", &later);
    f.raises("LF003", &later, &format!("SELECT fencing.assert_current({new})"));
    f.session.run(&format!("SELECT fencing.release({new})"));
    f.writes_raise("LF003", &format!("SELECT fencing.present({new})"));
    f.raises("LF003", "SELECT", &format!("INSERT INTO inline VALUES (1, {new})"));
}

#[test]
fn lf003_at_commit() {
    let mut f = fixture();
    let new = f.new;
    let write = format!("BEGIN; SELECT fencing.present({new}); INSERT INTO t VALUES (1)");
    f.session.run(&format!("{write}; SET LOCAL fencing.test_clock_offset = '1 h'"));
    assert_eq!(seen(&f.session.refused("COMMIT")).0, "LF003");
    f.session.run("SET fencing.allow_prepare = on");
    f.session.run(&format!("{write}; SET LOCAL fencing.test_clock_offset = '1 h'"));
    assert_eq!(seen(&f.session.refused("PREPARE TRANSACTION 'gid'")).0, "LF003");
    f.session.run(&write);
    f.cluster.connect().run(&format!("SELECT fencing.release({new})"));
    assert_eq!(seen(&f.session.refused("COMMIT")).0, "LF003");
    assert_eq!(f.session.get::<i64>("SELECT count(*) FROM t"), 0);
}

#[test]
fn lf004_unknown_term() {
    let mut f = fixture();
    f.writes_raise("LF004", &format!("SELECT fencing.present({})", f.other));
    let never = f.other + 1;
    f.writes_raise("LF004", &format!("SELECT fencing.present({never})"));
    f.writes_raise("LF004", "SELECT fencing.present(1)");
    f.raises("LF004", "SELECT", &format!("INSERT INTO inline VALUES (1, {never})"));
    f.raises("LF004", "SELECT", &format!("SELECT fencing.assert_current({never})"));
    f.raises("LF004", "SELECT", &format!("SELECT fencing.assert_current({})", i64::MAX));
}

#[test]
fn lf005_epoch_mismatch() {
    let mut f = fixture();
    f.session.run("SELECT fencing.advance_epoch('a test')");
    f.writes_raise("LF005", &format!("SELECT fencing.present({})", f.new));
    f.raises("LF005", "SELECT", &format!("INSERT INTO inline VALUES (1, {})", f.new));
    f.raises("LF005", "SELECT", &format!("SELECT fencing.assert_current({})", f.new));
}

#[test]
fn lf007_coordinator_closed() {
    let mut f = fixture();
    f.session.run("SELECT fencing.begin_epoch_transition('a test')");
    f.writes_raise("LF007", &format!("SELECT fencing.present({})", f.new));
    f.writes_raise("LF007", "SELECT");
    f.raises("LF007", "SELECT", &format!("SELECT fencing.assert_current({})", f.new));
    assert_eq!(f.session.acquire("c", "x").status, "closed");
}

#[test]
fn lf008_not_authorized_for_term() {
    let mut f = fixture();
    let new = f.new;
    f.writes_raise(
        "LF008",
        &format!("SELECT fencing.present({new}); GRANT TRUNCATE ON t TO stranger; SET LOCAL ROLE stranger"),
    );
    for call in ["renew", "release", "assert_current"] {
        f.raises("LF008", "SET LOCAL ROLE stranger", &format!("SELECT fencing.{call}({new})"));
    }
}

#[test]
fn lf012_terms_exhausted() {
    let mut f = fixture();
    f.raises("LF012", "SELECT", "SELECT fencing.make_token(16777216, 1)");
    f.raises("LF012", "SELECT", "SELECT fencing.make_token(1, 549755813888)");
    f.session.run("SELECT setval('fencing.term_seq', 549755813887)");
    let error = f.session.refused("SELECT fencing.acquire('jobs', 'c', 'x')");
    assert_eq!(seen(&error).0, "LF012");
    f.raises("LF012", "SET LOCAL fencing.acquire_in_block = on", "SELECT fencing.acquire('jobs', 'c', 'x')");
    assert_eq!(f.session.get::<String>("SELECT state FROM fencing.inspect('jobs', 'c')"), "free");
    // As the hint says: in the next epoch there is room again.
    f.session.run("SELECT fencing.advance_epoch('a test')");
    let token = f.session.acquire("a", "x").granted();
    assert!(token > f.new && f.session.acquire("c", "x").granted() > token);
}

#[test]
fn lf013_invalid_presentation() {
    let mut f = fixture();
    let (old, new) = (f.old, f.new);
    for bad in ["NULL", "0", "-1", "-9223372036854775808"] {
        f.raises("LF013", "SELECT", &format!("SELECT fencing.present({bad})"));
    }
    f.raises("LF013", &format!("SELECT fencing.present({new})"), &format!("SELECT fencing.present({old})"));
    f.raises("LF013", &format!("SELECT fencing.present({new})"), &format!("INSERT INTO inline VALUES (1, {old})"));
    f.raises("LF013", "SELECT", "INSERT INTO inline VALUES (1, 0)");
    f.raises("LF013", "SELECT", "INSERT INTO inline VALUES (1, -7)");
    for call in ["epoch_of", "seq_of", "format_token"] {
        f.raises("LF013", "SELECT", &format!("SELECT fencing.{call}(0)"));
    }
}

/// The one case in which a retry is right.
#[test]
fn snapshot_older_than_the_takeover() {
    let mut f = fixture();
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        f.session.run(&format!("BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM t"));
        let mut next = f.cluster.connect();
        next.run(&format!("SELECT fencing.release({})", f.new));
        f.new = next.acquire("a", "z").granted();
        let error = f.session.refused(&format!("SELECT fencing.present({}); INSERT INTO t VALUES (1)", f.new));
        assert_eq!(seen(&error).0, "40001");
        f.session.run("ROLLBACK");
        f.session.run(&format!(
            "BEGIN ISOLATION LEVEL {level}; SELECT fencing.present({}); INSERT INTO t VALUES (1); COMMIT",
            f.new
        ));
    }
}

/// A caught rejection leaves the transaction as it was before: what is accepted stays accepted.
#[test]
fn a_caught_rejection_changes_nothing() {
    let mut f = fixture();
    let new = f.new;
    f.session.run(&format!(
        "BEGIN;
         SELECT fencing.present({new});
         INSERT INTO t VALUES (1);
         DO $$
         BEGIN
             BEGIN INSERT INTO keyed VALUES ('b', 1); EXCEPTION WHEN SQLSTATE 'LF004' THEN END;
             BEGIN PERFORM fencing.present(0); EXCEPTION WHEN SQLSTATE 'LF013' THEN END;
             INSERT INTO t VALUES (2);
         END $$;
         COMMIT"
    ));
    assert_eq!(f.session.get::<i64>("SELECT sum(id) FROM t"), 3);
    assert_eq!(f.session.get::<i64>("SELECT count(*) FROM keyed"), 0);
}
