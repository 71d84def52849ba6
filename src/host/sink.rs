//! Reception of one flow: each frame counted once, with its order and its latency.

use hdrhistogram::Histogram as HdrHistogram;
use serde::Serialize;

use super::histogram::{Histogram, Spares};
use super::plan::FlowId;
use super::probe::Arrival;
use ground::time::{Duration, Instant};
use ground::units::Priority;
use wire::ip::Ecn;

/// Number of frames behind the newest one within which a late frame is distinguished from a
/// duplicate. A choice; 512 bytes per flow.
pub const WINDOW: u64 = 4096;

/// Counters of a received flow.
#[derive(Clone, Debug)]
pub struct SinkCounters {
    pub id: FlowId,
    /// Received frames, duplicates excluded.
    pub frames: u64,
    /// Received bytes, FCS included.
    pub bytes: u64,
    pub duplicates: u64,
    /// Frames received after one that was sent later (RFC 4737 3.3).
    pub reordered: u64,
    /// Frames among the reordered that came more than [`WINDOW`] frames late; they count as
    /// received though they may be duplicates.
    pub stale: u64,
    /// Frames from before the last reset. They are in no other counter.
    pub old: u64,
    /// Frames that arrived with CE set.
    pub ce_marked: u64,
    /// Frames whose sending time was ahead of the sink's clock. They have no latency.
    pub ahead: u64,
    /// Sending time of the first received frame, on the sender's clock.
    pub first_sent: Option<Instant>,
    /// Arrival of the first frame.
    pub first_arrival: Option<Instant>,
    /// Arrival of the last frame that was not a duplicate. With the first this gives the duration
    /// of an unacknowledged message.
    pub last_arrival: Option<Instant>,
    /// Time from the sender's port to the sink's.
    pub latency: Latency,
}

/// Distribution of latencies.
#[derive(Clone, PartialEq, Debug)]
pub struct Latency {
    /// In nanoseconds, rounded to the nearest.
    histogram: Histogram,
    /// Exact sum in picoseconds.
    sum: u128,
    min: Duration,
    max: Duration,
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
    /// Preallocates all its memory (220 KiB): recording never allocates.
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
        Self { histogram, sum: 0, min: Duration::MAX, max: Duration::ZERO }
    }

    /// Records `n` frames of the same latency, at least one.
    #[inline]
    pub fn record_many(&mut self, latency: Duration, n: u64) {
        self.sum += u128::from(latency.as_picos()) * u128::from(n);
        self.min = self.min.min(latency);
        self.max = self.max.max(latency);
        self.histogram.record((latency.as_picos() + 500) / 1_000, n);
    }

    /// Records one frame.
    #[inline]
    pub fn record(&mut self, latency: Duration) {
        self.record_many(latency, 1);
    }

    /// Adds the counts of another distribution.
    pub fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.histogram.add(&other.histogram);
    }

    /// Returns the number of recorded frames.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// Returns the latency that `percent` (0 to 100) of all frames did not exceed, to three digits;
    /// zero without any.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Duration {
        // The histogram returns whole nanoseconds and the top of a bucket, which may be below the
        // minimum or above the maximum.
        let rounded = Duration::from_nanos(self.histogram.percentile(percent));
        rounded.max(self.min()).min(self.max)
    }

    /// Returns the figures for reports, in one pass and without an allocation.
    #[must_use]
    pub fn figures(&self) -> LatencyFigures {
        let (min, max) = (self.min(), self.max());
        let percentiles = self.histogram.percentiles([50.0, 99.0, 99.9]);
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
        let mean = self.sum / u128::from(self.count().max(1));
        Duration::from_picos(mean as u64)
    }

    /// Clears the distribution. Allocates nothing.
    pub fn clear(&mut self) {
        self.histogram.clear();
        (self.sum, self.min, self.max) = (0, Duration::MAX, Duration::ZERO);
    }

    /// Returns the cumulative distribution: each recorded latency, to three digits and ascending, with the
    /// number of frames that did not exceed it. The last one is the exact maximum.
    pub fn cumulative(&self) -> impl Iterator<Item = (Duration, u64)> {
        let mut seen = 0;
        self.histogram.buckets().map(move |(ns, n)| {
            seen += n;
            (Duration::from_nanos(ns).max(self.min()).min(self.max), seen)
        })
    }

    /// Returns the distribution in nanoseconds, for reports.
    #[must_use]
    pub fn histogram(&self) -> HdrHistogram<u64> {
        self.histogram.to_hdr()
    }
}

/// The receiving end of one flow.
#[derive(Clone, Debug)]
pub(super) struct Sink {
    counters: SinkCounters,
    /// Priority whose pauses must stop the flow, if known.
    priority: Option<Priority>,
    /// Lower sequence numbers are from before the last reset.
    floor: u64,
    /// Highest received sequence number plus one.
    next: u64,
    /// Bit n % WINDOW: set if n was received, for n from `next - WINDOW` to `next - 1`.
    seen: Box<[u64; (WINDOW / 64) as usize]>,
}

/// Returns the word and mask of a sequence number's bit.
const fn bit(sequence: u64) -> (usize, u64) {
    ((sequence % WINDOW / 64) as usize, 1 << (sequence % 64))
}

