//! The shaper: limits a port to the rate of its link.

use super::{Line, LinePlan};
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes};

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
}
