//! A client: asks for leases, writes under them, renews them, gives them back or forgets them, and records
//! everything. The clients of one process share the terms that it holds; a term is in one client's hands at
//! a time.

use crate::dice::Dice;
use crate::history::{Event, Kind, Recorder, State, Status};
use crate::plan::{self, Form, LEASES, Lease};
use crate::session::{Failure, Session};
use postgres::Row;
use postgres::types::ToSql;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Leases that everybody wants.
const HOT: [(u16, u16); 3] = [(0, 8), (8, 10), (158, 10)];
/// Terms that are over and may be tried again.
const FORMER: usize = 16;

/// A term that a process believes to hold.
#[derive(Debug, Clone, Copy)]
pub struct Term {
    /// Its lease.
    pub lease: Lease,
    /// Its token.
    pub token: i64,
    /// The row's value as its holder last wrote it, and as of which connections.
    pub v: Option<(u64, i64)>,
    /// Writes until it is given back.
    pub left: u64,
}

/// What the clients of a process share.
pub struct Shared {
    /// `fencing`, or what is measured beside it.
    pub schema: &'static str,
    /// Whether the tables are guarded.
    pub guarded: bool,
    /// Terms held.
    pub held: Mutex<Vec<Term>>,
    /// Terms that are over.
    pub former: Mutex<Vec<Term>>,
    /// Whether to stop.
    pub stop: AtomicBool,
    /// Operations so far.
    pub operations: AtomicU64,
    /// Connections lost so far: what was known before may be wrong now.
    pub connections: AtomicU64,
}

/// One client.
pub struct Client<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) dice: Dice,
    pub(crate) session: Session,
    /// Another connection, to acquire while a transaction is open.
    other: Session,
    recorder: Recorder,
    /// A request without an answer yet: its lease, its number.
    request: Option<(Lease, u64)>,
}

