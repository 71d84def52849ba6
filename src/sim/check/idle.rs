//! Lines that do not serve what waits for them.
//!
//! No line is idle while frames wait for it that are not paused, nor does it carry pauses alone for long.
//!
//! Queues may starve behind the flows that are isolated from them: their frames wait while the queue of the
//! isolated flows, which is strictly served before them, always has frames and sends. The file of such a switch is
//! warned of. As long as senders repeat what does not arrive, a queue may starve without an end, which is not
//! judged. The time ends with the first sample at which either queue is empty. It counts up to the last frame that
//! the line sent of theirs, so a port that sends nothing starves none.

use super::deadlock::{Deadlocks, Known};
use super::excuses::Lateness;
use super::facts::Facts;
use super::finding::{Check, Extent, Finding, First};
use super::take;
use crate::{Direction, LinkId, Node, Nodes};
use ground::time::{Duration, Instant};
use ground::units::{PRIORITIES, TrafficClass};

/// MAC control frames that a line may carry in a row while data waits that is not paused, besides one for
/// each time that a group of the port crosses a limit: far more than pauses that are sent again in time. A
/// group without hysteresis may cross its limit with each frame, and MAC control goes before data (802.3
/// 31.3).
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
    /// How many of them no group's crossing of a limit caused.
    unowed: u64,
    /// Time of the last sample at which no data waited behind such frames.
    starved_since: Instant,
}

impl Line {
    const fn new() -> Self {
        let start = Instant::ZERO;
        Self {
            free: start,
            down: false,
            stormed: 0,
            control_since: start,
            unowed: 0,
            starved_since: start,
        }
    }

    #[inline]
    fn sent(&mut self, time: Instant, end: Instant, is_control: bool) {
        // Less than the frame itself is rounding, and no room for another.
        let gap = time.since(self.free) > end.since(time);
        self.free = end;
        if !is_control {
            (self.control_since, self.unowed) = (end, 0);
            return;
        }
        if gap {
            (self.control_since, self.unowed) = (time, 0);
        }
        self.unowed += 1;
    }

    /// The frame that is owed follows, so that it counts for nothing.
    const fn crossed(&mut self) {
        self.unowed = self.unowed.saturating_sub(1);
    }

    /// True if MAC control frames alone have kept data from the line for too long.
    fn starves(&self, time: Instant, pause_time: Duration) -> bool {
        self.unowed > PAUSES_MOST
            && time.since(self.starved_since) > pause_time.saturating_mul(PAUSES_MOST)
    }
}

impl Idle {
    pub(super) fn new(facts: &Facts) -> Self {
        let line = Line::new();
        Self { lines: vec![line; facts.ports.len()], first: First::default(), samples: 0 }
    }

    #[inline]
    pub(super) fn sent(
        &mut self,
        time: Instant,
        end: Instant,
        direction: Direction,
        is_control: bool,
    ) {
        self.lines[direction.index()].sent(time, end, is_control);
    }

