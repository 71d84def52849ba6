//! Deadlock: queues that wait for each other in a circle (circular buffer dependency).
//!
//! A queue waits if the next switch pauses it, because a group there is over its limit, because the
//! frames in that group wait in queues of that switch. Where each of those waits in the same way,
//! and so on without end, nothing in that set of queues can ever move again: the set is found by
//! taking out of all queues that wait those with a way out, until no more can be taken out. What a
//! host pauses has a way out, as a host may resume. A set counts once each of its pauses has lasted for
//! longer than a frame or a pause can still be on its way on that link. It ends only by what planned
//! faults, watchdogs and lost pauses do. Which queues wait, and for what, is in `waiting`.
//!
//! A network that stands still at the end with frames in it fails as well, unless a host or a stall holds
//! them up, or each of its queues waits for one that a forged pause holds up.

use super::excuses::Lateness;
use super::facts::Facts;
use super::finding::{Check, Extent, Finding};
use super::parsed::Request;
use super::passages::Passages;
use super::pauses::Pauses;
use super::requests::Requests;
use super::take;
use super::waiting::{Queue, Waiting, Ways, circle, is_queued, reaches};
use crate::{Direction, NodeId, Nodes};
use ground::time::{Duration, Instant};
use ground::units::{PRIORITIES, PortId, Priority, TrafficClass};
use ground::verdict::Verdict;
use serde::Serialize;

/// State of one part's checkers that a search for deadlocks needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub(super) facts: &'a Facts,
    pub(super) passages: &'a Passages,
    pub(super) pauses: &'a Pauses,
    pub(super) requests: &'a Requests,
    /// `None` for the part that searches.
    pub(super) deadlocks: Option<&'a Deadlocks>,
}

/// All parts, the one that searches first.
#[derive(Debug)]
pub(super) struct Parts<'a>(pub(super) Vec<Known<'a>>);

impl<'a> Parts<'a> {
    /// Facts that do not change, of any node.
    pub(super) fn facts(&self) -> &'a Facts {
        self.0[0].facts
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Known<'a>> {
        self.0.iter()
    }

    /// The part that is told about a node.
    pub(super) fn of(&self, node: NodeId) -> &Known<'a> {
        let own = self.0.iter().find(|part| part.facts.has_node(node.index()));
        own.expect("each node is in a part")
    }
}

/// A circle of queues that wait for each other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Deadlock {
    /// Time of detection.
    #[serde(rename = "at_ns")]
    pub at: Instant,
    /// Time at which the last frame left any of its queues.
    #[serde(rename = "since_ns")]
    pub since: Instant,
    /// Time at which it was found resolved.
    #[serde(rename = "ended_ns")]
    pub ended: Option<Instant>,
    /// The queues, each of which waits for the next, and the last for the first.
    #[serde(skip)]
    pub cycle: Vec<(NodeId, PortId, TrafficClass)>,
    /// The same for people: `s1:p2 -> s2:p3 -> s1:p2`.
    #[serde(rename = "cycle")]
    pub name: String,
}

/// Finds deadlocks, whenever the nodes may be sampled.
#[derive(Clone, Debug)]
pub(super) struct Deadlocks {
    found: Vec<Deadlock>,
    /// The queues of each.
    queues: Vec<Vec<Queue>>,
    /// By port and class: when a frame was last sent.
    moved: Vec<[Instant; PRIORITIES]>,
    /// By port: minimum duration of a pause there that counts.
    patience: Vec<Duration>,
    samples: u64,
    /// By port: priorities whose last pause was forged.
    forged: Vec<u8>,
    /// Time at which a data frame last started on any line.
    started: Instant,
}

