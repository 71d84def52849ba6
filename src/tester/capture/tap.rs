//! The tap between a station and its port.

use super::{Capture, CaptureCounters};
use crate::frame::Burst;
use crate::port::{self, Port, Tapped};
use crate::time::Instant;

/// A port that can be captured on.
pub type Tap<P> = Tapped<P, Capturing>;

/// What is captured at a port.
#[derive(Debug)]
pub struct Capturing {
    /// The time of the poll that goes on.
    now: Instant,
    capture: Option<Box<Capture>>,
}

impl<P> Tap<P> {
    /// A tap at `port` that captures nothing.
    pub const fn new(port: P) -> Self {
        Self { port, tap: Capturing { now: Instant::ZERO, capture: None } }
    }

    /// Says what time it is, in front of every poll of whoever has the port: captured frames get
    /// it as their stamp, unless the port has a better one.
    #[inline]
    pub fn at(&mut self, now: Instant) {
        self.tap.now = now;
    }

    /// Captures from now on. Gives the capture that ends by that, if one went on.
    pub fn start(&mut self, capture: Box<Capture>) -> Option<Box<Capture>> {
        self.tap.capture.replace(capture)
    }

    /// Captures no more, and gives what was captured.
    pub fn stop(&mut self) -> Option<Box<Capture>> {
        self.tap.capture.take()
    }

    /// The capture that goes on.
    #[must_use]
    pub fn capture(&self) -> Option<&Capture> {
        self.tap.capture.as_deref()
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

impl Capturing {
    #[cold]
    fn note<P: Port>(&mut self, port: &P, frames: &[P::Frame]) {
        if let Some(capture) = &mut self.capture {
            for frame in frames {
                let at = port.rx_stamp(frame).unwrap_or(self.now);
                capture.received(at, frame);
            }
        }
    }

    #[cold]
    fn send_noted<P: Port>(&mut self, port: &mut P, out: &mut Burst<P::Frame>) {
        let offered = out.len();
        if let Some(capture) = &mut self.capture {
            capture.offered(out);
        }
        port.tx_burst(out);
        if let Some(capture) = &mut self.capture {
            capture.sent(self.now, offered - out.len());
        }
    }
}

impl<P: Port> port::Tap<P> for Capturing {
    #[inline]
    fn received(&mut self, port: &P, frames: &[P::Frame]) {
        if self.capture.is_some() {
            self.note(port, frames);
        }
    }

    #[inline]
    fn send(&mut self, port: &mut P, out: &mut Burst<P::Frame>) {
        if self.capture.as_ref().is_some_and(|c| c.both) {
            return self.send_noted(port, out);
        }
        port.tx_burst(out);
    }
}
