//! Defects of ports and changes of their keys, and the frames that defects add.

use super::Network;
use crate::defect::Defect;
use crate::ids::NodeId;
use crate::node::Node;
use crate::plan::End;
use crate::wires::Slots;
use crate::witness::Witness;
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
        let state = &mut self.nodes.0[node.index()];
        let rate = self.wires.wires[state.out[port.index()].index()].rate;
        state.has_defects = true;
        state.port_mut(port).add_defect(defect.into(), rate);
        self.send_aside(self.now, node);
    }

    /// Changes a key of a node's port now.
    ///
    /// # Errors
    /// The reason why the port refuses the change.
    pub fn change_secy(&mut self, end: End, change: &SecyChange) -> Result<(), String> {
        let End { node, port } = end;
        let (at, state) = (self.now, &mut self.nodes.0[node.index()]);
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
        self.defect(at, node, port);
        // A pause that could not be protected before may be sent now.
        self.rouse(at, node, port);
        Ok(())
    }

    /// Lets the defects of a port act whose time has come; returns true if its node receives frames
    /// because of that.
    pub(super) fn defect(&mut self, at: Instant, node: NodeId, port: PortId) -> bool {
        let state = &mut self.nodes.0[node.index()];
        let (frames, bytes) = state.port_mut(port).defects_due(at);
        (state.frames, state.bytes) = (state.frames + frames, state.bytes + bytes);
        if frames > 0 {
            state.add_due(port);
        }
        self.send_aside(at, node);
        frames > 0
    }

    /// Sends the frames that the defects of a node have added, and schedules their next action.
    #[inline]
    pub(super) fn send_aside(&mut self, at: Instant, id: NodeId) {
        if self.nodes.0[id.index()].has_defects {
            self.send_added(at, id);
        }
    }

    #[cold]
    fn send_added(&mut self, at: Instant, id: NodeId) {
        let Self { nodes, wires, witness, .. } = self;
        let state = &mut nodes.0[id.index()];
        let (clock, local) = (state.clock, state.clock.local(at));
        let slots = Slots::new(state.out.len());
        let ports = (0..).map_while(PortId::new).take(state.out.len());
        state.held = 0;
        for port in ports.clone() {
            let direction = state.out[port.index()];
            let Some((lines, next)) = state.port_mut(port).take_aside(at) else { continue };
            for frame in lines.line {
                wires.send(at, local, &clock, direction, frame, witness);
            }
            for frame in &lines.others {
                for other in ports.clone().filter(|other| *other != port) {
                    let mut frame = frame.clone();
                    state.port_mut(other).protect(&mut frame);
                    wires.send(at, local, &clock, state.out[other.index()], frame, witness);
                }
            }
            wires.schedule(id, slots.defect(port), next);
            state.held += state.port_mut(port).held();
        }
        for port in ports {
            for (priority, cells) in state.port_mut(port).take_leaks() {
                let (group, cells) = (PriorityGroup::ALL[priority.index()], Cells(cells));
                if let Node::Switch(switch) = &mut state.node {
                    let leak = Change::Leak { port, group, cells };
                    switch.apply(local, leak).expect("a port of the network is the switch's");
                }
            }
        }
    }
}
