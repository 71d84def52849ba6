//! Transmission: frames refused before, then planned pauses, then replies, then data.

use arrayvec::ArrayVec;

use super::{COMMITTED_MAX, Station, StationCounters};
use crate::meter::{self, Leaving, Meter};
use crate::transport::receiver::Turn;
use contracts::frame::{FCS_BYTES, Frame};
use contracts::port::{CONTROL_FRAME_MAX, Source};
use ground::time::Instant;
use ground::units::{Mac, Priority};
use link::Made;
use schedule::Shaper;

impl<P: Source> Station<P> {
    /// Sends the frames refused before, then those that are due, at most [`COMMITTED_MAX`] in all.
    pub(super) fn send(&mut self, now: Instant) -> bool {
        let refused = self.hand.len();
        // In front of refused data: a stamped frame that waits would falsify its measurement.
        self.make_agents(now);
        self.make_control(now);
        let before = self.hand.len();
        if before > 0 {
            self.hand_over(now);
        }
        if !self.hand.is_empty() {
            self.retry = now + self.slot;
            // The port is full, so nothing more is made: it would leave in spite of a pause that comes now.
            return before > refused || self.hand.len() < before;
        }
        let room = (COMMITTED_MAX - before).saturating_sub(self.sources.has_control().into());
        self.make_pauses(now, room);
        // Replies before data: their peers wait for them.
        let all_said = self.make_neighbours(now, room) && self.make_answers(now, room);
        if all_said {
            self.make_data(now, room);
        }
        let made = self.hand.len();
        if made > 0 {
            self.hand_over(now);
        }
        if !self.hand.is_empty() {
            self.retry = now + self.slot;
        }
        before > 0 || made > 0
    }

    /// Makes the link-protocol frames that are due. They precede data that the port has refused.
    pub(super) fn make_agents(&mut self, now: Instant) {
        while self.agents.as_ref().is_some_and(|a| a.is_due(now)) && self.shaper.ready(now) {
            let Self { agents, port, hand, .. } = self;
            let Some(agents) = agents.as_mut().filter(|_| !hand.is_full()) else { return };
            let (frame, dated) = match agents.send(now, port) {
                Made::Frame(frame, dated) => (frame, dated),
                Made::Nothing => continue,
                Made::NoMemory => {
                    self.retry = now + self.slot;
                    return;
                }
            };
            // The oldest stamp has the largest error.
            self.dated = self.dated.or(Some(dated));
            charge(&mut self.shaper, &mut self.counters, now, frame.wire_len());
            if let Some(meter) = &mut self.meter {
                meter.made_at(Leaving::Other, self.leading);
            }
            self.hand.insert(self.leading, frame);
            self.leading += 1;
        }
    }

