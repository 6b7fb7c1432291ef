//! `blockers` names what keeps a lease back that nobody holds, and `evict` ends it: the sessions,
//! which are proven to be gone by their locks; never a prepared transaction, nor a valid holder.

use fencing_tests::cluster::{send, until};
use fencing_tests::psql::Psql;
use fencing_tests::{Cluster, Grant, Sql, Stop};
use postgres::Client;
use rustix::process::Signal;
use std::time::Instant;

/// The lease `a` of namespace `jobs` guards table `t`.
struct Scene {
    cluster: Cluster,
    /// An administrator of the namespace, who is nothing else.
    admin: Client,
    token: i64,
}

impl Scene {
    fn new() -> Scene {
        let cluster = Cluster::new();
        let mut session = cluster.connect();
        session.run(
            "SELECT fencing.create_namespace('jobs');
             CREATE TABLE t (v int);
             SELECT fencing.protect('t', 'jobs', key => 'a');
             CREATE TABLE keyed (k text);
             SELECT fencing.protect('keyed', 'jobs', key_columns => '{k}');
             CREATE ROLE admin LOGIN;
             SELECT fencing.grant_namespace('jobs', 'admin', 'administer')",
        );
        let token = session.acquire("a", "A").granted();
        let admin = cluster.connect_as("admin", "postgres");
        Scene { cluster, admin, token }
    }

    /// A session that has written under the lease, and idles in its transaction.
    fn writer(&self, name: &str) -> (Client, i32) {
        let mut writer = self.cluster.connect();
        writer.run(&format!(
            "SET application_name = '{name}'; SET fencing.allow_prepare = on;
             BEGIN; SELECT fencing.present({}); INSERT INTO t VALUES (1)",
            self.token
        ));
        let pid = writer.get("SELECT pg_backend_pid()");
        (writer, pid)
    }

    /// The term is taken away; its writers are still there.
    fn revoke(&mut self) {
        assert_eq!(self.admin.get::<String>("SELECT fencing.revoke('jobs', 'a', 'test')"), "revoked");
    }

    fn evict(&mut self) -> Vec<Evicted> {
        evict(&mut self.admin)
    }

    fn take_over(&self) -> Grant {
        self.cluster.connect().acquire("a", "B")
    }

    fn blockers(&mut self) -> Vec<String> {
        let sql = "SELECT concat_ws(' ', coalesce(pid::text, 'none'), coalesce(prepared_gid, '-'), role, application,
                                    xact_age BETWEEN '0' AND '1 min')
                     FROM fencing.blockers('jobs', 'a')";
        self.admin.query(sql, &[]).expect("blockers").iter().map(|row| row.get(0)).collect()
    }

    fn events(&self) -> Vec<String> {
        let sql =
            "SELECT concat_ws(' ', key, token = (SELECT max(token) FROM fencing.fence WHERE key = 'a'), actor::regrole,
                                    detail ->> 'status', detail ->> 'pid', detail ->> 'prepared_gid', detail ->> 'role')
                     FROM fencing.event WHERE kind = 'eviction' ORDER BY id";
        self.cluster.connect().query(sql, &[]).expect("events").iter().map(|row| row.get(0)).collect()
    }
}

/// Process, prepared gid, status.
type Evicted = (Option<i32>, Option<String>, String);

fn evict(session: &mut Client) -> Vec<Evicted> {
    let rows = session.query("SELECT pid, prepared_gid, status FROM fencing.evict('jobs', 'a')", &[]).expect("evict");
    let mut evicted: Vec<_> = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    evicted.sort_unstable();
    evicted
}

fn terminated(pids: &mut [i32]) -> Vec<Evicted> {
    pids.sort_unstable();
    pids.iter().map(|pid| (Some(*pid), None, "terminated".to_owned())).collect()
}

#[test]
fn idle_writers_are_ended_and_the_takeover_goes_on() {
    let mut scene = Scene::new();
    let (mut one, first) = scene.writer("one");
    let (mut two, second) = scene.writer("two");
    // Not while the term is good, whoever asks.
    assert_eq!(scene.admin.code("SELECT fencing.evict('jobs', 'a')"), "55006");
    let mut named = [format!("{first} - postgres one t"), format!("{second} - postgres two t")];
    named.sort_unstable();
    let mut blockers = scene.blockers();
    blockers.sort_unstable();
    assert_eq!(blockers, named);

    scene.revoke();
    assert_eq!(scene.take_over().status, "blocked");
    let mut pids = [first, second];
    assert_eq!(scene.evict(), terminated(&mut pids));
    // Nothing is in the way any more, at once.
    assert!(scene.take_over().granted() > scene.token);
    assert!(one.batch_execute("COMMIT").is_err() && two.batch_execute("COMMIT").is_err());
    assert_eq!(scene.cluster.connect().get::<i64>("SELECT count(*) FROM t"), 0);
    let mut events = scene.events();
    events.sort_unstable();
    // Evidence of its own, beside the term's end.
    let mut expected = pids.map(|pid| format!("a f admin terminated {pid} postgres"));
    expected.sort_unstable();
    assert_eq!(events, expected);
}

