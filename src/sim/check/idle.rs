//! No line is idle while frames wait for it that are not paused, nor does it carry pauses alone for long.

use super::facts::Facts;
use super::finding::{Check, Extent, Finding, First};
use super::lateness::Lateness;
use super::passages::Passages;
use super::pauses::Pauses;
use super::unite::take;
use crate::{Direction, LinkId, Node, Nodes};
use ground::time::Instant;
use ground::units::{PRIORITIES, TrafficClass};

/// PFC frames that a line may carry in a row while data waits that is not paused: far more than the
/// groups of a port can ask for while a frame of theirs leaves.
const PAUSES_MOST: u64 = 1_000;

/// Times at which the lines are free again.
#[derive(Clone, Debug)]
pub(super) struct Idle {
    lines: Vec<Line>,
    first: First,
    samples: u64,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    free: Instant,
    down: bool,
    /// Classes that a watchdog found stormed.
    stormed: u8,
    /// Start of the MAC control frames that it has carried since, without a gap or other frames.
    control_since: Instant,
    /// Time of the last sample at which no data waited behind such frames.
    starved_since: Instant,
}

impl Idle {
    pub(super) fn new(facts: &Facts) -> Self {
        let start = Instant::ZERO;
        let line = Line {
            free: start,
            down: false,
            stormed: 0,
            control_since: start,
            starved_since: start,
        };
        Self { lines: vec![line; facts.ports.len()], first: First::default(), samples: 0 }
    }

    #[inline]
    pub(super) fn sent(
        &mut self,
        (at, end): (Instant, Instant),
        direction: Direction,
        is_control: bool,
    ) {
        let line = &mut self.lines[direction.index()];
        // Less than the frame itself is rounding, and no room for another.
        let gap = at.since(line.free) > end.since(at);
        line.free = end;
        if !is_control {
            line.control_since = end;
        } else if gap {
            line.control_since = at;
        }
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
    pub(super) fn sample(
        &mut self,
        facts: &Facts,
        (passages, pauses, lateness): (&Passages, &Pauses, &Lateness),
        at: Instant,
        nodes: &mut Nodes,
    ) {
        for direction in facts.directions().filter(|port| facts.has_port(*port)) {
            let of = facts.from(direction);
            let line = self.lines[direction.index()];
            let is_busy = line.free > at;
            let is_late = lateness.is_late(at, of.node);
            let waits = match nodes.get_mut(of.node) {
                Node::Host(_) => continue,
                _ if line.down || is_late => None,
                _ if is_busy && line.control_since >= line.starved_since => None,
                Node::Switch(switch) => {
                    self.samples += u64::from(!is_busy);
                    // What the switch itself says it holds, where its frames cannot be followed.
                    let unfollowed = !passages.is_exact(of.node) && facts.node(of.node).bridges;
                    let is_free = |class: &TrafficClass| {
                        line.stormed >> class.get() & 1 == 0
                            && (passages.queued(direction, class.index()) > 0 || unfollowed)
                            && is_unpaused(facts, (passages, pauses), at, (direction, *class))
                    };
                    let octets = |class: TrafficClass| {
                        let places = of.classes_of(class);
                        let octets = places.map(|class| switch.queue_bytes(of.port, class)).sum();
                        (class, octets)
                    };
                    let free = TrafficClass::ALL.into_iter().filter(is_free);
                    free.map(octets).find(|(_, octets): &(_, u64)| *octets > 0)
                }
            };
            let starved_since = line.starved_since;
            if waits.is_none() || !is_busy {
                self.lines[direction.index()].starved_since = at;
            }
            let Some((class, octets)) = waits else { continue };
            let name = &of.name;
            let place = direction.index();
            if !is_busy {
                self.first.see_at(at, place, || {
                    format!(
                        "{name} is idle and not paused while {octets} bytes wait in class {class}"
                    )
                });
            } else if at.since(starved_since) > of.pause_time().saturating_mul(PAUSES_MOST) {
                self.first.see_at(at, place, || {
                    let since = starved_since.since(Instant::ZERO);
                    format!("{name} sends nothing but pauses since {since} while {octets} bytes wait in class {class}")
                });
            }
        }
    }

    /// Adds what another part has seen of its lines.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        take(&mut self.lines, other.lines, |n| theirs.has_port(Direction(n as u32)));
        self.samples += other.samples;
        self.first.unite(other.first);
    }

    /// The finding over a network in which `sent` frames were sent.
    pub(super) fn finish(self, sent: u64) -> Finding {
        let Self { first, samples, .. } = self;
        if samples == 0 {
            let why = "no line of a switch was idle when it was sampled";
            return Finding::not_judged(Check::IdleLines, why.into());
        }
        first.finding(Check::IdleLines, Extent::sent(sent), || {
            format!("no frame waited in {samples} samples of idle lines")
        })
    }
}

/// True if no pause stops a class. A congesting class may be stopped by a priority of its own, too, and by
/// a frame at its head of any that is isolated there; and any class by frames that arrived before their
/// priority left it.
fn is_unpaused(
    facts: &Facts,
    (passages, pauses): (&Passages, &Pauses),
    at: Instant,
    (direction, class): (Direction, TrafficClass),
) -> bool {
    let of = facts.from(direction);
    let places: u8 = of.classes_of(class).map(|class| 1 << class.get()).sum();
    let is_there = |p: &usize| (of.places_of(*p) | passages.places(direction, *p)) & places != 0;
    let mut own = (0..PRIORITIES).filter(is_there);
    own.all(|p| !pauses.is_paused((facts, passages), at, (direction, p)))
}
