//! Rounds: clients work until so many operations are done, while the server and they themselves are disturbed;
//! then the history is checked against the tables. The next round begins with a new epoch.

use crate::chaos::{self, Chaos, Done};
use crate::check::facts::Facts;
use crate::check::{Violation, check_facts};
use crate::dice::Dice;
use crate::history::{self, Recorder};
use crate::last;
use crate::options::{Flavour, Options};
use crate::plan::{self, TTL};
use crate::report::{self, Tally};
use crate::session::Session;
use crate::worker::{Orders, config};
use crate::{byhand, finisher};
use fencing_tests::{Cluster, Sql};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The server's settings. Commits that don't wait for their WAL stay in memory for a while, to be lost.
const SETTINGS: [&str; 12] = [
    "shared_buffers=256MB",
    "max_prepared_transactions=100",
    "max_wal_size=512MB",
    "checkpoint_timeout=60s",
    "wal_writer_delay=2s",
    "log_min_messages=log",
    "log_checkpoints=off",
    "fencing.max_wait='1s'",
    "max_connections=120",
    "statement_timeout=100s",
    "min_wal_size=256MB",
    "wal_keep_size=0",
];

/// What became of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Under the fence.
    pub ours: Tally,
    /// The same without.
    pub by_hand: Vec<(&'static str, Tally)>,
    /// What is wrong, of the first round that has anything.
    pub violations: Vec<Violation>,
    /// Where that round's history is.
    pub kept: Option<PathBuf>,
}

impl Outcome {
    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.violations.is_empty()
    }
}

/// A run.
pub fn run(options: &Options) -> Outcome {
    let mut outcome = Outcome::default();
    let mut run = Run::new(options, Flavour::Fenced);
    while outcome.ours.operations < options.operations && !run.is_late() {
        let wanted = options.round.min(options.operations - outcome.ours.operations);
        let (tally, violations, dir) = run.round(wanted, outcome.ours.operations);
        outcome.ours.add(&tally);
        if !violations.is_empty() {
            fs::write(dir.join("server.log"), run.cluster.log_text()).expect("server.log");
            outcome.violations = violations;
            outcome.kept = Some(dir);
            return outcome;
        }
        fs::remove_dir_all(&dir).expect("a round's history");
    }
    drop(run);
    for (name, check) in
        [("checked before each write", byhand::Check::Read), ("checked with FOR SHARE", byhand::Check::Share)]
    {
        if options.compare > 0 {
            outcome.by_hand.push((name, compare(options, check)));
        }
    }
    outcome
}

/// The same workload without a fence. What is wrong there is counted.
fn compare(options: &Options, check: byhand::Check) -> Tally {
    let mut run = Run::new(options, Flavour::ByHand(check));
    let mut tally = Tally::default();
    while tally.operations < options.compare {
        let (round, violations, dir) =
            run.round(options.round.min(options.compare - tally.operations), tally.operations);
        tally.add(&round);
        tally.count(&violations);
        fs::remove_dir_all(&dir).expect("a round's history");
    }
    tally
}

/// A server, and the rounds on it.
struct Run<'a> {
    options: &'a Options,
    flavour: Flavour,
    cluster: Cluster,
    began: Instant,
    rounds: u16,
    highest: i64,
}

