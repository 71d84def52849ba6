//! Observer of one end of a link: counts its frames, and logs every pause received.

use std::sync::Arc;

use super::log::{Happening, Log, PAUSE_OCTETS};
use contracts::frame::{Burst, Frame};
use contracts::port::{Port, Stamps, Tap, Tapped};
use ground::time::{Duration, Instant};
use runtime::SharedInstant;
use sim::Direction;

/// EtherType 0x8808, MAC control (802.3 31.4.1.3).
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];

/// Time of a node's current poll, which its ports read.
#[derive(Debug)]
pub(super) struct Moment {
    now: SharedInstant,
    /// Largest difference between the times of two threads.
    span: Duration,
}

impl Moment {
    pub(super) fn new(span: Duration) -> Self {
        Self { now: SharedInstant::default(), span }
    }

    #[inline]
    pub(super) fn set(&self, now: Instant) {
        self.now.store(now);
    }

    fn get(&self) -> Instant {
        self.now.load()
    }
}

/// Observations of a port.
#[derive(Debug)]
pub(super) struct Seen {
    arriving: Direction,
    moment: Arc<Moment>,
    /// Frames received and sent.
    pub(super) received: u64,
    pub(super) sent: u64,
    pub(super) log: Log,
}

/// A port with an observer.
pub(super) type SeenPort<P> = Tapped<P, Seen>;

impl Seen {
    /// Observes `port`, at which the direction `arriving` ends, by the time in `moment`.
    pub(super) fn over<P>(port: P, arriving: Direction, moment: &Arc<Moment>) -> SeenPort<P> {
        let (moment, log) = (moment.clone(), Log::default());
        Tapped { port, tap: Self { arriving, moment, received: 0, sent: 0, log } }
    }

    #[cold]
    fn note(&mut self, head: &[u8]) {
        let mut octets = [0; PAUSE_OCTETS];
        let known = head.len().min(PAUSE_OCTETS);
        octets[..known].copy_from_slice(&head[..known]);
        let what = Happening::Arrived { direction: self.arriving, octets };
        self.log.push(self.moment.get(), what);
    }
}

impl<P: Port> Tap<P> for Seen {
    #[inline]
    fn received(&mut self, _port: &P, frames: &[P::Frame]) {
        self.received += frames.len() as u64;
        for frame in frames {
            let head = frame.head();
            if head.get(12..14) == Some(&MAC_CONTROL) {
                self.note(head);
            }
        }
    }

    #[inline]
    fn send(&mut self, port: &mut P, out: &mut Burst<P::Frame>) {
        let before = out.len();
        port.tx_burst(out);
        self.sent += (before - out.len()) as u64;
    }

    fn stamps(&self, port: &P) -> Stamps {
        Stamps { uncertainty: self.moment.span, ..port.stamps() }
    }
}
