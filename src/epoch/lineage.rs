//! Lineage: which server this is, among all the copies of it that there may be.

use crate::pg::server;
use fencing_core::lineage::Lineage;

/// The running server. Not in recovery, where the timeline isn't settled.
pub fn actual() -> Lineage {
    Lineage {
        system_identifier: server::system_identifier(),
        timeline: server::timeline(),
        database: server::database().to_u32(),
        fingerprint: server::fingerprint(),
        lsn: server::insert_lsn(),
    }
}
