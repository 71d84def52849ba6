//! What agents have to tell the switch that they are part of.

use super::plan::{Method, Statistic};
use crate::discovery::{Resolved, Surroundings};
use crate::headroom::Samples;
use crate::port::StampSource;
use crate::time::Duration;

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum News {
    /// A measurement began.
    Measuring(Method),
    /// It came to its end.
    Found(Found),
    /// It did not.
    Failed(Failure),
    /// DCBX came to another result.
    Negotiated(Resolved),
    /// What is at the other end, as far as congestion goes, is something else.
    Surroundings(Surroundings),
    /// A neighbour came, changed or went.
    Neighbours,
}

/// A delay that was measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Found {
    /// How.
    pub method: Method,
    /// Over how many exchanges.
    pub rounds: u16,
    /// The delay: the round trip, or for PTP the mean path delay, one way.
    pub delay: Spread,
    /// Which stamps it was measured by.
    pub stamps: StampSource,
    /// How far it may be off, either way.
    pub uncertainty: Duration,
    /// The peer's internal delay as its DCBX says it.
    pub peer_internal: Option<Duration>,
}

/// How measured delays are spread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spread {
    /// The shortest.
    pub min: Duration,
    /// Their mean.
    pub mean: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
    /// The one that counts for the headroom.
    pub chosen: Duration,
}

impl Spread {
    /// Of measured delays, of which `statistic` counts (the longest, if none is said).
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

/// Why a measurement came to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// Too many requests and too few answers.
    #[error(
        "{rounds} answers to {requests} requests: the peer does not answer headroom measurements, \
         or the link loses them; turn `measurement` on there, or raise `requests`"
    )]
    NoAnswer {
        /// Answers that counted.
        rounds: u16,
        /// Requests sent.
        requests: u16,
    },
    /// PTP's peer delay was not answered.
    #[error("the peer does not answer PTP's peer delay requests; turn PTP on there")]
    NoPeerDelay,
    /// The peer says by DCBX that it cannot do what is asked for.
    #[error("the peer says that it cannot do this measurement; choose the other method")]
    PeerCannot,
}
