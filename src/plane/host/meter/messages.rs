//! Measurement of messages at a port: source flow control messages (SFCM) and control streams.
//!
//! Of SFCMs those that the port sends are measured, the PFC that may follow from them at another port, and
//! those that it obeys. A message stops a priority at its host, so the reaction to one is measured as that
//! to a pause: to the start of the last frame of the train of its priority that it stops ([`super::times`]).
//!
//! Frames of control streams carry no probe and are identified by their first bytes.

use arrayvec::ArrayVec;

use super::times::{ReactionMeter, Reactions};
use crate::plan::FlowId;
use ground::time::{Duration, Instant, Total};
use ground::units::{BitsPerSec, PRIORITIES, Priority, Quanta};
use pfc::PauseVector;
use wire::{ip, sfcm, udp, vlan};

/// Number of recent events that are kept.
const KEPT: usize = 128;

/// A message that a port sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToldPause {
    pub at: Instant,
    pub priority: Priority,
    /// Requested pause time; 0 ends a pause.
    pub pause: Duration,
}

/// A received pause that did not renew another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BegunPause {
    pub at: Instant,
    pub priority: Priority,
    pub quanta: Quanta,
}

/// Results about messages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MessageCounters {
    /// Messages sent.
    pub sent: u64,
    /// Sum of their requested pause times.
    pub requested: Total,
    /// The last 128 of them, in order.
    pub told: Vec<ToldPause>,
    /// Reactions of the peer to them: from the message to the start of the last frame of its priority.
    pub reactions: Reactions,
    /// The last 128 received pauses that began, in order.
    pub begun: Vec<BegunPause>,
    /// Time from the first data frame sent to the first message obeyed.
    pub until_first: Option<Duration>,
    /// Longest time from a message obeyed to the departure of the last frame made before it.
    pub silence: Option<Duration>,
}

/// Meter of the messages of one station.
#[derive(Debug, Default)]
pub(super) struct MessageMeter {
    sent: u64,
    requested: Total,
    told: Recent<ToldPause>,
    reactions: [ReactionMeter; PRIORITIES],
    begun: Recent<BegunPause>,
    /// By priority: end of the last received pause.
    until: [Instant; PRIORITIES],
    first_frame: Option<Instant>,
    until_first: Option<Duration>,
    /// The last message obeyed, while frames made before it are unsent, and their number.
    waits: Option<(Instant, usize)>,
    silence: Option<Duration>,
}

impl MessageMeter {
    /// Records that a message was sent.
    pub(super) fn sent(&mut self, now: Instant, priority: Priority, pause: Duration) {
        self.sent += 1;
        self.requested += pause;
        self.told.push(ToldPause { at: now, priority, pause });
        let reactions = &mut self.reactions[priority.index()];
        match pause {
            // A message without a pause time ends the pause of its flow.
            Duration::ZERO => reactions.on_resume(now),
            _ => reactions.on_pause(now, pause),
        }
    }

