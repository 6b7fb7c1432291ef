//! What a run is told, in its environment.

use crate::byhand::Check;
use std::path::PathBuf;
use std::time::Duration;

/// Who checks that a writer holds its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// The fence.
    Fenced,
    /// The application.
    ByHand(Check),
}

impl Flavour {
    /// The schema whose functions are called.
    pub fn schema(self) -> &'static str {
        if self == Flavour::Fenced { "fencing" } else { "byhand" }
    }
}

/// Options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Operations at least.
    pub operations: u64,
    /// The seed of all choices.
    pub seed: u64,
    /// No round begins after that.
    pub duration: Option<Duration>,
    /// Operations in one round, whose history is checked at its end.
    pub round: u64,
    /// Operations from one crash of the server to the next.
    pub crash_every: u64,
    /// Counter-measures switched off (test builds).
    pub without: String,
    /// Operations of the same workload without a fence; 0: not run.
    pub compare: u64,
    /// Where histories go, and stay if a round fails.
    pub dir: PathBuf,
}

impl Options {
    /// From `OPERATIONS`, `SEED`, `DURATION` (s), `CRASH_EVERY`, `WITHOUT`, `COMPARE` and `TORTURE_DIR`.
    pub fn from_environment() -> Options {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let number = |name: &str| {
            text(name).map(|value| {
                value
                    .replace(['_', ','], "")
                    .parse::<u64>()
                    .unwrap_or_else(|_| panic!("{name} is a number, not {value}"))
            })
        };
        let now = std::time::UNIX_EPOCH.elapsed().map_or(1, |since| since.as_secs() % 1_000_000);
        let operations = number("OPERATIONS").unwrap_or(10_000_000);
        Options {
            operations,
            seed: number("SEED").unwrap_or(now),
            duration: number("DURATION").map(Duration::from_secs),
            round: 500_000,
            crash_every: number("CRASH_EVERY").unwrap_or(if operations > 200_000 { 40_000 } else { 20_000 }).max(1),
            without: text("WITHOUT").unwrap_or_default(),
            compare: number("COMPARE").unwrap_or(operations / 10),
            dir: text("TORTURE_DIR").map_or_else(|| PathBuf::from("target/torture"), PathBuf::from),
        }
    }
}