    /// A group of a port crosses a limit, so that the port owes its peer a MAC control frame, unless it never
    /// sends any for that group.
    pub(super) fn crossed(&mut self, facts: &Facts, port: Direction, group: u8) {
        let port_facts = facts.from(port);
        if port_facts.of_group(group).0 & port_facts.asks.0 != 0 {
            self.lines[port.index()].crossed();
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
        known: &Known<'_>,
        lateness: &Lateness,
        time: Instant,
        nodes: &mut Nodes,
    ) {
        let Known { facts, passages, .. } = *known;

        for direction in facts.directions().filter(|port| facts.has_port(*port)) {
            let port_facts = facts.from(direction);
            let line = self.lines[direction.index()];
            let is_busy = line.free > time;
            // A node that waits for its processor sends nothing, and is not judged for it.
            let is_late = lateness.is_late(time, port_facts.node);
            let waits = match nodes.get_mut(port_facts.node) {
                Node::Host(_) => continue,
                _ if line.down || is_late => None,
                _ if is_busy && line.control_since >= line.starved_since => None,
                Node::Switch(switch) => {
                    self.samples += u64::from(!is_busy);
                    // What the switch itself says it holds, where its frames cannot be followed.
                    let unfollowed =
                        !passages.is_exact(port_facts.node) && facts.node(port_facts.node).bridges;
                    let is_free = |class: &TrafficClass| {
                        line.stormed >> class.get() & 1 == 0
                            && (passages.queued(direction, class.index()) > 0 || unfollowed)
                            && is_unpaused(known, time, direction, *class)
                    };
                    // By the switch's own counters, as a frame that is followed need not be in a queue yet.
                    let octets = |class: TrafficClass| {
                        let places = port_facts.classes_of(class);
                        let octets =
                            places.map(|class| switch.queue_bytes(port_facts.port, class)).sum();
                        (class, octets)
                    };
                    let free = TrafficClass::ALL.into_iter().filter(is_free);
                    free.map(octets).find(|(_, octets): &(_, u64)| *octets > 0)
                }
            };
            let starved_since = line.starved_since;
            // Starvation is timed from the last sample at which no data waited behind pauses.
            if waits.is_none() || !is_busy {
                self.lines[direction.index()].starved_since = time;
            }
            let Some((class, octets)) = waits else { continue };
            let name = &port_facts.name;
            let place = direction.index();
            if !is_busy {
                self.first.record_at(time, place, || {
                    format!(
                        "{name} is idle and not paused while {octets} bytes wait in class {class}"
                    )
                });
            } else if line.starves(time, port_facts.pause_time()) {
                self.first.record_at(time, place, || {
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
    known: &Known<'_>,
    time: Instant,
    direction: Direction,
    class: TrafficClass,
) -> bool {
    let Known { facts, passages, pauses, .. } = *known;

    let port_facts = facts.from(direction);
    // Different bits, so the sum is their union.
    let places: u8 = port_facts.classes_of(class).map(|class| 1 << class.get()).sum();
    let is_there =
        |p: &usize| (port_facts.places_of(*p) | passages.places(direction, *p)) & places != 0;
    let mut own = (0..PRIORITIES).filter(is_there);
    own.all(|p| !pauses.is_paused(facts, passages, time, direction, p))
}

#[derive(Clone, Debug)]
pub(super) struct Starved {
    queues: Vec<Queue>,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    port: Direction,
    /// The class that may starve, and that of the flows isolated from it.
    class: TrafficClass,
    first: TrafficClass,
    /// Time of the first of the samples at which it starves, and the time from then to the last frame.
    since: Option<Instant>,
    time: Duration,
}

impl Starved {
    pub(super) fn new(facts: &Facts) -> Self {
        let of_port = |port: Direction| {
            let port_facts = facts.from(port);
            let starves = move |class: &TrafficClass| port_facts.starving >> class.get() & 1 == 1;
            TrafficClass::ALL.into_iter().filter(starves).map(move |class| Queue {
                port,
                class,
                first: TrafficClass::ALL[usize::from(port_facts.congesting[class.index()])],
                since: None,
                time: Duration::ZERO,
            })
        };
        Self { queues: facts.directions().flat_map(of_port).collect() }
    }

    /// Looks at these queues of every switch, after all that happens at `at`.
    pub(super) fn sample(
        &mut self,
        facts: &Facts,
        deadlocks: &Deadlocks,
        time: Instant,
        nodes: &mut Nodes,
    ) {
        for queue in self.queues.iter_mut().filter(|queue| facts.has_port(queue.port)) {
            let port_facts = facts.from(queue.port);
            let Node::Switch(switch) = nodes.get_mut(port_facts.node) else { continue };
            let waits = |class: TrafficClass| switch.queue_bytes(port_facts.port, class) > 0;
            // Frames of isolated flows count as those of the class that they came for.
            let sent = deadlocks.last_sent(queue.port, queue.class.get());
            let starves = waits(queue.class) && waits(queue.first);
            queue.since = starves.then(|| queue.since.unwrap_or(time));
            queue.time = queue.since.map_or(Duration::ZERO, |since| sent.since(since));
        }
    }

    /// The longest time for which a queue starves now.
    pub(super) fn longest(&self) -> Duration {
        self.queues.iter().map(|queue| queue.time).max().unwrap_or(Duration::ZERO)
    }

    /// Adds what another part has seen at its ports.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        let ports: Vec<Direction> = self.queues.iter().map(|queue| queue.port).collect();
        take(&mut self.queues, other.queues, |n| theirs.has_port(ports[n]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_nanos(67);

    /// A line on which `n` MAC control frames follow each other, each with what `before` does to the line.
    fn carried(n: u32, before: impl Fn(&mut Line, Instant)) -> bool {
        let (mut line, mut now) = (Line::new(), Instant::ZERO);
        for _ in 0..n {
            before(&mut line, now);
            now = now.max(line.free);
            line.sent(now, now + PAUSE, true);
            now += PAUSE;
        }
        line.starves(now, PAUSE)
    }

    #[test]
    fn pauses_that_nothing_asked_for_starve_a_line_and_those_of_crossings_do_not() {
        let most = PAUSES_MOST as u32;
        assert!(!carried(most, |_, _| ()));
        assert!(carried(most + 1, |_, _| ()));
        assert!(!carried(5 * most, |line, _| line.crossed()), "each is owed");
        assert!(carried(5 * most, |line, now| {
            // One in two is owed.
            if now.since(Instant::ZERO).as_picos() / PAUSE.as_picos() % 2 == 0 {
                line.crossed();
            }
        }));
        assert!(!carried(5 * most, |line, now| line.sent(now, now + PAUSE, false)), "data goes");
    }
}
