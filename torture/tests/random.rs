//! The checker on random histories of a model of the server: nothing is found in what the model did, and what
//! is then changed in one place is.

use fencing_torture::check::{Fault, check};
use fencing_torture::dice::Dice;
use fencing_torture::history::{Event, Kind, Status};
use fencing_torture::last::{Counter, Last, Term, Written};
use fencing_torture::plan::{LEASES, Lease, TTL};
use proptest::prelude::*;
use std::collections::HashMap;

const MS: u64 = 1_000_000;
const CLIENTS: usize = 6;

#[derive(Clone, Default)]
struct Held {
    token: i64,
    until: u64,
    ended: bool,
}

/// Each operation takes effect at a moment between its call and its answer; these overlap.
struct Model {
    dice: Dice,
    histories: Vec<Vec<Event>>,
    last: Last,
    free_from: Vec<u64>,
    now: u64,
    epoch: i64,
    seq: i64,
    held: HashMap<u16, Held>,
    known: Vec<(Lease, i64)>,
    ops: u64,
}

impl Model {
    fn new(seed: u64) -> Model {
        let zero = vec![Counter { n: 0, v: 0 }; LEASES.into()];
        let clock =
            Event { at: 1, op: 7 << 48, kind: Kind::Clock, status: Status::Lost, lease: 0, token: 0, a: 0, b: 0 };
        let mut histories = vec![Vec::new(); CLIENTS + 1];
        histories[CLIENTS].push(clock);
        Model {
            dice: Dice::new(seed, 1),
            histories,
            last: Last { before: zero.clone(), counters: zero, ..Last::default() },
            free_from: vec![100 * MS; CLIENTS + 1],
            now: 200 * MS,
            epoch: 9,
            seq: 5,
            held: HashMap::new(),
            known: Vec::new(),
            ops: 0,
        }
    }

    /// Records a call with its effect now. `None` is an answer that never came.
    fn call(&mut self, client: usize, call: Event, answer: impl FnOnce(Event) -> Option<Event>) {
        let from = self.free_from[client];
        let start = from + 1 + self.dice.below(self.now - from - 1);
        let end = self.now + 1 + self.dice.below(3 * MS);
        self.histories[client].push(Event { at: start, ..call });
        let blank =
            Event { at: end, op: call.op, kind: Kind::Answer, status: Status::Lost, lease: 0, token: 0, a: 0, b: 0 };
        let lost = self.dice.permille(30);
        let answer = answer(blank).filter(|_| !lost);
        self.histories[client].push(answer.unwrap_or(blank));
        // Who lost an answer has lost its session.
        if lost {
            let op = self.op(client);
            let over = Event { at: end + 1, op, kind: Kind::End, ..blank };
            self.histories[client].push(over);
        }
        self.free_from[client] = end + 1;
    }

    fn op(&mut self, client: usize) -> u64 {
        self.ops += 1;
        (client as u64) << 48 | self.ops
    }

    fn event(&mut self, client: usize, kind: Kind, lease: Lease, token: i64, a: i64) -> Event {
        Event { at: 0, op: self.op(client), kind, status: Status::Lost, lease: lease.0, token, a, b: 0 }
    }

