//! The queue of a node's events, and the agenda of all nodes' first events.
//!
//! A queue has one slot for each kind of event that a port or the node itself can have, and never allocates.
//! Its order is total: by time, then by [`Order`], then by number of the slot. The agenda has one time for each
//! node, which is all that a window of the engine looks at.

use core::ops::Range;

use ground::memory::{LINE, fetch_item};
use ground::time::{Duration, Instant};
use ground::units::PortId;

/// Bits of a slot's number.
const SLOT_BITS: u32 = 24;

/// Order of simultaneous events of a node: arrivals before all others, the arrival that was scheduled
/// earlier first. The frame behind another one is scheduled when that one arrives, the first one on an
/// empty line when it is sent, which is later in the same picosecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order(u64);

impl Order {
    /// Longest age that the key stores, 1.07 ms: the time between scheduling and arrival. Older ones count as
    /// this old.
    const AGE_MAX: u64 = (1 << 30) - 1;
    /// Number of arrivals at one node and time that the key numbers; frames follow behind them.
    const TURNS: u32 = 1 << 8;
    const SENT: u64 = Self::TURNS as u64;

    /// All events but arrivals.
    pub const LAST: Self = Self(1 << 39);

    /// A frame that was sent `age` before it arrives, on a line without others.
    pub fn sent(age: Duration) -> Self {
        Self(Self::since(age) | Self::SENT)
    }

    /// A frame behind the `turn`th frame of a node at one time, which arrived `age` before it.
    pub fn behind(age: Duration, turn: u32) -> Self {
        Self(Self::since(age) | u64::from(turn.min(Self::TURNS - 1)))
    }

    // From the highest bit: whether it is no arrival, the age as what is missing to `AGE_MAX` (the older comes
    // first), whether the line was empty, and the turn of the frame in front.
    fn since(age: Duration) -> u64 {
        (Self::AGE_MAX - age.as_picos().min(Self::AGE_MAX)) << (Self::TURNS.trailing_zeros() + 1)
    }
}

/// Times in the queue, in picoseconds: a world ends 213 days after its start. No run is longer than
/// a [`Duration`](ground::time::Duration), the type of a lab's run time.
type Due = u64;

/// Never due, also the value of times at the end of a world or later.
const NEVER: Due = Due::MAX;

#[inline(always)]
const fn due(time: Instant) -> Due {
    let ps = time.as_picos();
    if ps < NEVER as u128 { ps as Due } else { NEVER }
}

const fn time_of(due: Due) -> Instant {
    if due == NEVER { Instant::NEVER } else { Instant::from_picos(due as u128) }
}

/// A tournament tree of times: each node holds the earlier time of its two children. Slots are the
/// leaves and never move, so a change follows one path towards the root, one comparison of words per
/// level. The order of events of one time is looked at only where there are several.
#[derive(Debug)]
pub struct Queue {
    /// By node of the tree, from 1 for the root: the times of its two children.
    pairs: Box<[[Due; 2]]>,
    /// By slot: order of its event, and the slot's number.
    orders: Box<[u64]>,
}

impl Queue {
    /// Creates a queue of `slots` slots with nothing pending.
    ///
    /// # Panics
    /// With more than 2^24 slots.
    pub fn new(slots: usize) -> Self {
        assert!(slots <= 1 << SLOT_BITS, "slots are numbered by {SLOT_BITS} bits");
        let leaves = slots.next_power_of_two().max(2);
        Self { pairs: vec![[NEVER; 2]; leaves].into(), orders: vec![0; slots].into() }
    }

    /// Due time of the slot's event.
    #[inline(always)]
    fn due(&self, slot: u32) -> Due {
        let leaf = self.pairs.len() + slot as usize;
        self.pairs[leaf >> 1][leaf & 1]
    }

    /// Due time of the first event.
    #[inline(always)]
    fn first_due(&self) -> Due {
        let [left, right] = self.pairs[1];
        left.min(right)
    }

    /// Sets the time of the slot's event, and replaces a pending one. An event with an unchanged time
    /// keeps its order.
    #[inline]
    pub fn set(&mut self, slot: u32, order: Order, time: Instant) {
        let time = due(time);
        if self.due(slot) != time {
            // Order and slot fill the word: 40 bits and 24, so that equal orders fall to the lower slot.
            self.orders[slot as usize] = order.0 << SLOT_BITS | u64::from(slot);
            self.put(slot, time);
        }
    }

