//! What agents counted, by name: one list for tables, JSON and metrics.

use crate::headroom::{measure, peer_delay};

/// The counters of a measurement of round trips.
#[must_use]
pub const fn measure_counters(c: &measure::Counters) -> [(&'static str, u64); 19] {
    [
        ("requests_sent", c.requests_sent),
        ("piggybacked", c.piggybacked),
        ("responses_sent", c.responses_sent),
        ("requests_received", c.requests_received),
        ("requests_unanswered", c.requests_unanswered),
        ("requests_refused", c.requests_refused),
        ("while_down", c.while_down),
        ("responses_received", c.responses_received),
        ("round_trips", c.round_trips),
        ("reordered", c.reordered),
        ("redundant", c.redundant),
        ("late", c.late),
        ("duplicate", c.duplicate),
        ("unknown", c.unknown),
        ("mismatched", c.mismatched),
        ("impossible", c.impossible),
        ("started", c.started),
        ("done", c.done),
        ("failed", c.failed),
    ]
}

/// The counters of PTP's peer delay.
#[must_use]
pub const fn peer_delay_counters(c: &peer_delay::Counters) -> [(&'static str, u64); 18] {
    [
        ("requests_sent", c.requests_sent),
        ("responses_sent", c.responses_sent),
        ("follow_ups_sent", c.follow_ups_sent),
        ("requests_received", c.requests_received),
        ("requests_unanswered", c.requests_unanswered),
        ("requests_refused", c.requests_refused),
        ("ignored", c.ignored),
        ("answers_received", c.answers_received),
        ("for_others", c.for_others),
        ("late", c.late),
        ("duplicate", c.duplicate),
        ("other_responder", c.other_responder),
        ("impossible", c.impossible),
        ("exchanges", c.exchanges),
        ("lost", c.lost),
        ("follow_ups_lost", c.follow_ups_lost),
        ("done", c.done),
        ("failed", c.failed),
    ]
}
