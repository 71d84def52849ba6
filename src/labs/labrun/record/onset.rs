//! First pause and first drop of a group, with the number of frames received by then. Thresholds
//! and headroom are checked against them.

use ground::time::Instant;
use ground::units::{Dscp, Priority};
use switch::{ClassifyPlan, Trust};
use wire::EtherType;

/// An event of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    pub at: Instant,
    /// Data frames that the group had received by then, the one that caused the event included.
    pub frames: u64,
}

/// First events of one ingress group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Onset {
    /// Data frames received.
    pub frames: u64,
    /// First crossing of the XOFF threshold.
    pub paused: Option<Moment>,
    /// First dropped frame.
    pub dropped: Option<Moment>,
}

impl Onset {
    /// Records a crossing of the XOFF threshold.
    pub fn pause(&mut self, at: Instant) {
        let frames = self.frames;
        self.paused.get_or_insert(Moment { at, frames });
    }

    /// Records a dropped frame.
    pub fn drop(&mut self, at: Instant) {
        let frames = self.frames;
        self.dropped.get_or_insert(Moment { at, frames });
    }

    /// True after a pause or a drop.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.paused.is_some() || self.dropped.is_some()
    }

    /// Frames from the one that first crossed the threshold to the first one that was dropped after
    /// it: 1 if that was the very next.
    #[must_use]
    pub fn frames_between(&self) -> Option<u64> {
        let (paused, dropped) = (self.paused?, self.dropped?);
        dropped.frames.checked_sub(paused.frames)
    }
}

/// Returns the priority that a port gives a data frame. Implemented independently of the switch's
/// classifier, from the same plan.
#[must_use]
pub(crate) fn priority(plan: &ClassifyPlan, head: &[u8]) -> Priority {
    let Some(head) = head.first_chunk::<20>().filter(|_| plan.trust != Trust::Port) else {
        return plan.default;
    };
    let be16 = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let outer = EtherType(be16(12));
    let tagged = outer == EtherType::C_TAG || outer == EtherType::S_TAG;
    let pcp = || tagged.then(|| plan.pcp[usize::from(head[14] >> 5)]);
    // The type field stands 4 bytes further behind a tag.
    let dscp = || {
        let at = if tagged { 16 } else { 12 };
        let code = match EtherType(be16(at)) {
            EtherType::IPV4 => head[at + 3] >> 2,
            // Traffic class of IPv6: 4 bits behind the version, and 4 in the next byte; its upper six are the DSCP.
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
