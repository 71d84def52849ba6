//! What goes out: what was refused before, then planned pauses, then answers, then data.

use super::{COMMITTED_MAX, Station, StationCounters};
use crate::frame::Frame;
use crate::host::meter::{self, Leaving, Meter};
use crate::host::transport::receiver::Turn;
use crate::port::Source;
use crate::schedule::Shaper;
use crate::time::Instant;
use crate::units::Mac;

impl<P: Source> Station<P> {
    /// Sends what was refused before, then what is due, at most [`COMMITTED_MAX`] frames in all.
    pub(super) fn send(&mut self, now: Instant) -> bool {
        let before = self.hand.len();
        if before > 0 {
            self.port.tx_burst(&mut self.hand);
            self.gone(now);
        }
        if !self.hand.is_empty() {
            self.retry = now + self.slot;
            return self.hand.len() < before;
        }
        let room = COMMITTED_MAX - before;
        self.make_pauses(now, room);
        let all_said = self.make_neighbours(now, room) && self.make_answers(now, room);
        if all_said {
            self.make_data(now, room);
        }
        let made = self.hand.len();
        if made > 0 {
            self.port.tx_burst(&mut self.hand);
            self.gone(now);
        }
        if !self.hand.is_empty() {
            self.retry = now + self.slot;
        }
        before > 0 || made > 0
    }

    /// Makes the pauses that are due.
    fn make_pauses(&mut self, now: Instant, room: usize) {
        if self.pauses.is_empty() {
            return;
        }
        for pause in &mut self.pauses {
            while pause.left > 0 && pause.due <= now {
                if self.hand.len() == room || !self.shaper.ready(now) {
                    return;
                }
                let Some(frame) = self.port.control_frame(&pause.octets) else {
                    self.retry = now + self.slot;
                    return;
                };
                charge(&mut self.shaper, &mut self.counters, now, frame.wire_len());
                self.hand.push(frame);
                control_made(&mut self.counters, &mut self.meter, self.mac, &pause.octets);
                pause.due = pause.due.saturating_add(pause.every);
                pause.left -= 1;
            }
        }
        self.pauses.retain(|p| p.left > 0);
    }

    /// Makes what interfaces ask and answer. Says whether there is room for more behind it.
    #[inline]
    fn make_neighbours(&mut self, now: Instant, room: usize) -> bool {
        self.neighbours.on_timeout(now);
        while self.neighbours.ready(self.paused) {
            if self.hand.len() == room || !self.shaper.ready(now) {
                return false;
            }
            let port = &mut self.port;
            let made =
                self.neighbours.next(self.paused, |octets, len| port.data_frame(octets, len));
            let Some(frame) = made else {
                self.retry = now + self.slot;
                return false;
            };
            charge(&mut self.shaper, &mut self.counters, now, frame.wire_len());
            self.hand.push(frame);
        }
        true
    }

    /// Makes the answers that nothing stops. Says whether there is room for data behind them.
    #[inline]
    fn make_answers(&mut self, now: Instant, room: usize) -> bool {
        while self.answers.ready(self.paused) {
            if self.hand.len() == room || !self.shaper.ready(now) {
                return false;
            }
            let (port, hand) = (&mut self.port, &mut self.hand);
            let turn = self.answers.next(self.paused, |octets, wire_len| {
                port.data_frame(octets, wire_len).map(|frame| hand.push(frame)).is_some()
            });
            match turn {
                Turn::Said { wire_len, .. } => {
                    tell(&mut self.meter, Leaving::Other, 1);
                    charge(&mut self.shaper, &mut self.counters, now, wire_len);
                }
                Turn::Silent => {}
                Turn::Dry => {
                    self.retry = now + self.slot;
                    return false;
                }
            }
        }
        true
    }

    /// Makes the data frames that are due, in the order in which they are.
    #[inline]
    fn make_data(&mut self, now: Instant, room: usize) {
        while self.hand.len() < room && self.shaper.ready(now) {
            let Some((_, p)) = self.sources.first(self.paused).filter(|(due, _)| *due <= now)
            else {
                return;
            };
            let (port, hand) = (&mut self.port, &mut self.hand);
            let mut len = 0;
            let made = self.sources.send(now, p, |head, wire_len| {
                len = wire_len;
                port.data_frame(head, wire_len).map(|frame| hand.push(frame)).is_some()
            });
            if !made {
                self.retry = now + self.slot;
                return;
            }
            tell(&mut self.meter, Leaving::Data(p), 1);
            charge(&mut self.shaper, &mut self.counters, now, len);
        }
    }

    /// The port has taken frames from the front of the hand.
    #[inline]
    fn gone(&mut self, now: Instant) {
        if let Some(meter) = &mut self.meter {
            meter.gone(now, self.hand.len());
        }
    }

    /// When to poll again if nothing arrives.
    pub(super) fn deadline(&self) -> Instant {
        let timers = self.receiver.next_deadline().min(self.sources.next_timeout());
        if !self.up {
            return timers;
        }
        if !self.hand.is_empty() {
            return self.retry.min(timers);
        }
        let data = self.sources.first(self.paused).map_or(Instant::NEVER, |(due, _)| due);
        let pauses = self.pauses.iter().map(|p| p.due).min().unwrap_or(Instant::NEVER);
        let mut due = data.min(pauses).min(self.neighbours.next_deadline());
        if self.answers.ready(self.paused) || self.neighbours.ready(self.paused) {
            due = Instant::ZERO;
        }
        if due == Instant::NEVER {
            return timers;
        }
        due.max(self.shaper.free_at()).max(self.retry).min(timers)
    }
}

/// Takes note of a frame that starts on the line now.
#[inline]
fn charge(shaper: &mut Shaper, counters: &mut StationCounters, now: Instant, wire_len: u32) {
    shaper.charge(now, wire_len);
    counters.tx_frames += 1;
    counters.tx_bytes += u64::from(wire_len);
}

/// `n` frames were made and put into the hand: tells the meter, if there is one.
#[inline]
fn tell(meter: &mut Option<Box<Meter>>, what: Leaving, n: usize) {
    if let Some(meter) = meter {
        meter.made(what, n);
    }
}

/// A frame on the control path was made and put into the hand: counts it if it is a pause, and tells
/// the meter.
fn control_made(
    counters: &mut StationCounters,
    meter: &mut Option<Box<Meter>>,
    mac: Mac,
    octets: &[u8],
) {
    let what = meter::control_frame(octets, mac);
    if let Leaving::Pause(pause) = &what {
        counters.pauses_sent += 1;
        for p in pause.enabled.iter() {
            counters.priorities[p.index()].sent += 1;
        }
    }
    tell(meter, what, 1);
}