impl Sink {
    /// Creates an empty sink.
    pub(super) fn new(id: FlowId, priority: Option<Priority>, spares: &Spares) -> Self {
        let counters = SinkCounters {
            id,
            frames: 0,
            bytes: 0,
            duplicates: 0,
            reordered: 0,
            stale: 0,
            old: 0,
            ce_marked: 0,
            ahead: 0,
            first_sent: None,
            first_arrival: None,
            last_arrival: None,
            latency: Latency::sparse(spares),
        };
        Self { counters, priority, floor: 0, next: 0, seen: Box::new([0; (WINDOW / 64) as usize]) }
    }

    /// Resets the counters. Sequence numbers stay known: late frames from before count as old.
    pub(super) fn clear(&mut self) {
        let c = &mut self.counters;
        (c.frames, c.bytes, c.duplicates, c.reordered) = (0, 0, 0, 0);
        (c.stale, c.old, c.ce_marked, c.ahead) = (0, 0, 0, 0);
        (c.first_sent, c.first_arrival, c.last_arrival) = (None, None, None);
        c.latency.clear();
        self.floor = self.next;
    }

    /// Returns the priority whose pauses must stop the flow.
    #[inline]
    pub(super) const fn priority(&self) -> Option<Priority> {
        self.priority
    }

    pub(super) const fn counters(&self) -> &SinkCounters {
        &self.counters
    }

    /// Counts a frame of this flow.
    #[inline]
    pub(super) fn take(&mut self, now: Instant, arrival: &Arrival, wire_len: u32) {
        if !self.is_new(arrival.probe.sequence) {
            return;
        }
        let c = &mut self.counters;
        c.frames += 1;
        c.bytes += u64::from(wire_len);
        c.ce_marked += u64::from(arrival.ecn == Ecn::Ce);
        let sent = match arrival.probe.sent.age(now) {
            Some(age) => {
                c.latency.record(age);
                now.saturating_sub(age)
            }
            None => {
                c.ahead += 1;
                arrival.probe.sent.near(now)
            }
        };
        if c.first_sent.is_none_or(|first| sent < first) {
            c.first_sent = Some(sent);
        }
        if c.first_arrival.is_none() {
            c.first_arrival = Some(now);
        }
        c.last_arrival = Some(now);
    }

    /// Returns true if this sequence number is new; counts it by its order, or as duplicate or old.
    #[inline]
    fn is_new(&mut self, sequence: u64) -> bool {
        if sequence >= self.next {
            // Skipped numbers were not received; at most a window of them has a bit.
            for skipped in self.next.max(sequence.saturating_sub(WINDOW - 1))..sequence {
                let (word, mask) = bit(skipped);
                self.seen[word] &= !mask;
            }
            self.next = sequence.saturating_add(1);
        } else if sequence < self.floor {
            self.counters.old += 1;
            return false;
        } else if self.next - sequence > WINDOW {
            self.counters.reordered += 1;
            self.counters.stale += 1;
            return true;
        } else {
            let (word, mask) = bit(sequence);
            if self.seen[word] & mask != 0 {
                self.counters.duplicates += 1;
                return false;
            }
            self.counters.reordered += 1;
        }
        let (word, mask) = bit(sequence);
        self.seen[word] |= mask;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::probe::{MODULUS, Probe};

    fn take(sink: &mut Sink, sequence: u64) {
        let probe = Probe::new(FlowId(0), sequence, Instant::ZERO);
        let arrival = Arrival { probe, ecn: Ecn::NotEct };
        sink.take(Instant::from_picos(1_000), &arrival, 64);
    }

    proptest! {
        #[test]
        fn every_sequence_number_counts_once_within_the_window(
            numbers in prop::collection::vec(0..WINDOW, 1..300)
        ) {
            let mut sink = Sink::new(FlowId(0), None, &Spares::new(1));
            let (mut seen, mut highest, mut reordered) = (HashSet::new(), None, 0);
            for n in &numbers {
                take(&mut sink, *n);
                reordered += u64::from(seen.insert(*n) && Some(*n) < highest);
                highest = highest.max(Some(*n));
            }
            let c = sink.counters();
            prop_assert_eq!(c.frames, seen.len() as u64);
            prop_assert_eq!(c.duplicates, (numbers.len() - seen.len()) as u64);
            prop_assert_eq!(c.reordered, reordered);
            prop_assert_eq!(c.stale, 0);
        }
    }

    #[test]
    fn a_gap_of_any_width_leaves_no_old_bit_behind() {
        let mut sink = Sink::new(FlowId(0), None, &Spares::new(1));
        for n in [0, 1, WINDOW + 1, WINDOW, 10 * WINDOW, MODULUS - 2, MODULUS - 1] {
            take(&mut sink, n);
        }
        assert_eq!((sink.counters().frames, sink.counters().duplicates), (7, 0));
        assert_eq!((sink.counters().reordered, sink.counters().stale), (1, 0));
        take(&mut sink, 5);
        assert_eq!((sink.counters().reordered, sink.counters().stale), (2, 1));
    }

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
