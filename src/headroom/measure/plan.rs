//! What the measurement of one port is told.

use crate::time::Duration;
use crate::wire::headroom::Dialect;

/// The measurement of one port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeasurePlan {
    /// Whether requests of the peer are answered.
    pub respond: bool,
    /// How this port measures, if it does.
    pub initiate: Option<InitiatePlan>,
    /// How messages are read and written.
    pub dialect: Dialect,
}

/// A measurement: how many rounds, how far apart, and when it is given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InitiatePlan {
    /// Round trips to be measured (N of the proposal), 1 to 256.
    pub rounds: u16,
    /// The least time between two requests (t).
    pub spacing_min: Duration,
    /// The time after which the next request is sent whatever came in (T); at least `spacing_min`.
    pub spacing_max: Duration,
    /// The most requests of one measurement (M): with more it has failed. `rounds` to 256, because
    /// sequence numbers have eight bits and an old response must not pass for a new one.
    pub requests_max: u16,
    /// When to measure again by itself, counted from the end of a measurement.
    pub period: Option<Duration>,
    /// Whether a request may ride on a response.
    pub piggyback: bool,
}

impl InitiatePlan {
    /// 100 rounds, at most 500 us and at least 400 us apart, in at most 200 requests: 50 ms where
    /// nothing is lost, 100 ms at most. The proposal has no defaults; these are a choice.
    pub const DEFAULT: Self = Self {
        rounds: 100,
        spacing_min: Duration::from_micros(400),
        spacing_max: Duration::from_micros(500),
        requests_max: 200,
        period: None,
        piggyback: true,
    };
}
