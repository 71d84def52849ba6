//! Detection of congested queues: the RED-like curve of ECN marking (none below Kmin, rising to Pmax
//! at Kmax, all above; RFC 3168 for the frames that may be marked), and the selection of frames of
//! congesting flows, for Source Flow Control and for Congestion Isolation.

use ground::named;
use ground::rand::Rng;
use ground::units::{Bytes, PortId, TrafficClass};

/// RED-like ECN marking of one traffic class (RFC 3168; DCQCN's switch part).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcnPlan {
    /// Queue length below which nothing is marked.
    pub kmin: Bytes,
    /// Queue length above which every ECT frame is marked. Not below `kmin`.
    pub kmax: Bytes,
    /// Marking probability just below `kmax`, in parts of 65536 (0 to 65536).
    pub pmax: u32,
    /// Sampling point of the queue length.
    pub at: MarkAt,
    /// Handling of selected frames that are not ECN-capable.
    pub not_ect: NotEct,
}

impl EcnPlan {
    /// Returns true if the curve is applied to frames there.
    #[inline]
    #[must_use]
    pub fn samples_at(&self, place: MarkAt) -> bool {
        // `Queue` adds the mark on all frames of a queue to the sampling at enqueue.
        self.at == place || (self.at == MarkAt::Queue && place == MarkAt::Enqueue)
    }

    /// Returns true if a frame that finds a queue of `queue_bytes` has all of it marked.
    #[inline]
    #[must_use]
    pub fn marks_all(&self, queue_bytes: u64) -> bool {
        self.at == MarkAt::Queue && queue_bytes > self.kmax.0
    }

    /// Returns true if a frame is dropped that is not ECN-capable, and is selected with a queue of
    /// `queue_bytes`.
    #[must_use]
    pub const fn drops_not_ect(&self, queue_bytes: u64) -> bool {
        match self.not_ect {
            NotEct::Pass => false,
            NotEct::Drop => true,
            // Above Kmax neither drops: the frame is forwarded, or CE is set on it.
            NotEct::Chance | NotEct::Letter => queue_bytes <= self.kmax.0,
        }
    }
}

/// Sampling point of the queue length that decides on a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkAt {
    /// At enqueue: the queue that the frame joins.
    Enqueue,
    /// At dequeue: the queue that the frame leaves behind.
    Dequeue,
    /// At enqueue, and a queue above `kmax` has all its frames marked.
    Queue,
}

impl MarkAt {
    /// Returns the name in files and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enqueue => "enqueue",
            Self::Dequeue => "dequeue",
            Self::Queue => "queue",
        }
    }
}

named! {
    // CE is never set on such a frame (RFC 3168 6.1.1), except by `letter`.
    /// Treatment of a selected frame that is not ECN-capable.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum NotEct {
        // Bounded only by the limits of its queue and group. The only choice for a lossless class.
        /// Forwarded.
        #[default]
        Pass = "pass",
        // As by RED.
        /// Dropped.
        Drop = "drop",
        /// Dropped by the slope of the curve alone.
        Chance = "chance",
        // "All frames in the queue are marked 11", which RFC 3168 forbids.
        /// Dropped by the slope of the curve, and marked above it.
        Letter = "letter",
    }
}

/// One queue of a switch. Stored as a tuple: the queue key of the standard's YANG, (class + 1) *
/// port, is the same number for several queues.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Queue {
    /// Egress port.
    pub port: PortId,
    /// Traffic class.
    pub class: TrafficClass,
}

impl Queue {
    /// Returns the queue of a class at the port with this number.
    ///
    /// # Panics
    /// If no port can have this number.
    #[must_use]
    pub fn of(port: usize, class: TrafficClass) -> Self {
        Self { port: PortId::new(port as u16).expect("a port of the plan"), class }
    }

    /// Returns the index of the queue in a table of all queues, ordered by port.
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.port.index() * 8 + self.class.index()
    }
}

