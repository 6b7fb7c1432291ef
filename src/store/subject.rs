//! A lease with its namespace: what a write is checked for.

use super::LeaseId;
use super::namespace::Namespace;
use fencing_core::lease::ExpiryRule;
use std::rc::Rc;

/// A lease with its namespace.
pub struct Subject {
    /// Its identity.
    pub lease: LeaseId,
    /// What expiry means to its guards: that of its namespace.
    pub on_expiry: ExpiryRule,
    /// Its namespace.
    pub namespace: Rc<Namespace>,
}

impl Subject {
    /// Of that lease, which must be one of that namespace.
    pub fn new(namespace: Rc<Namespace>, lease: LeaseId) -> Rc<Subject> {
        Rc::new(Subject { lease, on_expiry: namespace.policy.on_expiry, namespace })
    }

    /// `namespace/key`
    pub fn describe(&self) -> String {
        self.lease.describe(&self.namespace.name)
    }
}
