//! The model: who can do what next, and what comes of it.

use crate::config::{Config, Copied, Transition};
use crate::measures::{Measure, Without};
use crate::properties;
use crate::state::*;
use crate::writer::How;
use fencing_core::epoch::{Coordinator, next_epoch};
use fencing_core::lease::{ExpiryRule, Policy, Record};
use fencing_core::lineage::{Lineage, differences};
use fencing_core::time::{Instant, coordinator_time};
use stateright::{Model, Property};

/// What happens next.
#[derive(Clone, Copy, PartialEq, Debug)]
#[expect(missing_docs, reason = "said by their names; the numbers are clients and servers")]
pub enum Action {
    Begin(u8, How),
    /// The next step of what the client is in the middle of.
    Step(u8),
    /// It fails, or its backend is ended.
    Abort(u8),
    RollBackTo(u8),
    ReleaseToo(u8),
    Prepare(u8),
    Acquire(u8, InBlock),
    AcquireAgain(u8),
    Renew(u8),
    Release(u8),
    /// A `renew` commits, and its answer is lost.
    LoseAnswer(u8),
    Switch(u8),
    Revoke(u8),
    Announce(u8),
    BeginTransition(u8),
    OpenEpoch(u8),
    NextInstallation(u8),
    AdvanceEpoch(u8),
    Tick,
    JumpForward,
    JumpBack,
    Flush(u8),
    Crash(u8),
    BackUp,
    Copy(Copied),
}

/// Whether an `acquire` runs in a transaction block.
pub type InBlock = bool;

/// The protocol in one configuration, with all counter-measures or without some.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// The configuration.
    pub config: Config,
    without: Without,
    /// Whether two servers are the same, by the rules: asked once for each pair.
    same_server: Vec<Vec<bool>>,
}

impl Protocol {
    /// With all counter-measures but those.
    pub fn new(config: Config, without: Without) -> Protocol {
        let server = |lineage: u32| Lineage {
            system_identifier: 7_577_000_000_000_000_001,
            // A promotion has another timeline, a copy of the files another fingerprint; one is enough.
            timeline: 1 + lineage % 2,
            database: 16384,
            fingerprint: format!("{}:1764460000000000/16390", 131 + lineage / 2),
            lsn: 0x1_0000_00A0,
        };
        let same = |a, b| differences(&server(a), &server(b)).is_empty();
        let same_server = (0..8).map(|a| (0..8).map(|b| same(a, b)).collect()).collect();
        Protocol { config, without, same_server }
    }

    pub(crate) fn without(&self, measure: Measure) -> bool {
        self.without.has(measure)
    }

    pub(crate) fn on_expiry(&self) -> ExpiryRule {
        if self.config.accepts_expired { ExpiryRule::AcceptUntilSuperseded } else { ExpiryRule::Reject }
    }

    pub(crate) fn policy(&self) -> Policy {
        let ttl = span(self.config.ttl);
        Policy { ttl, max_ttl: ttl, on_expiry: self.on_expiry(), min_hold: 0, cool_down: 0 }
    }

    /// The lease's row, as the rules know it.
    pub(crate) fn record(&self, here: &Server) -> Option<Record> {
        let unclean_start = here.unclean_start.filter(|_| !self.without(Measure::KeepBack));
        here.db.row.and_then(|row| row.record(self.config.ttl, unclean_start))
    }

    /// Coordinator time of the lease.
    pub(crate) fn lease_time(&self, s: &State, here: &Server) -> Instant {
        coordinator_time(at(s.clock), self.record(here).map(|record| record.last_recorded()))
    }

    /// The coordinator's state, as `store::epoch` finds it.
    pub(crate) fn coordinator(&self, here: &Server) -> Coordinator {
        let db = &here.db;
        let open = if db.closing { Coordinator::Closed } else { Coordinator::Open(i64::from(db.epoch)) };
        let closing_here = db.closing && db.closing_on == here.lineage;
        let same = self.same_server[db.lineage as usize][here.lineage as usize];
        if closing_here || same || self.without(Measure::Lineage) { open } else { Coordinator::LineageChanged }
    }

