//! From one epoch to the next on servers that crash between the steps and in the middle of them, under
//! load, with others in the way, and right after a promotion.

use fencing_tests::cluster::{run, until};
use fencing_tests::copies::standby;
use fencing_tests::{Cluster, Sql};
use postgres::Client;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// Nothing writes WAL but who has to: a commit that does not wait stays in memory for seconds.
const LAZY: [&str; 4] = ["wal_writer_delay=10s", "bgwriter_delay=10s", "wal_level=minimal", "max_wal_senders=0"];

/// `t` and `u` are guarded, by the leases `a` and `b`.
fn cluster(settings: &[&str]) -> Cluster {
    let cluster = Cluster::with(settings);
    cluster.connect().run(
        "SELECT fencing.create_namespace('jobs', ttl => '1 h');
         CREATE TABLE t (v text); CREATE TABLE u (v text); CREATE TABLE plain (id int PRIMARY KEY, v int);
         INSERT INTO plain VALUES (1, 0);
         SELECT fencing.protect('t', 'jobs', key => 'a'), fencing.protect('u', 'jobs', key => 'b');
         CREATE ROLE lazy LOGIN SUPERUSER;
         ALTER ROLE lazy SET synchronous_commit = off",
    );
    cluster
}

/// What is to be seen of epochs: how many, the state of the latest, what is blocked.
fn seen(session: &mut Client) -> String {
    session.get(
        "SELECT concat_ws(' ', (SELECT count(*) FROM fencing.epoch),
             (SELECT state FROM fencing.epoch ORDER BY epoch DESC LIMIT 1),
             (SELECT string_agg(relation || '=' || state, ' ' ORDER BY relation::text) FROM fencing.installation))",
    )
}

/// The steps in their order, what there is after each, and what comes of doing it once more.
const STEPS: [(&str, &str, &str); 9] = [
    ("fencing.begin_epoch_transition('test')", "1 closing", "00000"),
    ("fencing.open_epoch('test')", "2 open t=blocked u=blocked", "55000"),
    ("fencing.install_local('t')", "2 open t=installed u=blocked", "00000"),
    ("fencing.prove_epoch('t')", "2 open t=proved u=blocked", "00000"),
    ("fencing.resume('t')", "2 open u=blocked", "00000"),
    ("fencing.install_local('u')", "2 open u=installed", "00000"),
    ("fencing.prove_epoch('u')", "2 open u=proved", "00000"),
    ("fencing.resume('u')", "2 open", "00000"),
    ("fencing.advance_epoch('test')", "3 open", ""),
];

fn write(session: &mut Client, table: &str, token: i64) -> String {
    let code = session.code(&format!("BEGIN; SELECT fencing.present({token}); INSERT INTO {table} VALUES ('x')"));
    session.run(if code == "00000" { "COMMIT" } else { "ROLLBACK" });
    code
}

/// Whatever the session says of commits: what has returned stands.
#[test]
fn each_step_outlives_a_crash_and_may_be_repeated() {
    let mut cluster = cluster(&LAZY);
    let mut old = cluster.connect().acquire("a", "x").granted();
    for (step, after, again) in STEPS {
        let mut session = cluster.connect_as("lazy", "postgres");
        session.run(&format!("SELECT {step}"));
        cluster.kill();
        cluster.start();
        session = cluster.connect_as("lazy", "postgres");
        assert_eq!(seen(&mut session), after, "{step}");
        if !again.is_empty() {
            assert_eq!(session.code(&format!("SELECT {step}")), again, "{step}");
        }
        assert_eq!(seen(&mut session), after, "{step} once more");
        let may_write = if after.contains("closing") || after.contains("t=") { "LF007" } else { "LF005" };
        assert_eq!(write(&mut session, "t", old), may_write, "{step}");
        if step.starts_with("fencing.resume('t')") {
            old = session.acquire("a", "x").granted();
            assert_eq!(
                (write(&mut session, "t", old), write(&mut session, "u", old)),
                ("00000".into(), "LF007".into())
            );
            break;
        }
    }
}

