//! `report`: a holder's or an operator's own evidence. It gives no authority and takes none.

use super::required;
use super::tokens::token_argument;
use crate::pg::entry::{Answer, Args};
use crate::pg::{role, text, xact};
use crate::store::event::{self, Event};
use crate::store::namespace::{self, Privilege};
use crate::store::term;
use fencing_core::{Code, Error, name};

/// `report(token, kind, detail)`
pub fn report(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.report()");
    let token = token_argument(args)?;
    let kind = required(args, 1, "kind")?;
    let detail = args.raw(2).ok_or_else(|| Error::null("detail"))?;
    name::check_kind(&kind)?;
    // SAFETY: the declaration was checked: a jsonb, which is stored as a text is.
    name::check_detail(unsafe { text::with_bytes(detail, <[u8]>::len) })?;
    let Some(term) = term::read(token) else {
        return Err(Error::new(Code::UnknownTerm, "unknown term")
            .detail(format!("{} was never issued as a token.", token.to_bigint())));
    };
    let namespace = namespace::by_id(term.lease.namespace);
    let user = role::asking_user();
    let administers = || namespace.as_ref().is_some_and(|n| namespace::permits(n, user, &[Privilege::Administer]));
    if !role::is_member(user, term.role) && !administers() {
        return Err(namespace::another_roles(&term.lease, token));
    }
    let event = Event { kind: &kind, lease: Some(&term.lease), token: Some(token), detail: &[] };
    event::record_report(&event, detail);
    Ok(Answer::Void)
}
