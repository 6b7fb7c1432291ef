//! Names, keys, labels and durations: what may be passed in.

use crate::error::{Code, Error};
use crate::time::{DAY, Span};

/// Longest lease key, in bytes.
pub const MAX_KEY: usize = 512;
/// Longest label (holder, purpose), in bytes.
pub const MAX_LABEL: usize = 1024;
/// Shortest ttl.
pub const MIN_TTL: Span = 100_000;

/// A namespace's name: `[a-z0-9][a-z0-9_.-]{0,62}`.
pub fn check_namespace(name: &str) -> Result<(), Error> {
    let first = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let rest = |b: u8| first(b) || matches!(b, b'_' | b'.' | b'-');
    let bytes = name.as_bytes();
    let good = (1..=63).contains(&bytes.len()) && first(bytes[0]) && bytes.iter().all(|&b| rest(b));
    if good {
        return Ok(());
    }
    Err(Error::new(Code::InvalidParameter, format!("invalid namespace name \"{name}\""))
        .detail("A namespace's name has 1 to 63 characters: lower-case letters, digits, \"_\", \".\" and \"-\", the first a letter or digit."))
}

/// A lease's key: 1 to 512 bytes of any text.
pub fn check_key(key: &[u8]) -> Result<(), Error> {
    if (1..=MAX_KEY).contains(&key.len()) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidParameter, format!("invalid lease key of {} bytes", key.len()))
        .detail(format!("A lease's key has 1 to {MAX_KEY} bytes.")))
}

/// A label for people, such as the holder's: at most 1024 bytes.
pub fn check_label(argument: &str, label: &[u8]) -> Result<(), Error> {
    if label.len() <= MAX_LABEL {
        return Ok(());
    }
    Err(Error::new(Code::InvalidParameter, format!("argument \"{argument}\" is too long"))
        .detail(format!("It has {} bytes; at most {MAX_LABEL} are kept.", label.len())))
}

/// Why somebody did what others will ask about: a label that is not blank.
pub fn check_reason(reason: &str) -> Result<(), Error> {
    check_filled("reason", reason, "It is recorded: people will want to know why.")
}

/// A label that is not blank; `what_for` is a sentence.
pub fn check_filled(argument: &str, label: &str, what_for: &str) -> Result<(), Error> {
    if label.trim().is_empty() {
        let message = format!("argument \"{argument}\" must not be blank");
        return Err(Error::new(Code::InvalidParameter, message).detail(what_for));
    }
    check_label(argument, label.as_bytes())
}

/// What a holder or an operator calls its own evidence: as a namespace is called.
pub fn check_kind(kind: &str) -> Result<(), Error> {
    check_namespace(kind).map_err(|error| Error {
        message: format!("invalid kind \"{kind}\""),
        detail: error.detail.map(|detail| detail.replace("A namespace's name", "A kind of evidence")),
        ..error
    })
}

/// Longest detail of evidence, in bytes as jsonb.
pub const MAX_DETAIL: usize = 8192;

/// The detail of evidence, of this many bytes.
pub fn check_detail(bytes: usize) -> Result<(), Error> {
    if bytes <= MAX_DETAIL {
        return Ok(());
    }
    Err(Error::new(Code::InvalidParameter, "argument \"detail\" is too long")
        .detail(format!("It has {bytes} bytes; at most {MAX_DETAIL} are kept.")))
}

/// Longest duration.
pub const LONGEST: Span = 10_000 * DAY;

/// An SQL interval, as PostgreSQL stores it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interval {
    /// Months and years: of no fixed length.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

/// A length of time that an interval stands for, a day counted as 24 hours.
///
/// Fails with `22023` where it is negative, counts months, or is longer than 10,000 days.
pub fn check_span(argument: &str, value: Interval) -> Result<Span, Error> {
    let bad = |detail: &str| {
        Err(Error::new(Code::InvalidParameter, format!("argument \"{argument}\" is out of range")).detail(detail))
    };
    if value.months != 0 {
        return bad("Months and years have no fixed length; give days, hours or seconds.");
    }
    let total = i128::from(value.days) * i128::from(DAY) + i128::from(value.micros);
    if total < 0 {
        return bad("It must not be negative.");
    }
    if total > i128::from(LONGEST) {
        return bad("It must not be longer than 10000 days.");
    }
    Ok(total as Span)
}

