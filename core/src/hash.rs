//! The hash that names a lease's locks.

use siphasher::sip::SipHasher24;
use std::hash::Hasher;

/// Version of the hash and of the lock protocol built on it. Libraries of different versions must
/// not meet in one database: they would lock different things.
pub const PROTOCOL: i32 = 2;

/// A 64-bit hash of a namespace and a key. It is the library's own, so that no PostgreSQL version
/// changes it. A collision locks too much, never too little: rows are found by the full key.
pub fn lock_hash(namespace: i32, key: &[u8]) -> u64 {
    hash(&[&namespace.to_le_bytes(), key])
}

/// The same for the lease of a coordinator elsewhere, and, without namespace and key, for the
/// coordinator. No part holds a NUL.
pub fn remote_hash(coordinator: &str, namespace: &str, key: &[u8]) -> u64 {
    hash(&[coordinator.as_bytes(), &[0], namespace.as_bytes(), &[0], key])
}

/// SipHash-2-4, with the key of its authors' test vectors. Keys of leases are chosen by whoever may hold any:
/// of a hash that can be turned round, they would find one that locks somebody else's.
fn hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = SipHasher24::new_with_key(&std::array::from_fn(|n| n as u8));
    for part in parts {
        hasher.write(part);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// These values are part of the protocol: if one changes, so must [`PROTOCOL`].
    #[test]
    fn pinned() {
        assert_eq!(PROTOCOL, 2);
        assert_eq!(lock_hash(1, b"job-1"), 9_444_111_423_714_320_465);
        assert_eq!(lock_hash(2, b""), 15_548_820_837_209_591_988);
        assert_eq!(remote_hash("etcd", "jobs", b"a"), 14_895_606_357_918_588_774);
    }

    /// The authors' own vectors.
    #[test]
    fn is_siphash() {
        let bytes: [u8; 15] = std::array::from_fn(|n| n as u8);
        assert_eq!(hash(&[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(hash(&[&bytes[..8]]), 0x93f5_f579_9a93_2462);
        assert_eq!(hash(&[&bytes[..3], &bytes[3..]]), 0xa129_ca61_49be_45e5);
    }

    /// Found by lattice reduction in seconds, when the hash was FNV-1a: nobody chooses whose lock it is.
    #[test]
    fn chosen_keys_lock_nothing_else() {
        let key = *b"be8e-I\x19\x07\x16\x03\x0f\x08\x1fx/j\x1c\x10\x7f\x0fo\x07\x0c\x07\x1f";
        assert_ne!(lock_hash(1, b"payroll"), lock_hash(2, &key));
    }

    #[test]
    fn parts_of_a_name_stay_apart() {
        let hashes = [remote_hash("a", "bc", b"d"), remote_hash("ab", "c", b"d"), remote_hash("a", "b", b"cd")];
        assert_eq!(HashSet::from(hashes).len(), 3);
    }

    #[test]
    fn spreads() {
        let mut seen = HashSet::new();
        for namespace in 0..10 {
            for key in 0..10_000 {
                assert!(seen.insert(lock_hash(namespace, format!("job-{key}").as_bytes())));
            }
        }
    }
}
