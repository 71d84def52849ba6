//! Snapshot of congestion isolation.

use super::Signals;
use super::cim::{CimPortCounters, Cims};
use crate::Switch;
use crate::port_state::PortState;
use congestion::isolation::{Heard, Isolation};
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
    let counted = isolation.counters();
    let (cim, streams) = (counted.cim, isolation.stream_counters());
    let heard = |heard| counted.heard.get(heard);
    let sum = |of: fn(&CimPortCounters) -> u64| cims.counters.iter().map(of).sum();
    IsolationCounters {
        isolated_frames: counted.isolated_frames,
        held_frames: counted.held_frames,
        returned: counted.returned,
        no_room: counted.no_room,
        sent_add: cim.sent_add,
        sent_del: cim.sent_del,
        had_all: cim.had_all,
        too_soon: cim.too_soon,
        no_peer: cim.no_peer,
        over_budget: cim.over_budget,
        no_address: sum(|count| count.no_address),
        unwritable: sum(|count| count.unwritable),
        no_memory: sum(|count| count.no_memory),
        heard_isolated: heard(Heard::Isolated),
        heard_renewed: heard(Heard::Renewed),
        heard_released: heard(Heard::Released),
        heard_no_room: heard(Heard::NoRoom),
        heard_nothing_to_release: heard(Heard::NothingToRelease),
        heard_not_monitored: heard(Heard::NotMonitored),
        heard_disabled: heard(Heard::Disabled),
        heard_unknown_peer: heard(Heard::UnknownPeer),
        heard_foreign_source: heard(Heard::ForeignSource),
        heard_too_many: heard(Heard::TooMany),
        heard_malformed: sum(|count| count.malformed),
        streams_created: streams.created,
        streams_removed: streams.removed,
        streams_full: streams.full,
        streams_crowded: streams.crowded,
    }
}
