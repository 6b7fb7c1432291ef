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
    let issue = Tag::issue();
    issue.lock(Mode::Shared);
    let sequence = extension::oids().term_seq;
    // What is drawn after this may be committed before the look at the terms, which doesn't see it.
    let before = Latest::take();
    let last = sequence::last_drawn(sequence);
    let drawn = if is_behind(open, last, &before) {
        Ok(None)
    } else {
        sequence::draw(sequence).map(Some).ok_or_else(exhausted)
    };
    issue.unlock(Mode::Shared);
    // Somebody may have moved it back just now, or has given it a cache.
    match drawn?.filter(|(seq, _)| *seq > last) {
        Some((seq, lsn)) => Ok(Some((Token::new(open, seq)?, lsn))),
        None => Ok(None),
    }
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
    let issue = Tag::issue();
    issue.lock(Mode::Exclusive);
    let result = body(sequence::last_drawn(extension::oids().term_seq));
    issue.unlock(Mode::Exclusive);
    result
}

/// Passes over every number up to this one, for good. Within [`exclusively`], and never back.
pub fn pass_over(seq: i64) {
    sequence::pass_over(extension::oids().term_seq, seq);
}
