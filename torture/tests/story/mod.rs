//! Histories made up: what clients would have recorded, and what the tables would say.
#![allow(dead_code, reason = "each test program uses some of it")]

use fencing_torture::check::{Fault, check};
use fencing_torture::history::{Event, Kind, State, Status};
use fencing_torture::last::{Counter, Last, Term, Written};
use fencing_torture::plan::{LEASES, Lease, TTL};

/// A lease whose holder may not write after its end.
pub const STRICT: Lease = Lease(10);
/// Another, stamped.
pub const STAMPED: Lease = Lease(200);
/// One whose last holder may.
pub const LENIENT: Lease = Lease(0);

const EPOCH: i64 = 5;
const MS: u64 = 1_000_000;

/// Some clients and a server, told one step after the other.
#[derive(Clone)]
pub struct Story {
    /// What each client has recorded.
    pub histories: Vec<Vec<Event>>,
    /// What the tables say.
    pub last: Last,
    now: u64,
    epoch: i64,
    seq: i64,
    ops: u64,
}

impl Story {
    /// So many clients, and one more that does things to the server.
    pub fn new(clients: usize) -> Story {
        let zero = vec![Counter { n: 0, v: 0 }; LEASES.into()];
        let last = Last { before: zero.clone(), counters: zero, ..Last::default() };
        let mut story =
            Story { histories: vec![Vec::new(); clients + 1], last, now: 1000 * MS, epoch: EPOCH, seq: 100, ops: 0 };
        let clock = story.line(clients, Kind::Clock, Lease(0), 0, 0, 0);
        story.histories[clients].push(clock);
        story
    }

    /// Time passes.
    pub fn pass(&mut self, ms: u64) {
        self.now += ms * MS;
    }

    /// More than a term lasts.
    pub fn expire(&mut self) {
        self.pass(TTL + 50);
    }

    /// Now, in us of the wall clock.
    pub fn wall(&self) -> i64 {
        (self.now / 1000) as i64
    }

    fn line(&mut self, client: usize, kind: Kind, lease: Lease, token: i64, a: i64, b: i64) -> Event {
        self.ops += 1;
        self.now += MS / 10;
        Event {
            at: self.now,
            op: (client as u64) << 48 | self.ops,
            kind,
            status: Status::Lost,
            lease: lease.0,
            token,
            a,
            b,
        }
    }

    /// Something is begun; its operation.
    pub fn begin(&mut self, client: usize, kind: Kind, lease: Lease, token: i64, a: i64) -> u64 {
        let event = self.line(client, kind, lease, token, a, 0);
        self.histories[client].push(event);
        event.op
    }

    /// And answered.
    pub fn answer(&mut self, client: usize, op: u64, status: Status, token: i64, a: i64, b: i64) {
        let event = Event { op, status, ..self.line(client, Kind::Answer, Lease(0), token, a, b) };
        self.histories[client].push(event);
    }

    fn call(&mut self, client: usize, kind: Kind, lease: Lease, token: i64, a: i64, status: Status) {
        let op = self.begin(client, kind, lease, token, a);
        self.answer(client, op, status, 0, 0, 0);
    }

    /// The next token.
    pub fn token(&mut self) -> i64 {
        self.seq += 1;
        self.epoch << 39 | self.seq
    }

    /// A grant, whose token is as it should be.
    pub fn grant(&mut self, client: usize, lease: Lease) -> i64 {
        let token = self.token();
        self.grant_of(client, lease, token);
        token
    }

    /// A grant of any token.
    pub fn grant_of(&mut self, client: usize, lease: Lease, token: i64) {
        let op = self.begin(client, Kind::Acquire, lease, 0, 0);
        let at = self.wall();
        self.answer(client, op, Status::Granted, token, at, at + TTL as i64 * 1000);
        self.last.terms.push(Term { lease, token, acquired_at: at });
    }

    /// A grant that is bound to the client's session.
    pub fn grant_bound(&mut self, client: usize, lease: Lease) -> i64 {
        let token = self.grant(client, lease);
        let history = &mut self.histories[client];
        let call = history.len() - 2;
        history[call].b = 1;
        token
    }

    /// A client's session ends.
    pub fn end(&mut self, client: usize) {
        self.begin(client, Kind::End, Lease(0), 0, 0);
    }

    /// Leases that have been over for a while are removed, which is answered later.
    pub fn purge(&mut self) -> u64 {
        let client = self.histories.len() - 1;
        self.begin(client, Kind::Purge, Lease(0), 0, 0)
    }

    /// The row is written, whatever the guard should say.
    pub fn row(&mut self, lease: Lease, token: i64, v: i64, op: u64) {
        let counter = &mut self.last.counters[usize::from(lease.0)];
        *counter = Counter { n: counter.n + 1, v };
        let stamped = (lease == STAMPED).then_some(token);
        self.last.written.push(Written { lease, n: counter.n, v, token, stamped, op });
    }

    /// The value that comes next.
    pub fn next_value(&self, lease: Lease) -> i64 {
        self.last.counters[usize::from(lease.0)].v + 1
    }

    /// A write that is accepted.
    pub fn write(&mut self, client: usize, lease: Lease, token: i64) -> u64 {
        let v = self.next_value(lease);
        let op = self.begin(client, Kind::Alone, lease, token, v);
        self.row(lease, token, v, op);
        self.answer(client, op, Status::Done, 0, 0, 0);
        op
    }

    /// A write that is refused.
    pub fn refused(&mut self, client: usize, lease: Lease, token: i64, state: &str) -> u64 {
        let op = self.begin(client, Kind::Alone, lease, token, 1);
        let number = state.bytes().fold(0, |n, byte| n << 8 | i64::from(byte));
        assert_eq!(State::of(number).text(), state);
        self.answer(client, op, Status::Refused, 0, number, 0);
        op
    }

    /// `renew`.
    pub fn renew(&mut self, client: usize, lease: Lease, token: i64, status: Status) {
        let op = self.begin(client, Kind::Renew, lease, token, 0);
        let until = self.wall() + TTL as i64 * 1000;
        self.answer(client, op, status, 0, 0, until);
    }

    /// `release`.
    pub fn release(&mut self, client: usize, lease: Lease, token: i64) {
        self.call(client, Kind::Release, lease, token, 0, Status::Released);
    }

    /// `revoke`, with a grace.
    pub fn revoke(&mut self, client: usize, lease: Lease, grace_ms: i64) {
        let status = if grace_ms > 0 { Status::Revoking } else { Status::Revoked };
        self.call(client, Kind::Revoke, lease, 0, grace_ms * 1000, status);
    }

    /// The next epoch.
    pub fn advance(&mut self) {
        let client = self.histories.len() - 1;
        let op = self.begin(client, Kind::Advance, Lease(0), 0, 0);
        self.epoch += 1;
        self.answer(client, op, Status::Done, 0, self.epoch, 0);
    }

    /// A crash of the server.
    pub fn crash(&mut self) {
        let client = self.histories.len() - 1;
        self.call(client, Kind::Crash, Lease(0), 0, 0, Status::Done);
    }

    /// What the checker finds, each kind once.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults: Vec<_> = check(&self.histories, &self.last).into_iter().map(|v| v.fault).collect();
        faults.sort();
        faults.dedup();
        faults
    }

    /// Nothing is wrong.
    pub fn is_good(&self) {
        let found = check(&self.histories, &self.last);
        assert!(found.is_empty(), "{found:#?}");
    }
}
