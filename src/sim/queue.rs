//! The event queue: one slot for each part that can have an event pending.
//!
//! Every direction of a link, every port and every node has at most one event pending, so the queue
//! has as many slots as the network has parts and never allocates. Its order is total: by time,
//! then by class, then by sequence, the order in which events were scheduled.

use ground::time::Instant;

/// From the highest bit: time (64), class (2), sequence (38), slot (24).
type Key = u128;

/// Bits of a slot's number, and of a sequence number: 16 million parts, 275 thousand million
/// events.
const SLOT_BITS: u32 = 24;
const SEQUENCE_BITS: u32 = 38;

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

const fn key(at: Due, class: Class, sequence: u64, slot: u32) -> Key {
    let order = (class as u64) << (SLOT_BITS + SEQUENCE_BITS) | sequence << SLOT_BITS | slot as u64;
    (at as u128) << 64 | order as u128
}

/// Order of simultaneous events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Faults.
    Fault,
    /// Arrivals of frames.
    Arrival,
    /// Expired deadlines.
    Timer,
    /// Samples, after everything else.
    Sample,
}

/// Children per node of the heap: four keys fill a cache line.
const ARITY: usize = 4;

/// Place of a slot that is not in the heap.
const NOWHERE: u32 = u32::MAX;

/// A heap of keys with the place of every slot.
#[derive(Debug)]
pub struct Queue {
    heap: Vec<Key>,
    /// By slot: index of its key in `heap`.
    place: Vec<u32>,
    sequence: u64,
}

const fn time_of(key: Key) -> Instant {
    Instant::from_picos(key >> 64)
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
        Self { heap: Vec::with_capacity(slots), place: vec![NOWHERE; slots], sequence: 0 }
    }

    /// Due time of the slot's event.
    #[inline]
    fn due(&self, slot: u32) -> Due {
        match self.place[slot as usize] {
            NOWHERE => NEVER,
            place => due_of(self.heap[place as usize]),
        }
    }

    /// Sets the time of the slot's event, and replaces a pending one. An event with an unchanged
    /// time keeps its place.
    #[inline]
    pub fn set(&mut self, slot: u32, class: Class, at: Instant) {
        let at = due(at);
        if self.due(slot) != at {
            self.change(slot, class, at);
        }
    }

    fn change(&mut self, slot: u32, class: Class, at: Due) {
        let place = self.place[slot as usize] as usize;
        if at == NEVER {
            return self.remove(place);
        }
        let new = key(at, class, self.sequence, slot);
        self.sequence += 1;
        assert!(self.sequence < 1 << SEQUENCE_BITS, "too many events for one run");
        if place == NOWHERE as usize {
            self.heap.push(new);
            self.rise(self.heap.len() - 1, new);
        } else if new < self.heap[place] {
            self.rise(place, new);
        } else {
            self.sink(place, new);
        }
    }

    fn remove(&mut self, place: usize) {
        self.place[slot_of(self.heap[place]) as usize] = NOWHERE;
        let last = self.heap.pop().expect("what is removed is there");
        match self.heap.get(place) {
            None => {}
            Some(removed) if last < *removed => self.rise(place, last),
            Some(_) => self.sink(place, last),
        }
    }

    /// Inserts `key` at `place` or further up.
    fn rise(&mut self, mut place: usize, key: Key) {
        while place > 0 {
            let above = (place - 1) / ARITY;
            if self.heap[above] < key {
                break;
            }
            self.put(place, self.heap[above]);
            place = above;
        }
        self.put(place, key);
    }

    /// Inserts `key` at `place` or further down.
    #[inline]
    fn sink(&mut self, mut place: usize, key: Key) {
        loop {
            let first = place * ARITY + 1;
            let Some((least, found)) = self.least(first) else { break };
            if key < found {
                break;
            }
            self.put(place, found);
            place = least;
        }
        self.put(place, key);
    }

    /// Returns the least of the siblings from `first`, and its index.
    #[inline(always)]
    fn least(&self, first: usize) -> Option<(usize, Key)> {
        if let Some(four) = self.heap.get(first..first + ARITY) {
            let (a, b) = (usize::from(four[1] < four[0]), usize::from(four[3] < four[2]) + 2);
            let least = if four[b] < four[a] { b } else { a };
            return Some((first + least, four[least]));
        }
        let rest = self.heap.get(first..)?.iter().enumerate();
        rest.min_by_key(|(_, key)| **key).map(|(n, key)| (first + n, *key))
    }

    #[inline(always)]
    fn put(&mut self, place: usize, key: Key) {
        self.heap[place] = key;
        self.place[slot_of(key) as usize] = place as u32;
    }

    /// Returns time and slot of the first event; NEVER and no slot if there is none.
    #[inline]
    #[must_use]
    pub fn first(&self) -> (Instant, u32) {
        let key = self.heap.first();
        key.map_or((Instant::NEVER, NOWHERE), |key| (time_of(*key), slot_of(*key)))
    }

    /// Returns the time of the second event.
    #[inline]
    #[must_use]
    pub fn second_at(&self) -> Instant {
        self.least(1).map_or(Instant::NEVER, |(_, key)| time_of(key))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ties_go_to_the_class_and_then_to_what_was_scheduled_first() {
        let mut queue = Queue::new(5);
        let at = Instant::from_picos(7);
        assert_eq!(queue.first().0, Instant::NEVER);
        queue.set(4, Class::Timer, at);
        queue.set(3, Class::Arrival, at);
        queue.set(2, Class::Arrival, at);
        queue.set(3, Class::Arrival, at);
        for slot in [3, 2, 4] {
            assert_eq!(queue.first(), (at, slot));
            queue.set(slot, Class::Timer, Instant::NEVER);
        }
        assert_eq!(queue.first().0, Instant::NEVER);
    }

    proptest! {
        #[test]
        fn the_first_is_the_least_of_all(
            slots in 1_usize..40,
            sets in proptest::collection::vec((any::<u32>(), 0_u64..50), 1..200),
        ) {
            let mut queue = Queue::new(slots);
            let mut model = vec![(Instant::NEVER, 0); slots];
            for (n, (slot, at)) in sets.into_iter().enumerate() {
                let slot = slot as usize % slots;
                let at = if at == 0 { Instant::NEVER } else { Instant::from_picos(at.into()) };
                // Events due after the end of time never happen.
                let late = Instant::from_picos(u128::from(u64::MAX) + n as u128 % 3);
                queue.set(slot as u32, Class::Timer, if at == Instant::NEVER { late } else { at });
                if model[slot].0 != at {
                    model[slot] = (at, n);
                }
                let least = model.iter().enumerate().min_by_key(|(_, due)| **due).unwrap();
                prop_assert_eq!(queue.first().0, least.1.0);
                if least.1.0 != Instant::NEVER {
                    prop_assert_eq!(queue.first().1, least.0 as u32);
                    let others = model.iter().enumerate().filter(|(n, _)| *n != least.0);
                    let second = others.map(|(_, due)| due.0).min();
                    prop_assert_eq!(queue.second_at(), second.unwrap_or(Instant::NEVER));
                }
                prop_assert_eq!(queue.due(slot as u32), due(at));
            }
        }
    }
}
