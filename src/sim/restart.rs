//! Restart of a switch while the network runs: a reset of the device.

use super::error::NetworkError;
use super::ids::NodeId;
use super::network::Network;
use super::node::{Node, NodeState};
use super::notes::Loss;
use super::plan::NetworkPlan;
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
        let (old, part) = self.state_and_part(id);
        let Node::Switch(switch) = &mut old.node else { return Ok(()) };
        let mut new = NodeState::new(id, &plan.nodes[id.index()], W::NOTES)?;
        for (port, outlet) in (0..).map_while(PortId::new).zip(&old.outlets) {
            // Frames that the node has not read yet, then those in its buffer.
            let from = switch.port_mut(port).expect("each direction starts at a port");
            for frame in from.arrived() {
                part.witness.lost(now, outlet.direction, frame, Loss::LinkDown);
            }
            let to = new.port_mut(port);
            to.keep_defects(from);
        }
        let first = old.outlets[0].direction;
        for frame in switch.held_frames() {
            part.witness.lost(now, first, frame, Loss::LinkDown);
        }
        core::mem::swap(&mut new.queue, &mut old.queue);
        core::mem::swap(&mut new.outlets, &mut old.outlets);
        core::mem::swap(&mut new.inlets, &mut old.inlets);
        new.has_defects = old.has_defects;
        new.shuffle = old.shuffle.take();
        (new.down_until, new.busy_until) = (until, until);
        *old = new;
        let slots = old.slots();
        for port in old.ports() {
            self.schedule(id, slots.wake(port), until);
        }
        self.schedule(id, slots.node(), until);
        Ok(())
    }
}
