//! What happened to the messages of a port's measurement, and what it came to.

use crate::headroom::samples::Samples;

/// What happened to messages, each under the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Requests sent, alone or on a response.
    pub requests_sent: u64,
    /// Those of them that went on a response.
    pub piggybacked: u64,
    /// Responses sent.
    pub responses_sent: u64,
    /// Requests received.
    pub requests_received: u64,
    /// Requests not answered because the port does not respond.
    pub requests_unanswered: u64,
    /// Requests not answered because too many waited already.
    pub requests_refused: u64,
    /// Messages that came while the link was down.
    pub while_down: u64,
    /// Responses received.
    pub responses_received: u64,
    /// Responses that became a round trip.
    pub round_trips: u64,
    /// Those of them that came behind the response to a later request.
    pub reordered: u64,
    /// Responses to requests of this measurement that came when it had all its round trips.
    pub redundant: u64,
    /// Responses to requests of a measurement before this one, or of one that was given up.
    pub late: u64,
    /// Responses to a request that had one already.
    pub duplicate: u64,
    /// Responses with the number of a request that was never sent.
    pub unknown: u64,
    /// Responses with another t1 than the request of their number has: forged, garbled, or to a
    /// request 256 or more before.
    pub mismatched: u64,
    /// Responses that came before their request left, or whose t3 is before t2, or which were in the
    /// works for longer than they were under way.
    pub impossible: u64,
    /// Measurements begun.
    pub started: u64,
    /// Measurements that got all their round trips.
    pub done: u64,
    /// Measurements given up because all requests were used up.
    pub failed: u64,
}

/// The round trips of a measurement.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RoundTrips {
    /// `(t4 - t1) - (t3 - t2)`: on the way there and back, without the time in the responder. This
    /// is what headroom is reckoned from.
    pub round_trip: Samples,
    /// `t3 - t2`: from the request having been received to the response being sent.
    pub turnaround: Samples,
}
