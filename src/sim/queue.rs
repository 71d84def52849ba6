//! The event queue: one slot for each thing that can have an event pending, and a tournament among
//! them.
//!
//! Every direction of a link, every port and every node has at most one event pending, so the
//! queue has as many slots as the network has parts and never allocates. Its order is total: by
//! time, then by class, then by sequence, which is the order in which events were scheduled.

use crate::time::Instant;

/// From the highest bit: time (64), class (2), sequence (38), slot (24).
type Key = u128;

/// Bits of a slot's number, and of a sequence number: 16 million parts, 275 thousand million
/// events.
const SLOT_BITS: u32 = 24;
const SEQUENCE_BITS: u32 = 38;

const fn key(at: Instant, class: Class, sequence: u64, slot: u32) -> Key {
    let order = (class as u64) << (SLOT_BITS + SEQUENCE_BITS) | sequence << SLOT_BITS | slot as u64;
    (at.as_picos() as u128) << 64 | order as u128
}

/// The key of a slot in which nothing is pending.
const fn idle(slot: u32) -> Key {
    key(Instant::NEVER, Class::Timer, 0, slot)
}

/// What comes first at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// What goes wrong.
    Fault,
    /// What arrives.
    Arrival,
    /// What was waited for.
    Timer,
    /// What is looked at when all that has happened.
    Sample,
}

/// A winner tree: the leaf of slot `n` is at `leaves + n`, the parent of node `i` is at `i / 2`,
/// and each inner node has the smaller key of its two children.
#[derive(Debug)]
pub struct Queue {
    tree: Vec<Key>,
    leaves: usize,
    sequence: u64,
}

impl Queue {
    /// A queue of `slots` slots with nothing pending.
    ///
    /// # Panics
    /// With more than 2^24 slots.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        let leaves = slots.max(1).next_power_of_two();
        assert!(leaves <= 1 << SLOT_BITS, "slots are numbered by {SLOT_BITS} bits");
        let mut tree = vec![0; 2 * leaves];
        for i in 0..leaves {
            tree[leaves + i] = idle(i as u32);
        }
        for i in (1..leaves).rev() {
            tree[i] = tree[2 * i].min(tree[2 * i + 1]);
        }
        Self { tree, leaves, sequence: 0 }
    }

    /// When the slot's event is due; NEVER when none is pending.
    #[inline]
    #[must_use]
    pub fn at(&self, slot: u32) -> Instant {
        Instant::from_picos((self.tree[self.leaves + slot as usize] >> 64) as u64)
    }

    /// Sets when the slot's event is due, in place of what was pending. One that stays due at the
    /// same time keeps its place.
    #[inline]
    pub fn set(&mut self, slot: u32, class: Class, at: Instant) {
        if self.at(slot) == at {
            return;
        }
        let mut new = idle(slot);
        if at != Instant::NEVER {
            new = key(at, class, self.sequence, slot);
            self.sequence += 1;
            assert!(self.sequence < 1 << SEQUENCE_BITS, "too many events for one run");
        }
        let mut i = self.leaves + slot as usize;
        self.tree[i] = new;
        while i > 1 {
            new = new.min(self.tree[i ^ 1]);
            i /= 2;
            if self.tree[i] == new {
                return;
            }
            self.tree[i] = new;
        }
    }

    /// The event that comes first: its time and slot.
    #[inline]
    #[must_use]
    pub fn first(&self) -> (Instant, u32) {
        let first = self.tree[1];
        let slot = first as u32 & ((1 << SLOT_BITS) - 1);
        (Instant::from_picos((first >> 64) as u64), slot)
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
                let at = if at == 0 { Instant::NEVER } else { Instant::from_picos(at) };
                queue.set(slot as u32, Class::Timer, at);
                if model[slot].0 != at {
                    model[slot] = (at, n);
                }
                let least = model.iter().enumerate().min_by_key(|(_, due)| **due).unwrap();
                prop_assert_eq!(queue.first().0, least.1.0);
                if least.1.0 != Instant::NEVER {
                    prop_assert_eq!(queue.first().1, least.0 as u32);
                }
                prop_assert_eq!(queue.at(slot as u32), at);
            }
        }
    }
}
