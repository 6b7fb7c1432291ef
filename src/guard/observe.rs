//! `mode => 'observe'`: a violation is a warning and an event, and the write passes.

use crate::pg::report;
use crate::store::LeaseId;
use crate::store::event::{self, Event};
use fencing_core::Error;

/// Warns of a violation and records it, once for each kind while one statement of the client runs.
pub fn violation(error: &Error, lease: Option<&LeaseId>) {
    if report::warning_once(error) {
        let mut detail = vec![("sqlstate", error.code.sqlstate()), ("message", error.message.as_str())];
        detail.extend(error.detail.as_deref().map(|text| ("detail", text)));
        event::record(&Event { kind: "observed", lease, token: None, detail: &detail });
    }
}
