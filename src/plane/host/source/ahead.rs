//! Memory of the flows that send next, for drivers that know when. Each function brings into the caches what the
//! one before leads to.

use super::{CONTROL, Kind, Sources};
use ground::memory::fetch;

impl Sources {
    /// Brings its lanes into the caches.
    pub(crate) fn fetch(&self) {
        fetch(&self.flows);
        fetch(&self.open);
        fetch(&self.used);
        fetch(&self.timers);
        fetch(&self.timed);
        fetch(&self.first_stop);
        fetch(&self.backlog);
        fetch(&self.lanes[CONTROL]);
        for lane in &self.lanes {
            fetch(lane);
        }
    }

    /// Brings the orders of its lanes into the caches.
    pub(crate) fn fetch_lanes(&self) {
        for p in self.used.iter() {
            let lane = &self.lanes[p.index()];
            lane.order.fetch();
            lane.flows.first().into_iter().for_each(fetch);
        }
        self.lanes[CONTROL].order.fetch();
        self.timers.fetch();
        self.flows.first().into_iter().for_each(fetch);
    }

    /// Brings the flows that send next into the caches.
    pub(crate) fn fetch_flows(&self) {
        for p in self.used.iter() {
            let lane = &self.lanes[p.index()];
            let Some(i) = lane.flows.get(lane.order.first().1) else { continue };
            let flow = &self.flows[*i as usize];
            fetch(flow);
            match &flow.kind {
                Kind::OpenLoop(flow) => flow.fetch(),
                Kind::Sender(sender) => sender.fetch(),
                Kind::Stream(_) => {}
            }
        }
    }

    /// Brings the frames that they send next into the caches.
    pub(crate) fn fetch_heads(&self) {
        for p in self.used.iter() {
            let lane = &self.lanes[p.index()];
            let Some(i) = lane.flows.get(lane.order.first().1) else { continue };
            if let Kind::OpenLoop(flow) = &self.flows[*i as usize].kind {
                flow.fetch_head();
            }
        }
    }
}
