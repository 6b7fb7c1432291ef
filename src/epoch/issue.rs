//! Issuing: the numbers of terms, drawn from the sequence so that none comes twice.

use super::unclean;
use crate::pg::lock::{Mode, Tag};
use crate::pg::snapshot::Latest;
use crate::pg::{extension, mutant, sequence};
use crate::store::term;
use fencing_core::token::{MAX_SEQ, SEQ_BITS};
use fencing_core::{Code, Error, Token};

/// Draws the next token of the open epoch, with the LSN up to which WAL must be flushed before anyone
/// outside may learn of it. `None` where history was lost: the sequence stands below what was granted.
pub fn draw(open: i64) -> Result<Option<(Token, u64)>, Error> {
    unclean::settle(open);
    // What is drawn after this may be committed before the look at the terms, which doesn't see it.
    let before = Latest::take();
    let drawn = locked(Mode::Shared, |last| {
        if is_behind(open, last, &before) {
            return Ok(None);
        }
        let (seq, lsn) = sequence::draw(extension::oids().term_seq).ok_or_else(exhausted)?;
        // Somebody may have moved it back just now, or has given it a cache.
        Ok(Some((seq, lsn)).filter(|_| seq > last || mutant::without("drawn_behind")))
    });
    match drawn? {
        Some((seq, lsn)) => Ok(Some((Token::new(open, seq)?, lsn))),
        None => Ok(None),
    }
}

/// Does something with the sequence, whose last number it is given, under the issue lock.
fn locked<T>(mode: Mode, body: impl FnOnce(i64) -> T) -> T {
    let sequence = extension::oids().term_seq;
    if mutant::without("issue") {
        return body(sequence::last_drawn(sequence));
    }
    let issue = Tag::issue();
    issue.lock(mode);
    let result = body(sequence::last_drawn(sequence));
    issue.unlock(mode);
    result
}

fn exhausted() -> Error {
    Error::new(Code::TermsExhausted, "fencing terms are exhausted")
        .detail(format!("The sequence has reached {MAX_SEQ}."))
}

/// Whether a term was committed that is above the sequence's last number, as that was after the snapshot.
pub fn is_behind(open: i64, last: i64, before: &Latest) -> bool {
    !mutant::without("sequence_behind") && term::any_above(open << SEQ_BITS | last, before)
}

/// Does something with the sequence, whose last number it is given, while nobody draws.
pub fn exclusively<T>(body: impl FnOnce(i64) -> T) -> T {
    locked(Mode::Exclusive, body)
}

/// Passes over every number up to this one, for good. Within [`exclusively`], and never back.
pub fn pass_over(seq: i64) {
    sequence::pass_over(extension::oids().term_seq, seq);
}
