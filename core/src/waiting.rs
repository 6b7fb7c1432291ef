//! How the head of a lease's queue waits: it looks, sleeps a little, and looks again.

use crate::time::Span;

/// The shortest and the longest sleep between two looks. What lies between is random, so that the
/// heads of many queues don't look in step.
const SHORTEST: Span = 20_000;
const LONGEST: Span = 60_000;

/// What a timer can tell apart.
const TICK: Span = 1_000;

/// How long to sleep before the next look: a random time, but not past the moment when the lease may
/// become grantable by itself (`until`), nor past the end of the wait (`left`).
pub fn sleep(until: Option<Span>, left: Span, random: u16) -> Span {
    let some_time = SHORTEST + (LONGEST - SHORTEST) * Span::from(random) / Span::from(u16::MAX);
    some_time.min(until.unwrap_or(LONGEST)).min(left).max(TICK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn looks_again_at_the_moment_of_expiry_and_at_the_end() {
        assert_eq!(sleep(Some(7_000), 1_000_000, u16::MAX), 7_000);
        assert_eq!(sleep(Some(7_000), 3_000, u16::MAX), 3_000);
        assert_eq!(sleep(None, 1_000_000, 0), SHORTEST);
        assert_eq!(sleep(None, 1_000_000, u16::MAX), LONGEST);
    }

    proptest! {
        /// Never so long that a release goes unnoticed for the time of a hand-over, never no time at all.
        #[test]
        fn neither_sleeps_long_nor_spins(until in proptest::option::of(-10i64..1 << 40), left in -10i64..1 << 40, random: u16) {
            let slept = sleep(until, left, random);
            prop_assert!((TICK..=LONGEST).contains(&slept));
        }
    }
}
