//! Detection of congested queues, for Source Flow Control and for Congestion Isolation.

use super::ecn::{Verdict, marks};
use super::plan::EcnPlan;
use ground::rand::Rng;
use ground::units::{Bytes, PortId, TrafficClass};

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
