//! Where frames go: how flows are found, isolated and brought back.

use super::queues::{Hold, Queues};
use super::{Arrival, Isolated, Isolation, Placement};
use crate::congestion::detect::Queue;
use crate::congestion::streams::{CreateMask, Place, Stream};
use crate::time::Instant;
use crate::units::{Bytes, PRIORITIES, TrafficClass};

impl Isolation {
    /// Whether a frame for a queue of `length` octets may have to go to another one. If not, it stays,
    /// [`Self::place`] need not be asked, and nobody has to find out what flow it is.
    #[inline]
    #[must_use]
    pub fn concerns(&self, queue: Queue, length: Bytes) -> bool {
        length.0 > self.floors[queue.index()]
            || !self.streams.is_empty() && self.monitored >> queue.class.get() & 1 == 1
    }

    /// Where a frame goes. `lengths` are the octets in the queues of its egress port before it.
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
            && self.watches[arrival.queue.index()].detect.picks(length, &mut self.dice);
        let stays = Placement { class, hold: Hold::NONE, cim: None };
        // A curve may not pick what is above its floor, and streams may be empty all the same.
        if !hot && self.streams.is_empty() {
            return stays;
        }
        self.place_known(now, arrival, hot, lengths).unwrap_or(stays)
    }

    /// Where a frame goes whose flow may be isolated, or is to be if it is `hot`; nothing if it stays
    /// in its class.
    fn place_known(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        hot: bool,
        lengths: &[Bytes; PRIORITIES],
    ) -> Option<Placement> {
        let Some(place) = self.streams.find(arrival.queue, &arrival.key) else {
            // Flows that nobody sends any more would otherwise be looked for by all the others.
            self.streams.reap(now, |stream| is_drained(&self.queues, stream));
            let place = hot.then(|| self.isolate(now, arrival, CreateMask::LOCAL)).flatten()?;
            return Some(self.join(now, place, arrival, lengths));
        };
        let watch = &self.watches[arrival.queue.index()];
        let stream = self.streams.get_mut(place);
        let congesting = lengths[stream.state.to.index()];
        let goes_on = self.plan.enabled && (hot || congesting > watch.low);
        if hot {
            stream.mask.insert(CreateMask::LOCAL);
        }
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

    /// A flow's frame goes back to the class it came for, with a last CIM if there were others.
    fn bring_back(&mut self, now: Instant, place: Place, class: TrafficClass) -> Option<Placement> {
        let told = self.streams.get(place).state.told;
        self.streams.remove(place);
        self.counters.returned += 1;
        let cim = self.tell_end(now, told)?;
        Some(Placement { class, hold: Hold::NONE, cim: Some(cim) })
    }

    /// Takes a flow of a monitored class into the table, if there is room.
    pub(super) fn isolate(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        mask: CreateMask,
    ) -> Option<Place> {
        let to = self.plan.map.congesting(arrival.queue.class)?;
        let behind = self.queues.joined(arrival.queue);
        let (key, queue, labels) = (arrival.key, arrival.queue, arrival.labels);
        let state = Isolated { to, labels, behind, last: 0, counted: 0, told: None };
        let stream = Stream { key, queue, created: now, mask, messages: 0, state };
        let queues = &self.queues;
        let taken = self.streams.insert(now, stream, |stream| is_drained(queues, stream)).ok();
        self.counters.no_room += u64::from(taken.is_none());
        taken
    }

    /// A frame of an isolated flow joins the congesting queue.
    fn join(
        &mut self,
        now: Instant,
        place: Place,
        arrival: &Arrival,
        lengths: &[Bytes; PRIORITIES],
    ) -> Placement {
        let Queue { port, class } = arrival.queue;
        let Isolated { to, behind, .. } = self.streams.get(place).state;
        let held = self.queues.left(arrival.queue) < behind;
        let hold = if held { Hold::new(class, behind) } else { Hold::NONE };
        // If it does not join after all, another frame has this number, which leaves no earlier.
        let last = self.queues.joined(Queue { port, class: to }) + 1;
        self.streams.get_mut(place).state.last = last;
        self.counters.isolated_frames += 1;
        self.counters.held_frames += u64::from(held);
        let persists = lengths[to.index()] > self.watches[arrival.queue.index()].cim_above;
        let cim = if persists { self.tell(now, place, arrival.ingress) } else { None };
        Placement { class: to, hold, cim }
    }
}

/// Whether none of a flow's frames is in its congesting queue any more. An empty queue has none,
/// whatever did not join it after it was placed.
fn is_drained(queues: &Queues, stream: &Stream<Isolated>) -> bool {
    let congesting = Queue { class: stream.state.to, ..stream.queue };
    queues.left(congesting) >= stream.state.last.min(queues.joined(congesting))
}
