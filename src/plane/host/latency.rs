//! Distributions of latencies and of other spans of time.

use hdrhistogram::Histogram as HdrHistogram;

use super::histogram::{Bucket, Histogram, Spares};
use ground::statistics::Statistics;
use ground::time::Duration;

/// Distribution of latencies.
#[derive(Clone, PartialEq, Debug)]
#[repr(C)]
pub struct Latency {
    /// Exact sum in picoseconds.
    sum: u128,
    min: Duration,
    max: Duration,
    /// In nanoseconds, rounded to the nearest.
    histogram: Histogram,
}

impl Default for Latency {
    /// Preallocates all its memory (260 KiB): recording never allocates.
    fn default() -> Self {
        Self::of(Histogram::dense())
    }
}

impl Latency {
    /// Creates one with little memory (2 KiB) that takes more from `spares` as needed.
    pub fn sparse(spares: &Spares) -> Self {
        Self::of(Histogram::sparse(spares))
    }

    const fn of(histogram: Histogram) -> Self {
        Self { histogram, sum: 0, min: Duration::MAX, max: Duration::ZERO }
    }

    /// Records `n` frames of the same latency, at least one.
    #[inline]
    pub fn record_many(&mut self, latency: Duration, n: u64) {
        self.sum += u128::from(latency.as_picos()) * u128::from(n);
        self.min = self.min.min(latency);
        self.max = self.max.max(latency);
        self.histogram.count_many(bucket(latency), n);
    }

    /// Records one frame.
    #[inline]
    pub fn record(&mut self, latency: Duration) {
        let bucket = self.note(latency);
        self.put(bucket);
    }

    /// Records one frame but for its bucket, which [`Self::put`] counts. In between its figures are
    /// those of too few frames.
    #[inline(always)]
    pub(super) fn note(&mut self, latency: Duration) -> Bucket {
        self.sum += u128::from(latency.as_picos());
        // Branches, which are predicted: most frames change neither.
        if latency < self.min {
            self.min = latency;
        }
        if latency > self.max {
            self.max = latency;
        }
        bucket(latency)
    }

    /// Counts a frame of [`Self::note`].
    #[inline(always)]
    pub(super) fn put(&mut self, bucket: Bucket) {
        self.histogram.count_one(bucket);
    }

    /// Adds the counts of another distribution.
    pub fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.histogram.add(&other.histogram);
    }

    /// Returns the number of recorded frames.
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// Returns the latency that `percent` (0 to 100) of all frames did not exceed, to three digits;
    /// zero without any.
    pub fn percentile(&self, percent: f64) -> Duration {
        // The histogram returns whole nanoseconds and the top of a bucket, which may be below the
        // minimum or above the maximum.
        let rounded = Duration::from_nanos(self.histogram.percentile(percent));
        rounded.max(self.min()).min(self.max)
    }

    /// Returns the figures for reports, in one pass and without an allocation: minimum, mean and maximum are
    /// exact, percentiles have three digits.
    pub fn figures(&self) -> Statistics<Duration> {
        let (count, min, mean, max) = (self.count(), self.min(), self.mean(), self.max());
        let percentiles = self.histogram.percentiles([50.0, 90.0, 99.0, 99.9]);
        let [p50, p90, p99, p999] =
            percentiles.map(|ns| Duration::from_nanos(ns).max(min).min(max));
        Statistics { count, min, mean, p50, p90, p99, p999, max }
    }

    /// Returns the exact minimum; zero without any frame.
    pub fn min(&self) -> Duration {
        self.min.min(self.max)
    }

    /// Returns the exact maximum; zero without any frame.
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// Returns the mean, rounded down to the picosecond; zero without any frame.
    pub fn mean(&self) -> Duration {
        // The sum is exact, so the mean is, too, whatever the buckets are.
        let mean = self.sum / u128::from(self.count().max(1));
        Duration::from_picos(mean as u64)
    }

    /// Clears the distribution. Allocates nothing.
    pub fn clear(&mut self) {
        self.histogram.clear();
        // Such that the first time replaces both.
        (self.sum, self.min, self.max) = (0, Duration::MAX, Duration::ZERO);
    }

    /// Returns the cumulative distribution: each recorded latency, to three digits and ascending, with the
    /// number of frames that did not exceed it. The last one is the exact maximum.
    pub fn cumulative(&self) -> impl Iterator<Item = (Duration, u64)> {
        let mut counted = 0;
        self.histogram.buckets().map(move |(ns, n)| {
            counted += n;
            (Duration::from_nanos(ns).max(self.min()).min(self.max), counted)
        })
    }

    /// Returns the distribution in nanoseconds, for reports.
    pub fn histogram(&self) -> HdrHistogram<u64> {
        self.histogram.to_hdr()
    }
}

/// Returns the bucket of a latency, rounded to the nearest nanosecond.
#[inline(always)]
const fn bucket(latency: Duration) -> Bucket {
    // Truncated, every latency would be half a nanosecond short on average.
    Bucket::of((latency.as_picos() + 500) / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_percentiles_are_within_three_digits_and_the_ends_exact() {
        let mut latency = Latency::default();
        assert_eq!((latency.min(), latency.max()), (Duration::ZERO, Duration::ZERO));
        for us in 1..=1000 {
            latency.record(Duration::from_micros(us) + Duration::from_picos(7));
        }
        assert_eq!(latency.min().as_picos(), 1_000_007);
        assert_eq!(latency.max().as_picos(), 1_000_000_007);
        let p50 = latency.percentile(50.0).as_nanos();
        assert!((499_500..=500_500).contains(&p50), "{p50}");
        assert!(latency.percentile(100.0) <= latency.max());
        let figures = latency.figures();
        assert_eq!(
            (figures.count, figures.min, figures.max),
            (1_000, latency.min(), latency.max())
        );
        let percentiles = [50.0, 90.0, 99.0, 99.9].map(|p| latency.percentile(p));
        assert_eq!([figures.p50, figures.p90, figures.p99, figures.p999], percentiles);
        assert_eq!(figures.mean, latency.mean());
        assert_eq!(Latency::default().figures(), Statistics::default());
    }

    /// Figures are calculated between two polls, for ten thousand flows.
    #[test]
    fn figures_are_taken_without_an_allocation() {
        let mut latency = Latency::sparse(&Spares::new(64));
        (1..5_000).for_each(|us| latency.record(Duration::from_micros(us * us)));
        let mut figures = Statistics::default();
        let taken = allocation_counter::measure(|| figures = latency.figures());
        assert_eq!((taken.count_total, figures.count), (0, 4_999));
    }
}
