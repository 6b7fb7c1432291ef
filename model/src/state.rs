//! The state: servers with what they have committed and what of it is on disk, clients with what they
//! believe and what they are in the middle of, and the clock.
//!
//! Small enough that millions of it fit into memory: tokens take four bytes, times one.

use fencing_core::Token;
use fencing_core::epoch::{Blocked, MINUTE_ZERO};
use fencing_core::lease::{EndReason, NEVER, Record, kept_until};
use fencing_core::time::{Instant, MINUTE, Span};
use std::fmt;
use std::hash::{Hash, Hasher};

/// A token in four bytes: 5 bits of epoch, 27 of sequence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tok(u32);

impl Tok {
    /// No token; below every token.
    pub const NONE: Tok = Tok(0);

    /// Of an epoch and a sequence number; 0 is below every number that is drawn.
    pub fn new(epoch: u8, seq: u32) -> Tok {
        assert!(epoch < 32 && seq < 1 << 27, "the configuration is too large for the model's tokens");
        Tok(u32::from(epoch) << 27 | seq)
    }

    /// As the rules know it; `None` where it is none.
    pub fn token(self) -> Option<Token> {
        Token::new(i64::from(self.epoch()), i64::from(self.seq())).ok()
    }

    /// The model's form of it.
    pub fn of(token: Token) -> Tok {
        Tok::new(token.epoch() as u8, token.seq() as u32)
    }

    /// Its epoch.
    pub fn epoch(self) -> u8 {
        (self.0 >> 27) as u8
    }

    /// Its sequence number.
    pub fn seq(self) -> u32 {
        self.0 & ((1 << 27) - 1)
    }
}

impl fmt::Debug for Tok {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Tok::NONE => f.write_str("-"),
            // An unclean start moves the sequence on by 2^24.
            tok if tok.seq() >> 24 > 0 => {
                write!(f, "{}:{}+{}*2^24", tok.epoch(), tok.seq() & 0xFF_FFFF, tok.seq() >> 24)
            }
            tok => write!(f, "{}:{}", tok.epoch(), tok.seq()),
        }
    }
}

/// A moment that doesn't come.
pub const NO_TICK: u8 = u8::MAX;

/// A tick of the model's clock is a minute, which epochs are numbered by.
pub fn at(tick: u8) -> Instant {
    if tick == NO_TICK { NEVER } else { MINUTE_ZERO + span(tick) }
}

/// So many ticks.
pub fn span(ticks: u8) -> Span {
    Span::from(ticks) * MINUTE
}

/// The tick of a moment.
pub fn tick(instant: Instant) -> u8 {
    if instant == NEVER { NO_TICK } else { ((instant - MINUTE_ZERO) / MINUTE) as u8 }
}

/// The lease's row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "named as in fencing_core::lease::Record")]
pub struct Row {
    pub token: Tok,
    pub ended: Option<EndReason>,
    pub renewed_at: u8,
    pub expires_at: u8,
    pub ended_at: u8,
    pub revoke_at: u8,
    /// Who was granted the term and has not been told so: the `request_id`.
    pub asked_by: u8,
}

/// Nobody, among clients.
pub const NOBODY: u8 = u8::MAX;

impl Row {
    /// As the rules know it. `unclean_start` is when the server last started uncleanly.
    pub fn record(&self, ttl: u8, unclean_start: Option<u8>) -> Option<Record> {
        Some(Record {
            token: self.token.token()?,
            ended: self.ended,
            acquired_at: at(self.renewed_at),
            renewed_at: at(self.renewed_at),
            expires_at: at(self.expires_at),
            ended_at: (self.ended_at != NO_TICK).then(|| at(self.ended_at)),
            revoke_at: at(self.revoke_at),
            session_gone: false,
            kept_until: kept_until(at(self.renewed_at), span(ttl), unclean_start.map(at)),
        })
    }
}

/// What a database has committed, and its sequence, which no transaction rolls back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Db {
    /// The latest epoch.
    pub epoch: u8,
    /// Whether it admits nothing any more.
    pub closing: bool,
    /// The server that it was opened on.
    pub lineage: u8,
    /// The server that closed it.
    pub closing_on: u8,
    /// What is still to be done for the guarded table.
    pub blocked: Option<Blocked>,
    /// The lease.
    pub row: Option<Row>,
    /// Its highest accepted term.
    pub fence: Tok,
    /// The last number drawn, or passed over.
    pub seq: u32,
}

