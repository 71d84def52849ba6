//! What happened to the peer delay messages of a port.

/// What happened to messages, each under the first that applies.
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
    /// Requests not answered because the port does not respond.
    pub requests_unanswered: u64,
    /// Requests not answered because too many waited already.
    pub requests_refused: u64,
    /// Messages of another domain or profile, other messages of PTP, the port's own, and those that
    /// came while the link was down.
    pub ignored: u64,
    /// Responses and Follow_Ups received.
    pub answers_received: u64,
    /// Those to requests of other ports.
    pub for_others: u64,
    /// Those to another request than the last.
    pub late: u64,
    /// Those that had come before.
    pub duplicate: u64,
    /// Those from another port than the first that answered.
    pub other_responder: u64,
    /// Those that make times that cannot be.
    pub impossible: u64,
    /// Exchanges that gave a delay.
    pub exchanges: u64,
    /// Requests that were never answered.
    pub lost: u64,
    /// Requests that were answered without the Follow_Up that was announced.
    pub follow_ups_lost: u64,
    /// Sets of exchanges that were answered.
    pub done: u64,
    /// Sets of exchanges that were not.
    pub failed: u64,
}
