//! Snapshot of congestion isolation.

use super::Signals;
use super::cim::{CimPortCounters, Cims};
use crate::Switch;
use crate::port_state::PortState;
use congestion::isolation::Isolation;
use contracts::stats::{CimCounters, CongestingQueue, IsolationCounters, IsolationSnapshot};
use contracts::world::World;
use ground::units::TrafficClass;

impl<W: World> Switch<W> {
    /// Returns the isolation counters of this worker; `None` where isolation is not configured.
    pub(super) fn isolation_snapshot(&self) -> Option<IsolationSnapshot> {
        let Signals { cims: Some(cims), isolation: Some(isolation), .. } = &self.signals else {
            return None;
        };
        let map = isolation.plan().map;
        let mut classes: Vec<_> =
            TrafficClass::ALL.into_iter().filter_map(|class| map.congesting(class)).collect();
        classes.sort_unstable();
        classes.dedup();
        let queue = |(port, class): (&PortState<W>, TrafficClass)| CongestingQueue {
            port: port.id.get(),
            class: class.get(),
            bytes: port.scheduler.bytes(class),
            peak_bytes: port.scheduler.peak(class),
        };
        let queues = self.ports.iter().flat_map(|port| classes.iter().map(move |c| (port, *c)));
        let of =
            |count: &CimPortCounters| CimCounters { sent: count.sent, received: count.received };
        Some(IsolationSnapshot {
            counters: counters(cims, isolation),
            streams: isolation.len() as u64,
            ports: cims.counters.iter().map(of).collect(),
            queues: queues.map(queue).collect(),
        })
    }
}

fn counters(cims: &Cims, isolation: &Isolation) -> IsolationCounters {
    let sum = |of: fn(&CimPortCounters) -> u64| cims.counters.iter().map(of).sum();
    IsolationCounters {
        no_address: sum(|count| count.no_address),
        unwritable: sum(|count| count.unwritable),
        no_memory: sum(|count| count.no_memory),
        heard_malformed: sum(|count| count.malformed),
        ..isolation.counters()
    }
}
