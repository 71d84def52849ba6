//! The egress scheduler: eight queues, strict and DWRR, gated by pauses, shaped to the link.
//!
//! The queues store opaque handles. All ports of a switch share one [`Arena`] of queue nodes, so
//! that memory is proportional to the number of frames and not to ports times classes; with its
//! capacity reserved at start nothing here allocates.

#![warn(missing_docs)]

mod arena;
mod scheduler;
mod shaper;

pub use arena::Arena;
pub use scheduler::{Popped, Scheduler};
pub use shaper::{Line, LinePlan, Shaper};

use ground::named;
use ground::units::{Bytes, PRIORITIES, TrafficClass};

/// Transmission selection of a traffic class (802.1Q 8.6.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClassPlan {
    /// Strict priority: before every class below it and before all of DWRR (TSA 0).
    Strict,
    /// Enhanced transmission selection: a share of the bandwidth left by strict classes, in bytes
    /// of frames (FCS included), proportional to `weight` (1 to 65535; percent in a DCBX
    /// configuration) (TSA 2).
    Dwrr {
        /// Weight relative to the other DWRR classes.
        weight: u16,
    },
}

named! {
    /// Unit of the shares of DWRR classes (SAI's `SAI_SCHEDULER_ATTR_METER_TYPE`).
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Meter {
        /// Bytes of frames, FCS included (802.1Q 8.6.8.4).
        #[default]
        Bytes = "bytes",
        /// Frames, whatever their length: weighted round robin, which 802.1Q does not allow for ETS.
        Frames = "frames",
    }
}

/// Configuration of the egress scheduler of one port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedulePlan {
    /// The traffic classes, lowest first.
    pub classes: [ClassPlan; PRIORITIES],
    /// Maximum catch-up of the shaper after a late poll, in bytes. 0 is exact: no frame ever starts
    /// before the previous one has left a link of the configured rate.
    pub shaper_burst: Bytes,
    /// Overhead of frames on the line.
    pub line: LinePlan,
}

impl SchedulePlan {
    /// Returns true if frames of class `first` go before all of class `other`, which may starve.
    #[must_use]
    pub fn starves(&self, first: TrafficClass, other: TrafficClass) -> bool {
        let [first_is, other_is] = [first, other].map(|class| self.classes[class.index()]);
        // Strict classes go before all of DWRR, and among themselves from the highest down (802.1Q 8.6.8).
        first_is == ClassPlan::Strict && (first > other || other_is != ClassPlan::Strict)
    }
}
