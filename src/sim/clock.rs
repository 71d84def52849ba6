//! The clock of one node.

use ground::time::{Duration, Instant};

/// Relation of a node's clock to the network's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockPlan {
    /// Clock value at the network's time 0.
    pub offset: Duration,
    /// Drift in parts per thousand million; positive is faster. Ethernet allows 100,000 (100 ppm).
    /// More than -500,000,000 and less than 500,000,000.
    pub drift_ppb: i32,
}

/// Unit of a drift.
const PARTS: i128 = 1_000_000_000;

impl ClockPlan {
    /// Returns true if the clock equals the network's.
    #[inline]
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        self.offset.as_picos() == 0 && self.drift_ppb == 0
    }

    /// Returns the clock value at the network's time `at`.
    #[inline(always)]
    #[must_use]
    pub fn local(&self, at: Instant) -> Instant {
        if self.is_exact() || at == Instant::NEVER { at } else { self.shown(at) }
    }

    fn shown(&self, at: Instant) -> Instant {
        let at = at.as_picos() as i128;
        let shown = at + (at * i128::from(self.drift_ppb)).div_euclid(PARTS);
        to_instant(shown + i128::from(self.offset.as_picos()))
    }

    /// Returns the first time of the network at which the clock shows `shown` or more.
    #[inline(always)]
    #[must_use]
    pub fn network(&self, shown: Instant) -> Instant {
        if self.is_exact() || shown == Instant::NEVER { shown } else { self.found(shown) }
    }

    fn found(&self, shown: Instant) -> Instant {
        let since = shown.as_picos() as i128 - i128::from(self.offset.as_picos());
        let mut at = (since * PARTS).div_euclid(PARTS + i128::from(self.drift_ppb)).max(0);
        // The two roundings together are off by one or two picoseconds, never by more.
        while at > 0 && self.local(to_instant(at - 1)) >= shown {
            at -= 1;
        }
        while self.local(to_instant(at)) < shown {
            at += 1;
        }
        to_instant(at)
    }
}

fn to_instant(ps: i128) -> Instant {
    u128::try_from(ps).map_or(Instant::NEVER, Instant::from_picos)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_hundred_ppm_are_a_hundred_nanoseconds_in_a_millisecond() {
        let clock = ClockPlan { offset: Duration::from_micros(5), drift_ppb: -100_000 };
        let shown = clock.local(Instant::ZERO + Duration::from_millis(1));
        assert_eq!(shown.as_picos(), 1_000_000_000 + 5_000_000 - 100_000);
    }

    proptest! {
        #[test]
        fn a_deadline_is_met_as_soon_as_the_clock_shows_it(
            offset in 0_u64..1_000_000_000_000,
            drift_ppb in -400_000_000_i32..400_000_000,
            shown in 0_u64..1_000_000_000_000_000,
        ) {
            let clock = ClockPlan { offset: Duration::from_picos(offset), drift_ppb };
            let shown = Instant::from_picos(shown.into());
            let at = clock.network(shown);
            prop_assert!(clock.local(at) >= shown);
            if at > Instant::ZERO {
                let before = Instant::from_picos(at.as_picos() - 1);
                prop_assert!(clock.local(before) < shown);
            }
        }
    }
}