impl<'a> Run<'a> {
    fn new(options: &'a Options, flavour: Flavour) -> Run<'a> {
        let without = format!("fencing.test_without='{}'", options.without);
        let mut settings = SETTINGS.to_vec();
        if !options.without.is_empty() {
            settings.push(&without);
        }
        let cluster = Cluster::with(&settings);
        let mut session = cluster.connect();
        session.run(&plan::schema());
        match flavour {
            Flavour::Fenced => session.run(&plan::guards()),
            Flavour::ByHand(check) => session.run(&byhand::schema(check, TTL)),
        }
        Run { options, flavour, cluster, began: Instant::now(), rounds: 0, highest: 0 }
    }

    fn is_late(&self) -> bool {
        self.options.duration.is_some_and(|duration| self.began.elapsed() > duration)
    }

    fn directory(&self) -> PathBuf {
        let what = match self.flavour {
            Flavour::Fenced => "round",
            Flavour::ByHand(byhand::Check::Read) => "by-hand",
            Flavour::ByHand(byhand::Check::Share) => "by-hand-share",
        };
        let dir = self.options.dir.join(format!("seed-{}", self.options.seed)).join(format!("{what}-{}", self.rounds));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("a directory for the history");
        dir
    }

    /// So many operations, or more, after so many.
    fn round(&mut self, operations: u64, before: u64) -> (Tally, Vec<Violation>, PathBuf) {
        let dir = self.directory();
        let since = Instant::now();
        let counters = last::counters(&mut self.cluster.connect());
        let done = self.disturbed(&dir, operations, before);
        let worked = since.elapsed();
        let (facts, last) = self.read(&dir, counters);
        let found = check_facts(&facts, &last);
        let mut tally = Tally::of(&facts, &last, done, worked);
        tally.ordered = found.ordered;
        tally.checking = since.elapsed() - worked;
        self.highest = last.terms.iter().map(|term| term.token).fold(self.highest, i64::max);
        last::clear(&mut self.cluster.connect());
        self.rounds += 1;
        (tally, found.all, dir)
    }

    fn read(&self, dir: &Path, before: Vec<last::Counter>) -> (Facts, last::Last) {
        let facts = Facts::of(&history::read(dir).expect("the history"));
        let terms = self.flavour == Flavour::Fenced;
        (facts, last::read(&mut self.cluster.connect(), terms, before, self.highest))
    }

    /// The clients work, the server crashes, prepared transactions are finished, an epoch ends it.
    fn disturbed(&mut self, dir: &Path, operations: u64, before: u64) -> Done {
        let seed = self.options.seed.wrapping_add(u64::from(self.rounds) << 32);
        let socket = self.cluster.scratch().to_owned();
        let orders = Orders {
            worker: 0,
            incarnation: 0,
            seed,
            socket: socket.clone(),
            dir: dir.to_owned(),
            schema: self.flavour.schema(),
        };
        let recorder = |client| Recorder::create(dir, client, 0).expect("a history");
        let admin = || Session::new(config(&socket, "postgres"), false);
        let counted = Arc::new(AtomicU64::new(0));
        let (stop, abandoned) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let dice = Dice::new(seed, finisher::CLIENT.into());
            let finishing = scope.spawn({
                let (session, recorder, stop, abandoned) = (admin(), recorder(finisher::CLIENT), &stop, &abandoned);
                move || finisher::work(session, dice, recorder, stop, abandoned)
            });
            let _abandon = Abandon(&abandoned);
            let mut chaos = Chaos {
                dice: Dice::new(seed, chaos::CLIENT.into()),
                recorder: recorder(chaos::CLIENT),
                admin: admin(),
                workers: chaos::workers(&orders, &counted),
                operations: Arc::clone(&counted),
                epochs: self.flavour == Flavour::Fenced,
                until: self.options.duration.map(|duration| self.began + duration),
                crash_every: self.options.crash_every,
                done: Done::default(),
                cluster: &mut self.cluster,
            };
            let mut progress = report::Progress::new(self.flavour, before);
            chaos.run(operations, |n| progress.show(n));
            chaos.dismiss();
            stop.store(true, Relaxed);
            finishing.join().expect("whoever finishes prepared transactions");
            // Every term of this round is over.
            let since = Instant::now();
            while chaos.epochs && !chaos.advance_epoch() && since.elapsed() < Duration::from_secs(30) {
                std::thread::sleep(Duration::from_millis(100));
            }
            chaos.done
        })
    }
}

/// Whoever waits for a server that will not come back waits no longer.
struct Abandon<'a>(&'a AtomicBool);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}