    /// Records a received data frame; `on_line` gives its time on the line.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        now: Instant,
        p: Priority,
        on_line: impl FnOnce() -> Duration,
    ) {
        self.reactions[p.index()].on_frame(now, on_line);
    }

    /// Records a received pause.
    pub(super) fn on_pause(&mut self, now: Instant, pause: &PauseVector, rate: BitsPerSec) {
        for priority in pause.enabled.iter() {
            let (quanta, until) = (pause.time[priority.index()], &mut self.until[priority.index()]);
            // A renewal before the end of the last pause does not begin one.
            if quanta.0 > 0 && now >= *until {
                self.begun.push(BegunPause { at: now, priority, quanta });
            }
            // Each pause replaces the one before, a resume included.
            *until = now.saturating_add(quanta.at(rate));
        }
    }

    /// Records a message that began a pause here, with `unsent` frames made before it.
    pub(super) fn obeyed(&mut self, now: Instant, unsent: usize) {
        if let (None, Some(first)) = (self.until_first, self.first_frame) {
            self.until_first = Some(now.since(first));
        }
        match unsent {
            // Nothing was made before the message, so the station is silent at once.
            0 => self.silence = self.silence.max(Some(Duration::ZERO)),
            _ => self.waits = Some((now, unsent)),
        }
    }

    /// Records that the port accepted a data frame.
    #[inline]
    pub(super) fn data_gone(&mut self, now: Instant) {
        self.first_frame.get_or_insert(now);
    }

    /// Records that the port accepted `n` frames.
    #[inline]
    pub(super) fn gone(&mut self, now: Instant, n: usize) {
        let Some((since, left)) = self.waits else { return };
        // Frames leave in order: those made before the message come first.
        self.waits = (left > n).then(|| (since, left - n));
        if self.waits.is_none() {
            self.silence = self.silence.max(Some(now.since(since)));
        }
    }

    /// Records a frame that was inserted behind the first `place` unsent ones.
    pub(super) fn inserted(&mut self, place: usize) {
        // A control frame goes in front of data and delays it by one.
        if let Some((_, left)) = self.waits.as_mut().filter(|(_, left)| place < *left) {
            *left += 1;
        }
    }

    /// Records that the link went down: unsent frames are lost, and all pauses end.
    pub(super) fn link_down(&mut self, now: Instant) {
        self.waits = None;
        self.until = self.until.map(|until| until.min(now));
        self.reactions.iter_mut().for_each(|meter| meter.on_resume(now));
    }

    /// Resets all results but those of messages that were sent.
    pub(super) fn clear(&mut self) {
        // The counts belong to the port, like those of pauses.
        *self = Self { sent: self.sent, requested: self.requested, ..Self::default() };
    }

    pub(super) fn counters(&self) -> MessageCounters {
        let mut reactions = Reactions::default();
        self.reactions.iter().for_each(|meter| reactions.merge(&meter.reactions()));
        MessageCounters {
            sent: self.sent,
            requested: self.requested,
            told: self.told.in_order(),
            reactions,
            begun: self.begun.in_order(),
            until_first: self.until_first,
            silence: self.silence,
        }
    }
}

/// The last events.
#[derive(Debug)]
struct Recent<T> {
    kept: ArrayVec<T, KEPT>,
    /// Place of the oldest one, once there are [`KEPT`].
    oldest: usize,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { kept: ArrayVec::new(), oldest: 0 }
    }
}

impl<T: Copy> Recent<T> {
    fn push(&mut self, event: T) {
        if self.kept.is_full() {
            self.kept[self.oldest] = event;
            self.oldest = (self.oldest + 1) % KEPT;
        } else {
            self.kept.push(event);
        }
    }

    fn in_order(&self) -> Vec<T> {
        // A ring: behind its oldest event are the next older ones.
        let (new, old) = self.kept.split_at(self.oldest);
        [old, new].concat()
    }
}

/// Returns the priority and the pause of a frame that may be a message. Only the ports and the version
/// are checked: a tester also sends invalid messages.
pub(crate) fn message(head: &[u8]) -> Option<(Priority, Duration)> {
    let walk = vlan::walk(head).ok()?;
    let packet = ip::View::new(walk.ethertype, head.get(walk.l3..)?).ok()?;
    let upper = packet.upper().ok()?;
    if upper.protocol != ip::Protocol::UDP || upper.fragment != ip::Fragment::Whole {
        return None;
    }
    let ports = upper.payload.first_chunk::<4>()?;
    let [from, to] = [0, 2].map(|at| u16::from_be_bytes([ports[at], ports[at + 1]]));
    // Both ports of a message are the same one, of the dynamic range.
    if from != to || to < sfcm::PORT_MIN {
        return None;
    }
    sfcm::peek(upper.payload.get(udp::HEADER_LEN..)?)
}

/// Counters of a received control stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControlCounters {
    pub id: FlowId,
    /// Received frames.
    pub frames: u64,
    /// Received bytes, FCS included.
    pub bytes: u64,
    /// Arrival of the first frame.
    pub first_arrival: Option<Instant>,
    /// Arrival of the last frame.
    pub last_arrival: Option<Instant>,
}

/// The receiving end of one control stream.
#[derive(Debug)]
pub(super) struct ControlSink {
    octets: Vec<u8>,
    counters: ControlCounters,
}

impl ControlSink {
    /// Creates a sink for frames that start with `octets`.
    pub(super) fn new(id: FlowId, octets: &[u8]) -> Self {
        let counters =
            ControlCounters { id, frames: 0, bytes: 0, first_arrival: None, last_arrival: None };
        Self { octets: octets.to_vec(), counters }
    }

