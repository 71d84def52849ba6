//! Meter of one flow: its rate over a sliding window (5.4.X b as proposed, metering per stream).
//!
//! The window slides in whole windows: the bytes of the last whole one count in proportion to the
//! part of it that the sliding window still covers, as if they had come evenly. So the rate needs
//! two sums and no timer. The frame that is added counts whole, so a rate is at most one frame per window
//! too high.

use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes};

/// Rate from which a congesting flow is signalled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeterPlan {
    /// Least rate of the flow's selected frames; `None` for no meter.
    pub rate: Option<BitsPerSec>,
    /// Window over which it is measured. Not zero.
    pub window: Duration,
}

/// Bytes of a flow in the present window and in the one before.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Meter {
    start: Instant,
    bytes: u64,
    before: u64,
}

impl Meter {
    /// Adds a frame and returns the rate over the last window, in bit/s.
    pub(super) fn add(&mut self, now: Instant, frame: Bytes, window: Duration) -> u64 {
        let age = now.since(self.start);
        if age >= window {
            // More than a whole window without a frame leaves nothing of the sums.
            let next = age < window.saturating_mul(2) && self.start > Instant::ZERO;
            self.before = if next { self.bytes } else { 0 };
            self.start = if next { self.start.saturating_add(window) } else { now };
            self.bytes = 0;
        }
        self.bytes = self.bytes.saturating_add(frame.0);
        let (age, window) = (now.since(self.start).as_picos(), window.as_picos());
        let left = u128::from(self.before) * u128::from(window - age) / u128::from(window);
        let bits = (left + u128::from(self.bytes)) * 8_000_000_000_000;
        u64::try_from(bits / u128::from(window)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::us;

    const WINDOW: Duration = Duration::from_micros(100);

    #[test]
    fn a_steady_flow_has_its_rate_after_one_window() {
        let mut meter = Meter::default();
        // 1,250 bytes per microsecond are 10 Gb/s.
        let rates: Vec<u64> =
            (1_000..1_500).map(|n| meter.add(us(n), Bytes(1_250), WINDOW)).collect();
        assert_eq!(rates[0], 100_000_000);
        assert!(rates[..99].is_sorted());
        for rate in &rates[99..] {
            assert!((9_900_000_000..=10_100_000_000).contains(rate), "{rate}");
        }
    }

    #[test]
    fn a_pause_of_two_windows_leaves_nothing_and_one_of_less_leaves_a_part() {
        let mut meter = Meter::default();
        meter.add(us(1_000), Bytes(12_500), WINDOW);
        // Half of the window before is covered.
        assert_eq!(meter.add(us(1_150), Bytes(0), WINDOW), 500_000_000);
        assert_eq!(meter.add(us(1_350), Bytes(125), WINDOW), 10_000_000);
    }
}
