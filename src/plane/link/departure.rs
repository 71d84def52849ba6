//! Times at which messages leave, by timestamps of the device.
//!
//! A device has room for one timestamp. While it is awaited, other messages have the time of their hand-over, as
//! all messages have at a port whose device does not timestamp what it sends.

use ground::time::{Duration, Instant};

/// A message whose transmit time matters and is not in the message itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// Request of the round-trip measurement: t1.
    Request,
    /// Request of PTP's peer delay: t1.
    PathRequest,
    /// Response of PTP's peer delay: t3, which its Follow_Up tells.
    PathResponse,
}

/// A timestamp that is awaited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    pub(super) of: Event,
    /// Time of the hand-over by the port's clock: the frame left no earlier.
    pub(super) handed: Instant,
    /// Times by the poll's clock at which to look for it, and to give it up.
    pub(super) look: Instant,
    pub(super) until: Instant,
    /// Time from the start of the frame, which the device timestamps, to its end.
    pub(super) length: Duration,
}

/// Timestamps of sent messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures {
    /// The message that was made last.
    pub(super) made: Option<Event>,
    /// True if the device timestamped all messages of PTP since the path was last measured anew; `None` before
    /// the first. Many devices timestamp these messages alone when they arrive.
    pub(super) path_arrivals: Option<bool>,
    pub(super) awaited: Option<Awaited>,
    pub(super) missed: u8,
}

impl Departures {
    /// Returns the time of the next look for a timestamp.
    #[inline]
    pub(super) fn next_deadline(&self) -> Instant {
        self.awaited.map_or(Instant::NEVER, |awaited| awaited.look)
    }

    /// Forgets an awaited timestamp: the link is down.
    pub(super) fn stop(&mut self) {
        (self.made, self.awaited) = (None, None);
    }
}
