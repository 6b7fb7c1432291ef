//! The hash that names a lease's locks.

/// Version of the hash and of the lock protocol built on it. Libraries of different versions must
/// not meet in one database: they would lock different things.
pub const PROTOCOL: i32 = 2;

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

/// SipHash-2-4. Keys are chosen by whoever may hold any lease: of a hash that can be turned round, they
/// would find one that locks somebody else's.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    let mut state = SipHash::new();
    let (mut word, mut length) = (0, 0u64);
    for byte in bytes {
        word |= u64::from(byte) << (8 * (length % 8));
        length += 1;
        if length.is_multiple_of(8) {
            state.absorb(word);
            word = 0;
        }
    }
    state.absorb(word | length << 56);
    state.finish()
}

/// Aumasson and Bernstein's, with the key of their test vectors.
struct SipHash([u64; 4]);

impl SipHash {
    const KEY: [u64; 2] = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];

    fn new() -> SipHash {
        let [k0, k1] = SipHash::KEY;
        SipHash([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ])
    }

    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.rounds(2);
        self.0[0] ^= word;
    }

    fn finish(mut self) -> u64 {
        self.0[2] ^= 0xff;
        self.rounds(4);
        self.0.into_iter().fold(0, |hash, part| hash ^ part)
    }

    fn rounds(&mut self, count: usize) {
        let [mut a, mut b, mut c, mut d] = self.0;
        for _ in 0..count {
            a = a.wrapping_add(b);
            b = b.rotate_left(13) ^ a;
            a = a.rotate_left(32);
            c = c.wrapping_add(d);
            d = d.rotate_left(16) ^ c;
            a = a.wrapping_add(d);
            d = d.rotate_left(21) ^ a;
            c = c.wrapping_add(b);
            b = b.rotate_left(17) ^ c;
            c = c.rotate_left(32);
        }
        self.0 = [a, b, c, d];
    }
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
        assert_eq!(hash(0..0), 0x726f_db47_dd0e_0e31);
        assert_eq!(hash(0..8), 0x93f5_f579_9a93_2462);
        assert_eq!(hash(0..15), 0xa129_ca61_49be_45e5);
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
