//! The lines and the queues of events: the state outside a node that its poll changes.
//!
//! Every node has a queue of its own, and the agenda has the time of each node's first event. Nothing
//! that a node sends arrives before [`Wires::lookahead`] has passed, so the events of one node up to
//! then may be handled before those of another.

use super::clock::ClockPlan;
use super::frame::VirtualFrame;
use super::hash::TraceHash;
use super::ids::{Direction, LinkId, NodeId};
use super::plan::NetworkPlan;
use super::queue::{Order, Queue};
use super::wire::{Delivery, Secured, Wire};
use super::witness::Witness;
use ground::time::{Duration, Instant};
use ground::units::PortId;
use schedule::Line;
use secure::SecyPlan;
use serde::Serialize;

/// Layout of the slots in the queue of a node: arrivals, deadlines of ports, its own deadline, defects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    ports: u32,
}

/// Kind of an event of a node.
pub(super) enum Event {
    /// A frame has arrived at a port, or is to be validated there.
    Arrival(PortId),
    /// A deadline of a port.
    Wake(PortId),
    /// A deadline of the node.
    Node,
    /// A defect of a port acts.
    Defect(PortId),
}

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

/// The lines and the queues.
pub(super) struct Wires {
    pub(super) wires: Vec<Wire>,
    /// By node: its events.
    pub(super) queues: Vec<Queue>,
    /// Time of each node's first event.
    pub(super) agenda: Queue,
    /// Least time from a frame's start to its arrival, more than none.
    pub(super) lookahead: Duration,
    /// Events before this time are being handled: no frame sent now arrives earlier.
    pub(super) horizon: Instant,
    pub(super) hash: TraceHash,
    pub(super) tally: Tally,
    pub(super) on_the_way: u64,
}

impl Slots {
    pub(super) const fn new(ports: usize) -> Self {
        Self { ports: ports as u32 }
    }
    pub(super) const fn arrival(port: PortId) -> u32 {
        port.get() as u32
    }
    pub(super) const fn wake(self, port: PortId) -> u32 {
        self.ports + port.get() as u32
    }
    pub(super) const fn node(self) -> u32 {
        2 * self.ports
    }
    pub(super) const fn defect(self, port: PortId) -> u32 {
        2 * self.ports + 1 + port.get() as u32
    }
    const fn count(self) -> usize {
        3 * self.ports as usize + 1
    }

    #[inline]
    pub(super) fn event(self, slot: u32) -> Event {
        let port = |n: u32| PortId::new(n as u16).expect("a slot is of a port with an id");
        if slot < self.ports {
            Event::Arrival(port(slot))
        } else if slot < self.node() {
            Event::Wake(port(slot - self.ports))
        } else if slot == self.node() {
            Event::Node
        } else {
            Event::Defect(port(slot - self.node() - 1))
        }
    }
}

impl Wires {
    /// Creates the empty lines of a validated plan, and schedules a first poll of every port.
    pub(super) fn new(plan: &NetworkPlan) -> Self {
        let wires: Vec<Wire> = (0..plan.links.len() as u32)
            .flat_map(|n| [LinkId(n).ab(), LinkId(n).ba()])
            .map(|direction| wire(plan, direction))
            .collect();
        let slots = plan.nodes.iter().map(|node| Slots::new(node.ports()));
        let mut wires = Self {
            lookahead: lookahead(plan, &wires),
            queues: slots.map(|slots| Queue::new(slots.count())).collect(),
            agenda: Queue::new(plan.nodes.len()),
            horizon: Instant::ZERO,
            hash: TraceHash::default(),
            tally: Tally::default(),
            on_the_way: 0,
            wires,
        };
        for n in 0..wires.wires.len() {
            let from = wires.wires[n].from;
            let slots = Slots::new(plan.nodes[from.node.index()].ports());
            wires.schedule(from.node, slots.wake(from.port), Instant::ZERO);
        }
        wires
    }

    /// Sets the time of an event of a node that is not handling events now.
    pub(super) fn schedule(&mut self, node: NodeId, slot: u32, at: Instant) {
        let queue = &mut self.queues[node.index()];
        queue.set(slot, Order::LAST, at);
        self.agenda.set(node.0, Order::LAST, queue.first().0);
    }

    /// Puts a frame on its line, at `at`, when the sender's clock shows `local`.
    #[inline]
    pub(super) fn send<W: Witness>(
        &mut self,
        at: Instant,
        local: Instant,
        clock: &ClockPlan,
        direction: Direction,
        mut frame: VirtualFrame,
        witness: &mut W,
    ) {
        frame.start();
        let wire = &mut self.wires[direction.index()];
        let time = wire.time_for(&frame);
        let end = if clock.is_exact() { at + time } else { clock.network(local + time) };
        self.hash.frame(at, direction, &frame);
        self.tally.frames += 1;
        witness.sent(at, direction, &frame, end);
        match wire.take(at, end, frame) {
            Ok((arrival, order)) => {
                assert!(arrival >= self.horizon, "a frame arrives in the past: {direction:?}");
                self.on_the_way += 1;
                let to = wire.to;
                self.queues[to.node.index()].advance(Slots::arrival(to.port), order, arrival);
                self.agenda.advance(to.node.0, Order::LAST, arrival);
            }
            Err((frame, cause)) => {
                self.tally.lost += 1;
                witness.lost(at, direction, &frame, cause);
            }
        }
    }
}

/// Creates one direction.
fn wire(plan: &NetworkPlan, direction: Direction) -> Wire {
    let link = &plan.links[direction.link().index()];
    let to = link.to(direction);
    let towards = &plan.nodes[to.node.index()];
    let fastest = (0..towards.ports() as u16)
        .filter_map(|n| towards.line(PortId::new(n)?))
        .max_by_key(|(rate, ..)| rate.get());
    let delivery = match fastest {
        Some((rate, line, _)) if towards.cut_through => Delivery::CutThrough(Line::new(rate, line)),
        _ => Delivery::Stored,
    };
    let dir = if direction.0 % 2 == 0 { link.ab } else { link.ba };
    let secys = [link.from(direction), to].map(|end| plan.nodes[end.node.index()].secy(end.port));
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
    let ends = (link.from(direction), to);
    Wire::new((link.rate, link.line), dir, ends, (delivery, secured), seed)
}

/// Returns the least time from a frame's start on any line to its arrival. The line time of its
/// preamble is counted only by an exact clock.
fn lookahead(plan: &NetworkPlan, wires: &[Wire]) -> Duration {
    let least = wires.iter().map(|wire| {
        let clock = plan.nodes[wire.from.node.index()].clock;
        wire.least_delay(clock.is_exact())
    });
    least.min().unwrap_or(Duration::ZERO).max(Duration::from_picos(1))
}
