//! The tap between a station and its port.

use super::{Capture, CaptureCounters};
use contracts::frame::Burst;
use contracts::port::{self, Port, Tapped};
use ground::time::Instant;

/// A port with a tap.
pub type Tap<P> = Tapped<P, Capturing>;

/// The capture state of a port.
#[derive(Debug)]
pub struct Capturing {
    /// The time of the current poll.
    now: Instant,
    capture: Option<Box<Capture>>,
}

/// Puts a tap without a capture at `port`.
pub const fn tapped<P>(port: P) -> Tap<P> {
    Tapped { port, tap: Capturing { now: Instant::ZERO, capture: None } }
}

impl Capturing {
    /// Sets the time before every poll of the port's owner: captured frames get it as their
    /// timestamp, unless the port has a better one.
    #[inline]
    pub fn at(&mut self, now: Instant) {
        self.now = now;
    }

    /// Starts a capture. Returns the running one that it replaces, if any.
    pub fn start(&mut self, capture: Box<Capture>) -> Option<Box<Capture>> {
        self.capture.replace(capture)
    }

    /// Stops the capture and returns it.
    pub fn stop(&mut self) -> Option<Box<Capture>> {
        self.capture.take()
    }

    /// Returns the running capture.
    #[must_use]
    pub fn capture(&self) -> Option<&Capture> {
        self.capture.as_deref()
    }

    /// Returns the counters of the running capture; `None` without one.
    #[must_use]
    pub fn captured(&self) -> Option<CaptureCounters> {
        self.capture().map(Capture::counters)
    }

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
