//! A port for which frames can be generated: the sender of an end station of the real world.

use super::mbuf::Mbuf;
use super::pool::Pool;
use super::port::{DpdkPort, Started};
use contracts::frame::{Burst, FCS_BYTES};
use contracts::port::{FRAME_MIN, Port, PortCaps, Source, Stamps};
use ground::time::Instant;
use wire::ethernet;

/// A started port with the pool of its data frames.
#[derive(Debug)]
pub struct SourcePort {
    port: DpdkPort<Started>,
    pool: Pool,
}

impl SourcePort {
    /// Makes data frames for `port` from `pool`, whose longest frame bounds theirs.
    pub const fn new(port: DpdkPort<Started>, pool: Pool) -> Self {
        Self { port, pool }
    }

    /// The port, for operations other than sending and receiving.
    pub const fn port_mut(&mut self) -> &mut DpdkPort<Started> {
        &mut self.port
    }
}

impl Port for SourcePort {
    type Frame = Mbuf;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<Mbuf>) {
        self.port.rx_burst(out);
    }

    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<Mbuf>) {
        self.port.tx_burst(out);
    }

    fn control_frame(&mut self, octets: &[u8]) -> Option<Mbuf> {
        self.port.control_frame(octets)
    }

    #[inline]
    fn caps(&self) -> &PortCaps {
        self.port.caps()
    }

    #[inline]
    fn rx_stamp(&self, frame: &Mbuf) -> Option<Instant> {
        self.port.rx_stamp(frame)
    }

    fn stamp_when_sent(&mut self, frame: &mut Mbuf) -> bool {
        self.port.stamp_when_sent(frame)
    }

    fn sent_stamp(&mut self) -> Option<Instant> {
        self.port.sent_stamp()
    }

    #[inline]
    fn clock(&self, now: Instant) -> Instant {
        self.port.clock(now)
    }

    fn stamps(&self) -> Stamps {
        self.port.stamps()
    }

    fn refresh_clock(&mut self) {
        self.port.refresh_clock();
    }
}

impl Source for SourcePort {
    #[inline]
    fn data_frame(&mut self, head: &[u8], wire_len: u32) -> Option<Mbuf> {
        let mut frame = self.pool.alloc()?;
        let octets = frame.append((wire_len - FCS_BYTES) as usize)?;
        let (front, rest) = octets.split_at_mut(head.len());
        front.copy_from_slice(head);
        // The room still has the octets of an earlier frame, perhaps of another flow.
        rest.fill(0);
        Some(frame)
    }

    #[inline]
    fn data_frames(
        &mut self,
        n: usize,
        head: &[u8],
        wire_len: u32,
        out: &mut Burst<Mbuf>,
        edit: impl FnMut(&mut [u8]),
    ) -> usize {
        self.pool.frames_like(n, head, (wire_len - FCS_BYTES) as usize, out, edit)
    }

    fn frame_min(&self) -> u32 {
        // A virtual device has no MAC that requires the minimum, or pads frames itself.
        if self.port.is_virtual() { ethernet::HEADER_LEN as u32 + FCS_BYTES } else { FRAME_MIN }
    }
}
