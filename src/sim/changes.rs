//! Changes of a network while it runs: its planned faults, and the defects, keys and resets that its caller
//! asks for.
//!
//! Each happens when all events before it were handled, so it may touch any node. What it makes a node send is
//! on its line when the method returns.

use super::defect::Defect;
use super::faults::{Fault, FaultKind, LineFault};
use super::frame::VirtualFrame;
use super::network::Network;
use super::node::{Node, NodeState};
use super::plan::{Direction, End, LinkId, NetworkError, NetworkPlan, NodeId};
use super::queue::Slots;
use super::witness::{Loss, Witness};
use contracts::frame::Frame;
use contracts::port::Port;
use ground::time::{Duration, Instant};
use ground::units::PortId;
use secure::SecyChange;
use switch::{Change, Refused};

/// Delay after which a planned change that frames in the buffer prevent is tried again.
pub const RETRY_AFTER: Duration = Duration::from_micros(1);

/// A planned change that a switch refused for good.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub at: Instant,
    pub node: NodeId,
    /// Reason, as the switch gives it.
    pub why: String,
}

impl<W: Witness> Network<W> {
    /// Applies the faults whose time has come.
    pub(super) fn fail(&mut self, time: Instant) {
        // The next fault is the last of the list, so those of one time are taken in the order of the plan.
        while self.faults.last().is_some_and(|fault| fault.at <= time) {
            let Some(fault) = self.faults.pop() else { break };
            match fault.kind {
                FaultKind::Link { link, up } => self.set_link(time, link, up),
                FaultKind::Line(direction, fault) => {
                    // A forgery or a replay changes nothing here: its frame begins at the receiver's end.
                    self.outlet(direction).fail(&fault);
                    let octets = match fault {
                        LineFault::Forge(octets) => Some(octets),
                        LineFault::Replay { back } => self.inlet(direction).recorded(back),
                        LineFault::Lose { .. } | LineFault::Errors(_) => None,
                    };
                    if let Some(octets) = octets {
                        self.forge(time, direction, &octets);
                    }
                }
                FaultKind::Stall { node, span } => {
                    let until = &mut self.nodes.state_mut(node).busy_until;
                    // A stall never shortens what the processor is busy with already.
                    *until = (*until).max(time + span);
                }
                FaultKind::Change { node, change } => self.change(time, node, change),
                FaultKind::Defect { end, defect } => self.add_defect(end, defect),
            }
        }
    }

    /// Delivers a forged frame at the end of a direction.
    fn forge(&mut self, time: Instant, direction: Direction, octets: &[u8]) {
        let End { node, port } = self.to(direction);
        if !self.outlet(direction).up || time < self.nodes.state(node).down_until {
            return;
        }
        let mut frame = VirtualFrame::whole(octets);
        let (state, part) = self.state_and_part(node);
        // It counts for the trace although it never started on the line.
        part.wires.hash.frame(time, direction, &frame);
        if !state.port_mut(port).admits(&mut frame) {
            return part.witness.fended_off(time, direction, &frame);
        }
        // The content, without protection.
        frame.open();
        part.witness.forged(time, direction, &frame);
        state.frames += 1;
        state.bytes += u64::from(frame.wire_len());
        state.port_mut(port).deliver(time, frame);
        state.send_aside(time, &mut part.wires, &mut part.witness);
        self.publish(node);
        self.rouse(time, node, port);
    }

    /// Takes a link down, with the frames on it, or up. No effect if it is in that state already.
    fn set_link(&mut self, time: Instant, link: LinkId, up: bool) {
        // Both directions are in the same state, so one of them tells.
        if self.outlet(link.ab()).up == up {
            return;
        }
        self.parts.iter_mut().for_each(|part| part.witness.link(time, link, up));
        for direction in [link.ab(), link.ba()] {
            self.outlet(direction).set_up(up);
            let (End { node, port }, to) = (self.ends[direction.index()], self.to(direction));
            let (state, part) = self.state_and_part(to.node);
            for frame in state.inlets[to.port.index()].clear() {
                part.wires.left(true);
                part.witness.lost(time, direction, &frame, Loss::LinkDown);
            }
            // The line is empty now, and an arrival that is still pending would find no frame.
            self.schedule(to.node, Slots::arrival(to.port), Instant::NEVER);
            let state = self.nodes.state_mut(node);
            state.port_mut(port).link_changed(time, up);
            if let Node::Host(station) = &mut state.node {
                // A switch takes it as a change like any other, which reconciliation may amend.
                station.set_link(state.clock.local(time), up, None);
                self.rouse(time, node, port);
            } else {
                self.change(time, node, Change::Link { port, up, rate: None });
            }
            let (state, part) = self.state_and_part(node);
            state.send_aside(time, &mut part.wires, &mut part.witness);
            self.publish(node);
        }
    }

    /// Changes a switch. A change that held frames prevent is tried again. The author of the plan has
    /// excluded permanently refused ones, but where headroom is set from measurements the memory for a
    /// group may be taken by then: that is a result.
    fn change(&mut self, time: Instant, id: NodeId, change: Change) {
        let state = self.nodes.state_mut(id);
        let local = state.clock.local(time);
        let Node::Switch(switch) = &mut state.node else { return };
        let amended = match &mut state.reconciler {
            Some(reconciler) => reconciler.amend(change),
            None => change,
        };
        if let Err(error) = switch.apply(local, amended) {
            if matches!(error.as_refused(), Refused::Now(_)) {
                let kind = FaultKind::Change { node: id, change };
                let fault = Fault { at: time + RETRY_AFTER, kind };
                // In front of the planned faults of that time, which are taken from the end and so come first.
                let place = self.faults.partition_point(|later| later.at > fault.at);
                self.faults.insert(place, fault);
            } else {
                let is_measured = state.reconciler.is_some();
                assert!(is_measured, "a planned change was refused at {time:?}: {error}");
                self.refusals.push(Refusal { at: time, node: id, why: error.to_string() });
            }
        }
        // A change may let any port send, so each of them is polled at this time.
        for port in self.nodes.state(id).ports() {
            self.rouse(time, id, port);
        }
    }

    /// Marks a port as due at this time, which all nodes have reached: for faults.
    fn rouse(&mut self, time: Instant, id: NodeId, port: PortId) {
        let slot = self.nodes.state(id).slots().node();
        self.nodes.state_mut(id).add_due(port);
        self.schedule(id, slot, time);
    }

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
        // The node has acted outside of a window, so nothing else tells the agenda.
        part.wires.agenda.set(place.index as usize, first);
        part.wires.deliver(nodes);
        // A fault that follows may take down a line whose frames are mail still.
        self.bring_mail();
    }

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
        // What is in the buffer is on no line; it counts as lost at the first port.
        let first = old.outlets[0].direction;
        for frame in switch.held_frames() {
            part.witness.lost(now, first, frame, Loss::LinkDown);
        }
        // The lines outlive the reset: their frames arrive, and their events stay pending.
        core::mem::swap(&mut new.queue, &mut old.queue);
        core::mem::swap(&mut new.outlets, &mut old.outlets);
        core::mem::swap(&mut new.inlets, &mut old.inlets);
        new.has_defects = old.has_defects;
        new.shuffle = old.shuffle.take();
        // Until then it is not polled, and what arrives is lost as on a link that is down.
        (new.down_until, new.busy_until) = (until, until);
        *old = new;
        let slots = old.slots();
        // Each port is polled once it is up again, as at the start of a run.
        for port in old.ports() {
            self.schedule(id, slots.wake(port), until);
        }
        self.schedule(id, slots.node(), until);
        Ok(())
    }
}
