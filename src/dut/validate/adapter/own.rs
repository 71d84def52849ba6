//! Counters of a switch of this program.

use std::collections::BTreeMap;

use crate::counters::{Counter, PortCounters};
use contracts::stats::PortSnapshot;
use results::{MacsecSummary, PortSummary};

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
        (Counter::PfcRxAll, all.pfc_rx_frames),
        (Counter::PfcTxAll, all.pfc_tx_frames),
        (Counter::PauseRx, all.pause_rx_frames),
    ]);
    if let Some(secy) = &port.secy {
        sums.insert(Counter::MacsecRejected, rejected(&MacsecSummary::new(secy)));
    }
    let drops = all.drops.by_name().into_iter().map(|(name, n)| (name.to_owned(), n));
    PortCounters { port: sums, priorities, drops: Some(drops.collect()) }
}

/// Returns the counters of a port in a summary, which has those of MACsec beside the others.
#[must_use]
pub fn of_summary(port: &PortSummary) -> PortCounters {
    let mut counters = of_snapshot(&port.port);
    if port.hardware_pfc {
        // What the device sends and obeys is not counted here.
        for counter in [Counter::PfcRxAll, Counter::PfcTxAll] {
            counters.port.remove(&counter);
        }
        for of in &mut counters.priorities {
            of.retain(|counter, _| {
                !matches!(counter, Counter::PfcRx | Counter::PfcTx | Counter::Paused)
            });
        }
    }
    if let Some(macsec) = &port.macsec {
        counters.port.insert(Counter::MacsecRejected, rejected(macsec));
    }
    counters
}

/// Returns the frames that a SecY rejected as not its peer's, or not new.
fn rejected(macsec: &MacsecSummary) -> u64 {
    let of = |counters: &BTreeMap<String, u64>, names: &[&str]| {
        names.iter().filter_map(|name| counters.get(*name)).sum::<u64>()
    };
    let late = ["InPktsLate", "in_pkts_replayed", "InPktsNotValid"];
    let channels = macsec.receive.iter().map(|channel| of(&channel.counters, &late));
    channels.sum::<u64>() + of(&macsec.counters, &["InPktsNoSAError"])
}
