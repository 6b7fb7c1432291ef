//! Epochs: the comparison domain of tokens.

use crate::error::{Code, Error};
use crate::time::{DAY, Instant, MINUTE, SECOND};
use crate::token::{MAX_EPOCH, MAX_SEQ};

/// 2025-01-01 UTC in PostgreSQL's microseconds: minute 0 of the epochs.
pub const MINUTE_ZERO: Instant = 9132 * DAY;

/// The minute of the epochs that the clock shows.
fn by_clock(now: Instant) -> i64 {
    (now.saturating_sub(MINUTE_ZERO) / MINUTE).max(1)
}

/// The number of an epoch opened now: `greatest(previous + 1, minutes since 2025-01-01 UTC)`.
///
/// Of two histories that both open one, the later wins, and an extension created again starts
/// above its past. Fails with `LF012` at the maximum, and with `22008` where the clock has leapt by more
/// than a year unless `force`: since `previous` was opened, or since the last grant that is known of it,
/// at `granted_at`. The first epoch has no bound.
pub fn next_epoch(now: Instant, previous: Option<i64>, granted_at: Option<Instant>, force: bool) -> Result<i64, Error> {
    const YEAR: i64 = 365 * 24 * 60;
    let known = granted_at.map_or(0, by_clock);
    let by_clock = by_clock(now);
    let epoch = match previous {
        None => by_clock,
        Some(last) if by_clock > last.max(known).saturating_add(YEAR) && !force => {
            return Err(Error::new(Code::DatetimeOverflow, "clock is more than a year ahead of the last epoch")
                .detail(format!("The last epoch is {last}, and nothing was granted in it within a year of now; the clock would open {by_clock}."))
                .hint("Check the server's clock. If it is right, open the epoch with force => true."));
        }
        Some(last) => by_clock.max(last.saturating_add(1)),
    };
    if epoch > MAX_EPOCH {
        return Err(Error::new(Code::TermsExhausted, "epoch is at its maximum")
            .detail(format!("The highest epoch is {MAX_EPOCH}; {epoch} would be next."))
            .hint("No epoch can follow it. Before 2056 none but a clock far ahead opens one so high."));
    }
    Ok(epoch)
}

/// Where the sequence of the first epoch starts: the millisecond within the epoch's minute, then 20
/// random bits; below 2^36.
///
/// Two clusters don't issue equal tokens by accident, and an extension that is created twice within
/// one minute, so under one epoch number, still starts above its past.
pub fn first_seq(now: Instant, random: u64) -> i64 {
    let millisecond = now.rem_euclid(MINUTE) / 1000;
    (millisecond << 20 | (random & ((1 << 20) - 1)) as i64).max(1)
}

/// Where the sequence goes on after an unclean start that may have lost draws: 2^24 on, and as much
/// again at random, so that two copies of one moment go different ways. Never beyond its end.
pub fn after_unclean_start(last: i64, random: u64) -> i64 {
    const STEP: u64 = 1 << 24;
    last.saturating_add((STEP + random % STEP) as i64).min(MAX_SEQ)
}

/// Whether a number may be taken for one that was drawn in an epoch by a history that is lost: no
/// higher than drawing could have come since.
///
/// Whoever may hold a lease can make up any number; by having it burned they get no further through
/// the sequence than by acquiring, some 2^30 at once apart: it lasts for three months at the least. The lost
/// history may have had some 170 unclean starts a day, each of which has moved it on.
pub fn plausible(seq: i64, first: i64, opened_at: Instant, now: Instant) -> bool {
    const AT_ONCE: i64 = 1 << 30;
    const A_SECOND: i64 = 1 << 16;
    let seconds = now.saturating_sub(opened_at).max(0) / SECOND;
    seq.saturating_sub(first) <= AT_ONCE.saturating_add(seconds.saturating_mul(A_SECOND))
}

/// How far the sequence moves on with each epoch that follows another: below 2^24, and never nothing.
pub fn stride(random: u64) -> i64 {
    (random & ((1 << 24) - 1)).max(1) as i64
}

