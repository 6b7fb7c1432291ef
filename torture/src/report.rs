//! What a run says.

use crate::chaos::Done;
use crate::check::facts::{Acquire, Call, Facts, Fate};
use crate::check::{Fault, Violation};
use crate::history::Status;
use crate::last::Last;
use crate::options::{Flavour, Options};
use crate::plan::{self, Lease};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Counts of a run.
#[derive(Debug, Default)]
pub struct Tally {
    /// All that was asked of the server.
    pub operations: u64,
    /// By kind.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Answers of `acquire`.
    pub acquired: BTreeMap<String, u64>,
    /// Answers of `renew`, `release` and `revoke`.
    pub said: BTreeMap<String, u64>,
    /// Refused writes and commits, by SQLSTATE.
    pub refused: BTreeMap<String, u64>,
    /// Transactions, by what became of them.
    pub fates: BTreeMap<&'static str, u64>,
    /// Terms that followed another one.
    pub takeovers: u64,
    /// Writes that are there.
    pub written: u64,
    /// Without an answer.
    pub unanswered: u64,
    /// Operations that were put into an order.
    pub ordered: u64,
    /// What was done to it.
    pub done: Done,
    /// Rounds.
    pub rounds: u64,
    /// Time of the clients' work, and of checking it.
    pub working: Duration,
    /// The latter.
    pub checking: Duration,
    /// What is wrong, where that is to be expected.
    pub faults: BTreeMap<Fault, u64>,
}

impl Tally {
    /// Of one round.
    pub fn of(facts: &Facts, last: &Last, done: Done, working: Duration) -> Tally {
        let mut tally = Tally { done, working, rounds: 1, written: last.written.len() as u64, ..Tally::default() };
        let writes: u64 = facts.transactions.iter().map(|t| t.writes.len() as u64).sum();
        let (dropped, purged) = (facts.dropped, facts.purges.len() as u64);
        let lenient = Lease::all().filter(|lease| lease.is_lenient()).count() as u64;
        for (kind, n) in [
            ("writes", writes),
            ("acquire", facts.acquires.len() as u64),
            ("renew", facts.renewals.len() as u64),
            ("release", facts.releases.len() as u64),
            ("revoke", facts.revocations.len() as u64 - dropped - purged * lenient),
            ("drop_lease", dropped),
            ("evict", facts.evictions.len() as u64),
        ] {
            tally.kinds.insert(kind, n);
            tally.operations += n;
        }
        let mut granted = BTreeMap::<_, u64>::new();
        for acquire in &facts.acquires {
            tally.acquire(acquire);
            if acquire.said.status == Status::Granted {
                *granted.entry(acquire.lease).or_default() += 1;
            }
        }
        tally.takeovers = granted.values().map(|n| n - 1).sum();
        for (what, calls) in
            [("renew", &facts.renewals), ("release", &facts.releases), ("taken away", &facts.revocations)]
        {
            for call in calls {
                tally.call(what, call);
            }
        }
        for t in &facts.transactions {
            let fate = match t.fate {
                Fate::Committed => "committed",
                Fate::RolledBack => "rolled back",
                Fate::Unknown => "unknown",
                Fate::Forgotten => "forgotten",
            };
            *tally.fates.entry(fate).or_default() += 1;
            let alone = t.writes.first().is_some_and(|w| w.span == t.commit);
            let states = t.writes.iter().filter_map(|w| w.said.state).chain(t.said.state.filter(|_| !alone));
            for state in states {
                *tally.refused.entry(state.text().to_owned()).or_default() += 1;
            }
            tally.unanswered += t.writes.iter().filter(|w| w.said.status == Status::Lost).count() as u64;
        }
        tally
    }

    fn acquire(&mut self, acquire: &Acquire) {
        *self.acquired.entry(name(acquire.said.status)).or_default() += 1;
    }

    fn call(&mut self, what: &str, call: &Call) {
        *self.said.entry(format!("{what}: {}", name(call.said.status))).or_default() += 1;
    }

    /// Both together.
    pub fn add(&mut self, other: &Tally) {
        self.operations += other.operations;
        self.takeovers += other.takeovers;
        self.written += other.written;
        self.unanswered += other.unanswered;
        self.ordered += other.ordered;
        self.rounds += other.rounds;
        self.working += other.working;
        self.checking += other.checking;
        self.done.add(&other.done);
        sum(&mut self.kinds, &other.kinds);
        sum(&mut self.fates, &other.fates);
        sum(&mut self.acquired, &other.acquired);
        sum(&mut self.said, &other.said);
        sum(&mut self.refused, &other.refused);
    }

    /// Counts violations.
    pub fn count(&mut self, violations: &[Violation]) {
        for violation in violations {
            *self.faults.entry(violation.fault).or_default() += 1;
        }
    }