/// By the administrator's clock the term has run out: its writer is ended although it could still
/// commit in time by its own.
#[test]
fn a_term_that_has_run_out_and_an_open_renewal() {
    let scene = Scene::new();
    let (_writer, first) = scene.writer("writer");
    let mut renewer = scene.cluster.connect();
    renewer.run(&format!("BEGIN; SELECT fencing.renew({})", scene.token));
    let second = renewer.get::<i32>("SELECT pg_backend_pid()");
    let mut later = scene.cluster.connect();
    later.run("SET fencing.test_clock_offset = '1 h'");
    assert_eq!(evict(&mut later), terminated(&mut [first, second]));
    assert!(scene.cluster.connect().acquire_later("a", "B").granted() > scene.token);
}

#[test]
fn a_prepared_transaction_is_named_and_left_alone() {
    let mut scene = Scene::new();
    let (mut writer, _) = scene.writer("writer");
    writer.run("PREPARE TRANSACTION 'gid é'");
    assert_eq!(scene.blockers(), ["none gid é postgres t"]);
    scene.revoke();
    let named = (None, Some("gid é".to_owned()), "prepared".to_owned());
    // It waits for nothing that it can't bring about.
    let since = Instant::now();
    assert_eq!(scene.evict(), std::slice::from_ref(&named));
    assert!(since.elapsed().as_secs() < 10);
    // The session that prepared it has nothing to do with it any more, nor has its next transaction.
    writer.run("BEGIN; SELECT 1");
    assert_eq!(scene.evict(), std::slice::from_ref(&named));
    writer.run("COMMIT");
    // Nor has any process, once the server was restarted.
    scene.cluster.restart(Stop::Fast);
    scene.admin = scene.cluster.connect_as("admin", "postgres");
    assert_eq!(scene.blockers(), ["none gid é postgres t"]);
    assert_eq!(scene.evict(), [named]);
    assert_eq!(scene.take_over().blocked_by, [0]);
    scene.cluster.connect().run("ROLLBACK PREPARED 'gid é'");
    assert_eq!(scene.evict(), []);
    assert!(scene.take_over().granted() > scene.token);
    assert_eq!(scene.events().last().unwrap(), "a f admin prepared gid é");
}

/// A batch of renewals locks the row alone.
#[test]
fn an_open_batch_of_renewals() {
    let scene = Scene::new();
    let mut batch = scene.cluster.connect();
    batch.run(&format!("BEGIN; SAVEPOINT s; SELECT fencing.renew_all(ARRAY[{}])", scene.token));
    let pid = batch.get::<i32>("SELECT pg_backend_pid()");
    let mut later = scene.cluster.connect();
    later.run("SET fencing.test_clock_offset = '1 h'");
    assert_eq!(later.get::<i32>("SELECT pid FROM fencing.blockers('jobs', 'a')"), pid);
    assert_eq!(evict(&mut later), terminated(&mut [pid]));
    assert_eq!(later.get::<i64>("SELECT count(*) FROM fencing.blockers('jobs', 'a')"), 0);
    assert!(scene.cluster.connect().acquire_later("a", "B").granted() > scene.token);
}

/// Whoever writes under very many leases locks their whole namespace, and this lease with it.
#[test]
fn a_writer_under_many_other_leases() {
    let mut scene = Scene::new();
    let mut many = scene.cluster.connect();
    many.run(
        "SET fencing.acquire_in_block = on;
         CREATE TABLE got AS SELECT n, (fencing.acquire('jobs', 'k' || n, 'many')).token FROM generate_series(1, 300) AS n",
    );
    many.run(
        "BEGIN; SELECT fencing.present_all(ARRAY(SELECT token FROM got));
         INSERT INTO keyed SELECT 'k' || n FROM generate_series(1, 300) AS n",
    );
    let pid = many.get::<i32>("SELECT pg_backend_pid()");
    scene.revoke();
    assert_eq!(scene.take_over().blocked_by, [pid]);
    assert_eq!(scene.evict(), terminated(&mut [pid]));
    assert!(scene.take_over().granted() > scene.token);
}

