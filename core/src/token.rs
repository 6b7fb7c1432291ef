//! Tokens: the ordered number of a term.
//!
//! A token is one positive `bigint`, `epoch << 39 | sequence`. Integer comparison is the
//! (epoch, sequence) order, so any language, store or index can compare tokens.

use crate::error::{Code, Error};
use std::fmt;

/// Bits of a token that hold the sequence number.
pub const SEQ_BITS: u32 = 39;
/// Highest sequence number; the one after it is [`Code::TermsExhausted`].
pub const MAX_SEQ: i64 = (1 << SEQ_BITS) - 1;
/// Highest epoch number.
pub const MAX_EPOCH: i64 = (1 << (63 - SEQ_BITS)) - 1;

/// The token of one term. Ordered by epoch, then by sequence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Token(i64);

impl Token {
    /// Packs `epoch` (1 to 2^24-1) and `seq` (1 to 2^39-1).
    ///
    /// Fails with `LF012` where either is above its maximum, and with `22023` where one is not
    /// positive: a token never wraps.
    pub fn new(epoch: i64, seq: i64) -> Result<Token, Error> {
        if epoch > MAX_EPOCH || seq > MAX_SEQ {
            let (part, given, max) =
                if epoch > MAX_EPOCH { ("epoch", epoch, MAX_EPOCH) } else { ("sequence", seq, MAX_SEQ) };
            return Err(Error::new(Code::TermsExhausted, format!("token {part} {given} is out of range"))
                .detail(format!("The highest {part} of a token is {max}.")));
        }
        if epoch < 1 || seq < 1 {
            return Err(Error::new(Code::InvalidParameter, "epoch and sequence of a token must be positive")
                .detail(format!("Got epoch {epoch} and sequence {seq}.")));
        }
        Ok(Token(epoch << SEQ_BITS | seq))
    }

    /// Reads a token that somebody presented. Anything that no epoch and sequence can make is
    /// `None`.
    pub fn from_bigint(value: i64) -> Option<Token> {
        let token = Token(value);
        (value > 0 && token.epoch() > 0 && token.seq() > 0).then_some(token)
    }

    /// The token as PostgreSQL's `bigint`.
    pub fn to_bigint(self) -> i64 {
        self.0
    }

    /// The epoch of a number that is a token.
    pub fn epoch_of(value: i64) -> i64 {
        value >> SEQ_BITS
    }

    /// The epoch: the comparison domain that the token was issued in.
    pub fn epoch(self) -> i64 {
        Token::epoch_of(self.0)
    }

    /// The sequence number within the epoch.
    pub fn seq(self) -> i64 {
        self.0 & MAX_SEQ
    }
}

/// `epoch:sequence`, for people.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.epoch(), self.seq())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_form() {
        assert_eq!(Token::new(1_005_113, 42).unwrap().to_string(), "1005113:42");
    }

    #[test]
    fn the_maximum_is_the_largest_bigint() {
        assert_eq!(Token::new(MAX_EPOCH, MAX_SEQ).unwrap().to_bigint(), i64::MAX);
    }

    #[test]
    fn overflow_is_refused_and_never_wraps() {
        assert_eq!(Token::new(1, MAX_SEQ + 1).unwrap_err().code, Code::TermsExhausted);
        assert_eq!(Token::new(MAX_EPOCH + 1, 1).unwrap_err().code, Code::TermsExhausted);
        assert_eq!(Token::new(i64::MAX, i64::MAX).unwrap_err().code, Code::TermsExhausted);
        for (epoch, seq) in [(0, 1), (1, 0), (-1, 1), (1, -1), (i64::MIN, 1)] {
            assert_eq!(Token::new(epoch, seq).unwrap_err().code, Code::InvalidParameter);
        }
    }

    #[test]
    fn what_no_pair_can_make_is_no_token() {
        for value in [0, -1, i64::MIN, MAX_SEQ, 1 << SEQ_BITS] {
            assert_eq!(Token::from_bigint(value), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn packing_is_reversible(epoch in 1..=MAX_EPOCH, seq in 1..=MAX_SEQ) {
            let token = Token::new(epoch, seq).unwrap();
            prop_assert!(token.to_bigint() > 0);
            prop_assert_eq!((token.epoch(), token.seq()), (epoch, seq));
            prop_assert_eq!(Token::from_bigint(token.to_bigint()), Some(token));
        }

        #[test]
        fn integer_order_is_the_order_of_terms(
            a in (1..=MAX_EPOCH, 1..=MAX_SEQ), b in (1..=MAX_EPOCH, 1..=MAX_SEQ),
        ) {
            let (x, y) = (Token::new(a.0, a.1).unwrap(), Token::new(b.0, b.1).unwrap());
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(x.to_bigint().cmp(&y.to_bigint()), a.cmp(&b));
        }

        #[test]
        fn any_bigint_reads_back_or_is_refused(value: i64) {
            if let Some(token) = Token::from_bigint(value) {
                prop_assert_eq!(Token::new(token.epoch(), token.seq()).unwrap().to_bigint(), value);
            }
        }
    }
}
