//! No line is idle while frames wait for it that nobody pauses.

use super::facts::Facts;
use super::finding::{Check, Extent, Finding, First};
use super::lateness::Lateness;
use super::passages::Passages;
use super::pauses::Pauses;
use crate::sim::{Direction, LinkId, Node, Nodes};
use crate::time::Instant;
use crate::units::{PRIORITIES, TrafficClass};

/// When each line is free again.
#[derive(Debug)]
pub(super) struct Idle {
    lines: Vec<Line>,
    first: First,
    looked: u64,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    free: Instant,
    down: bool,
    /// Classes that a watchdog found stormed.
    stormed: u8,
}

impl Idle {
    pub(super) fn new(facts: &Facts) -> Self {
        let line = Line { free: Instant::ZERO, down: false, stormed: 0 };
        Self { lines: vec![line; facts.ports.len()], first: First::default(), looked: 0 }
    }

    #[inline]
    pub(super) fn sent(&mut self, direction: Direction, end: Instant) {
        self.lines[direction.index()].free = end;
    }

    pub(super) fn link(&mut self, link: LinkId, up: bool) {
        for direction in [link.ab(), link.ba()] {
            self.lines[direction.index()].down = !up;
        }
    }

    pub(super) fn storm(&mut self, port: Direction, class: u8, detected: bool) {
        let stormed = &mut self.lines[port.index()].stormed;
        *stormed = *stormed & !(1 << class) | u8::from(detected) << class;
    }

    /// Looks at every port of every switch, after all that happens at `at`.
    pub(super) fn look(
        &mut self,
        facts: &Facts,
        (passages, pauses, lateness): (&Passages, &Pauses, &Lateness),
        at: Instant,
        nodes: &mut Nodes,
    ) {
        for direction in facts.directions() {
            let of = facts.from(direction);
            let node = facts.node(of.node);
            let line = self.lines[direction.index()];
            if line.free > at || line.down || !node.is_switch || lateness.is_late(at, of.node) {
                continue;
            }
            self.looked += 1;
            // A congesting class may be stopped by a priority of its own, too, and by a frame at its head
            // of any that is isolated there.
            let waits = |class: &TrafficClass| {
                let places: u8 = of.classes_of(*class).map(|class| 1 << class.get()).sum();
                let mut own = (0..PRIORITIES).filter(|p| of.places_of(*p) & places != 0);
                line.stormed >> class.get() & 1 == 0
                    && passages.queued(direction, class.index()) > 0
                    && own.all(|p| !pauses.is_paused(facts, at, direction, p))
            };
            let Some(class) = TrafficClass::ALL.into_iter().find(waits) else { continue };
            let Node::Switch(switch) = nodes.get_mut(of.node) else { continue };
            let octets: u64 =
                of.classes_of(class).map(|class| switch.queue_bytes(of.port, class)).sum();
            if octets > 0 {
                self.first.see(at, || {
                    format!("{} is idle and nobody pauses it while {octets} octets wait in class {class}", of.name)
                });
            }
        }
    }

    /// The finding over a network in which `sent` frames were sent.
    pub(super) fn finish(self, sent: u64) -> Finding {
        let Self { first, looked, .. } = self;
        if looked == 0 {
            let why = "no line of a switch was idle when it was looked at";
            return Finding::not_judged(Check::IdleLines, why.into());
        }
        first.finding(Check::IdleLines, Extent::sent(sent), || {
            format!("{looked} looks at idle lines found nothing that waits")
        })
    }
}
