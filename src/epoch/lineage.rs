//! Lineage: which server this is, among all the copies of it that there may be.

use crate::pg::server;
use fencing_core::lineage::Lineage;

/// The running server.
pub fn actual() -> Lineage {
    server::lineage()
}
