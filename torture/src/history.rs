//! What a client records: a line before it sends something and a line when the answer has come, in a file
//! of its own. Written straight to the file, so a killed client has told everything up to its end.

use crate::plan::Lease;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// One number for the kinds of line.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$item_doc])* $item,)* }

        impl $name {
            /// All of them, in order of their numbers.
            pub const ALL: &[$name] = &[$($name::$item,)*];

            fn of(number: u8) -> Option<$name> {
                $name::ALL.get(usize::from(number)).copied()
            }
        }
    };
}

numbered! {
    /// What is begun, or answered.
    Kind {
        /// The answer to the operation of that number.
        Answer,
        /// `acquire`: `a` is the request's number or 0, `b` whether the term is bound to the session.
        Acquire,
        /// `renew`, or `renew_all` of one of its tokens.
        Renew,
        /// `release`, alone or as part of a transaction.
        Release,
        /// `revoke`: `a` is the grace, in us.
        Revoke,
        /// `evict`.
        Evict,
        /// `drop_lease`.
        Drop,
        /// `purge_leases`.
        Purge,
        /// A write that is a transaction by itself: `a` is the value.
        Alone,
        /// A transaction begins: `a` is its isolation (0: READ COMMITTED, 1, 2: SERIALIZABLE).
        Begin,
        /// A write in a transaction: `a` is the value.
        Write,
        /// A rollback to the savepoint that was set before the operation `a`.
        Undo,
        /// COMMIT.
        Commit,
        /// ROLLBACK.
        Rollback,
        /// PREPARE TRANSACTION; the transaction's name is the operation's number.
        Prepare,
        /// COMMIT PREPARED (`b` = 1) or ROLLBACK PREPARED of the transaction `a`.
        Finish,
        /// `advance_epoch`: answered with the epoch in `a`.
        Advance,
        /// The server is crashed or stopped; answered when it takes connections again. `b` = 1: a clean
        /// stop, which loses nothing.
        Crash,
        /// The session is over.
        End,
        /// Wall clock minus monotonic clock in `a`, in us.
        Clock,
    }
}

numbered! {
    /// How it was answered.
    Status {
        /// No answer has come, and none will: what became of it is not known.
        Lost,
        /// Done.
        Done,
        /// Refused with the SQLSTATE in `a`.
        Refused,
        /// `acquire`: `a` and `b` are acquired_at and expires_at.
        Granted,
        /// An answer of `acquire`.
        Held,
        /// An answer of `acquire`.
        CoolingDown,
        /// An answer of `acquire`.
        Blocked,
        /// An answer of `acquire`.
        Closed,
        /// An answer of `acquire`.
        Over,
        /// `renew`: `b` is expires_at.
        Renewed,
        /// A term's end.
        Expired,
        /// A term's end.
        Superseded,
        /// A term's end, or an answer of `release`.
        Released,
        /// A term's end, or an answer of `revoke`.
        Revoked,
        /// A term's end.
        SessionLost,
        /// A term's end.
        Deleted,
        /// A term's end.
        EpochClosed,
        /// Nothing is known of the token.
        Unknown,
        /// Somebody else is changing the lease.
        Indeterminate,
        /// `revoke` with a grace.
        Revoking,
        /// `revoke` of what nobody holds.
        NotHeld,
    }
}

impl Status {
    /// A status as the extension says it.
    pub fn said(text: &str) -> Status {
        match text {
            "granted" => Status::Granted,
            "held" => Status::Held,
            "cooling_down" => Status::CoolingDown,
            "blocked" => Status::Blocked,
            "closed" => Status::Closed,
            "over" => Status::Over,
            "renewed" => Status::Renewed,
            "expired" => Status::Expired,
            "superseded" => Status::Superseded,
            "released" => Status::Released,
            "revoked" => Status::Revoked,
            "session_lost" => Status::SessionLost,
            "deleted" => Status::Deleted,
            "epoch_closed" => Status::EpochClosed,
            "unknown" => Status::Unknown,
            "indeterminate" => Status::Indeterminate,
            "revoking" => Status::Revoking,
            "not_held" => Status::NotHeld,
            other => panic!("a status that nobody knows: {other}"),
        }
    }
}

/// An SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State([u8; 5]);

impl State {
    /// Of five characters.
    pub fn new(code: &str) -> State {
        let mut state = [b'?'; 5];
        state.iter_mut().zip(code.bytes()).for_each(|(a, b)| *a = b);
        State(state)
    }

