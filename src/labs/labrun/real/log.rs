//! Log of pause events, in order.

use ground::time::Instant;
use ground::units::{PortId, PriorityGroup};
use sim::{Direction, NodeId, Note};

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
