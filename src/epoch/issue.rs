//! Issuing: the numbers of terms, drawn from the sequence so that none comes twice.

use super::{gate, unclean};
use crate::pg::lock::{Mode, Tag};
use crate::pg::snapshot::Latest;
use crate::pg::{extension, mutant, sequence, server};
use crate::store::epoch;
use crate::store::term::Terms;
use crate::transaction;
use fencing_core::epoch::{first_seq, stride};
use fencing_core::time::Instant;
use fencing_core::token::{MAX_SEQ, SEQ_BITS};
use fencing_core::{Code, Error, Token};

/// Draws the next token of the open epoch, with the LSN up to which WAL must be flushed before anyone
/// outside may learn of it. `None` where history was lost: the sequence stands below what was granted.
pub fn draw(open: i64, terms: &Terms) -> Result<Option<(Token, u64)>, Error> {
    if transaction::with(|t| t.sequence_restarted) && !mutant::without("sequence_restarted") {
        return Err(Error::new(
            Code::ActiveTransaction,
            "cannot acquire a lease in the transaction that began the sequence anew",
        )
        .detail("Rolled back, it would take back numbers that are known already.")
        .hint("Commit the new epoch first."));
    }
    unclean::settle(open)?;
    let drawn = locked(Mode::Intent, |mut last| {
        // Somebody else may have drawn since, and may have committed.
        if may_be_behind(open, last, terms) {
            let before = Latest::take();
            last = last_drawn();
            if is_behind(open, epoch::floor(open), last, terms, &before) {
                return Ok(None);
            }
        }
        let (seq, lsn) = sequence::draw(extension::oids().term_seq).ok_or_else(exhausted)?;
        // Somebody may have moved it back just now, or has given it a cache.
        Ok(Some((seq, lsn)).filter(|_| seq > last || mutant::without("drawn_behind")))
    });
    match drawn?? {
        Some((seq, lsn)) => Ok(Some((Token::new(open, seq)?, lsn))),
        None => Ok(None),
    }
}

/// Does something with the sequence, whose last number it is given, under the issue lock.
fn locked<T>(mode: Mode, body: impl FnOnce(i64) -> T) -> Result<T, Error> {
    let held = || hold_sequence().map(|()| body(last_drawn()));
    if mutant::without("issue") {
        return held();
    }
    let issue = Tag::issue();
    issue.lock(mode);
    let result = held();
    issue.unlock(mode);
    result
}

/// Holds the sequence as drawing from it does, until the transaction ends; 55P03 where somebody is altering
/// it for longer than is waited for.
pub fn hold_sequence() -> Result<(), Error> {
    gate::take(&Tag::relation(extension::oids().term_seq), Mode::Intent, being_altered)?;
    // Whoever has altered it has put it into another file.
    if !mutant::without("sequence_moved") {
        extension::catch_up();
    }
    Ok(())
}

/// Its last number, for who holds it.
fn last_drawn() -> i64 {
    sequence::last_drawn(extension::oids().term_seq)
}

fn being_altered() -> Error {
    Error::new(Code::LockNotAvailable, "the sequence of tokens is in use")
        .hint("Try again once the other transaction has ended.")
}

/// The sequence's last number as of now, for who only wants to know: a transaction that goes on keeps nobody
/// from changing the sequence.
pub fn last_so_far() -> Result<i64, Error> {
    hold_sequence()?;
    let last = last_drawn();
    Tag::relation(extension::oids().term_seq).unlock(Mode::Intent);
    Ok(last)
}

/// The highest number that it gives: somebody may have altered that.
fn highest() -> i64 {
    sequence::highest(extension::oids().term_seq).min(MAX_SEQ)
}

fn exhausted() -> Error {
    let highest = highest();
    let error = Error::new(Code::TermsExhausted, "fencing terms are exhausted")
        .detail(format!("The sequence has reached {highest}."));
    if highest == MAX_SEQ {
        return error;
    }
    error.hint(format!("Its end was altered. ALTER SEQUENCE fencing.term_seq MAXVALUE {MAX_SEQ} puts that right."))
}

/// Whether it is worth a closer look if [`is_behind`]. Without a snapshot, as it usually is not.
fn may_be_behind(open: i64, last: i64, terms: &Terms) -> bool {
    epoch::floor(open) > last || terms.may_be_above(open << SEQ_BITS | last)
}

/// Whether a term was committed, or a number passed over, that is above the sequence's last number, as that
/// was after the snapshot and the floor.
pub fn is_behind(open: i64, floor: i64, last: i64, terms: &Terms, before: &Latest) -> bool {
    !mutant::without("sequence_behind") && (floor > last || terms.any_above(open << SEQ_BITS | last, before))
}

/// Does something with the sequence, whose last number it is given, while nobody draws.
pub fn exclusively<T>(body: impl FnOnce(i64) -> T) -> Result<T, Error> {
    locked(Mode::Exclusive, body)
}

/// Passes over every number of the epoch up to this one, for good: also where somebody sets the sequence
/// back. What is beyond its end isn't drawn either. Within [`exclusively`], and never back.
pub fn pass_over(epoch: i64, seq: i64) {
    let end = if mutant::without("pass_over_end") { i64::MAX } else { highest() };
    let seq = seq.min(end);
    // First: a crash in between leaves a sequence that goes on.
    sequence::pass_over(extension::oids().term_seq, seq);
    epoch::pass_over(epoch, seq);
}

/// How many numbers to pass over where a copy of this server may be about to go on from the same place.
pub fn random_stride() -> i64 {
    if mutant::without("stride") { 0 } else { stride(u64::from_ne_bytes(server::random())) }
}

/// Goes on elsewhere at the beginning of an epoch. Where no more numbers are left, the sequence begins anew:
/// the epoch comes first in the order.
pub fn move_on(now: Instant) -> Result<(), Error> {
    exclusively(|last| match last.saturating_add(random_stride()) {
        next if next < highest() => {
            sequence::pass_over(extension::oids().term_seq, next);
            Ok(())
        }
        _ => {
            let first = first(now, u64::from_ne_bytes(server::random()))?;
            if !mutant::without("sequence_alone") {
                gate::take(&Tag::relation(extension::oids().term_seq), Mode::Rewrite, being_altered)?;
            }
            sequence::restart_at(extension::oids().term_seq, first);
            transaction::with(|t| t.sequence_restarted = true);
            Ok(())
        }
    })?
}

/// Where it begins; LF012 where it ends before.
pub fn first(now: Instant, random: u64) -> Result<i64, Error> {
    Some(first_seq(now, random)).filter(|first| *first < highest()).ok_or_else(exhausted)
}
