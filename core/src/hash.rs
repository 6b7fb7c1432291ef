//! The hash that names a lease's locks.

/// Version of the hash and of the lock protocol built on it. Libraries of different versions must
/// not meet in one database: they would lock different things.
pub const PROTOCOL: i32 = 1;

/// A 64-bit hash of a namespace and a key. It is the library's own, so that no PostgreSQL version
/// changes it. A collision locks too much, never too little: rows are found by the full key.
pub fn lock_hash(namespace: i32, key: &[u8]) -> u64 {
    hash(namespace.to_le_bytes().into_iter().chain(key.iter().copied()))
}

/// The same for the lease of a coordinator elsewhere, and, without namespace and key, for the
/// coordinator. No part holds a NUL.
pub fn remote_hash(coordinator: &str, namespace: &str, key: &[u8]) -> u64 {
    let names = coordinator.bytes().chain([0]).chain(namespace.bytes()).chain([0]);
    hash(names.chain(key.iter().copied()))
}

/// FNV-1a, then the finalizer of SplitMix64 to spread it over both halves of the lock tag.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    let mut h = bytes.fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^ (h >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// These values are part of the protocol: if one changes, so must [`PROTOCOL`].
    #[test]
    fn pinned() {
        assert_eq!(PROTOCOL, 1);
        assert_eq!(lock_hash(1, b"job-1"), 10_395_161_482_486_641_699);
        assert_eq!(lock_hash(2, b""), 18_127_135_579_450_868_281);
        assert_eq!(remote_hash("etcd", "jobs", b"a"), 16_531_926_958_702_006_793);
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