/// A running server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Server {
    /// Which it is, among all the copies.
    pub lineage: u8,
    /// What is committed.
    pub db: Db,
    /// What of it a crash leaves.
    pub disk: Db,
    /// When it last started uncleanly.
    pub unclean_start: Option<u8>,
    /// Whether that has been taken care of.
    pub settled: bool,
    /// For the properties: the highest term whose `acquire` has committed, or the epoch opened after it.
    pub sealed: Tok,
}

/// How far a writer's transaction has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "in the order of the protocol")]
pub enum Stage {
    Begun,
    Gated,
    /// The fence is locked.
    Locked,
    /// A variant has read and judged before it locks.
    JudgedFirst,
    /// The write passed the guard.
    Written,
    /// The check before commit is done.
    Ready,
    Prepared,
    /// A variant has read the sequence that it is about to move.
    Burning(u32),
}

/// A transaction that writes to the guarded table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Writing {
    /// How far it has come.
    pub stage: Stage,
    /// The token that it presents.
    pub token: Tok,
    /// The open epoch as read behind the gate, with what keeps it from admitting.
    pub admits: Admits,
    /// What its only snapshot shows of the fence; `None` in READ COMMITTED.
    pub snapshot: Option<Tok>,
    /// Whether it is inside a savepoint.
    pub savepoint: bool,
    /// Whether it has passed the gate.
    pub gate: bool,
    /// Whether it holds the fence.
    pub fence: bool,
    /// Whether it releases its term, too.
    pub releases: bool,
    /// For the properties: its term had ended when it was to commit.
    pub ended: bool,
}

/// What a coordinator admits, as it was read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "as fencing_core::epoch::Coordinator")]
pub enum Admits {
    Epoch(u8),
    LineageChanged,
    Closed,
}

/// How far an `acquire` has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Step {
    /// It has looked, without locks.
    Looked,
    /// A variant has drawn its number before it locks.
    DrawnFirst,
    /// It has gate, fence and heartbeat.
    Locked,
    /// It has read under the locks, and may grant.
    Decided,
    /// It has its number.
    Drawn,
    /// In a transaction block: its client has been told the token.
    Told,
    /// Committed, and its client has not been told.
    Committed,
}

/// An `acquire`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Taking {
    /// How far it has come.
    pub step: Step,
    /// Whether it runs in a transaction block.
    pub in_block: bool,
    /// When it was sent.
    pub sent: u8,
    /// How far the clock has moved on since.
    pub waited: u8,
    /// The lease's time, read under the locks.
    pub now: u8,
    /// The open epoch, read there too; then the token.
    pub token: Tok,
    /// The highest term that its snapshot shows.
    pub before: Tok,
}

/// A `renew` or `release` that has written its row and not committed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Changing {
    /// `release`, not `renew`.
    pub release: bool,
    /// When it was sent.
    pub sent: u8,
    /// How far the clock has moved on since.
    pub waited: u8,
    /// The lease's time.
    pub now: u8,
    /// Until when the term lasts then.
    pub expires_at: u8,
}

/// What a client is in the middle of. It may pause there for as long as it likes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "said by their types")]
pub enum Op {
    Idle,
    Writing(Writing),
    Taking(Taking),
    Changing(Changing),
}

/// A client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Client {
    /// The server that it is connected to.
    pub server: u8,
    /// The last token that it was told.
    pub token: Tok,
    /// For how long it still relies on that: `trust_for`, less what the clock has moved on since it asked.
    pub trust: u8,
    /// What it is doing.
    pub op: Op,
}

/// How often what is finite may still happen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "said by their names")]
pub struct Left {
    pub draws: u8,
    pub crashes: u8,
    pub epochs: u8,
    pub copies: u8,
}

/// The most clients there are.
pub const CLIENTS: usize = 3;
/// The most tokens that can be issued.
pub const ISSUED: usize = 6;

