//! The line: serialization time of a frame.

use ground::time::Duration;
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
            Duration::from_picos(time.as_picos().saturating_sub(1) / step * step)
        }
    }

    /// Sets the line rate.
    pub const fn set_rate(&mut self, rate: BitsPerSec) {
        *self = Self::new(rate, self.plan);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
