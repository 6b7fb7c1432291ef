//! `present`, in its three forms: the rest of this transaction writes under these tokens.

use crate::pg::entry::{Answer, Args};
use crate::pg::{report, xact};
use crate::transaction::{self, presentation, stale};
use fencing_core::{Code, Error, name};

/// SQL: `fencing.present(token)`.
pub fn present(args: &Args) -> Result<Answer<'static>, Error> {
    let token = token(args.bigint(0))?;
    warn_if_alone("present");
    presentation::present(&[token])?;
    Ok(Answer::Void)
}

/// SQL: `fencing.present_all(tokens)`.
pub fn present_all(args: &Args) -> Result<Answer<'static>, Error> {
    let tokens = args.bigints(0).ok_or_else(|| invalid("NULL was presented.".to_owned()))?;
    let tokens = tokens.into_iter().map(token).collect::<Result<Vec<_>, _>>()?;
    warn_if_alone("present_all");
    presentation::present(&tokens)?;
    Ok(Answer::Void)
}

/// SQL: `fencing.present(namespace, key, token)`. Whatever the write can tell, it will.
pub fn present_for(args: &Args) -> Result<Answer<'static>, Error> {
    let token = token(args.bigint(2))?;
    let namespace = args.string(0).ok_or_else(|| Error::null("namespace"))?;
    let key = args.bytes(1).ok_or_else(|| Error::null("key"))?;
    name::check_key(&key)?;
    warn_if_alone("present");
    presentation::present_for(&namespace, &key, token)?;
    Ok(Answer::Void)
}

fn token(value: Option<i64>) -> Result<i64, Error> {
    let value = value.ok_or_else(|| invalid("NULL was presented.".to_owned()))?;
    if value > 0 { Ok(value) } else { Err(invalid(format!("{value} was presented; tokens are positive."))) }
}

fn invalid(detail: String) -> Error {
    Error::new(Code::InvalidPresentation, "not a fencing token").detail(detail)
}

fn warn_if_alone(function: &str) {
    let hint = "BEGIN first, or assign the token to the guard's inline column in the write itself.";
    without_effect(function, hint);
}

/// Whether a function that works for the rest of the transaction was called where there is no rest;
/// warns then. Within a function or a DO block there is one.
pub fn without_effect(function: &str, hint: &str) -> bool {
    let alone = !xact::in_block() && xact::called_by_client();
    if alone {
        let message = format!("fencing.{function}() has no effect outside a transaction block");
        report::warning(&Error::new(Code::NoActiveTransaction, message).hint(hint));
    }
    alone
}

/// `present_stale(to_rows, older_epoch)`: whatever guard asks now is told of a superseded term, or of one
/// of the epoch before.
pub fn present_stale(args: &Args) -> Result<Answer<'static>, Error> {
    let to_rows = args.bool(0).ok_or_else(|| Error::null("to_rows"))?;
    let older_epoch = args.bool(1).ok_or_else(|| Error::null("older_epoch"))?;
    let form = if to_rows { stale::Form::Rows } else { stale::Form::Transaction };
    let level = xact::nest_level();
    transaction::with(|t| t.stale.present(form, older_epoch, level));
    transaction::distrust_verdicts();
    Ok(Answer::Void)
}
