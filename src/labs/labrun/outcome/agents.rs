//! Results of the link protocols of ports: counters, measured link delays, and the actions of a
//! switch.

use serde::Serialize;

use crate::population::NodeAgents;
use buffer::GroupKind;
use ground::time::{Duration, Instant};
use ground::units::PortId;
use headroom::Accuracy;
use link::AgentsSnapshot;
use results::AgentsSummary;
use switch::{Reconciler, delay_found};

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
pub(super) struct PortFindings {
    pub(super) summary: Option<AgentsSummary>,
    pub(super) measured: Option<MeasuredOutcome>,
    pub(super) steps: Vec<StepOutcome>,
}

/// Returns the link protocol results of one port; `now` is the reading of the node's clock.
pub(super) fn port(agents: &NodeAgents, port: PortId, now: Instant) -> PortFindings {
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
    let accuracy = Accuracy::of(found.uncertainty, rate, frames);
    let value = delay_found(auto, found, auto.shims);
    let given = plan.buffer.groups[port.index()].iter().filter_map(|group| match group.kind {
        GroupKind::Lossless { headroom, .. } => Some(headroom.0),
        GroupKind::Lossy => None,
    });
    Some(MeasuredOutcome {
        method: found.method.name(),
        rounds: found.rounds,
        delay_ns: found.delay.chosen,
        uncertainty_ns: found.uncertainty,
        uncertainty_quanta: accuracy.quanta,
        uncertainty_max_frames: accuracy.max_frames,
        medium_and_internal_bits: value.bits() - frames.unstoppable(),
        delay_value_bytes: value.bytes().0,
        given_bytes: u64::from(given.min().unwrap_or(0)) * u64::from(plan.buffer.cell_bytes),
    })
}
