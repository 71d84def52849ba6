//! Random numbers from a seed. The same seed gives the same numbers on every machine.

/// Seeded random number generator (splitmix64, Steele et al. 2014).
#[derive(Clone, Debug)]
pub struct Rng(u64);

/// Distance of two states in turn.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rng {
    /// Creates a generator; every seed is valid.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns number `n` of a seed, counted from 0.
    #[must_use]
    pub const fn nth(seed: u64, n: u64) -> u64 {
        Self(seed.wrapping_add(n.wrapping_mul(STEP))).next_u64()
    }

    /// Returns a number from 0 to 65535, uniformly distributed: the upper bits of [`Self::next_u64`].
    #[inline]
    pub const fn next_u16(&mut self) -> u32 {
        (self.next_u64() >> 48) as u32
    }

    /// Returns a 64-bit number, uniformly distributed.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_of_seed_0_are_those_of_splitmix64() {
        let mut rng = Rng::new(0);
        assert_eq!(rng.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(rng.next_u64(), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(rng.next_u16(), 0x06c4);
        assert_eq!(
            (Rng::nth(0, 0), Rng::nth(0, 1)),
            (0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4)
        );
    }
}
