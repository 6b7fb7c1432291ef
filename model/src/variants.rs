//! Variants of the protocol that are broken on purpose: which counter-measures are left out, where that
//! shows, and which promise it breaks.

use crate::config::{BASE, Config, Copied, Transition};
use crate::measures::Measure::{self, *};
use crate::properties::{ENDED, FRESH, ONCE, ONE_HOLDER, ORDER, RESUMED, SEALED, VOID};

/// A broken variant.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// What is wrong with it.
    pub title: &'static str,
    /// What is left out. Of several, each would be enough.
    pub without: &'static [Measure],
    /// Where it shows.
    pub config: Config,
    /// The promise that it breaks.
    pub breaks: &'static str,
}

/// The smallest world in which a lease is taken over, with every step by itself.
const SMALL: Config = Config { name: "small", every_pause: true, last_tick: 2, ..BASE };

/// The guard reads the fence, and locks nothing.
pub const PLAIN_READ: Variant = Variant {
    title: "a plain read instead of a lock",
    without: &[WriterLocks, RequireLock],
    config: SMALL,
    breaks: SEALED,
};
/// The guard reads and judges, and locks then; nobody looks again.
pub const CHECK_BEFORE_LOCK: Variant =
    Variant { title: "the check before the lock", without: &[LockThenRead, Recheck], config: SMALL, breaks: SEALED };
/// A verdict is remembered beyond the savepoint that took its lock.
pub const VERDICT_SURVIVES_SAVEPOINT: Variant = Variant {
    title: "a verdict that survives its savepoint",
    without: &[Forget, RequireLock],
    config: Config { savepoints: true, ..SMALL },
    breaks: SEALED,
};
/// `acquire` doesn't wait for open writers.
pub const TAKEOVER_WITHOUT_LOCK: Variant =
    Variant { title: "a takeover that takes no lock", without: &[AcquireLocks], config: SMALL, breaks: SEALED };
/// A grant is lost by a crash after its client was told.
pub const ACQUIRE_NOT_DURABLE: Variant = Variant {
    title: "an acquire that doesn't wait for the disk",
    without: &[DurableAcquire],
    config: Config { crashes: 1, accepts_expired: true, ..SMALL },
    breaks: SEALED,
};
/// A token of an older epoch passes.
pub const EPOCH_NOT_COMPARED: Variant = Variant {
    title: "the epoch is not compared",
    without: &[Epoch],
    config: Config { epochs: 1, ..SMALL },
    breaks: VOID,
};
/// An epoch is opened while writers of the older one are in flight.
pub const GATE_NOT_DRAINED: Variant = Variant {
    title: "an epoch is opened without waiting for writers",
    without: &[DrainGate],
    config: Config { epochs: 1, ..SMALL },
    breaks: VOID,
};
/// An epoch is opened under the number of the one before.
pub const EPOCH_REUSED: Variant = Variant {
    title: "an epoch that keeps its number",
    without: &[NewEpoch],
    config: Config { epochs: 1, accepts_expired: true, ..SMALL },
    breaks: VOID,
};
/// A table is written to before its guard was proved.
pub const TABLE_NOT_BLOCKED: Variant = Variant {
    title: "a table is written to before it is resumed",
    without: &[Blocked],
    config: Config { epochs: 1, transition: Transition::StepByStep, ..SMALL },
    breaks: RESUMED,
};
/// After a crash that lost a renewal, its lease is granted as if there had been none.
pub const RENEWAL_FORGOTTEN: Variant = Variant {
    title: "a lost renewal is not waited for",
    without: &[KeepBack],
    config: Config { ttl: 2, last_tick: 5, renew: true, crashes: 1, ..SMALL },
    breaks: ONE_HOLDER,
};
/// Whoever moves the sequence on sets it to where it was before somebody drew.
pub const SEQUENCE_READ_BEFORE_LOCK: Variant = Variant {
    title: "the sequence is read before the issue lock",
    without: &[IssueLock],
    config: Config { draws: 4, in_block: true, guesses: true, ..SMALL },
    breaks: ONCE,
};
/// A copy goes on as if it were the original.
pub const LINEAGE_NOT_COMPARED: Variant = Variant {
    title: "a restored server goes on where its backup was",
    without: &[Lineage, MoveOn],
    config: Config { in_block: true, copies: 1, kinds: &[Copied::Backup], ..SMALL },
    breaks: ONCE,
};
/// A snapshot that was put back goes on where it was taken.
pub const SEQUENCE_STAYS: Variant = Variant {
    title: "the sequence stays where it is after an unclean start",
    without: &[MoveOn],
    config: Config { copies: 1, kinds: &[Copied::Snapshot], ..SMALL },
    breaks: ONCE,
};
/// A number is told before it is on disk.
pub const DRAW_NOT_FLUSHED: Variant = Variant {
    title: "a number that is told before it is on disk",
    without: &[FlushDraw, MoveOn],
    config: Config { in_block: true, crashes: 1, ..SMALL },
    breaks: ONCE,
};
/// Two copies that open the next epoch in one minute issue the same numbers.
pub const NO_STRIDE: Variant = Variant {
    title: "two copies go on at the same number",
    without: &[Stride, MoveOn],
    config: Config { epochs: 2, same_minute: true, copies: 1, kinds: &[Copied::Clone], ..SMALL },
    breaks: ONCE,
};
/// Two copies hear of each other's tokens, and go on where those are.
pub const NOT_BEYOND: Variant = Variant {
    title: "a lost number is passed over, and no more",
    without: &[Beyond],
    config: Config {
        every_pause: false,
        draws: 3,
        epochs: 2,
        same_minute: true,
        copies: 1,
        kinds: &[Copied::Clone],
        ..SMALL
    },
    breaks: ONCE,
};
/// A number is drawn before the wait for the fence.
pub const DRAW_BEFORE_LOCK: Variant = Variant {
    title: "a number drawn before the fence is locked",
    without: &[LockThenDraw, FenceAhead],
    config: Config { draws: 3, last_tick: 3, ..SMALL },
    breaks: ORDER,
};
/// Nobody looks again before commit.
pub const NO_COMMIT_CHECK: Variant = Variant {
    title: "no check before commit, where expiry is a reason to reject",
    without: &[Recheck],
    config: SMALL,
    breaks: ENDED,
};
/// A released, revoked or expired term writes on.
pub const END_NOT_COMPARED: Variant = Variant {
    title: "the term's end is not compared",
    without: &[Ended, Recheck],
    config: Config { revoke: true, ..SMALL },
    breaks: ENDED,
};
/// A new holder writes what it computed from what it read before its takeover.
pub const OLD_SNAPSHOT: Variant = Variant {
    title: "a snapshot from before the takeover is accepted",
    without: &[OldSnapshot],
    config: Config { snapshots: true, guesses: true, ..SMALL },
    breaks: FRESH,
};

/// Counter-measures each of which has another one behind it: leaving out one breaks nothing.
pub const SECOND_LINES: [(&[Measure], Config); 7] = [
    (&[LockThenRead], SMALL),
    (&[Forget], Config { savepoints: true, ..SMALL }),
    (&[RequireLock], Config { savepoints: true, ..SMALL }),
    (&[LockThenDraw], Config { draws: 3, last_tick: 3, ..SMALL }),
    (&[FenceAhead, SequenceBehind], Config { draws: 3, last_tick: 3, ..SMALL }),
    (&[FlushDraw], Config { in_block: true, crashes: 1, ..SMALL }),
    (&[Ended], Config { revoke: true, ..SMALL }),
];
