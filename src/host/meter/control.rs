//! Control streams as they arrive: frames without a probe, known by their octets.

use crate::host::plan::FlowId;
use crate::time::Instant;

/// What arrived of a control stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControlCounters {
    /// The stream.
    pub id: FlowId,
    /// Frames that arrived.
    pub frames: u64,
    /// Their octets, FCS included.
    pub bytes: u64,
    /// When the first of them arrived.
    pub first_arrival: Option<Instant>,
    /// When the last one did.
    pub last_arrival: Option<Instant>,
}

/// The receiving end of one control stream.
#[derive(Debug)]
pub(super) struct ControlSink {
    octets: Vec<u8>,
    counters: ControlCounters,
}

impl ControlSink {
    /// A sink for frames that start with `octets`.
    pub(super) fn new(id: FlowId, octets: &[u8]) -> Self {
        let counters =
            ControlCounters { id, frames: 0, bytes: 0, first_arrival: None, last_arrival: None };
        Self { octets: octets.to_vec(), counters }
    }

    pub(super) const fn id(&self) -> FlowId {
        self.counters.id
    }

    /// Counts a frame if it is one of this stream.
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

    /// Forgets all that has arrived.
    pub(super) fn clear(&mut self) {
        let id = self.counters.id;
        self.counters =
            ControlCounters { id, frames: 0, bytes: 0, first_arrival: None, last_arrival: None };
    }

    pub(super) const fn counters(&self) -> ControlCounters {
        self.counters
    }
}
