//! What happened to pauses, in order.

use super::tap::PAUSE_OCTETS;
use crate::sim::{Direction, NodeId, Note};
use crate::time::Instant;
use crate::units::{PortId, PriorityGroup};

/// Entries that are kept of each observer. A choice: some 16 MiB, far beyond what a lab of seconds
/// has. What is left off is counted.
const ENTRIES_MAX: usize = 1 << 18;

/// One thing that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// When, by the clock of the thread that polls the node.
    pub at: Instant,
    /// Where.
    pub node: NodeId,
    /// What.
    pub what: Happening,
}

/// What can happen to pauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happening {
    /// A switch noted that a group crossed its limit, that it sent a pause or obeyed one, or that
    /// its watchdog acted.
    Noted(Note),
    /// A MAC control frame came in, by a direction of a link.
    Arrived {
        /// Which.
        direction: Direction,
        /// Its first octets, zeros where it has no more.
        octets: [u8; PAUSE_OCTETS],
    },
}

/// What one observer saw.
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
            self.left_off += 1;
        }
    }

    /// Moves the entries to those of a node; how many were left off.
    pub(super) fn hand_over(&mut self, node: NodeId, events: &mut Vec<Event>) -> u64 {
        let entries = self.entries.drain(..);
        events.extend(entries.map(|(at, what)| Event { at, node, what }));
        core::mem::take(&mut self.left_off)
    }
}

/// The crossings of one group in order: true for XOFF, false for XON.
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
