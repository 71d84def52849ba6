//! DCQCN's reaction point: the rate of one flow, cut by notifications and raised by time and octets.
//!
//! All in integers, so that every machine computes the same rates. Alpha decays by its own clock
//! but matters only when a notification comes, so it is brought up to date then and needs no timer;
//! increases have one. At the full rate with nothing to recover nothing runs at all.

use super::plan::DcqcnPlan;
use crate::time::Instant;
use crate::units::BitsPerSec;

/// The number that stands for an alpha of one.
const ALPHA_ONE: u64 = 1 << 32;

/// What a part of [`DcqcnPlan::GAIN_ONE`] is of [`ALPHA_ONE`].
const ALPHA_PER_GAIN: u64 = ALPHA_ONE / DcqcnPlan::GAIN_ONE as u64;

/// The rate of one flow. Fed with notifications, time and octets sent, in the order in which they
/// happen.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    plan: DcqcnPlan,
    line: u64,
    /// The rate, in bit/s (R_C).
    rate: u64,
    /// The rate that it recovers to (R_T).
    target: u64,
    /// How congested the way is taken to be, in parts of [`ALPHA_ONE`].
    alpha: u64,
    /// When alpha last changed, by a notification or by decay.
    alpha_at: Instant,
    /// When the rate was last decreased.
    decreased_at: Option<Instant>,
    /// Increases by time and by octets since the last decrease.
    timed: u32,
    counted: u32,
    /// When the next increase by time is due; NEVER while nothing is to be recovered.
    due: Instant,
    /// Octets until the next increase by octets.
    bytes_left: u64,
}

impl Dcqcn {
    /// A flow that starts at the rate of its link, as DCQCN's do. The plan is sound.
    #[must_use]
    pub fn new(plan: DcqcnPlan, line: BitsPerSec) -> Self {
        assert!(plan.is_sound(), "a plan that was not checked");
        Self {
            plan,
            line: line.get(),
            rate: line.get(),
            target: line.get(),
            alpha: u64::from(plan.initial_alpha) * ALPHA_PER_GAIN,
            alpha_at: Instant::ZERO,
            decreased_at: None,
            timed: 0,
            counted: 0,
            due: Instant::NEVER,
            bytes_left: plan.increase_bytes.0,
        }
    }

    /// The rate that the flow may send at now.
    #[inline]
    #[must_use]
    pub fn rate(&self) -> BitsPerSec {
        BitsPerSec::new(self.rate).expect("a rate never falls to zero")
    }

    /// Alpha as of its last change, as a fraction.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha as f64 / ALPHA_ONE as f64
    }

    /// Whether the flow may use the whole link and nothing is to be recovered.
    #[inline]
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.rate == self.line && self.target == self.line
    }

    /// When [`Self::on_timeout`] is due; NEVER at the full rate.
    #[inline]
    #[must_use]
    pub const fn next_deadline(&self) -> Instant {
        self.due
    }

    /// A notification came in: R_T = R_C, R_C = R_C (1 - alpha/2), alpha = (1 - g) alpha + g, and
    /// all increases begin anew.
    pub fn on_cnp(&mut self, now: Instant) {
        self.on_timeout(now);
        self.decay(now);
        let early = |at: Instant| now.since(at) < self.plan.decrease_period;
        if !self.decreased_at.is_some_and(early) {
            self.decrease(now);
        }
        self.alpha += self.gain_of(ALPHA_ONE - self.alpha);
        self.alpha_at = now;
    }

    /// Time has come to [`Self::next_deadline`], or past it: every increase that was due happens, in
    /// order.
    pub fn on_timeout(&mut self, now: Instant) {
        while self.due <= now {
            self.due = self.due.saturating_add(self.plan.increase_period);
            self.increase();
            self.timed = self.timed.saturating_add(1);
            self.rest();
        }
    }

    /// A frame of `bytes` octets was sent. Timeouts that were due before it have been seen to.
    #[inline]
    pub fn on_sent(&mut self, bytes: u32) {
        if self.due == Instant::NEVER {
            return;
        }
        let mut bytes = u64::from(bytes);
        while bytes >= self.bytes_left {
            bytes -= self.bytes_left;
            self.bytes_left = self.plan.increase_bytes.0;
            self.increase();
            self.counted = self.counted.saturating_add(1);
            self.rest();
            if self.due == Instant::NEVER {
                return;
            }
        }
        self.bytes_left -= bytes;
    }

    /// The link has another rate. A flow that used all of the old one uses all of the new one.
    pub fn set_line(&mut self, line: BitsPerSec) {
        let was_idle = self.is_idle();
        self.line = line.get();
        if was_idle {
            (self.rate, self.target) = (self.line, self.line);
        }
        (self.rate, self.target) = (self.rate.min(self.line), self.target.min(self.line));
        self.rest();
    }

    /// g times `x`, rounded up, so that decay ends at zero and growth at one.
    fn gain_of(&self, x: u64) -> u64 {
        (x * u64::from(self.plan.gain)).div_ceil(DcqcnPlan::GAIN_ONE.into())
    }

    /// alpha = (1 - g) alpha for each period that passed since it last changed.
    fn decay(&mut self, now: Instant) {
        let period = self.plan.alpha_period;
        let periods = now.since(self.alpha_at).as_picos() / period.as_picos();
        self.alpha_at = self.alpha_at.saturating_add(period.saturating_mul(periods));
        for _ in 0..periods {
            if self.alpha == 0 || self.decreased_at.is_none() {
                return; // Before the first notification there is nothing to forget.
            }
            self.alpha -= self.gain_of(self.alpha);
        }
    }

    fn decrease(&mut self, now: Instant) {
        if self.plan.clamp_target || self.timed > 0 || self.counted > 0 {
            self.target = self.rate;
        }
        let cut =
            (u128::from(self.rate) * u128::from(self.alpha) / (2 * u128::from(ALPHA_ONE))) as u64;
        let most = (u128::from(self.rate) * u128::from(self.plan.decrease_max) / 100) as u64;
        let cut = self.rate - cut.min(most);
        let first = self.plan.first_rate.filter(|_| self.is_idle());
        self.rate = first.map_or(cut, |r| r.get().min(self.line)).max(self.floor());
        self.decreased_at = Some(now);
        (self.timed, self.counted) = (0, 0);
        self.due = now.saturating_add(self.plan.increase_period);
        self.bytes_left = self.plan.increase_bytes.0;
        self.rest();
    }

    /// The least rate: the plan's, or the link's where that is less.
    fn floor(&self) -> u64 {
        self.plan.min_rate.get().min(self.line)
    }

    /// One increase: recovery while both counts are below F, hyper when both are above, else
    /// additive (SIGCOMM'15, figure 7). The counts are those of the increases before this one, so
    /// that F recoveries come first.
    fn increase(&mut self) {
        let (f, more, less) =
            (self.plan.recoveries, self.timed.max(self.counted), self.timed.min(self.counted));
        if more >= f {
            let step = match self.plan.hyper {
                Some(hyper) if less > f => hyper,
                _ => self.plan.additive,
            };
            self.target = self.target.saturating_add(step.get()).min(self.line);
        }
        // Rounded up, so that the way back has an end.
        self.rate = (self.rate + self.target).div_ceil(2).min(self.line);
    }

    /// Stops the clock when nothing is left to recover.
    fn rest(&mut self) {
        if self.is_idle() {
            self.due = Instant::NEVER;
        }
    }
}

#[cfg(test)]
mod tests;
