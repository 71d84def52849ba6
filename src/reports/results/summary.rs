//! Summary of a run, made from its counters: the JSON of `--format json` and the source of every other format.
//!
//! Field names are an interface; `names` maps them to SAI, SONiC and IEEE8021-PFC-MIB.

use std::collections::BTreeMap;

use serde::ser::Error;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::checks::{self, CheckSummary, PollsSummary};
use super::counters::{CongestionSummary, MacsecSummary};
use super::protocols::AgentsSummary;
use contracts::stats::{Drops, Fdb, NicCounters, PortSnapshot, SharedPool, Storms, SwitchSnapshot};
use ground::described;
use ground::time::Total;
use ground::units::{PortId, PrioritySet};
use ground::verdict::Verdict;
use runtime::RunSnapshot;

described! {
    /// Counters of a switch after (or during) a run.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    Summary {
        /// Version of Sluice.
        version: String,
        name: String,
        /// Duration of the run, or the time since its counters were cleared.
        elapsed_ns: u64 = Counter,
        /// True if the counters were cleared during the run: the checks and the verdict are about the time since then.
        #[serde(default, skip_serializing_if = "is_false")]
        cleared: bool,
        /// Number of worker threads.
        workers: usize,
        #[serde(serialize_with = "with_known")]
        ports: Vec<PortSummary>,
        /// Count of every drop reason over all ports, 0 included.
        #[serde(serialize_with = "Drops::whole")]
        drops: Drops,
        /// Frames of lossless groups lost to congestion: 0 unless a guarantee was broken.
        lossless_lost_frames: u64 = Counter,
        /// Frames of lossless groups that watchdogs dropped.
        #[serde(default)]
        lossless_watchdog_frames: u64 = Counter,
        /// Frames of lossless groups that were dropped because a link was down or went down.
        #[serde(default)]
        lossless_link_frames: u64 = Counter,
        /// Conservation of frames.
        balance: BalanceSummary,
        shared_pool: SharedPool,
        /// Forwarding table of the bridge.
        fdb: Fdb,
        /// Pause storms over all ports.
        storms: Storms,
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
        /// Frames that are queued or being forwarded now; `went` includes them.
        held: u64 = Gauge,
        /// True if the two are equal.
        holds: bool,
    }
}

described! {
    /// A port.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    PortSummary {
        /// Link and counters, those of the switch without frames that the device did not send.
        #[serde(flatten)]
        port: PortSnapshot,
        /// Losses that its device counted below the switch.
        nic: NicCounters,
        #[serde(default, skip_serializing_if = "is_empty")]
        lossless_priorities: PrioritySet,
        /// Number of times that the port's device lost its link.
        #[serde(default)]
        link_losses: u64 = Counter,
        /// Suspected deadlocks of frames that wait at the port, where the switch looks for them.
        #[serde(default)]
        deadlocks_suspected: u64 = Counter,
        /// True if its device itself sends and obeys PFC: what the switch counts of pauses is not all then, so
        /// it is left out as unknown.
        #[serde(default, skip_serializing_if = "is_false")]
        hardware_pfc: bool,
        /// Results of its link protocols, if it has any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agents: Option<AgentsSummary>,
        /// MACsec counters, if it has MACsec.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        macsec: Option<MacsecSummary>,
    }
}

/// Fields of a port and of its priorities that are unknown where the device itself does PFC.
const OF_PFC: [&str; 7] = [
    "pfc_rx_frames",
    "pfc_tx_frames",
    "pfc_rx_paused_ns",
    "pfc_tx_paused_ns",
    "pfc_rx_transitions",
    "pfc_tx_transitions",
    "paused_priorities",
];

impl PortSummary {
    /// Returns true if the value of a field, of the port or of its priorities, is known.
    pub fn knows(&self, field: &str) -> bool {
        !(self.hardware_pfc && OF_PFC.contains(&field))
    }
}

/// Writes ports without what is not known of them.
fn with_known<S: Serializer>(ports: &[PortSummary], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(ports.iter().map(Known))
}

