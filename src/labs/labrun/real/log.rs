//! Log of pause events, in order, and the two observers that write it.
//!
//! [`Observer`] observes one end of a link: it counts frames, and logs every pause received. [`Watch`] observes a
//! switch: it feeds the recorder of the virtual world, and logs the pauses that the switch sends.

use std::sync::Arc;

use crate::record::Recorder;
use contracts::frame::{Burst, Frame};
use contracts::port::{Port, Stamps, Tap, Tapped};
use contracts::stats::DropReason;
use contracts::world::Events;
use ground::time::{Duration, Instant};
use ground::units::{PortId, Priority, PriorityGroup, PrioritySet, TrafficClass};
use runtime::SharedInstant;
use sim::{Direction, NodeId, Note, Witness};

/// Most entries of one observer. A choice: some 16 MiB, far more than a lab of seconds needs.
/// Further entries are counted only.
const ENTRIES_MAX: usize = 1 << 18;

/// Bytes of a PFC frame up to its last time field.
pub const PAUSE_OCTETS: usize = 34;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Time, by the clock of the thread that polls the node.
    pub at: Instant,
    pub node: NodeId,
    pub what: Happening,
}

/// Kinds of pause events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happening {
    /// A switch noted that a group crossed its limit, that it sent or obeyed a pause, or that its
    /// watchdog acted.
    Noted(Note),
    /// A MAC control frame arrived on a direction of a link.
    Arrived {
        direction: Direction,
        /// First bytes of the frame, padded with zeros.
        octets: [u8; PAUSE_OCTETS],
    },
}

/// Log of one observer.
#[derive(Debug, Default)]
pub(super) struct Log {
    entries: Vec<(Instant, Happening)>,
    left_off: u64,
}

impl Log {
    pub(super) fn push(&mut self, at: Instant, what: Happening) {
        if self.entries.len() < ENTRIES_MAX {
            self.entries.push((at, what));
        } else {
            // The first entries are kept, and the number of the others is reported.
            self.left_off += 1;
        }
    }

    /// Moves the entries to the events of a node; returns the number of entries not kept.
    pub(super) fn hand_over(&mut self, node: NodeId, events: &mut Vec<Event>) -> u64 {
        let entries = self.entries.drain(..);
        events.extend(entries.map(|(at, what)| Event { at, node, what }));
        core::mem::take(&mut self.left_off)
    }
}

/// Returns the crossings of one group in order: true for XOFF, false for XON.
#[must_use]
pub fn crossings(events: &[Event], at: NodeId, port: PortId, group: PriorityGroup) -> Vec<bool> {
    let crossing = |event: &Event| match event.what {
        Happening::Noted(Note::Crossed { port: p, group: g, xoff })
            if (event.node, p, g) == (at, port, group) =>
        {
            Some(xoff)
        }
        _ => None,
    };
    events.iter().filter_map(crossing).collect()
}

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
pub(super) struct Observer {
    arriving: Direction,
    moment: Arc<Moment>,
    /// Frames received and sent.
    pub(super) received: u64,
    pub(super) sent: u64,
    pub(super) log: Log,
}

/// A port with an observer.
pub(super) type ObservedPort<P> = Tapped<P, Observer>;

impl Observer {
    /// Observes `port`, at which the direction `arriving` ends, by the time in `moment`.
    pub(super) fn of<P>(port: P, arriving: Direction, moment: &Arc<Moment>) -> ObservedPort<P> {
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

impl<P: Port> Tap<P> for Observer {
    #[inline]
    fn received(&mut self, _port: &P, frames: &[P::Frame]) {
        self.received += frames.len() as u64;
        for frame in frames {
            let head = frame.head();
            // An opcode is not read here: whether the port obeys the frame is the recorder's question.
            if head.get(12..14) == Some(&MAC_CONTROL) {
                self.note(head);
            }
        }
    }

    #[inline]
    fn send(&mut self, port: &mut P, out: &mut Burst<P::Frame>) {
        let before = out.len();
        port.tx_burst(out);
        // Frames that a full ring did not take stay in the burst.
        self.sent += (before - out.len()) as u64;
    }

    fn stamps(&self, port: &P) -> Stamps {
        // The sender of a frame may have another clock, which is up to a span away.
        Stamps { uncertainty: self.moment.span, ..port.stamps() }
    }
}

#[derive(Debug)]
pub(super) struct Watch {
    node: NodeId,
    /// Recorder of this switch only; removed at the end of the run.
    pub(super) recorder: Option<Recorder>,
    pub(super) log: Log,
}

impl Watch {
    pub(super) fn new(node: NodeId, recorder: Recorder) -> Self {
        Self { node, recorder: Some(recorder), log: Log::default() }
    }

    /// Records a frequent event, one per frame in a congested switch, without a log entry.
    fn count(&mut self, at: Instant, note: Note) {
        if let Some(recorder) = &mut self.recorder {
            recorder.noted(at, self.node, &note);
        }
    }

    fn note(&mut self, at: Instant, note: Note) {
        self.log.push(at, Happening::Noted(note));
        self.count(at, note);
    }
}

impl Events for Watch {
    #[inline]
    fn received(&mut self, _: Instant, port: PortId, priority: Priority, _: u32) {
        if let Some(recorder) = &mut self.recorder {
            // The virtual world counts this at the line; a ring has none.
            recorder.received(self.node, port, priority);
        }
    }
    fn dropped(
        &mut self,
        at: Instant,
        port: PortId,
        priority: Option<Priority>,
        reason: DropReason,
    ) {
        self.count(at, Note::Dropped { port, priority, reason });
    }
    fn marked(&mut self, at: Instant, port: PortId, class: TrafficClass) {
        self.count(at, Note::Marked { port, class });
    }
    fn crossed(&mut self, at: Instant, port: PortId, group: PriorityGroup, xoff: bool) {
        self.note(at, Note::Crossed { port, group, xoff });
    }
    fn pause_sent(&mut self, at: Instant, port: PortId, named: PrioritySet, paused: PrioritySet) {
        self.note(at, Note::PauseSent { port, named, paused });
    }
    fn pause_obeyed(&mut self, at: Instant, port: PortId, paused: PrioritySet) {
        self.note(at, Note::PauseObeyed { port, paused });
    }
    fn storm(&mut self, at: Instant, port: PortId, class: TrafficClass, detected: bool) {
        self.note(at, Note::Storm { port, class, detected });
    }
}
