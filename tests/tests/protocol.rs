//! Shapes of the protocol: when `acquire` is alone, and when something shares its transaction.

use fencing_tests::wire::{Reply, Wire};
use fencing_tests::{Cluster, Sql};
use postgres::Client;

fn cluster() -> (Cluster, Client) {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    session.run(
        "SELECT fencing.create_namespace('jobs');
         CREATE TABLE t (id int PRIMARY KEY, v int, fence bigint);
         INSERT INTO t VALUES (1, 0);
         SELECT fencing.protect('t', 'jobs', key => 'a', present_column => 'fence');
         CREATE FUNCTION acquire_it(key text) RETURNS text LANGUAGE plpgsql
             AS $$ BEGIN RETURN (SELECT status FROM fencing.acquire('jobs', key, 'f')); END $$",
    );
    (cluster, session)
}

fn acquire(key: &str) -> String {
    format!("SELECT status FROM fencing.acquire('jobs', '{key}', 'x')")
}

fn state(session: &mut Client, key: &str) -> String {
    session.get(&format!("SELECT state FROM fencing.inspect('jobs', '{key}')"))
}

const READY: Reply = Reply::Ready('I');

#[test]
fn first_in_a_pipeline_it_commits_before_the_rest_runs() {
    let (cluster, mut session) = cluster();
    let mut wire = Wire::connect(&cluster, "postgres");
    wire.execute(&acquire("a"), 0);
    wire.execute("SELECT pg_xact_status(advanced_by) FROM fencing.fence", 0);
    let replies = wire.execute("SELECT 1/0", 0).sync();
    let select = Reply::done("SELECT 1");
    let expected =
        [Reply::one("granted"), select.clone(), Reply::one("committed"), select, Reply::error("22012"), READY];
    assert_eq!(replies, expected);
    assert_eq!(state(&mut session, "a"), "held");
}

#[test]
fn each_of_several_in_a_pipeline_is_alone() {
    let (cluster, mut session) = cluster();
    let mut wire = Wire::connect(&cluster, "postgres");
    let replies = wire.execute(&acquire("a"), 0).execute(&acquire("b"), 0).execute("SELECT 1/0", 0).sync();
    let select = Reply::done("SELECT 1");
    let granted = Reply::one("granted");
    assert_eq!(replies, [granted.clone(), select.clone(), granted, select, Reply::error("22012"), READY]);
    assert_eq!((state(&mut session, "a"), state(&mut session, "b")), ("held".to_owned(), "held".to_owned()));
}

#[test]
fn after_another_statement_of_its_pipeline_it_is_refused() {
    let (cluster, mut session) = cluster();
    let mut wire = Wire::connect(&cluster, "postgres");
    for before in ["SELECT 1", "INSERT INTO fencing.protocol SELECT 1 WHERE false", "BEGIN"] {
        let replies = wire.execute(before, 0).execute(&acquire("a"), 0).sync();
        assert_eq!(replies[replies.len() - 2], Reply::error("25001"), "{before}");
        wire.query("ROLLBACK");
    }
    // A row limit leaves a statement open, and the transaction with it.
    let replies = wire.execute("SELECT generate_series(1, 2)", 1).execute(&acquire("a"), 0).sync();
    assert_eq!(replies, [Reply::one("1"), Reply::Suspended, Reply::error("25001"), READY]);
    assert_eq!(state(&mut session, "a"), "free");
    // The next pipeline starts anew.
    assert_eq!(wire.execute(&acquire("a"), 0).sync(), [Reply::one("granted"), Reply::done("SELECT 1"), READY]);
}

#[test]
fn a_row_limit_does_not_keep_it_from_committing() {
    let (cluster, mut session) = cluster();
    let mut wire = Wire::connect(&cluster, "postgres");
    assert_eq!(wire.execute(&acquire("a"), 1).sync(), [Reply::one("granted"), Reply::Suspended, READY]);
    assert_eq!(state(&mut session, "a"), "held");
}

