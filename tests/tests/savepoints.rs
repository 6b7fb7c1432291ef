//! Savepoints in any order, against a model: what a transaction presents and holds at any moment is
//! what its open savepoints presented and wrote (hazards 1.9).

use fencing_tests::{Cluster, Sql};
use postgres::Client;
use std::collections::BTreeSet;

/// So many fences are locked one by one; then it is their namespace.
const FENCES: usize = 256;
/// The leases that the steps are about; more are held where the namespace is to be locked.
const KEYS: i64 = 6;

/// What one savepoint did.
#[derive(Default)]
struct Level {
    presented: BTreeSet<i64>,
    fences: BTreeSet<i64>,
    namespace: bool,
}

/// The transaction, and the savepoints that are open in it.
struct Model(Vec<Level>);

impl Model {
    fn top(&mut self) -> &mut Level {
        self.0.last_mut().unwrap()
    }

    fn presents(&self, key: i64) -> bool {
        self.0.iter().any(|level| level.presented.contains(&key))
    }

    fn presents_any(&self) -> bool {
        self.0.iter().any(|level| !level.presented.is_empty())
    }

    fn fences(&self) -> usize {
        self.0.iter().map(|level| level.fences.len()).sum()
    }

    fn locks(&self) -> i64 {
        (self.fences() + self.0.iter().filter(|level| level.namespace).count()) as i64
    }

    /// A write under a lease was accepted.
    fn wrote(&mut self, key: i64) {
        if self.0.iter().any(|level| level.namespace || level.fences.contains(&key)) {
            return;
        }
        if self.fences() >= FENCES {
            self.top().namespace = true;
        } else {
            self.top().fences.insert(key);
        }
    }

    fn release(&mut self) {
        let level = self.0.pop().unwrap();
        let top = self.top();
        top.presented.extend(level.presented);
        top.fences.extend(level.fences);
        top.namespace |= level.namespace;
    }

    fn roll_back(&mut self) {
        *self.top() = Level::default();
    }
}

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

fn scene() -> (Cluster, Client, Vec<i64>) {
    let cluster = Cluster::new();
    let mut session = cluster.connect();
    session.run(
        "SELECT fencing.create_namespace('jobs', ttl => '30 min');
         CREATE TABLE t (k int);
         CREATE TABLE inline (k int, fence bigint);
         SELECT fencing.protect('t', 'jobs', key_columns => '{k}');
         SELECT fencing.protect('inline', 'jobs', key_columns => '{k}', present_column => 'fence')",
    );
    let tokens = (0..KEYS + FENCES as i64).map(|key| session.acquire(&key.to_string(), "x").granted()).collect();
    (cluster, session, tokens)
}

/// One step: what was done, for whoever looks at a failure.
fn step(session: &mut Client, model: &mut Model, dice: &mut Dice, tokens: &[i64]) -> String {
    let key = dice.roll(KEYS as u64) as i64;
    let token = tokens[key as usize];
    let depth = model.0.len();
    match dice.roll(10) {
        0 | 1 if depth < 6 => {
            session.run(&format!("SAVEPOINT s{depth}"));
            model.0.push(Level::default());
            "savepoint".to_owned()
        }
        2 if depth > 1 => {
            session.run(&format!("RELEASE s{}", depth - 1));
            model.release();
            "release".to_owned()
        }
        3 if depth > 1 => {
            session.run(&format!("ROLLBACK TO s{}", depth - 1));
            model.roll_back();
            "rollback".to_owned()
        }
        4 if depth > 2 => {
            // Several at once.
            session.run(&format!("ROLLBACK TO s{0}; RELEASE s{0}", depth - 2));
            model.0.truncate(depth - 2);
            "rollback of two".to_owned()
        }
        4 | 5 => {
            session.run(&format!("SELECT fencing.present({token})"));
            if !model.presents(key) {
                model.top().presented.insert(key);
            }
            format!("present {key}")
        }
        6 => {
            session.run(&format!("INSERT INTO inline VALUES ({key}, {token})"));
            model.wrote(key);
            format!("write {key} inline")
        }
        _ => {
            session.run("SAVEPOINT w");
            let code = session.code(&format!("INSERT INTO t VALUES ({key})"));
            session.run(if code == "00000" { "RELEASE w" } else { "ROLLBACK TO w; RELEASE w" });
            let expected = match (model.presents(key), model.presents_any()) {
                (true, _) => "00000",
                (false, true) => "LF004",
                (false, false) => "LF002",
            };
            assert_eq!(code, expected, "writing {key}");
            if model.presents(key) {
                model.wrote(key);
            }
            format!("write {key}: {code}")
        }
    }
}

fn agrees(many: bool) {
    let (_cluster, mut session, tokens) = scene();
    for seed in 1..=15 {
        let mut dice = Dice(seed * 0x9e37_79b9);
        let mut model = Model(vec![Level::default()]);
        session.run("BEGIN");
        if many {
            // All but three of the fences that are locked one by one, and presented no more.
            session.run("SAVEPOINT s");
            for key in KEYS..KEYS + FENCES as i64 - 3 {
                session.run(&format!("INSERT INTO inline VALUES ({key}, {})", tokens[key as usize]));
                model.wrote(key);
            }
            session.run("RELEASE s");
        }
        let mut steps = Vec::new();
        for _ in 0..120 {
            steps.push(step(&mut session, &mut model, &mut dice, &tokens));
            let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()";
            assert_eq!(session.get::<i64>(locks), model.locks(), "seed {seed}: {steps:#?}");
        }
        session.run(if seed % 2 == 0 { "COMMIT" } else { "ROLLBACK" });
    }
}

#[test]
fn few_leases() {
    agrees(false);
}

#[test]
fn around_the_bound_where_the_namespace_is_locked() {
    agrees(true);
}
