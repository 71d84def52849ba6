//! Distributions of latencies and of other spans of time.

use hdrhistogram::Histogram as HdrHistogram;
use serde::Serialize;

use super::histogram::{Bucket, Held, Histogram, Spares};
use ground::time::Duration;

/// Distribution of latencies.
// The fields that nearly every latency changes, or is compared with, stand first: 32 bytes.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Latency {
    count: u64,
    /// Exact sum in picoseconds, modulo 2^64.
    sum: u64,
    min: Duration,
    /// Picoseconds from the minimum to the maximum, or the most that it holds.
    span: u32,
    /// Pages of the histogram that are near.
    held: Held,
    /// The rest of the sum, in units of 2^64 ps.
    carried: u64,
    max: Duration,
    /// In nanoseconds, rounded to the nearest.
    histogram: Histogram,
}

/// Bytes at the front that change with nearly every latency.
pub(super) const HOT: usize = core::mem::offset_of!(Latency, carried);

/// Compares the counts and the exact figures.
impl PartialEq for Latency {
    fn eq(&self, other: &Self) -> bool {
        let exact = |of: &Self| (of.count, of.total(), of.min, of.max);
        let buckets = |of: &Self| of.histogram.buckets(of.held).collect::<Vec<_>>();
        exact(self) == exact(other) && buckets(self) == buckets(other)
    }
}

/// Figures of a distribution for reports. Its JSON has what results of labs show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct LatencyFigures {
    /// Number of frames.
    #[serde(skip)]
    pub count: u64,
    /// Exact minimum.
    pub min: Duration,
    #[serde(skip)]
    pub mean: Duration,
    /// Median, to three digits, as all percentiles.
    pub p50: Duration,
    pub p99: Duration,
    pub p999: Duration,
    /// Exact maximum.
    pub max: Duration,
}

impl Default for Latency {
    /// Preallocates all its memory (260 KiB): recording never allocates.
    fn default() -> Self {
        Self::of(Histogram::dense())
    }
}

impl Latency {
    /// Creates one with little memory (2 KiB) that takes more from `spares` as needed.
    #[must_use]
    pub fn sparse(spares: &Spares) -> Self {
        Self::of(Histogram::sparse(spares))
    }

    const fn of(histogram: Histogram) -> Self {
        Self {
            count: 0,
            sum: 0,
            min: Duration::MAX,
            span: 0,
            held: Held::NONE,
            carried: 0,
            max: Duration::ZERO,
            histogram,
        }
    }

    /// Returns the exact sum in picoseconds.
    const fn total(&self) -> u128 {
        (self.carried as u128) << 64 | self.sum as u128
    }

    fn set_total(&mut self, total: u128) {
        (self.carried, self.sum) = ((total >> 64) as u64, total as u64);
    }

    /// Takes a latency into minimum and maximum.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, latency: Duration) {
        self.min = self.min.min(latency);
        self.max = self.max.max(latency);
        let span = self.max.as_picos() - self.min.as_picos();
        self.span = u32::try_from(span).unwrap_or(u32::MAX);
    }

    #[cold]
    #[inline(never)]
    fn carry(&mut self) {
        self.carried += 1;
    }

    /// Records `n` frames of the same latency, at least one.
    #[inline]
    pub fn record_many(&mut self, latency: Duration, n: u64) {
        self.set_total(self.total() + u128::from(latency.as_picos()) * u128::from(n));
        self.widen(latency);
        self.count += n;
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
        self.count += 1;
        let (sum, over) = self.sum.overflowing_add(latency.as_picos());
        self.sum = sum;
        if over {
            self.carry();
        }
        // One comparison for both ends; without any frame no latency is between them.
        if latency.as_picos().wrapping_sub(self.min.as_picos()) > u64::from(self.span) {
            self.widen(latency);
        }
        bucket(latency)
    }

    /// Counts a frame of [`Self::note`].
    #[inline(always)]
    pub(super) fn put(&mut self, bucket: Bucket) {
        self.histogram.count_one(&mut self.held, bucket);
    }

    /// Adds the counts of another distribution.
    pub fn add(&mut self, other: &Self) {
        self.set_total(self.total() + other.total());
        self.count += other.count;
        if other.count > 0 {
            self.widen(other.min);
            self.widen(other.max);
        }
        self.histogram.add(&other.histogram, other.held);
    }

    /// Returns the number of recorded frames.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the latency that `percent` (0 to 100) of all frames did not exceed, to three digits;
    /// zero without any.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Duration {
        // The histogram returns whole nanoseconds and the top of a bucket, which may be below the
        // minimum or above the maximum.
        let [ns] = self.histogram.percentiles(self.held, self.count, [percent]);
        let rounded = Duration::from_nanos(ns);
        rounded.max(self.min()).min(self.max)
    }

    /// Returns the figures for reports, in one pass and without an allocation.
    #[must_use]
    pub fn figures(&self) -> LatencyFigures {
        let (min, max) = (self.min(), self.max());
        let percents = [50.0, 99.0, 99.9];
        let percentiles = self.histogram.percentiles(self.held, self.count, percents);
        let [p50, p99, p999] = percentiles.map(|ns| Duration::from_nanos(ns).max(min).min(max));
        LatencyFigures { count: self.count(), min, mean: self.mean(), p50, p99, p999, max }
    }

    /// Returns the exact minimum; zero without any frame.
    #[must_use]
    pub fn min(&self) -> Duration {
        self.min.min(self.max)
    }

    /// Returns the exact maximum; zero without any frame.
    #[must_use]
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// Returns the mean, rounded down to the picosecond; zero without any frame.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let mean = self.total() / u128::from(self.count.max(1));
        Duration::from_picos(mean as u64)
    }

    /// Clears the distribution. Allocates nothing.
    pub fn clear(&mut self) {
        self.histogram.clear();
        (self.count, self.sum, self.carried) = (0, 0, 0);
        (self.min, self.span, self.max) = (Duration::MAX, 0, Duration::ZERO);
    }

    /// Returns the cumulative distribution: each recorded latency, to three digits and ascending, with the
    /// number of frames that did not exceed it. The last one is the exact maximum.
    pub fn cumulative(&self) -> impl Iterator<Item = (Duration, u64)> {
        let mut seen = 0;
        self.histogram.buckets(self.held).map(move |(ns, n)| {
            seen += n;
            (Duration::from_nanos(ns).max(self.min()).min(self.max), seen)
        })
    }

    /// Returns the distribution in nanoseconds, for reports.
    #[must_use]
    pub fn histogram(&self) -> HdrHistogram<u64> {
        self.histogram.to_hdr(self.held)
    }
}

/// Returns the bucket of a latency, rounded to the nearest nanosecond.
#[inline(always)]
const fn bucket(latency: Duration) -> Bucket {
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
        let percentiles = [50.0, 99.0, 99.9].map(|p| latency.percentile(p));
        assert_eq!([figures.p50, figures.p99, figures.p999], percentiles);
        assert_eq!(figures.mean, latency.mean());
        assert_eq!(Latency::default().figures(), LatencyFigures::default());
    }

    /// Figures are calculated between two polls, for ten thousand flows.
    #[test]
    fn figures_are_taken_without_an_allocation() {
        let mut latency = Latency::sparse(&Spares::new(64));
        (1..5_000).for_each(|us| latency.record(Duration::from_micros(us * us)));
        let mut figures = LatencyFigures::default();
        let taken = allocation_counter::measure(|| figures = latency.figures());
        assert_eq!((taken.count_total, figures.count), (0, 4_999));
    }
}
