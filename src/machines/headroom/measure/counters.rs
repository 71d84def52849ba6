//! Counters and result of a port's measurement.

use arrayvec::ArrayVec;
use ground::counters;
use ground::time::Duration;

use super::sent::Trip;
use crate::samples::{SAMPLES_MAX, Samples};
use wire::headroom::Adjustment;

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

    fn samples(&self, of: impl Fn(&Trip) -> Duration) -> Samples {
        let mut samples = Samples::default();
        self.trips.iter().for_each(|trip| samples.add(of(trip)));
        samples.finish();
        samples
    }
}