    fn faults(&self, fault: Fault) -> u64 {
        self.faults.get(&fault).copied().unwrap_or_default()
    }
}

fn sum<K: Ord + Clone>(into: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
    for (key, n) in from {
        *into.entry(key.clone()).or_default() += n;
    }
}

/// `session_lost`
fn name(status: Status) -> String {
    let mut name = String::new();
    for c in format!("{status:?}").chars() {
        if c.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}

/// `1,234,567`
fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn counts<K: AsRef<str>>(counts: &BTreeMap<K, u64>) -> String {
    counts.iter().map(|(key, n)| format!("{} {}", key.as_ref(), number(*n))).collect::<Vec<_>>().join(", ")
}

/// Shows that work goes on.
pub struct Progress {
    what: &'static str,
    before: u64,
    since: Instant,
    shown: Instant,
}

impl Progress {
    /// After so many operations.
    pub fn new(flavour: Flavour, before: u64) -> Progress {
        let what = if flavour == Flavour::Fenced { "fenced" } else { "by hand" };
        Progress { what, before, since: Instant::now(), shown: Instant::now() }
    }

    /// A line now and then.
    pub fn show(&mut self, operations: u64) {
        if self.shown.elapsed() > Duration::from_secs(15) {
            self.shown = Instant::now();
            let rate = operations as f64 / self.since.elapsed().as_secs_f64();
            println!(
                "  {}: {} operations, {} a second",
                self.what,
                number(self.before + operations),
                number(rate as u64)
            );
        }
    }
}

/// The first line.
pub fn begin(options: &Options) {
    println!(
        "torture: {} operations, {} clients in {} processes, {} leases, SEED={}{}",
        number(options.operations),
        plan::WORKERS * plan::THREADS,
        plan::WORKERS,
        plan::LEASES,
        options.seed,
        if options.without.is_empty() { String::new() } else { format!(", WITHOUT={}", options.without) }
    );
}

/// The report.
pub fn end(options: &Options, outcome: &crate::round::Outcome) {
    tally(&outcome.ours);
    println!();
    println!("{:<44} {:>12} {:>12} {:>12}", "", "writes", "stale writes", "lost updates");
    let line = |name: &str, tally: &Tally| {
        let stale = tally.faults(Fault::StaleWrite);
        println!(
            "{name:<44} {:>12} {:>12} {:>12}",
            number(tally.written),
            number(stale),
            number(tally.faults(Fault::LostUpdate))
        );
    };
    let mut ours = Tally { written: outcome.ours.written, ..Tally::default() };
    ours.count(&outcome.violations);
    line("fenced", &ours);
    for (name, tally) in &outcome.by_hand {
        line(&format!("lease table, {name}"), tally);
    }
    println!();
    if outcome.is_good() {
        return println!("0 violations, SEED={}", options.seed);
    }
    let mut found = Tally::default();
    found.count(&outcome.violations);
    for (fault, n) in &found.faults {
        println!("{fault:?}: {n}");
        for violation in outcome.violations.iter().filter(|v| v.fault == *fault).take(5) {
            println!("  {}", violation.text);
        }
    }
    let kept = outcome.kept.as_ref().map(|dir| dir.display().to_string()).unwrap_or_default();
    println!("{} violations, SEED={}: history and server.log are in {kept}", outcome.violations.len(), options.seed);
    println!(
        "The same choices again: make torture SEED={} (the system's own timing is another each time)",
        options.seed
    );
}

fn tally(tally: &Tally) {
    let seconds = tally.working.as_secs_f64();
    println!(
        "{} operations in {seconds:.0} s, {} a second; checked in {:.0} s, {} grants and writes put into an order",
        number(tally.operations),
        number((tally.operations as f64 / seconds) as u64),
        tally.checking.as_secs_f64(),
        number(tally.ordered)
    );
    let done = &tally.done;
    println!("  operations: {}", counts(&tally.kinds));
    println!("  acquire: {}", counts(&tally.acquired));
    println!("  takeovers: {}", number(tally.takeovers));
    println!("  {}", counts(&tally.said));
    println!("  transactions: {}; writes without an answer: {}", counts(&tally.fates), number(tally.unanswered));
    println!("  refused writes and commits: {}", counts(&tally.refused));
    println!(
        "  clients: {} pauses, {} kills, {} sessions terminated",
        number(done.pauses),
        number(done.kills),
        number(done.terminated)
    );
    println!(
        "  server: {} kills, {} immediate stops, {} kills of a backend, {} clean restarts, {} epochs",
        done.server_killed, done.immediate, done.backend_killed, done.restarts, done.epochs
    );
}
