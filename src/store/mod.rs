//! The extension's rows, typed. Column numbers are those of `sql/tables.sql`.

pub mod clean_start;
pub mod coordinator;
pub mod epoch;
pub mod event;
pub mod fence;
pub mod guarded;
pub mod installation;
pub mod lease;
mod lineage;
pub mod namespace;
mod places;
pub mod remote_fence;
pub mod request;
pub mod subject;
pub mod term;

use fencing_core::hash::lock_hash;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::rc::Rc;

/// The identity of a lease.
#[derive(Clone, Eq, Debug)]
pub struct LeaseId {
    /// `namespace.id`
    pub namespace: i32,
    /// Its key, in the server's encoding.
    pub key: Rc<[u8]>,
    /// The hash that names its locks; it also finds it in this backend's maps.
    pub hash: u64,
}

/// A map by lease, which hashes nothing anew.
pub type LeaseMap<V> = HashMap<LeaseId, V, BuildHasherDefault<LeaseHasher>>;

/// A map by a number that this database gave out: nobody outside chooses it.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<LeaseHasher>>;

/// An empty map.
pub const fn new_map<K, V>() -> HashMap<K, V, BuildHasherDefault<LeaseHasher>> {
    HashMap::with_hasher(BuildHasherDefault::new())
}

/// Takes a lease's own hash as it is, and spreads a number.
#[derive(Default)]
pub struct LeaseHasher(u64);

impl LeaseHasher {
    fn number(&mut self, n: u64) {
        self.0 = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for LeaseHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.number(self.0 ^ u64::from(*b));
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write_i64(&mut self, n: i64) {
        self.number(n as u64);
    }

    fn write_i32(&mut self, n: i32) {
        self.number(n as u64);
    }

    fn write_u32(&mut self, n: u32) {
        self.number(u64::from(n));
    }
}

impl PartialEq for LeaseId {
    fn eq(&self, other: &LeaseId) -> bool {
        self.hash == other.hash
            && self.namespace == other.namespace
            && (Rc::ptr_eq(&self.key, &other.key) || self.key == other.key)
    }
}

impl Hash for LeaseId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl LeaseId {
    /// The lease of that key.
    pub fn new(namespace: i32, key: &[u8]) -> LeaseId {
        LeaseId { namespace, key: key.into(), hash: lock_hash(namespace, key) }
    }

    /// `namespace/key`, for messages.
    pub fn describe(&self, namespace: &str) -> String {
        format!("{namespace}/{}", crate::pg::text::from_server(&self.key))
    }
}

/// A stored token. Anything else in its place is damage, and rejected as a term never issued.
fn token(bigint: i64) -> fencing_core::Token {
    fencing_core::Token::from_bigint(bigint).unwrap_or_else(|| {
        use fencing_core::{Code, Error};
        crate::pg::outcome::throw(
            Error::new(Code::NotInPrerequisiteState, format!("stored token {bigint} is not a token"))
                .detail("The extension's tables were changed from outside."),
        )
    })
}
