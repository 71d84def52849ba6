//! The tap between a station and its port.

use super::{Capture, CaptureCounters};
use crate::frame::Burst;
use crate::port::{Port, PortCaps, Source};
use crate::time::Instant;

/// A port that can be captured on.
#[derive(Debug)]
pub struct Tap<P> {
    port: P,
    /// The time of the poll that goes on.
    now: Instant,
    capture: Option<Box<Capture>>,
}

impl<P> Tap<P> {
    /// A tap at `port` that captures nothing.
    pub const fn new(port: P) -> Self {
        Self { port, now: Instant::ZERO, capture: None }
    }

    /// Says what time it is, in front of every poll of whoever has the port: captured frames get
    /// it as their stamp, unless the port has a better one.
    #[inline]
    pub fn at(&mut self, now: Instant) {
        self.now = now;
    }

    /// Captures from now on. Gives the capture that ends by that, if one went on.
    pub fn start(&mut self, capture: Box<Capture>) -> Option<Box<Capture>> {
        self.capture.replace(capture)
    }

    /// Captures no more, and gives what was captured.
    pub fn stop(&mut self) -> Option<Box<Capture>> {
        self.capture.take()
    }

    /// The capture that goes on.
    #[must_use]
    pub fn capture(&self) -> Option<&Capture> {
        self.capture.as_deref()
    }

    /// What the capture that goes on has; nothing when none does.
    #[must_use]
    pub fn captured(&self) -> Option<CaptureCounters> {
        self.capture().map(Capture::counters)
    }

    /// The port, for what its world has to do to it.
    pub fn port_mut(&mut self) -> &mut P {
        &mut self.port
    }
}

impl<P: Port> Tap<P> {
    #[cold]
    fn note_received(&mut self, burst: &[P::Frame]) {
        if let Some(capture) = &mut self.capture {
            for frame in burst {
                let at = self.port.rx_stamp(frame).unwrap_or(self.now);
                capture.received(at, frame);
            }
        }
    }

    #[cold]
    fn send_noted(&mut self, out: &mut Burst<P::Frame>) {
        let offered = out.len();
        if let Some(capture) = &mut self.capture {
            capture.offered(out);
        }
        self.port.tx_burst(out);
        if let Some(capture) = &mut self.capture {
            capture.sent(self.now, offered - out.len());
        }
    }
}

impl<P: Port> Port for Tap<P> {
    type Frame = P::Frame;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<P::Frame>) {
        let before = out.len();
        self.port.rx_burst(out);
        if self.capture.is_some() {
            self.note_received(&out[before..]);
        }
    }

    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<P::Frame>) {
        if self.capture.as_ref().is_some_and(|c| c.both) {
            return self.send_noted(out);
        }
        self.port.tx_burst(out);
    }

    fn control_frame(&mut self, octets: &[u8]) -> Option<P::Frame> {
        self.port.control_frame(octets)
    }

    #[inline]
    fn caps(&self) -> &PortCaps {
        self.port.caps()
    }

    #[inline]
    fn rx_stamp(&self, frame: &P::Frame) -> Option<Instant> {
        self.port.rx_stamp(frame)
    }
}

impl<P: Source> Source for Tap<P> {
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
