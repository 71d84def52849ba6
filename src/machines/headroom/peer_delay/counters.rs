//! Counters of the peer delay messages of a port.

/// Counters of messages, each counted under the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Requests sent.
    pub requests_sent: u64,
    /// Responses sent.
    pub responses_sent: u64,
    /// Follow_Ups sent.
    pub follow_ups_sent: u64,
    /// Requests received.
    pub requests_received: u64,
    /// Requests not answered because responding is disabled.
    pub requests_unanswered: u64,
    /// Requests not answered because the queue was full.
    pub requests_refused: u64,
    /// Messages of another domain or profile, other PTP messages, the port's own, and messages
    /// received while the link was down.
    pub ignored: u64,
    /// Responses and Follow_Ups received.
    pub answers_received: u64,
    /// Responses and Follow_Ups to requests of other ports.
    pub for_others: u64,
    /// Responses and Follow_Ups to another request than the last.
    pub late: u64,
    /// Duplicate responses and Follow_Ups.
    pub duplicate: u64,
    /// Responses and Follow_Ups from another port than the first that answered.
    pub other_responder: u64,
    /// Responses and Follow_Ups with impossible times.
    pub impossible: u64,
    /// Exchanges that gave a delay.
    pub exchanges: u64,
    /// Requests without a response.
    pub lost: u64,
    /// Requests with a response but without the announced Follow_Up.
    pub follow_ups_lost: u64,
    /// Sets of exchanges completed.
    pub done: u64,
    /// Sets of exchanges failed.
    pub failed: u64,
}