impl Deadlocks {
    pub(super) fn new(facts: &Facts) -> Self {
        let round = |port: &super::facts::PortFacts| {
            // Several times the way of a pause or a frame, so that nothing on the line can still end the wait.
            (port.delay + port.response + port.wait).saturating_mul(4)
        };
        Self {
            found: vec![],
            queues: vec![],
            moved: vec![[Instant::ZERO; PRIORITIES]; facts.ports.len()],
            patience: facts
                .directions()
                .map(|port| round(facts.from(port)).max(round(facts.to(port))))
                .collect(),
            samples: 0,
            forged: vec![0; facts.ports.len()],
            started: Instant::ZERO,
        }
    }

    /// A data frame starts, anywhere.
    #[inline]
    pub(super) fn started(&mut self, time: Instant) {
        self.started = self.started.max(time);
    }

    /// A data frame of a class starts.
    #[inline]
    pub(super) fn sent(&mut self, time: Instant, port: Direction, class: u8) {
        self.moved[port.index()][usize::from(class)] = time;
    }

    /// A MAC control frame that names these priorities, and pauses some of them, arrives at the peer of a port.
    #[cold]
    pub(super) fn paused(&mut self, direction: Direction, ask: &Request, is_forged: bool) {
        let (named, paused) = ask.sets();
        let forged = &mut self.forged[direction.reverse().index()];
        *forged &= !named.0;
        if is_forged {
            *forged |= paused.0;
        }
    }

    /// Time at which the last data frame of a class started at a port.
    pub(super) fn last_sent(&self, port: Direction, class: u8) -> Instant {
        self.moved[port.index()][usize::from(class)]
    }

    /// Time at which the last data frame may have left a queue: frames of isolated flows count as those of the
    /// class that they came for.
    fn last_moved(&self, facts: &Facts, port: Direction, class: u8) -> Instant {
        let congesting = &facts.from(port).congesting;
        let from = (0..PRIORITIES as u8)
            .filter(|from| *from == class || congesting[usize::from(*from)] == class);
        from.map(|from| self.last_sent(port, from)).max().unwrap_or(Instant::ZERO)
    }

    /// Adds what another part knows of its ports; deadlocks are found by the first part alone.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        take(&mut self.moved, other.moved, |n| theirs.has_port(Direction(n as u32)));
        take(&mut self.forged, other.forged, |n| theirs.has_port(Direction(n as u32)));
        self.started(other.started);
    }

    /// Time at which the last data frame started, as far as this part knows.
    pub(super) const fn last_start(&self) -> Instant {
        self.started
    }

    /// Looks at all queues, after all that happens at `at`.
    pub(super) fn sample(&mut self, parts: &Parts<'_>, time: Instant, nodes: &mut Nodes) {
        self.samples += 1;
        let mut waiting = Waiting::new(parts, time, nodes, &self.patience);
        // Nearly always nothing waits: then nothing is searched.
        let ways = if waiting.is_empty() { Ways::new() } else { waiting.closed(parts, nodes) };
        self.compare(parts, time, &waiting, &ways);
    }

    /// Takes note of what is new, and of what is over.
    fn compare(&mut self, parts: &Parts<'_>, time: Instant, waiting: &Waiting, ways: &Ways) {
        let facts = parts.facts();
        for (deadlock, queues) in self.found.iter_mut().zip(&self.queues) {
            if deadlock.ended.is_none() && !queues.iter().all(|queue| ways.contains_key(queue)) {
                deadlock.ended = Some(time);
            }
        }
        let known = |queue: &Queue| {
            let open = self.found.iter().zip(&self.queues);
            open.filter(|(d, _)| d.ended.is_none()).any(|(_, queues)| reaches(ways, *queue, queues))
        };
        // One circle for each sample; queues that lead into a known one are no new deadlock.
        let Some(start) = ways.keys().find(|queue| !known(queue)) else { return };
        let cycle = circle(ways, *start);
        // Each part knows the frames that its own ports sent.
        let moved = cycle.iter().map(|(port, class)| {
            let of_part = parts.of(facts.from(*port).node).deadlocks;
            let moved = of_part.unwrap_or(&*self).last_moved(facts, *port, *class);
            waiting.stopped_by(&(*port, *class)).map_or(moved, |by| moved.min(by))
        });
        let since = moved.max().unwrap_or(time);
        let name = |(port, _): &Queue| facts.from(*port).name.clone();
        let mut names: Vec<String> = cycle.iter().map(name).collect();
        names.extend(cycle.first().map(name));
        let queue = |(port, class): &Queue| {
            let port_facts = facts.from(*port);
            (
                port_facts.node,
                port_facts.port,
                TrafficClass::new(*class).expect("a class is one of eight"),
            )
        };
        self.found.push(Deadlock {
            at: time,
            since,
            ended: None,
            cycle: cycle.iter().map(queue).collect(),
            name: names.join(" -> "),
        });
        self.queues.push(cycle);
    }

    /// All that were found, in the order of time.
    pub(super) fn found(&self) -> &[Deadlock] {
        &self.found
    }

    /// The finding over a network in which `sent` frames were sent.
    pub(super) fn finish(
        &self,
        known: &Known<'_>,
        now: Instant,
        sent: u64,
        lateness: &Lateness,
        nodes: &mut Nodes,
    ) -> Finding {
        let Some(first) = self.found.first() else {
            // Without a frame nothing could wait, so nothing was judged.
            if sent == 0 {
                return Finding::not_judged(Check::Deadlock, Extent::sent(0).without.into());
            }
            if let Some((verdict, why)) = self.standing(known, now, lateness, nodes) {
                return Finding::new(Check::Deadlock, verdict, why);
            }
            let detail = format!("no cyclic buffer dependency in {} samples", self.samples);
            return Finding::new(Check::Deadlock, Verdict::Pass, detail);
        };
        let time = |at: Instant| at.since(Instant::ZERO);
        let mut detail = format!("since {}: {}", time(first.since), first.name);
        if let Some(ended) = first.ended {
            detail += &format!(", broken up by {}", time(ended));
        }
        if self.found.len() > 1 {
            detail += &format!("; {} more", self.found.len() - 1);
        }
        Finding::new(Check::Deadlock, Verdict::Fail, detail)
    }
}

