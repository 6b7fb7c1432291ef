//! `install_epoch`: from now on this destination takes a coordinator's tokens of one epoch, and of no
//! other.

use super::register::{require_authority, shut};
use crate::pg::entry::{Answer, Args};
use crate::pg::{report, xact};
use crate::store::event::{self, Event};
use crate::store::{clean_start, coordinator, epoch};
use fencing_core::remote::{Installation, install};
use fencing_core::{Code, Error};

/// `install_epoch(coordinator, epoch, identity)`
pub fn install_epoch(args: &Args) -> Result<Answer<'static>, Error> {
    xact::require_writable(c"fencing.install_epoch()");
    let name = args.string(0).ok_or_else(|| Error::null("coordinator"))?;
    let number = args.bigint(1).ok_or_else(|| Error::null("epoch"))?;
    let identity = args.raw(2).ok_or_else(|| Error::null("identity"))?;
    require_authority()?;
    // A typo is told before anything is locked.
    coordinator::require(&name)?;
    shut(&name)?;
    let coordinator = coordinator::require(&name)?;
    let text = number.to_string();
    let detail = [("coordinator", name.as_str()), ("epoch", &text)];
    match install(coordinator.installed(), number, coordinator::uuid(identity))? {
        Installation::Same => {}
        Installation::New => {
            coordinator::install(&name, number, identity)?;
            if epoch::last().is_none() {
                // Nothing else depends on what an unclean start may have lost.
                clean_start::note();
            }
            event::record(&Event { kind: "epoch_installed", lease: None, token: None, detail: &detail });
        }
        // No error: that would undo what closes the destination.
        Installation::Conflict => {
            coordinator::conflict(&name)?;
            event::record(&Event { kind: "epoch_conflict", lease: None, token: None, detail: &detail });
            let message = format!("destination is closed to coordinator \"{name}\"");
            report::warning(
                &Error::new(Code::Warning, message)
                    .detail(format!("Epoch {number} is installed with another identity: somebody has opened it twice."))
                    .hint("Find out which tokens were issued under which identity, and install a newer epoch."),
            );
        }
    }
    Ok(Answer::Void)
}
