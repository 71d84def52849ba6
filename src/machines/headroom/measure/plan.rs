//! Configuration of the measurement of one port.

use ground::time::Duration;
use wire::headroom::{Adjustment, Dialect};

/// The measurement of one port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeasurePlan {
    /// True if requests of the peer are answered.
    pub respond: bool,
    /// Parameters of this port's measurements; `None` if it does not initiate any.
    pub initiate: Option<InitiatePlan>,
    /// Encoding of messages.
    pub dialect: Dialect,
    /// Time that this port takes to obey a pause, with its adjustment, for responses that carry it
    /// (HD of the proposal).
    pub compensation: Option<Adjustment>,
}

/// Parameters of a measurement: rounds, spacing, and limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InitiatePlan {
    /// Round trips to be measured (N of the proposal), 1 to 256; with `shims` 1 to 128, those of
    /// plain frames.
    pub rounds: u16,
    /// Minimum time between two requests (t).
    pub spacing_min: Duration,
    /// Time after which the next request is sent without a response (T); at least `spacing_min`.
    pub spacing_max: Duration,
    /// Maximum number of requests of one measurement (M), after which it fails.
    /// [`InitiatePlan::requests_least`] to 256, because sequence numbers have eight bits and an old response must not match a new request.
    pub requests_max: u16,
    /// Time from the end of a measurement to the start of the next one; `None` to measure once.
    pub period: Option<Duration>,
    /// True if a request may be piggybacked on a response.
    pub piggyback: bool,
    /// True if requests of odd number, and their responses, are protected by MACsec, and others plain. Round
    /// trips are then those of plain ones, and the delay of MACsec is measured by the others, so a round
    /// trip takes two requests. A frame has one number, so requests are not piggybacked.
    pub shims: bool,
}

impl InitiatePlan {
    /// 100 rounds, 400 us to 500 us apart, in at most 200 requests: 50 ms without loss, 100 ms at
    /// most. The proposal has no defaults; these are our choice.
    pub const DEFAULT: Self = Self {
        rounds: 100,
        spacing_min: Duration::from_micros(400),
        spacing_max: Duration::from_micros(500),
        requests_max: 200,
        period: None,
        piggyback: true,
        shims: false,
    };

    /// Returns the number of requests that the round trips take if none is lost.
    #[must_use]
    pub const fn requests_least(&self) -> u16 {
        if self.shims { self.rounds.saturating_mul(2) } else { self.rounds }
    }

    /// Panics if a number is out of the range that its field states.
    pub(super) fn assert_sound(&self) {
        assert!((1..=256).contains(&self.rounds), "{} rounds", self.rounds);
        let requests = self.requests_least()..=256;
        assert!(requests.contains(&self.requests_max), "{} requests", self.requests_max);
        assert!(self.spacing_max >= self.spacing_min, "the most is less than the least");
        assert!(self.spacing_max > Duration::ZERO, "requests without end at once");
    }
}
