//! Counters of switches and lines, and the first pause and the first drop of each group.
//!
//! Thresholds and headroom are checked against the number of frames that a group had received by its first events.

use contracts::stats::{DropReason, Drops, Storms};
use ground::counters;
use ground::time::Instant;
use ground::units::{Dscp, PortId, Priority};
use serde::Serialize;
use sim::NodeId;
use switch::{ClassifyPlan, Trust};
use wire::EtherType;

/// Counters of switches and lines.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// XOFF crossings of ingress groups.
    pub xoffs: u64,
    /// XON crossings of ingress groups.
    pub xons: u64,
    /// Time of the first XOFF crossing.
    pub first_xoff: Option<Instant>,
    /// PFC and PAUSE frames that switches sent.
    pub pauses_sent: u64,
    /// Arrival of the last bit of the first pause at a host, without its response time.
    pub first_at_host: Option<Instant>,
    /// Frames that switches marked CE.
    pub marks: u64,
    /// Time of the first mark.
    pub first_mark: Option<Instant>,
    /// Frames dropped by switches.
    pub drops: Drops,
    /// First of these drops.
    pub first_drop: Option<FirstDrop>,
    pub line_losses: LineLosses,
    pub storms: Storms,
}

impl Counts {
    /// Adds the counts of other switches and lines.
    pub(super) fn add(&mut self, other: &Self) {
        let first = |a: Option<Instant>, b: Option<Instant>| a.into_iter().chain(b).min();
        self.xoffs += other.xoffs;
        self.xons += other.xons;
        self.first_xoff = first(self.first_xoff, other.first_xoff);
        self.pauses_sent += other.pauses_sent;
        self.first_at_host = first(self.first_at_host, other.first_at_host);
        self.marks += other.marks;
        self.first_mark = first(self.first_mark, other.first_mark);
        self.drops.add(&other.drops);
        let drops = self.first_drop.into_iter().chain(other.first_drop);
        // By node where times are equal, so that the order of parts makes no difference.
        self.first_drop = drops.min_by_key(|drop| (drop.at, drop.node));
        self.line_losses.add(&other.line_losses);
        self.storms.add(&other.storms);
    }
}

counters! {
    /// Frames lost on lines.
    #[derive(Serialize)]
    LineLosses {
        /// Frames with an FCS error.
        damaged,
        /// Frames lost by a link's loss probability, or by a planned loss.
        lost,
        /// Frames that were on a link that went down, or started on one that was down.
        link_down,
        /// Frames that a port's SecY could not protect or did not accept, forged ones included.
        secy,
    }
}

/// First frame that a switch dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirstDrop {
    pub at: Instant,
    pub node: NodeId,
    /// Port at which the drop is counted.
    pub port: PortId,
    /// Priority of the frame, if it was classified.
    pub priority: Option<Priority>,
    pub reason: DropReason,
}

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
    pub const fn is_set(&self) -> bool {
        self.paused.is_some() || self.dropped.is_some()
    }

    /// Frames from the one that first crossed the threshold to the first one that was dropped after
    /// it: 1 if that was the very next.
    pub fn frames_between(&self) -> Option<u64> {
        let (paused, dropped) = (self.paused?, self.dropped?);
        dropped.frames.checked_sub(paused.frames)
    }
}

/// Returns the priority that a port gives a data frame. Implemented independently of the switch's
/// classifier, from the same plan.
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
