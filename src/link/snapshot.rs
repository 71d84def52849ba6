//! State and results of a port's link protocols, for display.

use super::news::{Sources, Spread};
use super::{AgentCounters, AutoState, PortAgents};
use contracts::port::Stamps;
use discovery::{self, Neighbour, Resolved, Topology};
use ground::time::{Duration, Instant};
use headroom::measure::{self, RoundTrips};
use headroom::{Samples, peer_delay};

/// Link protocols of one port at one moment.
#[derive(Clone, Debug)]
pub struct AgentsSnapshot {
    /// Accuracy of its frames' stamps.
    pub stamps: Stamps,
    /// State of the automatic headroom, if configured.
    pub auto: Option<AutoState>,
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
    /// Round trips of the last complete measurement.
    pub round_trip: Option<Spread>,
    /// Turnaround times of the peer in it.
    pub turnaround: Option<Spread>,
    pub rounds: usize,
    /// All delays of that measurement in the reading that headroom uses.
    pub samples: Option<Samples>,
    /// Sources of its times, of the last complete measurement.
    pub sources: Sources,
    /// Largest error of the round trip, either way.
    pub uncertainty: Duration,
    /// Longest time by which frames ahead in the transmit ring make it longer; `None` if it is not known.
    pub in_ring: Option<Duration>,
    pub counters: measure::Counters,
}

/// PTP's peer delay.
#[derive(Clone, Debug)]
pub struct PathDelaySnapshot {
    /// Mean path delay, one way, of the last exchanges.
    pub delay: Option<Spread>,
    /// All delays of those exchanges.
    pub samples: Option<Samples>,
    /// Sources of its times, of the last exchanges.
    pub sources: Sources,
    pub counters: peer_delay::Counters,
}

impl PortAgents {
    /// Returns the state and results at `now`.
    #[must_use]
    pub fn snapshot(&self, _now: Instant) -> AgentsSnapshot {
        let statistic = self.auto.as_ref().map(super::Auto::statistic);
        let measure = self.measurer.as_ref().map(|m| {
            let by_software = m.round_trips().map_or(1, |t| t.t1_by_software);
            let sources = self.sources(by_software);
            MeasureSnapshot {
                state: m.state(),
                round_trip: m.round_trips().map(|t| Spread::of(&t.round_trip(), statistic)),
                turnaround: m.round_trips().map(|t| Spread::of(&t.turnaround(), None)),
                rounds: m.round_trips().map_or(0, RoundTrips::count),
                samples: self.delays(),
                sources,
                uncertainty: self.uncertainty(sources),
                in_ring: self.in_ring(sources),
                counters: *m.counters(),
            }
        });
        let path_delay = self.peer_delay.as_ref().map(|p| PathDelaySnapshot {
            delay: p.estimate().map(|path| Spread::of(path, statistic)),
            samples: p.estimate().cloned(),
            sources: self.path_sources(p.estimate().map_or(1, |_| p.t1_by_software())),
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
