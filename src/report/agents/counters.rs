//! Counters of the link protocols by name: one list for tables, JSON and metrics.

use std::collections::BTreeMap;

use crate::headroom::{measure, peer_delay};
use crate::link::{AgentsSnapshot, PathDelaySnapshot};

/// Returns all counters by protocol.
pub(super) fn all(agents: &AgentsSnapshot) -> BTreeMap<String, BTreeMap<String, u64>> {
    fn named<const N: usize>(all: [(&str, u64); N]) -> BTreeMap<String, u64> {
        all.into_iter().map(|(name, n)| (name.to_owned(), n)).collect()
    }
    let mut out = BTreeMap::new();
    if let Some(measure) = &agents.measure {
        out.insert("measurement".into(), named(measure_counters(&measure.counters)));
    }
    if let Some(PathDelaySnapshot { counters, .. }) = &agents.path_delay {
        out.insert("ptp".into(), named(peer_delay_counters(counters)));
    }
    if let Some(c) = &agents.lldp {
        let lldp = named([
            ("frames_out", c.frames_out),
            ("frames_in", c.frames_in),
            ("frames_in_errors", c.frames_in_errors),
            ("frames_discarded", c.frames_discarded),
            ("frames_elsewhere", c.frames_elsewhere),
            ("tlvs_discarded", c.tlvs_discarded),
            ("tlvs_unrecognized", c.tlvs_unrecognized),
            ("ageouts", c.ageouts),
            ("inserts", c.inserts),
            ("deletes", c.deletes),
            ("drops", c.drops),
            ("events_lost", c.events_lost),
        ]);
        out.insert("lldp".into(), lldp);
    }
    let c = &agents.counters;
    let other = named([
        ("malformed", c.malformed),
        ("unwanted", c.unwanted),
        ("unsent", c.unsent),
        ("news_lost", c.news_lost),
    ]);
    out.insert("other".into(), other);
    out
}

/// The counters of the round-trip measurement.
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

/// The counters of PTP's peer delay mechanism.
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
