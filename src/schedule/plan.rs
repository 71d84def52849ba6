//! What the egress scheduler of one port is told.

use super::LinePlan;
use crate::units::{Bytes, PRIORITIES};

/// How a traffic class is chosen (802.1Q 8.6.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClassPlan {
    /// Strict priority: before every class below it and before all of DWRR (TSA 0).
    Strict,
    /// Enhanced transmission selection: a share of what strict classes leave, in octets of frames
    /// (FCS included), proportional to `weight` (1 to 65535; percent in a DCBX configuration)
    /// (TSA 2).
    Dwrr {
        /// The share, relative to the other DWRR classes.
        weight: u16,
    },
}

/// The egress scheduler of one port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedulePlan {
    /// The traffic classes, lowest first.
    pub classes: [ClassPlan; PRIORITIES],
    /// How far the shaper may catch up, in octets, after a poll that came late. 0 is exact: no
    /// frame ever starts before the one before it has left a link of the configured rate.
    pub shaper_burst: Bytes,
    /// What a frame takes on the line.
    pub line: LinePlan,
}