    /// The same, as a transaction remembers it.
    pub(crate) fn admits(&self, here: &Server) -> Admits {
        match self.coordinator(here) {
            Coordinator::Open(epoch) => Admits::Epoch(epoch as u8),
            Coordinator::LineageChanged => Admits::LineageChanged,
            Coordinator::Closed => Admits::Closed,
        }
    }

    /// The client's transaction is rolled back: it holds nothing any more.
    pub(crate) fn abort(&self, s: &mut State, client: u8) -> Option<()> {
        s.client_mut(client)?.op = Op::Idle;
        Some(())
    }

    fn apply(&self, s: &mut State, action: Action) -> Option<()> {
        match action {
            Action::Begin(client, how) => self.begin(s, client, how),
            Action::Step(client) => {
                self.step(s, client)?;
                while !self.config.every_pause && pauses_in_vain(&s.client(client)?.op) {
                    self.step(s, client)?;
                }
                Some(())
            }
            Action::LoseAnswer(client) => self.commit_change(s, client, false),
            // Committed is committed.
            Action::Abort(client) => match s.client(client)?.op {
                Op::Idle => None,
                _ => self.abort(s, client),
            },
            Action::RollBackTo(client) => self.roll_back_to(s, client),
            Action::ReleaseToo(client) => self.release_too(s, client),
            Action::Prepare(client) => self.prepare(s, client),
            Action::Acquire(client, in_block) => self.ask(s, client, in_block),
            Action::AcquireAgain(client) => self.ask_again(s, client),
            Action::Renew(client) => self.change(s, client, false),
            Action::Release(client) => self.change(s, client, true),
            Action::Switch(client) => self.switch(s, client),
            Action::Revoke(server) => self.revoke(s, server, false),
            Action::Announce(server) => self.revoke(s, server, true),
            Action::BeginTransition(server) => self.begin_transition(s, server),
            Action::OpenEpoch(server) => self.open_epoch(s, server),
            Action::NextInstallation(server) => self.next_installation(s, server),
            Action::AdvanceEpoch(server) => self.advance_epoch(s, server),
            Action::Tick => self.forward(s, 1),
            Action::JumpForward => self.forward(s, 2),
            Action::JumpBack => self.back(s, 2),
            Action::Flush(server) => self.flush(s, server),
            Action::Crash(server) => self.crash(s, server),
            Action::BackUp => self.back_up(s),
            Action::Copy(kind) => self.copy(s, kind),
        }
    }

    fn step(&self, s: &mut State, client: u8) -> Option<()> {
        match s.client(client)?.op {
            Op::Idle => None,
            Op::Writing(_) => self.write_step(s, client),
            Op::Taking(_) => self.take_step(s, client),
            Op::Changing(_) => self.commit_change(s, client, true),
        }
    }

    /// Where nothing can be lost any more, it does not matter what is on disk.
    fn simplify(&self, s: &mut State) {
        let can_be_lost = s.left.crashes > 0 || s.left.copies > 0;
        for here in s.servers.iter_mut().flatten().filter(|_| !can_be_lost) {
            here.disk = here.db;
        }
    }

