//! The agenda: when each node has its first event.

use ground::time::Instant;

/// Nodes per block.
const BLOCK: usize = 64;

/// Times in picoseconds, as those of [`Queue`](super::Queue).
type Due = u64;

const NEVER: Due = Due::MAX;

/// The time of every node's first event, in blocks of nodes. A window handles most nodes of a busy
/// network, so looking through them in order costs less than keeping them sorted.
#[derive(Debug)]
pub(super) struct Agenda {
    next: Box<[Due]>,
    /// By block: a time not later than that of any of its nodes.
    least: Box<[Due]>,
}

const fn due(at: Instant) -> Due {
    let ps = at.as_picos();
    if ps < NEVER as u128 { ps as Due } else { NEVER }
}

const fn time(due: Due) -> Instant {
    if due == NEVER { Instant::NEVER } else { Instant::from_picos(due as u128) }
}

impl Agenda {
    /// Creates an agenda of `nodes` nodes without events.
    pub(super) fn new(nodes: usize) -> Self {
        let blocks = nodes.div_ceil(BLOCK);
        Self { next: vec![NEVER; nodes].into(), least: vec![NEVER; blocks].into() }
    }

    /// Sets the time of a node's first event.
    #[inline]
    pub(super) fn set(&mut self, node: usize, at: Instant) {
        let at = due(at);
        self.next[node] = at;
        let least = &mut self.least[node / BLOCK];
        *least = (*least).min(at);
    }

    /// Sets the time of a node's first event, unless it has an earlier one.
    #[inline]
    pub(super) fn advance(&mut self, node: usize, at: Instant) {
        if due(at) < self.next[node] {
            self.set(node, at);
        }
    }

    /// A time not later than the first event, and that of the first event unless the time of an event has
    /// been put off or cancelled since the last [`Self::take`].
    #[inline]
    pub(super) fn bound(&self) -> Instant {
        time(self.least.iter().copied().min().unwrap_or(NEVER))
    }

    /// The time of the first event.
    pub(super) fn first(&self) -> Instant {
        time(self.next.iter().copied().min().unwrap_or(NEVER))
    }

    /// Adds the nodes with events before `end` to `out`, in the order of their numbers. Each has no event
    /// until its time is set again.
    pub(super) fn take(&mut self, end: Instant, out: &mut Vec<u32>) {
        let end = due(end);
        for (block, least) in self.least.iter_mut().enumerate().filter(|(_, least)| **least < end) {
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
    use proptest::prelude::*;

    use super::*;

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
