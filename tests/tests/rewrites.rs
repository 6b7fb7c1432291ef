//! Tables that are rewritten, shrunk and re-indexed under a session that knows where things were:
//! guarded ones, and the extension's own.

use fencing_tests::{Cluster, Sql};
use postgres::Client;

struct Scene {
    _cluster: Cluster,
    /// Who rewrites.
    owner: Client,
    /// Who writes, before and after.
    writer: Client,
    stale: i64,
    token: i64,
}

fn scene() -> Scene {
    let cluster = Cluster::new();
    let (mut owner, writer) = (cluster.connect(), cluster.connect());
    owner.run(
        "SELECT fencing.create_namespace('jobs', ttl => '30 min');
         CREATE TABLE t (id int PRIMARY KEY, k text, v int, fence bigint, seen bigint);
         INSERT INTO t SELECT g, 'a', 0 FROM generate_series(1, 1000) AS g;
         SELECT fencing.protect('t', 'jobs', key_columns => '{k}', present_column => 'fence', token_column => 'seen')",
    );
    let stale = owner.acquire("a", "x").granted();
    owner.run(&format!("SELECT fencing.release({stale})"));
    let token = owner.acquire("a", "y").granted();
    Scene { _cluster: cluster, owner, writer, stale, token }
}

impl Scene {
    /// The right token passes and no other does.
    fn holds(&mut self, after: &str) {
        let (token, stale) = (self.token, self.stale);
        let write = |token: &str| format!("UPDATE t SET v = v + 1, fence = {token} WHERE id = 1");
        for (presented, code) in [
            (token.to_string(), "00000"),
            (stale.to_string(), "LF001"),
            ("NULL".to_owned(), "LF002"),
            ("7".to_owned(), "LF004"),
        ] {
            assert_eq!(self.writer.code(&write(&presented)), code, "{presented} after {after}");
        }
        assert_eq!(self.writer.code(&format!("SELECT fencing.assert_current({token})")), "00000", "after {after}");
        assert_eq!(self.writer.get::<String>(&format!("SELECT status FROM fencing.renew({token})")), "renewed");
        assert_eq!(self.writer.acquire("a", "z").status, "held", "after {after}");
    }

    /// Another holder takes over, and the session that had written learns of it.
    fn taken_over(&mut self, after: &str) {
        self.owner.run(&format!("SELECT fencing.release({})", self.token));
        self.stale = std::mem::replace(&mut self.token, self.owner.acquire("a", "z").granted());
        self.holds(after);
    }
}

#[test]
fn of_guarded_tables() {
    let mut scene = scene();
    scene.owner.run("CREATE INDEX t_v ON t (v)");
    for rewrite in [
        "CLUSTER t USING t_pkey",
        "VACUUM FULL t",
        "VACUUM t",
        "REINDEX TABLE t",
        "REINDEX TABLE CONCURRENTLY t",
        "ALTER TABLE t ALTER v TYPE bigint",
        "ALTER TABLE t ADD added uuid DEFAULT gen_random_uuid()",
        "ALTER TABLE t SET (fillfactor = 50)",
        "ALTER TABLE t SET UNLOGGED",
        "ALTER TABLE t SET LOGGED",
        "ALTER TABLE t SET ACCESS METHOD heap",
        "ANALYZE t",
    ] {
        scene.holds("");
        scene.owner.run(rewrite);
        scene.holds(rewrite);
        scene.taken_over(rewrite);
    }
    // Nobody's row was written by any of it.
    assert_eq!(scene.owner.get::<i64>("SELECT count(*) FROM t WHERE seen IS NOT NULL OR fence IS NOT NULL"), 1);
}

#[test]
fn of_the_extensions_own_tables() {
    let mut scene = scene();
    for table in ["lease", "fence", "term", "namespace", "epoch", "member", "request", "event", "guarded"] {
        for rewrite in ["VACUUM FULL", "CLUSTER", "VACUUM", "REINDEX TABLE", "REINDEX TABLE CONCURRENTLY", "ANALYZE"] {
            let mut rewrite = format!("{rewrite} fencing.{table}");
            if rewrite.starts_with("CLUSTER") {
                rewrite += &format!(" USING {table}_pkey");
            }
            scene.holds("");
            scene.owner.run(&rewrite);
            scene.holds(&rewrite);
            scene.taken_over(&rewrite);
        }
    }
}

/// The page on which a session last saw a lease's row is given back to the file system.
#[test]
fn of_a_table_that_shrinks() {
    let mut scene = scene();
    scene.owner.run(
        "CREATE TABLE u (k int, v int);
         INSERT INTO u SELECT generate_series(1, 400), 0;
         SELECT fencing.protect('u', 'jobs', key_columns => '{k}')",
    );
    let pages = "SELECT pg_relation_size('fencing.lease') / 8192";
    let acquire = |order| {
        format!("SELECT g, a.token FROM generate_series({order}) AS g, fencing.acquire('jobs', g::text, 'x') AS a")
    };
    let write = "SELECT count(fencing.present(token)) FROM held; UPDATE u SET v = v + 1";
    // Acquired, written under, and all of it taken back.
    scene.writer.run("SET fencing.acquire_in_block = on; BEGIN");
    scene.writer.run(&format!("CREATE TEMP TABLE held AS {}", acquire("1, 400")));
    scene.writer.run(write);
    let before: i64 = scene.writer.get(pages);
    scene.writer.run("ROLLBACK");
    scene.owner.run("VACUUM (TRUNCATE) fencing.lease");
    let after: i64 = scene.owner.get(pages);
    assert!(after < before, "{before} pages, then {after}");
    for k in [400, 300, 200, 100, 1] {
        let write = format!("BEGIN; SELECT fencing.present({}); UPDATE u SET v = v + 1 WHERE k = {k}", scene.token);
        assert_eq!(scene.writer.code(&write), "LF004");
        scene.writer.run("ROLLBACK");
    }
    scene.holds("a vacuum");
    // Other leases' rows are in their places now.
    scene.owner.run(&format!("CREATE TABLE held AS {}", acquire("400, 1, -1")));
    scene.writer.run(&format!("BEGIN; {write}; COMMIT"));
    assert_eq!(scene.owner.get::<i64>("SELECT count(*) FROM u WHERE v = 1"), 400);
}

/// A rewrite waits for whoever writes under a lease, or makes that wait; neither is let past the other.
#[test]
fn in_the_middle_of_a_transaction() {
    let mut scene = scene();
    let token = scene.token;
    scene.writer.run(&format!("BEGIN; SELECT fencing.present({token}); UPDATE t SET v = 1 WHERE id = 1"));
    scene.owner.run("SET lock_timeout = '100 ms'");
    assert_eq!(scene.owner.code("VACUUM FULL fencing.lease"), "55P03");
    assert_eq!(scene.owner.code("CLUSTER t USING t_pkey"), "55P03");
    scene.writer.run("UPDATE t SET v = 2 WHERE id = 2; COMMIT");
    scene.owner.run("BEGIN; LOCK TABLE fencing.lease IN ACCESS EXCLUSIVE MODE");
    scene.writer.run("SET lock_timeout = '100 ms'");
    assert_eq!(scene.writer.code(&format!("UPDATE t SET v = 3, fence = {token} WHERE id = 3")), "55P03");
    scene.owner.run("COMMIT");
    scene.holds("all of it");
}
