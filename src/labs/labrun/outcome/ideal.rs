//! Completion time of a message that is alone on an idle path: the least that any transport can reach.
//!
//! The path is a row of lines, those of the data and behind them those of the acknowledgements. A frame starts on
//! a line when it has come from the line before and the frame ahead of it is off the line. So the last frame
//! starts at the end of the longest chain of such waits. All frames between the first and the last have one
//! length, so a chain stays at the slowest of its lines for them.

use crate::plan::{LabFlow, LabPlan};
use ground::time::Duration;
use ground::units::Bytes;
use host::probe::PROBE_LEN;
use host::{RocePlan, Transport, TransportPlan};
use schedule::Line;
use sim::{Direction, NetworkPlan, NodeKind};
use wire::roce;

/// Bytes after which a cut-through switch passes a frame on at the earliest.
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
    /// Fastest line of the cut-through switch at which the line ends.
    cuts: Option<Line>,
}

/// Frames of one kind on one line, of data or of the acknowledgements of such frames.
#[derive(Clone, Copy)]
struct Stay {
    /// Time from a frame's start to its availability at the other end.
    latency: Duration,
    /// Time from its start to the earliest start of the next one.
    time: Duration,
}

/// Frames of a message: the first, those between it and the last, and the last.
#[derive(Clone, Copy)]
struct Frames {
    first: u32,
    full: u32,
    last: u32,
    /// Number of frames before the last one.
    before: u64,
}

impl<'a> Path<'a> {
    /// Returns the path of a flow. Delays of MACsec, processing times of nodes, rate limits and windows of
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
        let frames = frames(self.plan, bytes);
        let ahead = match frames.before {
            0 => vec![],
            1 => self.behind_first(frames),
            _ => self.behind_full(frames),
        };
        let stays = self.stays(frames.last, true);
        let mut start = Duration::ZERO;
        for (n, stay) in stays.iter().enumerate() {
            // Behind the frame ahead of it, if there is one.
            start = start.max(ahead.get(n).copied().unwrap_or_default());
            start = start.saturating_add(stay.latency);
        }
        start
    }

    /// Frames of this length on all lines, and their acknowledgements, if they get any.
    fn stays(&self, len: u32, is_acknowledged: bool) -> Vec<Stay> {
        let ack = self.plan.kind.ack_len();
        let data = self.there.iter().map(|hop| hop.stay(len));
        let back = self.back.iter().map(|hop| match hop.stay(ack) {
            stay if is_acknowledged => stay,
            // Nothing waits for an acknowledgement that is not sent.
            stay => Stay { time: Duration::ZERO, ..stay },
        });
        data.chain(back).collect()
    }

    /// Packets per acknowledgement.
    fn ack_every(&self) -> u64 {
        match &self.plan.kind {
            Transport::Roce(roce) => roce.ack_every.into(),
            Transport::TcpLike(_) => 1,
        }
    }

    /// By line: when the first frame is off it.
    fn behind_first(&self, frames: Frames) -> Vec<Duration> {
        let mut start = Duration::ZERO;
        let stays = self.stays(frames.first, self.ack_every() == 1);
        let behind = stays.into_iter().map(|Stay { latency, time }| {
            let behind = start.saturating_add(time);
            start = start.saturating_add(latency);
            behind
        });
        behind.collect()
    }

    /// By line: when the last full frame is off it, of one or more behind the first frame.
    fn behind_full(&self, frames: Frames) -> Vec<Duration> {
        let first = self.behind_first(frames);
        let others = frames.before - 2;
        let stays = self.stays(frames.full, self.ack_every() == 1);
        let last = self.stays(frames.full, frames.before % self.ack_every() == 0);
        let mut behind = vec![Duration::ZERO; stays.len()];
        // A chain leaves the first frame on the line `from`, and is at the last full one on the line `to`.
        for (from, first) in first.into_iter().enumerate() {
            let (mut way, mut slowest) = (first, Duration::ZERO);
            for (to, behind) in behind.iter_mut().enumerate().skip(from) {
                slowest = slowest.max(stays[to].time);
                let chain = way.saturating_add(slowest.saturating_mul(others));
                *behind = (*behind).max(chain.saturating_add(last[to].time));
                way = way.saturating_add(stays[to].latency);
            }
        }
        behind
    }
}

/// Returns the frames of a message of `bytes`.
fn frames(plan: &TransportPlan, bytes: u64) -> Frames {
    let payload = u64::from(plan.payload());
    let before = bytes.max(1).div_ceil(payload) - 1;
    let tail = (bytes.max(1) - before * payload) as u32;
    // The last frame alone may be shorter, but has a probe.
    let tail = tail.max(PROBE_LEN as u32);
    let (tail, more) = match &plan.kind {
        // RoCE pads the payload of a shorter frame to four bytes (the BTH has a pad count).
        Transport::Roce(RocePlan { immediate, .. }) => (
            if tail == plan.payload() { tail } else { tail.next_multiple_of(4) },
            if immediate.is_some() { roce::IMMEDIATE_LEN as u32 } else { 0 },
        ),
        Transport::TcpLike(_) => (tail, 0),
    };
    let reth = plan.kind.first_longer();
    let last = tail + plan.overhead() + more + if before == 0 { reth } else { 0 };
    Frames { first: plan.size + reth, full: plan.size, last, before }
}

impl Hop {
    fn stay(&self, len: u32) -> Stay {
        let time = self.line.time_for(len);
        // The gap belongs to the pace of the line; a frame has arrived before it.
        let whole = time.saturating_sub(self.gap);
        let seen = match &self.cuts {
            None => whole,
            // So much is there that the fastest line does not run empty before the rest arrives.
            Some(fastest) => {
                let ahead = time.saturating_sub(fastest.time_for(len));
                self.line.time_for(HEADER.min(len)).max(ahead).min(whole)
            }
        };
        Stay { latency: seen + self.delay, time }
    }
}

fn hop(network: &NetworkPlan, line: Direction) -> Hop {
    let link = &network.links[line.link().index()];
    let plan = if line.0 % 2 == 0 { link.ab } else { link.ba };
    let to = &network.nodes[link.to(line).node.index()];
    let after = u64::from(link.line.overhead).saturating_sub(PREAMBLE);
    let is_switch = matches!(to.kind, NodeKind::Switch(_));
    Hop {
        line: Line::new(link.rate, link.line),
        gap: link.rate.time_for(Bytes(after)),
        delay: plan.delay,
        cuts: to.fastest().filter(|_| to.cut_through && is_switch),
    }
}
