//! The congestion point: Fb = -(Qoff + w Qdelta), sampled the more often the stronger it is (802.1Q
//! 30.2.1, 32.9).

use super::{PointPlan, QuantizedFeedback, jittered};
use ground::rand::Rng;
use ground::units::Bytes;

/// Unit of queue lengths in a CNM, in bytes. Recalled, not confirmed.
const CNM_UNIT: i64 = 64;

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
    let n = octets / CNM_UNIT;
    if n > i16::MAX as i64 {
        i16::MAX
    } else if n < i16::MIN as i64 {
        i16::MIN
    } else {
        n as i16
    }
}

/// Congestion point of one queue. It is independent of time: only frames advance it to the next
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
        let most = i128::from(self.plan.set_point.0) * (2 * times + over);
        let fb = i128::from(offset) * over - i128::from(delta) * times;
        let congested = (-fb).clamp(0, most);
        let quantized = congested * i128::from(QuantizedFeedback::MAX.get()) / most;
        QuantizedFeedback::new(quantized as u8).expect("a part of the most is at most the most")
    }
}
