//! One server process serves thousands of guarded transactions, caught errors and savepoints, and
//! is no bigger afterwards: neither its memory contexts nor what the library keeps beside them.
//! `make leaks` runs the last of them with a million.

use fencing_tests::{Cluster, Sql};
use postgres::Client;

struct Scene {
    _cluster: Cluster,
    session: Client,
    pid: i32,
    token: i64,
    stale: i64,
}

fn scene() -> Scene {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    session.run(
        "SELECT fencing.create_namespace('jobs', ttl => '1 h');
         CREATE TABLE t (id int PRIMARY KEY, v int);
         CREATE TABLE inline (id int PRIMARY KEY, v int, fence bigint, seen bigint);
         CREATE TABLE keyed (k text PRIMARY KEY, v int);
         INSERT INTO t VALUES (1, 0);
         INSERT INTO inline VALUES (1, 0);
         INSERT INTO keyed SELECT 'key-' || g, 0 FROM generate_series(1, 400) AS g;
         SELECT fencing.protect('t', 'jobs', key => 'a');
         SELECT fencing.protect('inline', 'jobs', key => 'a', present_column => 'fence', token_column => 'seen');
         SELECT fencing.protect('keyed', 'jobs', key_columns => '{k}')",
    );
    let stale = session.acquire("a", "x").granted();
    session.run(&format!("SELECT fencing.release({stale})"));
    let token = session.acquire("a", "x").granted();
    let pid = session.get("SELECT pg_backend_pid()");
    Scene { _cluster: cluster, session, pid, token, stale }
}

impl Scene {
    /// Bytes of the process's own memory, and of PostgreSQL's memory contexts in it.
    fn size(&mut self) -> (i64, i64) {
        let contexts = self.session.get("SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts");
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).expect("the process's status");
        let rss = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("RssAnon");
        (rss.trim().trim_end_matches(" kB").parse::<i64>().expect("a number") * 1024, contexts)
    }

    /// `work` done many times over leaves the process as big as it was after the first few.
    fn stays(&mut self, what: &str, times: usize, mut work: impl FnMut(&mut Client)) {
        for _ in 0..times / 10 + 1 {
            work(&mut self.session);
        }
        let (rss, contexts) = self.size();
        for _ in 0..times {
            work(&mut self.session);
        }
        let (rss_after, contexts_after) = self.size();
        let grown = (rss_after - rss, contexts_after - contexts);
        // An allocator's noise; 20,000 leaks of 100 bytes are twice as much.
        assert!(grown.0 <= 1 << 20, "{what}: the process has grown by {} bytes", grown.0);
        assert!(grown.1 <= 64 << 10, "{what}: its memory contexts have grown by {} bytes", grown.1);
    }
}

#[test]
fn transactions() {
    let mut scene = scene();
    let token = scene.token;
    let one = format!("BEGIN; SELECT fencing.present({token}); UPDATE t SET v = v + 1; COMMIT;").repeat(100);
    scene.stays("presenting", 200, |session| session.run(&one));
    let one = format!("UPDATE inline SET v = v + 1, fence = {token};").repeat(100);
    scene.stays("presenting inline", 100, |session| session.run(&one));
    let one = format!("BEGIN; SELECT fencing.present({token}); UPDATE t SET v = v + 1; ROLLBACK;").repeat(100);
    scene.stays("rolling back", 100, |session| session.run(&one));
}

#[test]
fn errors() {
    let mut scene = scene();
    let (token, stale) = (scene.token, scene.stale);
    let caught = format!(
        "DO $$
         BEGIN
             PERFORM fencing.present({token});
             FOR i IN 1..100 LOOP
                 BEGIN UPDATE inline SET v = 0, fence = {stale}; EXCEPTION WHEN SQLSTATE 'LF013' THEN END;
                 BEGIN UPDATE keyed SET v = 0; EXCEPTION WHEN SQLSTATE 'LF004' THEN END;
                 BEGIN PERFORM fencing.present(0); EXCEPTION WHEN SQLSTATE 'LF013' THEN END;
                 BEGIN PERFORM fencing.inspect('nope', 'a'); EXCEPTION WHEN undefined_object THEN END;
             END LOOP;
         END $$"
    );
    scene.stays("caught errors", 50, |session| session.run(&caught));
    scene.stays("errors", 2000, |session| {
        assert_eq!(session.code("UPDATE t SET v = 0"), "LF002");
        assert_eq!(session.code(&format!("UPDATE inline SET v = 0, fence = {stale}")), "LF001");
        assert_eq!(session.code(&format!("SELECT fencing.assert_current({stale})")), "LF001");
    });
}

#[test]
fn savepoints() {
    let mut scene = scene();
    let present = format!("SELECT fencing.present({})", scene.token);
    let inside = "SAVEPOINT s; UPDATE t SET v = v + 1; ROLLBACK TO s; RELEASE s; SAVEPOINT s; SELECT 1; RELEASE s;";
    let many = format!("BEGIN; {present}; {} COMMIT", inside.repeat(100));
    scene.stays("savepoints", 100, |session| session.run(&many));
    // In one transaction.
    scene.session.run(&format!("BEGIN; {present}"));
    let inside = inside.repeat(100);
    scene.stays("savepoints of one transaction", 50, |session| session.run(&inside));
    let inside = format!("SAVEPOINT s; {present}; UPDATE t SET v = v + 1; ROLLBACK TO s; RELEASE s;").repeat(100);
    scene.session.run("COMMIT; BEGIN");
    scene.stays("presenting in savepoints", 50, |session| session.run(&inside));
    scene.session.run("COMMIT");
}

