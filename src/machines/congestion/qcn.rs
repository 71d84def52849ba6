//! Quantized Congestion Notification (802.1Qau, 802.1Q clauses 30 to 32), for comparison with
//! Source Flow Control: the congestion point of a queue and the reaction point of a flow.
//!
//! [`CongestionPoint`] takes each frame that joins its queue and selects those that are answered
//! with a CNM, and its feedback. [`ReactionPoint`] takes feedback, time and sent bytes in the order
//! in which they happen, and calculates the flow's rate. Both use integers, so that every machine
//! has the same rates, and seeded random numbers.
//!
//! Names and defaults of parameters are those of IEEE8021-CN-MIB, which is public; names in brackets are
//! the MIB's. The procedures are from the algorithm's published descriptions; choices where they are
//! silent are constants or fields with a comment.

#[cfg(test)]
mod tests;

use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes};

/// Quantized feedback of a CNM, six bits: the size of the rate decrease. Range 0 to 63.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct QuantizedFeedback(u8);

impl QuantizedFeedback {
    /// Strongest feedback.
    pub const MAX: Self = Self(63);

    /// Creates a feedback; `None` if `n` exceeds six bits.
    #[must_use]
    pub const fn new(n: u8) -> Option<Self> {
        if n <= Self::MAX.0 { Some(Self(n)) } else { None }
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// Returns `base` times a uniform random factor, from `percent` below one to `percent` above it,
/// rounded down and at least 1. Without jitter, flows and queues that began together would stay
/// synchronized. `percent` is at most 99.
fn jittered(base: u64, percent: u8, rng: &mut Rng) -> u64 {
    const ROLLS: u128 = 65_536;
    let (least, roll) = (u128::from(100 - percent), u128::from(rng.next_u16()));
    // From 100 - p to 100 + p percent, in 65,536 steps.
    let factor = least * ROLLS + 2 * u128::from(percent) * roll;
    let drawn = u128::from(base) * factor / (100 * ROLLS);
    u64::try_from(drawn).unwrap_or(u64::MAX).max(1)
}

/// Maximum jitter in percent; more would result in negative numbers.
const JITTER_MAX: u8 = 99;

/// Jitter of samples and timers around their base, in percent. From the algorithm's published
/// pseudo-code, with factors from 0.85 to 1.15; recalled, not confirmed in the standard.
const JITTER: u8 = 15;

/// The congestion point of one queue (802.1Q 32.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PointPlan {
    /// Target queue length (`CpQueueSizeSetPoint`). 1 to 2^40 bytes.
    pub set_point: Bytes,
    /// Weight of the queue's growth against its length, as a power of two (`CpFeedbackWeight`): 1
    /// is a weight of two. -10 to 10.
    pub weight: i8,
    /// Bytes between two samples of the queue while it is not congested (`CpMinSampleBase`). 1 to
    /// 2^40. The strongest feedback samples eight times as often.
    pub sample_base: Bytes,
    /// Jitter of the distance between samples, in percent. 0 to 99.
    pub jitter: u8,
}

impl PointPlan {
    /// Maximum set point and sample base: weighted sums of a few of them stay within 64 bits.
    const OCTETS_MAX: u64 = 1 << 40;

    /// The standard's defaults: 26,000 bytes, a weight of two, 150,000 bytes.
    #[must_use]
    pub const fn standard() -> Self {
        Self { set_point: Bytes(26_000), weight: 1, sample_base: Bytes(150_000), jitter: JITTER }
    }

    /// Returns true if all numbers are within their ranges.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.set_point.0 >= 1
            && self.set_point.0 <= Self::OCTETS_MAX
            && self.sample_base.0 >= 1
            && self.sample_base.0 <= Self::OCTETS_MAX
            && self.weight >= -10
            && self.weight <= 10
            && self.jitter <= JITTER_MAX
    }
}

