//! Restart of connections while their station runs.

use super::Station;
use super::calm::Calm;
use crate::plan::{FlowId, TransportPlan};
use crate::sink::Sink;
use contracts::port::Source;

impl<P: Source> Station<P> {
    /// Restarts the sender of a connection at `plan.start`, with counters at zero. The other end
    /// has to be restarted too, and no earlier frame may be in flight. The plan may differ from
    /// that of the station in its times only. Returns false if there is no such sender.
    pub fn restart_sender(&mut self, plan: &TransportPlan) -> bool {
        self.calm = Calm::OVER;
        self.sources.restart_sender(plan, self.shaper.line().rate())
    }

    /// Restarts the receiver of a connection and its counters.
    pub fn restart_receiver(&mut self, plan: &TransportPlan) -> bool {
        self.calm = Calm::OVER;
        let place = self.lookup.get(plan.id.0 as usize);
        let Some(i) = place.and_then(|i| (*i as usize).checked_sub(1)) else { return false };
        let Some(n) = i.checked_sub(self.expects) else { return false };
        self.answers.restart(n, plan);
        self.sinks[i] = Sink::new(plan.id, self.sinks[i].priority(), &self.spares);
        true
    }

    /// Ends the senders of connections: nothing more is sent, acknowledged or not.
    pub fn end_senders(&mut self, which: &[FlowId]) {
        self.calm = Calm::OVER;
        which.iter().for_each(|id| self.sources.end_sender(*id));
    }
}
