//! Summary of a run: the JSON of `--format json` and the source of every other format.
//!
//! Field names are an interface; `names` maps them to SAI, SONiC and IEEE8021-PFC-MIB.

use serde::{Deserialize, Serialize};

use super::agents::AgentsSummary;
use super::checks::{CheckSummary, PollsSummary};
use super::congestion::CongestionSummary;
use super::counters::Counters;
use super::macsec::MacsecSummary;
use contracts::stats::{NicCounters, PriorityCounters};
use ground::described;
use ground::verdict::Verdict;

described! {
    /// Counters of a switch after (or during) a run.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    Summary {
        /// Version of Sluice.
        version: String,
        name: String,
        /// Duration of the run.
        elapsed_ns: u64 = Counter,
        /// Number of worker threads.
        workers: usize,
        ports: Vec<PortSummary>,
        /// Count of every drop reason over all ports, 0 included.
        drops: Counters,
        /// Frames of lossless groups lost to congestion: 0 unless a guarantee was broken.
        lossless_lost_frames: u64 = Counter,
        /// Conservation of frames.
        balance: BalanceSummary,
        shared_pool: SharedSummary,
        /// Forwarding table of the bridge.
        fdb: FdbSummary,
        /// Pause storms over all ports.
        storms: StormSummary,
        /// Gaps between the polls of each worker.
        polls: Vec<PollsSummary>,
        /// True if late polls are left out of the verdict.
        late_polls_ignored: bool,
        /// Checks of the run.
        checks: Vec<CheckSummary>,
        /// The verdict of all checks.
        verdict: Verdict,
        /// Reactions to congesting flows, if any are configured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        congestion: Option<CongestionSummary>,
    }
}

described! {
    /// Conservation of frames.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    BalanceSummary {
        /// Frames received, originated, and copied when flooding.
        came: u64,
        /// Frames sent, consumed, dropped under a reason, and held.
        went: u64,
        /// Frames in queues, in workers and between them at this moment, a part of `went`.
        held: u64 = Gauge,
        /// True if the two are equal.
        holds: bool,
    }
}

described! {
    /// Shared buffer pool.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    SharedSummary {
        /// Bytes of the shared pool in use.
        used_bytes: u64 = Gauge,
        /// Maximum of bytes of the shared pool in use; with several workers the sum of their peaks, an upper bound.
        peak_bytes: u64 = Gauge,
    }
}

described! {
    /// Forwarding table of the bridge.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    FdbSummary {
        /// Addresses in the bridge's table.
        entries: u64 = Gauge,
        /// Frames whose source address was not learnt because the table was full.
        full: u64 = Counter,
    }
}

/// Pause storms that the watchdog detected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StormSummary {
    pub detected: u64,
    /// Storms that ended.
    pub restored: u64,
}

described! {
    /// A port.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    PortSummary {
        /// Name in the configuration.
        name: String,
        /// True if the link is up.
        up: bool = Gauge,
        /// Rate of the link.
        rate_bps: u64 = Gauge,
        /// Frames received, of any kind.
        rx_frames: u64 = Counter,
        /// Frames sent, of any kind, without those of `nic.tx_errors` and `nic.tx_dropped`.
        tx_frames: u64 = Counter,
        /// Bytes received, FCS included.
        rx_bytes: u64 = Counter,
        /// Bytes handed to the device to be sent, FCS included.
        tx_bytes: u64 = Counter,
        /// Frames that the switch consumed.
        consumed_frames: u64 = Counter,
        /// Frames that the switch originated.
        originated_frames: u64 = Counter,
        /// Copies of flooded frames.
        copied_frames: u64 = Counter,
        /// Addresses in the bridge's table that were learnt from the port.
        #[serde(default)]
        addresses: u64 = Gauge,
        /// Frames whose source address was not learnt because the port reached its limit.
        #[serde(default)]
        addresses_refused: u64 = Counter,
        /// PAUSE frames received and obeyed.
        pause_rx_frames: u64 = Counter,
        /// PAUSE frames sent.
        pause_tx_frames: u64 = Counter,
        /// PFC frames received and obeyed, each counted once for all its priorities.
        #[serde(default)]
        pfc_rx_frames: u64 = Counter,
        /// PFC frames sent, each counted once for all its priorities.
        #[serde(default)]
        pfc_tx_frames: u64 = Counter,
        /// Priorities that its peer has paused at this moment.
        paused_priorities: Vec<u8>,
        priorities: Vec<PrioritySummary>,
        /// Drops of frames received here by reason, without zero counts.
        drops: Counters,
        /// Losses that its device counted below the switch.
        nic: NicCounters,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lossless_priorities: Vec<u8>,
        /// Number of times that the port's device lost its link.
        #[serde(default)]
        link_losses: u64 = Counter,
        /// Results of its link protocols, if it has any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agents: Option<AgentsSummary>,
        /// MACsec counters, if it has MACsec.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        macsec: Option<MacsecSummary>,
    }
}

/// One priority of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PrioritySummary {
    /// 0 to 7.
    pub priority: u8,
    #[serde(flatten)]
    pub counters: PriorityCounters,
}

impl Summary {
    /// Frames that the devices reported as lost before the switch received them.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.ports.iter().filter_map(|p| p.nic.missed()).sum()
    }
}

impl PortSummary {
    /// Dropped frames that were received here.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.drops.values().sum()
    }
}

impl PrioritySummary {
    /// True if any of its counters is not zero.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.counters != PriorityCounters::default()
    }
}
