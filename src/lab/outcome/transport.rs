//! Transport counters of a flow with acknowledgements.

use serde::Serialize;

use super::Nanos;
use host::{Latency, ReceiverCounters, SenderCounters};

/// Transport counters of a flow with acknowledgements.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TransportOutcome {
    /// Transport: `roce` or `tcp`.
    pub kind: &'static str,
    /// True if there was nothing left to send at the end.
    pub done: bool,
    /// Message bytes that arrived in order.
    pub delivered_bytes: u64,
    /// Message bytes that were acknowledged.
    pub acknowledged_bytes: u64,
    /// Frames sent again.
    pub retransmitted_frames: u64,
    /// Retransmission timeouts that expired.
    pub timeouts: u64,
    /// Packets received behind a gap.
    pub out_of_order_frames: u64,
    /// Duplicate packets received.
    pub repeated_frames: u64,
    /// Acknowledgements sent by the receiver.
    pub acks_sent: u64,
    /// Acknowledgements received by the sender.
    pub acks_received: u64,
    /// Negative acknowledgements sent by the receiver.
    pub naks_sent: u64,
    /// Negative acknowledgements received by the sender.
    pub naks_received: u64,
    /// Congestion notifications sent by the receiver.
    pub cnps_sent: u64,
    /// Congestion notifications received by the sender.
    pub cnps_received: u64,
    /// Rate limit of the sender at the end, in bit/s of frames.
    pub rate_bps: u64,
    /// Congestion window of a TCP sender at the end, in bytes.
    pub window_bytes: Option<u64>,
    /// Completely acknowledged messages.
    pub messages: u64,
    /// Minimum message completion time.
    pub fct_min_ns: Option<Nanos>,
    /// Mean message completion time.
    pub fct_mean_ns: Option<Nanos>,
    /// Median message completion time, three exact digits.
    pub fct_p50_ns: Option<Nanos>,
    /// 99th percentile of the message completion time, three exact digits.
    pub fct_p99_ns: Option<Nanos>,
    /// Maximum message completion time.
    pub fct_max_ns: Option<Nanos>,
}

impl TransportOutcome {
    /// Makes the results from counters; `times` are the completion times, if there are several
    /// messages.
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
