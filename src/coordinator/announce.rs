//! `NOTIFY fencing`: word of what happens to the leases of a namespace that asked for it.

use crate::pg::{notify, text};
use crate::store::LeaseId;
use crate::store::namespace::Namespace;
use fencing_core::{Token, json};

/// Announces an event (granted, released, revoking, revoked) with this transaction's commit, if the
/// namespace has `notify`. Everyone who is connected may listen: no holder, no purpose.
pub fn announce(namespace: &Namespace, lease: &LeaseId, token: Token, event: &str) {
    if namespace.notify {
        let members = [
            ("event", event),
            ("namespace", &namespace.name),
            ("key", &text::from_server(&lease.key)),
            ("token", &token.to_bigint().to_string()),
        ];
        notify::send(c"fencing", &json::object(&members));
    }
}