    fn is_current(&self, lease: Lease, token: i64) -> Result<(), &'static str> {
        let held = self.held.get(&lease.0).cloned().unwrap_or_default();
        if token >> 39 != self.epoch {
            Err("LF005")
        } else if token < held.token {
            Err("LF001")
        } else if held.ended || self.now >= held.until && !lease.is_lenient() {
            Err("LF003")
        } else {
            Ok(())
        }
    }

    fn step(&mut self) {
        self.now += self.dice.below(4 * MS) + MS / 10;
        if self.dice.permille(20) {
            self.now += self.dice.below(2 * TTL) * MS;
        }
        let free: Vec<_> = (0..CLIENTS).filter(|c| self.free_from[*c] + 2 < self.now).collect();
        if free.is_empty() {
            return;
        }
        let client = free[self.dice.index(free.len())];
        let lease = Lease([0, 3, 20, 21, 200][self.dice.index(5)]);
        match self.dice.below(100) {
            0..=19 => self.acquire(client, lease),
            20..=24 => self.revoke(client, lease),
            25 if self.free_from[CLIENTS] + 2 < self.now => self.advance(),
            n if !self.known.is_empty() => {
                let recent = self.known.len().min(8) as u64;
                let back = 1 + self.dice.below(recent) as usize;
                let (lease, token) = self.known[self.known.len() - back];
                match n {
                    0..=39 => self.renew(client, lease, token),
                    40..=49 => self.release(client, lease, token),
                    _ => self.write(client, lease, token),
                }
            }
            _ => {}
        }
    }

    fn acquire(&mut self, client: usize, lease: Lease) {
        let event = self.event(client, Kind::Acquire, lease, 0, 0);
        let held = self.held.get(&lease.0).cloned().unwrap_or_default();
        if held.token >> 39 == self.epoch && !held.ended && self.now < held.until {
            return self.call(client, event, |answer| Some(Event { status: Status::Held, ..answer }));
        }
        self.seq += 1 + self.dice.below(3) as i64;
        let (token, until) = (self.epoch << 39 | self.seq, self.now + TTL * MS);
        let at = (self.now / 1000) as i64;
        self.held.insert(lease.0, Held { token, until, ended: false });
        self.last.terms.push(Term { lease, token, acquired_at: at });
        self.known.push((lease, token));
        let (a, b) = (at, (until / 1000) as i64);
        self.call(client, event, |answer| Some(Event { status: Status::Granted, token, a, b, ..answer }));
    }

    fn revoke(&mut self, client: usize, lease: Lease) {
        let event = self.event(client, Kind::Revoke, lease, 0, 0);
        let held = self.held.entry(lease.0).or_default();
        let may_write = held.token >> 39 == self.epoch && !held.ended && (self.now < held.until || lease.is_lenient());
        held.ended |= may_write;
        let status = if may_write { Status::Revoked } else { Status::NotHeld };
        self.call(client, event, |answer| Some(Event { status, ..answer }));
    }

    fn advance(&mut self) {
        let event = self.event(CLIENTS, Kind::Advance, Lease(0), 0, 0);
        self.epoch += 1;
        let a = self.epoch;
        self.call(CLIENTS, event, |answer| Some(Event { status: Status::Done, a, ..answer }));
    }

    fn renew(&mut self, client: usize, lease: Lease, token: i64) {
        let event = self.event(client, Kind::Renew, lease, token, 0);
        let lenient_over = self.held.get(&lease.0).is_some_and(|held| self.now >= held.until);
        let status = match self.is_current(lease, token) {
            Err("LF005") => Status::EpochClosed,
            Err("LF001") => Status::Superseded,
            Ok(()) if !lenient_over => Status::Renewed,
            // Which of its ends it was is not for the model to say.
            _ => return,
        };
        let mut until = 0;
        if status == Status::Renewed {
            let held = self.held.entry(lease.0).or_default();
            held.until = self.now + TTL * MS;
            until = (held.until / 1000) as i64;
        }
        self.call(client, event, |answer| Some(Event { status, b: until, ..answer }));
    }

    fn release(&mut self, client: usize, lease: Lease, token: i64) {
        if self.is_current(lease, token).is_err() || self.now >= self.held[&lease.0].until {
            return;
        }
        let event = self.event(client, Kind::Release, lease, token, 0);
        self.held.entry(lease.0).or_default().ended = true;
        self.call(client, event, |answer| Some(Event { status: Status::Released, ..answer }));
    }

    fn write(&mut self, client: usize, lease: Lease, token: i64) {
        let v = self.last.counters[usize::from(lease.0)].v + 1;
        let event = self.event(client, Kind::Alone, lease, token, v);
        match self.is_current(lease, token) {
            Ok(()) => {
                let counter = &mut self.last.counters[usize::from(lease.0)];
                *counter = Counter { n: counter.n + 1, v };
                let stamped = (lease.0 >= 158).then_some(token);
                self.last.written.push(Written { lease, n: counter.n, v, token, stamped, op: event.op });
                self.call(client, event, |answer| Some(Event { status: Status::Done, ..answer }));
            }
            Err(state) => {
                let a = state.bytes().fold(0, |n, byte| n << 8 | i64::from(byte));
                self.call(client, event, |answer| Some(Event { status: Status::Refused, a, ..answer }));
            }
        }
    }
}

fn model(seed: u64, steps: usize) -> Model {
    let mut model = Model::new(seed);
    (0..steps).for_each(|_| model.step());
    model
}

