//! Random numbers from a seed. The same seed gives the same numbers on every machine.

use crate::time::Duration;

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

    /// Returns a number from 0 to `n` - 1, uniformly distributed up to a part in 2^64 / n; 0 for an
    /// `n` of 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        // The upper half of the product is below `n`, without a division.
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Returns a number from 0 up to, but not including, 1, in steps of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        // 53 bits are all that a double holds.
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns an exponentially distributed duration of this mean; at most 37 times the mean.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        // The argument is never 0, so the logarithm is finite.
        let picos = -ln(1.0 - self.unit()) * mean.as_picos() as f64;
        Duration::from_picos(picos as u64)
    }
}

/// Returns the natural logarithm of a number above 0. Unlike the one of the platform it consists of
/// additions, multiplications and divisions, whose results IEEE 754 defines to the last bit.
fn ln(x: f64) -> f64 {
    // x = m * 2^exponent with m from 1 to 2: the fields of the double, whose exponent has a bias of 1023.
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1_023;
    let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | (1_023 << 52));
    if m > core::f64::consts::SQRT_2 {
        (m, exponent) = (m / 2.0, exponent + 1);
    }
    // ln m = 2 artanh((m - 1) / (m + 1)); for m up to the root of 2, ten terms are exact to 1e-16.
    let t = (m - 1.0) / (m + 1.0);
    let (square, mut sum, mut power) = (t * t, 0.0, t);
    for odd in [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0, 21.0] {
        sum += power / odd;
        power *= square;
    }
    2.0 * sum + f64::from(exponent) * core::f64::consts::LN_2
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

    #[test]
    fn the_logarithm_is_that_of_the_platform() {
        let mut rng = Rng::new(1);
        for _ in 0..10_000 {
            let x = 1.0 - rng.unit();
            assert!((ln(x) - x.ln()).abs() <= 2e-15 * x.ln().abs().max(1e-3), "{x}");
        }
        assert_eq!(ln(1.0), 0.0);
        assert!((ln(f64::powi(2.0, -53)) + 53.0 * core::f64::consts::LN_2).abs() < 1e-14);
    }

    #[test]
    fn exponential_durations_have_their_mean_and_their_median() {
        let (seed, mean, n) = (3, Duration::from_micros(10), 100_000);
        let mut rng = Rng::new(seed);
        let all: Vec<f64> = (0..n).map(|_| rng.exponential(mean).as_nanos_f64()).collect();
        let average = all.iter().sum::<f64>() / f64::from(n);
        // The standard deviation of the average is 10,000 / sqrt(100,000) = 32 ns; five of them.
        assert!((average - 10_000.0).abs() < 160.0, "seed {seed}: {average}");
        let above = all.iter().filter(|ns| **ns > 10_000.0 * core::f64::consts::LN_2).count();
        assert!(above.abs_diff(50_000) < 800, "seed {seed}: {above}");
    }

    #[test]
    fn numbers_below_a_bound_are_equally_likely() {
        let (seed, mut seen) = (5, [0u32; 7]);
        let mut rng = Rng::new(seed);
        (0..70_000).for_each(|_| seen[rng.below(7) as usize] += 1);
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 500), "seed {seed}: {seen:?}");
        assert_eq!(Rng::new(0).below(0), 0);
    }
}