/// The same of coordinators elsewhere, and their epochs.
#[test]
fn what_is_installed_outlives_a_crash() {
    let mut cluster = cluster(&LAZY);
    let install = |epoch, identity| {
        format!("fencing.install_epoch('etcd', {epoch}, '00000000-0000-4000-8000-00000000000{identity}')")
    };
    for (step, after) in [
        ("fencing.register_coordinator('etcd', 'etcd', 'x')".to_owned(), "no epoch"),
        (install(1, 1), "open 1"),
        (install(1, 2), "conflict 1"),
        (install(2, 3), "open 2"),
        ("fencing.drop_coordinator('etcd')".to_owned(), ""),
    ] {
        cluster.connect_as("lazy", "postgres").run(&format!("SELECT {step}"));
        cluster.kill();
        cluster.start();
        let seen = "SELECT coalesce(string_agg(concat_ws(' ', state, epoch), ', '), '') FROM fencing.coordinators()";
        assert_eq!(cluster.connect().get::<String>(seen), after, "{step}");
    }
}

#[test]
fn a_step_in_the_middle_of_which_the_server_dies_has_not_begun() {
    let mut cluster = cluster(&LAZY);
    let mut before = "1 open";
    for (step, after, _) in STEPS {
        let mut session = cluster.connect();
        session.run(&format!("BEGIN; SELECT {step}"));
        // What it has written is on disk, and in vain.
        cluster.connect().run("CHECKPOINT");
        cluster.kill();
        cluster.start();
        let mut session = cluster.connect();
        assert_eq!(seen(&mut session), before, "{step}");
        session.run(&format!("SELECT {step}"));
        assert_eq!(seen(&mut session), after, "{step}");
        before = after;
    }
}

#[test]
fn whoever_is_in_the_way_is_named_and_goes_on() {
    let cluster = cluster(&["fencing.max_wait=200ms"]);
    let mut writer = cluster.connect();
    let token = writer.acquire("a", "x").granted();
    writer.run("SET application_name = 'worker'; SET fencing.allow_prepare = on");
    let begin = format!("BEGIN; SELECT fencing.present({token}); INSERT INTO t VALUES ('x')");
    writer.run(&begin);
    writer.run("PREPARE TRANSACTION 'a gid'");
    writer.run(&begin);
    let pid: i32 = writer.get("SELECT pg_backend_pid()");
    let mut operator = cluster.connect();
    for step in ["fencing.advance_epoch('x')", "fencing.begin_epoch_transition('x')"] {
        for (setting, bound) in [("0", 200), ("50ms", 50)] {
            operator.run(&format!("SET lock_timeout = '{setting}'"));
            let since = Instant::now();
            let error = operator.refused(&format!("SELECT {step}"));
            assert!(since.elapsed() >= Duration::from_millis(bound), "{:?}", since.elapsed());
            assert_eq!(error.code().code(), "55P03");
            let detail = error.detail().expect("who is in the way");
            for who in [&format!("process {pid} (role postgres, application worker)"), "prepared transaction \"a gid\""]
            {
                assert!(detail.contains(who), "{detail}");
            }
            assert!(error.hint().is_some_and(|hint| hint.contains("ROLLBACK PREPARED")));
        }
    }
    operator.run("RESET lock_timeout");
    writer.run("INSERT INTO t VALUES ('y'); COMMIT");
    writer.run("COMMIT PREPARED 'a gid'");
    operator.run("SELECT fencing.advance_epoch('x')");
    assert_eq!(writer.get::<i64>("SELECT count(*) FROM t"), 3);
    assert_eq!(write(&mut writer, "t", token), "LF005");
}

/// A writer that waits at the gate has a row that another needs who is behind it.
#[test]
fn no_writer_pays_for_a_deadlock_with_an_epoch() {
    let cluster = cluster(&["deadlock_timeout=100ms", "fencing.max_wait=20s"]);
    let mut first = cluster.connect();
    let (a, b) = (first.acquire("a", "x").granted(), first.acquire("b", "x").granted());
    let mut second = cluster.connect();
    first.run(&format!("BEGIN; SELECT fencing.present({a}); INSERT INTO t VALUES ('x')"));
    second.run(&format!("BEGIN; UPDATE plain SET v = v + 1; SELECT fencing.present({b})"));
    let mut operator = cluster.connect();
    let mut judge = cluster.connect();
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    let opened = scope(|scope| {
        let operator = scope.spawn(|| operator.code("SELECT fencing.advance_epoch('x')"));
        until("the epoch waits", || judge.get::<i64>(waits) == 1);
        let second = scope.spawn(|| {
            let code = second.code("INSERT INTO u VALUES ('x')");
            second.run("ROLLBACK");
            code
        });
        // It is let through, or waits: in both cases it has the row.
        sleep(Duration::from_millis(50));
        assert_eq!(first.code("UPDATE plain SET v = v + 1"), "00000");
        first.run("COMMIT");
        let second = second.join().expect("the second writer");
        assert!(["00000", "LF005"].contains(&second.as_str()), "{second}");
        operator.join().expect("the operator")
    });
    assert!(["00000", "55P03"].contains(&opened.as_str()), "{opened}");
}