/// A grant that was left open in its transaction is in the way as well.
#[test]
fn an_open_acquisition() {
    let mut scene = Scene::new();
    scene.revoke();
    let mut open = scene.cluster.connect();
    open.run("SET fencing.acquire_in_block = on; BEGIN");
    open.acquire("a", "open").granted();
    let pid = open.get::<i32>("SELECT pg_backend_pid()");
    assert_eq!(scene.evict(), terminated(&mut [pid]));
    assert!(scene.take_over().granted() > scene.token);
}

/// Who ends by itself at once needs no ending.
#[test]
fn gone_by_itself() {
    let mut scene = Scene::new();
    scene.revoke();
    // How long all takes is the machine's affair; sooner or later one is met that ends in time.
    for round in 0.. {
        let mut psql = Psql::start(&scene.cluster);
        let pid: i32 = psql.ask("SELECT pg_backend_pid()").parse().expect("a process");
        psql.ask("SET fencing.acquire_in_block = on");
        psql.say("BEGIN; SELECT status FROM fencing.acquire('jobs', 'a', 'x'); SELECT pg_sleep(0.06); ROLLBACK");
        let (mut watch, since) = (scene.cluster.connect(), Instant::now());
        let sleeps =
            format!("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'PgSleep')");
        while !watch.get::<bool>(&sleeps) && since.elapsed().as_secs() < 1 {}
        let evicted = scene.evict();
        if evicted == [(Some(pid), None, "gone".to_owned())] {
            // Its session goes on.
            psql.hear();
            assert_eq!(psql.ask("SELECT 1"), "1");
            return;
        }
        assert!(round < 50, "{evicted:?}");
    }
}

/// A stopped process holds what it holds; whoever waits for its end can be cancelled.
#[test]
fn a_stopped_process_is_waited_for_within_bounds() {
    let mut scene = Scene::new();
    let (_writer, pid) = scene.writer("stopped");
    send(pid as u32, Signal::STOP);
    scene.revoke();
    scene.admin.run("SET statement_timeout = '500 ms'");
    assert_eq!(scene.admin.code("SELECT fencing.evict('jobs', 'a')"), "57014");
    assert_eq!(scene.take_over().blocked_by, [pid]);
    // It was told to end, and does so as soon as it can.
    send(pid as u32, Signal::CONT);
    until("the writer ends", || scene.take_over().status == "granted");
}

/// Who waits for the lease is not in its way, and gets it.
#[test]
fn a_waiter_takes_over() {
    let mut scene = Scene::new();
    let (_writer, pid) = scene.writer("writer");
    scene.revoke();
    let waiter = scene.cluster.connect();
    let granted = std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let mut waiter = waiter;
            waiter.get::<String>("SELECT status FROM fencing.acquire('jobs', 'a', 'W', wait => '30 s')")
        });
        let mut watch = scene.cluster.connect();
        until("it queues for the fence", || watch.get("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"));
        assert_eq!(scene.blockers().len(), 1);
        assert_eq!(scene.evict(), terminated(&mut [pid]));
        waits.join().expect("the waiter")
    });
    assert_eq!(granted, "granted");
    // It holds it now, and so do its sessions.
    assert_eq!(scene.admin.code("SELECT fencing.evict('jobs', 'a')"), "55006");
}

/// Nobody else's sessions: writers under other leases, waiters, readers.
#[test]
fn bystanders_stay() {
    let mut scene = Scene::new();
    let mut other = scene.cluster.connect();
    let token = other.acquire("b", "other").granted();
    other.run(&format!("BEGIN; SELECT fencing.present({token}); INSERT INTO keyed VALUES ('b'); SELECT * FROM t"));
    let (_writer, pid) = scene.writer("writer");
    scene.revoke();
    assert_eq!(scene.evict(), terminated(&mut [pid]));
    other.run("COMMIT");
    // Asked from within a transaction that is in the way itself, it ends nobody.
    let mut own = scene.cluster.connect();
    own.run("SET fencing.acquire_in_block = on; BEGIN");
    own.acquire("a", "own").granted();
    assert_eq!(own.code("SELECT fencing.evict('jobs', 'a')"), "55006");
    own.run("ROLLBACK; BEGIN");
    assert_eq!(own.get::<i64>("SELECT count(*) FROM fencing.evict('jobs', 'a')"), 0);
    own.run("COMMIT");
}
