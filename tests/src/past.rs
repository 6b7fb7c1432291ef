//! What a copy of a coordinator owes to its original's past: closed until somebody opens an epoch, and
//! then no token of that past is good for anything, whether the copy knows of it or not.

use crate::cluster::Cluster;
use crate::sql::{Grant, Sql, grant};
use postgres::{Client, NoTls};

/// Tokens that reached clients before.
#[derive(Clone, Default)]
pub struct Past {
    /// The current term of the lease `a`.
    pub current: i64,
    /// Terms of it that were over, the latest last.
    pub over: Vec<i64>,
    /// Issued after the copy was made, so that it may not know of them.
    pub lost: Vec<i64>,
}

/// What the tests of copies have in a database: leases of a role that may do no more than hold them, and
/// tables that are guarded with them.
pub const SETUP: &str = "
    SELECT fencing.create_namespace('jobs', ttl => '1 h');
    SELECT fencing.grant_namespace('jobs', 'worker', 'hold');
    CREATE TABLE report (id serial, body text, fence bigint, seen bigint);
    CREATE TABLE keyed (k text, v int);
    GRANT ALL ON report, keyed, report_id_seq TO worker;
    SELECT fencing.protect('report', 'jobs', key => 'a', present_column => 'fence', token_column => 'seen');
    SELECT fencing.protect('keyed', 'jobs', key_columns => '{k}')";

/// A cluster with a past: terms that were superseded and released, and one that is current.
pub fn original(settings: &[&str]) -> (Cluster, Past) {
    let cluster = Cluster::with(settings);
    cluster.connect().run("CREATE ROLE worker LOGIN");
    cluster.connect().run(SETUP);
    let mut past = Past::default();
    let mut worker = worker(&cluster, "postgres");
    for _ in 0..3 {
        past.over.push(worker.acquire("a", "before").granted());
        let last = past.over.last().unwrap();
        worker.run(&format!("INSERT INTO report (fence) VALUES ({last}); SELECT fencing.release({last})"));
    }
    past.current = worker.acquire("a", "before").granted();
    worker.run(&format!("INSERT INTO report (fence) VALUES ({})", past.current));
    (cluster, past)
}

/// A session of the role `worker`.
pub fn worker(cluster: &Cluster, database: &str) -> Client {
    cluster.connect_as("worker", database)
}

/// What `lineage()` finds.
pub fn verdict(session: &mut Client) -> Vec<String> {
    let verdict: String = session.get("SELECT verdict FROM fencing.lineage()");
    verdict.split(", ").map(str::to_owned).collect()
}

fn acquire(session: &mut Client, key: &str) -> Grant {
    grant(
        &session
            .query_one("SELECT status, token, blocked_by FROM fencing.acquire('jobs', $1, 'after')", &[&key])
            .unwrap(),
    )
}

/// What becomes of a write under a token, by each way to present one.
fn writes(session: &mut Client, token: i64) -> Vec<String> {
    [
        format!("INSERT INTO report (body, fence) VALUES ('under {token}', {token})"),
        format!("BEGIN; SELECT fencing.present({token}); DELETE FROM report"),
        format!("BEGIN; SELECT fencing.present({token}); INSERT INTO keyed VALUES ('a', 1)"),
        format!("SELECT fencing.assert_current({token})"),
    ]
    .map(|sql| {
        let code = session.code(&sql);
        session.run("ROLLBACK");
        code
    })
    .to_vec()
}

/// What the calls say that take a token.
fn statuses(session: &mut Client, token: i64) -> [String; 3] {
    ["SELECT status FROM fencing.renew", "SELECT fencing.check_token", "SELECT fencing.release"]
        .map(|call| session.get(&format!("{call}({token})")))
}

impl Past {
    /// Whoever held the lease `a` is followed by others, of whom a copy will not know.
    pub fn goes_on(&mut self, cluster: &Cluster) {
        let mut worker = worker(cluster, "postgres");
        worker.run(&format!("SELECT fencing.release({})", self.current));
        for _ in 0..2 {
            let token = worker.acquire("a", "lost").granted();
            worker.run(&format!("INSERT INTO report (fence) VALUES ({token}); SELECT fencing.release({token})"));
            self.lost.push(token);
        }
        // One that is held, and one of a lease that the copy never heard of.
        self.lost.push(worker.acquire("a", "lost").granted());
        self.lost.push(worker.acquire("b", "lost").granted());
    }

    fn known(&self) -> impl Iterator<Item = i64> {
        self.over.iter().copied().chain([self.current])
    }

