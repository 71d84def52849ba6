//! The congestion point: Fb = -(Qoff + w Qdelta), sampled the more often the stronger it is
//! (802.1Q 30.2.1, 32.9).

use super::{PointPlan, QuantizedFeedback, jittered};
use crate::congestion::Dice;
use crate::units::Bytes;

/// The unit in which a CNM states lengths of queues, in octets. Recalled, not confirmed.
const CNM_UNIT: i64 = 64;

/// What a CNM is to say about the frame that was sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// How congested the queue is; never 0, because a cut by nothing is not worth a frame.
    pub quantized: QuantizedFeedback,
    /// The set point less the queue's length, in octets (cpQOffset).
    pub offset: i64,
    /// How much the queue has grown since the sample before, in octets (cpQDelta).
    pub delta: i64,
}

impl Feedback {
    /// [`Self::offset`] as a CNM has it: in units of 64 octets, as far as 16 bits go.
    #[must_use]
    pub const fn offset_units(&self) -> i16 {
        units(self.offset)
    }

    /// [`Self::delta`] as a CNM has it.
    #[must_use]
    pub const fn delta_units(&self) -> i16 {
        units(self.delta)
    }
}

/// Octets as units of a CNM, towards zero.
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

/// Watches one queue. It knows no time: frames alone bring a sample nearer.
#[derive(Clone, Debug)]
pub struct CongestionPoint {
    plan: PointPlan,
    dice: Dice,
    /// Octets that still have to join the queue until it is looked at.
    left: u64,
    /// The queue's length at the last look.
    before: u64,
    samples: u64,
    answered: u64,
}

impl CongestionPoint {
    /// A point at an empty queue. The plan is sound.
    #[must_use]
    pub fn new(plan: PointPlan, seed: u64) -> Self {
        assert!(plan.is_sound(), "a plan that was not checked");
        let mut dice = Dice::new(seed);
        let left = jittered(plan.sample_base.0, plan.jitter, &mut dice);
        Self { plan, dice, left, before: 0, samples: 0, answered: 0 }
    }

    /// Another plan, which is sound, from the next look on.
    pub fn set_plan(&mut self, plan: PointPlan) {
        assert!(plan.is_sound(), "a plan that was not checked");
        if plan != self.plan {
            self.left = self.left.min(jittered(plan.sample_base.0, plan.jitter, &mut self.dice));
            self.plan = plan;
        }
    }

    /// A frame of `frame` octets joined the queue, which has `queue` octets with it: whether a CNM is
    /// to answer that frame, and what it says.
    #[inline]
    pub fn on_enqueue(&mut self, queue: Bytes, frame: Bytes) -> Option<Feedback> {
        if frame.0 < self.left {
            self.left -= frame.0;
            return None;
        }
        self.sample(queue)
    }

    /// How often the queue was looked at.
    #[must_use]
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// How many looks were answered with feedback.
    #[must_use]
    pub const fn answered(&self) -> u64 {
        self.answered
    }

    fn sample(&mut self, queue: Bytes) -> Option<Feedback> {
        // Beyond any buffer; within it all that follows fits 128 bits with room to spare.
        let queue = queue.0.min(i64::MAX as u64);
        let offset = self.plan.set_point.0 as i64 - queue as i64;
        let delta = queue as i64 - self.before as i64;
        let quantized = self.quantize(offset, delta);
        self.before = queue;
        self.samples += 1;
        // The sample rate is a step function of the feedback's upper three bits, from the base to
        // eight times as often.
        let base = self.plan.sample_base.0 / (1 + u64::from(quantized.get() / 8));
        self.left = jittered(base, self.plan.jitter, &mut self.dice);
        if quantized.get() == 0 {
            return None;
        }
        self.answered += 1;
        Some(Feedback { quantized, offset, delta })
    }

    /// Six bits of -Fb, of which -Fb = set point (2 w + 1) is the most. Rounded down, as taking the
    /// upper bits would. All is scaled by the weight's divisor, so that weights below one lose nothing.
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
