//! Snapshot of the counters of a switch.

use super::Switch;
use super::fdb::PortAddresses;
use super::port_state::{PortState, Queued};
use super::tables::Tables;
use buffer::Ledger;
use contracts::port::Port;
use contracts::stats::{Fdb, PortCounters, PortSnapshot, SharedPool, SwitchSnapshot};
use contracts::world::World;
use ground::time::Instant;
use ground::units::{Cells, PRIORITIES, PortId, Priority, TrafficClass};
use schedule::Arena;

impl<W: World> Switch<W> {
    /// Returns the counters of this worker's ports at `now`.
    pub fn snapshot(&mut self, now: Instant) -> SwitchSnapshot {
        let held = self.held();
        let octets = |cells: Cells| u64::from(cells.0) * u64::from(self.ledger.cell_bytes());
        let [used_bytes, peak_bytes] =
            [self.ledger.shared_used(), self.ledger.shared_peak()].map(octets);
        let congestion = self.congestion_snapshot();
        let Self { ports, tables, ledger, fdb, arena, taken_over, .. } = self;
        SwitchSnapshot {
            name: self.name.clone(),
            at: now,
            ports: ports
                .iter_mut()
                .map(|port| {
                    let addresses = fdb.of_port(port.id);
                    let waiting = waiting(now, port, arena);
                    let tables = &tables[port.id.index()];
                    port_snapshot(now, port, tables, ledger, (addresses, waiting))
                })
                .collect(),
            taken_over: taken_over.clone(),
            held,
            given: self.given,
            taken: self.taken,
            shared_pool: SharedPool { used_bytes, peak_bytes },
            fdb: Fdb { entries: self.fdb.len() as u64, full: self.fdb.refused() },
            congestion,
        }
    }
}

fn port_snapshot<W: World>(
    now: Instant,
    port: &mut PortState<W>,
    tables: &Tables,
    ledger: &Ledger,
    (addresses, waiting): (PortAddresses, [Option<PortId>; PRIORITIES]),
) -> PortSnapshot {
    let mut counters = port_counters(now, port, tables, ledger);
    counters.addresses = addresses.held.into();
    counters.addresses_refused = addresses.refused;
    counters.paused = port.receiver.paused(now);
    PortSnapshot {
        name: tables.name.clone(),
        up: port.up,
        rate_bps: port.rate.get(),
        counters,
        waiting,
        secy: port.port.secy().map(|secy| Box::new(secy.snapshot())),
    }
}

/// Returns the ingress port of the first frame of each queue that the peer has paused.
fn waiting<W: World>(
    now: Instant,
    port: &mut PortState<W>,
    arena: &Arena<Queued<W::Frame>>,
) -> [Option<PortId>; PRIORITIES] {
    let paused = port.receiver.paused(now);
    let mut waiting = [None; PRIORITIES];
    for class in TrafficClass::ALL {
        let head = port.scheduler.head_priority(class).filter(|head| paused.contains(*head));
        if let (Some(priority), Some(item)) = (head, port.scheduler.head(arena, class)) {
            waiting[priority.index()] = Some(item.ingress);
        }
    }
    waiting
}

/// Returns the counters of a port, with those that its machines keep filled in.
fn port_counters<W: World>(
    now: Instant,
    port: &PortState<W>,
    tables: &Tables,
    ledger: &Ledger,
) -> PortCounters {
    let octets = |cells: Cells| u64::from(cells.0) * u64::from(ledger.cell_bytes());
    let mut counters = port.counters.clone();
    for p in Priority::ALL {
        let c = &mut counters.priorities[p.index()];
        let group = ledger.usage(port.id, tables.group(p));
        c.buffer_bytes = octets(group.used) + octets(group.headroom);
        c.buffer_peak_bytes = octets(group.peak);
        c.headroom_peak_bytes = octets(group.headroom_peak);
        let class = tables.class(p);
        c.queue_bytes = port.scheduler.bytes(class);
        c.queue_peak_bytes = port.scheduler.peak(class);
        c.pfc_rx_paused = port.receiver.paused_time(now, p);
        c.pfc_tx_paused = port.sender.paused_time(now, p);
        c.pfc_rx_transitions = port.receiver.transitions(p);
        c.pfc_tx_transitions = port.sender.transitions(p);
    }
    counters
}
