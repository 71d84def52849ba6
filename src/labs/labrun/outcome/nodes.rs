//! Results of each node, with those of the link protocols of its ports: counters, measured link delays, and the
//! actions of a switch.

use std::collections::BTreeMap;

use crate::population::NodeAgents;
use crate::record::{Onset, Recorder};
use buffer::GroupKind;
use contracts::stats::{Drops, NicCounters, PortSnapshot, SharedPool, Storms, SwitchSnapshot};
use ground::time::{Duration, Instant, Total};
use ground::units::{BitsPerSec, PortId, PriorityGroup, PrioritySet};
use headroom::Accuracy;
use host::{SfcmCounters, StationCounters};
use link::AgentsSnapshot;
use results::{AgentsSummary, BalanceSummary, MacsecSummary, PortSummary};
use secure::SecySnapshot;
use serde::Serialize;
use sim::{NodeId, NodePlan};
use switch::{Reconciler, delay_found};

#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum NodeOutcome {
    Switch(SwitchOutcome),
    Host(HostOutcome),
}

/// A switch, with the field names of a real switch's summary.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SwitchOutcome {
    pub name: String,
    pub ports: Vec<SwitchPort>,
    /// Dropped frames by reason, without zeros.
    pub drops: Box<Drops>,
    /// Frames of lossless groups that it dropped because of congestion.
    pub lossless_lost_frames: u64,
    /// Frame conservation: every frame is accounted for.
    pub balance: BalanceSummary,
    pub shared_pool: SharedPool,
    /// PFC storms of all ports.
    pub storms: Storms,
    /// Congestion counters by name, without zeros.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub congestion: BTreeMap<String, u64>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SwitchPort {
    /// Counters as in a real switch's summary.
    #[serde(flatten)]
    pub summary: PortSummary,
    /// Node at the other end of the link.
    pub peer: String,
    /// First pause and first drop of the groups that ever paused or dropped.
    pub groups: Vec<GroupOutcome>,
    /// Measured link delay, for a port with `auto` headroom after its first measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredOutcome>,
    /// Actions of the switch that followed from measurements, the latest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepOutcome>,
}

/// First pause and first drop of an ingress group.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct GroupOutcome {
    /// Priority group, 0 to 7.
    pub group: u8,
    /// Time at which it first crossed its XOFF threshold.
    pub first_pause_ns: Option<Duration>,
    /// Number of the frame that crossed it, from 1, among the data frames of the group.
    pub frames_to_first_pause: Option<u64>,
    /// Time at which it first dropped a frame.
    pub first_drop_ns: Option<Duration>,
    /// Number of that frame, from 1.
    pub frames_to_first_drop: Option<u64>,
    /// Difference of the two: 1 if the frame after the one that crossed the threshold was dropped.
    pub frames_from_first_pause_to_first_drop: Option<u64>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HostOutcome {
    pub name: String,
    /// The only port.
    pub ports: Vec<HostPort>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HostPort {
    /// Name of the link.
    pub name: String,
    /// Node at the other end of the link.
    pub peer: String,
    /// Link rate in bit/s.
    pub rate_bps: u64,
    #[serde(flatten)]
    pub counters: StationCounters,
    /// Link protocols of the port, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentsSummary>,
    /// Source flow control messages, if the host obeys any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sfcm: Option<SfcmOutcome>,
    /// MACsec counters, if it is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macsec: Option<MacsecSummary>,
}

/// Source flow control messages that a host received.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SfcmOutcome {
    pub received: u64,
    /// Messages that were obeyed: they started, extended or ended a pause, or a longer one was running.
    pub obeyed: u64,
    /// Messages with invalid bytes, of another sender, host or flow, or about messages.
    pub refused: u64,
    /// Messages whose PCP and DSCP are of different priorities by the maps of the host's port.
    pub disagreed: u64,
    /// Obeyed messages whose locator says incast.
    pub incast: u64,
    /// Obeyed messages whose locator says in-network.
    pub in_network: u64,
    /// Messages that gave a flow another path.
    pub rerouted: u64,
    /// Total pause time of flows, or of priorities.
    #[serde(serialize_with = "ground::time::nanos::exact")]
    pub paused_ns: Total,
}

