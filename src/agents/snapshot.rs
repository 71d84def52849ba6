//! What the agents of a port have found out, to show.

use super::news::Spread;
use super::{AgentCounters, AutoState, PortAgents};
use crate::discovery::{self, Neighbour, Resolved, Topology};
use crate::headroom::{measure, peer_delay};
use crate::port::Stamps;
use crate::time::{Duration, Instant};

/// The agents of one port at one moment.
#[derive(Clone, Debug)]
pub struct AgentsSnapshot {
    /// What the times of its frames are worth.
    pub stamps: Stamps,
    /// How far it is with its headroom, where it finds that by itself.
    pub auto: Option<AutoState>,
    /// The measurement of the round trip.
    pub measure: Option<MeasureSnapshot>,
    /// PTP's peer delay.
    pub path_delay: Option<PathDelaySnapshot>,
    /// Who is at the other end, as LLDP has it.
    pub neighbours: Vec<Neighbour>,
    /// What DCBX came to.
    pub resolved: Option<Resolved>,
    /// What it says of its place in the network.
    pub topology: Option<Topology>,
    /// What LLDP counted.
    pub lldp: Option<discovery::Counters>,
    /// What was counted besides.
    pub counters: AgentCounters,
}

/// A measurement of the round trip.
#[derive(Clone, Debug)]
pub struct MeasureSnapshot {
    /// How far it is.
    pub state: measure::State,
    /// The round trips of the last one that was complete.
    pub round_trip: Option<Spread>,
    /// How long the peer took to answer, likewise.
    pub turnaround: Option<Spread>,
    /// Over how many rounds.
    pub rounds: usize,
    /// How far the round trip may be off.
    pub uncertainty: Duration,
    /// What was counted.
    pub counters: measure::Counters,
}

/// PTP's peer delay.
#[derive(Clone, Debug)]
pub struct PathDelaySnapshot {
    /// The mean path delay, one way, of the last exchanges.
    pub delay: Option<Spread>,
    /// What was counted.
    pub counters: peer_delay::Counters,
}

impl PortAgents {
    /// What they have found out until `now`.
    #[must_use]
    pub fn snapshot(&self, _now: Instant) -> AgentsSnapshot {
        let statistic = self.auto.as_ref().map(super::Auto::statistic);
        let measure = self.measurer.as_ref().map(|m| MeasureSnapshot {
            state: m.state(),
            round_trip: m.round_trips().map(|t| Spread::of(&t.round_trip, statistic)),
            turnaround: m.round_trips().map(|t| Spread::of(&t.turnaround, None)),
            rounds: m.round_trips().map_or(0, |t| t.round_trip.count()),
            uncertainty: self.uncertainty(),
            counters: *m.counters(),
        });
        let path_delay = self.peer_delay.as_ref().map(|p| PathDelaySnapshot {
            delay: p.estimate().map(|path| Spread::of(path, statistic)),
            counters: *p.counters(),
        });
        AgentsSnapshot {
            stamps: self.stamps,
            auto: self.auto.as_ref().map(super::Auto::state),
            measure,
            path_delay,
            neighbours: self.lldp.iter().flat_map(|l| l.neighbours().cloned()).collect(),
            resolved: self.resolved().copied(),
            topology: self.lldp.as_ref().and_then(|l| l.topology()),
            lldp: self.lldp.as_ref().map(|l| *l.counters()),
            counters: self.counters,
        }
    }
}
