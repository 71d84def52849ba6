//! Counters and result of a port's measurement.

use crate::samples::Samples;

/// Counters of messages, each counted under the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Requests sent, alone or piggybacked on a response.
    pub requests_sent: u64,
    /// Requests piggybacked on a response.
    pub piggybacked: u64,
    /// Responses sent.
    pub responses_sent: u64,
    /// Requests received.
    pub requests_received: u64,
    /// Requests not answered because responding is disabled.
    pub requests_unanswered: u64,
    /// Requests not answered because the queue was full.
    pub requests_refused: u64,
    /// Messages received while the link was down.
    pub while_down: u64,
    /// Responses received.
    pub responses_received: u64,
    /// Responses that gave a round trip.
    pub round_trips: u64,
    /// Round trips whose response arrived after the response to a later request.
    pub reordered: u64,
    /// Responses to requests of this measurement after its last round trip.
    pub redundant: u64,
    /// Responses to requests of an earlier or abandoned measurement.
    pub late: u64,
    /// Responses to a request that already had one.
    pub duplicate: u64,
    /// Responses with the sequence number of a request that was never sent.
    pub unknown: u64,
    /// Responses whose t1 differs from that of the request with their number: forged, corrupted, or
    /// to a request 256 or more before.
    pub mismatched: u64,
    /// Responses that arrived before their request left, or whose t3 is before t2, or whose
    /// turnaround exceeds the round trip.
    pub impossible: u64,
    /// Measurements started.
    pub started: u64,
    /// Measurements completed with all round trips.
    pub done: u64,
    /// Measurements failed because the maximum number of requests was reached.
    pub failed: u64,
}

/// Round trips of a measurement.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RoundTrips {
    /// `(t4 - t1) - (t3 - t2)`: both directions, without the turnaround in the responder. Headroom
    /// is calculated from this.
    pub round_trip: Samples,
    /// `t3 - t2`: from reception of the request to transmission of the response.
    pub turnaround: Samples,
}