fn faults(model: &Model) -> Vec<Fault> {
    check(&model.histories, &model.last).into_iter().map(|v| v.fault).collect()
}

/// The history's events of that answer, by place.
fn answers(model: &Model, status: Status) -> Vec<(usize, usize)> {
    let all = model.histories.iter().enumerate();
    let all = all.flat_map(|(h, events)| events.iter().enumerate().map(move |(n, e)| (h, n, e)));
    all.filter(|(_, _, e)| e.kind == Kind::Answer && e.status == status).map(|(h, n, _)| (h, n)).collect()
}

/// Of fixed seeds: how much one random history writes is chance.
#[test]
fn the_histories_are_not_empty() {
    let models: Vec<_> = (0..20).map(|seed| model(seed, 600)).collect();
    let written: usize = models.iter().map(|model| model.last.written.len()).sum();
    assert!(written > 20 * 50, "{written}");
    for status in [Status::Granted, Status::Held, Status::Renewed, Status::Released, Status::Revoked, Status::Refused] {
        assert!(models.iter().any(|model| !answers(model, status).is_empty()), "{status:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_found_in_what_a_server_may_do(seed: u64) {
        let model = model(seed, 600);
        let found = check(&model.histories, &model.last);
        prop_assert!(found.is_empty(), "{found:#?}");
    }

    #[test]
    fn a_row_that_is_gone_is_found(seed: u64, which: prop::sample::Index) {
        let mut model = model(seed, 300);
        let n = which.index(model.last.written.len());
        model.last.written.remove(n);
        prop_assert!(faults(&model).contains(&Fault::Miscounted));
    }

    #[test]
    fn a_refused_write_that_was_accepted_is_found(seed: u64, which: prop::sample::Index) {
        let mut model = model(seed, 400);
        // Those whose successor was known when they were begun: the others might as well have been accepted.
        let granted: Vec<_> = answers(&model, Status::Granted).into_iter().map(|(h, n)| {
            (model.histories[h][n - 1].lease, model.histories[h][n])
        }).collect();
        let late = |(h, n): &(usize, usize)| {
            let call = &model.histories[*h][n - 1];
            granted.iter().any(|(lease, g)| *lease == call.lease && g.token > call.token && g.at < call.at)
        };
        let refused: Vec<_> = answers(&model, Status::Refused).into_iter().filter(late).collect();
        prop_assume!(!refused.is_empty());
        let (h, n) = refused[which.index(refused.len())];
        let call = model.histories[h][n - 1];
        let lease = Lease(call.lease);
        model.histories[h][n].status = Status::Done;
        let op = call.op;
        let n = model.last.counters[usize::from(call.lease)].n + 1;
        model.last.counters[usize::from(call.lease)] = Counter { n, v: call.a };
        model.last.written.push(Written { lease, n, v: call.a, token: call.token, stamped: None, op });
        prop_assert!(!faults(&model).is_empty());
    }

    #[test]
    fn a_token_granted_again_is_found(seed: u64, which: prop::sample::Index) {
        let mut model = model(seed, 300);
        let granted = answers(&model, Status::Granted);
        prop_assume!(granted.len() > 2);
        let n = 1 + which.index(granted.len() - 1);
        let (first, second) = (granted[n - 1], granted[n]);
        model.histories[second.0][second.1].token = model.histories[first.0][first.1].token;
        prop_assert!(faults(&model).contains(&Fault::DuplicateTerm));
    }

    #[test]
    fn terms_in_another_order_are_found(seed: u64, which: prop::sample::Index) {
        let mut model = model(seed, 300);
        let mut granted = answers(&model, Status::Granted);
        granted.sort_by_key(|(h, n)| model.histories[*h][*n].at);
        prop_assume!(granted.len() > 4);
        // Far enough apart that they don't overlap.
        let n = which.index(granted.len() - 4);
        let (first, second) = (granted[n], granted[n + 4]);
        prop_assume!(model.histories[first.0][first.1].at < model.histories[second.0][second.1 - 1].at);
        let token = model.histories[first.0][first.1].token;
        model.histories[first.0][first.1].token = model.histories[second.0][second.1].token;
        model.histories[second.0][second.1].token = token;
        prop_assert!(!faults(&model).is_empty());
    }
}
