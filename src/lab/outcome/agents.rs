//! What ports found out by themselves: what agents say of themselves, what it comes to on the link,
//! and the steps that a switch took.

use serde::Serialize;

use super::Nanos;
use crate::agents::{AgentsSnapshot, Method};
use crate::buffer::GroupKind;
use crate::headroom::Accuracy;
use crate::lab::population::NodeAgents;
use crate::report::AgentsSummary;
use crate::switch::{Settler, delay_found};
use crate::time::Instant;
use crate::units::PortId;

/// What a measured delay comes to on a port's link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MeasuredOutcome {
    /// How it was measured: `round_trip` or `ptp`.
    pub method: &'static str,
    /// Over how many exchanges.
    pub rounds: u16,
    /// The delay that counts: the round trip, or for PTP the mean path delay, one way.
    pub delay_ns: Nanos,
    /// How far it may be off, either way.
    pub uncertainty_ns: Nanos,
    /// The same in pause quanta of the link.
    pub uncertainty_quanta: f64,
    /// The same in longest frames of the link.
    pub uncertainty_max_frames: f64,
    /// The medium both ways and everything that takes time at both ends, the peer's reaction among
    /// it, in bit times.
    pub medium_and_internal_bits: u64,
    /// With the frames that no pause can stop: the delay value of 802.1Q Annex N, in octets.
    pub delay_value_bytes: u64,
    /// The headroom that each of the port's lossless groups has now, in octets.
    pub given_bytes: u64,
}

/// One thing that a switch did by what a port found out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StepOutcome {
    /// When, by the switch's clock.
    pub at_ns: Nanos,
    /// What, in words and numbers.
    pub what: String,
    /// Whether it is trouble.
    pub trouble: bool,
}

/// What is told of one port.
#[derive(Clone, Debug, Default)]
pub(super) struct PortFindings {
    pub(super) summary: Option<AgentsSummary>,
    pub(super) measured: Option<MeasuredOutcome>,
    pub(super) steps: Vec<StepOutcome>,
}

/// What the agents of one port come to; `now` is what the node's clock shows.
pub(super) fn port(agents: &NodeAgents, port: PortId, now: Instant) -> PortFindings {
    let settler = agents.settler.as_ref();
    let headroom = settler.and_then(|settler| settler.headroom(port));
    let cell = settler.map_or(1, |settler| settler.plan().buffer.cell_bytes);
    let summary = |(_, snapshot): &(PortId, AgentsSnapshot)| {
        AgentsSummary::new(snapshot, headroom, cell, now)
    };
    PortFindings {
        summary: agents.ports.iter().find(|(id, _)| *id == port).map(summary),
        measured: settler.and_then(|settler| measured(settler, port)),
        steps: settler.map_or_else(Vec::new, |settler| steps(settler, port)),
    }
}

fn steps(settler: &Settler, port: PortId) -> Vec<StepOutcome> {
    let of_port = settler.steps().1.filter(|step| step.port == port);
    of_port
        .map(|step| StepOutcome {
            at_ns: Nanos::at(step.at),
            what: step.kind.to_string(),
            trouble: step.kind.is_trouble(),
        })
        .collect()
}

fn measured(settler: &Settler, port: PortId) -> Option<MeasuredOutcome> {
    let found = &settler.headroom(port)?.found;
    let plan = settler.plan();
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
        method: match found.method {
            Method::RoundTrip => "round_trip",
            Method::PeerDelay => "ptp",
        },
        rounds: found.rounds,
        delay_ns: Nanos(found.delay.chosen),
        uncertainty_ns: Nanos(found.uncertainty),
        uncertainty_quanta: accuracy.quanta,
        uncertainty_max_frames: accuracy.max_frames,
        medium_and_internal_bits: value.bits() - frames.unstoppable(),
        delay_value_bytes: value.bytes().0,
        given_bytes: u64::from(given.min().unwrap_or(0)) * u64::from(plan.buffer.cell_bytes),
    })
}
