//! Tokens as numbers: packing, unpacking, showing.

use super::token;
use crate::pg::entry::{Answer, Args};
use crate::pg::text;
use crate::pg::value::Value;
use fencing_core::{Code, Error, Token};

/// A token as the first argument, or LF013.
pub fn token_argument(args: &Args) -> Result<Token, Error> {
    let value = token(args)?;
    Token::from_bigint(value).ok_or_else(|| {
        Error::new(Code::InvalidPresentation, format!("{value} is not a fencing token"))
            .detail("A token is a positive bigint of an epoch and a sequence number, both from 1.")
    })
}

/// `epoch_of(token)`
pub fn epoch_of(args: &Args) -> Result<Answer<'static>, Error> {
    Ok(Answer::One(Value::BigInt(token_argument(args)?.epoch())))
}

/// `seq_of(token)`
pub fn seq_of(args: &Args) -> Result<Answer<'static>, Error> {
    Ok(Answer::One(Value::BigInt(token_argument(args)?.seq())))
}

/// `make_token(epoch, seq)`
pub fn make_token(args: &Args) -> Result<Answer<'static>, Error> {
    let epoch = args.bigint(0).ok_or_else(|| Error::null("epoch"))?;
    let seq = args.bigint(1).ok_or_else(|| Error::null("seq"))?;
    Ok(Answer::One(Value::BigInt(Token::new(epoch, seq)?.to_bigint())))
}

/// `format_token(token)`
pub fn format_token(args: &Args) -> Result<Answer<'static>, Error> {
    Ok(Answer::One(Value::Raw(text::datum_of_str(&token_argument(args)?.to_string()))))
}
