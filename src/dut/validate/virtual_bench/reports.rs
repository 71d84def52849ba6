//! Counters of a virtual device, and wrong ones: what the device reports is changed after it was read, as
//! in devices whose counters are wrong.

use super::opposite;
use crate::counters::{Counter, Counters, PortCounters, of_snapshot};
use ground::time::Instant;
use ground::units::{BitsPerSec, PRIORITIES, Quanta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::{NetworkPlan, Node, NodeId, NodeKind, ObservedNetwork};

/// A way in which the counters of a virtual device are wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// Every tenth PFC frame is not counted, neither received nor sent.
    PfcLost,
    /// Every tenth PFC frame is not in the totals of a port.
    PfcTotalsLost,
    /// Every tenth data frame is not counted, neither received nor sent.
    DataLost,
    /// PFC frames are counted for the next priority.
    PfcOfNext,
    /// PAUSE frames are counted as PFC of all priorities.
    PauseAsPfc,
    /// PFC frames are counted in `rx_ok` too.
    PfcInRxOk,
    /// PFC frames are counted in `rx_drop` too.
    PfcInRxDrop,
    /// Paused times are in quanta, and said to be in microseconds.
    PausedInQuanta,
    /// Maxima are in cells, and said to be in bytes.
    PeaksInCells,
    /// Maxima are those of the last frame of the trial, not of the highest fill: zero.
    PeaksCleared,
    /// A tenth of the drops of each reason is not counted.
    DropsLost,
    /// A link that comes up clears the counters of its port.
    ClearedByLink,
    /// Each pause of a priority is counted as a storm that was detected.
    PausesAsStorms,
    /// Every tenth frame that MACsec rejects is not counted.
    RejectedLost,
}

/// Errors and gaps in the counters that a virtual device reports.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reports {
    /// Ways in which they are wrong.
    pub wrong: Vec<Report>,
    /// Counters that it does not have.
    pub unknown: Vec<Counter>,
    /// True if it does not count drops by their reasons.
    pub no_drops: bool,
}

/// Reads the counters of the device at the ports of these hosts.
pub(super) fn read(
    network: &mut ObservedNetwork<'_>,
    plan: &NetworkPlan,
    hosts: &[NodeId],
    at: Instant,
) -> Counters {
    let one = |host: &NodeId| {
        let end = opposite(plan, *host);
        let nodes = network.nodes_mut();
        let local = nodes.local(end.node, at);
        match nodes.get_mut(end.node) {
            Node::Switch(switch) => of_snapshot(&switch.snapshot(local).ports[end.port.index()]),
            Node::Host(_) => PortCounters::default(),
        }
    };
    Counters(hosts.iter().map(one).collect())
}

/// Returns the bytes of a buffer cell of the switches.
pub(super) fn cell(plan: &NetworkPlan) -> u64 {
    // Usually all switches of a lab have cells of one size; the largest stands for them.
    let cells = plan.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(plan) => Some(u64::from(plan.buffer.cell_bytes)),
        NodeKind::Host(_) => None,
    });
    cells.max().unwrap_or(1)
}

impl Reports {
    /// Changes what the device reports.
    pub(crate) fn apply(&self, counters: &mut Counters, rate: BitsPerSec, cell: u64) {
        for port in &mut counters.0 {
            self.wrong.iter().for_each(|report| report.apply(port, rate, cell));
            // After the errors: some of them are calculated from counters that are then not shown.
            for all in port.priorities.iter_mut().chain([&mut port.port]) {
                all.retain(|counter, _| !self.unknown.contains(counter));
            }
            if self.no_drops {
                port.drops = None;
            }
        }
    }
}

impl Report {
    fn apply(self, port: &mut PortCounters, rate: BitsPerSec, cell: u64) {
        // A switch with PFC drops PAUSE, so the counter of that reason is the number of PAUSE frames.
        let pauses = port.drops.iter().find_map(|all| all.get("pause_not_enabled")).copied();
        let sum = |port: &PortCounters| {
            port.priorities.iter().filter_map(|counts| counts.get(&Counter::PfcRx)).sum::<u64>()
        };
        let quantum = Quanta(1).at(rate).as_nanos_f64();
        match self {
            Self::PfcLost => {
                each(port, &[Counter::PfcRx, Counter::PfcTx], |n| n - n.div_ceil(10));
            }
            Self::PfcTotalsLost => {
                each(port, &[Counter::PfcRxAll, Counter::PfcTxAll], |n| n - n.div_ceil(10));
            }
            Self::DataLost => {
                each(port, &[Counter::RxOk, Counter::TxOk], |n| n - n.div_ceil(10));
            }
            Self::PfcOfNext => {
                let mut counts =
                    port.priorities.each_ref().map(|counts| counts.get(&Counter::PfcRx).copied());
                // The count of priority n goes to n + 1, and the last one to 0.
                counts.rotate_right(1);
                let counts: [u64; PRIORITIES] = counts.map(Option::unwrap_or_default);
                for (counts, n) in port.priorities.iter_mut().zip(counts) {
                    counts.insert(Counter::PfcRx, n);
                }
            }
            Self::PauseAsPfc => each(port, &[Counter::PfcRx], |n| n + pauses.unwrap_or(0)),
            Self::PfcInRxOk => {
                let pfc = sum(port);
                each(port, &[Counter::RxOk], |n| n + pfc);
            }
            Self::PfcInRxDrop => {
                let pfc = sum(port);
                each(port, &[Counter::RxDrop], |n| n + pfc);
            }
            Self::PausedInQuanta => {
                // The number of quanta, given out as microseconds, which are a thousand nanoseconds each.
                each(port, &[Counter::Paused], |n| (n as f64 / quantum) as u64 * 1000);
            }
            Self::PeaksInCells => {
                each(port, &[Counter::BufferPeak, Counter::HeadroomPeak], |n| n / cell);
            }
            Self::PeaksCleared => each(port, &[Counter::BufferPeak, Counter::HeadroomPeak], |_| 0),
            Self::DropsLost => {
                let all = port.drops.iter_mut().flat_map(|all| all.values_mut());
                all.for_each(|n| *n -= n.div_ceil(10));
            }
            Self::RejectedLost => each(port, &[Counter::MacsecRejected], |n| n - n.div_ceil(10)),
            // The bench reads the counters again when the link comes up.
            Self::ClearedByLink => {}
            Self::PausesAsStorms => {
                for counts in &mut port.priorities {
                    let pauses = counts.get(&Counter::PfcRx).copied().unwrap_or(0);
                    counts.entry(Counter::StormsDetected).and_modify(|n| *n += pauses);
                }
            }
        }
    }
}

/// Changes some counters of a port.
fn each(port: &mut PortCounters, counters: &[Counter], change: impl Fn(u64) -> u64) {
    for all in port.priorities.iter_mut().chain([&mut port.port]) {
        for (_, n) in all.iter_mut().filter(|(counter, _)| counters.contains(counter)) {
            *n = change(*n);
        }
    }
}
