//! State and results of a port's link protocols, for display.

use super::news::{Found, Spread};
use super::{AgentCounters, AutoState, Method, PortAgents};
use contracts::port::Stamps;
use discovery::{self, Neighbour, Resolved, Topology};
use ground::time::Instant;
use headroom::measure;
use headroom::{Samples, peer_delay};

/// Link protocols of one port at one moment.
#[derive(Clone, Debug)]
pub struct AgentsSnapshot {
    /// Accuracy of its frames' stamps.
    pub stamps: Stamps,
    /// State of the automatic headroom, if configured, and the method that it uses.
    pub auto: Option<(AutoState, Method)>,
    /// Measurement of the round trip.
    pub measure: Option<MeasureSnapshot>,
    /// PTP's peer delay.
    pub path_delay: Option<PathDelaySnapshot>,
    /// Neighbours found by LLDP.
    pub neighbours: Vec<Neighbour>,
    /// Configuration resolved by DCBX.
    pub resolved: Option<Resolved>,
    /// Advertised level in the network.
    pub topology: Option<Topology>,
    pub lldp: Option<discovery::Counters>,
    /// Other counters.
    pub counters: AgentCounters,
}

/// Measurement of the round trip.
#[derive(Clone, Debug)]
pub struct MeasureSnapshot {
    pub state: measure::State,
    /// The last complete measurement, as it was when it ended.
    pub found: Option<Found>,
    /// Turnaround times of the peer in it.
    pub turnaround: Option<Spread>,
    /// All delays of that measurement in the reading that headroom uses.
    pub samples: Option<Samples>,
    pub counters: measure::Counters,
}

/// PTP's peer delay.
#[derive(Clone, Debug)]
pub struct PathDelaySnapshot {
    pub state: peer_delay::State,
    /// The last complete set of exchanges, as it was when it ended. Its delay is one way.
    pub found: Option<Found>,
    /// All delays of those exchanges.
    pub samples: Option<Samples>,
    pub counters: peer_delay::Counters,
}

impl PortAgents {
    /// Returns the state and results at `now`.
    #[must_use]
    pub fn snapshot(&self, _now: Instant) -> AgentsSnapshot {
        let [round_trip, path] = self.results;
        let measure = self.measurer.as_ref().map(|m| MeasureSnapshot {
            state: m.state(),
            found: round_trip,
            turnaround: m.round_trips().map(|t| Spread::of(&t.turnaround(), None)),
            samples: self.delays(),
            counters: *m.counters(),
        });
        let path_delay = self.peer_delay.as_ref().map(|p| PathDelaySnapshot {
            state: p.state(),
            found: path,
            samples: p.estimate().cloned(),
            counters: *p.counters(),
        });
        AgentsSnapshot {
            stamps: self.stamps,
            auto: self.auto.as_ref().map(|auto| (auto.state(), auto.method())),
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