/// The reaction point of one flow (802.1Q 32.10, 32.11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReactionPlan {
    /// Interval between increases by time (`RpgTimeReset`); half of it past the threshold. At least
    /// 1 us.
    pub time_reset: Duration,
    /// Bytes between increases by bytes (`RpgByteReset`); half of it past the threshold. 2 to 2^40.
    pub byte_reset: Bytes,
    /// Number of increases by either cause that only recover (`RpgThreshold`).
    pub threshold: u32,
    /// Maximum rate of the flow (`RpgMaxRate`); `None` for the link rate.
    pub max_rate: Option<BitsPerSec>,
    /// Increment of the target rate by an active increase (`RpgAiRate`).
    pub active: BitsPerSec,
    /// Increment by a hyper-active increase, multiplied by the number of increases that both causes
    /// have in common (`RpgHaiRate`).
    pub hyper: BitsPerSec,
    /// Decrease of the rate per step of feedback, as a negative power of two (`RpgGd`): 7 is a
    /// 128th. 6 to 31; below 6 the strongest feedback would reduce the rate to zero.
    pub gain: u8,
    /// Minimum rate after one decrease, in percent of the rate before (`RpgMinDecFac`). 1 to 100.
    pub keep_min: u8,
    /// Minimum rate (`RpgMinRate`).
    pub min_rate: BitsPerSec,
    /// Jitter of timers and byte counters, in percent. 0 to 99.
    pub jitter: u8,
}

impl ReactionPlan {
    /// The standard's defaults, from IEEE8021-CN-MIB: 15 ms, 150,000 bytes, threshold 5, 5 and 50
    /// Mb/s, 1/128, 50 %, at least 5 Mb/s. They were chosen for 10 Gb/s.
    #[must_use]
    pub const fn standard() -> Self {
        Self {
            time_reset: Duration::from_millis(15),
            byte_reset: Bytes(150_000),
            threshold: 5,
            max_rate: None,
            active: mbps(5),
            hyper: mbps(50),
            gain: 7,
            keep_min: 50,
            min_rate: mbps(5),
            jitter: JITTER,
        }
    }

    /// Returns true if all numbers are within their ranges.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.time_reset.as_picos() >= Duration::from_micros(1).as_picos()
            && self.byte_reset.0 >= 2
            && self.byte_reset.0 <= PointPlan::OCTETS_MAX
            && self.gain >= 6
            && self.gain <= 31
            && self.keep_min >= 1
            && self.keep_min <= 100
            && self.jitter <= JITTER_MAX
    }
}

/// Returns a rate of `n` Mb/s. Panics for 0.
const fn mbps(n: u64) -> BitsPerSec {
    BitsPerSec::new(n * 1_000_000).expect("a rate of zero")
}

/// Unit of queue lengths in a CNM, in bytes. Recalled, not confirmed.
const CNM_UNIT: i64 = wire::cnm::UNIT.0 as i64;

/// Contents of a CNM about the sampled frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// Quantized feedback; never 0, because no CNM is sent for it.
    pub quantized: QuantizedFeedback,
    /// Set point minus queue length, in bytes (cpQOffset).
    pub offset: i64,
    /// Growth of the queue since the previous sample, in bytes (cpQDelta).
    pub delta: i64,
}

impl Feedback {
    /// Returns [`Self::offset`] in a CNM's units of 64 bytes, limited to 16 bits.
    #[must_use]
    pub const fn offset_units(&self) -> i16 {
        units(self.offset)
    }

    /// Returns [`Self::delta`] in a CNM's units of 64 bytes, limited to 16 bits.
    #[must_use]
    pub const fn delta_units(&self) -> i16 {
        units(self.delta)
    }
}

/// Converts bytes to units of a CNM, rounded towards zero.
const fn units(octets: i64) -> i16 {
    // The field has 16 bits; a queue beyond it is congested in any case.
    let n = octets / CNM_UNIT;
    if n > i16::MAX as i64 {
        i16::MAX
    } else if n < i16::MIN as i64 {
        i16::MIN
    } else {
        n as i16
    }
}

/// Congestion point of one queue: Fb = -(Qoff + w Qdelta), sampled the more often the stronger it is
/// (802.1Q 30.2.1, 32.9). It is independent of time: only frames advance it to the next
/// sample.
#[derive(Clone, Debug)]
pub struct CongestionPoint {
    plan: PointPlan,
    rng: Rng,
    /// Bytes that have to join the queue before the next sample.
    left: u64,
    /// Queue length at the previous sample.
    before: u64,
    samples: u64,
    answered: u64,
}

impl CongestionPoint {
    /// Creates a point at an empty queue. The plan must be sound.
    #[must_use]
    pub fn new(plan: PointPlan, seed: u64) -> Self {
        assert!(plan.is_sound(), "a plan that was not checked");
        let mut rng = Rng::new(seed);
        let left = jittered(plan.sample_base.0, plan.jitter, &mut rng);
        Self { plan, rng, left, before: 0, samples: 0, answered: 0 }
    }

