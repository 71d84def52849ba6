//! State that nodes share while they handle events: the agenda, the frames that they have sent, and the hash of
//! the trace.
//!
//! Every node has a queue of its own, and the agenda has the time of each node's first event. Nothing
//! that a node sends arrives before [`Wires::lookahead`] has passed, so the events of one node up to
//! then may be handled before those of another, and frames are brought to their receivers at the end.
//!
//! The hash is the sum of the XXH3 of all frames' starts, which gives the same value on every machine and in
//! every order of what happens at different nodes. For comparing traces, not for security. What a line does to a
//! frame behind its start is not in it: a frame that is lost or damaged on its last line, and that nothing
//! answers, changes the results of its flow alone. A frame that its sender damages starts as another one.

use std::fmt;

use super::frame::VirtualFrame;
use super::node::{ClockPlan, NodeState};
use super::part::{Letter, Mail, Parcel};
use super::plan::{Direction, LinkId, NetworkPlan};
use super::queue::{Agenda, Slots};
use super::wire::{Delivery, Inlet, Outlet, Secured, halves};
use super::witness::Witness;
use contracts::frame::Frame;
use ground::time::{Duration, Instant};
use secure::SecyPlan;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

/// Frames that start in a window from which on their receivers' memory is behind the near caches.
const FRAMES_MIN: usize = 256;

/// Event counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Tally {
    /// Events taken from the queue.
    pub events: u64,
    /// Frames that started on a line.
    pub frames: u64,
    /// Frames among these that were lost on the way.
    pub lost: u64,
    /// Polls of nodes.
    pub polls: u64,
}

impl Tally {
    /// Adds the counts of another part.
    pub(super) const fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.frames += other.frames;
        self.lost += other.lost;
        self.polls += other.polls;
    }
}

/// State that the nodes of a part share while they handle events.
#[derive(Debug)]
pub(super) struct Wires {
    /// Number of the part.
    part: u32,
    /// Time of each node's first event.
    pub(super) agenda: Agenda,
    /// Least time from a frame's start to its arrival inside the part, more than none.
    pub(super) lookahead: Duration,
    /// Events before this time are being handled: no frame sent now arrives earlier.
    pub(super) horizon: Instant,
    pub(super) hash: TraceHash,
    pub(super) tally: Tally,
    /// Frames that have started and neither arrived nor been lost. A frame that starts in one part and
    /// arrives in another is counted by both, so only the sum of all parts is a number of frames.
    pub(super) on_the_way: i64,
    /// Frames sent since [`Self::deliver`].
    sent: Vec<Parcel>,
    /// By part: frames for its nodes since the last exchange; nothing for this one.
    pub(super) mail: Vec<Mail>,
}

impl Wires {
    /// Creates the state of part `part` of `parts`, with this number of nodes and this lookahead.
    pub(super) fn new(nodes: usize, lookahead: Duration, part: usize, parts: usize) -> Self {
        Self {
            part: part as u32,
            agenda: Agenda::new(nodes),
            lookahead,
            horizon: Instant::ZERO,
            hash: TraceHash::default(),
            tally: Tally::default(),
            on_the_way: 0,
            sent: Vec::new(),
            mail: (0..parts).map(|_| Mail::EMPTY).collect(),
        }
    }

    /// Puts a frame on its line, at `at`, when the sender's clock shows `local`.
    #[inline]
    pub(super) fn send<W: Witness>(
        &mut self,
        at: Instant,
        local: Instant,
        clock: &ClockPlan,
        outlet: &mut Outlet,
        mut frame: VirtualFrame,
        witness: &mut W,
    ) {
        frame.start();
        let time = outlet.time_for(&frame);
        // A sender with a drift takes as long for a frame as its own clock says.
        let end = if clock.is_exact() { at + time } else { clock.network(local + time) };
        let (direction, is_control) = (outlet.direction, frame.is_control());
        self.hash.frame(at, direction, &frame);
        self.tally.frames += 1;
        witness.sent(at, direction, &frame, end);
        match outlet.take(at, end, frame) {
            Ok(flight) => {
                self.on_the_way += 1;
                let (place, port) = (outlet.place, outlet.to.port);
                let parcel = Parcel { index: place.index, port, is_control, flight };
                // The receiver is in another part, which gets it in the exchange after this round.
                if place.part != self.part {
                    witness.handed_over(direction, &parcel.flight.frame);
                    return self.mail[place.part as usize].post(Letter { parcel, end });
                }
                assert!(
                    parcel.flight.arrival >= self.horizon,
                    "a frame arrives in the past: {direction:?}"
                );
                self.sent.push(parcel);
            }
            Err((frame, cause)) => {
                self.tally.lost += 1;
                witness.lost(at, direction, &frame, cause);
            }
        }
    }

    /// Brings the frames that were sent inside the part to their receivers.
    #[inline]
    pub(super) fn deliver(&mut self, nodes: &mut [NodeState]) {
        let mut sent = core::mem::take(&mut self.sent);
        let is_large = sent.len() >= FRAMES_MIN;
        let mut rest = sent.drain(..);
        loop {
            if is_large {
                // Each step follows what the one before has brought, some frames later.
                let ahead =
                    |n: usize| rest.as_slice().get(n).map(|of| (of.index as usize, of.port));
                ahead(12).inspect(|(index, _)| nodes[*index].fetch_lines());
                ahead(8).inspect(|(index, port)| nodes[*index].fetch_line(*port));
                ahead(4).inspect(|(index, port)| nodes[*index].fetch_flights(*port));
            }
            let Some(parcel) = rest.next() else { break };
            self.bring(nodes, parcel);
        }
        drop(rest);
        self.sent = sent;
    }

