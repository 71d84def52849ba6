//! What egress queues wait for and which ingress groups their frames fill: for a search for deadlocks from
//! outside. Reads the same state by which frames are charged and scheduled, and changes nothing. Slow: not for
//! the data path.

use super::Switch;
use contracts::world::World;
use ground::units::{PortId, PriorityGroup, PrioritySet, TrafficClass};

/// What may stop a queue that is not empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blockers {
    /// Priorities any of whose pauses stops it: that of its first frame, and the guard of its class.
    pub priorities: PrioritySet,
    /// Class of the same port whose queue its first frame must not overtake.
    pub behind: Option<TrafficClass>,
}

impl<W: World> Switch<W> {
    /// Returns what may stop a queue of an owned port; `None` for an empty queue.
    pub fn blockers(&self, id: PortId, class: TrafficClass) -> Option<Blockers> {
        let port = &self.ports[self.local(id)?];
        // The first frame decides for its queue, as in the scheduler.
        let first = port.scheduler.head_priority(class)?;
        let guard = self.signals.guard(class, &self.tables[id.index()]);
        let priorities = [Some(first), guard].into_iter().flatten().collect();
        let hold = port.scheduler.first(&self.arena, class)?.hold;
        let isolation = self.signals.isolation.as_ref();
        let behind = isolation.and_then(|isolation| isolation.waits_for(id, hold));
        Some(Blockers { priorities, behind })
    }

    /// Calls `visit` with the ingress port and the group that each frame in a queue of an owned port is
    /// charged to.
    pub fn visit_charged(
        &self,
        id: PortId,
        class: TrafficClass,
        mut visit: impl FnMut(PortId, PriorityGroup),
    ) {
        let Some(slot) = self.local(id) else { return };
        for queued in self.ports[slot].scheduler.items(&self.arena, class) {
            // Not by its priority: a frame that isolation moved may be charged to the guard's group.
            visit(queued.ingress, queued.charge.group());
        }
    }
}