    /// Replaces the plan, which must be sound, from the next sample on.
    pub fn set_plan(&mut self, plan: PointPlan) {
        assert!(plan.is_sound(), "a plan that was not checked");
        if plan != self.plan {
            // The next sample is no later than the new plan has it.
            self.left = self.left.min(jittered(plan.sample_base.0, plan.jitter, &mut self.rng));
            self.plan = plan;
        }
    }

    /// Handles a frame of `frame` bytes that joined the queue, whose length including it is
    /// `queue`. Returns the contents of the CNM that answers the frame, if any.
    #[inline]
    pub fn on_enqueue(&mut self, queue: Bytes, frame: Bytes) -> Option<Feedback> {
        if frame.0 < self.left {
            self.left -= frame.0;
            return None;
        }
        self.sample(queue)
    }

    /// Returns the number of samples.
    #[must_use]
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// Returns the number of samples answered with feedback.
    #[must_use]
    pub const fn answered(&self) -> u64 {
        self.answered
    }

    fn sample(&mut self, queue: Bytes) -> Option<Feedback> {
        // Longer than any buffer; below it all that follows fits 128 bits.
        let queue = queue.0.min(i64::MAX as u64);
        let offset = self.plan.set_point.0 as i64 - queue as i64;
        let delta = queue as i64 - self.before as i64;
        let quantized = self.quantize(offset, delta);
        self.before = queue;
        self.samples += 1;
        // The sample rate is a step function of the feedback's upper three bits, from the base to
        // eight times as often.
        let base = self.plan.sample_base.0 / (1 + u64::from(quantized.get() / 8));
        self.left = jittered(base, self.plan.jitter, &mut self.rng);
        if quantized.get() == 0 {
            return None;
        }
        self.answered += 1;
        Some(Feedback { quantized, offset, delta })
    }

    /// Returns six bits of -Fb, whose maximum is -Fb = set point (2 w + 1). Rounded down, as taking
    /// the upper bits would. All is scaled by the weight's divisor, so that weights below one lose
    /// no precision.
    fn quantize(&self, offset: i64, delta: i64) -> QuantizedFeedback {
        let w = self.plan.weight;
        let (times, over) = (1_i128 << w.max(0), 1_i128 << (-w).max(0));
        // The longest queue that counts is twice the set point, grown from empty within one sample.
        let most = i128::from(self.plan.set_point.0) * (2 * times + over);
        let fb = i128::from(offset) * over - i128::from(delta) * times;
        let congested = (-fb).clamp(0, most);
        let quantized = congested * i128::from(QuantizedFeedback::MAX.get()) / most;
        QuantizedFeedback::new(quantized as u8).expect("a part of the most is at most the most")
    }
}

/// Ratio of target to rate above which the first increase lowers the target instead of approaching
/// it: the flow was cut repeatedly in the meantime.
const TARGET_FAR: u64 = 10;

/// Divisor of such a target. Both numbers are from the algorithm's published pseudo-code, recalled.
const TARGET_BACK: u64 = 8;

/// The reaction point: the rate of one flow, which feedback decreases, and time and bytes increase
/// (802.1Q 30.2.2 to 30.2.5, 32.13 to 32.15). Takes feedback, time and sent bytes in the order in
/// which they happen.
///
/// Three phases, by the number of increases of each cause since the last cut: fast recovery halves
/// the distance to the target, active increase moves the target, hyper-active increase moves it by
/// growing steps. At the full rate no timer runs.
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
        // RpgMinDecFac bounds one cut, and RpgMinRate all of them together.
        let kept = self.rate_part(self.plan.keep_min.into(), 100);
        self.rate = (self.rate - cut).max(kept).max(self.floor());
        self.due = now.saturating_add(self.next_time(0));
        self.rest();
    }

    /// Performs all increases that are due at `now`, in order.
    pub fn on_timeout(&mut self, now: Instant) {
        // `now` may be NEVER, and each increase may stop the timer.
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
        // Before the change: a flow that used all of the old line uses all of the new one.
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
        // Only the first increase after a cut lowers a target that repeated cuts have left far above the rate.
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
