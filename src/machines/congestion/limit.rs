//! Rate limit of messages: one per interval in the long run, and a burst at once.

use ground::time::{Duration, Instant};

/// Parameters of a message limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitPlan {
    /// Interval between messages in the long run. Zero: no limit.
    pub interval: Duration,
    /// Maximum number of messages at once after a long silence. Not zero.
    pub burst: u32,
}

/// State of a message limit: the virtual scheduling form of the generic cell rate algorithm (ITU-T
/// I.371), which needs no timer, so the frequency of calls does not matter.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    plan: LimitPlan,
    /// Time by which a message may precede its scheduled time.
    early: Duration,
    /// Scheduled time of the next message at the mean rate.
    due: Instant,
    /// Time from which the next message may pass: `due` less `early`.
    opens: Instant,
}

impl Limit {
    /// Creates a limit with its full burst available.
    ///
    /// # Panics
    /// If the burst is zero: no message would ever pass.
    #[must_use]
    pub fn new(plan: LimitPlan) -> Self {
        assert!(plan.burst > 0, "a limit that lets nothing pass");
        // A burst of n may be n - 1 intervals ahead of its schedule: the tolerance of the algorithm.
        let early = plan.interval.saturating_mul(u64::from(plan.burst - 1));
        Self { plan, early, due: Instant::ZERO, opens: Instant::ZERO }
    }

    /// Returns true if a message may pass at `now`.
    #[inline]
    #[must_use]
    pub fn would_pass(&self, now: Instant) -> bool {
        now >= self.opens
    }

    /// Returns true, and counts the message, if it may pass at `now`.
    pub fn pass(&mut self, now: Instant) -> bool {
        if !self.would_pass(now) {
            return false;
        }
        // Silence earns no more than the burst: the schedule never lies in the past.
        self.due = self.due.max(now).saturating_add(self.plan.interval);
        self.opens = self.due.saturating_sub(self.early);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_window_lets_more_pass_than_its_intervals_and_a_burst(
            gaps in prop::collection::vec(0_u64..30, 1..300), interval in 1_u64..20, burst in 1_u32..9
        ) {
            let plan = LimitPlan { interval: Duration::from_micros(interval), burst };
            let mut limit = Limit::new(plan);
            let (mut now, mut passed) = (0, Vec::new());
            for gap in gaps {
                now += gap;
                if limit.pass(Instant::ZERO + Duration::from_micros(now)) {
                    passed.push(now);
                }
            }
            for (n, first) in passed.iter().enumerate() {
                for (more, last) in passed[n..].iter().enumerate() {
                    let allowed = u64::from(burst) + (last - first) / interval;
                    prop_assert!((more as u64) < allowed, "{passed:?}");
                }
            }
        }
    }

    #[test]
    fn without_an_interval_everything_passes() {
        let mut limit = Limit::new(LimitPlan { interval: Duration::ZERO, burst: 1 });
        assert!((0..1_000).all(|_| limit.pass(Instant::ZERO)));
    }
}