    /// True if `at` is before the slot's event.
    #[inline]
    pub fn is_before(&self, slot: u32, time: Instant) -> bool {
        due(time) < self.due(slot)
    }

    /// True if the slot's event is before `end`.
    #[inline]
    pub(super) fn is_due(&self, slot: u32, end: Instant) -> bool {
        self.due(slot) < due(end)
    }

    /// Brings it into the caches.
    #[inline]
    pub(super) fn fetch(&self) {
        for line in (0..self.pairs.len()).step_by(LINE / size_of::<[Due; 2]>()) {
            fetch_item(&self.pairs, line);
        }
        for line in (0..self.orders.len()).step_by(LINE / size_of::<u64>()) {
            fetch_item(&self.orders, line);
        }
    }

    /// Brings the time of a slot's event into the caches.
    #[inline]
    pub(super) fn fetch_slot(&self, slot: u32) {
        fetch_item(&self.pairs, (self.pairs.len() + slot as usize) / 2);
    }

    #[inline]
    fn put(&mut self, slot: u32, at: Due) {
        let (mut node, mut least) = (self.pairs.len() + slot as usize, at);
        loop {
            let pair = &mut self.pairs[node >> 1];
            // Nothing changes from here to the root.
            if pair[node & 1] == least {
                return;
            }
            pair[node & 1] = least;
            node >>= 1;
            if node == 1 {
                return;
            }
            least = pair[0].min(pair[1]);
        }
    }

    /// Returns the time of the first event; NEVER if there is none.
    #[inline]
    pub fn first_at(&self) -> Instant {
        time_of(self.first_due())
    }

    /// True if the first event is at `at`, which is not NEVER.
    #[inline]
    pub fn is_first_at(&self, time: Instant) -> bool {
        self.first_due() == due(time)
    }

    /// Returns the lowest slot that has an event at the time of the first, and true if another one has,
    /// too. There has to be an event.
    #[inline]
    pub fn head(&self) -> (u32, bool) {
        let (time, pairs) = (self.first_due(), &*self.pairs);
        let (mut node, mut shared) = (1, false);
        while let Some([left, right]) = pairs.get(node) {
            let is_left = *left == time;
            // No `&&`: both values are at hand, and a branch might be mispredicted.
            shared |= is_left & (*right == time);
            // To the left where both have the time, so that the lowest slot is found.
            node = 2 * node + usize::from(!is_left);
        }
        ((node - pairs.len()) as u32, shared)
    }

    /// Returns the time of the first event of the first four slots, one slot left out.
    #[inline]
    pub fn first_besides(&self, slot: u32) -> Instant {
        let leaves = self.pairs.len() / 2;
        let times = self.pairs[leaves..leaves + 2].as_flattened();
        let others = times.iter().zip(0..).filter(|(_, n)| *n != slot);
        time_of(others.map(|(at, _)| *at).min().unwrap_or(NEVER))
    }

    /// True for each of the first four slots that has an event at `at`, which is not NEVER.
    #[inline]
    pub fn first_four(&self, time: Instant) -> [bool; 4] {
        // A host has four slots (arrival, wake, node, defect), which are the first two pairs of leaves.
        let leaves = self.pairs.len() / 2;
        let [[a, b], [c, d]] = [self.pairs[leaves], self.pairs[leaves + 1]];
        [a, b, c, d].map(|slot| slot == due(time))
    }

    /// Adds the events of these slots at the time of the first one to the empty `out`, in their order;
    /// [`Self::slot_of`] returns the slot of each.
    pub fn tied(&self, slots: Range<u32>, out: &mut Vec<u64>) {
        let (from, to) = (slots.start as usize, slots.end as usize);
        let times = self.pairs[self.pairs.len() / 2..].as_flattened();
        let (first, orders) = (self.first_due(), &self.orders[from..to]);
        let tied = times[from..to].iter().zip(orders).filter(|(at, _)| **at == first);
        out.extend(tied.map(|(_, order)| *order));
        out.sort_unstable();
    }

    /// Slot of an event of [`Self::tied`].
    #[inline]
    pub const fn slot_of(order: u64) -> u32 {
        order as u32 & ((1 << SLOT_BITS) - 1)
    }
}

/// Layout of the slots in the queue of a node: arrivals, deadlines of ports, its own deadline, defects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    ports: u32,
}

