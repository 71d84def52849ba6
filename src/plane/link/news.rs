//! Results of a port's link protocols: events for its switch, and state for display.

use super::plan::Method;
use super::{AgentCounters, AutoState, PortAgents};
use contracts::port::{StampSource, Stamps};
use discovery::{self, Neighbour, Resolved, Surroundings, Topology};
use ground::statistics::Statistics;
use ground::time::{Duration, Instant};
use headroom::{Samples, measure, peer_delay};
use wire::headroom::Adjustment;

/// Event at a port that the link protocols report.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum News {
    /// A measurement began.
    Measuring(Method),
    /// A measurement completed.
    Found(Found),
    /// A measurement had no result.
    Failed(Failure),
    /// A port whose measurement had no result begins another one after this time.
    Again(Duration),
    /// A method cannot be used or had no result, and another is tried.
    Switched { from: Method, to: Method, why: Failure },
    /// DCBX resolved another configuration.
    Negotiated(Resolved),
    /// The congestion capabilities of the peer changed.
    Surroundings(Surroundings),
    /// A neighbour appeared, changed or aged out.
    Neighbours,
}

/// A measured delay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Found {
    pub method: Method,
    /// Number of exchanges.
    pub rounds: u16,
    /// Round trip, or for PTP the mean path delay, one way.
    pub delay: Statistics<Duration>,
    /// The one of these figures, or another percentile, from which the headroom is calculated.
    pub chosen: Duration,
    /// Sources of its times.
    pub sources: Sources,
    /// Largest error, either way. It is that of the stamps. Where the delays differ by more than stamps explain, the
    /// largest difference from the chosen delay is added.
    pub uncertainty: Duration,
    /// Longest time by which frames ahead in the transmit ring make it longer; `None` if it is not known.
    pub in_ring: Option<Duration>,
    /// Internal delay of the peer as advertised by its DCBX.
    pub peer_internal: Option<Duration>,
    /// The peer's reaction to a pause, as it says itself.
    pub peer_reaction: Option<PeerReaction>,
    /// Delay of MACsec that a protected pause meets at both ends, if it was measured.
    pub shims: Option<Duration>,
    /// True if the measurement repeated by itself, and neither the link nor a user asked for it.
    pub repeated: bool,
}

/// Sources of the times of a measured delay. Those of t2 and t3 are the peer's, which does not tell them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sources {
    /// Transmission of the requests: the device's only if it is of all of them.
    pub t1: StampSource,
    /// Reception of the responses.
    pub t4: StampSource,
}

/// The peer's reaction to a pause, with its adjustment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerReaction {
    pub time: Adjustment,
    pub from: ReactionSource,
}

/// Message in which the peer says its reaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReactionSource {
    /// Responses of the measurement.
    Response,
    /// The informational TLV, with a compensation for this method.
    Compensation,
    /// The informational TLV's internal delay, which also has that of the peer's interface, where
    /// the peer's timestamps do not include it.
    InternalDelay,
}

impl ReactionSource {
    /// Description, as the source of a term.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Response => "as the peer says in its responses",
            Self::Compensation => "as the peer says by DCBX",
            Self::InternalDelay => "as the peer says by DCBX, with its interface",
        }
    }
}

/// Reason why a measurement had no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// Too many requests and too few answers.
    #[error(
        "{rounds} answers to {requests} requests: the peer does not answer headroom measurements, \
         or the link loses them; turn `measurement` on there, or raise `requests`"
    )]
    NoAnswer {
        /// Valid answers.
        rounds: u16,
        /// Requests sent.
        requests: u32,
    },
    /// The time for all requests passed before they had left: this end was late.
    #[error(
        "{rounds} answers to {requests} requests before the time for all requests ended: this end \
         sent them late; measure again, with a core of its own for the port's thread"
    )]
    Late {
        /// Valid answers.
        rounds: u16,
        /// Requests sent.
        requests: u32,
    },
    /// PTP's peer delay was not answered.
    #[error("the peer does not answer PTP's peer delay requests; turn PTP on there")]
    NoPeerDelay,
    /// The peer advertises by DCBX that it does not support the configured method.
    #[error("the peer says that it cannot do this measurement; choose the other method")]
    PeerCannot,
}

/// Link protocols of one port at one moment.
#[derive(Clone, Debug)]
pub struct AgentsSnapshot {
    /// Accuracy of its frames' stamps.
    pub stamps: Stamps,
    /// State of the automatic headroom, if configured, and the method that it uses.
    pub auto: Option<(AutoState, Method)>,
    /// Measurement of the round trip.
    pub measure: Option<MeasureSnapshot<measure::Counters>>,
    /// PTP's peer delay.
    pub path_delay: Option<MeasureSnapshot<peer_delay::Counters>>,
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

/// Measurement of the round trip or of the peer delay.
#[derive(Clone, Debug)]
pub struct MeasureSnapshot<C> {
    pub state: measure::State,
    /// The last complete measurement, as it was when it ended. A peer delay is one way.
    pub found: Option<Found>,
    /// Turnaround times of the peer in it; `None` for a peer delay.
    pub turnaround: Option<Statistics<Duration>>,
    /// All delays of that measurement in the reading that headroom uses.
    pub samples: Option<Samples>,
    pub counters: C,
}

impl PortAgents {
    /// Returns the state and results at `now`.
    pub fn snapshot(&self, _now: Instant) -> AgentsSnapshot {
        // Of the last complete measurement: a running one has no result to show.
        let [round_trip, path] = self.results;
        let measure = self.measurer.as_ref().map(|m| MeasureSnapshot {
            state: m.state(),
            found: round_trip,
            turnaround: m.round_trips().map(|t| t.turnaround().figures()),
            samples: self.delays(),
            counters: *m.counters(),
        });
        let path_delay = self.peer_delay.as_ref().map(|p| MeasureSnapshot {
            state: p.state(),
            found: path,
            turnaround: None,
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