/// May an epoch be opened while so many effects are not reconciled? `LF010` unless they are carried
/// over.
pub fn may_open(unresolved: usize, carry_unresolved: bool) -> Result<(), Error> {
    if unresolved == 0 || carry_unresolved {
        return Ok(());
    }
    Err(Error::new(Code::UnresolvedEffects, "effects of the epoch that closes are not reconciled")
        .detail(format!("There are {unresolved}: SELECT * FROM fencing.unresolved()."))
        .hint("Reconcile them first, or carry them over into the new epoch with carry_unresolved => true."))
}

/// What is stored of an epoch's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Terms are issued and accepted.
    Open,
    /// A transition has begun: nothing is, until the next epoch is opened.
    Closing,
    /// Another was opened since.
    Closed,
}

impl State {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Closing => "closing",
            State::Closed => "closed",
        }
    }

    /// Reads what [`State::as_str`] wrote; nothing else is an open epoch.
    pub fn parse(text: &[u8]) -> State {
        match text {
            b"open" => State::Open,
            b"closing" => State::Closing,
            _ => State::Closed,
        }
    }
}

/// What is still to be done for a guarded table before it is written to in a new epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Blocked {
    /// Its guard is to be looked at.
    Install,
    /// It is to be proved that the guard rejects the older epoch.
    Prove,
    /// It is to be resumed.
    Resume,
}

impl Blocked {
    /// What is stored: what has been done.
    pub fn as_str(self) -> &'static str {
        match self {
            Blocked::Install => "blocked",
            Blocked::Prove => "installed",
            Blocked::Resume => "proved",
        }
    }

    /// Reads what [`Blocked::as_str`] wrote; anything else is where it begins.
    pub fn parse(text: &[u8]) -> Blocked {
        match text {
            b"proved" => Blocked::Resume,
            b"installed" => Blocked::Prove,
            _ => Blocked::Install,
        }
    }

    /// The function that does it.
    pub fn function(self) -> &'static str {
        match self {
            Blocked::Install => "fencing.install_local",
            Blocked::Prove => "fencing.prove_epoch",
            Blocked::Resume => "fencing.resume",
        }
    }
}

/// Whether an epoch of that number may have been opened by a history that is lost: the clock has reached
/// it, an hour apart.
pub fn plausible_epoch(epoch: i64, now: Instant) -> bool {
    epoch <= by_clock(now) + 60
}

