//! Placing of frames (detection of flows, isolation, and return), and the totals of frames that
//! joined and left each queue, the only state that order needs.

use super::{Arrival, Isolated, Isolation, Placement};
use crate::detect::Queue;
use crate::streams::{CreateMask, Place, Stream};
use ground::time::Instant;
use ground::units::{Bytes, PRIORITIES, PortId, TrafficClass};

impl Isolation {
    /// Returns true if a frame for a queue of `length` bytes may have to go to another queue. If
    /// false, it stays, and the caller need neither call [`Self::place`] nor parse the flow.
    #[inline]
    #[must_use]
    pub fn concerns(&self, queue: Queue, length: Bytes) -> bool {
        // While no flow is isolated, only a frame above the floor can be the first of one.
        length.0 > self.floors[queue.index()]
            || !self.streams.is_empty() && self.monitored >> queue.class.get() & 1 == 1
    }

    /// Places a frame. `lengths` are the bytes in the queues of its egress port before it.
    #[inline]
    pub fn place(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        lengths: &[Bytes; PRIORITIES],
    ) -> Placement {
        let class = arrival.queue.class;
        let length = lengths[class.index()];
        let hot = length.0 > self.floors[arrival.queue.index()]
            && self.watches[arrival.queue.index()].detect.picks(length, &mut self.rng);
        let stays = Placement { class, hold: Hold::NONE, cim: None };
        // A curve may select no frame above its floor, and streams may be empty nevertheless.
        if !hot && self.streams.is_empty() {
            return stays;
        }
        self.place_known(now, arrival, hot, lengths).unwrap_or(stays)
    }

    /// Places a frame whose flow may be isolated, or is to be if it is `hot`; `None` if it stays in
    /// its class.
    fn place_known(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        hot: bool,
        lengths: &[Bytes; PRIORITIES],
    ) -> Option<Placement> {
        let Some(place) = self.streams.find(arrival.queue, &arrival.key) else {
            // Entries of flows that have stopped would otherwise cost all other flows a lookup.
            self.streams.reap(now, |stream| is_drained(&self.queues, stream));
            let place = hot.then(|| self.isolate(now, arrival, CreateMask::LOCAL)).flatten()?;
            return Some(self.join(now, place, arrival, lengths));
        };
        let watch = &self.watches[arrival.queue.index()];
        let stream = self.streams.get_mut(place);
        let congesting = lengths[stream.state.to.index()];
        // A flow goes on while either queue is loaded: a monitored one above its threshold, or a congesting one above
        // `low`.
        let goes_on = self.plan.enabled && (hot || congesting > watch.low);
        if hot {
            stream.mask.insert(CreateMask::LOCAL);
        }
        // A flow named by a CIM stays for ci-max-flow-life after the congestion (49.4.1.1.3).
        let named = self.plan.enabled && stream.mask.has(CreateMask::CIM);
        if goes_on {
            self.streams.touch(now, place);
        } else if (!named || self.streams.is_over(now, place))
            && is_drained(&self.queues, self.streams.get(place))
        {
            return self.bring_back(now, place, arrival.queue.class);
        }
        Some(self.join(now, place, arrival, lengths))
    }

    /// Returns a flow's frame to its original class, with a last CIM if CIMs were sent.
    fn bring_back(&mut self, now: Instant, place: Place, class: TrafficClass) -> Option<Placement> {
        let cim_sent = self.streams.get(place).state.cim_sent;
        self.streams.remove(place);
        self.counters.returned += 1;
        let cim = self.tell_end(now, cim_sent)?;
        Some(Placement { class, hold: Hold::NONE, cim: Some(cim) })
    }

    /// Inserts a flow of a monitored class into the table, if there is room.
    pub(super) fn isolate(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        mask: CreateMask,
    ) -> Option<Place> {
        let to = self.plan.map.congesting(arrival.queue.class)?;
        // Any of the frames until now may be one of the flow, so the hold is for all of them.
        let behind = self.queues.joined(arrival.queue);
        let (key, queue, labels) = (arrival.key, arrival.queue, arrival.labels);
        let state = Isolated { to, labels, behind, last: 0, counted: 0, cim_sent: None };
        let stream = Stream { key, queue, created: now, mask, messages: 0, state };
        let queues = &self.queues;
        let taken = self.streams.insert(now, stream, |stream| is_drained(queues, stream)).ok();
        self.counters.no_room += u64::from(taken.is_none());
        taken
    }

