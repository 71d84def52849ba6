//! Clock of the real world: the processor's timestamp counter (TSC), in picoseconds.
//!
//! A read costs about 10 ns and no system call. The counter's rate is measured against the system's
//! monotonic clock when the clock is made, because the rate that DPDK and the processor's name give
//! is rounded (to 10 MHz, so up to 0.2 %).

use core::hint;
use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use super::hot::rdtsc;
use ground::time::{Duration, Instant};
use kernel::UPTIME;

/// Time over which the rate is measured. Each end is known to about 50 ns, so the rate is good to
/// about 2 ppm.
const CALIBRATION: StdDuration = StdDuration::from_millis(50);

/// Fractional bits of [`TscClock::ps_per_tick`].
const SHIFT: u32 = 32;

/// The timestamp counter as picoseconds since the clock was made. A copy is the same clock, so
/// workers that share one agree about time as far as their cores' counters do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TscClock {
    zero: u64,
    /// Picoseconds per tick, in units of 2^-32 ps.
    ps_per_tick: u64,
    hz: u64,
}

/// Quality of a [`TscClock`], as measured by [`TscClock::quality`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClockQuality {
    /// Rate of the counter in Hz.
    pub hz: u64,
    /// Difference between the measured rate and the rate in use, in parts per million against the
    /// system's monotonic clock; positive if the counter ran fast.
    pub drift_ppm: f64,
    /// Uncertainty of `drift_ppm`, in parts per million.
    pub drift_ppm_uncertain: f64,
    /// Smallest step between two consecutive reads.
    pub step: Duration,
    /// Longest gap between two consecutive reads: the time that the machine takes from a polling
    /// loop.
    pub gap_max: Duration,
    /// True if the counter went back.
    pub went_back: bool,
}

/// Readings of both clocks at about the same moment.
struct Pair {
    tsc: u64,
    system: StdInstant,
    /// Ticks between the reads on either side of the system's clock.
    width: u64,
}

impl Pair {
    /// Returns the tightest of several attempts, which excludes an interruption between the reads.
    fn read() -> Self {
        let attempt = || {
            let before = rdtsc();
            let system = StdInstant::now();
            let width = rdtsc().saturating_sub(before);
            Self { tsc: before + width / 2, system, width }
        };
        (0..32).map(|_| attempt()).min_by_key(|pair| pair.width).expect("the range is not empty")
    }

    /// Rate of the counter between two readings, in Hz.
    fn rate_since(&self, earlier: &Self) -> f64 {
        let ticks = (self.tsc - earlier.tsc) as f64;
        ticks / self.system.duration_since(earlier.system).as_secs_f64()
    }
}

