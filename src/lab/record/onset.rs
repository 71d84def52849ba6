//! When a group first paused its sender, when it first dropped a frame, and how many frames came
//! in by then: what thresholds and headroom are checked against.

use crate::switch::{ClassifyPlan, Trust};
use crate::time::Instant;
use crate::units::{Dscp, Priority};
use crate::wire::EtherType;

/// A moment in the life of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// When.
    pub at: Instant,
    /// Data frames that had come in for the group by then, the one that caused it among them.
    pub frames: u64,
}

/// The firsts of one ingress group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Onset {
    /// Data frames that have come in.
    pub frames: u64,
    /// It first crossed its limit.
    pub paused: Option<Moment>,
    /// It first dropped a frame.
    pub dropped: Option<Moment>,
}

impl Onset {
    /// The group crossed its limit.
    pub fn pause(&mut self, at: Instant) {
        let frames = self.frames;
        self.paused.get_or_insert(Moment { at, frames });
    }

    /// The group dropped a frame.
    pub fn drop(&mut self, at: Instant) {
        let frames = self.frames;
        self.dropped.get_or_insert(Moment { at, frames });
    }

    /// Whether anything happened that is worth telling.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.paused.is_some() || self.dropped.is_some()
    }

    /// From the frame that first crossed the limit to the one that was first dropped after it: 1
    /// says that the very next was.
    #[must_use]
    pub fn frames_between(&self) -> Option<u64> {
        let (paused, dropped) = (self.paused?, self.dropped?);
        dropped.frames.checked_sub(paused.frames)
    }
}

/// The priority that a port gives a data frame. Read apart from the switch's own classifier, from
/// the same plan.
#[must_use]
pub(super) fn priority(plan: &ClassifyPlan, head: &[u8]) -> Priority {
    if plan.trust == Trust::Port || head.len() < 20 {
        return plan.default;
    }
    let be16 = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let outer = EtherType(be16(12));
    let tagged = outer == EtherType::C_TAG || outer == EtherType::S_TAG;
    let pcp = || tagged.then(|| plan.pcp[usize::from(head[14] >> 5)]);
    let dscp = || {
        let at = if tagged { 16 } else { 12 };
        let code = match EtherType(be16(at)) {
            EtherType::IPV4 => head[at + 3] >> 2,
            EtherType::IPV6 => (be16(at + 2) >> 6) as u8 & 63,
            _ => return None,
        };
        Dscp::new(code).map(|code| plan.dscp[code.index()])
    };
    let found = match plan.trust {
        Trust::Pcp => pcp(),
        Trust::Dscp => dscp(),
        Trust::PcpThenDscp => pcp().or_else(dscp),
        Trust::DscpThenPcp => dscp().or_else(pcp),
        Trust::Port => None,
    };
    found.unwrap_or(plan.default)
}
