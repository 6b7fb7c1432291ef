//! A crash: every process is killed at once, and the server is started again. What `acquire` has
//! answered stands, and no token that a client ever saw is issued again.

use fencing_tests::{Cluster, Sql, Stop, sql};
use postgres::Client;
use std::collections::HashSet;
use std::sync::Mutex;
use std::thread::{scope, sleep};
use std::time::Duration;

/// Nothing writes WAL but who has to: a commit that does not wait stays in memory for seconds.
const LAZY: [&str; 4] = ["wal_writer_delay=10s", "bgwriter_delay=10s", "wal_level=minimal", "max_wal_senders=0"];

fn lazy_cluster() -> Cluster {
    let cluster = Cluster::with(&LAZY);
    cluster.connect().run(
        "SELECT fencing.create_namespace('jobs', max_ttl => '1 day');
         CREATE TABLE control (client int, n int);
         CREATE ROLE lazy LOGIN SUPERUSER;
         ALTER ROLE lazy SET synchronous_commit = off",
    );
    cluster
}

/// What clients have seen.
#[derive(Default)]
struct Seen {
    /// Tokens that reached a client, by whatever call.
    tokens: Vec<i64>,
    /// Those whose `acquire`, or whose COMMIT after it, has returned.
    granted: Vec<i64>,
    /// Plain rows whose asynchronous commit has returned.
    controls: i64,
}

type Lost = Result<(), postgres::Error>;

fn draw(session: &mut Client, key: &str) -> Result<i64, postgres::Error> {
    let sql = "SELECT status, token, blocked_by FROM fencing.acquire('jobs', $1, 'x')";
    Ok(sql::grant(&session.query_one(sql, &[&key])?).granted())
}

/// Acquires lease after lease until the server is gone.
fn by_itself(session: &mut Client, name: &str, seen: &Mutex<Seen>) -> Lost {
    for n in 0.. {
        let token = draw(session, &format!("{name}-{n}"))?;
        let mut seen = seen.lock().unwrap();
        seen.tokens.push(token);
        seen.granted.push(token);
    }
    Ok(())
}

/// The same in transaction blocks, every other one of which is rolled back.
fn in_blocks(session: &mut Client, name: &str, seen: &Mutex<Seen>) -> Lost {
    session.batch_execute("SET fencing.acquire_in_block = on")?;
    for n in 0.. {
        session.batch_execute("BEGIN")?;
        let token = draw(session, &format!("{name}-{n}"))?;
        seen.lock().unwrap().tokens.push(token);
        if n % 2 == 0 {
            session.batch_execute("ROLLBACK")?;
        } else {
            session.batch_execute("COMMIT")?;
            seen.lock().unwrap().granted.push(token);
        }
    }
    Ok(())
}

/// Writes plain rows: what is lost of them shows that the crash was one.
fn plainly(session: &mut Client, round: i32, seen: &Mutex<Seen>) -> Lost {
    loop {
        session.execute("INSERT INTO control VALUES ($1)", &[&round])?;
        seen.lock().unwrap().controls += 1;
    }
}

