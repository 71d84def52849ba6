//! Defects of ports and changes of their keys, and the frames that defects add.

use super::Network;
use crate::defect::Defect;
use crate::ids::{End, NodeId};
use crate::node::{Node, NodeState};
use crate::queue::Order;
use crate::wires::Wires;
use crate::witness::Witness;
use contracts::frame::Frame;
use contracts::port::Port;
use ground::time::Instant;
use ground::units::{Cells, PortId, PriorityGroup};
use secure::SecyChange;
use switch::Change;

impl<W: Witness> Network<W> {
    /// Adds a defect to a port.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn add_defect(&mut self, End { node, port }: End, defect: impl Into<Defect>) {
        let now = self.now;
        let (state, part) = self.state_and_part(node);
        let rate = state.outlets[port.index()].rate;
        state.has_defects = true;
        state.port_mut(port).add_defect(defect.into(), rate);
        state.send_aside(now, &mut part.wires, &mut part.witness);
        self.publish(node);
    }

    /// Changes a key of a node's port now.
    ///
    /// # Errors
    /// The reason why the port refuses the change.
    pub fn change_secy(&mut self, end: End, change: &SecyChange) -> Result<(), String> {
        let End { node, port } = end;
        let at = self.now;
        let (state, part) = self.state_and_part(node);
        match &mut state.node {
            Node::Switch(switch) => {
                switch.change_secy(port, change).map_err(|why| why.to_string())?;
            }
            Node::Host(station) => {
                let secy = station.port_mut().secy_mut().ok_or("the port has no MACsec")?;
                secy.change(change).map_err(|why| why.to_string())?;
            }
        }
        state.port_mut(port).rekeyed(at, change);
        state.defect(at, port, &mut part.wires, &mut part.witness);
        self.publish(node);
        // A pause that could not be protected before may be sent now.
        self.rouse(at, node, port);
        Ok(())
    }

    /// Takes over the first event of a node that has changed, and brings its frames to their receivers.
    pub(super) fn publish(&mut self, node: NodeId) {
        let place = self.nodes.place(node);
        let (part, nodes) = (&mut self.parts[place.part as usize], &mut self.nodes.parts);
        let nodes = &mut nodes[place.part as usize];
        let first = nodes[place.index as usize].queue.first_at();
        part.wires.agenda.set(place.index as usize, first);
        part.wires.deliver(nodes);
        self.bring_mail();
    }
}

impl NodeState {
    /// Lets the defects of a port act whose time has come; returns true if its node receives frames
    /// because of that.
    pub(crate) fn defect<W: Witness>(
        &mut self,
        at: Instant,
        port: PortId,
        wires: &mut Wires,
        witness: &mut W,
    ) -> bool {
        let (frames, bytes) = self.port_mut(port).defects_due(at);
        (self.frames, self.bytes) = (self.frames + frames, self.bytes + bytes);
        if frames > 0 {
            self.add_due(port);
        }
        self.send_aside(at, wires, witness);
        frames > 0
    }

    /// Sends the frames that the defects of the node have added, and schedules their next action.
    #[inline]
    pub(crate) fn send_aside<W: Witness>(
        &mut self,
        at: Instant,
        wires: &mut Wires,
        witness: &mut W,
    ) {
        if self.has_defects {
            self.send_added(at, wires, witness);
        }
    }

    #[cold]
    fn send_added<W: Witness>(&mut self, at: Instant, wires: &mut Wires, witness: &mut W) {
        let (clock, local) = (self.clock, self.clock.local(at));
        let dated = (local, &clock);
        let slots = self.slots();
        self.held = 0;
        for port in self.ports() {
            let Some((lines, next)) = self.port_mut(port).take_aside(at) else { continue };
            for frame in lines.line {
                wires.send(at, dated, &mut self.outlets[port.index()], frame, witness);
            }
            for frame in &lines.others {
                for other in self.ports().filter(|other| *other != port) {
                    let mut frame = frame.clone();
                    self.port_mut(other).protect(&mut frame);
                    wires.send(at, dated, &mut self.outlets[other.index()], frame, witness);
                }
            }
            for frame in &lines.inward {
                for other in self.ports().filter(|other| *other != port) {
                    (self.frames, self.bytes) =
                        (self.frames + 1, self.bytes + u64::from(frame.wire_len()));
                    self.port_mut(other).receive(frame.clone());
                    self.add_due(other);
                }
            }
            self.queue.set(slots.defect(port), Order::LAST, next);
            self.held += self.port_mut(port).held();
        }
        for port in self.ports() {
            for (priority, cells) in self.port_mut(port).take_leaks() {
                let (group, cells) = (PriorityGroup::ALL[priority.index()], Cells(cells));
                if let Node::Switch(switch) = &mut self.node {
                    let leak = Change::Leak { port, group, cells };
                    switch.apply(local, leak).expect("a port of the network is the switch's");
                }
            }
        }
    }
}