    /// Its text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("?????")
    }

    fn number(self) -> i64 {
        self.0.iter().fold(0, |n, byte| n << 8 | i64::from(*byte))
    }

    /// Back from its number.
    pub fn of(number: i64) -> State {
        State([32, 24, 16, 8, 0].map(|shift| (number >> shift) as u8))
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When: the monotonic clock, which all processes of a machine share, in ns.
    pub at: u64,
    /// The operation's number, nobody else's: client, incarnation, count.
    pub op: u64,
    /// What it is.
    pub kind: Kind,
    /// How it was answered.
    pub status: Status,
    /// The lease.
    pub lease: u16,
    /// The token.
    pub token: i64,
    /// As the kind says.
    pub a: i64,
    /// As the kind says.
    pub b: i64,
}

/// Bytes of a line.
const SIZE: usize = 44;

impl Event {
    /// Of this moment.
    pub fn now(op: u64, kind: Kind) -> Event {
        Event { at: now(), op, kind, status: Status::Lost, lease: 0, token: 0, a: 0, b: 0 }
    }

    /// With a lease and a token.
    pub fn of(self, lease: Lease, token: i64) -> Event {
        Event { lease: lease.0, token, ..self }
    }

    /// With the two numbers.
    pub fn with(self, a: i64, b: i64) -> Event {
        Event { a, b, ..self }
    }

    /// An answer.
    pub fn answer(op: u64, status: Status) -> Event {
        Event { status, ..Event::now(op, Kind::Answer) }
    }

    /// An answer with an error.
    pub fn refused(op: u64, state: State) -> Event {
        Event::answer(op, Status::Refused).with(state.number(), 0)
    }

    fn encode(&self) -> [u8; SIZE] {
        let mut line = [0; SIZE];
        line[0..8].copy_from_slice(&self.at.to_le_bytes());
        line[8..16].copy_from_slice(&self.op.to_le_bytes());
        line[16] = self.kind as u8;
        line[17] = self.status as u8;
        line[18..20].copy_from_slice(&self.lease.to_le_bytes());
        line[20..28].copy_from_slice(&self.token.to_le_bytes());
        line[28..36].copy_from_slice(&self.a.to_le_bytes());
        line[36..44].copy_from_slice(&self.b.to_le_bytes());
        line
    }

    fn decode(line: &[u8; SIZE]) -> Option<Event> {
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|n| line[at + n]));
        Some(Event {
            at: number(0),
            op: number(8),
            kind: Kind::of(line[16])?,
            status: Status::of(line[17])?,
            lease: u16::from_le_bytes([line[18], line[19]]),
            token: number(20) as i64,
            a: number(28) as i64,
            b: number(36) as i64,
        })
    }
}

/// The monotonic clock, in ns.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The wall clock minus the monotonic one, in us.
pub fn clock_offset() -> i64 {
    let wall = clock_gettime(ClockId::Realtime);
    wall.tv_sec * 1_000_000 + wall.tv_nsec / 1000 - (now() / 1000) as i64
}

/// A client's file.
pub struct Recorder {
    file: File,
    next: u64,
}

impl Recorder {
    /// A new file for this incarnation of a client.
    pub fn create(dir: &Path, client: u16, incarnation: u16) -> io::Result<Recorder> {
        let file = File::create_new(dir.join(format!("{client:03}-{incarnation:05}.history")))?;
        Ok(Recorder { file, next: u64::from(client) << 48 | u64::from(incarnation) << 32 | 1 })
    }

    /// A number for a new operation.
    pub fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Writes a line.
    pub fn write(&mut self, event: &Event) {
        self.file.write_all(&event.encode()).expect("the history could not be written");
    }
}

/// Everything that was recorded in a directory, a list for each incarnation of each client.
pub fn read(dir: &Path) -> io::Result<Vec<Vec<Event>>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "history") {
            files.push(path);
        }
    }
    files.sort();
    files.iter().map(|path| Ok(lines(&std::fs::read(path)?))).collect()
}

/// The lines of a file; a last one that was cut off is none.
fn lines(bytes: &[u8]) -> Vec<Event> {
    bytes.as_chunks().0.iter().filter_map(Event::decode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(at: u64, op: u64, kind in 0..Kind::ALL.len(), status in 0..Status::ALL.len(), lease: u16, token: i64, a: i64, b: i64) {
            let event = Event { at, op, kind: Kind::ALL[kind], status: Status::ALL[status], lease, token, a, b };
            let mut bytes = event.encode().to_vec();
            bytes.extend(&event.encode()[..SIZE - 1]);
            prop_assert_eq!(lines(&bytes), [event]);
        }
    }

    #[test]
    fn a_state_survives_as_a_number() {
        assert_eq!(State::of(State::new("LF003").number()).text(), "LF003");
    }
}