#[test]
fn what_was_granted_stands_and_no_token_comes_twice() {
    let mut cluster = lazy_cluster();
    let mut all = HashSet::new();
    let mut lost = 0;
    for round in 0..30 {
        let seen = Mutex::new(Seen::default());
        let mut sessions = [0, 1, 2, 3, 4].map(|n| {
            let mut session = cluster.connect_as(if n % 2 == 0 { "lazy" } else { "postgres" }, "postgres");
            session.run("SET synchronous_commit = off");
            session
        });
        scope(|scope| {
            for (n, session) in sessions.iter_mut().enumerate() {
                let (seen, name) = (&seen, format!("{round}-{n}"));
                scope.spawn(move || match n {
                    0 | 1 => by_itself(session, &name, seen),
                    2 | 3 => in_blocks(session, &name, seen),
                    _ => plainly(session, round, seen),
                });
            }
            // A busy machine may take its time; then the crash comes at another moment each round.
            while seen.lock().unwrap().tokens.is_empty() {
                std::thread::yield_now();
            }
            sleep(Duration::from_millis((round as u64 * 7) % 50));
            cluster.kill();
        });
        cluster.start();
        let seen = seen.into_inner().unwrap();
        let mut session = cluster.connect();
        let stand =
            "SELECT count(*) FROM fencing.term JOIN fencing.fence USING (token) JOIN fencing.lease USING (token)
                      WHERE token = ANY ($1) AND state = 'held'";
        let stand: i64 = session.query_one(stand, &[&seen.granted]).unwrap().get(0);
        assert_eq!(stand, seen.granted.len() as i64, "round {round}");
        let highest = *seen.tokens.iter().max().expect("a token");
        let next = session.acquire(&format!("after-{round}"), "x").granted();
        assert!(next > highest, "round {round}: {next} after {highest}");
        for token in seen.tokens.iter().chain([&next]) {
            assert!(all.insert(*token), "round {round}: {token} twice");
        }
        let kept: i64 = session.get(&format!("SELECT count(*) FROM control WHERE client = {round}"));
        lost += (seen.controls - kept).max(0);
    }
    assert!(lost > 0, "no asynchronous commit was lost: these were no crashes");
}

/// The sequence has logged ahead at a checkpoint's first draw: later draws write no WAL of their own.
#[test]
fn a_token_of_a_transaction_that_never_committed() {
    let mut cluster = lazy_cluster();
    let mut highest = 0;
    for round in 0..6 {
        let mut session = cluster.connect();
        session.run("CHECKPOINT; SET fencing.acquire_in_block = on; SET synchronous_commit = off; BEGIN");
        let open = session.acquire(&format!("open-{round}"), "x").granted();
        // In another session, since the first one's record may not be on disk.
        let mut other = cluster.connect();
        other.run("SET fencing.acquire_in_block = on; BEGIN");
        let second = other.acquire(&format!("rolled-back-{round}"), "x").granted();
        if round % 2 == 0 {
            other.run("ROLLBACK");
        }
        assert!(second > open && open > highest);
        cluster.kill();
        cluster.start();
        highest = cluster.connect().acquire(&format!("after-{round}"), "x").granted();
        assert!(highest > second, "round {round}: {highest} after {second}");
    }
}

/// By itself, whatever else is done after a crash: PostgreSQL puts 32 draws on record, then the library more.
#[test]
fn the_sequence_goes_on_above_every_number_told() {
    let mut cluster = lazy_cluster();
    for (checkpoint, draws) in [(false, 1), (false, 33), (true, 40), (true, 1), (false, 1100), (true, 1100), (false, 0)]
    {
        let mut session = cluster.connect();
        session.run("SET fencing.acquire_in_block = on; SET synchronous_commit = off");
        // After a crash it has moved far on: from here it is counted.
        let mut told = session.acquire("first", "x").granted();
        if checkpoint {
            session.run("CHECKPOINT");
        }
        session.run("BEGIN");
        for n in 0..draws {
            told = session.acquire(&format!("{n}"), "x").granted();
        }
        cluster.kill();
        cluster.start();
        let ahead: i64 =
            cluster.connect().get(&format!("SELECT last_value - fencing.seq_of({told}) FROM fencing.term_seq"));
        assert!((0..=1024).contains(&ahead), "{draws} draws: {ahead}");
        cluster.connect().run("SELECT fencing.drop_lease('jobs', 'first')");
    }
}

/// Bytes of WAL that a power loss would take.
fn unflushed(session: &mut Client) -> i64 {
    session.get("SELECT (pg_current_wal_insert_lsn() - pg_current_wal_flush_lsn())::bigint")
}

/// The header of a page that nothing was written to yet, and less than any commit with its rows.
const NOTHING: i64 = 64;

