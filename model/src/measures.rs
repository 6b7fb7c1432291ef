//! The counter-measures, and which of them a variant leaves out.

/// One counter-measure. What it is called where the extension's own tests leave it out
/// (`fencing.test_without`) is said where there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Measure {
    /// A writer holds the fence until its transaction ends: not a plain read.
    WriterLocks,
    /// A writer locks first and reads after.
    LockThenRead,
    /// The check before commit (`recheck`).
    Recheck,
    /// The check before commit makes sure of the lock that it remembers.
    RequireLock,
    /// A rolled back savepoint's verdict is forgotten with its lock (`savepoint`).
    Forget,
    /// A term's end by anything but a takeover is a reason to reject (`ended`, `expiry`).
    Ended,
    /// A snapshot from before the takeover is one to reject (40001).
    OldSnapshot,
    /// `acquire` takes the fence exclusively.
    AcquireLocks,
    /// `acquire` draws its number under the fence.
    LockThenDraw,
    /// A number that is not above the fence is not granted (`fence_ahead`).
    FenceAhead,
    /// The sequence is not below the highest committed term (`sequence_behind`).
    SequenceBehind,
    /// What moves the sequence reads it under the issue lock (`issue`).
    IssueLock,
    /// A number is on disk before a client is told (`flush_wal`).
    FlushDraw,
    /// An `acquire` commits durably, whatever `synchronous_commit` says.
    DurableAcquire,
    /// After an unclean start the sequence moves on (`unclean_start`).
    MoveOn,
    /// After an unclean start a held lease is kept back for its ttl.
    KeepBack,
    /// The epoch of a token is compared (`epoch`).
    Epoch,
    /// Opening an epoch waits for writers in flight (`gate_shut`).
    DrainGate,
    /// The server is compared with the one that opened the epoch (`lineage`).
    Lineage,
    /// A table is not written to before it is resumed (`blocked`).
    Blocked,
    /// Each epoch's number is a new one.
    NewEpoch,
    /// The sequence moves on with each epoch, on each server differently (`stride`).
    Stride,
    /// A lost number is passed over, and as many more as another server would not (`stride`).
    Beyond,
}

/// A set of counter-measures that are left out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Without(u32);

impl Without {
    /// Those.
    pub const fn of(measures: &[Measure]) -> Without {
        let (mut bits, mut n) = (0, 0);
        while n < measures.len() {
            bits |= 1 << measures[n] as u8;
            n += 1;
        }
        Without(bits)
    }

    /// Whether this one is left out.
    pub fn has(self, measure: Measure) -> bool {
        self.0 & 1 << measure as u8 != 0
    }
}
