//! The reaction point: a rate that feedback decreases, and that time and bytes increase (802.1Q
//! 30.2.2 to 30.2.5, 32.13 to 32.15).
//!
//! Three phases, by the number of increases of each cause since the last cut: fast recovery halves
//! the distance to the target, active increase moves the target, hyper-active increase moves it by
//! growing steps. At the full rate no timer runs.

use super::{QuantizedFeedback, ReactionPlan, jittered};
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::BitsPerSec;

/// Ratio of target to rate above which the first increase lowers the target instead of approaching
/// it: the flow was cut repeatedly in the meantime.
const TARGET_FAR: u64 = 10;

/// Divisor of such a target. Both numbers are from the algorithm's published pseudo-code, recalled.
const TARGET_BACK: u64 = 8;

/// Rate of one flow. Takes feedback, time and sent bytes in the order in which they happen.
#[derive(Clone, Debug)]
pub struct ReactionPoint {
    plan: ReactionPlan,
    rng: Rng,
    /// Maximum rate of the flow in bit/s.
    most: u64,
    /// Current rate in bit/s (rpCurrentRate).
    rate: u64,
    /// Target rate of the recovery in bit/s (rpTargetRate).
    target: u64,
    /// Increases by bytes and by time since the last cut (rpByteStage, rpTimeStage).
    counted: u32,
    timed: u32,
    /// Bytes until the next increase by bytes (rpByteCount).
    bytes_left: u64,
    /// Time of the next increase by time (rpWhile); NEVER while the flow is not limited.
    due: Instant,
}

impl ReactionPoint {
    /// Creates a flow that is not limited. The plan must be sound.
    #[must_use]
    pub fn new(plan: ReactionPlan, line: BitsPerSec, seed: u64) -> Self {
        assert!(plan.is_sound(), "a plan that was not checked");
        let most = most(&plan, line);
        Self {
            plan,
            rng: Rng::new(seed),
            most,
            rate: most,
            target: most,
            counted: 0,
            timed: 0,
            bytes_left: plan.byte_reset.0,
            due: Instant::NEVER,
        }
    }

    /// Returns the current sending rate.
    #[inline]
    #[must_use]
    pub fn rate(&self) -> BitsPerSec {
        BitsPerSec::new(self.rate).expect("a rate never falls to zero")
    }

    /// Returns the target rate of the recovery.
    #[must_use]
    pub fn target(&self) -> BitsPerSec {
        BitsPerSec::new(self.target).expect("a target never falls to zero")
    }

    /// Returns true if the flow is not limited and no recovery is under way.
    #[inline]
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.rate == self.most && self.target == self.most
    }

    /// Returns the time at which [`Self::on_timeout`] is due; NEVER while the flow is not limited.
    #[inline]
    #[must_use]
    pub const fn next_deadline(&self) -> Instant {
        self.due
    }

    /// Handles a CNM. Feedback of 0 changes nothing.
    ///
    /// The target becomes the rate before the cut, except if no increase by bytes has happened
    /// since the last cut: then it stays, so that a burst of CNMs does not lose the original rate.
    pub fn on_cnm(&mut self, now: Instant, feedback: QuantizedFeedback) {
        self.on_timeout(now);
        if feedback.get() == 0 {
            return;
        }
        if self.is_idle() || self.counted != 0 {
            self.target = self.rate;
            self.bytes_left = self.next_bytes(0);
        }
        (self.counted, self.timed) = (0, 0);
        let cut = self.rate_part(u64::from(feedback.get()), 1 << self.plan.gain);
        let kept = self.rate_part(self.plan.keep_min.into(), 100);
        self.rate = (self.rate - cut).max(kept).max(self.floor());
        self.due = now.saturating_add(self.next_time(0));
        self.rest();
    }

    /// Performs all increases that are due at `now`, in order.
    pub fn on_timeout(&mut self, now: Instant) {
        while self.due <= now && self.due < Instant::NEVER {
            self.timed = self.timed.saturating_add(1);
            let next = self.next_time(self.timed);
            self.due = self.due.saturating_add(next);
            self.increase();
        }
    }

    /// Accounts for a sent frame of `bytes` bytes. The caller has handled all earlier timeouts.
    #[inline]
    pub fn on_sent(&mut self, bytes: u32) {
        let mut bytes = u64::from(bytes);
        while self.due < Instant::NEVER && bytes >= self.bytes_left {
            bytes -= self.bytes_left;
            self.counted = self.counted.saturating_add(1);
            self.bytes_left = self.next_bytes(self.counted);
            self.increase();
        }
        if self.due < Instant::NEVER {
            self.bytes_left -= bytes;
        }
    }

    /// Sets the line rate. A flow that ran at the old line rate runs at the new one.
    pub fn set_line(&mut self, line: BitsPerSec) {
        let was_idle = self.is_idle();
        self.most = most(&self.plan, line);
        if was_idle {
            (self.rate, self.target) = (self.most, self.most);
        }
        (self.rate, self.target) = (self.rate.min(self.most), self.target.min(self.most));
        self.rest();
    }

    /// Performs one increase, after its cause was counted: the first `threshold` of them only
    /// recover.
    fn increase(&mut self) {
        let f = self.plan.threshold;
        let (more, both) = (self.counted.max(self.timed), self.counted.min(self.timed));
        let first = self.counted == 1 || self.timed == 1;
        if first && self.target / TARGET_FAR > self.rate {
            self.target /= TARGET_BACK;
        } else {
            let step = if both > f {
                self.plan.hyper.get().saturating_mul(u64::from(both - f))
            } else if more > f {
                self.plan.active.get()
            } else {
                0
            };
            self.target = self.target.saturating_add(step).min(self.most);
        }
        // Rounded up, so that recovery ends.
        self.rate = (self.rate + self.target).div_ceil(2).min(self.most);
        self.rest();
    }

    /// Returns the bytes to the next increase at this stage. Past the threshold the distance is
    /// halved.
    fn next_bytes(&mut self, stage: u32) -> u64 {
        let whole = self.plan.byte_reset.0;
        let base = if stage < self.plan.threshold { whole } else { whole / 2 };
        jittered(base, self.plan.jitter, &mut self.rng)
    }

    /// Returns the time to the next increase at this stage.
    fn next_time(&mut self, stage: u32) -> Duration {
        let whole = self.plan.time_reset.as_picos();
        let base = if stage < self.plan.threshold { whole } else { whole / 2 };
        Duration::from_picos(jittered(base, self.plan.jitter, &mut self.rng))
    }

    /// Returns `times` / `over` of the rate, rounded down.
    fn rate_part(&self, times: u64, over: u64) -> u64 {
        (u128::from(self.rate) * u128::from(times) / u128::from(over)) as u64
    }

    /// Returns the minimum rate: the plan's, or the maximum rate where that is lower.
    fn floor(&self) -> u64 {
        self.plan.min_rate.get().min(self.most)
    }

    /// Stops the timer at the full rate.
    fn rest(&mut self) {
        if self.is_idle() {
            self.due = Instant::NEVER;
        }
    }
}

/// Returns the maximum rate of a flow on a link of rate `line`.
fn most(plan: &ReactionPlan, line: BitsPerSec) -> u64 {
    plan.max_rate.map_or(line.get(), |max| max.get().min(line.get()))
}
