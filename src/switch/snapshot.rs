//! Snapshot of the counters of a switch.

use super::Switch;
use super::fdb::PortAddresses;
use super::port_state::PortState;
use super::tables::Tables;
use buffer::Ledger;
use contracts::port::Port;
use contracts::stats::{Fdb, PortCounters, PortSnapshot, SharedPool, SwitchSnapshot};
use contracts::world::World;
use ground::time::Instant;
use ground::units::{Cells, Priority};

impl<W: World> Switch<W> {
    /// Returns the counters of this worker's ports at `now`.
    pub fn snapshot(&mut self, now: Instant) -> SwitchSnapshot {
        let held = self.held();
        let octets = |cells: Cells| u64::from(cells.0) * u64::from(self.ledger.cell_bytes());
        let [used_bytes, peak_bytes] =
            [self.ledger.shared_used(), self.ledger.shared_peak()].map(octets);
        let congestion = self.congestion_snapshot();
        let Self { ports, tables, ledger, fdb, .. } = self;
        SwitchSnapshot {
            name: self.name.clone(),
            at: now,
            ports: ports
                .iter_mut()
                .map(|port| {
                    let addresses = fdb.of_port(port.id);
                    port_snapshot(now, port, &tables[port.id.index()], ledger, addresses)
                })
                .collect(),
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
    addresses: PortAddresses,
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
        secy: port.port.secy().map(|secy| Box::new(secy.snapshot())),
    }
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
