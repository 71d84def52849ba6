//! The two ends of DCQCN in hosts: the reaction point (the rate of one flow, decreased by
//! notifications, increased by time and bytes), and the notification point (the marked packets that
//! are answered with a CNP).
//!
//! Uses integers only, so that every machine calculates the same rates. Alpha decays by a separate
//! timer but matters only when a notification arrives, so it is updated then and needs no timer.
//! Increases have one. At the full rate no timer runs.

use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes};

/// The reaction point of one flow: DCQCN as in Zhu et al., "Congestion Control for Large-Scale RDMA
/// Deployments", SIGCOMM 2015, section 3, with extensions of later implementations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DcqcnPlan {
    /// Gain g of alpha per notification, in parts of [`DcqcnPlan::GAIN_ONE`]. 1 to
    /// [`DcqcnPlan::GAIN_ONE`].
    pub gain: u32,
    /// Alpha before the first notification, in parts of [`DcqcnPlan::GAIN_ONE`].
    pub initial_alpha: u32,
    /// Interval without notifications after which alpha decays, repeatedly (K). Not zero.
    pub alpha_period: Duration,
    /// Interval between increases by time (T). Not zero.
    pub increase_period: Duration,
    /// Bytes of frames between increases by bytes (B). Not zero.
    pub increase_bytes: Bytes,
    /// Number of increases by either cause that only go halfway back to the target rate (F).
    pub recoveries: u32,
    /// Increment of the target rate by an additive increase (R_AI).
    pub additive: BitsPerSec,
    /// Increment of the target rate by a hyper increase (R_HAI), if there is such a phase.
    pub hyper: Option<BitsPerSec>,
    /// Minimum rate.
    pub min_rate: BitsPerSec,
    /// Minimum time between decreases; notifications in between update only alpha.
    pub decrease_period: Duration,
    /// Maximum decrease of the rate by one cut, in percent. 1 to 100.
    pub decrease_max: u8,
    /// If true, each decrease makes the rate before it the target. Otherwise consecutive decreases
    /// without an increase in between leave the target unchanged.
    pub clamp_target: bool,
    /// Rate after the first notification to a flow at line rate without recovery under way; `None`
    /// lets alpha decide.
    pub first_rate: Option<BitsPerSec>,
}

impl DcqcnPlan {
    /// Fixed-point value of a gain, or an alpha, of one.
    pub const GAIN_ONE: u32 = 1 << 20;

    /// Values of the paper. g, K and the 50 us between notifications are from the paper; T, B, F
    /// and R_AI, which it gives in a table, are from texts that quote it. It has no value for a
    /// hyper increase; the minimum rate is the 100 Mb/s of its simulator.
    #[must_use]
    pub const fn sigcomm15() -> Self {
        Self {
            gain: Self::GAIN_ONE / 256,
            initial_alpha: Self::GAIN_ONE,
            alpha_period: Duration::from_micros(55),
            increase_period: Duration::from_micros(55),
            increase_bytes: Bytes(10_000_000),
            recoveries: 5,
            additive: mbps(40),
            hyper: None,
            min_rate: mbps(100),
            decrease_period: Duration::ZERO,
            decrease_max: 100,
            clamp_target: true,
            first_rate: None,
        }
    }

    /// Values in the configuration of the authors' simulator on ns-3: T 60 us, B 300 MB, R_AI 40
    /// and R_HAI 200 Mb/s, g 1/256. (The defaults in its code, which the configuration overrides: T
    /// 1.5 ms, B 150 KB, 5 and 50 Mb/s, g 1/16.) Verified in its source.
    #[must_use]
    pub const fn ns3() -> Self {
        Self {
            increase_period: Duration::from_micros(60),
            increase_bytes: Bytes(300_000_000),
            hyper: Some(mbps(200)),
            ..Self::sigcomm15()
        }
    }