    /// Makes the frames of the control path that are due. They precede data that the port has
    /// refused, so they wait for at most one frame on the line.
    fn make_control(&mut self, now: Instant) {
        while self.sources.first_control() <= now && self.shaper.ready(now) {
            if self.hand.is_full() {
                return;
            }
            let Self { sources, port, hand, leading, .. } = self;
            let mut len = 0;
            let start = self.shaper.start(now);
            let made = sources.send_control(now, start, |octets, wire_len| {
                let mut whole = ArrayVec::<u8, { CONTROL_FRAME_MAX as usize }>::new();
                whole.extend(octets.iter().copied());
                // A control frame is made whole; behind the first bytes of a stream's frame are zeros.
                let padding = (wire_len - FCS_BYTES) as usize - octets.len();
                whole.extend(core::iter::repeat_n(0, padding));
                let Some(frame) = port.control_frame(&whole) else { return false };
                len = frame.wire_len();
                control_made(&mut self.counters, &mut self.meter, self.mac, &whole, *leading);
                hand.insert(*leading, frame);
                *leading += 1;
                true
            });
            if !made {
                self.retry = now + self.slot;
                return;
            }
            charge(&mut self.shaper, &mut self.counters, now, len);
        }
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
                // Not skipped: a pause that finds no memory is sent late rather than never.
                let Some(frame) = self.port.control_frame(&pause.octets) else {
                    self.retry = now + self.slot;
                    return;
                };
                charge(&mut self.shaper, &mut self.counters, now, frame.wire_len());
                self.hand.push(frame);
                let place = self.hand.len() - 1;
                let octets = &pause.octets;
                control_made(&mut self.counters, &mut self.meter, self.mac, octets, place);
                pause.due = pause.due.saturating_add(pause.every);
                pause.left -= 1;
            }
        }
        self.pauses.retain(|p| p.left > 0);
    }

    /// Makes the requests and replies of interfaces. Returns true if there is room for more behind
    /// them.
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
            count_made(&mut self.meter, Leaving::Other, 1);
            charge(&mut self.shaper, &mut self.counters, now, frame.wire_len());
            self.counters.tx_own_frames += 1;
            self.counters.tx_own_bytes += u64::from(frame.wire_len());
            self.hand.push(frame);
        }
        true
    }

    /// Makes the replies that are not paused. Returns true if there is room for data behind them.
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
                Turn::Sent { wire_len, .. } => {
                    count_made(&mut self.meter, Leaving::Other, 1);
                    charge(&mut self.shaper, &mut self.counters, now, wire_len);
                }
                Turn::Idle => {}
                Turn::NoMemory => {
                    self.retry = now + self.slot;
                    return false;
                }
            }
        }
        true
    }

    /// Makes the data frames that are due, in order.
    #[inline]
    pub(super) fn make_data(&mut self, now: Instant, room: usize) {
        while self.hand.len() < room && self.shaper.ready(now) {
            // Asked anew for each frame, because the one before moved its flow.
            let Some((_, p)) = self.sources.first(self.paused).filter(|(due, _)| *due <= now)
            else {
                return;
            };
            let before = self.hand.len();
            let (port, hand) = (&mut self.port, &mut self.hand);
            let most = room - hand.len();
            let shaper = &self.shaper;
            if let Some(run) = self.sources.run(now, p, self.paused, most, shaper, port, hand) {
                // A run charges the line for all of its frames at once.
                if run.made > 0 {
                    self.shaper.charge_many(now, run.wire_len, run.made);
                    self.counters.tx_frames += run.made;
                    self.counters.tx_bytes += run.made * u64::from(run.wire_len);
                    self.data_made(p, before);
                }
                // Without memory for one more frame, a later flow would find none either.
                if run.dry {
                    self.retry = now + self.slot;
                    return;
                }
                continue;
            }
            let mut len = 0;
            let start = self.shaper.start(now);
            let made = self.sources.send(now, start, p, |head, wire_len| {
                len = wire_len;
                port.data_frame(head, wire_len).map(|frame| hand.push(frame)).is_some()
            });
            if !made {
                self.retry = now + self.slot;
                return;
            }
            self.data_made(p, before);
            charge(&mut self.shaper, &mut self.counters, now, len);
        }
    }

    /// Reports the data frames from place `before` on to the meter, if there is one.
    #[inline]
    fn data_made(&mut self, p: Priority, before: usize) {
        let Some(meter) = &mut self.meter else { return };
        // Only a stream that may send messages makes frames that have to be parsed.
        if !meter.has_messages() {
            return meter.made(Leaving::Data(p), self.hand.len() - before);
        }
        for frame in &self.hand[before..] {
            let what = match meter::message(frame.head()) {
                Some((priority, pause)) => Leaving::Message(p, priority, pause),
                None => Leaving::Data(p),
            };
            meter.made(what, 1);
        }
    }

    /// Reports to the link protocols that the port has accepted the timestamped frames.
    #[inline]
    pub(super) fn agents_handed_over(&mut self, now: Instant) {
        if let (Some(before), Some(agents)) = (self.dated, &mut self.agents) {
            agents.handed_over(self.port.clock(now).since(before));
            if self.leading == 0 {
                self.dated = None;
            }
        }
    }

    /// Offers the made frames to the port.
    #[inline]
    pub(super) fn hand_over(&mut self, now: Instant) {
        let before = self.hand.len();
        self.port.tx_burst(&mut self.hand);
        // The port takes from the front, where the leading ones are.
        self.leading = self.leading.saturating_sub(before - self.hand.len());
        self.agents_handed_over(now);
        if let Some(meter) = &mut self.meter {
            meter.gone(now, self.hand.len());
        }
    }

    /// Returns the time for the next poll if nothing arrives.
    pub(super) fn deadline(&self) -> Instant {
        let timers = self.timers();
        // Nothing can be sent, but timeouts go on.
        if !self.up {
            return timers;
        }
        if !self.hand.is_empty() {
            return self.retry.min(timers);
        }
        let mut due = self.due_besides_data();
        if self.answers.ready(self.paused) || self.neighbours.ready(self.paused) {
            // Replies are due at once, and wait for the line or the port alone.
            due = Instant::ZERO;
        }
        self.next_start(due, timers)
    }

    /// Time of the next change of pauses and of the next timeout.
    pub(super) fn timers(&self) -> Instant {
        let timers = self.receiver.next_deadline().min(self.sources.next_timeout());
        match &self.reactions {
            Some(reactions) => timers.min(reactions.next_deadline()),
            None => timers,
        }
    }

    /// Due time of the next frame that is neither data nor a reply.
    pub(super) fn due_besides_data(&self) -> Instant {
        let pauses = self.pauses.iter().map(|p| p.due).min().unwrap_or(Instant::NEVER);
        let agents = self.agents.as_ref().map_or(Instant::NEVER, |a| a.next_deadline());
        let others = pauses.min(agents).min(self.sources.first_control());
        others.min(self.neighbours.next_deadline())
    }

    /// Returns the time of the next poll if data and the frames that are due at `others` are all that
    /// waits, besides `timers`.
    #[inline]
    pub(super) fn next_start(&self, others: Instant, timers: Instant) -> Instant {
        let data = self.sources.first(self.paused).map_or(Instant::NEVER, |(due, _)| due);
        let due = data.min(others);
        if due == Instant::NEVER {
            return timers;
        }
        // Neither while the line is busy, nor before a refused frame is tried again.
        due.max(self.shaper.free_at()).max(self.retry).min(timers)
    }
}

/// Records that a frame starts on the line now.
#[inline]
pub(super) fn charge(
    shaper: &mut Shaper,
    counters: &mut StationCounters,
    now: Instant,
    wire_len: u32,
) {
    shaper.charge(now, wire_len);
    counters.tx_frames += 1;
    counters.tx_bytes += u64::from(wire_len);
}

/// Reports `n` made frames to the meter, if there is one.
#[inline]
fn count_made(meter: &mut Option<Box<Meter>>, what: Leaving, n: usize) {
    if let Some(meter) = meter {
        meter.made(what, n);
    }
}

/// Counts a frame made on the control path if it is a pause, and reports it to the meter at index
/// `place`.
fn control_made(
    counters: &mut StationCounters,
    meter: &mut Option<Box<Meter>>,
    mac: Mac,
    octets: &[u8],
    place: usize,
) {
    let what = meter::control_frame(octets, mac);
    if let Leaving::Pause(pause) = &what {
        counters.pauses_sent += 1;
        for p in pause.enabled.iter() {
            counters.priorities[p.index()].sent += 1;
        }
    }
    if let Some(meter) = meter {
        meter.made_at(what, place);
    }
}
