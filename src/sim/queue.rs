//! The event queue: one slot for each thing that can have an event pending, and a tournament among
//! them.
//!
//! Every direction of a link, every port and every node has at most one event pending, so the
//! queue has as many slots as the network has parts and never allocates. Its order is total: by
//! time, then by slot number. The slots are numbered by class, so that a slot's number is class
//! and sequence at once, and the order of two events at the same time never depends on which was
//! scheduled first.

use crate::time::Instant;

/// A slot's time in the upper 64 bits, its number in the lower.
type Key = u128;

const fn key(at: Instant, slot: u32) -> Key {
    (at.as_picos() as u128) << 64 | slot as u128
}

/// A winner tree: the leaf of slot `n` is at `leaves + n`, the parent of node `i` is at `i / 2`,
/// and each inner node has the smaller key of its two children.
#[derive(Debug)]
pub struct Queue {
    tree: Vec<Key>,
    leaves: usize,
}

impl Queue {
    /// A queue of `slots` slots with nothing pending.
    ///
    /// # Panics
    /// With 2^31 slots or more.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        let leaves = slots.max(1).next_power_of_two();
        assert!(leaves <= 1 << 31, "slots are numbered by 32 bits");
        let mut tree = vec![0; 2 * leaves];
        for i in 0..leaves {
            tree[leaves + i] = key(Instant::NEVER, i as u32);
        }
        for i in (1..leaves).rev() {
            tree[i] = tree[2 * i].min(tree[2 * i + 1]);
        }
        Self { tree, leaves }
    }

    /// When the slot's event is due; NEVER when none is pending.
    #[inline]
    #[must_use]
    pub fn at(&self, slot: u32) -> Instant {
        Instant::from_picos((self.tree[self.leaves + slot as usize] >> 64) as u64)
    }

    /// Sets when the slot's event is due, in place of what was pending.
    #[inline]
    pub fn set(&mut self, slot: u32, at: Instant) {
        let mut i = self.leaves + slot as usize;
        let mut new = key(at, slot);
        if self.tree[i] == new {
            return;
        }
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
        (Instant::from_picos((first >> 64) as u64), first as u32)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ties_go_to_the_lower_slot() {
        let mut queue = Queue::new(5);
        assert_eq!(queue.first().0, Instant::NEVER);
        for slot in [4, 2, 3] {
            queue.set(slot, Instant::from_picos(7));
        }
        assert_eq!(queue.first(), (Instant::from_picos(7), 2));
        queue.set(2, Instant::NEVER);
        assert_eq!(queue.first(), (Instant::from_picos(7), 3));
    }

    proptest! {
        #[test]
        fn the_first_is_the_least_of_all(
            slots in 1_usize..40,
            sets in proptest::collection::vec((any::<u32>(), 0_u64..50), 1..200),
        ) {
            let mut queue = Queue::new(slots);
            let mut model = vec![Instant::NEVER; slots];
            for (slot, at) in sets {
                let slot = slot as usize % slots;
                let at = if at == 0 { Instant::NEVER } else { Instant::from_picos(at) };
                queue.set(slot as u32, at);
                model[slot] = at;
                let least = model.iter().enumerate().map(|(n, at)| (*at, n as u32)).min().unwrap();
                prop_assert_eq!(queue.first(), least);
                prop_assert_eq!(queue.at(slot as u32), at);
            }
        }
    }
}