    /// Defaults of ConnectX firmware. The numbers are confirmed by many listings of its settings;
    /// their meaning is from NVIDIA's description: `dce_tcp_g` 1019 of 1024 is retained,
    /// `dce_tcp_rtt` 1 us, `rpg_time_reset` 300 us, `rpg_byte_reset` 32767 (in units of 64 bytes by
    /// a note of the vendor, the least certain), `rpg_threshold` 1, `rpg_ai_rate` 5, `rpg_hai_rate`
    /// 50, `rpg_min_rate` 1, `rate_reduce_monitor_period` 4 us, `rpg_min_dec_fac` 50,
    /// `initial_alpha_value` 1023 of 1024, `clamp_tgt_rate` 0. Its CNPs are at least 4 us apart.
    #[must_use]
    pub const fn mellanox() -> Self {
        Self {
            // dce_tcp_g keeps 1019 of 1024, so g is 5 / 1024 = 0.0049.
            gain: Self::GAIN_ONE / 1024 * 5,
            initial_alpha: Self::GAIN_ONE / 1024 * 1023,
            alpha_period: Duration::from_micros(1),
            increase_period: Duration::from_micros(300),
            // About 2 MB, if the unit is 64 bytes.
            increase_bytes: Bytes(32_767 * 64),
            recoveries: 1,
            additive: mbps(5),
            hyper: Some(mbps(50)),
            min_rate: mbps(1),
            decrease_period: Duration::from_micros(4),
            decrease_max: 50,
            clamp_target: false,
            first_rate: None,
        }
    }

    /// Returns true if every number is in its range.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        (1..=Self::GAIN_ONE).contains(&self.gain)
            && self.initial_alpha <= Self::GAIN_ONE
            && self.alpha_period > Duration::ZERO
            && self.increase_period > Duration::ZERO
            && self.increase_bytes > Bytes(0)
            && (1..=100).contains(&self.decrease_max)
    }
}

/// Returns a rate of `n` Mbit/s.
const fn mbps(n: u64) -> BitsPerSec {
    match BitsPerSec::new(n * 1_000_000) {
        Some(rate) => rate,
        None => unreachable!(),
    }
}

/// Fixed-point value of alpha = 1.
const ALPHA_ONE: u64 = 1 << 32;

/// Alpha units per gain unit: [`ALPHA_ONE`] / [`DcqcnPlan::GAIN_ONE`].
const ALPHA_PER_GAIN: u64 = ALPHA_ONE / DcqcnPlan::GAIN_ONE as u64;

/// Rate of one flow. Takes notifications, time and sent bytes in the order in which they happen.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    plan: DcqcnPlan,
    line: u64,
    /// Current rate in bit/s (R_C).
    rate: u64,
    /// Target rate of the recovery in bit/s (R_T).
    target: u64,
    /// Estimated congestion (alpha), in units of 1 / [`ALPHA_ONE`].
    alpha: u64,
    /// Time of alpha's last change, by a notification or by decay.
    alpha_at: Instant,
    /// Time of the last decrease.
    decreased_at: Option<Instant>,
    /// Increases by time since the last decrease; the next field counts those by bytes.
    timed: u32,
    counted: u32,
    /// Time of the next increase by time; NEVER at the full rate.
    due: Instant,
    /// Bytes until the next increase by bytes.
    bytes_left: u64,
}

impl Dcqcn {
    /// Creates a flow that starts at line rate, as DCQCN specifies. The plan must be sound.
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

    /// Returns the current sending rate.
    #[inline]
    #[must_use]
    pub fn rate(&self) -> BitsPerSec {
        BitsPerSec::new(self.rate).expect("a rate never falls to zero")
    }