/// A plain commit of the lazy role doesn't wait for its WAL. Another process may flush in between,
/// autovacuum's for one; not every time.
fn leave_unflushed(session: &mut Client) {
    let stays = |_| {
        session.run("INSERT INTO control VALUES (0, 0)");
        unflushed(session) > NOTHING
    };
    assert!((0..10).any(stays), "a plain commit waits for its WAL");
}

#[test]
fn acquire_is_flushed_whatever_the_session_says() {
    let cluster = lazy_cluster();
    let mut session = cluster.connect_as("lazy", "postgres");
    session.run(
        "CREATE FUNCTION acquire_lazily(key text) RETURNS text LANGUAGE sql SET synchronous_commit = off
             AS $$ SELECT status FROM fencing.acquire('jobs', key, 'x') $$",
    );
    leave_unflushed(&mut session);
    for n in 0..20 {
        session.acquire(&format!("plain-{n}"), "x").granted();
        assert!(unflushed(&mut session) <= NOTHING);
        assert_eq!(session.get::<String>(&format!("SELECT acquire_lazily('function-{n}')")), "granted");
        assert!(unflushed(&mut session) <= NOTHING);
        session.run("SET fencing.acquire_in_block = on; BEGIN");
        session.acquire(&format!("block-{n}"), "x").granted();
        session.run("SET LOCAL synchronous_commit = off; COMMIT");
        assert!(unflushed(&mut session) <= NOTHING);
        assert_eq!(session.get::<String>("SHOW synchronous_commit"), "off");
    }
}

#[test]
fn taking_a_term_away_is_flushed_as_well() {
    let cluster = lazy_cluster();
    let mut session = cluster.connect_as("lazy", "postgres");
    session.run("CREATE ROLE worker; SELECT fencing.grant_namespace('jobs', 'worker', 'hold')");
    for call in [
        "fencing.revoke('jobs', 'a', 'test')",
        "fencing.revoke('jobs', 'a', 'test', '1 h')",
        "fencing.drop_lease('jobs', 'a')",
        "fencing.revoke_namespace('jobs', 'worker', 'hold')",
    ] {
        session.run("SET ROLE worker");
        session.acquire("a", "x").granted();
        session.run("RESET ROLE");
        leave_unflushed(&mut session);
        session.run(&format!("SELECT {call}"));
        assert!(unflushed(&mut session) <= NOTHING, "{call}");
        session.run("SELECT fencing.revoke('jobs', 'a', 'the next one')");
    }
}

#[test]
fn renew_and_release_follow_the_session() {
    let cluster = lazy_cluster();
    let mut session = cluster.connect();
    // Another process may flush in between, autovacuum's for one; not every time.
    session.run("SET synchronous_commit = off");
    let stays = |session: &mut Client, call: &str| {
        (0..10).any(|n| {
            let token = session.acquire(&format!("{call}-{n}"), "x").granted();
            session.run(&format!("SELECT fencing.{call}({token})"));
            unflushed(session) > NOTHING
        })
    };
    assert!(stays(&mut session, "renew") && stays(&mut session, "release"));
    let token = session.acquire("a", "x").granted();
    session.run(&format!("SET synchronous_commit = on; SELECT fencing.renew({token})"));
    assert!(unflushed(&mut session) <= NOTHING);
}

/// Losing one costs availability, never safety: the term is still the only one, or has run out.
#[test]
fn a_lost_renewal_or_release() {
    let mut cluster = lazy_cluster();
    let mut session = cluster.connect_as("lazy", "postgres");
    let renewed = session.acquire("renewed", "x").granted();
    let released = session.acquire("released", "x").granted();
    let expires = "SELECT expires_at::text FROM fencing.inspect('jobs', 'renewed')";
    let granted_until: String = session.get(expires);
    session.run(&format!("SELECT fencing.renew({renewed}); SELECT fencing.release({released})"));
    cluster.kill();
    cluster.start();
    let mut session = cluster.connect();
    assert_eq!(session.get::<String>(expires), granted_until, "the renewal was not lost");
    for (key, token) in [("renewed", renewed), ("released", released)] {
        assert_eq!(session.get::<String>(&format!("SELECT fencing.check_token({token})")), "current");
        assert_ne!(session.acquire(key, "y").status, "granted");
        assert!(session.acquire_later(key, "y").granted() > renewed.max(released));
        assert_eq!(session.get::<String>(&format!("SELECT fencing.check_token({token})")), "superseded");
    }
}

