//! A history put together: from lines to grants, transactions and what was said about terms. Pure.

use crate::history::{Event, Kind, State, Status};
use crate::plan::{Lease, THREADS, WORKERS};
use std::collections::HashMap;

/// No answer ever came.
pub const NEVER: u64 = u64::MAX;

/// When something was begun and answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Before it was sent.
    pub start: u64,
    /// After the answer had come, or [`NEVER`].
    pub end: u64,
}

/// How a call was answered: its status, and the SQLSTATE of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    /// The status.
    pub status: Status,
    /// The SQLSTATE, if it was refused.
    pub state: Option<State>,
}

/// An `acquire`.
#[derive(Debug, Clone, Copy)]
pub struct Acquire {
    /// The incarnation of a client that asked: an index of [`Facts::sessions`].
    pub client: usize,
    /// When.
    pub span: Span,
    /// For what.
    pub lease: Lease,
    /// The request's number, or 0.
    pub request: i64,
    /// Whether its term is bound to the session.
    pub bound: bool,
    /// The answer.
    pub said: Said,
    /// Its token, if it was granted.
    pub token: i64,
    /// In us of the wall clock.
    pub acquired_at: i64,
    /// The same.
    pub expires_at: i64,
}

/// `renew`, `release` or `revoke`.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// When; a release that is part of a transaction: when that was committed.
    pub span: Span,
    /// About what.
    pub lease: Lease,
    /// Of which token; 0 for `revoke`.
    pub token: i64,
    /// The answer.
    pub said: Said,
    /// Grace of `revoke`, in ns; what `renew` gave as expires_at, in us.
    pub value: i64,
    /// Whether its commit waited for its WAL.
    pub synchronous: bool,
    /// Whether it came to nothing: its transaction was rolled back.
    pub undone: bool,
    /// The transaction that it was part of.
    pub within: Option<usize>,
}

/// A write.
#[derive(Debug, Clone, Copy)]
pub struct Write {
    /// Its operation.
    pub op: u64,
    /// When.
    pub span: Span,
    /// To which row.
    pub lease: Lease,
    /// Under which token.
    pub token: i64,
    /// Which value.
    pub v: i64,
    /// How the statement was answered.
    pub said: Said,
    /// Whether a savepoint's rollback undid it.
    pub undone: bool,
}

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is committed, as its client was told.
    Committed,
    /// It is not.
    RolledBack,
    /// One of both.
    Unknown,
    /// It was prepared, and nobody finished it.
    Forgotten,
}

/// A transaction.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// Who.
    pub client: usize,
    /// When it began.
    pub start: u64,
    /// Its isolation: 0 is READ COMMITTED, 2 SERIALIZABLE.
    pub isolation: i64,
    /// What it wrote.
    pub writes: Vec<Write>,
    /// The commit, or COMMIT PREPARED.
    pub commit: Span,
    /// The last check of its terms: the commit, or the PREPARE.
    pub checked: Span,
    /// How that was answered.
    pub said: Said,
    /// What became of it.
    pub fate: Fate,
    /// Whether its commit waited for its WAL.
    pub synchronous: bool,
}

/// An end of the server.
#[derive(Debug, Clone, Copy)]
pub struct Crash {
    /// From before it began until connections were taken again.
    pub span: Span,
    /// Whether it was a clean stop.
    pub clean: bool,
}

/// An epoch's opening.
#[derive(Debug, Clone, Copy)]
pub struct Advance {
    /// When.
    pub span: Span,
    /// The answer.
    pub said: Said,
    /// The epoch.
    pub epoch: i64,
}

/// Everything.
#[derive(Debug, Default)]
pub struct Facts {
    /// All `acquire`s.
    pub acquires: Vec<Acquire>,
    /// All renewals.
    pub renewals: Vec<Call>,
    /// All releases.
    pub releases: Vec<Call>,
    /// All revocations, and what else takes a term away: `drop_lease`, and `purge_leases` where the holder of
    /// an expired term may still write.
    pub revocations: Vec<Call>,
    /// How many of these are drops.
    pub dropped: u64,
    /// All purges.
    pub purges: Vec<Span>,
    /// All evictions.
    pub evictions: Vec<Call>,
    /// All transactions.
    pub transactions: Vec<Transaction>,
    /// All crashes, in order.
    pub crashes: Vec<Crash>,
    /// All epochs, in order.
    pub advances: Vec<Advance>,
    /// Of each incarnation of a client, the ends of its sessions: from the last call on that was answered it
    /// may have been over, since an answer can wait long to be read.
    pub sessions: Vec<Vec<u64>>,
    /// Wall clock minus monotonic clock in us: least and greatest.
    pub clock: Option<(i64, i64)>,
}

