//! What each node counted.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Nanos;
use super::agents::{self, MeasuredOutcome, StepOutcome};
use crate::host::StationCounters;
use crate::lab::population::NodeAgents;
use crate::lab::record::{Onset, Recorder};
use crate::report::{
    AgentsSummary, BalanceSummary, MacsecSummary, PortSummary, SharedSummary, StormSummary, Summary,
};
use crate::runtime::{NicCounters, RunSnapshot};
use crate::secure::SecySnapshot;
use crate::sim::{NodeId, NodePlan};
use crate::stats::SwitchSnapshot;
use crate::time::{Duration, Instant};
use crate::units::{BitsPerSec, PortId, Priority, PriorityGroup};

/// A node.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum NodeOutcome {
    /// A switch.
    Switch(SwitchOutcome),
    /// A host.
    Host(HostOutcome),
}

/// A switch, by the names of a real switch's summary.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SwitchOutcome {
    /// Its name.
    pub name: String,
    /// Its ports.
    pub ports: Vec<SwitchPort>,
    /// The reasons for which it dropped frames, those that happened.
    pub drops: BTreeMap<String, u64>,
    /// Frames of lossless groups that it lost to congestion.
    pub lossless_lost_frames: u64,
    /// Whether every frame is accounted for.
    pub balance: BalanceSummary,
    /// The shared pool.
    pub shared_pool: SharedSummary,
    /// Pause storms over all ports.
    pub storms: StormSummary,
    /// What it did about flows that congested it: what was counted, by its name, if ever.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub congestion: BTreeMap<String, u64>,
}

/// A port of a switch.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SwitchPort {
    /// As a real switch tells it.
    #[serde(flatten)]
    pub counters: PortSummary,
    /// The node at the other end of its link.
    pub peer: String,
    /// The firsts of its groups, those of them that ever paused or dropped.
    pub groups: Vec<GroupOutcome>,
    /// What its link came to, where it finds its headroom by itself and has done so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredOutcome>,
    /// What the switch did by what it found out, the latest at last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepOutcome>,
}

/// When an ingress group first paused its sender and first dropped a frame.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct GroupOutcome {
    /// Which group, 0 to 7.
    pub group: u8,
    /// When it first crossed its limit.
    pub first_pause_ns: Option<Nanos>,
    /// The number of the frame that did it, from 1, among the data frames of the group.
    pub frames_to_first_pause: Option<u64>,
    /// When it first dropped a frame.
    pub first_drop_ns: Option<Nanos>,
    /// The number of that frame, from 1.
    pub frames_to_first_drop: Option<u64>,
    /// The one less the other: 1 says that the frame behind the one that crossed was dropped.
    pub frames_from_first_pause_to_first_drop: Option<u64>,
}

/// A host.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HostOutcome {
    /// Its name.
    pub name: String,
    /// Its one port.
    pub ports: Vec<HostPort>,
}

/// The port of a host.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HostPort {
    /// The name of its link.
    pub name: String,
    /// The node at the other end of it.
    pub peer: String,
    /// The rate of its link in bit/s.
    pub rate_bps: u64,
    /// Frames received, of any kind.
    pub rx_frames: u64,
    /// Frames sent, of any kind.
    pub tx_frames: u64,
    /// Octets received, FCS included.
    pub rx_bytes: u64,
    /// Octets sent, FCS included.
    pub tx_bytes: u64,
    /// PFC and PAUSE frames received.
    pub pauses_received: u64,
    /// PFC and PAUSE frames sent.
    pub pauses_sent: u64,
    /// MAC control frames received that are neither.
    pub malformed_frames: u64,
    /// Frames received that were for others.
    pub foreign_frames: u64,
    /// Frames received that belong to no flow.
    pub unexpected_frames: u64,
    /// All eight priorities.
    pub priorities: Vec<HostPriority>,
    /// What its agents found out, where it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentsSummary>,
    /// What its MACsec did, where it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macsec: Option<MacsecSummary>,
}

/// One priority of a host.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct HostPriority {
    /// Which one, 0 to 7.
    pub priority: u8,
    /// Pauses received that name it, XON among them.
    pub pfc_rx_frames: u64,
    /// Those of them that were obeyed.
    pub obeyed_frames: u64,
    /// How often it went from running to paused.
    pub pfc_rx_transitions: u64,
    /// How long it was paused.
    pub pfc_rx_paused_ns: Nanos,
    /// Pauses sent that name it.
    pub pfc_tx_frames: u64,
}