    /// Places a frame of an isolated flow in the congesting queue.
    fn join(
        &mut self,
        now: Instant,
        place: Place,
        arrival: &Arrival,
        lengths: &[Bytes; PRIORITIES],
    ) -> Placement {
        let Queue { port, class } = arrival.queue;
        let Isolated { to, behind, .. } = self.streams.get(place).state;
        // Once the monitored queue has passed that point, the flow's frames need no hold any more.
        let held = self.queues.left(arrival.queue) < behind;
        let hold = if held { Hold::new(class, behind) } else { Hold::NONE };
        // If it does not join, another frame gets this number, which leaves no earlier.
        let last = self.queues.joined(Queue { port, class: to }) + 1;
        self.streams.get_mut(place).state.last = last;
        self.counters.isolated_frames += 1;
        self.counters.held_frames += u64::from(held);
        let persists = lengths[to.index()] > self.watches[arrival.queue.index()].cim_above;
        let cim = if persists { self.notify(now, place, arrival.ingress) } else { None };
        Placement { class: to, hold, cim }
    }
}

/// Returns true if the congesting queue holds no frame of the flow. An empty queue holds none, even
/// if placed frames did not join it.
fn is_drained(queues: &Queues, stream: &Stream<Isolated>) -> bool {
    let congesting = Queue { class: stream.state.to, ..stream.queue };
    queues.left(congesting) >= stream.state.last.min(queues.joined(congesting))
}

/// Condition for dequeuing a frame from a congesting queue: a class, whose queue of the same port
/// it must not overtake, and the total of frames that must have left that queue. Packed into one
/// word, because each queued frame carries one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold(u64);

/// Number of bits of a class.
const CLASS_BITS: u32 = 3;

// A hold holds each class, and for more frames than can pass a queue (2^61).
const _: () = assert!(PRIORITIES == 1 << CLASS_BITS);

impl Hold {
    /// No condition.
    pub const NONE: Self = Self(0);

    /// Holds until `until` frames have left the queue of `class`.
    pub(super) const fn new(class: TrafficClass, until: u64) -> Self {
        Self(until << CLASS_BITS | class.get() as u64)
    }

    #[inline]
    pub(super) const fn class(self) -> TrafficClass {
        TrafficClass::ALL[(self.0 & ((1 << CLASS_BITS) - 1)) as usize]
    }

    #[inline]
    const fn until(self) -> u64 {
        self.0 >> CLASS_BITS
    }
}

/// Totals of one queue.
#[derive(Clone, Copy, Default, Debug)]
struct Passed {
    /// Total of frames that joined.
    joined: u64,
    /// Total of frames that left.
    left: u64,
}

/// Totals of all queues.
pub(super) struct Queues {
    passed: Box<[Passed]>,
    /// By port: queued frames with a hold.
    held: Box<[u32]>,
}

impl Queues {
    pub(super) fn new(ports: usize) -> Self {
        Self {
            passed: vec![Passed::default(); ports * PRIORITIES].into_boxed_slice(),
            held: vec![0; ports].into_boxed_slice(),
        }
    }

    /// Returns the total of frames that joined a queue.
    #[inline]
    pub(super) fn joined(&self, queue: Queue) -> u64 {
        self.passed[queue.index()].joined
    }

    /// Returns the total of frames that left a queue.
    #[inline]
    pub(super) fn left(&self, queue: Queue) -> u64 {
        self.passed[queue.index()].left
    }

    #[inline]
    pub(super) fn join(&mut self, queue: Queue, hold: Hold) {
        self.passed[queue.index()].joined += 1;
        if hold != Hold::NONE {
            self.held[queue.port.index()] += 1;
        }
    }

    #[inline]
    pub(super) fn leave(&mut self, queue: Queue, hold: Hold) {
        let passed = &mut self.passed[queue.index()];
        passed.left += 1;
        assert!(passed.left <= passed.joined, "a frame left that never joined");
        if hold != Hold::NONE {
            self.held[queue.port.index()] -= 1;
        }
    }

    /// Returns the number of queued frames of a port with a hold.
    #[inline]
    pub(super) const fn held(&self, port: PortId) -> u32 {
        self.held[port.index()]
    }

    #[inline]
    pub(super) const fn may_leave(&self, port: PortId, hold: Hold) -> bool {
        // `Hold::NONE` waits for no frame, so it needs no special case.
        self.passed[Queue { port, class: hold.class() }.index()].left >= hold.until()
    }
}