impl Facts {
    /// Puts together what the incarnations recorded.
    pub fn of(histories: &[Vec<Event>]) -> Facts {
        let mut facts = Facts::default();
        let mut finishes = HashMap::new();
        let mut prepared = Vec::new();
        for history in histories {
            Reader::new(&mut facts, history).read(&mut finishes, &mut prepared);
        }
        for (gid, transaction, releases) in prepared {
            facts.finish(finishes.get(&(gid as i64)), transaction, &releases);
        }
        facts.crashes.sort_by_key(|crash| crash.span.start);
        facts.advances.sort_by_key(|advance| advance.span.start);
        facts
    }

    /// A prepared transaction is what somebody else made of it.
    fn finish(&mut self, finishes: Option<&Vec<(Span, bool, Said)>>, transaction: usize, releases: &[usize]) {
        let t = &mut self.transactions[transaction];
        let certain = t.said.status == Status::Done;
        let none = Vec::new();
        let finishes = finishes.unwrap_or(&none);
        let done = finishes.iter().find(|(_, _, said)| said.status == Status::Done);
        let lost = finishes.iter().find(|(_, commit, said)| *commit && said.status == Status::Lost);
        let undone = finishes.iter().any(|(_, commit, said)| !*commit && said.status == Status::Lost);
        t.synchronous = true;
        (t.fate, t.commit) = match (done, lost) {
            (Some((span, true, _)), _) => (Fate::Committed, *span),
            (Some((_, false, _)), _) => (Fate::RolledBack, t.commit),
            (None, Some((span, ..))) => (Fate::Unknown, Span { start: span.start, end: NEVER }),
            (None, None) if undone || !certain => (Fate::RolledBack, t.commit),
            (None, None) => (Fate::Forgotten, t.commit),
        };
        for release in releases {
            let call = &mut self.releases[*release];
            (call.undone, call.span) = (t.fate == Fate::RolledBack, t.commit);
        }
    }
}

/// Whether a client of that number commits without waiting.
pub fn is_asynchronous(op: u64) -> bool {
    let client = (op >> 48) as u16;
    client < WORKERS * THREADS && client % THREADS == THREADS - 1
}

/// Reads what one incarnation recorded.
struct Reader<'a> {
    facts: &'a mut Facts,
    history: &'a [Event],
    client: usize,
    answers: HashMap<u64, (usize, Event)>,
    open: Option<Open>,
    last_alive: u64,
}

/// A transaction that has begun.
struct Open {
    transaction: Transaction,
    releases: Vec<usize>,
}

type Finishes = HashMap<i64, Vec<(Span, bool, Said)>>;
type Prepared = Vec<(u64, usize, Vec<usize>)>;

