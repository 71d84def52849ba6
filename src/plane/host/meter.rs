//! Measurement of pauses and of the data that they stop, for a traffic generator.
//!
//! `Meter` receives every MAC control frame in either direction, and every data frame of known
//! priority, in order. Pauses are measured whether they are obeyed or not. A frame counts as sent
//! when the port accepts it, and as received when it is read from the port. Nothing is allocated
//! after the start.

mod messages;
mod times;

pub use messages::{BegunPause, ControlCounters, MessageCounters, ToldPause};
pub use times::{PauseTimes, Reactions};

pub(super) use messages::message;

use arrayvec::ArrayVec;

use super::plan::stream::Path;
use super::plan::{FlowId, StationPlan};
use contracts::frame::BURST;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, Mac, PRIORITIES, Priority, PrioritySet};
use messages::{ControlSink, MessageMeter};
use pfc::PauseVector;
use times::{PauseMeter, ReactionMeter};
use wire::{EtherType, mac_control, vlan};

/// Results of a meter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MeterCounters {
    /// Received pauses, by priority, and the data sent in spite of them.
    pub received: [PauseTimes; PRIORITIES],
    /// Sent pauses, by priority, and the data still received.
    pub sent: [PauseTimes; PRIORITIES],
    /// Reactions of the peer to sent pauses, by priority.
    pub reactions: [Reactions; PRIORITIES],
    /// Sent MAC control frames that are neither valid PFC nor valid PAUSE.
    pub malformed_sent: u64,
    /// Expected control streams, in the order of the plan.
    pub control: Vec<ControlCounters>,
    /// Source flow control messages, and the pauses that may follow from them.
    pub messages: MessageCounters,
}

impl MeterCounters {
    /// Returns the counters of a control stream, if it is expected.
    pub fn control(&self, id: FlowId) -> Option<&ControlCounters> {
        self.control.iter().find(|c| c.id == id)
    }
}

/// Meter of one station.
#[derive(Debug)]
pub(super) struct Meter {
    rate: BitsPerSec,
    received: [PauseMeter; PRIORITIES],
    sent: [PauseMeter; PRIORITIES],
    reactions: Box<[ReactionMeter; PRIORITIES]>,
    /// Priorities whose received, or sent, pauses still need data frames for their result.
    waits_to_send: PrioritySet,
    waits_to_receive: PrioritySet,
    hand: Hand,
    messages: Box<MessageMeter>,
    /// True if a stream may send messages.
    has_messages: bool,
    control: Vec<ControlSink>,
    malformed_sent: u64,
    /// Priority of each expected stream.
    expected: Vec<(FlowId, Priority)>,
    /// Path of each sent stream.
    own: Vec<(FlowId, Path)>,
}

impl Meter {
    /// Creates the meter of a validated plan, if it has one.
    pub(super) fn of(plan: &StationPlan) -> Option<Box<Self>> {
        // Without a meter a station pays one test per frame.
        let wanted = plan.tester.meter.as_ref()?;
        Some(Box::new(Self {
            rate: plan.rate,
            received: Default::default(),
            sent: Default::default(),
            reactions: Box::default(),
            waits_to_send: PrioritySet::EMPTY,
            waits_to_receive: PrioritySet::EMPTY,
            hand: Hand::default(),
            messages: Box::default(),
            has_messages: plan
                .tester
                .streams
                .iter()
                .any(|s| message(&s.template.headers).is_some()),
            control: wanted
                .control
                .iter()
                .map(|(id, octets)| ControlSink::new(*id, octets))
                .collect(),
            malformed_sent: 0,
            expected: wanted.streams.clone(),
            own: plan.tester.streams.iter().map(|s| (s.id, s.path)).collect(),
        }))
    }

    /// Returns the priority of an expected stream.
    pub(super) fn priority_of(&self, id: FlowId) -> Option<Priority> {
        self.expected.iter().find(|(stream, _)| *stream == id).map(|(_, p)| *p)
    }

    /// Records a received pause; `own` if it arrived in this queue of the port, where it counts.
    pub(super) fn on_pause(&mut self, now: Instant, pause: &PauseVector, own: bool) {
        note(&mut self.received, now, pause, own, self.rate);
        self.messages.on_pause(now, pause, self.rate);
        // Data sent from now on belongs to this pause's result.
        self.waits_to_send.0 |= pause.enabled.0;
    }

    /// Records a received data frame of priority `p`. Returns true if further frames of the same
    /// time and priority change nothing, until something else is recorded.
    #[inline(never)]
    pub(super) fn on_data(&mut self, now: Instant, p: Priority, wire_len: u32) -> bool {
        let rate = self.rate;
        let on_line = || rate.time_for(Bytes(wire_len.into()));
        // The line time is calculated only for a frame within a pause.
        let in_window = self.reactions[p.index()].on_frame(now, on_line);
        if self.has_messages {
            self.messages.on_data(now, p, on_line);
        }
        if self.waits_to_receive.contains(p) && self.sent[p.index()].on_frame(now) {
            self.waits_to_receive.remove(p);
        }
        !(in_window || self.has_messages || self.waits_to_receive.contains(p))
    }