impl SfcmOutcome {
    fn new(c: &SfcmCounters) -> Self {
        Self {
            received: c.received,
            obeyed: c.paused + c.resumed + c.redundant,
            refused: c.refused(),
            disagreed: c.disagreed,
            incast: c.incast,
            in_network: c.in_network,
            rerouted: c.rerouted,
            paused_ns: c.time,
        }
    }
}

/// Names of the link and the node at the far end of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Far<'a> {
    pub(super) link: &'a str,
    pub(super) node: &'a str,
    pub(super) rate: BitsPerSec,
}

impl NodeOutcome {
    /// Returns the switch, `None` for a host.
    pub const fn as_switch(&self) -> Option<&SwitchOutcome> {
        match self {
            Self::Switch(switch) => Some(switch),
            Self::Host(_) => None,
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Switch(switch) => &switch.name,
            Self::Host(host) => &host.name,
        }
    }
}

/// Returns the results of a switch.
pub(super) fn switch<'a>(
    id: NodeId,
    snapshot: SwitchSnapshot,
    recorder: &Recorder,
    far: &impl Fn(usize) -> Far<'a>,
    agents: (&NodeAgents, Instant),
) -> SwitchOutcome {
    let port = |(n, snapshot): (usize, &PortSnapshot)| {
        // Ports in memory drop nothing at the NIC; line losses are counted elsewhere.
        let summary = PortSummary::new(snapshot, NicCounters::NO_DEVICE, PrioritySet::EMPTY);
        let id_of = PortId::new(n as u16).expect("a switch's ports have ids");
        let found = port(agents.0, id_of, agents.1);
        let onsets = recorder.onsets(id, id_of).into_iter().flatten();
        // Groups that never paused or dropped would fill the results with nulls.
        let groups = PriorityGroup::ALL.into_iter().zip(onsets).filter(|(_, o)| o.is_set());
        SwitchPort {
            summary: PortSummary { agents: found.summary, ..summary },
            peer: far(n).node.to_owned(),
            groups: groups.map(|(g, onset)| group(g, onset)).collect(),
            measured: found.measured,
            steps: found.steps,
        }
    };
    let congestion = snapshot.congestion.iter().flat_map(|of| of.of_switch());
    let congestion = congestion.filter(|(_, n)| *n > 0).map(|(name, n)| (name.to_owned(), n));
    SwitchOutcome {
        ports: snapshot.ports.iter().enumerate().map(port).collect(),
        drops: Box::new(snapshot.drops()),
        lossless_lost_frames: recorder.lossless_lost(id),
        balance: BalanceSummary::new(&snapshot),
        shared_pool: snapshot.shared_pool,
        storms: snapshot.storms(),
        congestion: congestion.collect(),
        name: snapshot.name,
    }
}

fn group(group: PriorityGroup, onset: &Onset) -> GroupOutcome {
    GroupOutcome {
        group: group.get(),
        first_pause_ns: onset.paused.map(|m| m.at.since_start()),
        frames_to_first_pause: onset.paused.map(|m| m.frames),
        first_drop_ns: onset.dropped.map(|m| m.at.since_start()),
        frames_to_first_drop: onset.dropped.map(|m| m.frames),
        frames_from_first_pause_to_first_drop: onset.frames_between(),
    }
}

/// Counters of a host at the end of a run.
pub(super) struct HostCounters<'a> {
    pub(super) counters: StationCounters,
    pub(super) secy: Option<&'a SecySnapshot>,
    pub(super) sfcm: Option<&'a SfcmCounters>,
}

/// Returns the results of a host.
pub(super) fn host(
    plan: &NodePlan,
    found: HostCounters<'_>,
    far: Far<'_>,
    agents: (&NodeAgents, Instant),
) -> HostOutcome {
    let port = HostPort {
        name: far.link.to_owned(),
        peer: far.node.to_owned(),
        rate_bps: far.rate.get(),
        counters: found.counters,
        agents: port(agents.0, PortId::MIN, agents.1).summary,
        sfcm: found.sfcm.map(SfcmOutcome::new),
        macsec: found.secy.map(MacsecSummary::new),
    };
    HostOutcome { name: plan.name().to_owned(), ports: vec![port] }
}