impl<'a> Client<'a> {
    /// A client with a history of its own.
    pub fn new(shared: &'a Shared, dice: Dice, session: Session, other: Session, recorder: Recorder) -> Client<'a> {
        Client { shared, dice, session, other, recorder, request: None }
    }

    /// Goes on until it is told to stop.
    pub fn work(&mut self) {
        while !self.shared.stop.load(Relaxed) {
            if !self.session.is_open() {
                self.note_end();
                self.shared.connections.fetch_add(1, Relaxed);
                if !self.session.open(&self.shared.stop) {
                    break;
                }
            }
            self.step();
        }
        self.leave();
    }

    /// Ends its session.
    pub(crate) fn leave(&mut self) {
        self.session.close();
        self.note_end();
    }

    fn note_end(&mut self) {
        let op = self.recorder.number();
        self.recorder.write(&Event::now(op, Kind::End));
    }

    fn step(&mut self) {
        let many = self.shared.held.lock().expect("the pool").len() >= 4;
        match self.dice.below(1000) {
            0..=2 => self.think(),
            3..=6 => self.revoke(),
            7..=8 => self.evict(),
            9 => self.drop_lease(),
            10..=19 => self.write_late(),
            20..=22 => self.write_wrongly(),
            23 => self.session.close(),
            24..=25 => self.with_old_snapshot(),
            26..=99 if many => self.renew(),
            100..=109 if many => self.renew_all(),
            110..=259 => self.transaction(),
            260..=299 if !many => self.acquire(),
            300..=340 if self.shared.held.lock().expect("the pool").len() < 3 => self.acquire(),
            _ => self.write(),
        }
    }

    /// Begins an operation: says so before anything is sent.
    pub(crate) fn begin(&mut self, event: impl FnOnce(u64) -> Event) -> u64 {
        let op = self.recorder.number();
        self.recorder.write(&event(op));
        op
    }

    pub(crate) fn begin_kind(&mut self, kind: Kind, lease: Lease, token: i64, a: i64, b: i64) -> u64 {
        self.begin(|op| Event::now(op, kind).of(lease, token).with(a, b))
    }

    pub(crate) fn note(&mut self, event: &Event) {
        self.recorder.write(event);
    }

    /// Records a failure.
    pub(crate) fn failed(&mut self, op: u64, failure: Failure) {
        match failure {
            Failure::Refused(state) => self.recorder.write(&Event::refused(op, state)),
            Failure::Lost => self.recorder.write(&Event::answer(op, Status::Lost)),
        }
    }

    pub(crate) fn count(&self, n: u64) {
        self.shared.operations.fetch_add(n, Relaxed);
    }

    /// A pause: mostly short, sometimes longer than a term.
    pub(crate) fn think(&mut self) {
        let ms = if self.dice.permille(200) { 2 * plan::TTL } else { 40 };
        sleep(Duration::from_millis(self.dice.below(ms)));
    }

    pub(crate) fn any_lease(&mut self) -> Lease {
        if self.dice.permille(600) {
            let (first, number) = HOT[self.dice.index(HOT.len())];
            return Lease(first + self.dice.below(number.into()) as u16);
        }
        Lease(self.dice.below(LEASES.into()) as u16)
    }

    /// Takes a term into its hands.
    pub(crate) fn take(&mut self) -> Option<Term> {
        let mut held = self.shared.held.lock().expect("the pool");
        let len = held.len();
        (len > 0).then(|| held.swap_remove(self.dice.index(len)))
    }

    /// Lays it back for others.
    pub(crate) fn put(&mut self, term: Term) {
        self.shared.held.lock().expect("the pool").push(term);
    }

    /// It is over, as far as this process knows.
    pub(crate) fn dismiss(&mut self, term: Term) {
        let mut former = self.shared.former.lock().expect("the pool");
        if former.len() < FORMER {
            former.push(term);
        } else {
            let n = self.dice.index(FORMER);
            former[n] = term;
        }
    }

    /// Acquires a lease by the other connection, without conditions.
    pub(crate) fn acquire_beside(&mut self, lease: Lease) -> Option<Term> {
        if !self.other.is_open() && !self.other.open(&self.shared.stop) {
            return None;
        }
        let op = self.begin_kind(Kind::Acquire, lease, 0, 0, 0);
        self.count(1);
        let sql = self.acquisition();
        let values: [&(dyn ToSql + Sync); 5] = [&lease.namespace(), &lease.key(), &0i64, &None::<String>, &false];
        let result = self.other.rows(&sql, &values);
        self.acquired(op, lease, result)
    }

    fn acquisition(&self) -> String {
        format!(
            "SELECT status, token, acquired_at, expires_at FROM {}.acquire($1, $2, 'torture', \
             wait => $3::bigint * '1 ms'::interval, request_id => $4::text::uuid, bind_session => $5)",
            self.shared.schema
        )
    }

    /// Records the answer.
    fn acquired(&mut self, op: u64, lease: Lease, result: Result<Vec<Row>, Failure>) -> Option<Term> {
        let rows = match result {
            Ok(rows) => rows,
            Err(failure) => {
                self.failed(op, failure);
                return None;
            }
        };
        let status = Status::said(rows[0].get(0));
        let mut event = Event::answer(op, status);
        if status == Status::Granted {
            let (from, to): (SystemTime, SystemTime) = (rows[0].get(2), rows[0].get(3));
            event = event.of(lease, rows[0].get(1)).with(micros(from), micros(to));
        }
        self.note(&event);
        let left = 3 + self.dice.below(40);
        (status == Status::Granted).then_some(Term { lease, token: event.token, v: None, left })
    }

    fn acquire(&mut self) {
        let repeated = self.request.take();
        let (lease, request) = repeated.unwrap_or_else(|| {
            let lease = self.any_lease();
            (lease, if self.dice.permille(150) { self.recorder.number() } else { 0 })
        });
        let bound = request == 0 && self.dice.permille(60);
        let wait = if self.dice.permille(80) { self.dice.below(60) as i64 } else { 0 };
        let id = (request > 0).then(|| format!("{request:032x}"));
        let op = self.begin_kind(Kind::Acquire, lease, 0, request as i64, bound.into());
        self.count(1);
        let sql = self.acquisition();
        let result = self.session.rows(&sql, &[&lease.namespace(), &lease.key(), &wait, &id, &bound]);
        let lost = result.as_ref().is_err_and(|failure| *failure == Failure::Lost);
        if let Some(term) = self.acquired(op, lease, result) {
            self.put(term);
        }
        self.request = (lost && request > 0).then_some((lease, request));
    }

    /// A write that is a transaction by itself. Its term is given back or forgotten after some.
    fn write(&mut self) {
        let Some(mut term) = self.take() else { return self.acquire() };
        if !self.alone(&mut term) {
            return;
        }
        term.left = term.left.saturating_sub(1);
        if term.left > 0 {
            return self.put(term);
        }
        if self.dice.permille(600) {
            self.release(term);
        } else {
            self.dismiss(term);
        }
    }

    /// Writes once; `false` if the term is not to be used any more, and is put away.
    fn alone(&mut self, term: &mut Term) -> bool {
        let Some(v) = self.value(term) else {
            self.put(*term);
            return false;
        };
        let v = v + 1;
        let op = self.begin_kind(Kind::Alone, term.lease, term.token, v, 0);
        self.count(1);
        match self.write_alone(*term, v, op) {
            Ok(()) => {
                self.note(&Event::answer(op, Status::Done));
                self.keep(term, v);
                true
            }
            Err(failure) => {
                self.failed(op, failure);
                term.v = None;
                self.after(*term, failure);
                false
            }
        }
    }

    /// What becomes of a term after a failure.
    pub(crate) fn after(&mut self, term: Term, failure: Failure) {
        match failure {
            Failure::Refused(state) if state.text().starts_with("LF") => self.dismiss(term),
            _ => self.put(term),
        }
    }

    pub(crate) fn keep(&self, term: &mut Term, v: i64) {
        term.v = Some((self.shared.connections.load(Relaxed), v));
    }

    fn write_alone(&mut self, term: Term, v: i64, op: u64) -> Result<(), Failure> {
        let check = format!("SELECT {}.present($1)", self.shared.schema);
        let inline = term.lease.form() == Form::Inline;
        if !inline {
            let write = plan::write_text(term.lease, self.shared.guarded, v, term.token, op);
            let check = check.replace("$1", &term.token.to_string());
            let result = self.session.run(&format!("BEGIN; {check}; {write}; COMMIT"));
            if let Err(Failure::Refused(_)) = result {
                self.session.run("ROLLBACK")?;
            }
            return result;
        }
        if !self.shared.guarded {
            self.session.rows(&check, &[&term.token])?;
        }
        self.statement(term, v, op)
    }

    /// The statement that writes.
    pub(crate) fn statement(&mut self, term: Term, v: i64, op: u64) -> Result<(), Failure> {
        let sql = plan::write(term.lease, self.shared.guarded);
        let rows = self.session.execute(&sql, &[&i32::from(term.lease.0), &v, &term.token, &(op as i64)])?;
        assert_eq!(rows, 1, "a write without a row: {term:?}");
        Ok(())
    }

    /// The row's value: as the holder knows it, or as it is read, unless the connection is lost.
    pub(crate) fn value(&mut self, term: &mut Term) -> Option<i64> {
        let connections = self.shared.connections.load(Relaxed);
        match term.v {
            Some((known, v)) if known == connections => Some(v),
            _ => match self.session.rows(&term.lease.read(), &[&i32::from(term.lease.0)]) {
                Ok(rows) => Some(rows[0].get(0)),
                Err(_) => None,
            },
        }
    }

    /// Under a token that is over, as a holder who was away too long.
    fn write_late(&mut self) {
        let term = {
            let mut former = self.shared.former.lock().expect("the pool");
            let len = former.len();
            if len == 0 {
                return;
            }
            former.swap_remove(self.dice.index(len))
        };
        let mut term = Term { v: None, ..term };
        if self.alone(&mut term) {
            self.dismiss(term);
        }
    }

    /// Under another lease's token, or none.
    fn write_wrongly(&mut self) {
        if !self.shared.guarded {
            return;
        }
        let Some(term) = self.take() else { return };
        let lease = self.any_lease();
        if lease != term.lease {
            let wrong = match self.dice.below(2) {
                0 => Term { lease, token: 0, v: None, left: 0 },
                _ => Term { lease, v: None, ..term },
            };
            let op = self.begin_kind(Kind::Alone, lease, wrong.token, -1, 0);
            self.count(1);
            let result = if wrong.token == 0 {
                let sql = plan::write(lease, false);
                self.session.execute(&sql, &[&i32::from(lease.0), &-1i64, &0i64, &(op as i64)]).map(drop)
            } else {
                self.write_alone(wrong, -1, op)
            };
            match result {
                Ok(()) => self.note(&Event::answer(op, Status::Done)),
                Err(failure) => self.failed(op, failure),
            }
        }
        self.put(term);
    }

    fn renew(&mut self) {
        let Some(term) = self.take() else { return };
        let op = self.begin_kind(Kind::Renew, term.lease, term.token, 0, 0);
        self.count(1);
        let sql = format!("SELECT status, expires_at FROM {}.renew($1)", self.shared.schema);
        match self.session.rows(&sql, &[&term.token]) {
            Ok(rows) => self.renewed(op, term, rows[0].get(0), rows[0].get(1)),
            Err(failure) => {
                self.failed(op, failure);
                self.put(term);
            }
        }
    }

    fn renewed(&mut self, op: u64, term: Term, status: &str, until: Option<SystemTime>) {
        let status = Status::said(status);
        self.note(&Event::answer(op, status).with(0, until.map_or(0, micros)));
        match status {
            Status::Renewed | Status::Indeterminate => self.put(term),
            _ => self.dismiss(term),
        }
    }

    /// Everything that it finds in the pool, in one statement.
    fn renew_all(&mut self) {
        let terms = std::mem::take(&mut *self.shared.held.lock().expect("the pool"));
        let ops: Vec<_> = terms.iter().map(|term| self.begin_kind(Kind::Renew, term.lease, term.token, 0, 0)).collect();
        self.count(1);
        let tokens: Vec<_> = terms.iter().map(|term| term.token).collect();
        let sql = format!("SELECT status, expires_at FROM {}.renew_all($1)", self.shared.schema);
        match self.session.rows(&sql, &[&tokens]) {
            Ok(rows) => {
                for ((op, term), row) in ops.into_iter().zip(terms).zip(rows) {
                    self.renewed(op, term, row.get(0), row.get(1));
                }
            }
            Err(failure) => {
                ops.iter().for_each(|op| self.failed(*op, failure));
                terms.into_iter().for_each(|term| self.put(term));
            }
        }
    }

    /// Gives a term back.
    fn release(&mut self, term: Term) {
        let op = self.begin_kind(Kind::Release, term.lease, term.token, 0, 0);
        self.count(1);
        match self.session.rows(&format!("SELECT {}.release($1)", self.shared.schema), &[&term.token]) {
            Ok(rows) => self.note(&Event::answer(op, Status::said(rows[0].get(0)))),
            Err(failure) => self.failed(op, failure),
        }
        self.dismiss(term);
    }

    /// Takes away what somebody holds.
    fn revoke(&mut self) {
        let lease = self.any_lease();
        let grace = if self.dice.permille(500) { 0 } else { 1 + self.dice.below(plan::TTL) as i64 };
        let op = self.begin_kind(Kind::Revoke, lease, 0, grace * 1000, 0);
        self.count(1);
        let sql =
            format!("SELECT {}.revoke($1, $2, 'torture', grace => $3::bigint * '1 ms'::interval)", self.shared.schema);
        match self.session.rows(&sql, &[&lease.namespace(), &lease.key(), &grace]) {
            Ok(rows) => self.note(&Event::answer(op, Status::said(rows[0].get(0)))),
            Err(failure) => self.failed(op, failure),
        }
    }

    /// Removes a lease, held or not; its order stays.
    fn drop_lease(&mut self) {
        let lease = self.any_lease();
        let op = self.begin_kind(Kind::Drop, lease, 0, 0, 0);
        self.count(1);
        let sql = format!("SELECT {}.drop_lease($1, $2)", self.shared.schema);
        match self.session.rows(&sql, &[&lease.namespace(), &lease.key()]) {
            Ok(rows) => self.note(&Event::answer(op, Status::said(rows[0].get(0)))),
            Err(failure) => self.failed(op, failure),
        }
    }

    /// Ends what is in the way of a takeover.
    fn evict(&mut self) {
        let lease = self.any_lease();
        let op = self.begin_kind(Kind::Evict, lease, 0, 0, 0);
        self.count(1);
        let sql = format!("SELECT count(*) FROM {}.evict($1, $2)", self.shared.schema);
        match self.session.rows(&sql, &[&lease.namespace(), &lease.key()]) {
            Ok(rows) => self.note(&Event::answer(op, Status::Done).with(rows[0].get(0), 0)),
            Err(failure) => self.failed(op, failure),
        }
    }
}

/// Microseconds of the wall clock.
fn micros(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

/// An error of the fence, or of what stands for it.
pub fn is_fence(state: State) -> bool {
    state.text().starts_with("LF")
}
