//! Observation of a network from outside, for checkers, recorders and reports.
//!
//! A [`Witness`] sees frames on lines, their losses, and as notes what a switch does that is not visible on its
//! lines. [`Network`] is compiled again for each type of witness, which takes a compiler half a minute and makes
//! the engine of long runs as fast as it can be. Tests of devices and generators run for microseconds of virtual
//! time, so they share an [`ObservedNetwork`], which this crate contains and which calls through a pointer.

use super::changes::Refusal;
use super::frame::VirtualFrame;
use super::network::Network;
use super::node::Nodes;
use super::partition::Partition;
use super::plan::{Direction, End, LinkId, NetworkError, NetworkPlan, NodeId};
use contracts::stats::DropReason;
use contracts::world::Events;
use ground::time::Instant;
use ground::units::{
    Cells, PRIORITIES, PortId, Priority, PriorityGroup, PrioritySet, TrafficClass,
};
use secure::SecyChange;

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
    fn sent(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame, end: Instant) {}

    /// A frame has arrived and is given to the node. A pause is given when it is obeyed.
    #[inline]
    fn arrived(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame) {}

    /// A frame is given to the node at the end of a line that never started there: a planned
    /// forgery.
    #[inline]
    fn forged(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame) {}

    /// A forgery or replay that the `SecY` at the end of the line rejects.
    #[inline]
    fn fended_off(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame) {}

    /// A frame is lost on its way.
    #[inline]
    fn lost(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame, cause: Loss) {}

    /// A note of a switch. Called after the poll that caused it; notes of one poll are in order.
    #[inline]
    fn noted(&mut self, time: Instant, node: NodeId, note: &Note) {}

    /// A link went down or came up.
    #[inline]
    fn link(&mut self, time: Instant, link: LinkId, up: bool) {}

    /// A node has an event pending while its processor is busy or stalled.
    #[inline]
    fn held_up(&mut self, time: Instant, node: NodeId) {}

    /// A node that was held up is about to be polled.
    #[inline]
    fn caught_up(&mut self, time: Instant, node: NodeId) {}

    /// A sample of the nodes, every `sample_every` of the plan.
    #[inline]
    fn sampled(&mut self, time: Instant, nodes: &mut Nodes) {}

    /// As [`Self::sampled`], with the observers of the other parts in their order.
    fn sampled_with(&mut self, others: &mut [&mut Self], time: Instant, nodes: &mut Nodes) {
        self.sampled(time, nodes);
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
        // The first part keeps this one.
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
        // Both divide by one partition, so the lists are equally long.
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
    fn sent(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame, end: Instant) {
        self.0.sent(time, direction, frame, end);
        self.1.sent(time, direction, frame, end);
    }
    #[inline]
    fn arrived(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame) {
        self.0.arrived(time, direction, frame);
        self.1.arrived(time, direction, frame);
    }
    fn forged(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame) {
        self.0.forged(time, direction, frame);
        self.1.forged(time, direction, frame);
    }
    fn fended_off(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame) {
        self.0.fended_off(time, direction, frame);
        self.1.fended_off(time, direction, frame);
    }
    #[inline]
    fn lost(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame, cause: Loss) {
        self.0.lost(time, direction, frame, cause);
        self.1.lost(time, direction, frame, cause);
    }
    #[inline]
    fn noted(&mut self, time: Instant, node: NodeId, note: &Note) {
        self.0.noted(time, node, note);
        self.1.noted(time, node, note);
    }
    fn link(&mut self, time: Instant, link: LinkId, up: bool) {
        self.0.link(time, link, up);
        self.1.link(time, link, up);
    }
    #[inline]
    fn held_up(&mut self, time: Instant, node: NodeId) {
        self.0.held_up(time, node);
        self.1.held_up(time, node);
    }
    #[inline]
    fn caught_up(&mut self, time: Instant, node: NodeId) {
        self.0.caught_up(time, node);
        self.1.caught_up(time, node);
    }
    fn sampled(&mut self, time: Instant, nodes: &mut Nodes) {
        self.0.sampled(time, nodes);
        self.1.sampled(time, nodes);
    }
    fn sampled_with(&mut self, others: &mut [&mut Self], time: Instant, nodes: &mut Nodes) {
        let pairs = others.iter_mut().map(|other| (&mut other.0, &mut other.1));
        // Each gets those of its own kind in the other parts.
        let (mut first, mut second): (Vec<&mut A>, Vec<&mut B>) = pairs.unzip();
        self.0.sampled_with(&mut first, time, nodes);
        self.1.sampled_with(&mut second, time, nodes);
    }
}

