//! Observation of a network from outside, for checkers, recorders and reports.

use super::frame::VirtualFrame;
use super::ids::{Direction, LinkId, NodeId};
use super::node::Nodes;
use super::notes::{Loss, Note};
use ground::time::Instant;

/// Observer of a network. All times are the network's. The default methods do nothing and cost
/// nothing.
#[allow(unused_variables)]
pub trait Witness {
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
}

impl Witness for () {
    const NOTES: bool = false;

    fn is_ordered(&self) -> bool {
        false
    }
}

/// Two observers, the first one first.
impl<A: Witness, B: Witness> Witness for (A, B) {
    const NOTES: bool = A::NOTES || B::NOTES;

    fn is_ordered(&self) -> bool {
        self.0.is_ordered() || self.1.is_ordered()
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
}
