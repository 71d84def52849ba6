//! The line (serialization time of a frame), and the shaper that limits a port to its rate.

use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes};

/// Overhead of frames on a line, and the resolution of its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinePlan {
    /// Bytes on the line per frame besides the frame.
    pub overhead: u32,
    /// Time resolution of this line. One picosecond is exact. Longer steps are for comparison with
    /// simulators: a frame's time is truncated to whole steps, and one that is a whole number of
    /// steps loses one too, because ns-3 truncates a floating-point number that lies just below it
    /// (1,500 bytes at 100 Gb/s are 119 ns there, not 120).
    pub step: Duration,
}

impl LinePlan {
    /// Ethernet: preamble and start delimiter (8) and interpacket gap (12), IEEE 802.3 4.4.2.
    pub const ETHERNET: Self = Self { overhead: 20, step: Duration::from_picos(1) };

    /// Returns the plan with `octets` more bytes per frame.
    #[must_use]
    pub const fn and(self, octets: u32) -> Self {
        Self { overhead: self.overhead + octets, step: self.step }
    }
}

impl Default for LinePlan {
    fn default() -> Self {
        Self::ETHERNET
    }
}

/// A line with a rate.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    plan: LinePlan,
    rate: BitsPerSec,
    /// Picoseconds per byte if that is an integer, else 0: a 128-bit division takes half as long as
    /// all other processing of a frame.
    per_octet: u64,
}

/// Picoseconds per byte at one bit per second.
const PICOS_PER_OCTET_BPS: u64 = 8_000_000_000_000;

impl Line {
    /// Creates a line of `rate`.
    #[must_use]
    pub const fn new(rate: BitsPerSec, plan: LinePlan) -> Self {
        // Rates from 10 to 400 Gb/s have 800 to 20 whole picoseconds per byte; only unusual rates need the division.
        let exact = PICOS_PER_OCTET_BPS % rate.get() == 0;
        Self { plan, rate, per_octet: if exact { PICOS_PER_OCTET_BPS / rate.get() } else { 0 } }
    }

    /// Returns the rate.
    #[must_use]
    pub const fn rate(&self) -> BitsPerSec {
        self.rate
    }

    /// Returns the bytes on the line for a frame of `wire_len` bytes.
    #[must_use]
    pub const fn octets(&self, wire_len: u32) -> u64 {
        wire_len as u64 + self.plan.overhead as u64
    }

    /// Returns the time of a frame of `wire_len` bytes (FCS included) on the line, overhead
    /// included, rounded up to the picosecond, or truncated to steps as configured.
    #[inline]
    #[must_use]
    pub fn time_for(&self, wire_len: u32) -> Duration {
        let octets = self.octets(wire_len);
        let time = match self.per_octet {
            0 => self.rate.time_for(Bytes(octets)),
            ps => Duration::from_picos(octets * ps),
        };
        let step = self.plan.step.as_picos();
        if step <= 1 {
            time
        } else {
            // Less one, so that a time of whole steps loses one too, as in ns-3 (see `LinePlan::step`).
            Duration::from_picos(time.as_picos().saturating_sub(1) / step * step)
        }
    }

    /// Sets the line rate.
    pub const fn set_rate(&mut self, rate: BitsPerSec) {
        *self = Self::new(rate, self.plan);
    }
}

/// Paces frames to a rate, to the picosecond. Without a burst allowance a frame may start exactly
/// when the previous one has left the line; with one, a late poll may catch up by at most that
/// much.
#[derive(Clone, Debug)]
pub struct Shaper {
    line: Line,
    burst: Bytes,
    slack: Duration,
    free_at: Instant,
}

impl Shaper {
    /// Creates a shaper for a link of `rate` that may catch up by `burst` bytes.
    #[must_use]
    pub const fn new(rate: BitsPerSec, burst: Bytes, line: LinePlan) -> Self {
        let line = Line::new(rate, line);
        Self { line, burst, slack: rate.time_for(burst), free_at: Instant::ZERO }
    }

    /// Returns true if a frame may start now.
    #[inline]
    #[must_use]
    pub fn ready(&self, now: Instant) -> bool {
        self.free_at <= now
    }

    /// Returns the time at which the next frame may start.
    #[must_use]
    pub const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Returns the start time on the line of a frame sent now, if one may start. A late poll sends
    /// frames that start before it, as far back as the burst allows.
    #[inline]
    #[must_use]
    pub fn start(&self, now: Instant) -> Instant {
        self.free_at.max(now.saturating_sub(self.slack))
    }