/// Reason for losing a frame on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// The frame check sequence did not match, because of a bit error; or the frame is a fragment that
    /// a switch's MAC discards.
    Damaged,
    /// The frame check sequence did not match, because of a defect of the sender.
    Defect,
    /// Lost by the link's error probability, or by a scheduled fault.
    Fault,
    /// The link is down, or went down while the frame was on it; or the device at its end is being
    /// reset.
    LinkDown,
    /// The sender's `SecY` could not protect it, or the receiver's did not accept it.
    Secy,
}

/// Action of a switch that is not visible on its lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// It dropped a frame.
    Dropped {
        /// Port that counts it.
        port: PortId,
        /// Priority of the frame, if it was classified.
        priority: Option<Priority>,
        reason: DropReason,
    },
    /// It set CE on a frame and sent it.
    Marked {
        /// Egress port.
        port: PortId,
        class: TrafficClass,
    },
    /// An ingress group crossed its limit.
    Crossed {
        port: PortId,
        group: PriorityGroup,
        /// True for XOFF, false for XON.
        xoff: bool,
    },
    /// An ingress group has new thresholds.
    Regrouped {
        port: PortId,
        group: PriorityGroup,
        /// Its headroom; `None` if it is lossy.
        headroom: Option<Cells>,
    },
    /// PFC runs for other priorities from now on.
    PfcChanged {
        /// Port of the switch.
        port: PortId,
        /// The priorities that it pauses its peer for.
        send: PrioritySet,
        /// The priorities that its peer may pause.
        obey: PrioritySet,
    },
    /// Frames that arrive from now on are queued in other traffic classes.
    ClassesChanged {
        /// Egress port.
        port: PortId,
        /// Priority to traffic class.
        map: [TrafficClass; PRIORITIES],
    },
    /// It made a PFC or PAUSE frame.
    PauseSent {
        /// Egress port.
        port: PortId,
        /// Enabled priorities.
        named: PrioritySet,
        /// Priorities among these that it pauses.
        paused: PrioritySet,
    },
    /// It obeyed a PFC or PAUSE frame.
    PauseObeyed {
        /// Ingress port.
        port: PortId,
        /// Priorities that may not be sent there now.
        paused: PrioritySet,
    },
    /// Its watchdog detected a storm, or restored a queue.
    Storm {
        port: PortId,
        class: TrafficClass,
        /// True if detected, false if restored.
        detected: bool,
    },
}

/// The observer in every switch of the virtual world: keeps events until they are taken.
#[derive(Debug, Default)]
pub struct Notes {
    pub(super) taken: Vec<Note>,
    pub(super) enabled: bool,
}

impl Notes {
    #[inline]
    fn note(&mut self, note: Note) {
        // All that a witness without an interest in notes pays.
        if self.enabled {
            self.taken.push(note);
        }
    }
}