/// Whoever opens an epoch in a transaction that holds something is the one to pay, not the writer who
/// needs that.
#[test]
fn who_opens_an_epoch_pays_for_a_deadlock() {
    let cluster = cluster(&["deadlock_timeout=200ms", "fencing.max_wait=20s"]);
    let mut writer = cluster.connect();
    let token = writer.acquire("a", "x").granted();
    writer.run(&format!("BEGIN; SELECT fencing.present({token}); INSERT INTO t VALUES ('x')"));
    let mut operator = cluster.connect();
    let pid: i32 = operator.get("SELECT pg_backend_pid()");
    operator.run("BEGIN; UPDATE plain SET v = v + 1");
    let mut judge = cluster.connect();
    scope(|scope| {
        let operator = scope.spawn(|| operator.code("SELECT fencing.advance_epoch('x')"));
        // Its own look for deadlocks, were it one alone, is over.
        let waits = format!(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = {pid} AND waitstart < clock_timestamp() - interval '300 ms'"
        );
        until("the epoch waits", || judge.get::<i64>(&waits) == 1);
        assert_eq!(writer.code("UPDATE plain SET v = v + 1"), "00000");
        assert_eq!(operator.join().expect("the operator"), "55P03");
    });
    writer.run("COMMIT");
}

/// After a failover that loses what no standby has, an epoch must not come back.
#[test]
fn an_epoch_waits_for_synchronous_standbys() {
    let cluster = cluster(&[]);
    cluster.connect().run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    cluster.connect().run("SELECT pg_reload_conf()");
    let mut judge = cluster.connect();
    until("the setting is there", || judge.get("SELECT current_setting('synchronous_standby_names') = 'nobody'"));
    for (step, _, _) in STEPS {
        let mut session = cluster.connect_as("lazy", "postgres");
        let pid: i32 = session.get("SELECT pg_backend_pid()");
        let waits = format!("SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = {pid}");
        scope(|scope| {
            scope.spawn(|| session.run(&format!("SELECT {step}")));
            until(&format!("{step} waits"), || judge.get::<Option<bool>>(&waits) == Some(true));
            judge.run(&format!("SELECT pg_cancel_backend({pid})"));
        });
    }
}

/// What a failover hook does: no session, no statement is too early for it to be tried again.
#[test]
fn the_first_statement_after_a_promotion() {
    let primary = cluster(&[]);
    let token = primary.connect().acquire("a", "x").granted();
    let copy = standby(&primary);
    let mut hook = copy.connect();
    let error = hook.refused("SELECT fencing.advance_epoch('promotion')");
    assert_eq!(error.code().code(), "25006");
    assert!(error.hint().is_some_and(|hint| hint.contains("repeat")), "{error:?}");
    // In the transaction that promotes it, the session is still one of a standby's.
    hook.run("BEGIN; SELECT pg_promote()");
    assert_eq!(hook.code("SELECT fencing.advance_epoch('promotion')"), "25006");
    hook.run("ROLLBACK");
    hook.run("SELECT fencing.advance_epoch('promotion')");
    assert_eq!(write(&mut hook, "t", token), "LF005");
    let next = hook.acquire("a", "y").granted();
    assert!(next > token);
    assert_eq!(write(&mut hook, "t", next), "00000");
}

