//! Times at which messages leave, by timestamps of the device: messages are timestamped when they leave,
//! and the protocols are told when they left.
//!
//! A device has room for one timestamp. While it is awaited, other messages have the time of their hand-over, as
//! all messages have at a port whose device does not timestamp what it sends.

use super::PortAgents;
use super::news::Sources;
use contracts::frame::Frame;
use contracts::port::{Port, StampSource};
use ground::time::{Duration, Instant};
use ground::units::Bytes;
use wire::EtherType;

/// Time from the hand-over of a frame after which its timestamp is given up. A choice: a NIC has it some
/// microseconds after the frame left, before which a ring of the longest frames may leave.
const WAIT: Duration = Duration::from_millis(2);

/// Time from one look for a timestamp to the next: each reads a register of the device, which takes about a
/// microsecond. A choice.
const LOOK: Duration = Duration::from_micros(5);

/// Timestamps in a row that did not come, after which no more are asked for: drivers take the request whether
/// they fulfil it or not.
const MISSED_MAX: u8 = 8;

impl PortAgents {
    /// Has the frame of the last message timestamped when it leaves, if its time matters and the device can.
    /// `clock` is the time of its hand-over.
    pub(super) fn ask_departure<P: Port>(
        &mut self,
        now: Instant,
        port: &mut P,
        frame: &mut P::Frame,
        clock: Instant,
    ) {
        // Most messages carry their own time, or none that matters.
        let Some(event) = self.departures.made.take() else { return };
        // The driver takes requests and never fulfils them.
        if self.departures.missed >= MISSED_MAX {
            return;
        }
        if self.departures.awaited.is_some() {
            self.counters.stamps_busy += 1;
            return;
        }
        if !port.stamp_when_sent(frame) {
            return;
        }
        if let (Event::PathResponse, Some(peer_delay)) = (event, &mut self.peer_delay) {
            // Its Follow_Up waits for the timestamp, which it carries.
            peer_delay.await_stamp();
        }
        let length = self.length(frame.wire_len());
        let [next_read, until] = [LOOK, WAIT].map(|time| now.saturating_add(time));
        self.departures.awaited = Some(Awaited { event, handed: clock, next_read, until, length });
    }

    /// Reads the timestamp that is awaited, if it is there, or gives it up.
    pub(super) fn read_departure<P: Port>(&mut self, now: Instant, port: &mut P) {
        let Some(awaited) = &mut self.departures.awaited else { return };
        // Even if it is not there yet: each look costs a register access.
        awaited.next_read = now.saturating_add(LOOK);
        let Awaited { event, handed, until, length, .. } = *awaited;
        let stamps = port.stamps();
        // The device's clock may be behind the host's by as much as both are known.
        let early = stamps.resolution.saturating_mul(2) + stamps.uncertainty;
        match port.sent_stamp() {
            // A frame leaves after its hand-over; an earlier timestamp is that of a frame before it.
            Some(at) if at.saturating_add(early) >= handed => {
                self.counters.stamps_sent += 1;
                self.departures.missed = 0;
                self.left(event, Some(at.saturating_add(length)));
            }
            // That of an earlier frame, which came too late. This one is still to come.
            Some(_) => self.counters.stamps_late += 1,
            None if now < until => {}
            None => {
                self.counters.stamps_missed += 1;
                self.departures.missed += 1;
                self.left(event, None);
            }
        }
    }

    /// Tells the protocol when its message left.
    fn left(&mut self, event: Event, departure: Option<Instant>) {
        self.departures.awaited = None;
        match event {
            Event::Request => {
                // Without a timestamp t1 stays the time of the hand-over.
                if let (Some(measurer), Some(departure)) = (&mut self.measurer, departure) {
                    measurer.left(departure);
                }
            }
            Event::PathRequest => {
                if let (Some(peer_delay), Some(departure)) = (&mut self.peer_delay, departure) {
                    peer_delay.request_left(departure);
                }
            }
            Event::PathResponse => {
                if let Some(peer_delay) = &mut self.peer_delay {
                    peer_delay.response_left(departure);
                }
            }
        }
    }

    /// Returns the time of the last bit of a received frame, which the device timestamped at its `start`.
    pub(super) fn end_of(&self, start: Instant, wire_len: u32) -> Instant {
        start.saturating_add(self.length(wire_len))
    }

    /// Returns the time from the first bit of a frame, FCS included, to its last; none on a port without a line.
    fn length(&self, wire_len: u32) -> Duration {
        match self.stamps.serializes {
            true => self.rate.time_for(Bytes(wire_len.into())),
            false => Duration::ZERO,
        }
    }

    /// Notes if the device timestamped a received message.
    pub(super) fn note_arrival(&mut self, frame: &[u8], by_device: bool) {
        if frame.get(12..14) == Some(&EtherType::PTP.0.to_be_bytes()) {
            // One message without a timestamp makes the result one of software.
            let all = self.departures.path_arrivals.unwrap_or(true);
            self.departures.path_arrivals = Some(all && by_device);
        }
    }

    /// Returns the sources of the times of a delay of PTP.
    pub(super) fn path_sources(&self, by_software: u16) -> Sources {
        let found = self.sources(by_software);
        let t4 = match (found.t4, self.departures.path_arrivals) {
            (StampSource::Software | StampSource::Poll, Some(true)) => StampSource::Nic,
            (other, _) => other,
        };
        Sources { t4, ..found }
    }

    /// Returns what took the time stamps of a delay. In `by_software` of its exchanges, software took t1.
    pub(super) fn sources(&self, by_software: u16) -> Sources {
        let t1 = match self.stamps.source {
            // Of all exchanges: a single one by software decides the error of the whole.
            _ if by_software == 0 => StampSource::Nic,
            // The device timestamps what it receives.
            StampSource::Nic => StampSource::Software,
            other => other,
        };
        Sources { t1, t4: self.stamps.source }
    }

    /// Returns the uncertainty of a delay with these sources: the port's clocks, the unit of the messages at
    /// both ends, and the longest time to hand a frame over where t1 is before that.
    pub(super) fn uncertainty(&self, sources: Sources) -> Duration {
        // Each time is rounded to the clock's step here, and to the unit of the messages at the peer.
        let step = self.stamps.resolution + self.dialect.span(1);
        let known = step.saturating_mul(2) + self.stamps.uncertainty;
        match sources.t1 {
            StampSource::Nic => known,
            _ => known + self.handing_over,
        }
    }

    /// Returns the longest time by which frames in the transmit ring make a delay with these sources longer than
    /// it is: none with exact times or a t1 of the device; `None` if it is not known, as the port has no line.
    pub(super) fn in_ring(&self, sources: Sources) -> Option<Duration> {
        match sources.t1 {
            StampSource::Exact | StampSource::Nic => Some(Duration::ZERO),
            // A frame that software stamped may wait behind a full ring.
            _ => self.stamps.serializes.then(|| self.rate.time_for(self.ring)),
        }
    }
}

#[cfg(test)]
mod tests;

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
    pub(super) event: Event,
    /// Time of the hand-over by the port's clock: the frame left no earlier.
    pub(super) handed: Instant,
    /// Times by the poll's clock at which to look for it, and to give it up.
    pub(super) next_read: Instant,
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
        self.awaited.map_or(Instant::NEVER, |awaited| awaited.next_read)
    }

    /// Forgets an awaited timestamp: the link is down.
    pub(super) fn stop(&mut self) {
        (self.made, self.awaited) = (None, None);
    }
}
