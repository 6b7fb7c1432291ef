//! `maintain(reason)`: this transaction writes past every guard, and says so.

use super::present::without_effect;
use crate::pg::entry::{Answer, Args};
use crate::pg::{mutant, role, xact};
use crate::store::event::{self, Event};
use crate::transaction::maintenance;
use fencing_core::{Code, Error, name};

/// SQL: `fencing.maintain(reason)`.
pub fn maintain(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.maintain()");
    let reason = args.string(0).ok_or_else(|| Error::null("reason"))?;
    name::check_reason(&reason)?;
    require_superuser()?;
    if without_effect("maintain", "BEGIN first.") {
        return Ok(Answer::Void);
    }
    event::record(&Event { kind: "maintenance", lease: None, token: None, detail: &[("reason", &reason)] });
    maintenance::begin();
    Ok(Answer::Void)
}

/// The session's own role decides, so that no SECURITY DEFINER function lends the right; and so does
/// the role whose rights apply, so that a superuser who merely touches somebody's table (whose
/// triggers and index expressions then run) gives nothing away.
fn require_superuser() -> Result<(), Error> {
    let superuser = role::is_superuser(role::outer_user()) && role::is_superuser(role::current_user());
    if superuser || mutant::without("superuser") {
        return Ok(());
    }
    Err(Error::new(Code::InsufficientPrivilege, "must be superuser to write past guards").detail(
        "Both the session's role and the one whose rights apply must be: no SECURITY DEFINER function lends it.",
    ))
}
