//! The arithmetic of links that are rings, by which no lossless frame is lost however late any
//! thread is polled.
//!
//! A ring has no length and no rate. What bounds what is in one is that its sender is shaped, and
//! that the clocks of any two threads are never further apart than the span of the leash.

use super::load;
use crate::frame::BURST;
use crate::host::{COMMITTED_MAX, FRAME_MIN};
use crate::pfc::{FlowControl, PfcPlan};
use crate::schedule::Line;
use crate::sim::{LinkPlan, NetworkPlan, NodeKind};
use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes, Cells};

/// How far clocks may be apart, in the longest frames on the fastest link. A choice: what two
/// threads can do without looking at each other, and little beside what buffers hold.
const SPAN_FRAMES: u64 = 32;

/// What a ring has room for, in spans: the sender may be one ahead of a receiver that is one
/// behind, and as much again, so that no link idles for want of room.
const SPANS: u64 = 4;

/// The least and the most frames of a ring. The most is below what is needed where the shortest
/// frames are less than an eighth of the longest; the span is shorter there.
const ENTRIES: [u64; 2] = [128, 1024];

/// The shortest span: below, a clock would need too many polls to get on.
const SPAN_MIN: Duration = Duration::from_nanos(1);

/// What rings are like in one lab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rings {
    /// Frames that each direction of a link holds.
    pub(super) entries: u32,
    /// The shortest and the longest frame that anyone sends, FCS included.
    pub(super) shortest: u32,
    pub(super) longest: u32,
    /// How far the clocks of two threads may be apart.
    pub(super) span: Duration,
    /// The longest gap between two polls that counts.
    pub(super) step: Duration,
}

impl Rings {
    /// The rings of a network.
    pub(super) fn new(network: &NetworkPlan) -> Self {
        let (shortest, longest) = lengths(network);
        let fastest = network.links.iter().max_by_key(|link| link.rate.get());
        let time = |len| {
            let line = fastest.map(|link| Line::new(link.rate, link.line));
            line.map_or(1_000, |line| line.time_for(len).as_picos()).max(1)
        };
        let entries = (SPANS * SPAN_FRAMES * time(longest)).div_ceil(time(shortest));
        let entries = entries.clamp(ENTRIES[0], ENTRIES[1]);
        let span = Duration::from_picos(time(shortest)).saturating_mul(entries / SPANS);
        let span = span.min(bounded_by_pauses(network)).max(SPAN_MIN);
        let step = span.div(2).max(SPAN_MIN);
        Self { entries: entries as u32, shortest, longest, span, step }
    }

    /// Whether a pause may run out before it is renewed, because it is so short.
    pub(super) fn outruns_pauses(&self, network: &NetworkPlan) -> bool {
        self.span > bounded_by_pauses(network)
    }

    /// Largest difference between the clocks of two nodes, with the time between two polls of both.
    pub(super) fn uncertainty(&self) -> Duration {
        self.span + self.step.saturating_mul(2)
    }

    /// What a shaper may catch up with after the longest gap.
    pub(super) fn shaper_burst(&self, rate: BitsPerSec) -> Bytes {
        rate.bytes_in(self.step)
    }

    /// Frames from one link that can still be admitted once a group went to XOFF, however late
    /// either end is polled:
    /// - the rest of the burst that was being admitted, the frame that crossed included;
    /// - what was in the ring by then;
    /// - what the peer sends while the pause waits for the link to be free, which takes no longer
    ///   than the longest frame and a gap, while the peer's clock moves on by twice the span more;
    /// - what the peer sends while it reads the ring that brings the pause: a switch takes a burst
    ///   and sends one, and is polled until there is no more;
    /// - what the peer had in hand.
    ///
    /// More cannot come, because a pause is renewed before it runs out: the span sees to that.
    pub(super) fn in_flight(&self, link: &LinkPlan) -> u32 {
        let line = Line::new(link.rate, link.line);
        let frame = line.time_for(self.shortest).as_picos().max(1);
        let wait = line.time_for(self.longest) + self.span.saturating_mul(2);
        let wait = (wait + self.step.saturating_mul(2)).as_picos();
        let sent = u32::try_from(wait.div_ceil(frame)).unwrap_or(u32::MAX);
        (BURST as u32 + 2 * self.entries + 2 * COMMITTED_MAX as u32).saturating_add(sent)
    }

    /// The headroom for that, in cells of so many octets.
    pub(super) fn headroom(&self, link: &LinkPlan, cell_bytes: u32) -> Cells {
        Cells(self.in_flight(link).saturating_mul(self.longest.div_ceil(cell_bytes)))
    }
}

/// The shortest and the longest frame of all flows, answers and pauses.
fn lengths(network: &NetworkPlan) -> (u32, u32) {
    let (mut shortest, mut longest) = (u32::MAX, FRAME_MIN);
    let mut take = |len: u32| {
        shortest = shortest.min(len);
        longest = longest.max(len);
    };
    for node in &network.nodes {
        let NodeKind::Host(host) = &node.kind else { continue };
        host.flows.iter().for_each(|flow| take(flow.size));
        for stream in &host.tester.streams {
            let (least, most) = load::lengths(&stream.sizes);
            take(least.max(FRAME_MIN));
            take(most.max(FRAME_MIN));
        }
        for transport in &host.senders {
            take(FRAME_MIN);
            take(transport.longest());
        }
        if !host.pauses.is_empty() {
            take(FRAME_MIN);
        }
    }
    (shortest.min(longest), longest)
}

/// The longest span for which no pause runs out before it is renewed: it was read when the peer's
/// clock was at most a span behind the one that dated it, and is renewed an interval later, when
/// the peer's clock is at most a span ahead.
fn bounded_by_pauses(network: &NetworkPlan) -> Duration {
    let ports = network.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(plan) => Some(&plan.ports),
        NodeKind::Host(_) => None,
    });
    let sending = ports.flatten().filter(|port| sends(&port.pfc));
    let spare = sending.map(|port| {
        let pause = port.pfc.quanta.at(port.rate);
        let renewed = if port.pfc.refresh < pause { port.pfc.refresh } else { pause.div(2) };
        Duration::from_picos(pause.as_picos() - renewed.as_picos()).div(2)
    });
    spare.min().unwrap_or(Duration::MAX)
}

/// Whether a port pauses its peer.
pub(super) fn sends(plan: &PfcPlan) -> bool {
    match plan.mode {
        FlowControl::Pfc { send, .. } => !send.is_empty(),
        FlowControl::Pause { send, .. } => send,
        FlowControl::Off => false,
    }
}
