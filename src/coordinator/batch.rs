//! `renew_all`: many heartbeats in one statement, each answered as `renew` would.
//!
//! A batch locks no more than the rows that it renews, so that its size is bounded by no lock table.
//! Where another transaction has a row open, it says `indeterminate` and goes on; to everyone else it
//! is such a transaction itself until it commits.

use super::terms::{Holding, INDETERMINATE, asked_ttl, holding, renewed_until};
use crate::epoch::history;
use crate::pg::entry::{Answer, Args};
use crate::pg::table::Written;
use crate::pg::value::Value;
use crate::pg::{clock, lock, memory, role, xact};
use crate::store::lease::Batch;
use crate::store::{epoch, term};
use fencing_core::lease::Standing;
use fencing_core::name::Interval;
use fencing_core::time::{Instant, Span, trust_for};
use fencing_core::{Error, Token};

/// So many terms are renewed before what was read of them is forgotten, and anybody who wants to
/// cancel the statement is heard.
const CHUNK: usize = 1000;

/// What became of one token.
#[derive(Clone, Copy)]
enum Outcome {
    Renewed { expires_at: Instant, trust_for: Span, handover_requested: bool },
    Over(&'static str),
}

/// `renew_all(tokens, ttl)`: one row for each token, in their order.
pub fn renew_all(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.renew_all()");
    let null = || Error::null("tokens");
    let tokens: Vec<i64> = args.bigints(0).and_then(|tokens| tokens.into_iter().collect()).ok_or_else(null)?;
    let asked = asked_ttl(args)?;
    // Each once, in the order in which they are stored.
    let mut distinct = tokens.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let outcomes = renew_each(&distinct, asked)?;
    let outcome = |token: &i64| distinct.binary_search(token).map_or(Outcome::Over(INDETERMINATE), |n| outcomes[n]);
    Ok(Answer::Set(tokens.iter().map(|token| row(*token, outcome(token))).collect()))
}

fn renew_each(tokens: &[i64], asked: Option<Interval>) -> Result<Vec<Outcome>, Error> {
    let statement_start = clock::statement_start();
    // Who has no term is kept waiting by no epoch, and keeps none waiting.
    let terms = term::Reader::new();
    if !tokens.iter().any(|token| memory::transient(|| own_term(*token, &terms).is_some())) {
        history::witness(tokens, None);
        return Ok(vec![Outcome::Over(Standing::Unknown.as_str()); tokens.len()]);
    }
    // While the gate is shut for an epoch, no term's end can be told without waiting.
    if !lock::try_write_leases() {
        return Ok(vec![Outcome::Over(INDETERMINATE); tokens.len()]);
    }
    let open = epoch::open_number();
    let mut outcomes = Vec::with_capacity(tokens.len());
    for some in tokens.chunks(CHUNK) {
        pgrx::check_for_interrupts!();
        // Terms first: where one has ended since, its lease's row, read after it, knows.
        let terms = term::Reader::new();
        let leases = Batch::new();
        memory::transient(|| {
            for token in some {
                outcomes.push(renew_one(*token, asked, open, statement_start, &terms, &leases)?);
            }
            Ok::<_, Error>(())
        })?;
    }
    if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Renewed { .. })) {
        xact::next_command();
    } else {
        // Who has renewed nothing keeps no epoch waiting.
        lock::leave_leases();
    }
    let unknown = |outcome: &Outcome| matches!(outcome, Outcome::Over(status) if *status == Standing::Unknown.as_str());
    let never_issued: Vec<_> = tokens.iter().zip(&outcomes).filter(|(_, o)| unknown(o)).map(|(t, _)| *t).collect();
    if !never_issued.is_empty() {
        history::witness(&never_issued, None);
    }
    Ok(outcomes)
}

fn renew_one(
    token: i64,
    asked: Option<Interval>,
    open: i64,
    statement_start: Instant,
    terms: &term::Reader,
    leases: &Batch,
) -> Result<Outcome, Error> {
    let over = |standing: Standing| Ok(Outcome::Over(standing.as_str()));
    let Some(term) = own_term(token, terms) else { return over(Standing::Unknown) };
    let lease = leases.read(&term.lease);
    let Holding { term, lease, now, standing } = holding(term, lease, open);
    let Some(lease) = lease.filter(|_| standing == Standing::Current) else { return over(standing) };
    let expires_at = renewed_until(&lease, &term.lease, asked, now)?;
    Ok(match leases.renew(&lease, now, expires_at) {
        Written::Done => Outcome::Renewed {
            expires_at,
            trust_for: trust_for(expires_at, statement_start, expires_at - now),
            handover_requested: lease.handover_requested,
        },
        Written::Busy | Written::Changed => Outcome::Over(INDETERMINATE),
    })
}

/// The caller's term of that token. In a batch, another role's token is nobody's.
fn own_term(token: i64, terms: &term::Reader) -> Option<term::Term> {
    let own = |term: &term::Term| term::is_own(term.record.token, term.role, role::asking_user());
    Token::from_bigint(token).and_then(|token| terms.read(token)).filter(own)
}

fn row(token: i64, outcome: Outcome) -> Vec<Value<'static>> {
    let token = Value::BigInt(token);
    match outcome {
        Outcome::Renewed { expires_at, trust_for, handover_requested } => vec![
            token,
            Value::Text(b"renewed"),
            Value::Time(expires_at),
            Value::Span(trust_for),
            Value::Bool(handover_requested),
        ],
        Outcome::Over(status) => {
            vec![token, Value::Text(status.as_bytes()), Value::Null, Value::Null, Value::Null]
        }
    }
}