    /// Counts a received frame without a probe if it belongs to a control stream. Returns true if
    /// it does.
    #[inline]
    pub(super) fn on_other(&mut self, now: Instant, head: &[u8], wire_len: u32) -> bool {
        self.control.iter_mut().any(|c| c.take(now, head, wire_len))
    }

    /// Records `n` frames made for the port, behind the earlier ones.
    #[inline]
    pub(super) fn made(&mut self, what: Leaving, n: usize) {
        self.hand.push(what, n);
    }

    /// Records a frame made for the port, inserted behind the first `place` ones.
    pub(super) fn made_at(&mut self, what: Leaving, place: usize) {
        // In the order in which the port gets the frames, not in which they were made.
        self.hand.insert(what, place);
        self.messages.inserted(place);
    }

    /// Records that the port accepted frames from the front; `left` are still unsent.
    #[inline]
    pub(super) fn gone(&mut self, now: Instant, left: usize) {
        // A frame counts as sent when the port accepts it, because what waits here can still be overtaken.
        self.messages.gone(now, self.hand.frames() - left);
        while let Some(what) = self.hand.next_gone(left) {
            let data = match what {
                Leaving::Data(p) | Leaving::Message(p, ..) => Some(p),
                _ => None,
            };
            if let Some(p) = data {
                self.messages.data_gone(now);
                // After its first frame behind a pause a priority has no more to tell until the next one.
                if self.waits_to_send.contains(p) && self.received[p.index()].on_frame(now) {
                    self.waits_to_send.remove(p);
                }
            }
            match what {
                Leaving::Message(_, priority, pause) => self.messages.sent(now, priority, pause),
                Leaving::Pause(pause) => {
                    // The peer's reaction counts from here: the pause leaves now.
                    note(&mut self.sent, now, &pause, true, self.rate);
                    self.react(now, &pause);
                    self.waits_to_receive.0 |= pause.enabled.0;
                }
                Leaving::Malformed => self.malformed_sent += 1,
                Leaving::Data(_) | Leaving::Other => {}
            }
        }
    }

    /// Returns true if the station may send messages, so that its frames must be examined.
    #[inline]
    pub(super) const fn has_messages(&self) -> bool {
        self.has_messages
    }

    /// Records a message that began a pause here.
    pub(super) fn obeyed(&mut self, now: Instant) {
        self.messages.obeyed(now, self.hand.frames());
    }

    /// Records that the link went down: unsent frames are lost, and all pauses end.
    pub(super) fn link_down(&mut self, now: Instant) {
        self.hand.clear();
        self.messages.link_down(now);
        for meter in self.received.iter_mut().chain(&mut self.sent) {
            // Ended by the link, which is no resume that a peer sent.
            meter.on_resume(now, false);
        }
        self.reactions.iter_mut().for_each(|meter| meter.on_resume(now));
    }

    /// Starts measuring the reactions to a sent pause.
    fn react(&mut self, now: Instant, pause: &PauseVector) {
        for p in pause.enabled.iter() {
            let (meter, time) = (&mut self.reactions[p.index()], pause.time[p.index()]);
            match time.0 {
                0 => meter.on_resume(now),
                _ => meter.on_pause(now, time.at(self.rate)),
            }
        }
    }

    /// Sets another link rate. Running pauses keep their remaining quanta.
    pub(super) fn set_rate(&mut self, now: Instant, rate: BitsPerSec) {
        for meter in self.received.iter_mut().chain(&mut self.sent) {
            // A quantum is 512 bit times of the link, whatever its rate.
            meter.stretch(now, self.rate, rate);
        }
        self.rate = rate;
    }

    /// Restarts the given streams: their measurements are reset. Counts of pauses, and the
    /// requested time, belong to the port and continue.
    pub(super) fn clear(&mut self, which: &[FlowId]) {
        // Messages have no stream, so they restart with any.
        if !which.is_empty() {
            self.messages.clear();
        }
        for id in which {
            self.control.iter_mut().filter(|c| c.id() == *id).for_each(ControlSink::clear);
            if let Some(p) = self.priority_of(*id) {
                self.sent[p.index()].clear_frames();
                self.reactions[p.index()].clear();
            }
            match self.own.iter().find(|(own, _)| own == id) {
                Some((_, Path::Data(p))) => self.received[p.index()].clear_frames(),
                // A control stream may send pauses of any priority.
                Some((_, Path::Control)) => self.sent.iter_mut().for_each(PauseMeter::clear),
                None => {}
            }
        }
        if self.control.iter().any(|c| which.contains(&c.id())) {
            self.received.iter_mut().for_each(PauseMeter::clear);
        }
    }

