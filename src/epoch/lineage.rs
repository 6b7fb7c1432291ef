//! Lineage: which server this is, among all the copies of it that there may be.

use crate::pg::server;
use crate::store::epoch::Lineage;

/// The running server.
pub fn actual() -> Lineage {
    Lineage {
        system_identifier: server::system_identifier() as i64,
        timeline: i64::from(server::timeline()),
        database: server::database(),
        fingerprint: server::fingerprint(),
        lsn: server::insert_lsn(),
    }
}