#[test]
fn members_of_the_authority_open_epochs() {
    let cluster = cluster(&["fencing.epoch_authority=operators"]);
    cluster.connect().run(
        "CREATE ROLE operators; CREATE ROLE anna LOGIN IN ROLE operators; CREATE ROLE berta LOGIN;
         CREATE ROLE owner; ALTER TABLE u OWNER TO owner; GRANT owner TO anna",
    );
    let mut anna = cluster.connect_as("anna", "postgres");
    let mut berta = cluster.connect_as("berta", "postgres");
    assert_eq!(berta.code("SELECT fencing.advance_epoch('x')"), "42501");
    for (step, after, _) in STEPS {
        assert_eq!(berta.code(&format!("SELECT {step}")), "42501", "{step}");
        let judge = &mut cluster.connect();
        if step.starts_with("fencing.prove_epoch('t')") {
            // Its triggers run along: that is for their owner.
            assert_eq!(anna.code(&format!("SELECT {step}")), "42501");
            judge.run(&format!("SELECT {step}"));
        } else {
            anna.run(&format!("SELECT {step}"));
        }
        assert_eq!(seen(judge), after, "{step}");
    }
    let who = "SELECT string_agg(DISTINCT actor::regrole::text, ' ') FROM fencing.event WHERE kind = 'epoch_opened'";
    assert_eq!(cluster.connect().get::<String>(who), "anna");
}

