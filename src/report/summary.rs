//! Summary of a run: the JSON of `--format json` and the source of every other format.
//!
//! Field names are an interface; `names` maps them to SAI, SONiC and IEEE8021-PFC-MIB.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::agents::AgentsSummary;
use super::congestion::CongestionSummary;
use super::judged::{self, CheckSummary, PollsSummary};
use super::macsec::MacsecSummary;
use crate::runtime::{NicCounters, RunSnapshot};
use crate::stats::{DropReason, Drops, PortSnapshot, PriorityCounters};
use crate::time::Total;
use crate::units::{PortId, Priority, PrioritySet};
use crate::verdict::Verdict;

/// Counters by name.
pub(super) type Counters = BTreeMap<String, u64>;

/// Counters of a switch after (or during) a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Version of Sluice.
    pub version: String,
    pub name: String,
    /// Duration of the run.
    pub elapsed_ns: u64,
    /// Number of worker threads.
    pub workers: usize,
    pub ports: Vec<PortSummary>,
    /// Count of every drop reason over all ports, 0 included.
    pub drops: Counters,
    /// Frames of lossless groups lost to congestion: 0 unless a guarantee was broken.
    pub lossless_lost_frames: u64,
    /// Conservation of frames.
    pub balance: BalanceSummary,
    pub shared_pool: SharedSummary,
    /// Forwarding table of the bridge.
    pub fdb: FdbSummary,
    /// Pause storms over all ports.
    pub storms: StormSummary,
    /// Gaps between the polls of each worker.
    pub polls: Vec<PollsSummary>,
    /// True if late polls are left out of the verdict.
    pub late_polls_ignored: bool,
    /// Checks of the run.
    pub checks: Vec<CheckSummary>,
    /// The verdict of all checks.
    pub verdict: Verdict,
    /// Reactions to congesting flows, if any are configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<CongestionSummary>,
}

/// Conservation of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BalanceSummary {
    /// Frames received, originated, and copied when flooding.
    pub came: u64,
    /// Frames sent, consumed, dropped under a reason, and held.
    pub went: u64,
    /// Part of `went`: frames in queues, in workers and between them at this moment.
    pub held: u64,
    /// True if the two are equal.
    pub holds: bool,
}

/// Shared buffer pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SharedSummary {
    /// Bytes in use.
    pub used_bytes: u64,
    /// Most bytes in use; with several workers the sum of their peaks, an upper bound.
    pub peak_bytes: u64,
}

/// Forwarding table of the bridge.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FdbSummary {
    /// Addresses in the table.
    pub entries: u64,
    /// Frames whose source address was not learnt because the table was full.
    pub full: u64,
}

/// Pause storms that the watchdog detected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StormSummary {
    pub detected: u64,
    /// Storms that ended.
    pub restored: u64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PortSummary {
    /// Name in the configuration.
    pub name: String,
    /// True if its link is up.
    pub up: bool,
    /// Rate of its link in bit/s.
    pub rate_bps: u64,
    /// Frames received, of any kind.
    pub rx_frames: u64,
    /// Frames sent, of any kind, without those of `nic.tx_errors` and `nic.tx_dropped`.
    pub tx_frames: u64,
    /// Bytes received, FCS included.
    pub rx_bytes: u64,
    /// Bytes handed to the device to be sent, FCS included.
    pub tx_bytes: u64,
    /// Frames that the switch consumed.
    pub consumed_frames: u64,
    /// Frames that the switch originated.
    pub originated_frames: u64,
    /// Copies of flooded frames.
    pub copied_frames: u64,
    /// Addresses in the bridge's table that were learnt from it.
    #[serde(default)]
    pub addresses: u64,
    /// Frames whose source address was not learnt because the port reached its limit.
    #[serde(default)]
    pub addresses_refused: u64,
    /// PAUSE frames received and obeyed.
    pub pause_rx_frames: u64,
    /// PAUSE frames sent.
    pub pause_tx_frames: u64,
    /// PFC frames received and obeyed, each counted once for all its priorities.
    #[serde(default)]
    pub pfc_rx_frames: u64,
    /// PFC frames sent, likewise.
    #[serde(default)]
    pub pfc_tx_frames: u64,
    /// Priorities that its peer has paused at this moment.
    pub paused_priorities: Vec<u8>,
    pub priorities: Vec<PrioritySummary>,
    /// Drops of frames received here by reason, without zero counts.
    pub drops: Counters,
    /// Losses that its device counted below the switch.
    pub nic: NicSummary,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lossless_priorities: Vec<u8>,
    /// Number of times that its device lost its link.
    #[serde(default)]
    pub link_losses: u64,
    /// Results of its link protocols, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentsSummary>,
    /// MACsec counters, if it has MACsec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub macsec: Option<MacsecSummary>,
}