/// What is at the other end of a port: the link's name, and the node's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Far<'a> {
    pub(super) link: &'a str,
    pub(super) node: &'a str,
    pub(super) rate: BitsPerSec,
}

impl NodeOutcome {
    /// It, if it is a switch.
    #[must_use]
    pub const fn as_switch(&self) -> Option<&SwitchOutcome> {
        match self {
            Self::Switch(switch) => Some(switch),
            Self::Host(_) => None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Switch(switch) => &switch.name,
            Self::Host(host) => &host.name,
        }
    }
}

/// A switch at the end of a run.
pub(super) fn switch<'a>(
    id: NodeId,
    snapshot: SwitchSnapshot,
    elapsed: Duration,
    recorder: &Recorder,
    far: &impl Fn(usize) -> Far<'a>,
    agents: (&NodeAgents, Instant),
) -> SwitchOutcome {
    // Ports in memory miss nothing; what lines lose is counted elsewhere.
    let nic = NicCounters { rx_missed: Some(0), ..NicCounters::default() };
    let nics = vec![nic; snapshot.ports.len()];
    let lossless_lost = recorder.lossless_lost(id);
    let (lossless, polls) = (Vec::new(), Vec::new());
    let run = RunSnapshot { switch: snapshot, nics, lossless_lost, lossless, polls };
    let summary = Summary::new(&run, elapsed);
    let port = |(n, counters): (usize, PortSummary)| {
        let id_of = PortId::new(n as u16).expect("a switch's ports have ids");
        let found = agents::port(agents.0, id_of, agents.1);
        let onsets = recorder.onsets(id, id_of).into_iter().flatten();
        let groups = PriorityGroup::ALL.into_iter().zip(onsets).filter(|(_, o)| o.is_set());
        SwitchPort {
            counters: PortSummary { agents: found.summary, ..counters },
            peer: far(n).node.to_owned(),
            groups: groups.map(|(g, onset)| group(g, onset)).collect(),
            measured: found.measured,
            steps: found.steps,
        }
    };
    let congestion = summary.congestion.into_iter().flat_map(|of| of.switch);
    SwitchOutcome {
        name: summary.name,
        ports: summary.ports.into_iter().enumerate().map(port).collect(),
        drops: summary.drops.into_iter().filter(|(_, n)| *n > 0).collect(),
        lossless_lost_frames: summary.lossless_lost_frames,
        balance: summary.balance,
        shared_pool: summary.shared_pool,
        storms: summary.storms,
        congestion: congestion.filter(|(_, n)| *n > 0).collect(),
    }
}

fn group(group: PriorityGroup, onset: &Onset) -> GroupOutcome {
    GroupOutcome {
        group: group.get(),
        first_pause_ns: onset.paused.map(|m| Nanos::at(m.at)),
        frames_to_first_pause: onset.paused.map(|m| m.frames),
        first_drop_ns: onset.dropped.map(|m| Nanos::at(m.at)),
        frames_to_first_drop: onset.dropped.map(|m| m.frames),
        frames_from_first_pause_to_first_drop: onset.frames_between(),
    }
}

/// A host at the end of a run.
pub(super) fn host(
    plan: &NodePlan,
    (c, secy): (&StationCounters, Option<&SecySnapshot>),
    far: Far<'_>,
    agents: (&NodeAgents, Instant),
) -> HostOutcome {
    let priorities = Priority::ALL.into_iter().zip(&c.priorities).map(|(p, c)| HostPriority {
        priority: p.get(),
        pfc_rx_frames: c.received,
        obeyed_frames: c.obeyed,
        pfc_rx_transitions: c.transitions,
        pfc_rx_paused_ns: Nanos(c.paused.saturated()),
        pfc_tx_frames: c.sent,
    });
    let port = HostPort {
        name: far.link.to_owned(),
        peer: far.node.to_owned(),
        rate_bps: far.rate.get(),
        rx_frames: c.rx_frames,
        tx_frames: c.tx_frames,
        rx_bytes: c.rx_bytes,
        tx_bytes: c.tx_bytes,
        pauses_received: c.pauses_received,
        pauses_sent: c.pauses_sent,
        malformed_frames: c.malformed,
        foreign_frames: c.foreign,
        unexpected_frames: c.unexpected,
        priorities: priorities.collect(),
        agents: agents::port(agents.0, PortId::MIN, agents.1).summary,
        macsec: secy.map(MacsecSummary::new),
    };
    HostOutcome { name: plan.name().to_owned(), ports: vec![port] }
}
