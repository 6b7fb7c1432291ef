//! Thousands of leases in one transaction: nothing is exhausted, nothing is weaker for it, and what
//! it costs grows with their number and no faster.

use fencing_tests::{Cluster, Sql};
use postgres::Client;
use std::time::{Duration, Instant};

const KEYS: i64 = 20_000;

struct Scene {
    cluster: Cluster,
    session: Client,
}

/// A table whose rows each belong to a lease of their own, all of them held.
fn scene(keys: i64) -> Scene {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    session.run(
        "SELECT fencing.create_namespace('jobs', ttl => '30 min');
         CREATE TABLE token (id int PRIMARY KEY, token bigint);
         CREATE TABLE t (id int PRIMARY KEY, k text, v int, seen bigint)",
    );
    session.run(&format!("INSERT INTO t SELECT g, 'key-' || g, 0 FROM generate_series(1, {keys}) AS g"));
    session.run("SELECT fencing.protect('t', 'jobs', key_columns => '{k}', token_column => 'seen')");
    // An acquisition holds its locks until it commits: a few hundred at a time.
    session.run(&format!(
        "DO $$
         BEGIN
             FOR n IN 0..{} LOOP
                 INSERT INTO token SELECT id, a.token FROM t, LATERAL fencing.acquire('jobs', k, 'x') AS a
                     WHERE id BETWEEN n * 500 + 1 AND n * 500 + 500;
                 COMMIT;
             END LOOP;
         END $$",
        (keys - 1) / 500
    ));
    session.run("VACUUM ANALYZE t, token");
    Scene { cluster, session }
}

impl Scene {
    /// Presents the tokens of the first `n` keys.
    fn present(&mut self, n: i64) {
        self.session.run(&format!("SELECT fencing.present_all(ARRAY(SELECT token FROM token WHERE id <= {n}))"));
    }

    /// Writes under the first `n` keys, in one statement.
    fn write(&mut self, n: i64) {
        let written = self.session.execute(&format!("UPDATE t SET v = v + 1 WHERE id <= {n}"), &[]);
        assert_eq!(written.unwrap(), n as u64);
    }

    fn token(&mut self, n: i64) -> i64 {
        self.session.get(&format!("SELECT token FROM token WHERE id = {n}"))
    }

    fn locks(&mut self) -> i64 {
        self.session.get("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()")
    }

    /// The process's own memory, in bytes.
    fn size(&mut self) -> i64 {
        let pid: i32 = self.session.get("SELECT pg_backend_pid()");
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process's status");
        let rss = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("RssAnon");
        rss.trim().trim_end_matches(" kB").parse::<i64>().expect("a number") * 1024
    }
}

#[test]
fn nothing_is_exhausted() {
    let mut scene = scene(KEYS);
    assert_eq!(scene.session.get::<String>("SHOW max_locks_per_transaction"), "64");
    // Whatever the process allocates once.
    scene.session.run("BEGIN");
    scene.present(100);
    scene.write(100);
    scene.session.run("COMMIT; BEGIN");
    let before = scene.size();
    scene.present(KEYS);
    scene.write(KEYS);
    let bytes = (scene.size() - before) / KEYS;
    println!("{bytes} bytes a key");
    assert!(bytes < 1000, "{bytes} bytes a key");
    assert!(scene.locks() < 300, "{} locks", scene.locks());
    // There is room for what others lock.
    let mut other = scene.cluster.connect();
    other.run("BEGIN; SELECT count(pg_advisory_xact_lock(g)) FROM generate_series(1, 5000) AS g; COMMIT");
    scene.session.run("COMMIT");
    assert_eq!(scene.session.get::<i64>("SELECT count(*) FROM t JOIN token USING (id) WHERE seen = token"), KEYS);
}

/// Every one of the leases is held to the end, by its fence or by its namespace.
#[test]
fn every_fence_is_held() {
    let mut scene = scene(KEYS);
    let mut other = scene.cluster.connect();
    scene.session.run("BEGIN");
    scene.present(KEYS);
    scene.write(KEYS);
    let pid: i32 = scene.session.get("SELECT pg_backend_pid()");
    let keys = [1, 2, 200, 255, 256, 257, 258, 300, KEYS / 2, KEYS];
    for n in keys {
        let answer = other.acquire_later(&format!("key-{n}"), "y");
        assert_eq!((answer.status.as_str(), answer.blocked_by.as_slice()), ("blocked", &[pid][..]), "key {n}");
    }
    scene.session.run("COMMIT");
    for n in keys {
        let stale = scene.token(n);
        other.acquire_later(&format!("key-{n}"), "y").granted();
        let late = format!("BEGIN; SELECT fencing.present({stale}); UPDATE t SET v = -1 WHERE id = {n}");
        assert_eq!(scene.session.code(&late), "LF001", "key {n}");
        scene.session.run("ROLLBACK");
    }
    // One stale token among the many, and nothing of the statement is done.
    scene.session.run("BEGIN");
    scene.present(KEYS);
    assert_eq!(scene.session.code("UPDATE t SET v = -1"), "LF001");
    scene.session.run("ROLLBACK");
    assert_eq!(scene.session.get::<i64>("SELECT count(*) FROM t WHERE v = 1"), KEYS);
}