#[test]
fn one_of_several_statements_in_a_query_is_refused() {
    let (cluster, mut session) = cluster();
    let mut wire = Wire::connect(&cluster, "postgres");
    let a = acquire("a");
    for query in [
        format!("SELECT 1; {a}"),
        format!("{a}; SELECT 1"),
        format!("{a}; {a}"),
        format!("BEGIN; {a}; COMMIT"),
        "SELECT 1; DO 'BEGIN PERFORM acquire_it($q$a$q$); END'".to_owned(),
    ] {
        let replies = wire.query(&query);
        assert!(replies.contains(&Reply::error("25001")), "{query}: {replies:?}");
        wire.query("ROLLBACK");
        assert_eq!(state(&mut session, "a"), "free", "{query}");
    }
    assert_eq!(wire.query(&a), [Reply::one("granted"), Reply::done("SELECT 1"), READY]);
}

#[test]
fn alone_in_a_function_or_a_do_block() {
    let (_cluster, mut session) = cluster();
    assert_eq!(session.get::<String>("SELECT acquire_it('function')"), "granted");
    session.run("DO 'BEGIN PERFORM acquire_it($q$do$q$); END'");
    session.run(
        "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN PERFORM acquire_it('procedure'); END $$;
         PREPARE s AS SELECT acquire_it('prepared')",
    );
    session.run("CALL p()");
    session.run("EXECUTE s");
    session.run("CREATE TABLE made AS SELECT acquire_it('made')");
    for key in ["function", "do", "procedure", "prepared", "made"] {
        assert_eq!(state(&mut session, key), "held", "{key}");
    }
    // Not where it may be rolled back and its caller go on with the token.
    let catches = "DO $$ BEGIN PERFORM acquire_it('caught'); EXCEPTION WHEN division_by_zero THEN NULL; END $$";
    assert_eq!(session.code(catches), "25001");
}

#[test]
fn a_procedure_that_commits_may_write_under_what_it_acquired() {
    let (_cluster, mut session) = cluster();
    session.run(
        "DO $$
         DECLARE token bigint;
         BEGIN
             SELECT a.token INTO token FROM fencing.acquire('jobs', 'a', 'x') AS a;
             COMMIT;
             PERFORM fencing.present(token);
             UPDATE t SET v = 1;
             COMMIT;
             BEGIN
                 UPDATE t SET v = 2;
             EXCEPTION WHEN SQLSTATE 'LF002' THEN
                 RAISE NOTICE 'not presented in this transaction';
             END;
         END $$",
    );
    assert_eq!(session.get::<i32>("SELECT v FROM t"), 1);
}

#[test]
fn a_write_in_the_same_statement_has_read_too_early() {
    let (_cluster, mut session) = cluster();
    for write in [
        "WITH a AS (SELECT token FROM fencing.acquire('jobs', 'a', 'x')) UPDATE t SET v = 9, fence = a.token FROM a",
        "INSERT INTO t SELECT 2, 0, token FROM fencing.acquire('jobs', 'a', 'x')",
    ] {
        assert_eq!(session.code(write), "40001", "{write}");
    }
    assert_eq!(session.get::<i64>("SELECT count(*) FROM t WHERE v = 0"), 1);
    assert_eq!(state(&mut session, "a"), "free");
}

#[test]
fn in_a_block_only_where_it_is_allowed() {
    let (_cluster, mut session) = cluster();
    for begin in ["BEGIN", "BEGIN; SAVEPOINT s", "BEGIN ISOLATION LEVEL SERIALIZABLE"] {
        assert_eq!(session.code(&format!("{begin}; {}", acquire("a"))), "25001", "{begin}");
        session.run("ROLLBACK");
    }
    session.run("SET fencing.acquire_in_block = on");
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        assert_eq!(session.code(&format!("BEGIN ISOLATION LEVEL {level}; {}", acquire("a"))), "25001", "{level}");
        session.run("ROLLBACK");
    }
    session.run("BEGIN");
    let token = session.acquire("a", "x").granted();
    session.run(&format!("SELECT fencing.present({token}); UPDATE t SET v = 1; COMMIT"));
    // Under the lease's own fence it would have to lock itself out.
    session.run(&format!("BEGIN; SELECT fencing.present({token}); UPDATE t SET v = 2"));
    assert_eq!(session.code(&acquire("a")), "25001");
    session.run("ROLLBACK");
    assert_eq!(session.get::<i32>("SELECT v FROM t"), 1);
}