    /// Returns alpha as of its last change, as a fraction.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha as f64 / ALPHA_ONE as f64
    }

    /// Returns true if the flow may use the full line rate and no recovery is under way.
    #[inline]
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.rate == self.line && self.target == self.line
    }

    /// Returns the time at which [`Self::on_timeout`] is due; NEVER at the full rate.
    #[inline]
    #[must_use]
    pub const fn next_deadline(&self) -> Instant {
        self.due
    }

    /// Handles a notification: R_T = R_C, R_C = R_C (1 - alpha/2), alpha = (1 - g) alpha + g. All
    /// increase counters restart.
    pub fn on_cnp(&mut self, now: Instant) {
        self.on_timeout(now);
        self.decay(now);
        // A notification within the period changes alpha alone, as with rate_reduce_monitor_period.
        let early = |last: Instant| now.since(last) < self.plan.decrease_period;
        if !self.decreased_at.is_some_and(early) {
            self.decrease(now);
        }
        // alpha + g (1 - alpha) = (1 - g) alpha + g.
        self.alpha += self.gain_of(ALPHA_ONE - self.alpha);
        self.alpha_at = now;
    }

    /// Performs all increases that are due at `now`, in order.
    pub fn on_timeout(&mut self, now: Instant) {
        while self.due <= now {
            // From the deadline and not from `now`: a late call performs as many increases as were due.
            self.due = self.due.saturating_add(self.plan.increase_period);
            self.increase();
            self.timed = self.timed.saturating_add(1);
            self.rest();
        }
    }

    /// Accounts for a sent frame of `bytes` bytes. The caller has handled all earlier timeouts.
    #[inline]
    pub fn on_sent(&mut self, bytes: u32) {
        // At the full rate nothing is counted; the counters begin with the next decrease.
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

    /// Sets the line rate. A flow that ran at the old line rate runs at the new one.
    pub fn set_line(&mut self, line: BitsPerSec) {
        let was_idle = self.is_idle();
        self.line = line.get();
        if was_idle {
            (self.rate, self.target) = (self.line, self.line);
        }
        (self.rate, self.target) = (self.rate.min(self.line), self.target.min(self.line));
        self.rest();
    }

    /// Returns g times `x`, rounded up, so that decay ends at zero and growth at one.
    fn gain_of(&self, x: u64) -> u64 {
        (x * u64::from(self.plan.gain)).div_ceil(DcqcnPlan::GAIN_ONE.into())
    }

    /// Applies alpha = (1 - g) alpha for each period since its last change.
    fn decay(&mut self, now: Instant) {
        let period = self.plan.alpha_period;
        let periods = now.since(self.alpha_at).as_picos() / period.as_picos();
        // Only whole periods are applied, and the rest stays for the next notification.
        self.alpha_at = self.alpha_at.saturating_add(period.saturating_mul(periods));
        for _ in 0..periods {
            if self.alpha == 0 || self.decreased_at.is_none() {
                return; // Alpha has not decayed before the first notification.
            }
            self.alpha -= self.gain_of(self.alpha);
        }
    }

    fn decrease(&mut self, now: Instant) {
        // Without clamping, cuts in a row keep the target of the first: a burst does not lose the original rate.
        if self.plan.clamp_target || self.timed > 0 || self.counted > 0 {
            self.target = self.rate;
        }
        // 128 bits, because a rate times alpha exceeds 64 bits from 4.3 Gb/s on.
        let cut =
            (u128::from(self.rate) * u128::from(self.alpha) / (2 * u128::from(ALPHA_ONE))) as u64;
        let most = (u128::from(self.rate) * u128::from(self.plan.decrease_max) / 100) as u64;
        let cut = self.rate - cut.min(most);
        // The rate is still that before this cut.
        let first = self.plan.first_rate.filter(|_| self.is_idle());
        self.rate = first.map_or(cut, |r| r.get().min(self.line)).max(self.floor());
        self.decreased_at = Some(now);
        (self.timed, self.counted) = (0, 0);
        self.due = now.saturating_add(self.plan.increase_period);
        self.bytes_left = self.plan.increase_bytes.0;
        self.rest();
    }

    /// Returns the minimum rate: the plan's, or the line rate where that is lower.
    fn floor(&self) -> u64 {
        self.plan.min_rate.get().min(self.line)
    }

    /// Performs one increase: fast recovery while both counts are below F, hyper increase when both
    /// are above, else additive (SIGCOMM'15, figure 7). The counts exclude this increase, so that F
    /// recoveries come first.
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
        // Rounded up, so that recovery ends.
        self.rate = (self.rate + self.target).div_ceil(2).min(self.line);
    }

    /// Stops the timer at the full rate.
    fn rest(&mut self) {
        if self.is_idle() {
            self.due = Instant::NEVER;
        }
    }
}

/// Limits notifications to one per flow and interval (SIGCOMM'15, 3.1).
///
/// A marked packet that arrives within the interval is not answered later. The first marked packet
/// after the interval is. Lasting congestion marks many packets, so no notification is lost and no
/// timer is needed.
#[derive(Clone, Copy, Debug)]
pub struct CnpGate {
    interval: Duration,
    opens: Instant,
}

impl CnpGate {
    /// Creates an open gate. The usual interval is 50 us.
    #[must_use]
    pub const fn new(interval: Duration) -> Self {
        Self { interval, opens: Instant::ZERO }
    }

    /// Returns true if the marked packet that arrived is to be answered; the gate then closes for
    /// one interval.
    #[inline]
    pub fn on_marked(&mut self, now: Instant) -> bool {
        let open = now >= self.opens;
        if open {
            self.opens = now.saturating_add(self.interval);
        }
        open
    }
}

#[cfg(test)]
mod tests;
