//! The lines and the event queue: the state outside a node that its poll changes.

use super::clock::ClockPlan;
use super::frame::VirtualFrame;
use super::hash::TraceHash;
use super::ids::{Direction, LinkId, NodeId};
use super::plan::NetworkPlan;
use super::queue::{Class, Queue};
use super::wire::{Delivery, Secured, Wire};
use super::witness::Witness;
use ground::time::{Duration, Instant};
use ground::units::PortId;
use schedule::Line;
use secure::SecyPlan;
use serde::Serialize;

/// Layout of the slots by class of events; see [`Queue`] for the order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    directions: u32,
    nodes: u32,
}

/// Kind of an event.
pub(super) enum Event {
    Fault,
    Arrival(Direction),
    Wake(Direction),
    Node(NodeId),
    Sample,
    /// A defect at the start of a direction acts.
    Defect(Direction),
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

/// The lines and the queue.
pub(super) struct Wires {
    pub(super) wires: Vec<Wire>,
    pub(super) queue: Queue,
    pub(super) slots: Slots,
    pub(super) hash: TraceHash,
    pub(super) tally: Tally,
    pub(super) on_the_way: u64,
}

impl Slots {
    pub(super) const FAULT: u32 = 0;

    pub(super) const fn arrival(self, direction: Direction) -> u32 {
        1 + direction.0
    }
    pub(super) const fn wake(self, direction: Direction) -> u32 {
        1 + self.directions + direction.0
    }
    pub(super) const fn node(self, node: NodeId) -> u32 {
        1 + 2 * self.directions + node.0
    }
    pub(super) const fn sample(self) -> u32 {
        1 + 2 * self.directions + self.nodes
    }
    pub(super) const fn defect(self, direction: Direction) -> u32 {
        self.sample() + 1 + direction.0
    }
    pub(super) const fn count(self) -> usize {
        (self.sample() + 1 + self.directions) as usize
    }

    #[inline]
    pub(super) const fn event(self, slot: u32) -> Event {
        if slot == Self::FAULT {
            return Event::Fault;
        }
        let n = slot - 1;
        if n < self.directions {
            return Event::Arrival(Direction(n));
        }
        if n < 2 * self.directions {
            return Event::Wake(Direction(n - self.directions));
        }
        let n = n - 2 * self.directions;
        if n < self.nodes {
            return Event::Node(NodeId(n));
        }
        match n - self.nodes {
            0 => Event::Sample,
            n => Event::Defect(Direction(n - 1)),
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
        let slots = Slots { directions: wires.len() as u32, nodes: plan.nodes.len() as u32 };
        let mut queue = Queue::new(slots.count());
        for n in 0..slots.directions {
            queue.set(slots.wake(Direction(n)), Class::Timer, Instant::ZERO);
        }
        if plan.sample_every.is_some() {
            queue.set(slots.sample(), Class::Sample, Instant::ZERO);
        }
        let (hash, tally) = (TraceHash::default(), Tally::default());
        Self { wires, queue, slots, hash, tally, on_the_way: 0 }
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
            Ok(()) => {
                self.on_the_way += 1;
                let next = wire.next();
                self.queue.set(self.slots.arrival(direction), Class::Arrival, next);
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
