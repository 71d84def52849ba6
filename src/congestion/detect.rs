//! When a queue counts as congested, for Source Flow Control and for Congestion Isolation.

use super::ecn::{Dice, Verdict, marks};
use super::plan::EcnPlan;
use crate::units::{Bytes, PortId, TrafficClass};

/// One queue of a switch. A tuple inside: the queue key of the standard's YANG, (class + 1) * port,
/// is the same number for several queues.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Queue {
    /// The egress port.
    pub port: PortId,
    /// The traffic class.
    pub class: TrafficClass,
}

impl Queue {
    /// Where the queue is in a table of all queues, port by port.
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.port.index() * 8 + self.class.index()
    }
}

/// How frames of congesting flows are picked. Which one is silent in the SFC source and left to the
/// bridge in 802.1Qcz.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detect {
    /// Every frame that meets a queue longer than this.
    Length(Bytes),
    /// The frames that the curve of an AQM picks, so that flows are picked in proportion to what they
    /// bring. Where the queue is looked at and what Not-ECT means does not matter here.
    Aqm(EcnPlan),
}

impl Detect {
    /// A length up to which nothing is picked, so that most frames need one comparison.
    #[must_use]
    pub const fn floor(&self) -> Bytes {
        match self {
            Self::Length(threshold) => *threshold,
            Self::Aqm(plan) => Bytes(plan.kmin.0.saturating_sub(1)),
        }
    }

    /// Whether a frame that meets a queue of `length` is picked.
    #[inline]
    pub fn picks(&self, length: Bytes, dice: &mut Dice) -> bool {
        match self {
            Self::Length(threshold) => length > *threshold,
            Self::Aqm(plan) => marks(plan, length.0, dice) == Verdict::Congested,
        }
    }
}
