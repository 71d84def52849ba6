//! Events that link protocols report to their switch.

use super::plan::{Method, Statistic};
use contracts::port::StampSource;
use discovery::{Resolved, Surroundings};
use ground::time::Duration;
use headroom::Samples;

/// Event at a port that the link protocols report.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum News {
    /// A measurement began.
    Measuring(Method),
    /// A measurement completed.
    Found(Found),
    /// A measurement had no result.
    Failed(Failure),
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
    pub delay: Spread,
    /// Source of the stamps.
    pub stamps: StampSource,
    /// Largest error, either way.
    pub uncertainty: Duration,
    /// Internal delay of the peer as advertised by its DCBX.
    pub peer_internal: Option<Duration>,
}

/// Distribution of measured delays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spread {
    pub min: Duration,
    pub mean: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    pub max: Duration,
    /// The one used for the headroom.
    pub chosen: Duration,
}

impl Spread {
    /// Distribution of `delays`, of which `statistic` is used (default: the longest).
    #[must_use]
    pub fn of(delays: &Samples, statistic: Option<Statistic>) -> Self {
        let chosen = match statistic.unwrap_or_default() {
            Statistic::Max => delays.max(),
            Statistic::Mean => delays.mean(),
            Statistic::Percentile(n) => delays.percentile(n),
        };
        Self {
            min: delays.min(),
            mean: delays.mean(),
            p99: delays.percentile(99),
            max: delays.max(),
            chosen,
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
        requests: u16,
    },
    /// PTP's peer delay was not answered.
    #[error("the peer does not answer PTP's peer delay requests; turn PTP on there")]
    NoPeerDelay,
    /// The peer advertises by DCBX that it does not support the configured method.
    #[error("the peer says that it cannot do this measurement; choose the other method")]
    PeerCannot,
}