impl TscClock {
    /// Makes a clock that starts at zero now; takes 50 ms to measure its rate.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let first = Pair::read();
        thread::sleep(CALIBRATION);
        let hz = Pair::read().rate_since(&first).round() as u64;
        Self::with_rate(hz)
    }

    /// Makes a clock that starts at zero now, for a counter of `hz` (above 0) ticks per second.
    pub fn with_rate(hz: u64) -> Self {
        let ps_per_tick = (1_000_000_000_000_u128 << SHIFT).div_ceil(hz.into()) as u64;
        let uptime = std::env::var(UPTIME).ok().and_then(|seconds| seconds.parse().ok());
        Self { zero: rdtsc(), ps_per_tick, hz }.started_before(uptime.unwrap_or(0.0))
    }

    /// Moves the start of the clock back by `seconds` (fewer than 2^63 ticks).
    #[must_use]
    pub fn started_before(self, seconds: f64) -> Self {
        Self { zero: self.zero.wrapping_sub((seconds * self.hz as f64) as u64), ..self }
    }

    /// Returns the current time. It never goes back in one thread.
    #[inline(always)]
    pub fn now(&self) -> Instant {
        // A core whose counter is slightly behind reads the start, not the end of time. The start
        // may be earlier than the counter's zero.
        let ticks = rdtsc().wrapping_sub(self.zero) as i64;
        self.at(ticks.max(0) as u64)
    }

    /// Time `ticks` after the start. One multiplication of the whole count, so no error
    /// accumulates.
    #[inline(always)]
    fn at(&self, ticks: u64) -> Instant {
        Instant::from_picos((u128::from(ticks) * u128::from(self.ps_per_tick)) >> SHIFT)
    }

    /// One tick, rounded up to whole picoseconds.
    pub fn resolution(&self) -> Duration {
        Duration::from_picos((self.ps_per_tick >> SHIFT) + 1)
    }

    /// Rate of the counter in Hz.
    pub fn hz(&self) -> u64 {
        self.hz
    }

    /// Observes the counter for `span` (best 200 ms or more) and returns its quality.
    pub fn quality(&self, span: StdDuration) -> ClockQuality {
        let first = Pair::read();
        let mut last = self.now();
        let (mut step, mut gap_max, mut went_back) = (Duration::MAX, Duration::ZERO, false);
        while first.system.elapsed() < span {
            for _ in 0..1_000 {
                let now = self.now();
                let gap = now.since(last);
                went_back |= now < last;
                step = step.min(gap);
                gap_max = gap_max.max(gap);
                last = now;
                hint::spin_loop();
            }
            // Reading the system's clock is not a gap of the counter.
            last = self.now();
        }
        let second = Pair::read();
        let rate = second.rate_since(&first);
        let uncertain = (first.width + second.width) as f64 / (second.tsc - first.tsc) as f64;
        ClockQuality {
            hz: self.hz,
            drift_ppm: (rate / self.hz as f64 - 1.0) * 1e6,
            drift_ppm_uncertain: uncertain * 1e6,
            step,
            gap_max,
            went_back,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_of_ticks_is_a_day_of_picoseconds() {
        // 2.596 GHz is not a whole number of picoseconds per tick; the error stays below 1 us a
        // day.
        let hz = 2_596_120_000;
        let clock = TscClock::with_rate(hz);
        let day = clock.at(hz * 86_400).as_picos();
        assert!(day.abs_diff(86_400 * 1_000_000_000_000) < 1_000_000, "{day}");
        assert_eq!(clock.at(0), Instant::ZERO);
    }

    #[test]
    fn a_clock_goes_on_for_years() {
        let hz = 2_596_120_000;
        let clock = TscClock::with_rate(hz);
        let mut last = Instant::ZERO;
        for day in 1..=20 * 365 {
            let now = clock.at(hz * 86_400 * day);
            let exact = Instant::from_picos(u128::from(day) * 86_400 * 1_000_000_000_000);
            let off = now.total_since(exact) + exact.total_since(now);
            assert!(now > last && off < Duration::from_micros(day), "day {day}: {now:?}");
            last = now;
        }
        // Across 2^64 ps the clock continues as its counter does.
        let end = 18_446_744.073_7;
        let mut last = clock.now();
        let late = clock.started_before(end - 0.000_5);
        let begin = late.now();
        assert!(begin.since(last) > Duration::from_secs(18_000_000), "{begin:?}");
        last = begin;
        while last.as_picos() >> 64 == 0 || last.since(begin) < Duration::from_millis(2) {
            let now = late.now();
            assert!(now >= last, "{now:?} after {last:?}");
            last = now;
        }
        assert!(clock.started_before(1e9).now() > last);
    }

    #[test]
    fn the_clock_agrees_with_the_systems_and_never_goes_back() {
        let clock = TscClock::new();
        let started = (clock.now(), StdInstant::now());
        let mut last = started.0;
        for _ in 0..100_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        thread::sleep(StdDuration::from_millis(100));
        let ours = clock.now().since(started.0).as_secs_f64();
        let system = started.1.elapsed().as_secs_f64();
        // 1 % is far above the difference of the clocks and far below a wrong rate; a busy machine
        // delays the second read by a few milliseconds at worst.
        assert!((ours - system).abs() < 0.01 * system + 0.005, "{ours} {system}");
    }
}
