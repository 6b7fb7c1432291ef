//! Many leases renewed in one statement: what that takes of the server, and what is left of it in the
//! table: nothing that a renewal changes is indexed.

use fencing_tests::{Cluster, Sql};
use postgres::Client;
use std::sync::{Arc, Barrier};
use std::thread::spawn;

/// So many leases, each held; their tokens in `token`.
fn leases(session: &mut Client, count: i64) {
    session.run("SELECT fencing.create_namespace('jobs', ttl => '30 min'); CREATE TABLE token (id int PRIMARY KEY, token bigint)");
    // An acquisition holds its locks until it commits: a few hundred at a time.
    session.run(&format!(
        "DO $$
         BEGIN
             FOR n IN 0..{} LOOP
                 INSERT INTO token SELECT g, a.token
                   FROM generate_series(n * 500 + 1, n * 500 + 500) AS g, LATERAL fencing.acquire('jobs', 'key-' || g, 'x') AS a;
                 COMMIT;
             END LOOP;
         END $$",
        count / 500 - 1
    ));
    session.run("VACUUM ANALYZE token");
}

/// Statuses and how often each was answered.
fn renew_all(session: &mut Client, tokens: &str) -> Vec<(String, i64)> {
    let sql = format!("SELECT status, count(*) FROM fencing.renew_all(ARRAY({tokens})) GROUP BY 1 ORDER BY 1");
    let rows = session.query(&sql, &[]).unwrap_or_else(|e| panic!("{e:?}"));
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// The process's own memory, in bytes.
fn size(session: &mut Client) -> i64 {
    let pid: i32 = session.get("SELECT pg_backend_pid()");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process's status");
    let rss = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("RssAnon");
    rss.trim().trim_end_matches(" kB").parse::<i64>().expect("a number") * 1024
}

/// A hundred thousand tokens, one in five of them a lease's: as cheap a token as a thousand.
#[test]
fn a_hundred_thousand_tokens() {
    const LEASES: i64 = 20_000;
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    assert_eq!(session.get::<String>("SHOW max_locks_per_transaction"), "64");
    leases(&mut session, LEASES);
    let tokens = format!(
        "SELECT CASE g % 5 WHEN 0 THEN t.token ELSE g END FROM generate_series(1, {LEASES} * 5) AS g JOIN token AS t ON t.id = (g + 4) / 5"
    );
    renew_all(&mut session, "SELECT token FROM token WHERE id <= 1000");
    session.run("BEGIN");
    let before = size(&mut session);
    let found = renew_all(&mut session, &tokens);
    assert_eq!(found, [("renewed".to_owned(), LEASES), ("unknown".to_owned(), LEASES * 4)]);
    let bytes = (size(&mut session) - before) / (LEASES * 5);
    println!("{bytes} bytes a token");
    assert!(bytes < 500, "{bytes} bytes a token");
    let locks: i64 = session.get("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()");
    assert!(locks < 20, "{locks} locks");
    // There is room for what others lock.
    let mut other = cluster.connect();
    other.run("BEGIN; SELECT count(pg_advisory_xact_lock(g)) FROM generate_series(1, 5000) AS g; COMMIT");
    session.run("COMMIT");
    let renewed = "SELECT count(*) FROM fencing.lease WHERE renewed_at > acquired_at";
    assert_eq!(session.get::<i64>(renewed), LEASES);
}

/// An open batch keeps back whoever would take over: it is named, and can be ended, as any other.
#[test]
fn an_open_batch_is_in_the_way() {
    let cluster = Cluster::new();
    let (mut session, mut other) = (cluster.connect(), cluster.connect());
    leases(&mut session, 500);
    session.run("BEGIN");
    renew_all(&mut session, "SELECT token FROM token");
    let pid: i32 = session.get("SELECT pg_backend_pid()");
    let answer = other.acquire_later("key-7", "y");
    assert_eq!((answer.status.as_str(), answer.blocked_by.as_slice()), ("blocked", &[pid][..]));
    other.run("SET fencing.test_clock_offset = '1 h'");
    assert_eq!(other.get::<Vec<i32>>("SELECT blocked_by FROM fencing.inspect('jobs', 'key-7')"), [pid]);
    assert_eq!(other.get::<i32>("SELECT pid FROM fencing.blockers('jobs', 'key-7')"), pid);
    // Dropping it would have to wait.
    assert_eq!(other.get::<String>("SELECT fencing.drop_lease('jobs', 'key-7')"), "blocked");
    assert_eq!(other.get::<i64>("SELECT fencing.purge_leases('0')"), 0);
    assert_eq!(other.get::<String>("SELECT status FROM fencing.evict('jobs', 'key-7')"), "terminated");
    other.acquire("key-7", "y").granted();
    assert!(session.is_closed() || session.batch_execute("SELECT 1").is_err());
}

/// It can be cancelled, and nothing of it is left.
#[test]
fn cancelled() {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    leases(&mut session, 5000);
    let tokens = "ARRAY(SELECT token FROM token)";
    // Ten thousand times the time that it has.
    session.run("SET statement_timeout = '20 ms'");
    assert_eq!(
        session.code(&format!(
            "SELECT count(*) FROM generate_series(1, 1000) AS g, LATERAL fencing.renew_all({tokens}) AS r WHERE g > 0"
        )),
        "57014"
    );
    session.run("RESET statement_timeout");
    assert_eq!(session.get::<i64>("SELECT count(*) FROM fencing.lease WHERE renewed_at > acquired_at"), 0);
}

fn pages(judge: &mut Client) -> i64 {
    judge.get("SELECT pg_relation_size('fencing.lease') / 8192")
}

/// Where one transaction follows the other, however many there are, the table of leases doesn't grow.
#[test]
fn renewals_take_no_room() {
    const LEASES: i64 = 2000;
    let cluster = Cluster::new();
    let mut judge = cluster.connect();
    leases(&mut judge, LEASES);
    let before = pages(&mut judge);
    let mut sessions: Vec<_> = (0..5).map(|_| cluster.connect()).collect();
    for _ in 0..20 {
        for (n, session) in sessions.iter_mut().enumerate() {
            renew_all(session, &format!("SELECT token FROM token WHERE id % 5 = {n}"));
        }
    }
    assert_eq!(pages(&mut judge), before);
}

/// A storm of renewals, one by one and in batches, from several sessions: above 95 % of them stay on
/// their page and touch no index. How many pages that takes depends on how long the open ones keep
/// what others have replaced.
#[test]
fn renewals_stay_on_their_pages() {
    const LEASES: i64 = 10_000;
    const SESSIONS: i64 = 5;
    let cluster = Cluster::with(&["autovacuum=on"]);
    let mut judge = cluster.connect();
    leases(&mut judge, LEASES);
    let before = pages(&mut judge);
    let start = Arc::new(Barrier::new(SESSIONS as usize));
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|n| {
            let (mut session, start) = (cluster.connect(), start.clone());
            spawn(move || {
                let own = format!("SELECT token FROM token WHERE id % {SESSIONS} = {n}");
                start.wait();
                for round in 0..10 {
                    let found = renew_all(&mut session, &own);
                    assert_eq!(found, [("renewed".to_owned(), LEASES / SESSIONS)], "round {round}");
                }
                // One by one: a transaction each.
                session.run(&format!(
                    "DO $$ DECLARE t bigint; BEGIN FOR t IN {own} LOOP PERFORM fencing.renew(t); COMMIT; END LOOP; END $$"
                ));
                session.run("SELECT pg_stat_force_next_flush()");
                session.run("SELECT 1");
            })
        })
        .collect();
    for session in sessions {
        session.join().expect("a session");
    }
    let stats = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = 'fencing.lease'::regclass";
    let row = judge.query_one(stats, &[]).expect("statistics");
    let (updates, hot) = (row.get::<_, i64>(0), row.get::<_, i64>(1));
    println!("{hot} of {updates} HOT; {before} pages before, {} after", pages(&mut judge));
    assert_eq!(updates, LEASES * 11);
    assert!(hot as f64 > 0.95 * updates as f64, "{hot} of {updates} HOT");
}

/// However many leases a purge removes, it keeps no locks of them: the server's table of locks is small.
#[test]
fn a_purge_of_more_leases_than_there_are_locks() {
    let cluster = Cluster::with(&["max_locks_per_transaction=10", "max_connections=20"]);
    let mut session = cluster.connect();
    session.run("SELECT fencing.create_namespace('jobs', ttl => '1 s', on_expiry => 'accept_until_superseded')");
    session.run(
        "DO $$
         BEGIN
             FOR n IN 0..299 LOOP
                 PERFORM fencing.acquire('jobs', 'key-' || g, 'x') FROM generate_series(n * 20, n * 20 + 19) AS g;
                 COMMIT;
             END LOOP;
         END $$",
    );
    session.run("SET fencing.test_clock_offset = '1 h'");
    assert_eq!(session.get::<i64>("SELECT fencing.purge_leases('1 min')"), 6000);
    assert_eq!(session.get::<i64>("SELECT count(*) FROM fencing.term WHERE end_reason = 'deleted'"), 6000);
}
