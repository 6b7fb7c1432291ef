//! Unclean starts: draws, and whole transactions, may have been lost, as after a crash; or the data
//! directory was put back from a copy that nothing else tells from the original.

use super::issue;
use crate::pg::snapshot::Latest;
use crate::pg::{mutant, server};
use crate::store::clean_start::{self, State};
use crate::store::epoch;
use crate::store::term::Terms;
use fencing_core::Error;
use fencing_core::epoch::after_unclean_start;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, PostgresGucEnum};

/// What an unclean start is answered with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PostgresGucEnum)]
pub enum OnUncleanStart {
    /// The sequence moves on before the first grant.
    #[name = c"continue"]
    Continue,
    /// The coordinator is closed until an epoch is opened.
    #[name = c"closed"]
    Closed,
}

static ON_UNCLEAN_START: GucSetting<OnUncleanStart> = GucSetting::<OnUncleanStart>::new(OnUncleanStart::Continue);

/// Defines `fencing.on_unclean_start`.
pub fn define_settings() {
    GucRegistry::define_enum_guc(
        c"fencing.on_unclean_start",
        c"What follows on a start of the server after a crash, or from a physical copy.",
        c"continue: before the first grant the sequence moves on past whatever may have been lost. closed: nothing is granted, and nothing written under a token, until an epoch is opened.",
        &ON_UNCLEAN_START,
        GucContext::Sighup,
        GucFlags::default(),
    );
}

/// `fencing.on_unclean_start`
pub fn policy() -> OnUncleanStart {
    ON_UNCLEAN_START.get()
}

/// The same, where anything depends on it now.
pub fn policy_in_use() -> Option<OnUncleanStart> {
    (clean_start::state() == State::Unclean).then(policy)
}

/// Whether an unclean start, or not knowing of any, closes the coordinator.
pub fn closes() -> bool {
    match clean_start::state() {
        State::Clean => false,
        State::Unclean => policy() == OnUncleanStart::Closed && clean_start::state_now() == State::Unclean,
        State::Logged => true,
    }
}

/// Before anything is granted after an unclean start: the sequence moves on, once, and then the start is
/// as good as a clean one. All of that is for good, whatever becomes of this transaction.
pub fn settle(open: i64) -> Result<(), Error> {
    if mutant::without("unclean_start") || clean_start::state_now() != State::Unclean {
        return Ok(());
    }
    issue::exclusively(|last| {
        // Somebody else may have been faster. What has lost more than a crash loses is not mended so.
        let now = Latest::take();
        let behind = || issue::is_behind(open, epoch::floor(open), last, &Terms::to_write(), &now);
        if clean_start::state_now() == State::Unclean && !behind() {
            issue::pass_over(open, after_unclean_start(last, u64::from_ne_bytes(server::random())));
            clean_start::note_at_once();
        }
    })
}
