//! Connections that start again while their station runs.

use super::Station;
use crate::host::plan::{FlowId, TransportPlan};
use crate::host::sink::Sink;
use crate::port::Source;

impl<P: Source> Station<P> {
    /// Gives the sender of a connection a new life, with counters at zero, from `plan.start` on. The
    /// other end has to be given one too, and nothing of the life before may be on its way. The plan
    /// differs from that of the station in its times alone. Whether there is such a sender.
    pub fn restart_sender(&mut self, plan: &TransportPlan) -> bool {
        self.sources.restart_sender(plan, self.shaper.line().rate())
    }

    /// The same for the receiver of a connection and what it counts.
    pub fn restart_receiver(&mut self, plan: &TransportPlan) -> bool {
        let place = self.lookup.get(plan.id.0 as usize);
        let Some(i) = place.and_then(|i| (*i as usize).checked_sub(1)) else { return false };
        let Some(n) = i.checked_sub(self.expects) else { return false };
        self.answers.restart(n, plan);
        self.sinks[i] = Sink::new(plan.id, self.sinks[i].priority(), &self.spares);
        true
    }

    /// Ends the senders of connections: nothing more is sent of them, acknowledged or not.
    pub fn end_senders(&mut self, which: &[FlowId]) {
        which.iter().for_each(|id| self.sources.end_sender(*id));
    }
}