/// All of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct State {
    /// The clock, which all servers share.
    pub clock: u8,
    /// The servers; the second is a clone of the first.
    pub servers: [Option<Server>; 2],
    /// The clients, as many as the configuration has.
    pub clients: [Option<Client>; CLIENTS],
    /// A base backup, or a standby that lags.
    pub backup: Option<Db>,
    /// How often what is finite may still happen.
    pub left: Left,
    /// Lineages, and unclean starts, so far.
    pub started: u8,
    /// For the properties: every token that ever reached a client.
    pub issued: [Tok; ISSUED],
    /// For the properties: what was violated, as bits of [`Violation`].
    pub violated: u8,
}

/// What a step may violate. The states that follow are not explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Violation {
    /// A write of an older term committed after the newer term's `acquire`.
    Stale = 1,
    /// A write of an older epoch committed after the newer one was opened.
    OlderEpoch = 2,
    /// A lease was granted while somebody else could still rely on it.
    TwoHolders = 4,
    /// A token was told to two clients, or granted after it had been told to somebody.
    Twice = 8,
    /// A term was granted that is not above every term granted before.
    Order = 16,
    /// A write committed under a term that had ended before its commit.
    Ended = 32,
    /// A write committed that was decided by what was read before its takeover.
    OldSnapshot = 64,
    /// A write committed to a table that has not been resumed in its epoch.
    Blocked = 128,
}

impl State {
    /// A server that runs.
    pub fn server(&self, server: u8) -> Option<&Server> {
        self.servers[server as usize].as_ref()
    }

    /// The same, to be changed.
    pub fn server_mut(&mut self, server: u8) -> Option<&mut Server> {
        self.servers[server as usize].as_mut()
    }

    /// A client that there is.
    pub fn client(&self, client: u8) -> Option<&Client> {
        self.clients[client as usize].as_ref()
    }

    /// The same, to be changed.
    pub fn client_mut(&mut self, client: u8) -> Option<&mut Client> {
        self.clients[client as usize].as_mut()
    }

    /// What the clients of a server are doing.
    pub fn ops(&self, server: u8) -> impl Iterator<Item = &Op> {
        self.clients.iter().flatten().filter(move |client| client.server == server).map(|client| &client.op)
    }

    /// The coordinator has ended that term: nobody may rely on it.
    pub fn distrust(&mut self, token: Tok) {
        self.clients.iter_mut().flatten().filter(|client| client.token == token).for_each(|client| client.trust = 0);
    }

    /// Notes a violation.
    pub fn violate(&mut self, what: Violation) {
        self.violated |= what as u8;
    }

    /// Whether that was violated.
    pub fn is_violated(&self, what: Violation) -> bool {
        self.violated & what as u8 != 0
    }

    /// Notes that a token has reached a client. `false` where one had it before.
    pub fn issue(&mut self, token: Tok) -> bool {
        if self.issued.contains(&token) {
            return false;
        }
        let free = self.issued.iter().position(|tok| *tok == Tok::NONE);
        self.issued[free.expect("the configuration draws too often for the model")] = token;
        self.issued.sort_unstable();
        self.issued.reverse();
        true
    }
}

/// Clients differ in nothing but their names: states that differ in these alone are one.
impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let dbs = self.servers.iter().flatten().flat_map(|server| [&server.db, &server.disk]).chain(&self.backup);
        // A bit for each row whose term was granted to that client.
        let asked = |client| {
            let mut bits = 0;
            for db in dbs.clone() {
                bits = bits << 1 | u8::from(db.row.is_some_and(|row| row.asked_by == client));
            }
            bits
        };
        let mut order: [u8; CLIENTS] = std::array::from_fn(|client| client as u8);
        order.sort_by_key(|client| (self.clients[*client as usize], asked(*client)));
        for client in order {
            self.clients[client as usize].hash(hasher);
        }
        let renamed = |db: &Db| {
            let mut db = *db;
            if let Some(row) = &mut db.row
                && let Some(place) = order.iter().position(|client| *client == row.asked_by)
            {
                row.asked_by = place as u8;
            }
            db
        };
        for server in &self.servers {
            let server = server.map(|server| Server { db: renamed(&server.db), disk: renamed(&server.disk), ..server });
            server.hash(hasher);
        }
        self.backup.as_ref().map(renamed).hash(hasher);
        (self.clock, self.left, self.started, self.issued, self.violated).hash(hasher);
    }
}
