//! What the two ends of an answered flow said to each other.

use serde::Serialize;

use super::Nanos;
use crate::host::{Latency, ReceiverCounters, SenderCounters};

/// A flow whose receiver answers.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TransportOutcome {
    /// `roce` or `tcp`.
    pub kind: &'static str,
    /// Whether it had nothing more to send at the end.
    pub done: bool,
    /// Octets of its messages that arrived in order.
    pub delivered_bytes: u64,
    /// Octets of its messages that were acknowledged.
    pub acknowledged_bytes: u64,
    /// Frames that had been sent before.
    pub retransmitted_frames: u64,
    /// Timeouts that ran out.
    pub timeouts: u64,
    /// Packets that arrived behind a gap.
    pub out_of_order_frames: u64,
    /// Packets that had arrived before.
    pub repeated_frames: u64,
    /// Acknowledgements that the receiver sent.
    pub acks_sent: u64,
    /// Acknowledgements that reached the sender.
    pub acks_received: u64,
    /// Negative ones that the receiver sent.
    pub naks_sent: u64,
    /// Negative ones that reached the sender.
    pub naks_received: u64,
    /// Congestion notifications that the receiver sent.
    pub cnps_sent: u64,
    /// Congestion notifications that reached the sender.
    pub cnps_received: u64,
    /// The rate that the sender kept to at the end, in bit/s of frames.
    pub rate_bps: u64,
    /// Octets in flight that a TCP-like sender allowed itself at the end.
    pub window_bytes: Option<u64>,
    /// Messages that were acknowledged whole.
    pub messages: u64,
    /// The shortest time that one took.
    pub fct_min_ns: Option<Nanos>,
    /// How long they took on average.
    pub fct_mean_ns: Option<Nanos>,
    /// Half took no longer, exact to three digits.
    pub fct_p50_ns: Option<Nanos>,
    /// 99 of 100 took no longer, exact to three digits.
    pub fct_p99_ns: Option<Nanos>,
    /// The longest.
    pub fct_max_ns: Option<Nanos>,
}

impl TransportOutcome {
    /// `times` are those of its messages, if it has more than one.
    pub(super) fn new(
        kind: &'static str,
        s: &SenderCounters,
        times: Option<&Latency>,
        r: &ReceiverCounters,
    ) -> Self {
        let messages = s.completions.messages;
        let percentile = |p| match times.filter(|times| times.count() > 0) {
            Some(times) => Some(Nanos(times.percentile(p))),
            None => s.completions.fct_max.map(Nanos),
        };
        Self {
            kind,
            done: s.done,
            delivered_bytes: r.delivered,
            acknowledged_bytes: s.acknowledged,
            retransmitted_frames: s.retransmitted,
            timeouts: s.timeouts,
            out_of_order_frames: r.out_of_order,
            repeated_frames: r.duplicates,
            acks_sent: r.acks,
            acks_received: s.acks,
            naks_sent: r.naks,
            naks_received: s.naks,
            cnps_sent: r.cnps,
            cnps_received: s.cnps,
            rate_bps: s.rate.get(),
            window_bytes: s.window,
            messages,
            fct_min_ns: s.completions.fct_min.map(Nanos),
            fct_mean_ns: (messages > 0).then(|| Nanos(s.completions.fct_total.div(messages))),
            fct_p50_ns: percentile(50.0),
            fct_p99_ns: percentile(99.0),
            fct_max_ns: s.completions.fct_max.map(Nanos),
        }
    }
}
