//! The server is killed at any moment while somebody opens one epoch after the other, and others acquire
//! and write: an epoch that was answered is open, none is half open, and once it is known no token of an
//! older one is accepted.

use fencing_tests::{Cluster, Sql, sql};
use postgres::{Client, Error};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

const KILLS: u64 = 40;
const SEQ_BITS: u32 = 39;

#[derive(Default)]
struct Told {
    /// The latest epoch whose opening was answered.
    epoch: AtomicI64,
    /// The highest token.
    token: AtomicI64,
    /// Some tokens of epochs that were followed by others, with their keys.
    old: Mutex<Vec<(String, i64)>>,
    refused: AtomicI64,
}

/// Opens epochs until the server is gone.
fn advance(session: &mut Client, told: &Told) -> Error {
    loop {
        // Neither is in the other's way for long.
        match session.query_one("SELECT fencing.advance_epoch('once more')", &[]) {
            Ok(row) => assert!(told.epoch.fetch_max(row.get(0), Ordering::SeqCst) < row.get(0)),
            Err(error) if error.code().is_some_and(|code| code.code() == "55P03") => {}
            Err(error) => return error,
        }
        sleep(Duration::from_millis(2));
    }
}

/// Acquires and writes under what it got, again and again, until the server is gone.
fn work(session: &mut Client, key: &str, told: &Told) -> Error {
    loop {
        if let Err(error) = try_to_work(session, key, told) {
            return error;
        }
    }
}

fn try_to_work(session: &mut Client, key: &str, told: &Told) -> Result<(), Error> {
    let (before, epoch) = (told.token.load(Ordering::SeqCst), told.epoch.load(Ordering::SeqCst));
    let call = "SELECT status, token, blocked_by FROM fencing.acquire('jobs', $1, 'x')";
    let grant = sql::grant(&session.query_one(call, &[&key])?);
    if grant.status != "granted" {
        // The gate is shut, or its own term of before was not ended.
        assert!(["closed", "held", "blocked", "cooling_down"].contains(&grant.status.as_str()), "{grant:?}");
        return Ok(());
    }
    assert!(grant.token > before && grant.token >> SEQ_BITS >= epoch, "{grant:?} after {before} in {epoch}");
    told.token.fetch_max(grant.token, Ordering::SeqCst);
    loop {
        let epoch = told.epoch.load(Ordering::SeqCst);
        let void = grant.token >> SEQ_BITS < epoch;
        match session.execute("INSERT INTO t VALUES ($1, $2)", &[&key, &grant.token]) {
            Ok(_) => assert!(!void, "{} was accepted when {epoch} was known to be open", grant.token),
            Err(error) if error.code().is_some_and(|code| code.code() == "LF005") => {
                told.refused.fetch_add(1, Ordering::SeqCst);
                let mut old = told.old.lock().unwrap();
                if old.len() < 1000 {
                    old.push((key.to_owned(), grant.token));
                }
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
}

#[test]
fn an_epoch_is_open_or_not() {
    let mut cluster = Cluster::with(&["wal_writer_delay=10s", "bgwriter_delay=10s"]);
    let mut session = cluster.connect();
    session.run(
        "SELECT fencing.create_namespace('jobs', ttl => '1 h');
         CREATE TABLE t (k text, fence bigint);
         SELECT fencing.protect('t', 'jobs', key_columns => '{k}', present_column => 'fence')",
    );
    let told = Told::default();
    for kill in 0..KILLS {
        let mut sessions: Vec<_> = (0..3).map(|_| cluster.connect()).collect();
        let epoch = told.epoch.load(Ordering::SeqCst);
        scope(|scope| {
            for (n, session) in sessions.iter_mut().enumerate() {
                let told = &told;
                scope.spawn(move || {
                    // What comes of a write that waits for the disk is unknown, so it is to be asynchronous.
                    session.run("SET synchronous_commit = off");
                    let error = match n {
                        0 => advance(session, told),
                        _ => work(session, &format!("k{n}"), told),
                    };
                    let gone = error.as_db_error().is_none_or(|e| e.code().code().starts_with("57P"));
                    assert!(gone, "{}", sql::describe(&error));
                });
            }
            while told.epoch.load(Ordering::SeqCst) == epoch {
                sleep(Duration::from_millis(1));
            }
            sleep(Duration::from_micros(kill * 7919 % 50_000));
            cluster.kill();
        });
        cluster.start();
        let mut session = cluster.connect();
        let epochs = "SELECT max(epoch) FROM fencing.epoch WHERE state = 'open' HAVING count(*) = 1";
        let open: i64 = session.get(epochs);
        assert!(open >= told.epoch.load(Ordering::SeqCst), "kill {kill}: {open} is open");
        assert_eq!(session.get::<i64>("SELECT max(epoch) FROM fencing.epoch"), open);
        for (key, token) in told.old.lock().unwrap().drain(..) {
            let code = session.code(&format!("INSERT INTO t VALUES ('{key}', {token})"));
            assert_eq!(code, "LF005", "kill {kill}: {token} in {open}");
        }
    }
    assert!(told.refused.load(Ordering::SeqCst) > 0, "nobody was ever too late");
}