impl Events for Notes {
    fn dropped(
        &mut self,
        _: Instant,
        port: PortId,
        priority: Option<Priority>,
        reason: DropReason,
    ) {
        self.note(Note::Dropped { port, priority, reason });
    }
    fn marked(&mut self, _: Instant, port: PortId, class: TrafficClass) {
        self.note(Note::Marked { port, class });
    }
    fn crossed(&mut self, _: Instant, port: PortId, group: PriorityGroup, xoff: bool) {
        self.note(Note::Crossed { port, group, xoff });
    }
    fn regrouped(
        &mut self,
        _: Instant,
        port: PortId,
        group: PriorityGroup,
        headroom: Option<Cells>,
    ) {
        self.note(Note::Regrouped { port, group, headroom });
    }
    fn pfc_changed(&mut self, _: Instant, port: PortId, send: PrioritySet, obey: PrioritySet) {
        self.note(Note::PfcChanged { port, send, obey });
    }
    fn classes_changed(&mut self, _: Instant, port: PortId, map: [TrafficClass; PRIORITIES]) {
        self.note(Note::ClassesChanged { port, map });
    }
    fn pause_sent(&mut self, _: Instant, port: PortId, named: PrioritySet, paused: PrioritySet) {
        self.note(Note::PauseSent { port, named, paused });
    }
    fn pause_obeyed(&mut self, _: Instant, port: PortId, paused: PrioritySet) {
        self.note(Note::PauseObeyed { port, paused });
    }
    fn storm(&mut self, _: Instant, port: PortId, class: TrafficClass, detected: bool) {
        self.note(Note::Storm { port, class, detected });
    }
}

/// An observer of frames on lines. Calls are in the order of time; see [`Witness`].
pub trait FrameObserver: Send {
    /// A frame starts on a line, which it leaves at `end`.
    fn sent(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, end: Instant);
    /// A frame has arrived and is given to the node.
    fn arrived(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame);
    /// A frame is lost on its way.
    fn lost(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, cause: Loss);
}

struct Pointer<'o>(Option<&'o mut dyn FrameObserver>);

impl Witness for Pointer<'_> {
    const NOTES: bool = false;

    fn is_ordered(&self) -> bool {
        // Without an observer nothing needs the order, and windows are as long as the lookahead.
        self.0.is_some()
    }

    fn sent(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame, end: Instant) {
        if let Some(observer) = &mut self.0 {
            observer.sent(time, direction, frame, end);
        }
    }

    fn arrived(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame) {
        if let Some(observer) = &mut self.0 {
            observer.arrived(time, direction, frame);
        }
    }

    fn lost(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame, cause: Loss) {
        if let Some(observer) = &mut self.0 {
            observer.lost(time, direction, frame, cause);
        }
    }
}

/// A running network with an observer of its frames, or none.
pub struct ObservedNetwork<'o>(Network<Pointer<'o>>);

impl<'o> ObservedNetwork<'o> {
    /// As [`Network::new`].
    ///
    /// # Errors
    /// A contradiction in the plan.
    pub fn new(
        plan: &NetworkPlan,
        observer: Option<&'o mut dyn FrameObserver>,
    ) -> Result<Self, NetworkError> {
        Network::new(plan, Pointer(observer)).map(Self)
    }

    /// As [`Network::run_until`].
    pub fn run_until(&mut self, limit: Instant) {
        self.0.run_until(limit);
    }

    /// As [`Network::restart`].
    ///
    /// # Errors
    /// A contradiction in the plan.
    pub fn restart(
        &mut self,
        switch: NodeId,
        plan: &NetworkPlan,
        until: Instant,
    ) -> Result<(), NetworkError> {
        self.0.restart(switch, plan, until)
    }

    /// As [`Network::change_secy`].
    ///
    /// # Errors
    /// The reason why the port refuses the change.
    pub fn change_secy(&mut self, end: End, change: &SecyChange) -> Result<(), String> {
        self.0.change_secy(end, change)
    }

    pub fn now(&self) -> Instant {
        self.0.now()
    }

    pub fn nodes_mut(&mut self) -> &mut Nodes {
        self.0.nodes_mut()
    }

    /// As [`Network::refusals`].
    pub fn refusals(&self) -> &[Refusal] {
        self.0.refusals()
    }
}
