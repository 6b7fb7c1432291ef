//! What a holder does with its term: renewing, releasing, asking what became of it.
//!
//! Both writes touch only the term they name, take no fence lock and never wait: what can't be
//! decided at once is `indeterminate`.

use super::announce::announce;
use super::token;
use crate::epoch::history;
use crate::pg::entry::{Answer, Args};
use crate::pg::lock::{self, Mode, Tag};
use crate::pg::table::Written;
use crate::pg::value::Value;
use crate::pg::{clock, role, xact};
use crate::store::lease::{Lease, Leases};
use crate::store::namespace;
use crate::store::term::{self, Term};
use crate::store::{LeaseId, epoch};
use crate::transaction;
use fencing_core::lease::{EndReason, Standing, standing};
use fencing_core::name::Interval;
use fencing_core::time::{Instant, trust_for};
use fencing_core::{Error, Token, name};

/// A term with its lease, as they are now.
pub struct Holding {
    /// The term.
    pub term: Term,
    /// Its lease.
    pub lease: Option<Lease>,
    /// Coordinator time.
    pub now: Instant,
    /// What has become of it.
    pub standing: Standing,
}

/// What has become of a term. A change that is not committed yet has not happened.
fn look_up(term: Term, leases: &Leases) -> Holding {
    let lease = leases.read(&term.lease);
    holding(term, lease, epoch::open_number())
}

/// A term that was read before its lease; `open` is the open epoch's number.
pub fn holding(mut term: Term, lease: Option<Lease>, open: i64) -> Holding {
    let record = lease.as_ref().map(|l| &l.record);
    // The term may have ended between the two reads; the lease's row, read last, knows.
    let token = term.record.token;
    if !record.is_some_and(|r| r.token == token && r.ended.is_none()) {
        term = term::read(token).unwrap_or(term);
    }
    let now = clock::of_lease(record);
    let standing = standing(Some(&term.record), record, open, now);
    Holding { standing, term, lease, now }
}

/// The term of that token.
fn term_of(value: i64) -> Option<Term> {
    Token::from_bigint(value).and_then(term::read)
}

/// LF008 unless the caller is the term's role or a member of it.
fn require_own(term: &Term) -> Result<(), Error> {
    if term::is_own(term.record.token, term.role, role::asking_user()) {
        return Ok(());
    }
    Err(namespace::another_roles(&term.lease, term.record.token))
}

/// A term that is current, with its heartbeat locked against every other writer of it; otherwise what
/// to answer.
fn lock_current(value: i64) -> Result<Result<(Holding, Lease, Leases), &'static str>, Error> {
    let Some(term) = term_of(value) else {
        history::witness(&[value], None);
        return Ok(Err(Standing::Unknown.as_str()));
    };
    require_own(&term)?;
    // While the gate is shut for an epoch, no term's end can be told without waiting.
    if !lock::try_write_leases() {
        return Ok(Err(INDETERMINATE));
    }
    let found = lock_heartbeat(term);
    if found.is_err() {
        lock::leave_leases();
    }
    Ok(found)
}

fn lock_heartbeat(term: Term) -> Result<(Holding, Lease, Leases), &'static str> {
    let leases = Leases::locked();
    let heartbeat = Tag::heartbeat(term.lease.hash);
    if !heartbeat.try_lock(Mode::Exclusive) {
        // Somebody may be taking over a term that is over anyway.
        let standing = look_up(term, &leases).standing;
        return Err(if standing == Standing::Current { INDETERMINATE } else { standing.as_str() });
    }
    let mut holding = look_up(term, &leases);
    match holding.lease.take().filter(|_| holding.standing == Standing::Current) {
        Some(lease) => Ok((holding, lease, leases)),
        None => {
            heartbeat.unlock(Mode::Exclusive);
            Err(holding.standing.as_str())
        }
    }
}

/// What can't be decided without waiting for another session.
pub const INDETERMINATE: &str = "indeterminate";

/// The ttl that a renewal asks for.
pub fn asked_ttl(args: &Args) -> Result<Option<Interval>, Error> {
    args.interval(1).map(|ttl| name::check_any_ttl("ttl", ttl).map(|_| ttl)).transpose()
}

/// Until when a renewal makes the term last: for the ttl that was asked for, or its own as far as the
/// namespace allows it now; not beyond an announced revocation.
pub fn renewed_until(lease: &Lease, id: &LeaseId, asked: Option<Interval>, now: Instant) -> Result<Instant, Error> {
    let max_ttl = namespace::by_id(id.namespace).map_or(name::LONGEST, |n| n.policy.max_ttl);
    let ttl = asked.map_or(Ok(lease.ttl.min(max_ttl)), |asked| name::check_ttl("ttl", asked, max_ttl))?;
    if ttl > lease.ttl {
        // After a crash that lost it, the lease is kept back for its own ttl alone.
        transaction::with(|t| t.durable = true);
    }
    Ok((now + ttl).min(lease.record.revoke_at))
}

/// `renew(token, ttl)`
pub fn renew(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.renew()");
    let value = token(args)?;
    let asked = asked_ttl(args)?;
    let statement_start = clock::statement_start();
    let over = |status: &'static str| {
        Ok(Answer::Record(vec![Value::Text(status.as_bytes()), Value::Null, Value::Null, Value::Null]))
    };
    let (holding, lease, leases) = match lock_current(value)? {
        Ok(found) => found,
        Err(status) => return over(status),
    };
    let expires_at = renewed_until(&lease, &holding.term.lease, asked, holding.now)?;
    match leases.renew(&lease, holding.now, expires_at) {
        Written::Done => Ok(Answer::Record(vec![
            Value::Text(b"renewed"),
            Value::Time(expires_at),
            Value::Span(trust_for(expires_at, statement_start, expires_at - holding.now)),
            Value::Bool(lease.handover_requested),
        ])),
        Written::Busy | Written::Changed => over(undecided(&holding)),
    }
}

/// A batch of renewals has the row open. Whoever could not decide stands in nobody's way.
fn undecided(holding: &Holding) -> &'static str {
    Tag::heartbeat(holding.term.lease.hash).unlock(Mode::Exclusive);
    INDETERMINATE
}

/// `release(token)`
pub fn release(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.release()");
    let value = token(args)?;
    let status = |s: &'static str| Ok(Answer::One(Value::Text(s.as_bytes())));
    let (holding, lease, leases) = match lock_current(value)? {
        Ok(found) => found,
        Err(answer) => return status(answer),
    };
    let namespace = namespace::by_id(holding.term.lease.namespace);
    let written = match &namespace {
        Some(namespace) if namespace.ephemeral => leases.remove(&lease),
        _ => leases.end(&lease, EndReason::Released, holding.now),
    };
    if written != Written::Done {
        return status(undecided(&holding));
    }
    let by = Some(role::outer_user());
    let end = term::End { reason: EndReason::Released, by, at: holding.now, observed_at: holding.now };
    term::close(&holding.term, &lease.record, Some(&end), None).required("the term's row is locked")?;
    transaction::with(|t| t.fences.distrust(&holding.term.lease));
    transaction::distrust_verdicts();
    if let Some(namespace) = namespace {
        announce(&namespace, &holding.term.lease, holding.term.record.token, "released");
    }
    status(Standing::Released.as_str())
}

/// `check_token(token)`: advisory; only a guard or `assert_current` decides.
pub fn check_token(args: &Args) -> Result<Answer<'static>, Error> {
    let standing = term_of(token(args)?).map_or(Standing::Unknown, |term| look_up(term, &Leases::to_read()).standing);
    Ok(Answer::One(Value::Text(standing.as_str().as_bytes())))
}
