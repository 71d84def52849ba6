//! Schedule of a stream's frames.

use crate::plan::Rate;
use crate::plan::stream::{Burst, Pace as PacePlan};
use ground::time::{Duration, Instant};
use ground::units::Bytes;
use schedule::Line;

/// Bytes of the interpacket gap within a line's overhead (802.3 4.4.2).
const IPG: u32 = 12;

/// The pace of one stream: intervals between due times.
///
/// An interval is a fraction: (bytes x `per_octet` + `fixed`) / `parts` picoseconds. Its rounding
/// error is carried to a later interval, so no sum of them is off by a picosecond.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    plan: PacePlan,
    line: Line,
    per_octet: u128,
    fixed: u128,
    parts: u128,
    /// Carried rounding error, in parts of a picosecond; less than one.
    rest: u128,
    /// Cached result: frame length, with its interval in whole picoseconds and parts.
    known: (u32, u64, u128),
    /// Remaining frames of the burst; 0 without bursts.
    in_burst: u32,
}

impl Pace {
    /// Creates the pace of a validated plan on its line.
    pub(super) fn new(plan: PacePlan, line: &Line) -> Self {
        let mut pace = Self {
            plan,
            line: *line,
            per_octet: 0,
            fixed: 0,
            parts: 1,
            rest: 0,
            known: (0, 0, 0),
            in_burst: 0,
        };
        pace.set_line(line);
        pace.restart();
        pace
    }

    /// Restarts with a whole burst.
    pub(super) fn restart(&mut self) {
        self.rest = 0;
        self.in_burst = self.plan.burst.map_or(0, |burst| burst.frames);
    }

    /// Sets another link rate; a share of the line becomes a share of that.
    pub(super) fn set_line(&mut self, line: &Line) {
        self.line = *line;
        // Bits of a byte times picoseconds of a second.
        let octet_second: u128 = 8_000_000_000_000;
        let (per_octet, fixed, parts) = match self.plan.rate {
            Rate::Frames(n) => (0, 1_000_000_000_000, u128::from(n)),
            Rate::FrameBits(rate) => (octet_second, 0, u128::from(rate.get())),
            Rate::LineShare(ppm) => {
                let per_octet = octet_second * 1_000_000;
                let overhead = u128::from(line.octets(0));
                let parts = u128::from(line.rate().get()) * u128::from(ppm);
                (per_octet, per_octet * overhead, parts)
            }
        };
        // Small numbers divide faster.
        let by = gcd(gcd(per_octet, fixed), parts);
        (self.per_octet, self.fixed, self.parts) = (per_octet / by, fixed / by, parts / by);
        // Parts of the old fraction mean nothing in the new one.
        (self.rest, self.known) = (0, (0, 0, 0));
    }

    /// Returns the due time of the next frame after one that was due at `due`, has `size` bytes
    /// with FCS and starts on the line at `start`.
    #[inline]
    pub(super) fn after(&mut self, due: Instant, start: Instant, size: u32) -> Instant {
        // This was the last frame of its burst.
        if self.in_burst == 1 {
            return self.next_burst(start, size);
        }
        self.in_burst = self.in_burst.saturating_sub(1);
        let next = due.saturating_add(self.interval(size));
        // The line has Ethernet's gap anyway.
        if self.plan.gap <= IPG { next } else { next.max(self.gap_over(start, size)) }
    }

    /// Returns the due time of the frame `n` frames after this one, for a plain pace and equal
    /// sizes.
    #[inline]
    pub(super) fn after_many(&mut self, due: Instant, size: u32, n: u64) -> Instant {
        let (whole, parts) = self.parts_of(size);
        let sum = self.rest + parts * u128::from(n);
        // Without a division in the usual case.
        let carry = if sum < self.parts {
            self.rest = sum;
            0
        } else {
            self.rest = sum % self.parts;
            (sum / self.parts) as u64
        };
        due.saturating_add(Duration::from_picos(whole.saturating_mul(n).saturating_add(carry)))
    }

    /// Returns a lower bound of the number of frames of `size` bytes, after one due at `due`, that
    /// are due by `now`.
    #[inline]
    pub(super) fn more_by(&mut self, due: Instant, size: u32, now: Instant) -> u64 {
        let (whole, parts) = self.parts_of(size);
        // A fraction counts as a whole picosecond, so the result is never too high.
        let each = whole.saturating_add(u64::from(parts > 0)).max(1);
        now.since(due).as_picos() / each
    }

    /// Returns true if only the rate decides when frames are due.
    #[inline]
    pub(super) const fn is_plain(&self) -> bool {
        self.in_burst == 0 && self.plan.gap <= IPG
    }

    /// Returns the interval after a frame of `size` bytes, including the carried rounding error.
    #[inline]
    fn interval(&mut self, size: u32) -> Duration {
        let (whole, parts) = self.parts_of(size);
        self.rest += parts;
        let carry = self.rest >= self.parts;
        self.rest -= if carry { self.parts } else { 0 };
        Duration::from_picos(whole.saturating_add(u64::from(carry)))
    }

