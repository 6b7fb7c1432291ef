//! Random choices from a seed.

/// A generator of one client (splitmix64): the same choices for the same seed.
pub struct Dice(u64);

impl Dice {
    /// One for each user of a seed.
    pub fn new(seed: u64, user: u64) -> Dice {
        let mut dice = Dice(seed ^ user.wrapping_mul(0xd134_2543_de82_ef95));
        dice.number();
        dice
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.number() % n.max(1)
    }

    /// True so many times in a thousand.
    pub fn permille(&mut self, n: u64) -> bool {
        self.below(1000) < n
    }

    /// An index of something that has so many.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }
}