/// Measured delay of a port's link, and the headroom calculated from it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MeasuredOutcome {
    /// Method: `round_trip` or `ptp`.
    pub method: &'static str,
    /// Number of exchanges.
    pub rounds: u16,
    /// Measured delay: the round trip, or for PTP the mean path delay (one way).
    pub delay_ns: Duration,
    /// Uncertainty of the delay, in either direction.
    pub uncertainty_ns: Duration,
    /// Uncertainty in pause quanta of the link.
    pub uncertainty_quanta: f64,
    /// Uncertainty in frames of the link's maximum length.
    pub uncertainty_max_frames: f64,
    /// Delay of the medium in both directions and internal delays at both ends, the peer's response
    /// time included, in bit times.
    pub medium_and_internal_bits: u64,
    /// Delay value of 802.1Q Annex N, in bytes: the above and the frames that no pause can stop.
    pub delay_value_bytes: u64,
    /// Current headroom of each of the port's lossless groups, in bytes.
    pub given_bytes: u64,
}

/// An action of a switch that follows from a port's link protocols.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StepOutcome {
    /// Time, by the switch's clock.
    pub at_ns: Duration,
    /// Description with numbers.
    pub what: String,
    /// True for an error or a warning.
    pub trouble: bool,
}

/// Link protocol results of one port.
#[derive(Clone, Debug, Default)]
struct PortFindings {
    summary: Option<AgentsSummary>,
    measured: Option<MeasuredOutcome>,
    steps: Vec<StepOutcome>,
}

/// Returns the link protocol results of one port; `now` is the reading of the node's clock.
fn port(agents: &NodeAgents, port: PortId, now: Instant) -> PortFindings {
    let reconciler = agents.reconciler.as_ref();
    let headroom = reconciler.and_then(|reconciler| reconciler.headroom(port));
    let cell = reconciler.map_or(1, |reconciler| reconciler.plan().buffer.cell_bytes);
    let summary = |(_, snapshot): &(PortId, AgentsSnapshot)| {
        AgentsSummary::new(snapshot, headroom, cell, now)
    };
    PortFindings {
        summary: agents.ports.iter().find(|(id, _)| *id == port).map(summary),
        measured: reconciler.and_then(|reconciler| measured(reconciler, port)),
        steps: reconciler.map_or_else(Vec::new, |reconciler| steps(reconciler, port)),
    }
}

fn steps(reconciler: &Reconciler, port: PortId) -> Vec<StepOutcome> {
    let of_port = reconciler.steps().1.filter(|step| step.port == port);
    of_port
        .map(|step| StepOutcome {
            at_ns: step.at.since_start(),
            what: step.kind.to_string(),
            trouble: step.kind.is_trouble(),
        })
        .collect()
}

fn measured(reconciler: &Reconciler, port: PortId) -> Option<MeasuredOutcome> {
    let found = &reconciler.headroom(port)?.found;
    let plan = reconciler.plan();
    let auto = plan.ports[port.index()].agents.as_ref()?.auto.as_ref()?;
    let frames = auto.link.frames();
    let rate = auto.link.rate();
    // In quanta and maximum frames, as nanoseconds say little without the rate of the link (S4).
    let accuracy = Accuracy::of(found.uncertainty, rate, frames);
    let value = delay_found(auto, found, auto.shims);
    let given = plan.buffer.groups[port.index()].iter().filter_map(|group| match group.kind {
        GroupKind::Lossless { headroom, .. } => Some(headroom.0),
        GroupKind::Lossy => None,
    });
    Some(MeasuredOutcome {
        method: found.method.name(),
        rounds: found.rounds,
        delay_ns: found.chosen,
        uncertainty_ns: found.uncertainty,
        uncertainty_quanta: accuracy.quanta,
        uncertainty_max_frames: accuracy.max_frames,
        // Without the frames that no pause can stop, which are no delay of the link.
        medium_and_internal_bits: value.bits() - frames.unstoppable(),
        delay_value_bytes: value.bytes().0,
        // The least of all groups: that is the one that may overflow.
        given_bytes: u64::from(given.min().unwrap_or(0)) * u64::from(plan.buffer.cell_bytes),
    })
}
