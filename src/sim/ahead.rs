//! Memory of the nodes whose events come next.
//!
//! In a large network a node that is to handle an event has not been looked at for a window, and its state is
//! behind all caches: an access takes as long as 500 instructions. All nodes of a window are known at its start,
//! so their memory is brought into the caches some nodes ahead, in steps: a step finds the addresses of the next
//! one in memory that the step before has brought. Nothing waits for it, and no result depends on it.

use super::frame::VirtualFrame;
use super::node::{Node, NodeState, VirtualWorld};
use super::queue::Slots;
use super::wire::Inlet;
use contracts::frame::Frame;
use ground::memory::fetch;
use ground::time::Instant;
use ground::units::PortId;
use switch::Switch;

impl NodeState {
    /// Number of steps. While a node is handled, each is done for one of those behind it, the last for the
    /// next.
    pub(super) const STEPS: usize = 7;

    /// Brings memory for events before `end` into the caches, in step `step` of [`Self::STEPS`].
    #[inline]
    pub(super) fn fetch(&self, step: usize, end: Instant) {
        match (&self.node, step) {
            (_, 0) => self.fetch_state(),
            (_, 1) => self.fetch_parts(),
            (Node::Host(_), 2) => self.fetch_end(),
            (Node::Host(station), 3) => {
                station.fetch_senders();
                self.inlets[0].due(end).for_each(Frame::fetch);
            }
            (Node::Host(station), 4) => station.fetch_heads(),
            (Node::Switch(switch), 2) => self.fetch_ports(switch, end),
            (Node::Switch(_), 3) => self.due(end).for_each(|(_, inlet)| inlet.fetch_flights()),
            (Node::Switch(_), 4) => self.due_frames(end).for_each(|(_, frame)| frame.fetch()),
            (Node::Switch(switch), 5) => {
                self.due_frames(end).for_each(|(port, frame)| switch.fetch_way(port, frame.head()));
            }
            (Node::Switch(switch), 6) => {
                let frames = self.due_frames(end);
                frames.for_each(|(port, frame)| switch.fetch_counts(port, frame.head()));
            }
            // A host is ready after step 4: it has no cached decisions.
            _ => {}
        }
    }

    fn fetch_state(&self) {
        // The fields that the next step follows, and those that a turn reads first.
        fetch(&self.id);
        fetch(&self.node);
        fetch(&self.queue);
        fetch(&self.inlets);
        fetch(&self.clock);
        fetch(&self.frames);
        fetch(&self.busy_until);
        fetch(&self.has_defects);
    }

    fn fetch_parts(&self) {
        self.queue.fetch();
        match &self.node {
            Node::Host(station) => {
                station.fetch();
                self.inlets[0].fetch();
                self.outlets[0].fetch();
            }
            Node::Switch(switch) => switch.fetch(),
        }
    }

    fn fetch_end(&self) {
        if let Node::Host(station) = &self.node {
            station.fetch_flows();
        }
        self.inlets[0].fetch_flights();
    }

    fn fetch_ports(&self, switch: &Switch<VirtualWorld>, end: Instant) {
        let slots = self.slots();
        switch.fetch_place();
        for port in self.ports() {
            let arrives = self.queue.is_due(Slots::arrival(port), end);
            if arrives {
                self.inlets[port.index()].fetch();
            }
            // By which port a frame leaves is not known before step 5, which brings that one.
            if arrives || self.queue.is_due(slots.wake(port), end) {
                self.outlets[port.index()].fetch();
                switch.fetch_port(port);
            }
        }
    }

    /// Ports at which a frame arrives before `end`.
    fn due(&self, end: Instant) -> impl Iterator<Item = (PortId, &Inlet)> {
        let due = self.ports().filter(move |port| self.queue.is_due(Slots::arrival(*port), end));
        due.map(|port| (port, &self.inlets[port.index()]))
    }

    /// These frames.
    fn due_frames(&self, end: Instant) -> impl Iterator<Item = (PortId, &VirtualFrame)> {
        self.due(end).flat_map(move |(port, inlet)| inlet.due(end).map(move |frame| (port, frame)))
    }

    /// Brings what leads to the ends of its lines into the caches.
    #[inline]
    pub(super) fn fetch_lines(&self) {
        fetch(&self.inlets);
        fetch(&self.queue);
    }

    /// Brings the end of a line into the caches, for a frame that has started there.
    #[inline]
    pub(super) fn fetch_line(&self, port: PortId) {
        self.inlets[port.index()].fetch();
        self.queue.fetch_slot(Slots::arrival(port));
    }

    /// Brings the place of that frame into the caches.
    #[inline]
    pub(super) fn fetch_flights(&self, port: PortId) {
        self.inlets[port.index()].fetch_flights();
    }
}
