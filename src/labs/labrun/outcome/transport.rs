//! Transport counters of a flow with acknowledgements.

use serde::ser::{Serialize, SerializeMap, Serializer};

use ground::time::Duration;
use host::{Latency, ReceiverCounters, SenderCounters};

/// Transport counters of a flow with acknowledgements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TransportOutcome {
    /// Transport: `roce` or `tcp`.
    pub kind: &'static str,
    pub sender: SenderCounters,
    pub receiver: ReceiverCounters,
    /// Median message completion time, three exact digits.
    pub fct_p50: Option<Duration>,
    /// 99th percentile of the message completion time, three exact digits.
    pub fct_p99: Option<Duration>,
}

impl TransportOutcome {
    /// Makes the results from counters; `times` are the completion times, if there are several
    /// messages.
    pub(super) fn new(
        kind: &'static str,
        sender: SenderCounters,
        times: Option<&Latency>,
        receiver: ReceiverCounters,
    ) -> Self {
        let percentile = |p| match times.filter(|times| times.count() > 0) {
            Some(times) => Some(times.percentile(p)),
            None => sender.completions.fct_max,
        };
        let [fct_p50, fct_p99] = [50.0, 99.0].map(percentile);
        Self { kind, sender, receiver, fct_p50, fct_p99 }
    }
}

/// Writes an object with these fields.
macro_rules! object {
    ($to:expr, $($name:ident: $value:expr,)+) => {{
        let mut object = $to.serialize_map(None)?;
        $(object.serialize_entry(stringify!($name), &$value)?;)+
        object.end()
    }};
}

impl Serialize for TransportOutcome {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (s, r) = (&self.sender, &self.receiver);
        object! {
            to,
            kind: self.kind,
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
            messages: s.completions.messages,
            fct_min_ns: s.completions.fct_min,
            fct_mean_ns: s.completions.fct_mean(),
            fct_p50_ns: self.fct_p50,
            fct_p99_ns: self.fct_p99,
            fct_max_ns: s.completions.fct_max,
        }
    }
}
