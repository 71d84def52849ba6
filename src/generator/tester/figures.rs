//! Figures of a flow: counts and percentiles of its two ends. They are copied for ten thousand
//! flows between two polls, without the distributions themselves.

use std::sync::Arc;

use ground::time::Instant;
use host::{Damage, Latency, LatencyFigures, SinkCounters, StreamCounters};

/// Figures of the sender of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub frames: u64,
    /// FCS included.
    pub bytes: u64,
    /// Transmit time of the first frame.
    pub first: Option<Instant>,
    /// Transmit time of the last frame.
    pub last: Option<Instant>,
    /// Gaps between successive frames.
    pub gaps: LatencyFigures,
}

impl Sent {
    #[must_use]
    pub fn of(counters: &StreamCounters) -> Self {
        let StreamCounters { frames, bytes, first_sent, last_sent, .. } = *counters;
        let gaps = counters.gaps.figures();
        Self { frames, bytes, first: first_sent, last: last_sent, gaps }
    }
}

/// Figures of a receiver, or of all receivers of a flow.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Received {
    /// Frames that had arrived before.
    pub duplicates: u64,
    /// Frames that arrived after a frame that was sent later.
    pub reordered: u64,
    /// Frames that arrived otherwise than they were sent, which count as lost.
    pub damaged: u64,
    /// What differed in the first of these.
    pub damage: Option<Damage>,
    /// Frames with CE.
    pub ce_marked: u64,
    /// Arrival of the first frame.
    pub first: Option<Instant>,
    /// Arrival of the last frame.
    pub last: Option<Instant>,
    pub latency: LatencyFigures,
}

impl Received {
    #[must_use]
    pub fn of(counters: &SinkCounters) -> Self {
        Self {
            duplicates: counters.duplicates,
            reordered: counters.reordered,
            damaged: counters.damaged,
            damage: counters.damage,
            ce_marked: counters.ce_marked,
            first: counters.first_arrival,
            last: counters.last_arrival,
            latency: counters.latency.figures(),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct FlowFigures {
    /// Of the sender, for a stream.
    pub sent: Option<Sent>,
    /// Of all receivers together.
    pub received: Received,
    /// The latency distribution of all receivers, if it was copied.
    pub distribution: Option<Arc<Latency>>,
    /// Number of receivers.
    receivers: usize,
}

impl FlowFigures {
    /// Figures of a flow with this sender, before its receivers are added.
    #[must_use]
    pub fn of_sender(sent: Option<Sent>) -> Self {
        Self { sent, ..Self::default() }
    }

    /// Adds a receiver, with its distribution if that was copied. Percentiles of several
    /// receivers are calculated from the sum of their distributions, so each must have one.
    pub fn add(&mut self, received: &Received, latency: Option<Latency>) {
        self.receivers += 1;
        match (&mut self.distribution, latency) {
            (Some(sum), Some(latency)) => Arc::make_mut(sum).add(&latency),
            (None, Some(latency)) => self.distribution = Some(Arc::new(latency)),
            (_, None) => {}
        }
        let own = &mut self.received;
        own.duplicates += received.duplicates;
        own.reordered += received.reordered;
        own.damaged += received.damaged;
        own.damage = own.damage.or(received.damage);
        own.ce_marked += received.ce_marked;
        own.first = [own.first, received.first].into_iter().flatten().min();
        own.last = own.last.max(received.last);
        own.latency = match &self.distribution {
            Some(sum) if self.receivers > 1 => sum.figures(),
            _ => received.latency,
        };
    }
}
