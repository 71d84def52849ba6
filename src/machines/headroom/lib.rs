//! Calculation of headroom: the data that still arrives after XOFF, and the buffer that a lossless
//! group must reserve for it.
//!
//! [`delay_value`] is the standard's sum for the hardware of a link; [`required`] adds the delays
//! of a software switch, and converts the sum to cells. Configurations are validated against it.
//! [`measured`] is the same sum for a link whose round trip [`measure`] has measured, and
//! [`by_peer_delay`] for one whose medium [`peer_delay`] has. [`models`] has other sums in use, for
//! comparison, and the inverse: the longest cable for a headroom. [`Effect`] is that of an error of
//! a measurement.
//!
//! [`Samples`] has the times that a measurement repeats, and their statistics.

#![warn(missing_docs)]

mod delay;
pub mod identify;
pub mod measure;
mod measured;
pub mod models;
pub mod peer_delay;
mod phy;
mod required;

pub use delay::{DelayInputs, DelayValue, Frames, MacsecOverhead, Term, delay_value};
pub use measured::{
    Accuracy, Effect, Formula, LinkEnds, MeasuredInputs, PeerDelayInputs, Reaction, Shims,
    by_peer_delay, is_limited, measured,
};
pub use phy::{Extender, Fec, Interface, InterfaceError, Phy};
pub use required::{Required, SoftwareTerms, required, required_of};

use arrayvec::ArrayVec;

use ground::statistics::{self, Statistics};
use ground::time::Duration;

/// Maximum number of samples per measurement.
pub const SAMPLES_MAX: usize = 256;

/// Up to [`SAMPLES_MAX`] samples of a repeated measurement. All are stored, so every figure is
/// exact.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Samples {
    /// In ascending order after [`Samples::finish`].
    sorted: ArrayVec<Duration, SAMPLES_MAX>,
}

impl Samples {
    /// Adds a sample. Panics if there are already [`SAMPLES_MAX`].
    pub fn add(&mut self, sample: Duration) {
        // In the order of arrival until `finish` sorts them.
        self.sorted.push(sample);
    }

    /// Sorts the samples; to be called after the last one and before any statistics. Sorting at
    /// each insertion would delay the processing of messages.
    pub fn finish(&mut self) {
        self.sorted.sort_unstable();
    }

    /// Removes all samples.
    pub fn clear(&mut self) {
        self.sorted.clear();
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// Returns the minimum; zero without samples, as for all figures.
    #[must_use]
    pub fn min(&self) -> Duration {
        self.sorted.first().copied().unwrap_or_default()
    }

    /// Returns the maximum.
    #[must_use]
    pub fn max(&self) -> Duration {
        self.sorted.last().copied().unwrap_or_default()
    }

    /// Returns the mean, rounded up to the picosecond.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let sum: u128 = self.sorted.iter().map(|s| u128::from(s.as_picos())).sum();
        // Rounded up, so that a headroom calculated from it is not too small.
        let mean = sum.div_ceil(self.sorted.len().max(1) as u128);
        Duration::from_picos(u64::try_from(mean).expect("a mean is no longer than the longest"))
    }

    /// Returns the smallest sample that at least `percent` percent of the samples do not exceed
    /// (nearest rank). 1 to 100.
    #[must_use]
    pub fn percentile(&self, percent: u8) -> Duration {
        assert!((1..=100).contains(&percent), "a percentile of {percent}");
        statistics::percentile(&self.sorted, percent.into()).unwrap_or_default()
    }

    /// Returns all figures.
    #[must_use]
    pub fn figures(&self) -> Statistics<Duration> {
        Statistics::of(&self.sorted, self.mean()).unwrap_or_default()
    }

    /// Returns all samples in ascending order.
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
    fn nothing_measured_is_zero() {
        let s = Samples::default();
        assert_eq!((s.mean(), s.percentile(99), s.figures()), Default::default());
    }
}
