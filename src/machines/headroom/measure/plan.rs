//! Configuration, counters and result of a port's measurement.

use arrayvec::ArrayVec;

use super::sent::Trip;
use crate::{SAMPLES_MAX, Samples};
use ground::counters;
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
    /// [`InitiatePlan::requests_least`] to 256, because sequence numbers have eight bits and an old response
    /// must not match a new request.
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
        // Numbers have eight bits: with more requests an old response could match a new request.
        let requests = self.requests_least()..=256;
        assert!(requests.contains(&self.requests_max), "{} requests", self.requests_max);
        assert!(self.spacing_max >= self.spacing_min, "the most is less than the least");
        assert!(self.spacing_max > Duration::ZERO, "requests without end at once");
    }
}

counters! {
    /// Counters of messages, each counted under the first that applies.
    Counters {
        /// Requests sent, alone or piggybacked on a response.
        requests_sent,
        /// Requests piggybacked on a response.
        piggybacked,
        /// Responses sent.
        responses_sent,
        /// Requests received.
        requests_received,
        /// Requests not answered because responding is disabled.
        requests_unanswered,
        /// Requests not answered because the queue was full.
        requests_refused,
        /// Messages received while the link was down.
        while_down,
        /// Responses received.
        responses_received,
        /// Responses that gave a round trip.
        round_trips,
        /// Round trips whose response arrived after the response to a later request.
        reordered,
        /// Responses to requests of this measurement after its last round trip.
        redundant,
        /// Responses to requests of an earlier or abandoned measurement.
        late,
        /// Responses to a request that already had one.
        duplicate,
        /// Responses with the sequence number of a request that was never sent.
        unknown,
        /// Responses whose t1 differs from that of the request with their number: forged,
        /// corrupted, or to a request 256 or more before.
        mismatched,
        /// Responses that arrived before their request left, or whose t3 is before t2, or whose
        /// turnaround exceeds the round trip.
        impossible,
        /// Measurements started.
        started,
        /// Measurements completed with all round trips.
        done,
        /// Measurements failed: too few round trips with all requests, or in the time for them.
        failed,
    }
}

/// Round trips of a measurement. Statistics are calculated when they are read: a measurement ends while
/// frames wait.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RoundTrips {
    pub(super) trips: ArrayVec<Trip, SAMPLES_MAX>,
    /// Round trips whose t1 is a time of software, and not the device's timestamp.
    pub t1_by_software: u16,
    /// Largest compensation in the responses, if they have it.
    pub compensation: Option<Adjustment>,
    /// Delay of MACsec that a protected frame meets on its way to the peer, if it is measured.
    pub shims: Samples,
}

impl RoundTrips {
    /// Returns the number of round trips.
    #[must_use]
    pub fn count(&self) -> usize {
        self.trips.len()
    }

    /// Returns `(t4 - t1) - (t3 - t2)`: both directions, without the turnaround in the responder; zero where
    /// the responder's clock makes the turnaround longer. Headroom is calculated from this.
    #[must_use]
    pub fn round_trip(&self) -> Samples {
        // On a very short link the drift of the responder's clock may exceed the time on the way.
        self.samples(|trip| trip.elapsed.saturating_sub(trip.turnaround))
    }

    /// Returns `t3 - t2`: from reception of the request to transmission of the response.
    #[must_use]
    pub fn turnaround(&self) -> Samples {
        self.samples(|trip| trip.turnaround)
    }

    /// Returns `t4 - t1`: both directions with the turnaround, the short form of the proposal.
    #[must_use]
    pub fn elapsed(&self) -> Samples {
        self.samples(|trip| trip.elapsed)
    }

    fn samples(&self, value: impl Fn(&Trip) -> Duration) -> Samples {
        let mut samples = Samples::default();
        self.trips.iter().for_each(|trip| samples.add(value(trip)));
        samples.finish();
        samples
    }
}