/// Whoever may create roles could become it.
#[test]
fn an_authority_that_does_not_exist() {
    let cluster = cluster(&["fencing.epoch_authority=operators"]);
    let mut admin = cluster.connect();
    let gaps = "SELECT string_agg(concat_ws('|', relation, severity, remedy), ' ' ORDER BY relation::text)
                  FROM fencing.enforcement_gaps() WHERE gap = 'authority_missing'";
    assert_eq!(admin.get::<String>(gaps), "t|weak|CREATE ROLE operators; u|weak|CREATE ROLE operators;");
    let mut maker = {
        admin.run("CREATE ROLE maker LOGIN CREATEROLE");
        cluster.connect_as("maker", "postgres")
    };
    assert_eq!(maker.code("SELECT fencing.advance_epoch('x')"), "42501");
    admin.run("CREATE ROLE operators");
    assert_eq!(admin.get::<Option<String>>(gaps), None);
    // Where it is set, that is said at once.
    let said = |statement: &str| {
        let load = "SELECT fencing.make_token(1, 1)";
        let output = cluster.program("psql").args(["-X", "-q", "-c", load, "-c", statement]).output().expect("psql");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert_eq!(said("ALTER SYSTEM SET fencing.epoch_authority = 'operators'"), "");
    let warning = "WARNING:  role \"operator\" does not exist\n\
                   DETAIL:  fencing.epoch_authority names it: whoever may create roles could become it.\n\
                   HINT:  Create the role.\n";
    assert_eq!(said("ALTER SYSTEM SET fencing.epoch_authority = 'operator'"), warning);
    // Not in each session that finds it so.
    admin.run("SELECT pg_reload_conf()");
    for _ in 0..1000 {
        if cluster.connect().get::<String>("SELECT current_setting('fencing.epoch_authority')") == "operator" {
            break;
        }
    }
    assert_eq!(said("SELECT gap FROM fencing.enforcement_gaps()"), "");
    assert_eq!(said("ALTER SYSTEM SET fencing.epoch_authority = ''"), "");
}

/// However many leases there are.
#[test]
fn no_row_of_a_lease_is_written() {
    let cluster = cluster(&[]);
    let mut session = cluster.connect();
    let take = "SELECT count(*) FROM generate_series(1, 2000) AS n, fencing.acquire('jobs', n::text, 'x')";
    assert_eq!(session.get::<i64>(take), 2000);
    let rows = "SELECT md5(string_agg(concat(ctid, xmin, xmax), ' ' ORDER BY ctid)) FROM fencing.";
    let mut all = || ["lease", "fence", "term"].map(|table| session.get::<String>(&format!("{rows}{table}")));
    let before = all();
    cluster.connect().run("SELECT fencing.advance_epoch('x')");
    assert_eq!(all(), before);
    let held = "SELECT detail ->> 'held_terms' FROM fencing.event WHERE kind = 'epoch_transition'";
    assert_eq!(session.get::<String>(held), "2000");
    assert_eq!(
        session
            .get::<i64>("SELECT count(*) FROM fencing.term, fencing.check_token(token) AS s WHERE s = 'epoch_closed'"),
        2000
    );
}

/// Once an epoch is open, nothing of an older one is committed any more, while many write.
#[test]
fn epochs_under_load() {
    let cluster = cluster(&["fencing.max_wait=20s"]);
    cluster.connect().run(
        "CREATE TABLE log (k text, token bigint);
         SELECT fencing.protect('log', 'jobs', key_columns => '{k}', token_column => 'token')",
    );
    let done = AtomicBool::new(false);
    let (mut operator, mut judge) = (cluster.connect(), cluster.connect());
    let writes = scope(|scope| {
        let mut writers = Vec::new();
        for n in 0..4 {
            let (mut session, done) = (cluster.connect(), &done);
            writers.push(scope.spawn(move || {
                let (mut writes, mut refused) = (0, 0);
                while !done.load(Ordering::Relaxed) {
                    let Some(token) = Some(session.acquire(&format!("w{n}"), "x")).filter(|g| g.status == "granted")
                    else {
                        continue;
                    };
                    for _ in 0..5 {
                        let insert =
                            format!("BEGIN; SELECT fencing.present({}); INSERT INTO log VALUES ('w{n}')", token.token);
                        let code = session.code(&insert);
                        assert!(["00000", "LF005", "LF007"].contains(&code.as_str()), "{code}");
                        if code == "00000" {
                            session.run("COMMIT");
                            writes += 1;
                        } else {
                            session.run("ROLLBACK");
                            refused += 1;
                        }
                    }
                    session.code(&format!("SELECT fencing.release({})", token.token));
                }
                (writes, refused)
            }));
        }
        let mut finished = Vec::new();
        for round in 0..30 {
            sleep(Duration::from_millis(20));
            let epoch: i64 = if round % 3 == 0 {
                operator.run("SELECT fencing.begin_epoch_transition('x')");
                let epoch = operator.get("SELECT fencing.open_epoch('x')");
                for step in ["install_local", "prove_epoch", "resume"] {
                    operator.run(&format!("SELECT fencing.{step}('log')"));
                }
                epoch
            } else {
                operator.get("SELECT fencing.advance_epoch('x')")
            };
            let older = format!("SELECT count(*) FROM log WHERE fencing.epoch_of(token) < {epoch}");
            finished.push((older.clone(), judge.get::<i64>(&older)));
        }
        done.store(true, Ordering::Relaxed);
        let sum = |(a, b): (i64, i64), (c, d): (i64, i64)| (a + c, b + d);
        let all = writers.into_iter().map(|w| w.join().expect("a writer")).fold((0, 0), sum);
        for (older, count) in finished {
            assert_eq!(judge.get::<i64>(&older), count, "{older}");
        }
        all
    });
    println!("{writes:?} writes passed and were refused");
    assert!(writes.0 > 0);
    assert_eq!(judge.get::<i64>("SELECT count(*) FROM log"), writes.0);
}

/// A copy that is made between the steps goes on with none of them: it wants a transition of its own.
#[test]
fn a_dump_between_the_steps() {
    let cluster = cluster(&[]);
    let mut session = cluster.connect();
    let token = session.acquire("a", "x").granted();
    let copy = |database: &str| {
        let line = format!("createdb {database} && pg_dump postgres | psql -X -q -v ON_ERROR_STOP=1 {database}");
        run(&mut cluster.shell(&line));
        cluster.connect_as("postgres", database)
    };
    session.run("SELECT fencing.begin_epoch_transition('test')");
    let mut closing = copy("closing");
    assert_eq!(seen(&mut closing), "1 closing");
    assert_eq!(write(&mut closing, "t", token), "LF006");
    let error = closing.refused("SELECT fencing.open_epoch('test')");
    assert_eq!(error.code().code(), "55000");
    assert!(error.detail().is_some_and(|detail| detail.contains("another server")), "{error:?}");
    closing.run("SELECT fencing.begin_epoch_transition('of its own')");
    assert_eq!(write(&mut closing, "t", token), "LF007");
    closing.run("SELECT fencing.open_epoch('of its own')");
    assert_eq!(seen(&mut closing), "2 open t=blocked u=blocked");
    session.run("SELECT fencing.open_epoch('test'); SELECT fencing.install_local('t')");
    let mut blocked = copy("blocked");
    assert_eq!(seen(&mut blocked), "2 open t=installed u=blocked");
    assert_eq!(write(&mut blocked, "t", token), "LF006");
    assert_eq!(blocked.code("SELECT fencing.install_local('u')"), "55000");
    blocked.run("SELECT fencing.advance_epoch('restored')");
    assert_eq!(seen(&mut blocked), "3 open");
    let next = blocked.acquire("a", "y").granted();
    assert_eq!((write(&mut blocked, "t", token), write(&mut blocked, "t", next)), ("LF005".into(), "00000".into()));
    assert_eq!(seen(&mut session), "2 open t=installed u=blocked");
}