/// After a crash, a renewal that its holder was told of may be lost: no lease is granted before its ttl
/// has passed since the start, and a restart after that is one like any other.
#[test]
fn a_lost_renewal_keeps_the_lease_back() {
    let mut cluster = Cluster::with(&LAZY);
    let mut session = cluster.connect();
    session.run("SELECT fencing.create_namespace('jobs', ttl => '1 h', max_ttl => '1 h')");
    // Half an hour ago, which leaves half of it.
    session.run("SET fencing.test_clock_offset = '-30 min'");
    let token = session.acquire("k", "A").granted();
    let released = session.acquire("released", "A").granted();
    session.run(&format!("SELECT fencing.release({released})"));
    session.run("SET fencing.test_clock_offset = '-1 min'; SET synchronous_commit = off");
    let renewed: String = session.get(&format!("SELECT status FROM fencing.renew({token})"));
    assert_eq!(renewed, "renewed");
    cluster.restart(Stop::Immediate);
    let mut session = cluster.connect();
    let lapsed = "SELECT expires_at < now() + interval '31 min' FROM fencing.lease WHERE key = 'k'";
    assert!(session.get::<bool>(lapsed), "the renewal was to be lost");
    session.run("SET fencing.test_clock_offset = '31 min'");
    let state = "SELECT state FROM fencing.inspect('jobs', 'k')";
    assert_eq!(session.acquire("k", "B").status, "cooling_down");
    assert_eq!(session.get::<String>(state), "cooling_down");
    assert_eq!(session.get::<i64>("SELECT fencing.purge_leases('0')"), 1, "the released one");
    session.run("SET fencing.test_clock_offset = '61 min'");
    let next = session.acquire("k", "B").granted();
    assert!(next > token);
    // The start is noted with that grant: the next one, which is clean, is not taken for another.
    let start = "SELECT min(unclean_start)::text FROM fencing.clean_start HAVING count(*) = 1";
    let noted: String = session.get(start);
    drop(session);
    cluster.restart(Stop::Fast);
    let mut session = cluster.connect();
    session.acquire("k", "D");
    session.acquire("fresh", "D").granted();
    assert_eq!(session.get::<String>(start), noted);
}

/// A renewal for longer than a lease is kept back after a crash does not get lost in one.
#[test]
fn a_renewal_for_longer_is_durable() {
    let mut cluster = Cluster::with(&LAZY);
    let mut session = cluster.connect();
    session.run("SELECT fencing.create_namespace('jobs', ttl => '1 h', max_ttl => '2 h')");
    let tokens = ["one", "batch"].map(|key| session.acquire(key, "A").granted());
    let settled: String = session.get("SELECT max(expires_at)::text FROM fencing.lease");
    let renewals = [
        format!("SELECT status FROM fencing.renew({}, ttl => '2 h')", tokens[0]),
        format!("SELECT status FROM fencing.renew_all(ARRAY[{}], ttl => '2 h')", tokens[1]),
    ];
    for renewal in &renewals {
        session.run("SET synchronous_commit = off");
        assert_eq!(session.get::<String>(renewal), "renewed");
        cluster.restart(Stop::Immediate);
        session = cluster.connect();
    }
    let longer = format!("SELECT count(*) FROM fencing.lease WHERE expires_at > '{settled}'");
    assert_eq!(session.get::<i64>(&longer), 2);
}