/// Kind of an event of a node.
pub(super) enum Event {
    /// A frame has arrived at a port, or is to be validated there.
    Arrival(PortId),
    /// A deadline of a port.
    Wake(PortId),
    /// A deadline of the node.
    Node,
    /// A defect of a port acts.
    Defect(PortId),
}

impl Slots {
    pub(super) const fn new(ports: usize) -> Self {
        Self { ports: ports as u32 }
    }
    pub(super) const fn arrival(port: PortId) -> u32 {
        port.get() as u32
    }
    /// Slots below this one are of arrivals.
    pub(super) const fn arrivals(self) -> u32 {
        self.ports
    }
    pub(super) const fn wake(self, port: PortId) -> u32 {
        self.ports + port.get() as u32
    }
    pub(super) const fn node(self) -> u32 {
        2 * self.ports
    }
    pub(super) const fn defect(self, port: PortId) -> u32 {
        2 * self.ports + 1 + port.get() as u32
    }
    pub(super) const fn count(self) -> usize {
        3 * self.ports as usize + 1
    }

    #[inline]
    pub(super) fn event(self, slot: u32) -> Event {
        let port = |n: u32| PortId::new(n as u16).expect("a slot is of a port with an id");
        // Arrivals are the most frequent events, and their slots the first.
        if slot < self.ports {
            Event::Arrival(port(slot))
        } else if slot < self.node() {
            Event::Wake(port(slot - self.ports))
        } else if slot == self.node() {
            Event::Node
        } else {
            Event::Defect(port(slot - self.node() - 1))
        }
    }
}

/// Nodes per block.
const BLOCK: usize = 64;

/// The time of every node's first event, in blocks of nodes. A window handles most nodes of a busy
/// network, so looking through them in order costs less than keeping them sorted.
#[derive(Debug)]
pub(super) struct Agenda {
    next: Box<[Due]>,
    /// By block: a time not later than that of any of its nodes.
    least: Box<[Due]>,
}

impl Agenda {
    /// Creates an agenda of `nodes` nodes without events.
    pub(super) fn new(nodes: usize) -> Self {
        let blocks = nodes.div_ceil(BLOCK);
        Self { next: vec![NEVER; nodes].into(), least: vec![NEVER; blocks].into() }
    }

    /// Sets the time of a node's first event.
    #[inline]
    pub(super) fn set(&mut self, node: usize, time: Instant) {
        let time = due(time);
        self.next[node] = time;
        let least = &mut self.least[node / BLOCK];
        // Only lowered: where an event moves to a later time the bound is early, which costs a search and no result.
        *least = (*least).min(time);
    }

    /// Sets the time of a node's first event, unless it has an earlier one.
    #[inline]
    pub(super) fn advance(&mut self, node: usize, time: Instant) {
        if due(time) < self.next[node] {
            self.set(node, time);
        }
    }

    /// A lower bound of the time of the first event. It is exact unless an event was moved to a later time
    /// or cancelled since the last [`Self::take`].
    #[inline]
    pub(super) fn bound(&self) -> Instant {
        time_of(self.least.iter().copied().min().unwrap_or(NEVER))
    }

    /// The time of the first event.
    pub(super) fn first(&self) -> Instant {
        time_of(self.next.iter().copied().min().unwrap_or(NEVER))
    }