impl Deadlocks {
    /// The verdict on a network in which no circle was found, if it is no PASS, with the reason: it stands
    /// still at the end with frames in it.
    fn standing(
        &self,
        known: &Known<'_>,
        now: Instant,
        lateness: &Lateness,
        nodes: &mut Nodes,
    ) -> Option<(Verdict, String)> {
        let Known { facts, passages, pauses, .. } = known;
        if let Some(why) = self.halted(known, now, lateness) {
            return Some((Verdict::NotJudged, why));
        }
        let is_switch = |node: NodeId| facts.node(node).is_switch;
        let all = facts.directions().filter(|port| is_switch(facts.from(*port).node));
        let queues = all.flat_map(|port| (0..PRIORITIES as u8).map(move |class| (port, class)));
        let queues: Vec<Queue> =
            queues.filter(|(port, class)| is_queued(nodes, facts.from(*port), *class)).collect();
        let patience = queues.iter().map(|(port, _)| self.patience[port.index()]).max()?;
        // What a host pauses may go on, and a stalled switch as well.
        let is_paused_by_host = |(port, class): &Queue| {
            let held = passages.of_place(facts, *port, *class);
            let is_paused = |p: Priority| pauses.is_paused(facts, passages, now, *port, p.index());
            !is_switch(facts.to(*port).node) && held.iter().any(is_paused)
        };
        // A frame or a pause may still be on its way.
        if now.since(self.started) <= patience {
            // That others go on says nothing about a queue that a host has held up for half of the run.
            let is_held = |queue: &&Queue| {
                let moved = self.last_moved(facts, queue.0, queue.1);
                let is_long = now.since(moved) >= moved.since(Instant::ZERO);
                is_long && now.since(moved) > patience && is_paused_by_host(queue)
            };
            let queue @ (port, class) = queues.iter().find(is_held)?;
            let (name, host) = (&facts.from(*port).name, &facts.to(*port).name);
            let moved = self.last_moved(facts, queue.0, queue.1).since(Instant::ZERO);
            let why =
                format!("class {class} of {name} has sent nothing since {moved}; {host} pauses it");
            return Some((Verdict::NotJudged, why));
        }
        let host = queues.iter().find(|queue| is_paused_by_host(queue));
        let host = host.map(|(port, _)| format!("{} pauses them", facts.to(*port).name));
        let late = queues.iter().map(|(port, _)| facts.from(*port).node);
        let mut late = late.filter(|node| lateness.since(*node).is_some());
        let stall = late.next().map(|node| format!("{} stands still", facts.node(node).name));
        let since = self.started.since(Instant::ZERO);
        let (n, first) = (queues.len(), &facts.from(queues[0].0).name);
        let what = format!(
            "nothing has moved since {since}, and {n} queues have frames at the end, the first of them at \
             {first}"
        );
        let forged = || self.forged(known, now, &queues);
        Some(match host.or(stall).or_else(forged) {
            Some(why) => (Verdict::NotJudged, format!("{what}; {why}")),
            None => (Verdict::Fail, format!("{what}; no circle of queues was found")),
        })
    }
}

