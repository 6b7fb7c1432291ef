//! What a holder does with its term: renewing, releasing, asking what became of it.
//!
//! Both writes touch only the term they name, take no fence lock and never wait: what can't be
//! decided at once is `indeterminate`.

use super::token;
use crate::pg::entry::{Answer, Args};
use crate::pg::table::Written;
use crate::pg::value::Value;
use crate::pg::{clock, role, xact};
use crate::store::lease::{self, Lease};
use crate::store::namespace;
use crate::store::term::{self, Term};
use crate::store::{LeaseId, epoch};
use crate::transaction;
use fencing_core::admission::Rejection;
use fencing_core::epoch::Coordinator;
use fencing_core::lease::{EndReason, Standing, standing};
use fencing_core::time::{Instant, coordinator_time, trust_for};
use fencing_core::{Error, Token, name};

/// A term with its lease, as they are now.
struct Holding {
    term: Term,
    lease: Option<Lease>,
    now: Instant,
    standing: Standing,
}

/// Looks a token up. A row that is changing is read before its change.
fn look_up(value: i64) -> Option<Holding> {
    let term = term::read(Token::from_bigint(value)?)?;
    let lease = lease::read(&term.lease);
    let record = lease.as_ref().map(|l| &l.record);
    let now = coordinator_time(clock::now(), record.map(|r| r.renewed_at));
    // Where the coordinator is closed, no epoch is the open one.
    let open = match epoch::coordinator() {
        Some(Coordinator::Open(open)) => open,
        _ => 0,
    };
    let standing = standing(Some(&term.record), record, open, now);
    Some(Holding { standing, term, lease, now })
}

/// LF008 unless the caller is the term's role or a member of it.
fn require_own(holding: &Holding) -> Result<(), Error> {
    if role::is_member(role::outer_user(), holding.term.role) {
        return Ok(());
    }
    let id: &LeaseId = &holding.term.lease;
    let name = namespace::by_id(id.namespace).map_or_else(|| "?".to_owned(), |n| n.name.clone());
    let token = holding.term.record.token;
    Err(Rejection::NotAuthorized(token).error(&id.describe(&name), None))
}

/// `renew(token, ttl)`
pub fn renew(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.renew()");
    let value = token(args)?;
    let asked = args.interval(1).map(|ttl| name::check_ttl("ttl", ttl, i64::MAX).map(|_| ttl)).transpose()?;
    let statement_start = clock::statement_start();
    let over = |status: &'static str| {
        Ok(Answer::Record(vec![Value::Text(status.as_bytes()), Value::Null, Value::Null, Value::Null]))
    };
    loop {
        let Some(holding) = look_up(value) else { return over(Standing::Unknown.as_str()) };
        require_own(&holding)?;
        let (Standing::Current, Some(lease)) = (holding.standing, &holding.lease) else {
            return over(holding.standing.as_str());
        };
        if lease.busy().is_some() {
            return over("indeterminate");
        }
        let ttl = match asked {
            Some(asked) => {
                let namespace = namespace::by_id(holding.term.lease.namespace);
                name::check_ttl("ttl", asked, namespace.map_or(i64::MAX, |n| n.policy.max_ttl))?
            }
            None => lease.ttl,
        };
        let expires_at = holding.now + ttl;
        match lease::renew(lease, holding.now, expires_at) {
            Written::Done => {
                return Ok(Answer::Record(vec![
                    Value::Text(b"renewed"),
                    Value::Time(expires_at),
                    Value::Span(trust_for(expires_at, statement_start, ttl)),
                    Value::Bool(false),
                ]));
            }
            Written::Busy => return over("indeterminate"),
            Written::Changed => {}
        }
    }
}

/// `release(token)`
pub fn release(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.release()");
    let value = token(args)?;
    let status = |s: &'static str| Ok(Answer::One(Value::Text(s.as_bytes())));
    loop {
        let Some(holding) = look_up(value) else { return status(Standing::Unknown.as_str()) };
        require_own(&holding)?;
        let (Standing::Current, Some(lease)) = (holding.standing, &holding.lease) else {
            return status(holding.standing.as_str());
        };
        if lease.busy().is_some() {
            return status("indeterminate");
        }
        match lease::end(lease, EndReason::Released, holding.now) {
            Written::Done => {}
            Written::Busy => return status("indeterminate"),
            Written::Changed => continue,
        }
        let end = term::End {
            reason: EndReason::Released,
            by: Some(role::outer_user()),
            at: holding.now,
            observed_at: holding.now,
        };
        if term::close(&holding.term, &lease.record, Some(&end), None) != Written::Done {
            return Err(Error::new(fencing_core::Code::LockNotAvailable, "the term's row is locked")
                .hint("Somebody has locked rows of the extension's tables by hand. Try again once that transaction has ended."));
        }
        transaction::with(|t| t.fences.distrust(&holding.term.lease));
        transaction::distrust_verdicts();
        return status(Standing::Released.as_str());
    }
}

/// `check_token(token)`: advisory; only a guard or `assert_current` decides.
pub fn check_token(args: &Args) -> Result<Answer<'static>, Error> {
    let standing = look_up(token(args)?).map_or(Standing::Unknown, |holding| holding.standing);
    Ok(Answer::One(Value::Text(standing.as_str().as_bytes())))
}
