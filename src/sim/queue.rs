//! A queue of events: one slot for each part that can have an event pending.
//!
//! A queue has as many slots as there are parts and never allocates. Its order is total: by time, then
//! by [`Order`], then by number of the slot.

use ground::time::{Duration, Instant};

/// From the highest bit: time (64), order (40), slot (24).
type Key = u128;

/// Bits of a slot's number.
const SLOT_BITS: u32 = 24;

/// Order of simultaneous events of a node: arrivals before all others, the arrival that was scheduled
/// earlier first. The frame behind another one is scheduled when that one arrives, the first one on an
/// empty line when it is sent, which is later in the same picosecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order(u64);

impl Order {
    /// Longest time between scheduling and arrival that is told from longer ones: 1.07 ms.
    const AGE_MAX: u64 = (1 << 30) - 1;
    /// Arrivals at one node and time behind which frames are told apart.
    const TURNS: u32 = 1 << 8;
    const SENT: u64 = Self::TURNS as u64;

    /// All events but arrivals.
    pub const LAST: Self = Self(1 << 39);

    /// A frame that was sent `age` before it arrives, on a line without others.
    #[must_use]
    pub fn sent(age: Duration) -> Self {
        Self(Self::since(age) | Self::SENT)
    }

    /// A frame behind the `turn`th frame of a node at one time, which arrived `age` before it.
    #[must_use]
    pub fn behind(age: Duration, turn: u32) -> Self {
        Self(Self::since(age) | u64::from(turn.min(Self::TURNS - 1)))
    }

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
const fn due(at: Instant) -> Due {
    let ps = at.as_picos();
    if ps < NEVER as u128 { ps as Due } else { NEVER }
}

const fn key(at: Due, order: Order, slot: u32) -> Key {
    (at as u128) << 64 | (order.0 << SLOT_BITS | slot as u64) as u128
}

/// The key of a slot without an event, later than all others.
const NONE: Key = Key::MAX;

/// Number of the first slot of an empty queue.
const NOWHERE: u32 = u32::MAX;

/// A tournament of keys: a binary tree in which every node has the less of its two children. Slots are
/// its leaves and never move, so a change follows one path to the root, without branches that depend
/// on the keys of others.
#[derive(Debug)]
pub struct Queue {
    /// By node of the tree, from 1 for the root: the keys of its two children.
    pairs: Box<[[Key; 2]]>,
    slots: u32,
}

const fn time_of(key: Key) -> Instant {
    if key == NONE { Instant::NEVER } else { Instant::from_picos(key >> 64) }
}

const fn due_of(key: Key) -> Due {
    (key >> 64) as Due
}

const fn slot_of(key: Key) -> u32 {
    key as u32 & ((1 << SLOT_BITS) - 1)
}

impl Queue {
    /// Creates a queue of `slots` slots with nothing pending.
    ///
    /// # Panics
    /// With more than 2^24 slots.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        assert!(slots <= 1 << SLOT_BITS, "slots are numbered by {SLOT_BITS} bits");
        let leaves = slots.next_power_of_two().max(2);
        Self { pairs: vec![[NONE; 2]; leaves].into(), slots: slots as u32 }
    }

    /// Place of a slot's key.
    #[inline(always)]
    const fn leaf(&self, slot: u32) -> usize {
        debug_assert!(slot < self.slots);
        self.pairs.len() + slot as usize
    }

    /// Due time of the slot's event.
    #[inline]
    fn due(&self, slot: u32) -> Due {
        let leaf = self.leaf(slot);
        due_of(self.pairs[leaf >> 1][leaf & 1])
    }

    /// Sets the time of the slot's event, and replaces a pending one. An event with an unchanged time
    /// keeps its order.
    #[inline]
    pub fn set(&mut self, slot: u32, order: Order, at: Instant) {
        let at = due(at);
        if self.due(slot) != at {
            self.put(slot, if at == NEVER { NONE } else { key(at, order, slot) });
        }
    }

    /// Sets the time of the slot's event, unless it has an earlier one.
    #[inline]
    pub fn advance(&mut self, slot: u32, order: Order, at: Instant) {
        let at = due(at);
        if at < self.due(slot) {
            self.put(slot, key(at, order, slot));
        }
    }

    fn put(&mut self, slot: u32, key: Key) {
        let (mut at, mut least) = (self.leaf(slot), key);
        loop {
            let pair = &mut self.pairs[at >> 1];
            pair[at & 1] = least;
            at >>= 1;
            if at == 1 {
                return;
            }
            least = pair[0].min(pair[1]);
            if self.pairs[at >> 1][at & 1] == least {
                return;
            }
        }
    }

    /// Returns time and slot of the first event; NEVER and no slot if there is none.
    #[inline]
    #[must_use]
    pub fn first(&self) -> (Instant, u32) {
        let [left, right] = self.pairs[1];
        let key = left.min(right);
        (time_of(key), if key == NONE { NOWHERE } else { slot_of(key) })
    }

    /// Returns the time of the second event: the least of those that have lost against the first.
    #[inline]
    #[must_use]
    pub fn second_at(&self) -> Instant {
        let (mut at, mut second) = (1, NONE);
        while let Some([left, right]) = self.pairs.get(at) {
            second = second.min(*left.max(right));
            at = 2 * at + usize::from(right < left);
        }
        time_of(second)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            assert_eq!(queue.first().0, Instant::NEVER);
            for (slot, order) in of.iter().cycle().skip(rotated).take(of.len()) {
                queue.set(*slot, *order, at);
                queue.set(*slot, Order::sent(Duration::from_millis(3)), at);
                queue.advance(*slot, Order::LAST, Instant::from_picos(8));
            }
            for (slot, _) in of {
                assert_eq!(queue.first(), (at, slot));
                queue.set(slot, Order::LAST, Instant::NEVER);
            }
            assert_eq!(queue.first().0, Instant::NEVER);
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
                if advance {
                    queue.advance(slot as u32, Order::LAST, set);
                    model[slot] = model[slot].min(at);
                } else {
                    queue.set(slot as u32, Order::LAST, set);
                    model[slot] = at;
                }
                let least = model.iter().enumerate().min_by_key(|(n, due)| (**due, *n)).unwrap();
                prop_assert_eq!(queue.first().0, *least.1);
                if *least.1 != Instant::NEVER {
                    prop_assert_eq!(queue.first().1, least.0 as u32);
                    let others = model.iter().enumerate().filter(|(n, _)| *n != least.0);
                    let second = others.map(|(_, due)| *due).min();
                    prop_assert_eq!(queue.second_at(), second.unwrap_or(Instant::NEVER));
                }
                prop_assert_eq!(queue.due(slot as u32), due(model[slot]));
            }
        }
    }
}
