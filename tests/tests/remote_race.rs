//! Many sessions write under tokens of all ages at once, some of them purging, some killed: nothing older
//! is ever committed after something newer, and nobody pays for a deadlock.

use fencing_tests::{Cluster, Sql};
use postgres::Client;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const SESSIONS: usize = 12;
const KEYS: usize = 3;
const LONG: Duration = Duration::from_secs(6);

/// A writer, which now and then has a newer token than anybody, and mostly an older one. In the very
/// transaction that holds the fence it looks for rows of a newer token: there must be none, now or at
/// any later time.
fn write(session: &mut Client, n: usize, newest: &[AtomicI64], until: Instant) -> u64 {
    let mut accepted = 0;
    for round in n as i64.. {
        if Instant::now() > until {
            return accepted;
        }
        let key = round as usize % KEYS;
        let token = match round % 7 {
            0 => newest[key].fetch_add(1, Ordering::Relaxed) + 1,
            1..4 => newest[key].load(Ordering::Relaxed),
            old => (newest[key].load(Ordering::Relaxed) - old + 3).max(1),
        };
        let token = 5i64 << 39 | token;
        let level = ["READ COMMITTED", "REPEATABLE READ"][usize::from(round % 11 == 0)];
        session.run(&format!("BEGIN ISOLATION LEVEL {level}"));
        let code = session.code(&format!("INSERT INTO log VALUES ('{key}', {token})"));
        match code.as_str() {
            "00000" => {
                accepted += 1;
                // What this transaction can't see because of its snapshot was committed before it held the fence.
                let newer: i64 =
                    session.get(&format!("SELECT count(*) FROM log WHERE k = '{key}' AND written > {token}"));
                assert_eq!(newer, 0, "{token} of {key} was accepted after a newer one");
                // The fence is held by now: defaults of the row itself were drawn before it was.
                session.run(&format!("INSERT INTO drawn VALUES ('{key}', {token})"));
                if round % 5 == 0 {
                    session.run("SELECT pg_sleep(0.002)");
                }
                session.run(if round % 13 == 0 { "ROLLBACK" } else { "COMMIT" });
            }
            "LF001" | "40001" => session.run("ROLLBACK"),
            other => panic!("{other} for {token}"),
        }
    }
    accepted
}

#[test]
fn nothing_older_after_something_newer() {
    let cluster = Cluster::with(&["deadlock_timeout=50ms"]);
    let mut session = cluster.connect();
    session.run(
        "SELECT fencing.register_coordinator('etcd', 'etcd', 'c1');
         SELECT fencing.install_epoch('etcd', 5, '00000000-0000-4000-8000-000000000001');
         CREATE TABLE log (k text, t bigint, written bigint);
         CREATE TABLE drawn (k text, written bigint, n bigserial);
         SELECT fencing.protect('log', 'jobs', key_columns => '{k}', present_column => 't', token_column => 'written',
                                fence => 'destination', coordinator => 'etcd')",
    );
    let newest: Vec<_> = (0..KEYS).map(|_| AtomicI64::new(1)).collect();
    let end = Instant::now() + LONG;
    let accepted: u64 = scope(|scope| {
        let writers: Vec<_> = (0..SESSIONS)
            .map(|n| {
                let (cluster, newest) = (&cluster, &newest);
                scope.spawn(move || write(&mut cluster.connect(), n, newest, end))
            })
            .collect();
        // Everything has been idle for long, as this one sees it.
        let purger = scope.spawn(|| {
            let mut session = cluster.connect();
            session.run("SET fencing.test_clock_offset = '1 d'");
            let mut purged = 0;
            while Instant::now() < end {
                purged += session.get::<i64>("SELECT fencing.purge_fences('etcd', '1 h')");
                sleep(Duration::from_millis(5));
            }
            purged
        });
        assert!(purger.join().expect("a purger") > 0, "nothing was purged");
        writers.into_iter().map(|writer| writer.join().expect("a writer")).sum()
    });
    assert!(accepted > 100, "{accepted}");
    // In the order of their numbers, which each drew while it held the fence, tokens never fell.
    let fallen: i64 = session.get(
        "SELECT count(*) FROM (SELECT written, max(written) OVER (PARTITION BY k ORDER BY n ROWS UNBOUNDED PRECEDING) AS highest FROM drawn) AS l
          WHERE written < highest",
    );
    assert_eq!(fallen, 0);
}