/// Selection of frames of congesting flows. The SFC source does not specify it; 802.1Qcz leaves it
/// to the bridge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detect {
    /// Selects every frame that finds the queue longer than this.
    Length(Bytes),
    /// Selects frames by the curve of an AQM, so that flows are selected in proportion to their
    /// traffic. The curve's sampling point and its treatment of Not-ECT frames are ignored here.
    Aqm(EcnPlan),
}

impl Detect {
    /// Returns a length up to which no frame is selected, so that most frames need one comparison.
    #[must_use]
    pub const fn floor(&self) -> Bytes {
        match self {
            Self::Length(threshold) => *threshold,
            // The curve begins at Kmin itself, and the floor is the last length without it.
            Self::Aqm(plan) => Bytes(plan.kmin.0.saturating_sub(1)),
        }
    }

    /// Returns true if a frame that finds a queue of `length` is selected.
    #[inline]
    pub fn picks(&self, length: Bytes, rng: &mut Rng) -> bool {
        match self {
            Self::Length(threshold) => length > *threshold,
            Self::Aqm(plan) => marks(plan, length.0, rng) == Verdict::Congested,
        }
    }
}

/// Result of the curve for one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The frame is forwarded unchanged.
    Pass,
    /// The frame is to be marked, or handled as the plan says if it is not ECN-capable.
    Congested,
}

/// Decides whether a frame that finds a queue of `queue_bytes` is marked. Draws only on the slope.
#[inline]
pub fn marks(plan: &EcnPlan, queue_bytes: u64, rng: &mut Rng) -> Verdict {
    let (kmin, kmax) = (plan.kmin.0, plan.kmax.0);
    // The probability is 0 below Kmin, Pmax (q - Kmin) / (Kmax - Kmin) between, 1 above Kmax.
    if queue_bytes < kmin {
        return Verdict::Pass;
    }
    if queue_bytes > kmax {
        return Verdict::Congested;
    }
    // Equal thresholds make a step, and at that very length the chance is 0.
    let span = (kmax - kmin).max(1);
    let chance = u64::from(plan.pmax) * (queue_bytes - kmin) / span;
    if u64::from(rng.next_u16()) < chance { Verdict::Congested } else { Verdict::Pass }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MarkAt, NotEct};
    use ground::units::Bytes;

    const PLAN: EcnPlan = EcnPlan {
        kmin: Bytes(10_000),
        kmax: Bytes(30_000),
        pmax: 6554,
        at: MarkAt::Enqueue,
        not_ect: NotEct::Pass,
    };

    fn rate(queue: u64) -> f64 {
        let mut rng = Rng::new(7);
        let n = 200_000;
        let hits = (0..n).filter(|_| marks(&PLAN, queue, &mut rng) == Verdict::Congested).count();
        hits as f64 / f64::from(n)
    }

    #[test]
    fn the_curve_has_its_three_parts() {
        assert_eq!(rate(0), 0.0);
        assert_eq!(rate(10_000), 0.0);
        assert!((rate(20_000) - 0.05).abs() < 0.002, "half of Pmax half way: {}", rate(20_000));
        assert!((rate(30_000) - 0.10).abs() < 0.003, "Pmax at Kmax: {}", rate(30_000));
        assert_eq!(rate(30_001), 1.0);
    }

    #[test]
    fn a_step_marks_all_above_and_none_at_or_below_and_certainty_is_certain() {
        let step = EcnPlan { kmax: Bytes(10_000), pmax: 65_536, ..PLAN };
        let mut rng = Rng::new(1);
        assert_eq!(marks(&step, 10_000, &mut rng), Verdict::Pass);
        assert_eq!(marks(&step, 10_001, &mut rng), Verdict::Congested);
        let sure = EcnPlan { pmax: 65_536, ..PLAN };
        assert!((0..100_000).all(|_| marks(&sure, 30_000, &mut rng) == Verdict::Congested));
    }
}
