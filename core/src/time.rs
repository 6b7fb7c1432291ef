//! Coordinator time: microseconds, as PostgreSQL counts them.

/// A point in coordinator time, in microseconds since 2000-01-01 UTC (PostgreSQL's epoch).
pub type Instant = i64;

/// A length of time in microseconds.
pub type Span = i64;

/// One second.
pub const SECOND: Span = 1_000_000;
/// One minute.
pub const MINUTE: Span = 60 * SECOND;
/// One day of 24 hours.
pub const DAY: Span = 24 * 60 * MINUTE;

/// The lease's own time: the clock, but never before the last time recorded for the lease.
///
/// A clock that steps back must neither extend a term silently nor disorder its record.
pub fn coordinator_time(clock: Instant, last_recorded: Option<Instant>) -> Instant {
    last_recorded.map_or(clock, |last| clock.max(last))
}

/// How long a holder may rely on its term, counted from the moment it sent the call.
///
/// `expires_at` minus the start of the statement; never negative, and never more than `length`: how long
/// the term lasts from the last time recorded of it, which the clock may be behind.
pub fn trust_for(expires_at: Instant, statement_start: Instant, length: Span) -> Span {
    expires_at.saturating_sub(statement_start).clamp(0, length.max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_clock_that_steps_back_stands_still() {
        assert_eq!(coordinator_time(100, Some(250)), 250);
        assert_eq!(coordinator_time(300, Some(250)), 300);
        assert_eq!(coordinator_time(100, None), 100);
    }

    proptest! {
        /// Sent no later than the statement started, trusted for `trust_for`: never past expiry.
        #[test]
        fn trust_ends_no_later_than_the_term(
            start in 0i64..1 << 50, delay in 0i64..1 << 40, ttl in 1i64..1 << 40, ahead in 0i64..1 << 40,
        ) {
            let grant = start + delay;
            let expires = grant + ttl;
            let trust = trust_for(expires, start, ttl);
            prop_assert!(start - ahead.min(start) + trust <= expires);
            prop_assert!(trust <= ttl);
        }
    }
}
