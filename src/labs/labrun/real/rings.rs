//! Dimensions of rings as links, chosen so that no lossless frame is lost however late a thread
//! polls.
//!
//! A ring has no length and no rate. Its occupancy is bounded because its sender is shaped, and
//! because the clocks of any two threads never differ by more than the span of the leash.

use super::load;
use contracts::frame::BURST;
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes, Cells};
use host::{COMMITTED_MAX, FRAME_MIN};
use schedule::Line;
use sim::{LinkPlan, NetworkPlan, NodeKind};

/// Largest difference of clocks, in transmission times of the longest frame on the fastest link. A
/// choice: the work that two threads can do without synchronisation, and small compared to buffers.
const SPAN_FRAMES: u64 = 32;

/// Capacity of a ring, in spans: the sender may be one ahead of a receiver that is one behind, and
/// twice that, so that no link idles because its ring is full.
const SPANS: u64 = 4;

/// Smallest and largest ring in frames. The largest is too small if the shortest frames are less
/// than an eighth of the longest; the span is shorter then.
const ENTRIES: [u64; 2] = [128, 1024];

/// Shortest span: below it, a clock needs too many polls to advance.
const SPAN_MIN: Duration = Duration::from_nanos(1);

/// Ring parameters of one lab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rings {
    /// Frames that each direction of a link holds.
    pub entries: u32,
    /// Shortest and longest frame of all senders, FCS included.
    pub shortest: u32,
    pub longest: u32,
    /// Largest difference between the clocks of two threads.
    pub span: Duration,
    /// Longest counted gap between two polls.
    pub step: Duration,
}

impl Rings {
    /// Calculates the rings of a network.
    pub fn new(network: &NetworkPlan) -> Self {
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

    /// True if a pause may expire before it is refreshed, because its pause time is short.
    pub fn outruns_pauses(&self, network: &NetworkPlan) -> bool {
        self.span > bounded_by_pauses(network)
    }

    /// Returns the largest difference between the clocks of two nodes, with the time between two
    /// polls of both.
    pub fn uncertainty(&self) -> Duration {
        self.span + self.step.saturating_mul(2)
    }

    /// Returns the burst that a shaper may send after the longest gap.
    pub fn shaper_burst(&self, rate: BitsPerSec) -> Bytes {
        rate.bytes_in(self.step)
    }

    /// Returns the frames from one link that can still be admitted after a group went to XOFF,
    /// however late either end is polled:
    ///
    /// - the rest of the burst that was being admitted, the frame that crossed included;
    /// - the frames in the ring at that time;
    /// - frames that the peer sends while the pause waits for a free link, at most one frame of the
    ///   longest size and a gap, during which the peer's clock advances by twice the span more;
    /// - frames that the peer sends while it reads the ring with the pause: a switch takes a burst
    ///   and sends one, and is polled until the ring is empty;
    /// - frames that the peer is processing.
    ///
    /// There are no others, because a pause is refreshed before it expires: the span guarantees
    /// that.
    pub fn in_flight(&self, link: &LinkPlan) -> u32 {
        let line = Line::new(link.rate, link.line);
        let frame = line.time_for(self.shortest).as_picos().max(1);
        let wait = line.time_for(self.longest) + self.span.saturating_mul(2);
        let wait = (wait + self.step.saturating_mul(2)).as_picos();
        let sent = u32::try_from(wait.div_ceil(frame)).unwrap_or(u32::MAX);
        (BURST as u32 + 2 * self.entries + 2 * COMMITTED_MAX as u32).saturating_add(sent)
    }

    /// Returns the headroom for these frames, in cells of `cell_bytes`.
    pub fn headroom(&self, link: &LinkPlan, cell_bytes: u32) -> Cells {
        Cells(self.in_flight(link).saturating_mul(self.longest.div_ceil(cell_bytes)))
    }
}

/// Returns the shortest and the longest frame of all flows, acknowledgements and pauses.
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

/// Returns the longest span for which every pause is refreshed before it expires: the pause was
/// received when the receiver's clock was at most a span behind the sender's, and is refreshed an
/// interval later, when the receiver's clock is at most a span ahead.
fn bounded_by_pauses(network: &NetworkPlan) -> Duration {
    let ports = network.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(plan) => Some(&plan.ports),
        NodeKind::Host(_) => None,
    });
    let sending = ports.flatten().filter(|port| !port.pfc.mode.sends().is_empty());
    let spare = sending.map(|port| {
        let pause = port.pfc.quanta.at(port.rate);
        let renewed = if port.pfc.refresh < pause { port.pfc.refresh } else { pause.div(2) };
        Duration::from_picos(pause.as_picos() - renewed.as_picos()).div(2)
    });
    spare.min().unwrap_or(Duration::MAX)
}