    /// Brings a frame to its receiver.
    #[inline]
    pub(super) fn bring(&mut self, nodes: &mut [NodeState], parcel: Parcel) {
        let Parcel { index, port, is_control, flight } = parcel;
        let NodeState { inlets, queue, .. } = &mut nodes[index as usize];
        let (inlet, slot) = (&mut inlets[port.index()], Slots::arrival(port));
        let (arrival, age) = (flight.arrival, flight.age);
        // Most frames follow another one on their line and are not its next event.
        if inlet.push(flight, is_control) && queue.is_before(slot, arrival) {
            queue.set(slot, inlet.order(arrival, age), arrival);
            self.agenda.advance(index as usize, arrival);
        }
    }

    /// Takes over the first events of the part's nodes.
    pub(super) fn take_events(&mut self, nodes: &[NodeState]) {
        for (n, state) in nodes.iter().enumerate() {
            self.agenda.set(n, state.queue.first_at());
        }
    }

    /// Adds what another part has counted.
    pub(super) const fn take_counts(&mut self, other: &Self) {
        self.hash.add(other.hash);
        self.tally.add(&other.tally);
        self.on_the_way += other.on_the_way;
    }

    /// A frame has left its line, with its receiver or without.
    #[inline]
    pub(super) fn left(&mut self, is_lost: bool) {
        self.on_the_way -= 1;
        self.tally.lost += u64::from(is_lost);
    }
}

/// Creates both halves of all directions, in order.
pub(super) fn wires(plan: &NetworkPlan) -> Vec<(Outlet, Inlet)> {
    let links = 0..plan.links.len() as u32;
    let directions = links.flat_map(|n| [LinkId(n).ab(), LinkId(n).ba()]);
    directions.map(|direction| wire(plan, direction)).collect()
}

/// Creates one direction.
fn wire(plan: &NetworkPlan, direction: Direction) -> (Outlet, Inlet) {
    let link = &plan.links[direction.link().index()];
    let to = link.to(direction);
    let towards = &plan.nodes[to.node.index()];
    let fastest = towards.fastest().filter(|_| towards.cut_through);
    let delivery = fastest.map_or(Delivery::Stored, Delivery::CutThrough);

    let secys = [link.from(direction), to].map(|end| plan.nodes[end.node.index()].secy(end.port));
    // Both ends delay a protected frame, but only the sender decides that it is one.
    let shim = match secys {
        [Some(sender), receiver] => {
            sender.tx_delay + receiver.map_or(Duration::ZERO, |secy| secy.rx_delay)
        }
        [None, _] => Duration::ZERO,
    };
    let overhead = secys[0].map_or(0, SecyPlan::line_overhead);
    let validated = secys[1].is_some();
    let recorded = plan.faults.iter().any(|fault| fault.kind.replays() == Some(direction));
    let secured = Secured { overhead, shim, recorded, validated };
    let seed = plan.seed ^ (u64::from(direction.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    halves(link, direction, delivery, secured, seed)
}

/// Returns the least time from a frame's start to its arrival, from the nodes of each part to those of
/// each: more than none, and [`Duration::MAX`] where no line leads. The line time of its preamble is counted
/// only by an exact clock.
pub(super) fn least_delays(parts: &[Vec<NodeState>]) -> Vec<Vec<Duration>> {
    let mut least = vec![vec![Duration::MAX; parts.len()]; parts.len()];
    for (least, nodes) in least.iter_mut().zip(parts) {
        for state in nodes {
            let exact = state.clock.is_exact();
            for outlet in &state.outlets {
                let to = &mut least[outlet.place.part as usize];
                // At least a picosecond: a window of no length would never end.
                *to = (*to).min(outlet.least_delay(exact).max(Duration::from_picos(1)));
            }
        }
    }
    least
}

/// Hash of the trace: every frame that started on a line, with time, place, length, content and whether its
/// sender damaged it.
#[derive(Clone, Copy, Default)]
pub(super) struct TraceHash(u64);

impl TraceHash {
    /// Adds a frame that starts on its line.
    #[inline]
    pub(super) fn frame(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame) {
        let mut event = [0; 24];
        // All events in a virtual world are before 2^64 ps.
        event[..8].copy_from_slice(&(time.as_picos() as u64).to_le_bytes());
        event[8..12].copy_from_slice(&direction.0.to_le_bytes());
        // No frame has 2^31 bytes.
        let len = frame.wire_len() | u32::from(frame.spoilt) << 31;
        event[12..16].copy_from_slice(&len.to_le_bytes());
        event[16..].copy_from_slice(&frame.digest().to_le_bytes());
        self.0 = self.0.wrapping_add(xxh3_64(&event));
    }

    /// Adds the frames of another part of the network.
    pub(super) const fn add(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }

    pub(super) const fn value(&self) -> u64 {
        self.0
    }
}

impl fmt::Debug for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceHash({:016x})", self.value())
    }
}
