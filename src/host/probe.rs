//! The probe that every frame of a flow carries: whose frame it is, the how manieth, and when it
//! was sent. Octets from its start: magic (4), flow (4), sequence (8), time in picoseconds (8), all
//! big-endian.

use super::arrived::Arrived;
use super::plan::FlowId;
use crate::time::Instant;
use crate::wire::ip::Ecn;
use crate::wire::{EtherType, vlan};

/// Octets of a probe.
pub const PROBE_LEN: usize = 24;

/// The local experimental EtherType 1 (802 9.2.3), for probes without IP.
pub const PROBE_ETHERTYPE: EtherType = EtherType(0x88b5);

/// What a probe starts with.
const MAGIC: [u8; 4] = *b"SLUI";

/// Where the sequence number is, behind which the time follows.
pub(super) const SEQUENCE_AT: usize = 8;

/// A probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// The flow.
    pub flow: FlowId,
    /// The number of the frame in its flow, from 0.
    pub sequence: u64,
    /// When the frame was given to the port, on the sender's clock.
    pub sent: Instant,
}

/// A frame with a probe, as a sink sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The probe.
    pub probe: Probe,
    /// The ECN code point that it arrived with; not ECT where there is no IP.
    pub ecn: Ecn,
}

impl Probe {
    /// Reads a probe at the front of `octets`, or nothing when there is none.
    #[must_use]
    #[inline]
    pub fn parse(octets: &[u8]) -> Option<Self> {
        let probe: &[u8; PROBE_LEN] = octets.first_chunk()?;
        let (magic, rest) = probe.split_first_chunk::<4>()?;
        let (flow, rest) = rest.split_first_chunk::<4>()?;
        let (sequence, rest) = rest.split_first_chunk::<8>()?;
        let sent = rest.first_chunk::<8>()?;
        (*magic == MAGIC).then(|| Self {
            flow: FlowId(u32::from_be_bytes(*flow)),
            sequence: u64::from_be_bytes(*sequence),
            sent: Instant::from_picos(u64::from_be_bytes(*sent)),
        })
    }

    /// The probe's octets.
    #[must_use]
    #[inline]
    pub fn octets(&self) -> [u8; PROBE_LEN] {
        let mut out = [0; PROBE_LEN];
        out[..4].copy_from_slice(&MAGIC);
        out[4..SEQUENCE_AT].copy_from_slice(&self.flow.0.to_be_bytes());
        out[SEQUENCE_AT..16].copy_from_slice(&self.sequence.to_be_bytes());
        out[16..].copy_from_slice(&self.sent.as_picos().to_be_bytes());
        out
    }
}

impl Arrival {
    /// Finds the probe in a frame whose network header is at `walk.l3`, or nothing when the frame
    /// is not a whole one of any flow's kind.
    #[must_use]
    #[inline]
    pub fn find(frame: &[u8], walk: &vlan::Walk) -> Option<Self> {
        match Arrived::read(frame, walk) {
            Arrived::Data(arrival, _) => Some(arrival),
            Arrived::Answer(..) | Arrived::Other => None,
        }
    }
}
