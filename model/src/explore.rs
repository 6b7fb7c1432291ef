//! Exploring: all states of a configuration, or the shortest way to a violation.

use crate::config::Config;
use crate::measures::Without;
use crate::properties::promises;
use crate::protocol::{Action, Protocol};
use crate::state::State;
use stateright::{Checker, HasDiscoveries, Model, Path};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What an exploration found.
#[derive(Debug)]
pub struct Explored {
    /// States that differ in more than the names of clients.
    pub unique: usize,
    /// Steps taken to find them.
    pub generated: usize,
    /// The length of the longest of the shortest paths.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// For each property that says something of a state, the way to one: of what must never be, or of
    /// what must be sometimes.
    pub found: HashMap<&'static str, Path<State, Action>>,
}

impl Explored {
    /// A promise that is broken somewhere.
    pub fn broken(&self) -> Option<&'static str> {
        promises().find(|name| self.found.contains_key(name))
    }
}

/// Explores every state.
pub fn explore(config: Config, without: Without, threads: usize) -> Explored {
    run(config, without, threads, HasDiscoveries::All, None)
}

/// The shortest path by which that promise is broken.
pub fn shortest(config: Config, without: Without, promise: &'static str) -> Option<(Path<State, Action>, Explored)> {
    let mut best = None;
    let mut depth = None;
    // States of one length are visited in any order, and the last that is found is kept.
    loop {
        let mut explored = run(config, without, 1, HasDiscoveries::AnyOf([promise].into()), depth);
        let Some(path) = explored.found.remove(promise) else { return best };
        depth = Some(path.clone().into_actions().len() + 1);
        best = Some((path, explored));
    }
}

fn run(config: Config, without: Without, threads: usize, until: HasDiscoveries, depth: Option<usize>) -> Explored {
    let began = Instant::now();
    let mut checker = Protocol::new(config, without).checker().threads(threads).finish_when(until);
    if let Some(depth) = depth {
        checker = checker.target_max_depth(depth);
    }
    let checker = checker.spawn_bfs().join();
    Explored {
        unique: checker.unique_state_count(),
        generated: checker.state_count(),
        depth: checker.max_depth(),
        took: began.elapsed(),
        found: checker.discoveries(),
    }
}
