//! Frame lengths of a stream.

use super::values::draw;
use crate::plan::stream::Sizes;
use ground::rand::Rng;

/// Sequence of frame lengths, in bytes with FCS.
#[derive(Clone, Debug)]
pub(super) struct Lengths {
    kind: Kind,
    /// Length of the next frame.
    size: u32,
    seed: u64,
    rng: Rng,
}

#[derive(Clone, Debug)]
enum Kind {
    Fixed(u32),
    Increment {
        start: u32,
        end: u32,
        step: u32,
    },
    Random {
        min: u32,
        max: u32,
    },
    /// Each size with the upper bound of its range of 64-bit random numbers; the last has the rest.
    Weighted(Box<[(u32, u64)]>),
}

impl Lengths {
    /// Creates the sequence of a validated plan.
    pub(super) fn new(sizes: &Sizes, seed: u64) -> Self {
        let kind = match *sizes {
            Sizes::Fixed(size) => Kind::Fixed(size),
            Sizes::Increment { start, end, step } => Kind::Increment { start, end, step },
            Sizes::Random { min, max } => Kind::Random { min, max },
            Sizes::Weighted(ref pairs) => Kind::Weighted(parts(pairs)),
        };
        let mut lengths = Self { kind, size: 0, seed, rng: Rng::new(seed) };
        lengths.restart();
        lengths
    }

    /// Returns the length of the next frame.
    #[inline]
    pub(super) const fn size(&self) -> u32 {
        self.size
    }

    /// Returns true if all frames have one length.
    #[inline]
    pub(super) const fn is_fixed(&self) -> bool {
        matches!(self.kind, Kind::Fixed(_))
    }

    /// Restarts the sequence.
    pub(super) fn restart(&mut self) {
        self.rng = Rng::new(self.seed);
        self.size = match self.kind {
            Kind::Increment { start, .. } => start,
            _ => self.drawn(),
        };
    }

    /// Advances to the next frame.
    #[inline]
    pub(super) fn advance(&mut self) {
        match self.kind {
            Kind::Fixed(_) => {}
            Kind::Increment { start, end, step } => {
                let next = self.size.saturating_add(step);
                self.size = if next > end { start } else { next };
            }
            Kind::Random { .. } | Kind::Weighted(_) => self.size = self.drawn(),
        }
    }

    fn drawn(&mut self) -> u32 {
        match &self.kind {
            Kind::Fixed(size) => *size,
            Kind::Increment { start, .. } => *start,
            Kind::Random { min, max } => {
                draw(&mut self.rng, u128::from(*min), u128::from(*max)) as u32
            }
            Kind::Weighted(parts) => {
                let drawn = self.rng.next_u64();
                let last = parts.len() - 1;
                let at = parts[..last].partition_point(|(_, end)| *end <= drawn);
                parts[at].0
            }
        }
    }
}

/// Converts weights to ranges of 64-bit random numbers.
fn parts(pairs: &[(u32, f64)]) -> Box<[(u32, u64)]> {
    let total: f64 = pairs.iter().map(|(_, weight)| weight).sum();
    let mut before = 0.0;
    let end = |(size, weight): &(u32, f64)| {
        before += weight;
        // The conversion saturates where rounding would exceed the maximum.
        (*size, (before / total * 2_f64.powi(64)) as u64)
    };
    pairs.iter().map(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(sizes: &Sizes, seed: u64, n: usize) -> Vec<u32> {
        let mut lengths = Lengths::new(sizes, seed);
        let next = || {
            let size = lengths.size();
            lengths.advance();
            size
        };
        std::iter::repeat_with(next).take(n).collect()
    }

    #[test]
    fn lengths_go_up_in_steps_and_start_again() {
        let sizes = Sizes::Increment { start: 64, end: 128, step: 30 };
        assert_eq!(take(&sizes, 0, 5), [64, 94, 124, 64, 94]);
        assert_eq!(take(&Sizes::Fixed(99), 0, 2), [99, 99]);
    }

    #[test]
    fn drawn_lengths_have_their_weights_and_repeat_with_the_seed() {
        let mix = Sizes::Weighted(vec![(64, 7.0), (570, 4.0), (1518, 1.0)]);
        let drawn = take(&mix, 5, 120_000);
        for (size, share) in [(64, 7.0), (570, 4.0), (1518, 1.0)] {
            let n = drawn.iter().filter(|s| **s == size).count() as f64;
            let expected: f64 = share * 10_000.0;
            assert!((n - expected).abs() < 4.0 * expected.sqrt(), "{n} of {size}, seed 5");
        }
        assert_eq!(drawn, take(&mix, 5, 120_000));
        assert_ne!(drawn, take(&mix, 6, 120_000));
        let range = take(&Sizes::Random { min: 64, max: 67 }, 5, 200);
        assert!((64..=67).all(|size| range.contains(&size)), "{range:?}");
        assert!(range.iter().all(|size| (64..=67).contains(size)));
    }
}