    fn all(&self) -> impl Iterator<Item = i64> {
        self.known().chain(self.lost.iter().copied())
    }

    /// The copy knows what it is, and gives nobody authority: nothing is granted, and no token of its
    /// past counts.
    pub fn is_closed(&self, copy: &Cluster, database: &str, because: &[&str]) {
        let mut admin = copy.connect_as("postgres", database);
        let found = verdict(&mut admin);
        assert_eq!(found, because, "verdict");
        let mut worker = worker(copy, database);
        for session in [&mut admin, &mut worker] {
            for key in ["a", "new"] {
                let answer = acquire(session, key);
                assert_eq!((answer.status.as_str(), answer.token), ("closed", 0), "acquire {key}");
            }
            for token in self.all() {
                assert_eq!(writes(session, token), ["LF006"; 4], "{token}");
            }
            let error = session.refused("INSERT INTO report (body) VALUES ('without')");
            assert_eq!(error.code().code(), "LF006");
            assert!(error.hint().is_some_and(|hint| hint.contains("fencing.advance_epoch(")), "{error:?}");
            assert_eq!(statuses(session, self.current), ["epoch_closed"; 3]);
            for token in self.all() {
                let gives_none = |said: &String| !["renewed", "current"].contains(&said.as_str());
                assert!(statuses(session, token)[..2].iter().all(gives_none), "{token}");
            }
        }
        assert_eq!(admin.get::<String>("SELECT state FROM fencing.inspect('jobs', 'a')"), "closed");
        assert_eq!(worker.code("SELECT fencing.advance_epoch('by the worker')"), "42501");
    }

    /// One call opens it again: leases are free at once, tokens are above all that there ever were, and
    /// none of those is accepted, neither before a lease is granted anew nor after.
    pub fn is_opened_again(&self, copy: &Cluster, database: &str) -> i64 {
        let mut admin = copy.connect_as("postgres", database);
        let before: i64 = admin.get("SELECT max(epoch) FROM fencing.epoch");
        let epoch: i64 = admin.get("SELECT fencing.advance_epoch('a copy')");
        assert!(epoch > before, "{epoch} after {before}");
        assert_eq!(verdict(&mut admin), ["same"]);
        let mut worker = worker(copy, database);
        self.is_void(&mut admin);
        let mut highest = self.all().max().expect("tokens");
        for _ in 0..2 {
            for key in ["a", "b"] {
                let token = acquire(&mut worker, key).granted();
                assert!(token > highest, "{token} after {highest}");
                highest = token;
                if key == "a" {
                    assert_eq!(writes(&mut worker, token)[0], "00000");
                    assert_eq!(worker.get::<i64>("SELECT seen FROM report ORDER BY id DESC LIMIT 1"), token);
                }
                self.is_void(&mut worker);
                worker.run(&format!("SELECT fencing.release({token})"));
            }
        }
        self.is_void(&mut admin);
        acquire(&mut worker, "a").granted()
    }

    fn is_void(&self, session: &mut Client) {
        for token in self.known() {
            assert_eq!(writes(session, token), ["LF005"; 4], "{token}");
        }
        for token in &self.lost {
            for code in writes(session, *token) {
                assert!(["LF004", "LF005"].contains(&code.as_str()), "{token}: {code}");
            }
        }
        assert_eq!(statuses(session, self.current), ["epoch_closed"; 3]);
        for token in &self.lost {
            for said in statuses(session, *token) {
                assert!(["epoch_closed", "unknown"].contains(&said.as_str()), "{token}: {said}");
            }
        }
    }

    /// The original is what it was, and a copy's tokens mean nothing to it.
    pub fn is_untouched(&self, original: &Cluster, token_of_the_copy: i64) {
        let mut worker = worker(original, "postgres");
        assert_eq!(verdict(&mut worker), ["same"]);
        let latest = self.lost.iter().rev().nth(1).copied().unwrap_or(self.current);
        assert_eq!(writes(&mut worker, latest)[0], "00000");
        for code in writes(&mut worker, token_of_the_copy) {
            assert!(["LF004", "LF005"].contains(&code.as_str()), "{code}");
        }
        assert_eq!(statuses(&mut worker, latest)[..2], ["renewed", "current"]);
    }
}

/// A session that was opened while its server was still a standby.
pub fn early_session(standby: &Cluster) -> Client {
    let mut session = standby.config().user("worker").connect(NoTls).expect("a session on the standby");
    session.run("SELECT * FROM fencing.guards");
    session
}
