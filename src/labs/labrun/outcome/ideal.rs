//! Completion time of a message on an idle path: the least that any transport can reach.

use crate::plan::{LabFlow, LabPlan};
use ground::time::Duration;
use ground::units::Bytes;
use host::probe::PROBE_LEN;
use host::{Transport, TransportPlan};
use schedule::Line;
use sim::{Direction, NetworkPlan, NodeKind};

/// Bytes after which a cut-through switch passes a frame on.
const HEADER: u32 = 64;

/// Bytes of preamble and start delimiter on a line.
const PREAMBLE: u64 = 8;

/// The lines of a flow's path, there and back.
pub(super) struct Path<'a> {
    plan: &'a TransportPlan,
    there: Vec<Hop>,
    back: Vec<Hop>,
}

/// One line of a path.
struct Hop {
    line: Line,
    /// Part of a frame's time on the line after its last bit.
    gap: Duration,
    delay: Duration,
    /// True if the line ends at a cut-through switch.
    cuts: bool,
}

impl<'a> Path<'a> {
    /// Returns the path of a flow. Delays of MACsec, processing times of nodes, and rate limits of
    /// the flow are not part of it.
    pub(super) fn new(lab: &LabPlan, flow: &LabFlow, plan: &'a TransportPlan) -> Self {
        let network = &lab.network;
        let there = flow.way.iter().map(|line| hop(network, *line)).collect();
        let reverse = |line: &Direction| Direction(line.0 ^ 1);
        let back = flow.way.iter().rev().map(|line| hop(network, reverse(line))).collect();
        Self { plan, there, back }
    }

    /// Returns the time from a message of `bytes` becoming due to the acknowledgement of its last
    /// byte; zero for a flow without a path. At most [`Duration::MAX`]: a slow line
    /// takes longer for the longest messages of a file.
    pub(super) fn ideal(&self, bytes: u64) -> Duration {
        let payload = u64::from(self.plan.payload());
        let before = bytes.max(1).div_ceil(payload) - 1;
        let tail = (bytes.max(1) - before * payload) as u32;
        let tail = tail.max(PROBE_LEN as u32);
        let padded = match self.plan.kind {
            Transport::Roce(_) => tail.next_multiple_of(4),
            Transport::TcpLike(_) => tail,
        };
        let tail = padded.min(self.plan.payload().max(tail)) + self.plan.overhead();
        let full = self.plan.size;
        // Start of the last frame on a line; the frames before it have all the full length, and
        // follow one another at the pace of the slowest line so far.
        let (mut last, mut first, mut slowest) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for hop in &self.there {
            let time = hop.line.time_for(full);
            slowest = slowest.max(time);
            if before > 0 {
                let others = slowest.saturating_mul(before - 1);
                last = last.max(first.saturating_add(others).saturating_add(time));
            }
            first += hop.latency(full);
            last = last.saturating_add(hop.latency(tail));
        }
        let ack = self.plan.kind.ack_len();
        self.back.iter().fold(last, |at, hop| at.saturating_add(hop.latency(ack)))
    }
}

impl Hop {
    /// Returns the time from a frame's start on the line to its availability at the other end.
    fn latency(&self, len: u32) -> Duration {
        let whole = self.line.time_for(len).saturating_sub(self.gap);
        let seen = if self.cuts { self.line.time_for(HEADER.min(len)).min(whole) } else { whole };
        seen + self.delay
    }
}

fn hop(network: &NetworkPlan, line: Direction) -> Hop {
    let link = &network.links[line.link().index()];
    let plan = if line.0 % 2 == 0 { link.ab } else { link.ba };
    let to = &network.nodes[link.to(line).node.index()];
    let after = u64::from(link.line.overhead).saturating_sub(PREAMBLE);
    Hop {
        line: Line::new(link.rate, link.line),
        gap: link.rate.time_for(Bytes(after)),
        delay: plan.delay,
        cuts: to.cut_through && matches!(to.kind, NodeKind::Switch(_)),
    }
}
