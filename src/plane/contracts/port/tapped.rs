//! Ports with an observer.
//!
//! The port's frames and guarantees are unchanged. The observer sees each burst that was received
//! and each that is to be sent.

use super::{Port, PortCaps, Source, Stamps};
use crate::frame::Burst;
use ground::time::Instant;
use ground::units::PrioritySet;
use secure::Secy;

/// Observer of a port.
pub trait Tap<P: Port> {
    /// Called with the frames that the port has received.
    fn received(&mut self, port: &P, frames: &[P::Frame]);

    /// Sends the frames in `out` by the port, as [`Port::tx_burst`] does.
    fn send(&mut self, port: &mut P, out: &mut Burst<P::Frame>);

    /// Returns the accuracy of the port's timestamps as seen by the observer.
    fn stamps(&self, port: &P) -> Stamps {
        port.stamps()
    }
}

/// A port with an observer.
#[derive(Debug)]
pub struct Tapped<P, T> {
    /// Port that frames pass through.
    pub port: P,
    /// Observer of its bursts.
    pub tap: T,
}

impl<P: Port, T: Tap<P>> Port for Tapped<P, T> {
    type Frame = P::Frame;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<P::Frame>) {
        let before = out.len();
        self.port.rx_burst(out);
        self.tap.received(&self.port, &out[before..]);
    }

    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<P::Frame>) {
        self.tap.send(&mut self.port, out);
    }

    fn control_frame(&mut self, octets: &[u8]) -> Option<P::Frame> {
        self.port.control_frame(octets)
    }

    fn message_frame(&mut self, octets: &[u8]) -> Option<P::Frame> {
        self.port.message_frame(octets)
    }

    #[inline]
    fn caps(&self) -> &PortCaps {
        self.port.caps()
    }

    #[inline]
    fn rx_stamp(&self, frame: &P::Frame) -> Option<Instant> {
        self.port.rx_stamp(frame)
    }

    fn stamp_when_sent(&mut self, frame: &mut P::Frame) -> bool {
        self.port.stamp_when_sent(frame)
    }

    fn sent_stamp(&mut self) -> Option<Instant> {
        self.port.sent_stamp()
    }

    #[inline]
    fn clock(&self, now: Instant) -> Instant {
        self.port.clock(now)
    }

    fn refresh_clock(&mut self) {
        self.port.refresh_clock();
    }

    #[inline]
    fn pass_on(&mut self) {
        self.port.pass_on();
    }

    #[inline]
    fn has_queues(&self) -> bool {
        self.port.has_queues()
    }

    #[inline]
    fn held(&self) -> PrioritySet {
        self.port.held()
    }

    fn secy(&self) -> Option<&Secy> {
        self.port.secy()
    }

    fn secy_mut(&mut self) -> Option<&mut Secy> {
        self.port.secy_mut()
    }

    fn stamps(&self) -> Stamps {
        self.tap.stamps(&self.port)
    }
}

impl<P: Source, T: Tap<P>> Source for Tapped<P, T> {
    #[inline]
    fn data_frame(&mut self, head: &[u8], wire_len: u32) -> Option<P::Frame> {
        self.port.data_frame(head, wire_len)
    }

    #[inline]
    fn data_frames(
        &mut self,
        n: usize,
        head: &[u8],
        wire_len: u32,
        out: &mut Burst<P::Frame>,
        edit: impl FnMut(&mut [u8]),
    ) -> usize {
        self.port.data_frames(n, head, wire_len, out, edit)
    }

    fn frame_min(&self) -> u32 {
        self.port.frame_min()
    }
}
