//! The server is killed two hundred times, at any moment, while clients acquire, write and release.
//! What they were told stands: no token is issued twice, tokens grow in the order in which they were
//! answered, and nothing durable is lost (G1 to G3).

use fencing_tests::{Cluster, Sql, sql};
use postgres::{Client, Error};
use std::collections::HashMap;
use std::sync::Mutex;
use std::thread::{scope, sleep};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const KILLS: u32 = 200;
/// Every other one has `synchronous_commit = off`.
const CLIENTS: usize = 6;
/// Keys that all of them want.
const SHARED: u64 = 2;

/// Commits that don't wait stay in memory, to be lost.
const LAZY: [&str; 2] = ["wal_writer_delay=10s", "bgwriter_delay=10s"];

/// Numbers below `n`, the same for a seed every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// What the clients were told, all together.
#[derive(Default)]
struct Told {
    /// Every token that reached one of them, and which: the number of its request.
    tokens: HashMap<i64, (usize, u64)>,
    /// The highest of them, and of each key's granted ones.
    highest: i64,
    by_key: HashMap<String, i64>,
    /// Granted since the last kill.
    granted: Vec<(i64, String)>,
    /// Rows since the last kill whose commit has waited for its WAL: id and token.
    rows: Vec<(i64, i64)>,
    /// Rows whose commit has not.
    lazy_rows: i64,
    /// Late writes that were refused, as they must be.
    refused: i64,
    answers_repeated: i64,
}

/// A request for a lease.
#[derive(Clone)]
struct Request {
    key: String,
    number: u64,
    /// Asked for before, so that the answer may be an old one.
    repeated: bool,
}

/// A client, which outlives every crash and keeps what it was told.
struct Worker<'a> {
    n: usize,
    told: &'a Mutex<Told>,
    dice: Dice,
    numbers: u64,
    /// Without an answer yet.
    request: Option<Request>,
    term: Option<(String, i64)>,
    /// Whether it has begun to release it.
    releasing: bool,
    /// Terms of shared keys that it has released.
    former: Vec<(String, i64)>,
}

