//! Observation of a network from outside, for checkers, recorders and reports.

use super::frame::VirtualFrame;
use super::ids::{Direction, LinkId, NodeId};
use super::node::Nodes;
use super::notes::{Loss, Note};
use super::partition::Partition;
use ground::time::Instant;

/// Observer of a network. All times are the network's. The default methods do nothing and cost
/// nothing.
///
/// A network in several parts has an observer in each, which is told about the nodes of its part alone:
/// the start of a frame in the part of its sender; its arrival, or its loss at the end of the line, in that
/// of its receiver; links that change in all parts. Samples are taken by the first with the others at hand.
#[allow(unused_variables)]
pub trait Witness: Sized {
    /// True if switches record notes.
    const NOTES: bool = true;

    /// True if calls have to be in the order of time. Otherwise only those about one node are (frames
    /// that arrive there or start on its lines, and its notes), and those of one time about different
    /// nodes. The start of a frame comes before its end; samples, faults and links that change come after
    /// all that was before and before all that is later. The network is faster then.
    #[inline]
    fn is_ordered(&self) -> bool {
        true
    }

    /// True if observers of parts see together what one would see, so that the network may be divided.
    fn is_divisible(&self) -> bool {
        false
    }

    /// Becomes the observer of the first part, before the first event; returns those of the others.
    /// Called only if it is divisible.
    fn divide(&mut self, partition: &Partition) -> Vec<Self> {
        Vec::new()
    }

    /// Takes over what the observers that [`Self::divide`] returned have seen.
    fn unite(&mut self, others: Vec<Self>, partition: &Partition) {}

    /// The frame that was just [`sent`](Self::sent) is on its way to another part.
    #[inline]
    fn handed_over(&mut self, direction: Direction, frame: &VirtualFrame) {}

    /// A frame that started in another part is on its way to this one; it leaves its line at `end`.
    /// Called before its arrival.
    #[inline]
    fn taken_over(&mut self, direction: Direction, frame: &VirtualFrame, end: Instant) {}

    /// A frame starts on a line, which it leaves at `end`.
    #[inline]
    fn sent(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, end: Instant) {}

    /// A frame has arrived and is given to the node. A pause is given when it is obeyed.
    #[inline]
    fn arrived(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {}

    /// A frame is given to the node at the end of a line that never started there: a planned
    /// forgery.
    #[inline]
    fn forged(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {}

    /// A forgery or replay that the `SecY` at the end of the line rejects.
    #[inline]
    fn fended_off(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {}

    /// A frame is lost on its way.
    #[inline]
    fn lost(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, cause: Loss) {}

    /// A note of a switch. Called after the poll that caused it; notes of one poll are in order.
    #[inline]
    fn noted(&mut self, at: Instant, node: NodeId, note: &Note) {}

    /// A link went down or came up.
    #[inline]
    fn link(&mut self, at: Instant, link: LinkId, up: bool) {}

    /// A node has an event pending while its processor is busy or stalled.
    #[inline]
    fn held_up(&mut self, at: Instant, node: NodeId) {}

    /// A node that was held up is about to be polled.
    #[inline]
    fn caught_up(&mut self, at: Instant, node: NodeId) {}

    /// A sample of the nodes, every `sample_every` of the plan.
    #[inline]
    fn sampled(&mut self, at: Instant, nodes: &mut Nodes) {}

    /// As [`Self::sampled`], with the observers of the other parts in their order.
    fn sampled_with(&mut self, others: &mut [&mut Self], at: Instant, nodes: &mut Nodes) {
        self.sampled(at, nodes);
    }
}

impl Witness for () {
    const NOTES: bool = false;

    fn is_ordered(&self) -> bool {
        false
    }

    fn is_divisible(&self) -> bool {
        true
    }

    fn divide(&mut self, partition: &Partition) -> Vec<Self> {
        vec![(); partition.parts() - 1]
    }
}

/// Two observers, the first one first.
impl<A: Witness, B: Witness> Witness for (A, B) {
    const NOTES: bool = A::NOTES || B::NOTES;

    fn is_ordered(&self) -> bool {
        self.0.is_ordered() || self.1.is_ordered()
    }

    fn is_divisible(&self) -> bool {
        self.0.is_divisible() && self.1.is_divisible()
    }
    fn divide(&mut self, partition: &Partition) -> Vec<Self> {
        let (first, second) = (self.0.divide(partition), self.1.divide(partition));
        first.into_iter().zip(second).collect()
    }
    fn unite(&mut self, others: Vec<Self>, partition: &Partition) {
        let (first, second) = others.into_iter().unzip();
        self.0.unite(first, partition);
        self.1.unite(second, partition);
    }
    fn handed_over(&mut self, direction: Direction, frame: &VirtualFrame) {
        self.0.handed_over(direction, frame);
        self.1.handed_over(direction, frame);
    }
    fn taken_over(&mut self, direction: Direction, frame: &VirtualFrame, end: Instant) {
        self.0.taken_over(direction, frame, end);
        self.1.taken_over(direction, frame, end);
    }

    #[inline]
    fn sent(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, end: Instant) {
        self.0.sent(at, direction, frame, end);
        self.1.sent(at, direction, frame, end);
    }
    #[inline]
    fn arrived(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        self.0.arrived(at, direction, frame);
        self.1.arrived(at, direction, frame);
    }
    fn forged(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        self.0.forged(at, direction, frame);
        self.1.forged(at, direction, frame);
    }
    fn fended_off(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        self.0.fended_off(at, direction, frame);
        self.1.fended_off(at, direction, frame);
    }
    #[inline]
    fn lost(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, cause: Loss) {
        self.0.lost(at, direction, frame, cause);
        self.1.lost(at, direction, frame, cause);
    }
    #[inline]
    fn noted(&mut self, at: Instant, node: NodeId, note: &Note) {
        self.0.noted(at, node, note);
        self.1.noted(at, node, note);
    }
    fn link(&mut self, at: Instant, link: LinkId, up: bool) {
        self.0.link(at, link, up);
        self.1.link(at, link, up);
    }
    #[inline]
    fn held_up(&mut self, at: Instant, node: NodeId) {
        self.0.held_up(at, node);
        self.1.held_up(at, node);
    }
    #[inline]
    fn caught_up(&mut self, at: Instant, node: NodeId) {
        self.0.caught_up(at, node);
        self.1.caught_up(at, node);
    }
    fn sampled(&mut self, at: Instant, nodes: &mut Nodes) {
        self.0.sampled(at, nodes);
        self.1.sampled(at, nodes);
    }
    fn sampled_with(&mut self, others: &mut [&mut Self], at: Instant, nodes: &mut Nodes) {
        let pairs = others.iter_mut().map(|other| (&mut other.0, &mut other.1));
        let (mut first, mut second): (Vec<&mut A>, Vec<&mut B>) = pairs.unzip();
        self.0.sampled_with(&mut first, at, nodes);
        self.1.sampled_with(&mut second, at, nodes);
    }
}
