//! Summary of a run: the JSON of `--format json` and the source of every other format.
//!
//! Field names are an interface; `names` maps them to SAI, SONiC and IEEE8021-PFC-MIB.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::agents::AgentsSummary;
use super::congestion::CongestionSummary;
use super::judged::{self, CheckSummary, PollsSummary};
use super::macsec::MacsecSummary;
use contracts::stats::{DropReason, Drops, PortSnapshot, PriorityCounters};
use ground::described;
use ground::time::Total;
use ground::units::{PortId, Priority, PrioritySet};
use ground::verdict::Verdict;
use runtime::{NicCounters, RunSnapshot};

/// Counters by name.
pub type Counters = BTreeMap<String, u64>;

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
    /// Summary of `run`, `elapsed` after it began.
    #[must_use]
    pub fn new(run: &RunSnapshot, elapsed: impl Into<Total>) -> Self {
        let s = &run.switch;
        let balance = s.balance();
        let mut storms = StormSummary::default();
        for p in s.ports.iter().flat_map(|p| &p.counters.priorities) {
            storms.detected += p.storms_detected;
            storms.restored += p.storms_restored;
        }
        let drops = s.drops();
        let congestion = s.congestion.as_deref();
        let ports = s.ports.iter().zip(&run.nics).map(|(p, n)| PortSummary::new(p, *n));
        let lossless = run.lossless.iter().chain(core::iter::repeat(&PrioritySet::EMPTY));
        let summary = Self {
            version: env!("CARGO_PKG_VERSION").into(),
            name: s.name.clone(),
            elapsed_ns: elapsed.into().as_nanos(),
            workers: run.polls.len().max(1),
            ports: ports.zip(lossless).map(|(port, set)| port.protecting(*set)).collect(),
            drops: by_name(DropReason::ALL.iter().map(|r| (r.name(), drops.get(*r)))),
            lossless_lost_frames: run.lossless_lost,
            // Frames that workers hand to each other are in both sums; frames on the way between
            // two are the difference, and held.
            balance: BalanceSummary {
                came: balance.came.saturating_sub(s.taken),
                went: balance.went.saturating_sub(s.taken),
                held: s.held + s.given.saturating_sub(s.taken),
                holds: balance.holds(),
            },
            shared_pool: SharedSummary {
                used_bytes: s.shared_used_bytes,
                peak_bytes: s.shared_peak_bytes,
            },
            fdb: FdbSummary { entries: s.fdb_entries, full: s.fdb_full },
            storms,
            congestion: congestion.map(|of| CongestionSummary::new(of, &s.ports)),
            polls: run.polls.iter().map(PollsSummary::new).collect(),
            late_polls_ignored: false,
            checks: Vec::new(),
            verdict: Verdict::NotJudged,
        };
        summary.judged()
    }

    /// Adds the checks and their verdict.
    fn judged(mut self) -> Self {
        self.checks = judged::checks(&self);
        self.verdict = judged::verdict(&self.checks);
        self
    }

    /// Leaves late polls out of the verdict if they are to be `ignored`.
    #[must_use]
    pub fn with_late_polls(mut self, ignored: bool) -> Self {
        self.late_polls_ignored = ignored;
        self.judged()
    }

    /// Adds the number of link losses of each port's device.
    #[must_use]
    pub fn with_link_losses(mut self, losses: impl IntoIterator<Item = u64>) -> Self {
        for (port, losses) in self.ports.iter_mut().zip(losses) {
            port.link_losses = losses;
        }
        self.judged()
    }

    /// Adds the results of the ports' link protocols.
    #[must_use]
    pub fn with_agents(mut self, agents: BTreeMap<PortId, AgentsSummary>) -> Self {
        for (port, agents) in agents {
            self.ports[port.index()].agents = Some(agents);
        }
        self
    }

    /// Frames that the devices reported as lost before the switch received them.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.ports.iter().filter_map(|p| p.nic.missed()).sum()
    }
}

impl PortSummary {
    fn new(port: &PortSnapshot, nic: NicCounters) -> Self {
        let c = &port.counters;
        Self {
            name: port.name.clone(),
            up: port.up,
            rate_bps: port.rate_bps,
            rx_frames: c.rx_frames,
            // A device had accepted the frames that it then failed to send.
            tx_frames: c.tx_frames.saturating_sub(nic.unsent()),
            rx_bytes: c.rx_bytes,
            tx_bytes: c.tx_bytes,
            consumed_frames: c.consumed,
            originated_frames: c.originated,
            copied_frames: c.copied,
            addresses: c.addresses,
            addresses_refused: c.addresses_refused,
            pause_rx_frames: c.pause_rx_frames,
            pause_tx_frames: c.pause_tx_frames,
            pfc_rx_frames: c.pfc_rx_frames,
            pfc_tx_frames: c.pfc_tx_frames,
            paused_priorities: (0..8).filter(|n| port.paused & (1 << n) != 0).collect(),
            priorities: (0..).zip(c.priorities).map(PrioritySummary::from).collect(),
            drops: happened(&c.drops),
            nic,
            lossless_priorities: Vec::new(),
            link_losses: 0,
            agents: None,
            macsec: port.secy.as_deref().map(MacsecSummary::new),
        }
    }

    fn protecting(mut self, lossless: PrioritySet) -> Self {
        self.lossless_priorities = lossless.iter().map(Priority::get).collect();
        self
    }

    /// Dropped frames that were received here.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.drops.values().sum()
    }
}

/// Collects counters by name.
pub(super) fn by_name(all: impl Iterator<Item = (&'static str, u64)>) -> Counters {
    all.map(|(name, n)| (name.to_owned(), n)).collect()
}

fn happened(drops: &Drops) -> Counters {
    by_name(drops.iter().map(|(reason, n)| (reason.name(), n)))
}

impl From<(u8, PriorityCounters)> for PrioritySummary {
    fn from((priority, counters): (u8, PriorityCounters)) -> Self {
        Self { priority, counters }
    }
}

impl PrioritySummary {
    /// True if any of its counters is not zero.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.counters != PriorityCounters::default()
    }
}