#[test]
fn leases() {
    let mut scene = scene();
    scene.stays("acquire, renew, release", 2000, |session| {
        let token = session.acquire("cycle", "x").granted();
        session.run(&format!("SELECT fencing.renew({token}); SELECT fencing.release({token})"));
        assert_eq!(session.acquire("a", "y").status, "held");
    });
}

/// More leases in one transaction than are locked one by one.
#[test]
fn many_keys() {
    let mut scene = scene();
    let tokens: Vec<_> = (1..=400).map(|n| scene.session.acquire(&format!("key-{n}"), "x").granted()).collect();
    let present: Vec<_> = tokens.iter().map(|token| format!("SELECT fencing.present({token});")).collect();
    let all = format!("BEGIN; {} UPDATE keyed SET v = v + 1; COMMIT", present.concat());
    scene.stays("many keys", 30, |session| session.run(&all));
    let tokens = format!("ARRAY{tokens:?}");
    let all = format!(
        "BEGIN; SELECT fencing.present_all({tokens}); SAVEPOINT s;
         SELECT count(fencing.present('jobs', 'key-' || n, ({tokens})[n])) FROM generate_series(1, 400) AS n;
         SELECT count(fencing.present('nowhere', n::text, n)) FROM generate_series(1, 400) AS n;
         UPDATE keyed SET v = v + 1; ROLLBACK TO s; UPDATE keyed SET v = v + 1; COMMIT;
         BEGIN; SELECT fencing.maintain('a test'); UPDATE keyed SET v = v + 1; COMMIT"
    );
    scene.stays("many keys at once", 30, |session| session.run(&all));
}

#[test]
fn guards_that_come_and_go() {
    let mut scene = scene();
    let token = scene.token;
    let cycle = format!(
        "SELECT fencing.unprotect('t'); SELECT fencing.protect('t', 'jobs', key => 'a');
         BEGIN; SELECT fencing.present({token}); UPDATE t SET v = 1; COMMIT"
    );
    scene.stays("protect and unprotect", 1500, |session| session.run(&cycle));
}

/// All kinds of transactions in turn, caught errors and savepoints among them: `FENCING_TEST_TRANSACTIONS`
/// of them after a tenth as many to warm up.
#[test]
fn a_long_life() {
    const BATCH: usize = 100;
    let transactions = std::env::var("FENCING_TEST_TRANSACTIONS").map_or(10_000, |n| n.parse().expect("a number"));
    let mut scene = scene();
    let (token, stale) = (scene.token, scene.stale);
    scene.session.run(
        "CREATE FUNCTION caught(stale bigint) RETURNS void LANGUAGE plpgsql AS $$
         BEGIN
             BEGIN UPDATE inline SET v = 0, fence = stale; RAISE 'passed'; EXCEPTION WHEN SQLSTATE 'LF013' THEN END;
             BEGIN UPDATE keyed SET v = 0; RAISE 'passed'; EXCEPTION WHEN SQLSTATE 'LF004' THEN END;
         END $$",
    );
    let present = format!("SELECT fencing.present({token})");
    let write = "UPDATE t SET v = v + 1";
    let five = format!(
        "BEGIN; {present}; {write}; COMMIT;
         UPDATE inline SET v = v + 1, fence = {token};
         BEGIN; SAVEPOINT s; {present}; {write}; ROLLBACK TO s; {present}; {write}; RELEASE s; COMMIT;
         BEGIN; {present}; SELECT caught({stale}); {write}; COMMIT;
         BEGIN; {present}; {write}; ROLLBACK;"
    );
    let batch = five.repeat(BATCH / 5);
    let run = |scene: &mut Scene, transactions: usize| {
        for _ in 0..transactions / BATCH {
            scene.session.run(&batch);
            assert_eq!(scene.session.code("UPDATE t SET v = 0"), "LF002");
        }
        scene.size()
    };
    let before = run(&mut scene, transactions / 10);
    println!("{:>12} {:>16} {:>18}", "transactions", "RssAnon, bytes", "contexts, bytes");
    println!("{:>12} {:>16} {:>18}", 0, before.0, before.1);
    let mut after = before;
    for done in (1..=10).map(|tenth| tenth * transactions / 10) {
        after = run(&mut scene, transactions / 10);
        println!("{done:>12} {:>16} {:>18}", after.0, after.1);
    }
    let (rss, contexts) = (after.0 - before.0, after.1 - before.1);
    assert!(rss <= 1 << 20, "{transactions} transactions: the process has grown by {rss} bytes");
    assert!(contexts <= 64 << 10, "{transactions} transactions: its memory contexts have grown by {contexts} bytes");
    let written: i64 = scene.session.get("SELECT ((SELECT v FROM t) + (SELECT v FROM inline))::bigint");
    assert_eq!(written as usize, transactions * 11 / 10 / 5 * 4, "every one of them wrote what it should have");
}
