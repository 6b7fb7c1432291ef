//! Lineage: which server this is, among all the copies of it that there may be.

use super::{history, issue};
use crate::guard;
use crate::pg::entry::{Answer, Args};
use crate::pg::snapshot::Latest;
use crate::pg::value::Value;
use crate::pg::{extension, sequence, server, text, xact};
use crate::store::clean_start::{self, State};
use crate::store::epoch::{self, Recorded};
use crate::store::term::Terms;
use fencing_core::Error;
use fencing_core::epoch::State as EpochState;
use fencing_core::json;
use fencing_core::lineage::{Finding, Lineage, describe, differences, verdict};

/// Why the coordinator is closed (`LF006`), for a DETAIL.
pub fn why_closed() -> String {
    let Some(recorded) = epoch::latest() else { return "No epoch was ever opened.".to_owned() };
    let actual = server::lineage();
    let differences = differences(&recorded.lineage, &actual);
    if !differences.is_empty() {
        let what = describe(&differences, &recorded.lineage, &actual);
        return format!(
            "This server is not the one on which the epoch was opened: it was restored, cloned or promoted. {what}"
        );
    }
    match clean_start::state_now() {
        State::Logged => {
            "Table fencing.clean_start is not unlogged: whether the server started uncleanly can't be known. Make it so again: ALTER TABLE fencing.clean_start SET UNLOGGED."
        }
        State::Unclean | State::Clean => "The server started uncleanly, and may have lost history.",
    }
    .to_owned()
}

/// `lineage()`: one row.
pub fn lineage(_: &Args) -> Result<Answer<'static>, Error> {
    xact::require_primary(c"fencing.lineage()");
    extension::catch_up();
    // Terms first: what is drawn after them may be committed meanwhile. Then the sequence, which may have to be
    // waited for: the next epoch may begin it anew.
    let terms = Latest::take();
    let last = issue::last_so_far()?;
    let (recorded, actual) = (epoch::latest(), server::lineage());
    let is_behind = recorded.as_ref().map_or(Ok(false), |recorded| is_behind(recorded, last, &terms))?;
    let findings = findings(recorded.as_ref(), &actual, is_behind);
    let json = |parts: &[(&str, String)]| Value::Raw(text::jsonb_of(&object(parts)));
    let of_epoch = |recorded: &Recorded| {
        let mut parts = vec![("epoch", recorded.epoch.to_string()), ("state", recorded.state.as_str().to_owned())];
        parts.extend(recorded.lineage.parts());
        json(&parts)
    };
    Ok(Answer::Record(vec![
        recorded.as_ref().map_or(Value::Null, of_epoch),
        json(&actual.parts()),
        Value::Raw(text::datum_of_str(&verdict(&findings))),
    ]))
}

fn is_behind(recorded: &Recorded, last: i64, terms: &Latest) -> Result<bool, Error> {
    let floor = recorded.floor();
    // What was passed over meanwhile moved the sequence before it left its mark.
    let last = if floor > last { issue::last_so_far()? } else { last };
    Ok(issue::is_behind(recorded.epoch, floor, last, &Terms::to_write(), terms))
}

/// Parts of a lineage as JSON.
pub fn object(parts: &[(&str, String)]) -> String {
    json::object(&parts.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>())
}

fn findings(recorded: Option<&Recorded>, actual: &Lineage, is_behind: bool) -> Vec<Finding> {
    let Some(recorded) = recorded else { return vec![Finding::NoEpoch] };
    let mut findings: Vec<_> = differences(&recorded.lineage, actual).into_iter().map(Finding::Differs).collect();
    if clean_start::state_now() != State::Clean {
        findings.push(Finding::UncleanStart);
    }
    if is_behind {
        findings.push(Finding::SequenceBehind);
    }
    if sequence::is_altered(extension::oids().term_seq) {
        findings.push(Finding::SequenceAltered);
    }
    if history::is_lost(recorded) {
        findings.push(Finding::HistoryLost);
    }
    if recorded.state != EpochState::Open || guard::any_blocked() {
        findings.push(Finding::TransitionUnderWay);
    }
    findings
}