    /// Returns the counters of the expected control streams.
    pub(super) fn control_counters(&self) -> impl Iterator<Item = ControlCounters> {
        self.control.iter().map(ControlSink::counters)
    }

    /// Returns the results up to `now`.
    pub(super) fn counters(&self, now: Instant) -> MeterCounters {
        MeterCounters {
            received: self.received.each_ref().map(|m| m.times(now)),
            sent: self.sent.each_ref().map(|m| m.times(now)),
            reactions: self.reactions.each_ref().map(ReactionMeter::reactions),
            malformed_sent: self.malformed_sent,
            control: self.control.iter().map(ControlSink::counters).collect(),
            messages: self.messages.counters(),
        }
    }
}

/// Classifies a frame made on the control path. Frames to a port's unicast address count as that
/// port parses them.
pub(super) fn control_frame(octets: &[u8], mac: Mac) -> Leaving {
    let Ok(walk) = vlan::walk(octets) else { return Leaving::Other };
    if walk.ethertype != EtherType::MAC_CONTROL {
        return Leaving::Other;
    }
    // A pause to one port's address is valid there alone.
    let port = if walk.dst.is_multicast() { mac } else { walk.dst };
    match mac_control::Repr::parse(octets, port) {
        Ok(repr) => Leaving::Pause(repr.vector()),
        Err(_) => Leaving::Malformed,
    }
}

/// Records a pause in one direction for each priority that it enables, and counts it if `counts`.
fn note(
    meters: &mut [PauseMeter; PRIORITIES],
    now: Instant,
    pause: &PauseVector,
    counts: bool,
    rate: BitsPerSec,
) {
    for p in pause.enabled.iter() {
        let (meter, time) = (&mut meters[p.index()], pause.time[p.index()]);
        if time.0 == 0 {
            meter.on_resume(now, counts);
        } else {
            meter.on_pause(now, time.at(rate), counts);
        }
    }
}

#[cfg(test)]
mod tests;

/// Kind of a frame to send, as far as a meter distinguishes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaving {
    /// Data of this priority.
    Data(Priority),
    /// A source flow control message, sent as data of the first priority: the priority that it names, and its
    /// pause.
    Message(Priority, Priority, Duration),
    /// A pause.
    Pause(PauseVector),
    /// A MAC control frame that is not a pause.
    Malformed,
    /// Anything else.
    Other,
}

/// The unsent frames of a station, in order, with equal neighbours combined.
#[derive(Debug, Default)]
struct Hand {
    pieces: ArrayVec<(Leaving, usize), BURST>,
    /// Total number of frames.
    frames: usize,
}

impl Hand {
    /// Appends `n` frames. There are never more than a burst.
    #[inline]
    fn push(&mut self, what: Leaving, n: usize) {
        self.frames += n;
        match self.pieces.last_mut() {
            // A burst of data is one piece.
            Some((last, count)) if *last == what => *count += n,
            _ => self.pieces.push((what, n)),
        }
    }

    /// Inserts a frame behind the first `place` ones.
    fn insert(&mut self, what: Leaving, place: usize) {
        let mut before = 0;
        for i in 0..self.pieces.len() {
            let (there, count) = self.pieces[i];
            // The piece that holds this place is cut in two.
            if place < before + count {
                let front = place - before;
                self.pieces[i].1 = count - front;
                self.pieces.insert(i, (what, 1));
                if front > 0 {
                    self.pieces.insert(i, (there, front));
                }
                self.frames += 1;
                return;
            }
            before += count;
        }
        self.push(what, 1);
    }

    /// Returns the number of frames.
    const fn frames(&self) -> usize {
        self.frames
    }

    /// Removes and returns the next sent frame when only `left` are still unsent. Messages and pauses
    /// are returned one by one; of other pieces one frame represents all that were sent, since they
    /// left together.
    #[inline]
    fn next_gone(&mut self, left: usize) -> Option<Leaving> {
        let gone = self.frames.checked_sub(left).expect("no more is left than there was");
        if gone == 0 {
            return None;
        }
        let (what, count) = &mut self.pieces[0];
        let what = *what;
        // Each of these is counted or has a content of its own.
        let each = matches!(what, Leaving::Message(..) | Leaving::Pause(_) | Leaving::Malformed);
        let n = if each { 1 } else { gone.min(*count) };
        *count -= n;
        self.frames -= n;
        if *count == 0 {
            self.pieces.remove(0);
        }
        Some(what)
    }

    /// Removes all frames without sending.
    fn clear(&mut self) {
        self.pieces.clear();
        self.frames = 0;
    }
}