/// A port, without what is not known of it.
struct Known<'a>(&'a PortSummary);

impl Serialize for Known<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // The tree is only made where something has to be taken out.
        if !self.0.hardware_pfc {
            return self.0.serialize(to);
        }
        let mut port = serde_json::to_value(self.0).map_err(S::Error::custom)?;
        take_unknown(&mut port);
        port.get_mut("priorities").into_iter().for_each(|all| match all {
            Value::Array(all) => all.iter_mut().for_each(take_unknown),
            Value::Object(all) => all.values_mut().for_each(take_unknown),
            _ => {}
        });
        port.serialize(to)
    }
}

fn take_unknown(fields: &mut Value) {
    if let Value::Object(fields) = fields {
        // Left out rather than 0: a pause that is not counted is no absence of pauses.
        fields.retain(|name, _| !OF_PFC.contains(&name.as_str()));
    }
}

const fn is_false(value: &bool) -> bool {
    !*value
}

fn is_empty(set: &PrioritySet) -> bool {
    set.is_empty()
}

impl Summary {
    /// Frames that the devices reported as lost before the switch received them.
    pub fn missed(&self) -> u64 {
        self.ports.iter().filter_map(|p| p.nic.missed()).sum()
    }
}

impl Summary {
    /// Summary of `run`, `elapsed` after it began.
    pub fn new(run: &RunSnapshot, elapsed: impl Into<Total>) -> Self {
        let s = &run.switch;
        let congestion = s.congestion.as_deref();
        let ports = s.ports.iter().zip(&run.nics);
        // A run may not know the lossless priorities of its ports; then it has none.
        let lossless = run.lossless.iter().chain(core::iter::repeat(&PrioritySet::EMPTY));
        let ports = ports.zip(lossless);
        let ports = ports.map(|((port, nic), set)| PortSummary::new(port, *nic, *set));
        let summary = Self {
            version: ground::program::version().into(),
            name: s.name.clone(),
            elapsed_ns: elapsed.into().as_nanos(),
            cleared: false,
            // The virtual world has no workers, and polls like one.
            workers: run.polls.len().max(1),
            ports: ports.collect(),
            drops: s.drops(),
            lossless_lost_frames: run.lossless_lost.congestion,
            lossless_watchdog_frames: run.lossless_lost.watchdog,
            lossless_link_frames: run.lossless_lost.link,
            balance: BalanceSummary::new(s),
            shared_pool: s.shared_pool,
            fdb: s.fdb,
            storms: s.storms(),
            congestion: congestion.map(|of| CongestionSummary::new(of, &s.ports)),
            polls: run.polls.iter().map(PollsSummary::new).collect(),
            late_polls_ignored: false,
            checks: Vec::new(),
            verdict: Verdict::NotJudged,
        };
        // Judged with what is known; what is added below judges again where it matters.
        summary.judged()
    }

    /// Adds the checks and their verdict.
    fn judged(mut self) -> Self {
        self.checks = checks::checks(&self);
        self.verdict = checks::verdict(&self.checks);
        self
    }

    /// Says whether the counters were cleared during the run.
    #[must_use]
    pub fn with_cleared(mut self, cleared: bool) -> Self {
        self.cleared = cleared;
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

impl BalanceSummary {
    /// Returns the balance of a switch.
    pub fn new(s: &SwitchSnapshot) -> Self {
        let balance = s.balance();
        // Frames that workers hand to each other are in both sums; frames on the way between two are
        // the difference, and held.
        Self {
            came: balance.came.saturating_sub(s.taken),
            went: balance.went.saturating_sub(s.taken),
            held: s.held + s.given.saturating_sub(s.taken),
            holds: balance.holds(),
        }
    }
}

impl PortSummary {
    /// Returns the summary of a port, without what its device alone knows.
    pub fn new(port: &PortSnapshot, nic: NicCounters, lossless_priorities: PrioritySet) -> Self {
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