    /// Returns the shaped line.
    #[must_use]
    pub const fn line(&self) -> &Line {
        &self.line
    }

    /// Accounts for a frame of `wire_len` bytes (FCS included) that starts now.
    #[inline]
    pub fn charge(&mut self, now: Instant, wire_len: u32) {
        // An idle line earns no more than `slack`, which bounds the burst after it.
        let earliest = now.saturating_sub(self.slack);
        self.free_at = self.free_at.max(earliest) + self.line.time_for(wire_len);
    }

    /// Returns the number of frames of `wire_len` bytes that may start now, back to back, as far as
    /// the line is concerned.
    #[inline]
    #[must_use]
    pub fn room(&self, now: Instant, wire_len: u32) -> u64 {
        if !self.ready(now) {
            return 0;
        }
        // Zero time per frame would be a line without a rate.
        let each = self.line.time_for(wire_len).as_picos().max(1);
        // One frame may start at the start time, and another for each whole frame time from there to now.
        now.since(self.start(now)).as_picos() / each + 1
    }

    /// Accounts for `n` frames of the same length, as [`Self::charge`] does.
    #[inline]
    pub fn charge_many(&mut self, now: Instant, wire_len: u32, n: u64) {
        self.free_at = self.start(now) + self.line.time_for(wire_len).saturating_mul(n);
    }

    /// Sets the link rate.
    pub const fn set_rate(&mut self, rate: BitsPerSec) {
        self.line.set_rate(rate);
        // The allowance is in bytes, so its time depends on the rate.
        self.slack = rate.time_for(self.burst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_each_other_without_a_gap_and_without_overlap() {
        let mut shaper = Shaper::new(BitsPerSec::gbps(100), Bytes(0), LinePlan::ETHERNET);
        let mut now = Instant::ZERO;
        for _ in 0..1000 {
            assert!(shaper.ready(now));
            shaper.charge(now, 64);
            assert!(!shaper.ready(now));
            now = shaper.free_at();
        }
        assert_eq!(now.as_picos(), 1000 * 6_720);
    }

    #[test]
    fn many_frames_at_once_are_as_one_by_one() {
        for (burst, from, late) in [(0, 0, 1), (3_000, 0, 5), (3_000, 900, 7), (100_000, 0, 90)] {
            let mut one = Shaper::new(BitsPerSec::gbps(3), Bytes(burst), LinePlan::ETHERNET);
            one.charge(Instant::from_picos(from), 700);
            let mut many = one.clone();
            let now = Instant::ZERO + Duration::from_micros(late);
            let mut n = 0;
            while one.ready(now) {
                one.charge(now, 200);
                n += 1;
            }
            assert_eq!(many.room(now, 200), n);
            if n > 0 {
                many.charge_many(now, 200, n);
            }
            assert_eq!(many.free_at(), one.free_at());
        }
    }

    #[test]
    fn an_idle_link_saves_up_no_more_than_the_burst() {
        let mut shaper = Shaper::new(BitsPerSec::gbps(1), Bytes(3000), LinePlan::ETHERNET);
        let late = Instant::ZERO + Duration::from_millis(5);
        let mut sent = 0;
        while shaper.ready(late) {
            shaper.charge(late, 980);
            sent += 1;
        }
        // Three from the allowance, and one at the regular time.
        assert_eq!(sent, 4);
    }

    #[test]
    fn a_frame_takes_its_octets_and_the_overhead() {
        let line = Line::new(BitsPerSec::gbps(100), LinePlan::ETHERNET);
        assert_eq!(line.time_for(1048), Duration::from_picos(1068 * 80));
        assert_eq!(line.time_for(64), Duration::from_picos(6_720));
    }

    #[test]
    fn rates_that_do_not_divide_are_rounded_up() {
        let line = Line::new(BitsPerSec::gbps(3), LinePlan { overhead: 0, ..LinePlan::ETHERNET });
        // 1 byte: 2666.67 ps.
        assert_eq!(line.time_for(1), Duration::from_picos(2_667));
        assert_eq!(line.time_for(3), Duration::from_picos(8_000));
    }

    #[test]
    fn whole_nanoseconds_are_cut_as_simulators_cut_them() {
        let plan = LinePlan { overhead: 0, step: Duration::from_nanos(1) };
        let line = Line::new(BitsPerSec::gbps(100), plan);
        assert_eq!(line.time_for(1048), Duration::from_nanos(83));
        assert_eq!(line.time_for(64), Duration::from_nanos(5));
        assert_eq!(line.time_for(1500), Duration::from_nanos(119));
    }
}