    pub(super) const fn id(&self) -> FlowId {
        self.counters.id
    }

    /// Counts a frame if it belongs to this stream.
    pub(super) fn take(&mut self, now: Instant, head: &[u8], wire_len: u32) -> bool {
        // Padding behind the known bytes may differ.
        if !head.starts_with(&self.octets) {
            return false;
        }
        let c = &mut self.counters;
        c.frames += 1;
        c.bytes += u64::from(wire_len);
        c.first_arrival.get_or_insert(now);
        c.last_arrival = Some(now);
        true
    }

    /// Resets the counters.
    pub(super) fn clear(&mut self) {
        let id = self.counters.id;
        self.counters =
            ControlCounters { id, frames: 0, bytes: 0, first_arrival: None, last_arrival: None };
    }

    pub(super) const fn counters(&self) -> ControlCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtimes::{at, us};

    const P3: Priority = Priority::ALL[3];

    #[test]
    fn the_reaction_to_a_message_ends_with_the_train_that_it_stops() {
        let mut meter = MessageMeter::default();
        let frames = |meter: &mut MessageMeter, from: u64, to| {
            (from..to).step_by(10).for_each(|t| meter.on_data(at(t), P3, || us(1)));
        };
        frames(&mut meter, 0, 1_000);
        meter.sent(at(1_000), P3, us(10_000));
        frames(&mut meter, 1_000, 1_060);
        // A message without a train to stop has a reaction of zero.
        meter.sent(at(20_000), Priority::ALL[4], us(500));
        let found = meter.counters();
        assert_eq!((found.sent, found.requested.as_nanos_f64()), (2, 10_500e3));
        assert_eq!(found.told[0], ToldPause { at: at(1_000), priority: P3, pause: us(10_000) });
        assert_eq!((found.reactions.count, found.reactions.max), (2, Some(us(49))));
        assert_eq!(found.reactions.min, Some(Duration::ZERO));
    }

    #[test]
    fn a_pause_that_renews_another_one_has_not_begun() {
        let mut meter = MessageMeter::default();
        let rate = BitsPerSec::gbps(1);
        let mut pause = PauseVector::default();
        pause.enabled.insert(P3);
        // 100 quanta of 512 ns.
        for (t, quanta) in [(0, 100), (50, 100), (102, 7), (103, 0), (104, 9)] {
            pause.time[3] = Quanta(quanta);
            meter.on_pause(at(t), &pause, rate);
        }
        let begun: Vec<_> = meter.counters().begun.iter().map(|b| (b.at, b.quanta.0)).collect();
        assert_eq!(begun, [(at(0), 100), (at(102), 7), (at(104), 9)]);
        (0..200).for_each(|n| meter.sent(at(n), P3, us(n)));
        let told = meter.counters().told;
        assert_eq!((told.len(), told[0].at, told[127].at), (128, at(72), at(199)));
    }

    #[test]
    fn silence_begins_with_the_last_frame_made_before_a_message() {
        let mut meter = MessageMeter::default();
        meter.obeyed(at(0), 0);
        assert_eq!(meter.counters().until_first, None, "nothing was sent before");
        meter.data_gone(at(5));
        meter.gone(at(5), 1);
        meter.obeyed(at(25), 2);
        assert_eq!(meter.counters().silence, Some(Duration::ZERO));
        meter.gone(at(30), 1);
        meter.inserted(0);
        // Behind the frame that was made before the message.
        meter.inserted(2);
        meter.gone(at(31), 1);
        meter.gone(at(33), 3);
        meter.gone(at(90), 1);
        let found = meter.counters();
        assert_eq!((found.until_first, found.silence), (Some(us(20)), Some(us(8))));
    }

    #[test]
    fn a_link_that_goes_down_ends_the_wait_for_silence_and_all_pauses() {
        let mut meter = MessageMeter::default();
        let mut pause = PauseVector::default();
        pause.enabled.insert(P3);
        pause.time[3] = Quanta(u16::MAX);
        meter.on_pause(at(0), &pause, BitsPerSec::gbps(1));
        meter.obeyed(at(5), 2);
        meter.link_down(at(10));
        meter.gone(at(1_000), 2);
        assert_eq!(meter.counters().silence, None);
        meter.on_pause(at(20), &pause, BitsPerSec::gbps(1));
        assert_eq!(meter.counters().begun.len(), 2);
    }
}