    /// Adds the nodes with events before `end` to `out`, in the order of their numbers. Each has no event
    /// until its time is set again.
    pub(super) fn take(&mut self, end: Instant, out: &mut Vec<u32>) {
        let end = due(end);
        for (block, least) in self.least.iter_mut().enumerate().filter(|(_, least)| **least < end) {
            // Calculated again from the nodes that stay.
            *least = NEVER;
            let first = block * BLOCK;
            let last = (first + BLOCK).min(self.next.len());
            for (node, next) in (first..last).zip(&mut self.next[first..last]) {
                if *next < end {
                    out.push(node as u32);
                    *next = NEVER;
                } else {
                    *least = (*least).min(*next);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Slot of the first event, by the order of all slots.
    fn first(queue: &Queue) -> u32 {
        let mut tied = vec![];
        queue.tied(0..queue.orders.len() as u32, &mut tied);
        Queue::slot_of(tied[0])
    }

    #[test]
    fn ties_go_to_the_order_and_then_to_the_lower_slot() {
        let (at, ns) = (Instant::from_picos(7), Duration::from_nanos);
        // From the first to the last.
        let of = [
            (6, Order::sent(Duration::from_millis(2))),
            (5, Order::behind(ns(10), 0)),
            (4, Order::behind(ns(10), 1)),
            (3, Order::sent(ns(10))),
            (8, Order::behind(ns(10) - Duration::from_picos(1), 0)),
            (1, Order::LAST),
            (2, Order::LAST),
        ];
        for rotated in 0..of.len() {
            let mut queue = Queue::new(9);
            assert_eq!(queue.first_at(), Instant::NEVER);
            for (slot, order) in of.iter().cycle().skip(rotated).take(of.len()) {
                queue.set(*slot, *order, at);
                queue.set(*slot, Order::sent(Duration::from_millis(3)), at);
                assert!(!queue.is_before(*slot, Instant::from_picos(8)));
            }
            for (slot, _) in of {
                assert_eq!((queue.first_at(), first(&queue)), (at, slot));
                queue.set(slot, Order::LAST, Instant::NEVER);
            }
            assert_eq!(queue.first_at(), Instant::NEVER);
        }
    }

    proptest! {
        #[test]
        fn the_first_is_the_least_of_all(
            slots in 1_usize..40,
            sets in proptest::collection::vec((any::<u32>(), 0_u64..50, any::<bool>()), 1..200),
        ) {
            let mut queue = Queue::new(slots);
            let mut model = vec![Instant::NEVER; slots];
            for (n, (slot, at, advance)) in sets.into_iter().enumerate() {
                let slot = slot as usize % slots;
                let at = if at == 0 { Instant::NEVER } else { Instant::from_picos(at.into()) };
                // Events due after the end of time never happen.
                let late = Instant::from_picos(u128::from(u64::MAX) + n as u128 % 3);
                let set = if at == Instant::NEVER { late } else { at };
                prop_assert_eq!(queue.is_before(slot as u32, set), at < model[slot]);
                if !advance || at < model[slot] {
                    queue.set(slot as u32, Order::LAST, set);
                    model[slot] = at;
                }
                let least = model.iter().enumerate().min_by_key(|(n, due)| (**due, *n)).unwrap();
                prop_assert_eq!(queue.first_at(), *least.1);
                if *least.1 != Instant::NEVER {
                    prop_assert_eq!(first(&queue), least.0 as u32);
                    let same = model.iter().filter(|due| *due == least.1).count();
                    prop_assert_eq!(queue.head(), (least.0 as u32, same > 1));
                    prop_assert!(queue.is_first_at(*least.1));
                }
                prop_assert_eq!(queue.due(slot as u32), due(model[slot]));
            }
        }
    }

    fn at(ps: u64) -> Instant {
        if ps == 0 { Instant::NEVER } else { Instant::from_picos(ps.into()) }
    }

    proptest! {
        #[test]
        fn a_node_is_taken_when_its_first_event_is_due(
            sets in proptest::collection::vec((any::<u16>(), 0_u64..50, any::<bool>()), 1..200),
            ends in proptest::collection::vec(1_u64..60, 1..8),
        ) {
            // More than two blocks, the last one not whole.
            let nodes = 2 * BLOCK + 7;
            let mut agenda = Agenda::new(nodes);
            let mut model = vec![Instant::NEVER; nodes];
            for sets in sets.chunks(sets.len().div_ceil(ends.len())) {
                for &(node, time, advance) in sets {
                    let (node, time) = (usize::from(node) % nodes, at(time));
                    if advance {
                        agenda.advance(node, time);
                        model[node] = model[node].min(time);
                    } else {
                        agenda.set(node, time);
                        model[node] = time;
                    }
                }
                prop_assert_eq!(agenda.first(), *model.iter().min().unwrap());
                prop_assert!(agenda.bound() <= agenda.first());
            }
            for end in ends.into_iter().map(at) {
                let mut taken = Vec::new();
                agenda.take(end, &mut taken);
                let due = |node: &u32| model[*node as usize] < end;
                let expected: Vec<u32> = (0..nodes as u32).filter(due).collect();
                prop_assert_eq!(&taken, &expected);
                expected.iter().for_each(|node| model[*node as usize] = Instant::NEVER);
                prop_assert_eq!(agenda.first(), *model.iter().min().unwrap());
                // The bound of a block that nothing was taken from may still be an event put off.
                prop_assert!(agenda.bound() <= agenda.first());
                prop_assert!(agenda.bound() >= end);
            }
        }
    }
}
