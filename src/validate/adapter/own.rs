//! Counters of a switch of this program.

use std::collections::BTreeMap;

use super::{Counter, PortCounters};
use contracts::stats::PortSnapshot;
use secure::SecySnapshot;

/// Returns the counters of a port. Its XON are among its PFC frames, and the shared part of a group has no
/// maximum of its own.
#[must_use]
pub fn of_snapshot(port: &PortSnapshot) -> PortCounters {
    let all = &port.counters;
    let sum =
        |of: fn(&contracts::stats::PriorityCounters) -> u64| all.priorities.iter().map(of).sum();
    let priorities = all.priorities.map(|of| {
        BTreeMap::from([
            (Counter::PfcRx, of.pfc_rx_frames),
            (Counter::PfcTx, of.pfc_tx_frames),
            (Counter::Paused, of.pfc_rx_paused.as_nanos()),
            (Counter::BufferPeak, of.buffer_peak_bytes),
            (Counter::HeadroomPeak, of.headroom_peak_bytes),
            (Counter::StormsDetected, of.storms_detected),
            (Counter::StormsRestored, of.storms_restored),
        ])
    });
    let mut sums = BTreeMap::from([
        (Counter::RxOk, sum(|of| of.rx_frames)),
        (Counter::RxDrop, all.drops.total()),
        (Counter::TxOk, sum(|of| of.tx_frames)),
        (Counter::PauseRx, all.pause_rx_frames),
    ]);
    if let Some(secy) = &port.secy {
        sums.insert(Counter::MacsecRejected, rejected(secy));
    }
    let drops = all.drops.by_name().into_iter().map(|(name, n)| (name.to_owned(), n));
    PortCounters { port: sums, priorities, drops: Some(drops.collect()) }
}

/// Returns the frames that a SecY rejected as not its peer's, or not new.
fn rejected(secy: &SecySnapshot) -> u64 {
    let channels = secy.receive.iter().flatten().map(|sc| {
        let of = &sc.counters;
        of.in_pkts_late + of.in_pkts_replayed + of.in_pkts_not_valid
    });
    channels.sum::<u64>() + secy.counters.in_pkts_no_sa_error
}