/// A ttl that some namespace may allow: [`check_ttl`] comes once its namespace is known.
pub fn check_any_ttl(argument: &str, ttl: Interval) -> Result<Span, Error> {
    let span = check_span(argument, ttl)?;
    if span >= MIN_TTL {
        return Ok(span);
    }
    Err(Error::new(Code::InvalidParameter, format!("argument \"{argument}\" is out of range"))
        .detail("It must be between 100 ms and the namespace's max_ttl."))
}

/// A ttl within the namespace's bounds: 100 ms to `max_ttl`.
pub fn check_ttl(argument: &str, ttl: Interval, max_ttl: Span) -> Result<Span, Error> {
    let (span, max_ttl) = (check_span(argument, ttl)?, max_ttl.min(LONGEST));
    if (MIN_TTL..=max_ttl).contains(&span) {
        return Ok(span);
    }
    Err(Error::new(Code::InvalidParameter, format!("argument \"{argument}\" is out of range"))
        .detail(format!("It must be between 100 ms and {} ms.", max_ttl / 1000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(value: Interval) -> Result<Span, Code> {
        check_span("ttl", value).map_err(|e| e.code)
    }

    #[test]
    fn namespaces() {
        for good in ["jobs", "0", "a.b-c_d", &"x".repeat(63)] {
            assert!(check_namespace(good).is_ok(), "{good}");
        }
        for bad in ["", "Jobs", "_x", "-x", ".x", "a b", "ä", &"x".repeat(64)] {
            assert_eq!(check_namespace(bad).unwrap_err().code, Code::InvalidParameter, "{bad}");
        }
    }

    #[test]
    fn kinds_and_reasons() {
        assert!(check_kind("worker_stopped").is_ok());
        let error = check_kind("Worker stopped").unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (Code::InvalidParameter, "invalid kind \"Worker stopped\""));
        assert!(error.detail.is_some_and(|detail| detail.starts_with("A kind of evidence has 1 to 63 characters")));
        assert!(check_reason("repair").is_ok());
        for bad in ["", " \t\n", &"x".repeat(MAX_LABEL + 1)] {
            assert_eq!(check_reason(bad).unwrap_err().code, Code::InvalidParameter, "{bad}");
        }
        assert!(check_detail(MAX_DETAIL).is_ok());
        assert_eq!(check_detail(MAX_DETAIL + 1).unwrap_err().code, Code::InvalidParameter);
    }

    #[test]
    fn keys() {
        assert!(check_key(&[0xff; MAX_KEY]).is_ok());
        assert!(check_key(&[0xff; MAX_KEY + 1]).is_err());
        assert!(check_key(b"").is_err());
    }

    #[test]
    fn spans() {
        assert_eq!(span(Interval { days: 1, micros: 1, months: 0 }), Ok(DAY + 1));
        assert_eq!(span(Interval { days: 1, micros: -DAY, months: 0 }), Ok(0));
        assert_eq!(span(Interval { micros: -1, ..Default::default() }), Err(Code::InvalidParameter));
        assert_eq!(span(Interval { months: 1, ..Default::default() }), Err(Code::InvalidParameter));
        let widest = Interval { months: 0, days: i32::MAX, micros: i64::MAX };
        assert_eq!(span(widest), Err(Code::InvalidParameter));
    }

    #[test]
    fn a_ttl_of_no_namespace_in_particular() {
        let ms = |n: i64| check_any_ttl("ttl", Interval { micros: n * 1000, ..Default::default() });
        assert!(ms(99).is_err() && ms(100).is_ok() && ms(LONGEST / 1000).is_ok() && ms(LONGEST / 1000 + 1).is_err());
    }

    #[test]
    fn ttl_has_bounds_on_both_sides() {
        let ms = |n: i64| Interval { micros: n * 1000, ..Default::default() };
        assert!(check_ttl("ttl", ms(99), DAY).is_err());
        assert_eq!(check_ttl("ttl", ms(100), DAY), Ok(100_000));
        assert_eq!(check_ttl("ttl", ms(200), 200_000), Ok(200_000));
        assert!(check_ttl("ttl", ms(201), 200_000).is_err());
    }
}
