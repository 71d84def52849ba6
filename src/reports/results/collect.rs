//! Makes the summary of a run from its counters.

use std::collections::BTreeMap;

use super::agents::AgentsSummary;
use super::checks::PollsSummary;
use super::congestion::CongestionSummary;
use super::judged;
use super::macsec::MacsecSummary;
use super::summary::{BalanceSummary, PortSummary, Summary};
use contracts::stats::{NicCounters, PortSnapshot};
use ground::time::Total;
use ground::units::{PortId, PrioritySet};
use ground::verdict::Verdict;
use runtime::RunSnapshot;

impl Summary {
    /// Summary of `run`, `elapsed` after it began.
    #[must_use]
    pub fn new(run: &RunSnapshot, elapsed: impl Into<Total>) -> Self {
        let s = &run.switch;
        let balance = s.balance();
        let congestion = s.congestion.as_deref();
        let ports = s.ports.iter().zip(&run.nics);
        let lossless = run.lossless.iter().chain(core::iter::repeat(&PrioritySet::EMPTY));
        let ports = ports.zip(lossless);
        let ports = ports.map(|((port, nic), set)| PortSummary::new(port, *nic, *set));
        let summary = Self {
            version: ground::program::version().into(),
            name: s.name.clone(),
            elapsed_ns: elapsed.into().as_nanos(),
            workers: run.polls.len().max(1),
            ports: ports.collect(),
            drops: s.drops(),
            lossless_lost_frames: run.lossless_lost.congestion,
            lossless_watchdog_frames: run.lossless_lost.watchdog,
            lossless_link_frames: run.lossless_lost.link,
            // Frames that workers hand to each other are in both sums; frames on the way between
            // two are the difference, and held.
            balance: BalanceSummary {
                came: balance.came.saturating_sub(s.taken),
                went: balance.went.saturating_sub(s.taken),
                held: s.held + s.given.saturating_sub(s.taken),
                holds: balance.holds(),
            },
            shared_pool: s.shared_pool,
            fdb: s.fdb,
            storms: s.storms(),
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

    /// Adds for each port whether its device itself sends and obeys PFC.
    #[must_use]
    pub fn with_hardware_pfc(mut self, hardware: impl IntoIterator<Item = bool>) -> Self {
        for (port, hardware) in self.ports.iter_mut().zip(hardware) {
            port.hardware_pfc = hardware;
        }
        self
    }

    /// Adds the number of suspected deadlocks at each port.
    #[must_use]
    pub fn with_deadlocks(mut self, suspected: impl IntoIterator<Item = u64>) -> Self {
        for (port, suspected) in self.ports.iter_mut().zip(suspected) {
            port.deadlocks_suspected = suspected;
        }
        self
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
    fn new(port: &PortSnapshot, nic: NicCounters, lossless_priorities: PrioritySet) -> Self {
        let mut port = port.clone();
        // A device had accepted the frames that it then failed to send.
        port.counters.tx_frames = port.counters.tx_frames.saturating_sub(nic.unsent());
        let macsec = port.secy.take().map(|secy| MacsecSummary::new(&secy));
        Self {
            port,
            nic,
            lossless_priorities,
            link_losses: 0,
            deadlocks_suspected: 0,
            hardware_pfc: false,
            agents: None,
            macsec,
        }
    }
}
