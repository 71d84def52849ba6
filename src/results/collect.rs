//! Makes the summary of a run from its counters.

use std::collections::BTreeMap;

use super::agents::AgentsSummary;
use super::checks::PollsSummary;
use super::congestion::CongestionSummary;
use super::counters::{Counters, by_name};
use super::judged;
use super::macsec::MacsecSummary;
use super::summary::{
    BalanceSummary, FdbSummary, PortSummary, PrioritySummary, SharedSummary, StormSummary, Summary,
};
use contracts::stats::{DropReason, Drops, NicCounters, PortSnapshot, PriorityCounters};
use ground::time::Total;
use ground::units::{PortId, Priority, PrioritySet};
use ground::verdict::Verdict;
use runtime::RunSnapshot;

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
}

impl From<(u8, PriorityCounters)> for PrioritySummary {
    fn from((priority, counters): (u8, PriorityCounters)) -> Self {
        Self { priority, counters }
    }
}

fn happened(drops: &Drops) -> Counters {
    by_name(drops.iter().map(|(reason, n)| (reason.name(), n)))
}