impl<'a> Reader<'a> {
    fn new(facts: &'a mut Facts, history: &'a [Event]) -> Reader<'a> {
        let client = facts.sessions.len();
        facts.sessions.push(Vec::new());
        let answers = history.iter().enumerate().filter(|(_, e)| e.kind == Kind::Answer).map(|(n, e)| (e.op, (n, *e)));
        let answers = answers.collect();
        Reader { facts, history, client, answers, open: None, last_alive: 0 }
    }

    fn answer(&self, event: &Event) -> (Span, Said, Event) {
        let lost = Event { status: Status::Lost, at: NEVER, ..*event };
        let answer = self.answers.get(&event.op).map_or(lost, |(_, answer)| *answer);
        let end = if answer.status == Status::Lost { NEVER } else { answer.at };
        let state = (answer.status == Status::Refused).then(|| State::of(answer.a));
        (Span { start: event.at, end }, Said { status: answer.status, state }, answer)
    }

    fn call(&self, event: &Event, span: Span, said: Said, value: i64) -> Call {
        Call {
            span,
            lease: Lease(event.lease),
            token: event.token,
            said,
            value,
            synchronous: !is_asynchronous(event.op),
            undone: said.status == Status::Refused,
            within: None,
        }
    }

    fn read(&mut self, finishes: &mut Finishes, prepared: &mut Prepared) {
        for event in self.history {
            if event.kind == Kind::Answer {
                continue;
            }
            let (span, said, answer) = self.answer(event);
            // What is acquired beside an open transaction is another session's.
            if said.status != Status::Lost && !(event.kind == Kind::Acquire && self.open.is_some()) {
                self.last_alive = event.at;
            }
            match event.kind {
                Kind::Acquire => self.facts.acquires.push(Acquire {
                    client: self.client,
                    span,
                    lease: Lease(event.lease),
                    request: event.a,
                    bound: event.b != 0,
                    said,
                    token: answer.token,
                    acquired_at: answer.a,
                    expires_at: answer.b,
                }),
                Kind::Renew => {
                    let call = self.call(event, span, said, answer.b);
                    self.facts.renewals.push(call);
                }
                Kind::Release => self.release(event, span, said),
                Kind::Revoke => {
                    let call = self.call(event, span, said, event.a * 1000);
                    self.facts.revocations.push(call);
                }
                Kind::Drop => {
                    let call = self.call(event, span, said, 0);
                    self.facts.revocations.push(call);
                    self.facts.dropped += 1;
                }
                Kind::Purge => {
                    for lease in Lease::all().filter(|lease| lease.is_lenient()) {
                        let call = self.call(&Event { lease: lease.0, ..*event }, span, said, 0);
                        self.facts.revocations.push(call);
                    }
                    self.facts.purges.push(span);
                }
                Kind::Evict => {
                    let call = self.call(event, span, said, 0);
                    self.facts.evictions.push(call);
                }
                Kind::Alone => {
                    let write = written(event, span, said);
                    let mut t = self.transaction(event, 0);
                    (t.commit, t.checked, t.said, t.fate) = (span, span, said, fate(said.status));
                    t.writes.push(write);
                    self.facts.transactions.push(t);
                }
                Kind::Begin => {
                    self.never_committed();
                    let transaction = self.transaction(event, event.a);
                    self.open = Some(Open { transaction, releases: Vec::new() });
                }
                Kind::Write => {
                    let write = written(event, span, said);
                    self.open.iter_mut().for_each(|open| open.transaction.writes.push(write));
                }
                Kind::Undo if event.a != 0 && said.status != Status::Refused => {
                    let after = |w: &&mut Write| w.op > event.a as u64;
                    let open = self.open.iter_mut();
                    open.flat_map(|open| &mut open.transaction.writes).filter(after).for_each(|w| w.undone = true);
                }
                Kind::Undo => {}
                Kind::Commit | Kind::Rollback | Kind::Prepare => self.ended(event, span, said, prepared),
                Kind::Finish => finishes.entry(event.a).or_default().push((span, event.b != 0, said)),
                Kind::Advance => self.facts.advances.push(Advance { span, said, epoch: answer.a }),
                Kind::Crash => self.facts.crashes.push(Crash { span, clean: event.b != 0 }),
                Kind::End => {
                    self.never_committed();
                    self.facts.sessions[self.client].push(self.last_alive);
                }
                Kind::Clock => {
                    let (least, greatest) = self.facts.clock.unwrap_or((event.a, event.a));
                    self.facts.clock = Some((least.min(event.a), greatest.max(event.a)));
                }
                Kind::Answer => {}
            }
        }
        self.never_committed();
        self.facts.sessions[self.client].push(self.last_alive);
    }

    fn transaction(&self, event: &Event, isolation: i64) -> Transaction {
        let span = Span { start: event.at, end: NEVER };
        Transaction {
            client: self.client,
            start: event.at,
            isolation,
            writes: Vec::new(),
            commit: span,
            checked: span,
            said: Said { status: Status::Lost, state: None },
            fate: Fate::RolledBack,
            synchronous: !is_asynchronous(event.op),
        }
    }

    fn release(&mut self, event: &Event, span: Span, said: Said) {
        let mut call = self.call(event, span, said, 0);
        if let Some(open) = self.open.as_mut().filter(|_| event.a == 1) {
            open.releases.push(self.facts.releases.len());
            call.undone = true;
        }
        self.facts.releases.push(call);
    }

    /// A commit was not even asked for.
    fn never_committed(&mut self) {
        if let Some(open) = self.open.take() {
            self.keep(open);
        }
    }

    fn keep(&mut self, open: Open) -> usize {
        let n = self.facts.transactions.len();
        for release in &open.releases {
            self.facts.releases[*release].within = Some(n);
        }
        self.facts.transactions.push(open.transaction);
        n
    }

    fn ended(&mut self, event: &Event, span: Span, said: Said, prepared: &mut Prepared) {
        let Some(mut open) = self.open.take() else { return };
        let t = &mut open.transaction;
        (t.commit, t.checked, t.said) = (span, span, said);
        if event.kind == Kind::Prepare && said.status != Status::Refused {
            let releases = open.releases.clone();
            let n = self.keep(open);
            return prepared.push((event.op, n, releases));
        }
        t.fate = match event.kind {
            Kind::Commit => fate(said.status),
            _ => Fate::RolledBack,
        };
        let (fate, synchronous) = (t.fate, t.synchronous);
        for release in &open.releases {
            let call = &mut self.facts.releases[*release];
            (call.undone, call.span, call.synchronous) = (fate == Fate::RolledBack, span, synchronous);
        }
        self.keep(open);
    }
}

fn fate(status: Status) -> Fate {
    match status {
        Status::Done => Fate::Committed,
        Status::Refused => Fate::RolledBack,
        _ => Fate::Unknown,
    }
}

fn written(event: &Event, span: Span, said: Said) -> Write {
    Write { op: event.op, span, lease: Lease(event.lease), token: event.token, v: event.a, said, undone: false }
}
