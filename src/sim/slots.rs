//! Slots in the queue of a node: one for each kind of event that a port or the node itself can have.

use ground::units::PortId;

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

impl Slots {
    pub(super) const fn new(ports: usize) -> Self {
        Self { ports: ports as u32 }
    }
    pub(super) const fn arrival(port: PortId) -> u32 {
        port.get() as u32
    }
    /// Slots below this one are of arrivals.
    pub(super) const fn arrivals(self) -> u32 {
        self.ports
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
    pub(super) const fn count(self) -> usize {
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