    /// Returns the interval of frames of `size` bytes, in whole picoseconds, rounded down, and the
    /// remainder.
    #[inline]
    pub(super) fn parts_of(&mut self, size: u32) -> (u64, u128) {
        if self.known.0 != size {
            let all = self.per_octet * u128::from(size) + self.fixed;
            let (whole, rest) = match (u64::try_from(all), u64::try_from(self.parts)) {
                (Ok(all), Ok(parts)) => (all / parts, u128::from(all % parts)),
                // 128 bits divide many times slower, and few plans need them.
                _ => (u64::try_from(all / self.parts).unwrap_or(u64::MAX), all % self.parts),
            };
            self.known = (size, whole, rest);
        }
        (self.known.1, self.known.2)
    }

    /// Returns the end of the gap after a frame that starts at `start`.
    fn gap_over(&self, start: Instant, size: u32) -> Instant {
        start.saturating_add(self.on_line(size, self.plan.gap))
    }

    /// Starts the next burst after a frame that starts at `start`.
    fn next_burst(&mut self, start: Instant, size: u32) -> Instant {
        let Burst { frames, gap } = self.plan.burst.expect("a burst's frames are counted");
        self.in_burst = frames;
        start.saturating_add(self.on_line(size, 0)).saturating_add(gap)
    }

    /// Returns the line time of a frame and a gap of `gap` bytes.
    fn on_line(&self, size: u32, gap: u32) -> Duration {
        // The stream's gap takes the place of Ethernet's.
        let octets = self.line.octets(size).saturating_sub(IPG.into()) + u64::from(gap);
        self.line.rate().time_for(Bytes(octets))
    }
}

const fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ground::units::BitsPerSec;
    use schedule::LinePlan;

    fn pace(rate: Rate, burst: Option<Burst>, gap: u32, link: BitsPerSec) -> Pace {
        let line = Line::new(link, LinePlan::ETHERNET);
        Pace::new(PacePlan { rate, gap, burst }, &line)
    }

    proptest! {
        #[test]
        fn no_sum_of_intervals_is_a_picosecond_off(
            n in 1_u64..20_000_000, sizes in prop::collection::vec(64_u32..9_000, 1..200),
            bps in 1_u64..400_000_000_000, ppm in 1_u32..=1_000_000,
        ) {
            let link = BitsPerSec::new(123_456_789_123).unwrap();
            let octets: u128 = sizes.iter().map(|s| u128::from(*s)).sum();
            let frames = sizes.len() as u128;
            let second = 1_000_000_000_000_u128;
            let share = u128::from(link.get()) * u128::from(ppm);
            for (rate, exact) in [
                (Rate::Frames(n), frames * second / u128::from(n)),
                (Rate::FrameBits(BitsPerSec::new(bps).unwrap()), octets * 8 * second / u128::from(bps)),
                (Rate::LineShare(ppm), (octets + 20 * frames) * 8 * second * 1_000_000 / share),
            ] {
                let mut pace = pace(rate, None, 12, link);
                let mut due = Instant::ZERO;
                for size in &sizes {
                    due = pace.after(due, due, *size);
                }
                prop_assert_eq!(due.as_picos(), exact, "{:?}", rate);
            }
        }

        #[test]
        fn many_at_once_are_as_one_by_one(
            n in 1_u64..20_000_000, steps in prop::collection::vec(1_u64..40, 1..50)
        ) {
            let link = BitsPerSec::gbps(100);
            let (mut one, mut many) = (pace(Rate::Frames(n), None, 12, link), pace(Rate::Frames(n), None, 12, link));
            let (mut a, mut b) = (Instant::ZERO, Instant::ZERO);
            for step in steps {
                for _ in 0..step {
                    a = one.after(a, a, 64);
                }
                b = many.after_many(b, 64, step);
                prop_assert_eq!(a, b);
            }
        }
    }

    #[test]
    fn a_gap_of_more_than_ethernets_keeps_frames_apart() {
        let mut pace = pace(Rate::LineShare(1_000_000), None, 100, BitsPerSec::gbps(100));
        let start = Instant::from_picos(500);
        assert_eq!(pace.after(start, start, 64), Instant::from_picos(500 + (8 + 64 + 100) * 80));
    }

    #[test]
    fn bursts_follow_each_other_after_exactly_their_gap() {
        let burst = Burst { frames: 3, gap: Duration::from_picos(12_345) };
        let rate = Rate::LineShare(1_000_000);
        let mut pace = pace(rate, Some(burst), 12, BitsPerSec::gbps(100));
        let (mut due, mut dues) = (Instant::ZERO, vec![0]);
        for _ in 0..4 {
            due = pace.after(due, due, 64);
            dues.push(due.as_picos());
        }
        let next = 2 * 6_720 + 72 * 80 + 12_345;
        assert_eq!(dues, [0, 6_720, 13_440, next, next + 6_720]);
    }
}