/// Whether the coordinator issues and accepts terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coordinator {
    /// This epoch is open.
    Open(i64),
    /// Restored, cloned or promoted since the epoch was opened (`LF006`).
    LineageChanged,
    /// A transition is under way (`LF007`).
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_by_the_minute() {
        assert_eq!(next_epoch(MINUTE_ZERO + 5 * MINUTE, None, None, false), Ok(5));
        assert_eq!(next_epoch(MINUTE_ZERO + 5 * MINUTE, Some(2), None, false), Ok(5));
    }

    #[test]
    fn never_reused_when_the_clock_stands_or_steps_back() {
        assert_eq!(next_epoch(MINUTE_ZERO + 5 * MINUTE, Some(5), None, false), Ok(6));
        assert_eq!(next_epoch(MINUTE_ZERO, Some(900), None, false), Ok(901));
        assert_eq!(next_epoch(i64::MIN, None, None, false), Ok(1));
    }

    #[test]
    fn sequences_start_in_the_order_of_time_within_a_minute() {
        let at = |micros, random| first_seq(MINUTE_ZERO + micros, random);
        assert!(at(1_000, u64::MAX) < at(2_000, 0));
        assert_eq!(at(0, 0), 1);
        assert!(at(MINUTE - 1, u64::MAX) < 1 << 36);
        assert!(first_seq(-1, u64::MAX) > 0);
    }

    #[test]
    fn an_unclean_start_leaves_a_gap_behind() {
        assert_eq!(after_unclean_start(7, 0), 7 + (1 << 24));
        assert_eq!(after_unclean_start(7, u64::MAX), 7 + (1 << 25) - 1);
        assert_eq!(after_unclean_start(MAX_SEQ - 1, 5), MAX_SEQ);
        assert_eq!(after_unclean_start(MAX_SEQ, 5), MAX_SEQ);
    }

    #[test]
    fn what_nobody_can_have_drawn_is_not_believed() {
        let (first, opened) = (1_000, MINUTE_ZERO);
        assert!(plausible(first + (1 << 30), first, opened, opened));
        assert!(!plausible(first + (1 << 30) + 1, first, opened, opened));
        assert!(plausible(first + (1 << 30) + (1 << 16), first, opened, opened + SECOND));
        assert!(plausible(first, first, opened, i64::MIN));
        assert!(!plausible(MAX_SEQ, first, opened, opened + DAY));
        assert!(plausible_epoch(65, MINUTE_ZERO + 5 * MINUTE));
        assert!(!plausible_epoch(66, MINUTE_ZERO + 5 * MINUTE));
        assert!(plausible(MAX_SEQ, 0, i64::MIN, i64::MAX));
    }

    #[test]
    fn what_a_history_of_unclean_starts_has_drawn_is_believed() {
        let opened = MINUTE_ZERO;
        // Each as far as it can go.
        let starts = |n| (0..n).fold(1, |seq, _| after_unclean_start(seq, u64::MAX));
        for days in 1..90 {
            assert!(plausible(starts(168 * days), 1, opened, opened + days * DAY), "{days}");
        }
        // And yet nobody gets to the end at once by making up numbers.
        assert!(!plausible(MAX_SEQ, 1, opened, opened + 90 * DAY));
    }

    #[test]
    fn a_leap_of_the_clock_needs_force() {
        let far = MINUTE_ZERO + 800 * DAY;
        assert_eq!(next_epoch(far, Some(1), None, false).unwrap_err().code, Code::DatetimeOverflow);
        assert_eq!(next_epoch(far, Some(1), None, true), Ok(800 * 24 * 60));
        assert_eq!(next_epoch(far, None, None, false), Ok(800 * 24 * 60));
        // Long without an epoch, but not without leases.
        assert_eq!(next_epoch(far, Some(1), Some(far - 300 * DAY), false), Ok(800 * 24 * 60));
        assert!(next_epoch(far, Some(1), Some(far - 400 * DAY), false).is_err());
        assert!(next_epoch(far, Some(1), Some(Instant::MIN), false).is_err());
    }

    #[test]
    fn a_stride_moves_on_and_stays_below_its_bound() {
        assert_eq!(stride(0), 1);
        assert_eq!(stride(u64::MAX), (1 << 24) - 1);
        assert_eq!(stride(1 << 24 | 5), 5);
    }

    #[test]
    fn unresolved_effects_are_carried_over_by_order_alone() {
        assert_eq!(may_open(0, false), Ok(()));
        assert_eq!(may_open(3, true), Ok(()));
        assert_eq!(may_open(1, false).unwrap_err().code, Code::UnresolvedEffects);
    }

    #[test]
    fn what_is_stored_is_read_back_and_anything_else_keeps_out() {
        for state in [State::Open, State::Closing, State::Closed] {
            assert_eq!(State::parse(state.as_str().as_bytes()), state);
        }
        assert_eq!(State::parse(b"OPEN"), State::Closed);
        for step in [Blocked::Install, Blocked::Prove, Blocked::Resume] {
            assert_eq!(Blocked::parse(step.as_str().as_bytes()), step);
        }
        assert_eq!(Blocked::parse(b""), Blocked::Install);
    }

    #[test]
    fn exhausted_at_the_maximum() {
        assert_eq!(next_epoch(0, Some(MAX_EPOCH), None, false).unwrap_err().code, Code::TermsExhausted);
        assert_eq!(next_epoch(0, Some(i64::MAX), None, true).unwrap_err().code, Code::TermsExhausted);
    }
}