/// Any one of the terms that ends before commit ends the transaction.
#[test]
fn every_term_is_checked_again() {
    let mut scene = scene(2000);
    let mut other = scene.cluster.connect();
    for n in [1, 100, 256, 257, 1000, 2000] {
        let token = scene.token(n);
        scene.session.run("BEGIN");
        scene.present(2000);
        scene.write(2000);
        other.run(&format!("SELECT fencing.release({token})"));
        assert_eq!(scene.session.code("COMMIT"), "LF003", "key {n}");
        let again = other.acquire(&format!("key-{n}"), "x").granted();
        other.run(&format!("UPDATE token SET token = {again} WHERE id = {n}"));
    }
    assert_eq!(scene.session.get::<i64>("SELECT count(*) FROM t WHERE v <> 0"), 0);
}

/// However many namespaces its leases are of.
#[test]
fn many_namespaces() {
    const NAMESPACES: i64 = 20;
    let mut scene = scene(1);
    let session = &mut scene.session;
    for n in 1..=NAMESPACES {
        session.run(&format!(
            "SELECT fencing.create_namespace('n{n}', ttl => '30 min');
             CREATE TABLE t{n} (k int); SELECT fencing.protect('t{n}', 'n{n}', key_columns => '{{k}}')"
        ));
        session.run(&format!(
            "INSERT INTO token SELECT {n} * 1000 + g, a.token
               FROM generate_series(1, 200) AS g, LATERAL fencing.acquire('n{n}', g::text, 'x') AS a"
        ));
    }
    session.run("BEGIN; SELECT count(fencing.present(token)) FROM token WHERE id > 1000");
    for n in 1..=NAMESPACES {
        session.run(&format!("INSERT INTO t{n} SELECT g FROM generate_series(1, 200) AS g"));
    }
    let locks = "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'";
    let locks: i64 = session.get(locks);
    assert!(locks < 1100, "{locks} locks");
    let mut other = scene.cluster.connect();
    for (n, key) in [(1, 1), (5, 200), (6, 1), (NAMESPACES, 1), (NAMESPACES, 200)] {
        let take =
            format!("SET fencing.test_clock_offset = '1 h'; SELECT status FROM fencing.acquire('n{n}', '{key}', 'y')");
        let (set, take) = take.split_once("; ").unwrap();
        other.run(set);
        assert_eq!(other.get::<String>(take), "blocked", "n{n}/{key}");
    }
    scene.session.run("COMMIT");
}

/// The best of a few runs, for the machine may be busy.
fn best(mut work: impl FnMut()) -> Duration {
    let timed = |work: &mut dyn FnMut()| {
        let since = Instant::now();
        work();
        since.elapsed()
    };
    (0..5).map(|_| timed(&mut work)).min().unwrap()
}

#[test]
fn cost_grows_with_the_number_of_keys() {
    let mut scene = scene(KEYS);
    let few = KEYS / 20;
    let one_by_one = |n: i64| {
        format!(
            "DO $$ BEGIN FOR n IN 1..{n} LOOP
                 BEGIN UPDATE t SET v = v + 1 WHERE id = n; EXCEPTION WHEN division_by_zero THEN END;
             END LOOP; END $$"
        )
    };
    let mut times = Vec::new();
    for n in [few, KEYS] {
        scene.session.run("BEGIN");
        let present = best(|| {
            scene.session.run("SAVEPOINT s");
            scene.present(n);
            scene.session.run("ROLLBACK TO s");
        });
        scene.session.run("COMMIT");
        let write = best(|| {
            scene.session.run("BEGIN");
            scene.present(n);
            scene.write(n);
            scene.session.run("COMMIT");
        });
        let savepoints = best(|| {
            scene.session.run("BEGIN");
            scene.present(n);
            scene.session.run(&one_by_one(n));
            scene.session.run("COMMIT");
        });
        scene.session.run("VACUUM t");
        times.push([present, write, savepoints].map(|time| time.as_nanos() as f64 / n as f64 / 1000.0));
    }
    println!("us a key, of {few} and of {KEYS}: present, present and write, in savepoints: {times:.1?}");
    for (few, many) in times[0].iter().zip(&times[1]) {
        // Growing with the square it would be 20 times as much.
        assert!(*many < 3.0 * few, "us a key: {times:?}");
    }
}

/// What an outer savepoint presented and wrote is nothing to the ones in it.
#[test]
fn a_savepoint_costs_the_same_whatever_is_held() {
    const SAVEPOINTS: u32 = 5000;
    let mut scene = scene(KEYS);
    let each = |what: &str| {
        format!(
            "DO $$ BEGIN FOR n IN 1..{SAVEPOINTS} LOOP
                 BEGIN {what}; EXCEPTION WHEN division_by_zero THEN END;
             END LOOP; END $$"
        )
    };
    let (released, rolled_back) = (each("NULL"), each("RAISE division_by_zero"));
    let times = [KEYS / 20, KEYS].map(|n| {
        scene.session.run("BEGIN; SAVEPOINT s");
        scene.present(n);
        scene.write(n);
        let times = [&released, &rolled_back]
            .map(|sql| best(|| scene.session.run(sql)).as_nanos() as f64 / f64::from(SAVEPOINTS));
        scene.session.run("COMMIT");
        times
    });
    println!("ns a savepoint, holding {} and {KEYS}: released, rolled back: {times:.0?}", KEYS / 20);
    for (few, many) in times[0].iter().zip(&times[1]) {
        assert!(*many < 2.0 * few, "ns a savepoint: {times:.0?}");
    }
}
