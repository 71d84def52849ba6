//! Restart of a switch while the network runs: a reset of the device.

use super::error::NetworkError;
use super::ids::NodeId;
use super::network::Network;
use super::node::{Node, NodeState};
use super::notes::Loss;
use super::plan::NetworkPlan;
use super::wires::Slots;
use super::witness::Witness;
use ground::time::Instant;
use ground::units::PortId;

impl<W: Witness> Network<W> {
    /// Resets a switch now. It loses all frames that it holds, all that it has learnt and its counters, and
    /// receives and sends nothing before `until`. It begins again as `plan` says, so earlier changes are
    /// undone; defects of its ports remain. Its links stay up, and frames on them arrive. No effect on a host.
    ///
    /// # Errors
    /// A contradiction in the plan.
    pub fn restart(
        &mut self,
        id: NodeId,
        plan: &NetworkPlan,
        until: Instant,
    ) -> Result<(), NetworkError> {
        let now = self.now();
        let old = &mut self.nodes.0[id.index()];
        let Node::Switch(switch) = &mut old.node else { return Ok(()) };
        let mut new = NodeState::new(&plan.nodes[id.index()], W::NOTES)?;
        for (port, direction) in (0..).map_while(PortId::new).zip(&old.out) {
            // Frames that the node has not read yet, then those in its buffer.
            let from = switch.port_mut(port).expect("each direction starts at a port");
            for frame in from.arrived() {
                self.witness.lost(now, *direction, frame, Loss::LinkDown);
            }
            let to = new.port_mut(port);
            to.keep_defects(from);
        }
        let first = old.out[0];
        for frame in switch.held_frames() {
            self.witness.lost(now, first, frame, Loss::LinkDown);
        }
        new.out = core::mem::take(&mut old.out);
        new.has_defects = old.has_defects;
        new.shuffle = old.shuffle.take();
        (new.down_until, new.busy_until) = (until, until);
        let slots = Slots::new(new.out.len());
        for port in (0..new.out.len() as u16).filter_map(PortId::new) {
            self.wires.schedule(id, slots.wake(port), until);
        }
        self.wires.schedule(id, slots.node(), until);
        *old = new;
        Ok(())
    }
}
