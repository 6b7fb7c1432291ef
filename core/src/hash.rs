//! The hash that names a lease's locks.

/// Version of the hash and of the lock protocol built on it. Libraries of different versions must
/// not meet in one database: they would lock different things.
pub const PROTOCOL: i32 = 1;

/// A 64-bit hash of a namespace and a key. It is the library's own, so that no PostgreSQL version
/// changes it. A collision locks too much, never too little: rows are found by the full key.
pub fn lock_hash(namespace: i32, key: &[u8]) -> u64 {
    // FNV-1a, then the finalizer of SplitMix64 to spread it over both halves of the lock tag.
    let bytes = namespace.to_le_bytes().into_iter().chain(key.iter().copied());
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