    fn client_actions(&self, client: u8, what: &Client, actions: &mut Vec<Action>) {
        let config = &self.config;
        let has_token = what.token != Tok::NONE;
        match what.op {
            Op::Idle => {
                if has_token || config.guesses {
                    actions.extend(How::all(config, has_token).map(|how| Action::Begin(client, how)));
                }
                actions.extend([Action::Acquire(client, false), Action::AcquireAgain(client)]);
                let more = [
                    (config.in_block, Action::Acquire(client, true)),
                    (config.renew && has_token, Action::Renew(client)),
                    (config.release && has_token, Action::Release(client)),
                    (config.copies > 0, Action::Switch(client)),
                ];
                actions.extend(more.into_iter().filter_map(|(may, action)| may.then_some(action)));
            }
            Op::Writing(w) => {
                let more = [
                    (w.savepoint, Action::RollBackTo(client)),
                    (config.release && w.stage == Stage::Written, Action::ReleaseToo(client)),
                    (config.two_phase && w.stage == Stage::Ready, Action::Prepare(client)),
                ];
                actions.extend(more.into_iter().filter_map(|(may, action)| may.then_some(action)));
                actions.extend([Action::Step(client), Action::Abort(client)]);
            }
            Op::Taking(_) => actions.extend([Action::Step(client), Action::Abort(client)]),
            Op::Changing(c) => {
                actions.extend([Action::Step(client), Action::Abort(client)]);
                actions.extend((!c.release).then_some(Action::LoseAnswer(client)));
            }
        }
    }

    fn server_actions(&self, s: &State, server: u8, here: &Server, actions: &mut Vec<Action>) {
        if self.config.revoke {
            actions.extend([Action::Revoke(server), Action::Announce(server)]);
        }
        if s.left.epochs > 0 {
            if self.config.transition != Transition::StepByStep {
                actions.push(Action::AdvanceEpoch(server));
            }
            if self.config.transition != Transition::AtOnce {
                actions.extend([Action::BeginTransition(server), Action::OpenEpoch(server)]);
            }
        }
        if here.db.blocked.is_some() {
            actions.push(Action::NextInstallation(server));
        }
        if here.db != here.disk {
            actions.push(Action::Flush(server));
        }
        if s.left.crashes > 0 {
            actions.push(Action::Crash(server));
        }
    }
}

/// Whether it has just locked something, and done nothing under the lock.
fn pauses_in_vain(op: &Op) -> bool {
    match op {
        Op::Writing(w) => w.stage == Stage::Locked,
        Op::Taking(t) => matches!(t.step, Step::Locked | Step::Decided),
        Op::Idle | Op::Changing(_) => false,
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let Config { clients, draws, crashes, epochs, copies, .. } = self.config;
        let epoch = next_epoch(at(1), None, None, false).expect("the first epoch") as u8;
        let (row, blocked) = (None, None);
        let db = Db { epoch, closing: false, lineage: 0, closing_on: 0, blocked, row, fence: Tok::NONE, seq: 0 };
        let sealed = Tok::new(epoch, 0);
        let server = Server { lineage: 0, db, disk: db, unclean_start: None, settled: true, sealed };
        let client = Client { server: 0, token: Tok::NONE, trust: 0, op: Op::Idle };
        vec![State {
            clock: 1,
            servers: [Some(server), None],
            clients: std::array::from_fn(|number| (number < clients).then_some(client)),
            backup: None,
            left: Left { draws, crashes, epochs, copies },
            started: 0,
            issued: [Tok::NONE; ISSUED],
            violated: 0,
        }]
    }

    fn actions(&self, s: &State, actions: &mut Vec<Action>) {
        if s.violated != 0 {
            return;
        }
        for (number, client) in s.clients.iter().enumerate() {
            if let Some(client) = client {
                self.client_actions(number as u8, client, actions);
            }
        }
        for (number, server) in s.servers.iter().enumerate() {
            if let Some(server) = server {
                self.server_actions(s, number as u8, server, actions);
            }
        }
        actions.push(Action::Tick);
        if self.config.jumps {
            actions.extend([Action::JumpForward, Action::JumpBack]);
        }
        if s.left.copies > 0 {
            actions.push(Action::BackUp);
            actions.extend(self.config.kinds.iter().map(|kind| Action::Copy(*kind)));
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = *last;
        self.apply(&mut next, action)?;
        self.simplify(&mut next);
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Protocol>> {
        properties::all(&self.config)
    }
}
