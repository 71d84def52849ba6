//! The reaction point: a rate that feedback cuts, and that time and octets raise (802.1Q 30.2.2 to
//! 30.2.5, 32.13 to 32.15).
//!
//! Three phases, by how many increases each cause has made since the last cut: fast recovery halves the
//! way back to the target, active increase moves the target, hyper-active increase moves it faster and
//! faster. At the full rate with nothing to recover nothing runs at all.

use super::{QuantizedFeedback, ReactionPlan, jittered};
use crate::congestion::Dice;
use crate::time::{Duration, Instant};
use crate::units::BitsPerSec;

/// A target that stands more than this many times above the rate when the first increase comes is
/// taken back instead of approached: the flow was cut again and again meanwhile.
const TARGET_FAR: u64 = 10;

/// What such a target is divided by. Both numbers are from the algorithm's published pseudo-code,
/// recalled.
const TARGET_BACK: u64 = 8;

/// The rate of one flow. Fed with feedback, time and octets sent, in the order in which they happen.
#[derive(Clone, Debug)]
pub struct ReactionPoint {
    plan: ReactionPlan,
    dice: Dice,
    /// The most that the flow may send at.
    most: u64,
    /// The rate in bit/s (rpCurrentRate).
    rate: u64,
    /// The rate that it recovers to (rpTargetRate).
    target: u64,
    /// Increases by octets and by time since the last cut (rpByteStage, rpTimeStage).
    counted: u32,
    timed: u32,
    /// Octets until the next increase by octets (rpByteCount).
    bytes_left: u64,
    /// When the next increase by time is due (rpWhile); NEVER while the flow is not held.
    due: Instant,
}

impl ReactionPoint {
    /// A flow that nobody has slowed down. The plan is sound.
    #[must_use]
    pub fn new(plan: ReactionPlan, line: BitsPerSec, seed: u64) -> Self {
        assert!(plan.is_sound(), "a plan that was not checked");
        let most = most(&plan, line);
        Self {
            plan,
            dice: Dice::new(seed),
            most,
            rate: most,
            target: most,
            counted: 0,
            timed: 0,
            bytes_left: plan.byte_reset.0,
            due: Instant::NEVER,
        }
    }

    /// The rate that the flow may send at now.
    #[inline]
    #[must_use]
    pub fn rate(&self) -> BitsPerSec {
        BitsPerSec::new(self.rate).expect("a rate never falls to zero")
    }

    /// The rate that the flow recovers to.
    #[must_use]
    pub fn target(&self) -> BitsPerSec {
        BitsPerSec::new(self.target).expect("a target never falls to zero")
    }

    /// Whether the flow is not held back and nothing is to be recovered.
    #[inline]
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.rate == self.most && self.target == self.most
    }

    /// When [`Self::on_timeout`] is due; NEVER while the flow is not held back.
    #[inline]
    #[must_use]
    pub const fn next_deadline(&self) -> Instant {
        self.due
    }

    /// A CNM came in. Feedback of 0 asks for nothing and changes nothing.
    ///
    /// The target becomes the rate before the cut, unless not even one increase by octets has come
    /// since the last cut: then it stays, so that a burst of CNMs does not make the flow forget what
    /// it had.
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

    /// Time has come to [`Self::next_deadline`], or past it: every increase that was due happens, in
    /// order.
    pub fn on_timeout(&mut self, now: Instant) {
        while self.due <= now && self.due < Instant::NEVER {
            self.timed = self.timed.saturating_add(1);
            let next = self.next_time(self.timed);
            self.due = self.due.saturating_add(next);
            self.increase();
        }
    }

    /// A frame of `bytes` octets was sent. Timeouts that were due before it have been seen to.
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

    /// The link has another rate. A flow that used all of the old one uses all of the new one.
    pub fn set_line(&mut self, line: BitsPerSec) {
        let was_idle = self.is_idle();
        self.most = most(&self.plan, line);
        if was_idle {
            (self.rate, self.target) = (self.most, self.most);
        }
        (self.rate, self.target) = (self.rate.min(self.most), self.target.min(self.most));
        self.rest();
    }

    /// One increase, after its cause was counted: the first `threshold` of them only recover.
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
        // Rounded up, so that the way back has an end.
        self.rate = (self.rate + self.target).div_ceil(2).min(self.most);
        self.rest();
    }

    /// Octets to the next increase when `stage` of them have been. Past the threshold they come twice
    /// as often.
    fn next_bytes(&mut self, stage: u32) -> u64 {
        let whole = self.plan.byte_reset.0;
        let base = if stage < self.plan.threshold { whole } else { whole / 2 };
        jittered(base, self.plan.jitter, &mut self.dice)
    }

    /// Time to the next increase when `stage` of them have been.
    fn next_time(&mut self, stage: u32) -> Duration {
        let whole = self.plan.time_reset.as_picos();
        let base = if stage < self.plan.threshold { whole } else { whole / 2 };
        Duration::from_picos(jittered(base, self.plan.jitter, &mut self.dice))
    }

    /// `times` / `over` of the rate, rounded down.
    fn rate_part(&self, times: u64, over: u64) -> u64 {
        (u128::from(self.rate) * u128::from(times) / u128::from(over)) as u64
    }

    /// The least rate: the plan's, or the most where that is less.
    fn floor(&self) -> u64 {
        self.plan.min_rate.get().min(self.most)
    }

    /// Stops the clock when nothing is left to recover.
    fn rest(&mut self) {
        if self.is_idle() {
            self.due = Instant::NEVER;
        }
    }
}

/// The most that a flow may send at on a link of `line`.
fn most(plan: &ReactionPlan, line: BitsPerSec) -> u64 {
    plan.max_rate.map_or(line.get(), |max| max.get().min(line.get()))
}
