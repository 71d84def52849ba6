//! SFC stream table of the proxy: the flows that received messages named, each for at most
//! sfcMaxFlowLife. "A congesting flow entry, created by the receipt of a SFCM" can remain no longer,
//! so no pause that its messages request outlasts it.

use congestion::proxy::Outcome;
use congestion::streams::{CreateMask, Place, Stream, StreamPlan, StreamTable};
use congestion::{FlowKey, Queue};
use ground::time::{Duration, Instant};
use ground::units::{PortId, Priority, TrafficClass};
use wire::flow::FiveTuple;

/// Capacity of the table. A choice; the table of the points has the same default.
const FLOWS: usize = 4_096;

/// A flow that messages named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paused {
    /// Priority at the host.
    pub(crate) priority: Priority,
    /// End of the pause that the last message got.
    pub(crate) until: Instant,
}

/// The flows, by the port of the host that sends them.
pub(crate) struct Heard {
    flows: StreamTable<Paused>,
    life: Duration,
}

impl Heard {
    pub(super) fn new(life: Duration, seed: u64) -> Self {
        Self { flows: StreamTable::new(StreamPlan { capacity: FLOWS, life, seed }), life }
    }

    /// Sets the lifetime, also of existing entries.
    pub(super) fn set_life(&mut self, life: Duration) {
        self.flows.set_life(life);
        self.life = life;
    }

    /// Returns the time that the entry of a flow may remain: all of it if there is none.
    pub(super) fn left(&self, now: Instant, port: PortId, flow: FiveTuple) -> Duration {
        let place = self.find(port, flow).filter(|place| !self.flows.is_over(now, *place));
        let age = place.map_or(Duration::ZERO, |place| now.since(self.flows.get(place).created));
        self.life.saturating_sub(age)
    }

    /// Records the message about a flow if it paused or resumed the flow's host. A full table records no more
    /// flows; their pauses do not depend on it.
    pub(super) fn on_outcome(
        &mut self,
        now: Instant,
        (port, flow): (PortId, FiveTuple),
        priority: Priority,
        outcome: Outcome,
    ) {
        let (until, creates) = match outcome {
            Outcome::Paused(until) => (until, true),
            Outcome::Resumed(_) => (now, false),
            Outcome::Forward | Outcome::Refused(_) => return,
        };
        let state = Paused { priority, until };
        if let Some(place) = self.find(port, flow) {
            if !self.flows.is_over(now, place) {
                let stream = self.flows.get_mut(place);
                stream.messages = stream.messages.saturating_add(1);
                stream.state = state;
                return;
            }
            self.flows.remove(place);
        }
        if !creates {
            return;
        }
        let (queue, key) = (queue(port), FlowKey::Ip(flow));
        let stream = Stream { key, queue, created: now, mask: CreateMask::CIM, messages: 1, state };
        // The counters of the table tell of refusals.
        let _ = self.flows.insert(now, stream, |_| true);
    }

    /// Returns the flows in at most `most` slots from slot `from` on, each with its slot number.
    pub(crate) fn page(
        &self,
        from: usize,
        most: usize,
    ) -> impl Iterator<Item = (u32, &Stream<Paused>)> {
        self.flows.page(from, most)
    }

    pub(crate) fn places(&self) -> usize {
        self.flows.places()
    }

    fn find(&self, port: PortId, flow: FiveTuple) -> Option<Place> {
        self.flows.find(queue(port), &FlowKey::Ip(flow))
    }
}

/// Returns the key of a host's port. Entries are of flows, whatever their priority.
const fn queue(port: PortId) -> Queue {
    Queue { port, class: TrafficClass::MIN }
}