impl Deadlocks {
    /// Where forged pauses hold all of the queues up, in words: some of them themselves, and the others because they
    /// wait for a switch with such a queue. `None` if one queue waits for something else.
    fn forged(&self, known: &Known<'_>, now: Instant, queues: &[Queue]) -> Option<String> {
        let Known { facts, passages, pauses, requests, .. } = known;
        let is_held = |(port, class): &Queue| {
            let held = passages.of_place(facts, *port, *class);
            let is_forged = |p: Priority| {
                // What the peer wants itself lasts without the forgery.
                self.forged[port.index()] >> p.get() & 1 == 1
                    && !requests.wants(port.reverse(), p.index())
                    && pauses.is_paused(facts, passages, now, *port, p.index())
            };
            held.iter().any(is_forged)
        };
        let (mut explained, mut open): (Vec<&Queue>, Vec<&Queue>) =
            queues.iter().partition(|queue| is_held(queue));
        let (first, _) = explained.first()?;
        let first = &facts.from(*first).name;
        loop {
            let before = open.len();
            let (waits, others) = open.into_iter().partition(|(port, class)| {
                let next = facts.to(*port).node;
                let held = passages.of_place(facts, *port, *class);
                let is_paused = |p: Priority| {
                    requests.wants(port.reverse(), p.index())
                        && pauses.is_paused(facts, passages, now, *port, p.index())
                };
                held.iter().any(is_paused)
                    && explained.iter().any(|(port, _)| facts.from(*port).node == next)
            });
            open = others;
            let waits: Vec<&Queue> = waits;
            explained.extend(waits);
            if open.is_empty() || open.len() == before {
                break;
            }
        }
        open.is_empty().then(|| format!("forged pauses hold up {first}"))
    }

    /// A switch with frames that is stalled at the end, or whose processor was busy for half of the run: what
    /// waits for it cannot be judged, although other nodes go on, and hosts send into it.
    fn halted(&self, known: &Known<'_>, now: Instant, lateness: &Lateness) -> Option<String> {
        let Known { facts, passages, .. } = known;
        let ingresses = passages.held().map(|passage| passage.ingress);
        let mut waits = ingresses.filter_map(|ingress| {
            let node = facts.from(ingress).node;
            let since = lateness.since(node)?;
            let wait = now.since(since);
            let stalls = &facts.node(node).stalls;
            let is_stalled = stalls.iter().any(|(from, until)| (*from..*until).contains(&now));
            let is_long = is_stalled || wait >= since.since(Instant::ZERO);
            (is_long && wait > self.patience[ingress.index()]).then_some((since, node))
        });
        let (since, node) = waits.next()?;
        let (name, since) = (&facts.node(node).name, since.since(Instant::ZERO));
        Some(format!("{name} stands still since {since} with frames in it"))
    }
}
