//! Spans of time that were measured, and what they come to.

use arrayvec::ArrayVec;

use crate::time::Duration;

/// The most samples of one measurement.
pub const SAMPLES_MAX: usize = 256;

/// Up to [`SAMPLES_MAX`] spans of one thing that was measured again and again. All of them are kept,
/// so every figure is exact.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Samples {
    /// In ascending order, once they are all there.
    sorted: ArrayVec<Duration, SAMPLES_MAX>,
}

impl Samples {
    /// Adds one. Panics when there are [`SAMPLES_MAX`] already: who measures knows when to stop.
    pub fn add(&mut self, sample: Duration) {
        self.sorted.push(sample);
    }

    /// Puts them in order, when all are there: to be done before any figure is asked for. Not done for
    /// each that comes, which would move all the others on the way of an answer.
    pub fn finish(&mut self) {
        self.sorted.sort_unstable();
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.sorted.clear();
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// The shortest; zero when there is none, as for all figures.
    #[must_use]
    pub fn min(&self) -> Duration {
        self.sorted.first().copied().unwrap_or_default()
    }

    /// The longest.
    #[must_use]
    pub fn max(&self) -> Duration {
        self.sorted.last().copied().unwrap_or_default()
    }

    /// The mean, rounded up to the picosecond.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let sum: u128 = self.sorted.iter().map(|s| u128::from(s.as_picos())).sum();
        let mean = sum.div_ceil(self.sorted.len().max(1) as u128);
        Duration::from_picos(u64::try_from(mean).expect("a mean is no longer than the longest"))
    }

    /// The shortest that at least `percent` of a hundred do not exceed (nearest rank). 1 to 100.
    #[must_use]
    pub fn percentile(&self, percent: u8) -> Duration {
        assert!((1..=100).contains(&percent), "a percentile of {percent}");
        let rank = (self.sorted.len() * usize::from(percent)).div_ceil(100);
        self.sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// All of them, the shortest first.
    #[must_use]
    pub fn sorted(&self) -> &[Duration] {
        &self.sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(picos: impl IntoIterator<Item = u64>) -> Samples {
        let mut samples = Samples::default();
        picos.into_iter().for_each(|ps| samples.add(Duration::from_picos(ps)));
        samples.finish();
        samples
    }

    #[test]
    fn figures_are_exact_in_whatever_order_samples_come() {
        // 7 has no common factor with 101, so this is 1 to 100 in another order.
        let s = of((1..=100).map(|n| n * 7 % 101));
        let ps = |d: Duration| d.as_picos();
        assert_eq!((s.count(), ps(s.min()), ps(s.max()), ps(s.mean())), (100, 1, 100, 51));
        for n in 1..=100 {
            assert_eq!(ps(s.percentile(n)), u64::from(n));
        }
    }

    #[test]
    fn a_percentile_is_one_of_the_samples() {
        let s = of([10, 20, 30]);
        let at = |n| s.percentile(n).as_picos();
        assert_eq!([at(1), at(33), at(34), at(66), at(67), at(100)], [10, 10, 20, 20, 30, 30]);
    }

    #[test]
    fn nothing_measured_is_zero() {
        let s = Samples::default();
        assert_eq!((s.mean(), s.percentile(99), s.max()), Default::default());
    }
}
