//! Reception of control streams: frames without a probe, identified by their first bytes.

use crate::plan::FlowId;
use ground::time::Instant;

/// Counters of a received control stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControlCounters {
    pub id: FlowId,
    /// Received frames.
    pub frames: u64,
    /// Received bytes, FCS included.
    pub bytes: u64,
    /// Arrival of the first frame.
    pub first_arrival: Option<Instant>,
    /// Arrival of the last frame.
    pub last_arrival: Option<Instant>,
}

/// The receiving end of one control stream.
#[derive(Debug)]
pub(super) struct ControlSink {
    octets: Vec<u8>,
    counters: ControlCounters,
}

impl ControlSink {
    /// Creates a sink for frames that start with `octets`.
    pub(super) fn new(id: FlowId, octets: &[u8]) -> Self {
        let counters =
            ControlCounters { id, frames: 0, bytes: 0, first_arrival: None, last_arrival: None };
        Self { octets: octets.to_vec(), counters }
    }

    pub(super) const fn id(&self) -> FlowId {
        self.counters.id
    }

    /// Counts a frame if it belongs to this stream.
    pub(super) fn take(&mut self, now: Instant, head: &[u8], wire_len: u32) -> bool {
        if !head.starts_with(&self.octets) {
            return false;
        }
        let c = &mut self.counters;
        c.frames += 1;
        c.bytes += u64::from(wire_len);
        c.first_arrival.get_or_insert(now);
        c.last_arrival = Some(now);
        true
    }

    /// Resets the counters.
    pub(super) fn clear(&mut self) {
        let id = self.counters.id;
        self.counters =
            ControlCounters { id, frames: 0, bytes: 0, first_arrival: None, last_arrival: None };
    }

    pub(super) const fn counters(&self) -> ControlCounters {
        self.counters
    }
}
