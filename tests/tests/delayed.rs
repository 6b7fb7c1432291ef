//! The delayed holder, as real processes: paused beyond its lease, it wakes up and writes (field
//! note; failures 1 and 15).

use fencing_tests::cluster::send;
use fencing_tests::psql::Psql;
use fencing_tests::{Cluster, Grant, Sql};
use postgres::Client;
use rustix::process::Signal;
use std::thread::sleep;
use std::time::Duration;

struct Scene {
    cluster: Cluster,
    /// The holder that will be late.
    late: Psql,
    /// Its server process.
    backend: i32,
    token: i64,
    /// The one that takes over.
    next: Client,
}

fn scene() -> Scene {
    let cluster = Cluster::new();
    let mut next = cluster.connect();
    next.run(
        "SELECT fencing.create_namespace('jobs', ttl => '30 s');
         CREATE TABLE report (id int PRIMARY KEY, body text, fence bigint, seen bigint);
         INSERT INTO report VALUES (1, 'empty');
         SELECT fencing.protect('report', 'jobs', key => 'a', present_column => 'fence', token_column => 'seen')",
    );
    let mut late = Psql::start(&cluster);
    let backend = late.ask("SELECT pg_backend_pid()").parse().expect("a pid");
    let token = late.ask("SELECT token FROM fencing.acquire('jobs', 'a', 'late')").parse().expect("a token");
    Scene { cluster, late, backend, token, next }
}

impl Scene {
    /// The lease has run out, and somebody else takes it over and writes.
    fn take_over(&mut self) -> i64 {
        let token = self.next.acquire_later("a", "next").granted();
        // Under the clock by which it was granted.
        self.next.run(&format!(
            "SET fencing.test_clock_offset = '1 h'; UPDATE report SET body = 'next', fence = {token}; RESET ALL"
        ));
        token
    }

    /// Until what stood in the way has gone.
    fn take_over_at_last(&mut self) -> i64 {
        for _ in 0..3000 {
            match self.next.acquire_later("a", "next") {
                Grant { status, token, .. } if status == "granted" => return token,
                blocked => assert_eq!(blocked, self.blocked()),
            }
            sleep(Duration::from_millis(10));
        }
        panic!("the lease is never granted");
    }

    fn blocked(&self) -> Grant {
        Grant { status: "blocked".to_owned(), token: 0, blocked_by: vec![self.backend] }
    }

    fn report(&mut self) -> String {
        self.next.get("SELECT body FROM report")
    }

    fn late_write(&self) -> String {
        format!("UPDATE report SET body = 'late', fence = {}", self.token)
    }
}

#[test]
fn paused_between_two_statements() {
    let mut scene = scene();
    scene.late.ask(&scene.late_write());
    scene.late.pause();
    let token = scene.take_over();
    scene.late.say(&scene.late_write());
    scene.late.resume();
    assert_eq!(scene.late.hear().1, "LF001");
    assert_eq!(scene.report(), "next");
    assert_eq!(scene.next.get::<i64>("SELECT seen FROM report"), token);
    // And what else it tries.
    let old = scene.token;
    scene.late.say("UPDATE report SET body = 'late' WHERE false");
    assert_eq!(scene.late.hear(), (String::new(), "00000".to_owned()), "the inline column's rows decide");
    scene.late.say(&format!("BEGIN; SELECT fencing.present({old}); UPDATE report SET body = 'late' WHERE false"));
    assert_eq!(scene.late.hear().1, "LF001");
    scene.late.ask("ROLLBACK");
    scene.late.say("DELETE FROM report");
    assert_eq!(scene.late.hear().1, "LF002");
    assert_eq!(scene.late.ask(&format!("SELECT status FROM fencing.renew({old})")), "superseded");
    assert_eq!(scene.late.ask(&format!("SELECT fencing.release({old})")), "superseded");
    assert_eq!(scene.report(), "next");
}

#[test]
fn paused_inside_a_transaction_that_has_written() {
    let mut scene = scene();
    scene.late.ask(&format!("BEGIN; {}", scene.late_write()));
    scene.late.pause();
    for _ in 0..3 {
        assert_eq!(scene.next.acquire_later("a", "next"), scene.blocked());
    }
    assert!(scene.next.get::<bool>(&format!("SELECT pg_terminate_backend({}, 30000)", scene.backend)));
    let token = scene.take_over_at_last();
    assert!(token > scene.token);
    scene.late.say("COMMIT");
    scene.late.resume();
    assert!(scene.late.is_lost());
    assert_eq!(scene.next.get::<String>("SELECT body FROM report"), "empty");
}

/// It had checked before it paused: what it commits late was ordered before the takeover.
#[test]
fn a_transaction_that_has_written_ends_before_the_takeover() {
    let mut scene = scene();
    scene.late.ask(&format!("BEGIN; {}", scene.late_write()));
    scene.late.pause();
    assert_eq!(scene.next.acquire_later("a", "next"), scene.blocked());
    scene.late.say("COMMIT");
    scene.late.resume();
    // By its own clock the lease has not run out.
    assert_eq!(scene.late.hear().1, "00000");
    assert_eq!(scene.report(), "late");
    scene.take_over();
    assert_eq!(scene.report(), "next");
    scene.late.say(&scene.late_write());
    assert_eq!(scene.late.hear().1, "LF001");
}

/// Ordered before the takeover, but the lease has run out: refused at the commit.
#[test]
fn a_transaction_that_outlives_its_lease() {
    let mut scene = scene();
    scene.late.ask(&format!("BEGIN; {}", scene.late_write()));
    scene.late.ask("SET LOCAL fencing.test_clock_offset = '1 h'");
    scene.late.say("COMMIT");
    assert_eq!(scene.late.hear().1, "LF003");
    assert_eq!(scene.report(), "empty");
    scene.take_over();
}

/// A server process that is itself stopped: asked to end, it does not, and only the end of its lock
/// proves that it has (hazards 7.5).
#[test]
fn a_stopped_server_process() {
    let mut scene = scene();
    scene.late.ask(&format!("BEGIN; {}", scene.late_write()));
    send(scene.backend as u32, Signal::STOP);
    scene.late.say("COMMIT");
    assert!(scene.next.get::<bool>(&format!("SELECT pg_terminate_backend({})", scene.backend)));
    for _ in 0..3 {
        assert_eq!(scene.next.acquire_later("a", "next"), scene.blocked());
    }
    send(scene.backend as u32, Signal::CONT);
    assert!(scene.take_over_at_last() > scene.token);
    assert!(scene.late.is_lost());
    // Either end is in order: it came before the takeover.
    assert!(["empty", "late"].contains(&scene.report().as_str()));
    assert_eq!(scene.cluster.connect().code(&scene.late_write()), "LF001");
}

/// A client that vanishes inside its transaction takes its fence with it.
#[test]
fn a_killed_client() {
    let mut scene = scene();
    scene.late.ask(&format!("BEGIN; {}", scene.late_write()));
    assert_eq!(scene.next.acquire_later("a", "next"), scene.blocked());
    drop(std::mem::replace(&mut scene.late, Psql::start(&scene.cluster)));
    assert!(scene.take_over_at_last() > scene.token);
    assert_eq!(scene.next.get::<String>("SELECT body FROM report"), "empty");
}