/// Frames that a device lost before the switch received them, which are in no balance, or after.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct NicSummary {
    /// Receive ring, or a queue of the kernel before it, full; null if the device does not report
    /// it.
    pub rx_missed: Option<u64>,
    /// Received with errors.
    pub rx_errors: u64,
    /// Frame pool empty.
    pub rx_no_memory: u64,
    /// Handed to the device, and not sent by it.
    pub tx_errors: u64,
    /// Dropped on transmit by the interface of the kernel that the device works on. They may
    /// include frames of other programs.
    #[serde(default)]
    pub tx_dropped: u64,
}

impl NicSummary {
    /// Frames that were not sent, at most.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        self.tx_errors + self.tx_dropped
    }

    /// Frames lost before the switch received them; none if the device does not report it.
    #[must_use]
    pub fn missed(&self) -> Option<u64> {
        Some(self.rx_missed? + self.rx_no_memory)
    }
}

/// One priority of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PrioritySummary {
    /// 0 to 7.
    pub priority: u8,
    /// Data frames received and classified to it.
    pub rx_frames: u64,
    /// Data frames sent from it.
    pub tx_frames: u64,
    /// Bytes received, FCS included.
    pub rx_bytes: u64,
    /// Bytes sent, FCS included.
    pub tx_bytes: u64,
    /// PFC frames received and obeyed that name it.
    pub pfc_rx_frames: u64,
    /// PFC frames sent that name it.
    pub pfc_tx_frames: u64,
    /// Time for which its peer held it paused.
    pub pfc_rx_paused_ns: u64,
    /// Time for which it held its peer paused.
    pub pfc_tx_paused_ns: u64,
    /// Number of times that its peer paused it while it was running.
    pub pfc_rx_transitions: u64,
    /// Number of times that it went from XON to XOFF.
    pub pfc_tx_transitions: u64,
    /// Bytes of buffer that its ingress group holds.
    pub buffer_bytes: u64,
    /// Peak of that, headroom included.
    pub buffer_peak_bytes: u64,
    /// Peak of the headroom in use.
    pub headroom_peak_bytes: u64,
    /// Bytes in its egress queue.
    pub queue_bytes: u64,
    /// Peak of its egress queue.
    pub queue_peak_bytes: u64,
    /// Frames sent with CE set here.
    pub ecn_marked: u64,
    /// Data frames of it that were dropped.
    pub dropped_frames: u64,
    /// Storms that the watchdog detected on its queue.
    pub storms_detected: u64,
    /// Storms that ended.
    pub storms_restored: u64,
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
            tx_frames: c.tx_frames.saturating_sub(nic.tx_errors + nic.tx_dropped),
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
            priorities: (0..).zip(&c.priorities).map(|(n, p)| PrioritySummary::new(n, p)).collect(),
            drops: happened(&c.drops),
            nic: NicSummary {
                rx_missed: nic.rx_missed,
                rx_errors: nic.rx_errors,
                rx_no_memory: nic.rx_no_memory,
                tx_errors: nic.tx_errors,
                tx_dropped: nic.tx_dropped,
            },
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

impl PrioritySummary {
    fn new(priority: u8, c: &PriorityCounters) -> Self {
        Self {
            priority,
            rx_frames: c.rx_frames,
            tx_frames: c.tx_frames,
            rx_bytes: c.rx_bytes,
            tx_bytes: c.tx_bytes,
            pfc_rx_frames: c.pfc_rx_frames,
            pfc_tx_frames: c.pfc_tx_frames,
            pfc_rx_paused_ns: c.pfc_rx_paused.as_nanos(),
            pfc_tx_paused_ns: c.pfc_tx_paused.as_nanos(),
            pfc_rx_transitions: c.pfc_rx_transitions,
            pfc_tx_transitions: c.pfc_tx_transitions,
            buffer_bytes: c.buffer_bytes,
            buffer_peak_bytes: c.buffer_peak_bytes,
            headroom_peak_bytes: c.headroom_peak_bytes,
            queue_bytes: c.queue_bytes,
            queue_peak_bytes: c.queue_peak_bytes,
            ecn_marked: c.ecn_marked,
            dropped_frames: c.dropped,
            storms_detected: c.storms_detected,
            storms_restored: c.storms_restored,
        }
    }

    /// True if any of its counters is not zero.
    #[must_use]
    pub fn is_active(&self) -> bool {
        *self != Self { priority: self.priority, ..Self::default() }
    }
}
