//! Fifty sessions ask for one lease at the same moment: exactly one of them gets it (G2), and the
//! others leave no trace.

use fencing_tests::{Cluster, Sql};
use postgres::Client;
use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::spawn;
use std::time::Duration;

const SESSIONS: usize = 50;
const LEASES: usize = 20;
const PATIENCE: Duration = Duration::from_secs(60);

/// Status, and whether the call took a transaction id.
type Outcome = Result<(String, bool), String>;

fn ask(session: &mut Client, key: &str) -> Outcome {
    let sql = "SELECT a.status, pg_current_xact_id_if_assigned() IS NOT NULL
                 FROM fencing.acquire('jobs', $1, 'racer') AS a";
    let row = session.query_one(sql, &[&key]).map_err(|e| fencing_tests::sql::describe(&e))?;
    Ok((row.get(0), row.get(1)))
}

/// Lets the sessions race for each lease after `prepare` has made it what it is to be.
fn race(settings: &str, prepare: impl Fn(&mut Client, &str)) {
    let cluster = Cluster::new();
    let mut judge = cluster.connect();
    judge.run("SELECT fencing.create_namespace('jobs')");
    let start = Arc::new(Barrier::new(SESSIONS));
    let (tell, outcomes) = channel::<Outcome>();
    let sessions: Vec<Sender<String>> = (0..SESSIONS)
        .map(|n| {
            let mut session = cluster.connect();
            // Acquire answers alike at every isolation level.
            let level = ["read committed", "repeatable read", "serializable"][n % 3];
            session.run(&format!("SET default_transaction_isolation = '{level}'; {settings}"));
            let (start, tell, (call, calls)) = (start.clone(), tell.clone(), channel::<String>());
            spawn(move || {
                for key in calls {
                    start.wait();
                    let _ = tell.send(ask(&mut session, &key));
                }
            });
            call
        })
        .collect();
    for n in 0..LEASES {
        let key = format!("lease-{n}");
        prepare(&mut judge, &key);
        let terms = format!("SELECT count(*) FROM fencing.term WHERE key = '{key}'");
        let next_xid = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
        let (terms_before, xid_before) = (judge.get::<i64>(&terms), judge.get::<i64>(next_xid));
        for session in &sessions {
            session.send(key.clone()).expect("a session");
        }
        let mut found = BTreeMap::new();
        for _ in &sessions {
            *found.entry(outcomes.recv_timeout(PATIENCE).expect("an answer")).or_insert(0) += 1;
        }
        let outcome = |status: &str, wrote| Ok((status.to_owned(), wrote));
        let expected = BTreeMap::from([(outcome("granted", true), 1), (outcome("held", false), SESSIONS - 1)]);
        assert_eq!(found, expected, "{key}");
        let (terms_after, xid_after) = (judge.get::<i64>(&terms), judge.get::<i64>(next_xid));
        assert_eq!((terms_after - terms_before, xid_after - xid_before), (1, 1), "{key}");
    }
    let current = "SELECT count(*) FROM fencing.lease AS l JOIN fencing.term AS t USING (token)
                   JOIN fencing.fence AS f USING (token) WHERE t.superseded_by IS NULL AND l.state = 'held'";
    assert_eq!(judge.get::<i64>(current), LEASES as i64);
}

#[test]
fn for_a_lease_never_seen() {
    race("", |_, _| {});
}

#[test]
fn for_a_lease_that_ran_out() {
    race("SET fencing.test_clock_offset = '1 h'", |session, key| {
        session.acquire(key, "before").granted();
    });
}

#[test]
fn for_a_lease_that_was_released() {
    race("", |session, key| {
        let token = session.acquire(key, "before").granted();
        session.run(&format!("SELECT fencing.release({token})"));
    });
}