impl Worker<'_> {
    /// Whether its commits don't wait for their WAL.
    fn is_lazy(&self) -> bool {
        self.n & 1 == 0
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Goes on until the server is gone.
    fn work(&mut self, session: &mut Client) {
        let lost = |error: &Error| error.as_db_error().is_none_or(|e| e.code().code().starts_with("57P"));
        let setting = if self.is_lazy() { "off" } else { "on" };
        let mut result = session.batch_execute(&format!("SET synchronous_commit = {setting}"));
        // A release that was answered but not yet written is lost with a crash: said again.
        if result.is_ok() {
            result = self.former.clone().iter().rev().take(3).try_for_each(|term| self.release(session, term.1));
        }
        while result.is_ok() {
            result = self.step(session);
        }
        let error = result.expect_err("it goes on until then");
        assert!(lost(&error), "client {}: {}", self.n, sql::describe(&error));
    }

    fn step(&mut self, session: &mut Client) -> Result<(), Error> {
        match (self.dice.roll(10), self.term.clone()) {
            (0..=5, Some((key, token))) if !self.releasing => self.write(session, &key, token, false),
            (_, Some((key, token))) => {
                self.releasing = true;
                self.release(session, token)?;
                self.term = None;
                self.releasing = false;
                if key.starts_with("shared") {
                    self.former.push((key, token));
                }
                Ok(())
            }
            (0..=2, None) if !self.former.is_empty() => {
                let n = self.dice.roll(self.former.len() as u64) as usize;
                let (key, token) = self.former[n].clone();
                self.write(session, &key, token, true)
            }
            (3, None) if self.request.is_none() => self.acquire_in_vain(session),
            _ => self.acquire(session),
        }
    }

    /// A lost answer is asked for again, with the same request.
    fn acquire(&mut self, session: &mut Client) -> Result<(), Error> {
        let request = self.request.take().unwrap_or_else(|| {
            let number = self.number();
            let key = match self.dice.roll(2) {
                0 => format!("shared-{}", self.dice.roll(SHARED)),
                _ => format!("own-{}-{number}", self.n),
            };
            Request { key, number, repeated: false }
        });
        self.request = Some(Request { repeated: true, ..request.clone() });
        let id = format!("{:08x}-0000-4000-8000-{:012x}", self.n, request.number);
        let call =
            "SELECT status, token, blocked_by FROM fencing.acquire('jobs', $1, 'x', request_id => $2::text::uuid)";
        let before = self.told.lock().unwrap().highest;
        let answer = sql::grant(&session.query_one(call, &[&request.key, &id])?);
        self.request = None;
        match answer.status.as_str() {
            "granted" => {
                self.hear(answer.token, request.number, if request.repeated { 0 } else { before });
                let mut told = self.told.lock().unwrap();
                told.answers_repeated += i64::from(request.repeated && answer.token <= before);
                let highest = told.by_key.entry(request.key.clone()).or_default();
                *highest = answer.token.max(*highest);
                told.granted.push((answer.token, request.key.clone()));
                drop(told);
                self.term = Some((request.key, answer.token));
            }
            "held" | "blocked" | "cooling_down" => {}
            other => panic!("client {}: acquire says {other} of {}", self.n, request.key),
        }
        Ok(())
    }

    /// A token can reach its client before its transaction comes to nothing.
    fn acquire_in_vain(&mut self, session: &mut Client) -> Result<(), Error> {
        let number = self.number();
        let before = self.told.lock().unwrap().highest;
        session.batch_execute("SET fencing.acquire_in_block = on; BEGIN")?;
        let call = "SELECT status, token, blocked_by FROM fencing.acquire('jobs', $1, 'x')";
        let answer = sql::grant(&session.query_one(call, &[&format!("vain-{}-{number}", self.n)])?);
        self.hear(answer.granted(), number, before);
        session.batch_execute("ROLLBACK")
    }

    /// A token has come: above all that was known when it was asked for, and nobody else's.
    fn hear(&self, token: i64, request: u64, before: i64) {
        let mut told = self.told.lock().unwrap();
        assert!(token > before, "client {}: {token}, asked for when {before} was known", self.n);
        told.highest = token.max(told.highest);
        if let Some(first) = told.tokens.insert(token, (self.n, request)) {
            assert_eq!(first, (self.n, request), "{token} answers two requests");
        }
    }

    fn write(&mut self, session: &mut Client, key: &str, token: i64, late: bool) -> Result<(), Error> {
        let id = (self.n as i64) << 40 | self.number() as i64;
        let followed = self.told.lock().unwrap().by_key[key] > token;
        let written = session.execute("INSERT INTO t VALUES ($1, $2, $3)", &[&id, &key, &token]);
        let mut told = self.told.lock().unwrap();
        match written {
            Ok(_) => {
                assert!(!followed, "client {}: {token} wrote {key} after its successor was known", self.n);
                match self.is_lazy() {
                    true => told.lazy_rows += 1,
                    false => told.rows.push((id, token)),
                }
                Ok(())
            }
            Err(error) if late && ["LF001", "LF003"].contains(&error.code().map_or("", |c| c.code())) => {
                told.refused += 1;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn release(&mut self, session: &mut Client, token: i64) -> Result<(), Error> {
        let mut status = "indeterminate".to_owned();
        // Somebody asks for the lease right now.
        while status == "indeterminate" {
            status = session.query_one("SELECT fencing.release($1)", &[&token])?.get(0);
        }
        assert!(["released", "superseded"].contains(&status.as_str()), "client {}: {token} is {status}", self.n);
        Ok(())
    }
}

/// What was told since the last kill is there, and what is there was granted.
fn stands(session: &mut Client, told: &mut Told) {
    let (tokens, keys): (Vec<_>, Vec<_>) = std::mem::take(&mut told.granted).into_iter().unzip();
    let terms = "SELECT count(*) FROM unnest($1::bigint[], $2::text[]) AS told (token, key)
                   JOIN fencing.term AS t USING (token, key) JOIN fencing.fence AS f USING (namespace, key)
                  WHERE f.token >= t.token";
    let found: i64 = session.query_one(terms, &[&tokens, &keys]).unwrap().get(0);
    assert_eq!(found, tokens.len() as i64, "grants are lost, of {tokens:?}");
    let (ids, seen): (Vec<_>, Vec<_>) = std::mem::take(&mut told.rows).into_iter().unzip();
    let rows = "SELECT count(*) FROM unnest($1::bigint[], $2::bigint[]) AS told (id, seen) JOIN t USING (id, seen)";
    let found: i64 = session.query_one(rows, &[&ids, &seen]).unwrap().get(0);
    assert_eq!(found, ids.len() as i64, "rows are lost, of {ids:?}");
    let foreign = "SELECT count(*) FROM t WHERE NOT EXISTS (
                       SELECT FROM fencing.term WHERE (token, key) = (t.seen, t.k))";
    assert_eq!(session.get::<i64>(foreign), 0, "rows under no term");
}

#[test]
fn what_was_told_stands() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_nanos() as u64;
    let seed = std::env::var("FENCING_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(now) | 1;
    println!("FENCING_TEST_SEED={seed}");
    let mut cluster = Cluster::with(&LAZY);
    cluster.connect().run(
        "SELECT fencing.create_namespace('jobs', ttl => '1 h');
         CREATE TABLE t (id bigint PRIMARY KEY, k text, fence bigint, seen bigint);
         SELECT fencing.protect('t', 'jobs', key_columns => '{k}', present_column => 'fence', token_column => 'seen')",
    );
    let told = Mutex::new(Told::default());
    let mut dice = Dice(seed);
    let worker = |n| Worker {
        n,
        told: &told,
        dice: Dice(seed.rotate_left(7 * n as u32 + 1) | 1),
        numbers: 0,
        request: None,
        term: None,
        releasing: false,
        former: Vec::new(),
    };
    let mut workers: Vec<_> = (0..CLIENTS).map(worker).collect();
    for kill in 0..KILLS {
        let mut sessions: Vec<_> = workers.iter().map(|_| cluster.connect()).collect();
        let known = told.lock().unwrap().tokens.len();
        scope(|scope| {
            let threads: Vec<_> = workers
                .iter_mut()
                .zip(&mut sessions)
                .map(|(worker, session)| scope.spawn(move || worker.work(session)))
                .collect();
            // A busy machine may take its time; then the crash comes at another moment each time.
            while told.lock().unwrap().tokens.len() == known && !threads.iter().all(|t| t.is_finished()) {
                std::thread::yield_now();
            }
            sleep(Duration::from_micros(dice.roll(40_000)));
            cluster.kill();
        });
        cluster.start();
        let mut session = cluster.connect();
        stands(&mut session, &mut told.lock().unwrap());
        let next = session.acquire(&format!("after-{kill}"), "x").granted();
        let mut told = told.lock().unwrap();
        assert!(next > told.highest, "{next} after {}", told.highest);
        told.highest = next;
        assert!(told.tokens.insert(next, (CLIENTS, kill.into())).is_none(), "{next} twice");
    }
    let told = told.into_inner().unwrap();
    let kept: i64 = cluster.connect().get("SELECT count(*) FROM t WHERE (id >> 40) % 2 = 0");
    println!(
        "{} tokens, {} of them by a repeated request; {} late writes refused; {} of {} asynchronous commits lost",
        told.tokens.len(),
        told.answers_repeated,
        told.refused,
        told.lazy_rows - kept,
        told.lazy_rows
    );
    assert!(told.lazy_rows > kept, "no asynchronous commit was lost: these were no crashes");
    assert!(told.refused > 0 && told.answers_repeated > 0, "some of it never happened");
}
