//! Deadlock: queues that wait for each other in a circle (circular buffer dependency).
//!
//! A queue waits if the next switch pauses it, because a group there is over its limit, because the
//! frames in that group wait in queues of that switch. Where each of those waits in the same way,
//! and so on without end, nothing in that set of queues can ever move again: the set is found by
//! taking out of all queues that wait those with a way out, until no more can be taken out. What a
//! host pauses has a way out, as a host may resume. A set counts once its pauses have lasted for
//! longer than any frame or pause can still be on its way. It ends only by what planned faults,
//! watchdogs and lost pauses do.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::facts::{Facts, PortFacts};
use super::finding::{Check, Extent, Finding};
use super::passages::Passages;
use super::pauses::Pauses;
use super::requests::Requests;
use super::unite::take;
use crate::{Direction, Node, NodeId, Nodes};
use ground::time::{Duration, Instant};
use ground::units::{PRIORITIES, PortId, TrafficClass};
use ground::verdict::Verdict;

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

/// A queue: a port, as the direction that leaves it, and a class.
type Queue = (Direction, u8);

/// Finds deadlocks, whenever the nodes may be sampled.
#[derive(Clone, Debug)]
pub(super) struct Deadlocks {
    found: Vec<Deadlock>,
    /// The queues of each.
    queues: Vec<Vec<Queue>>,
    /// By port and class: when a frame was last sent.
    moved: Vec<[Instant; PRIORITIES]>,
    /// Minimum duration of a pause that counts.
    patience: Duration,
    samples: u64,
    /// Time at which a data frame last started on any line.
    started: Instant,
    /// A queue that waits for a group of which nothing is known.
    unfollowed: Option<Queue>,
}

impl Deadlocks {
    pub(super) fn new(facts: &Facts) -> Self {
        let round = |port: &super::facts::PortFacts| {
            (port.delay + port.response + port.wait).saturating_mul(4)
        };
        Self {
            found: vec![],
            queues: vec![],
            moved: vec![[Instant::ZERO; PRIORITIES]; facts.ports.len()],
            patience: facts.ports.iter().map(round).max().unwrap_or(Duration::ZERO),
            samples: 0,
            started: Instant::ZERO,
            unfollowed: None,
        }
    }

    /// A data frame starts, anywhere.
    #[inline]
    pub(super) fn started(&mut self, at: Instant) {
        self.started = self.started.max(at);
    }

    /// A data frame of a class starts.
    #[inline]
    pub(super) fn sent(&mut self, at: Instant, port: Direction, class: u8) {
        self.moved[port.index()][usize::from(class)] = at;
    }

    /// Adds what another part knows of its ports; deadlocks are found by the first part alone.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        take(&mut self.moved, other.moved, |n| theirs.has_port(Direction(n as u32)));
        self.started(other.started);
    }

    /// Time at which the last data frame started, as far as this part knows.
    pub(super) const fn last_start(&self) -> Instant {
        self.started
    }

    /// Looks at all queues, after all that happens at `at`.
    pub(super) fn sample(&mut self, parts: &Parts<'_>, at: Instant, nodes: &mut Nodes) {
        self.samples += 1;
        let facts = parts.facts();
        let mut waiting = BTreeMap::new();
        for port in facts.directions() {
            let (own, next) = (facts.from(port).node, facts.to(port).node);
            if !facts.node(own).is_switch || !facts.node(next).is_switch {
                continue;
            }
            let Known { facts: of_own, passages, pauses, .. } = *parts.of(own);
            let Known { facts: of_next, requests, .. } = *parts.of(next);
            let (of, peer) = (of_own.from(port), of_next.to(port));
            for class in 0..PRIORITIES as u8 {
                if passages.queued(port, usize::from(class)) == 0 {
                    continue;
                }
                let held_back = |p: &usize| {
                    let since = requests.since(port.reverse(), *p);
                    (of.class[*p] == class || passages.places(port, *p) >> class & 1 == 1)
                        && requests.wants(port.reverse(), *p)
                        && since.saturating_add(self.patience) <= at
                        && pauses.is_paused((of_own, passages), at, (port, *p))
                };
                let groups: u8 =
                    (0..PRIORITIES).filter(held_back).fold(0, |set, p| set | 1 << peer.group[p]);
                if groups != 0 && is_queued(nodes, of, class) {
                    waiting.insert((port, class), groups);
                }
            }
        }
        let unknown = |((port, _), groups): (&Queue, &u8)| {
            let mut of = (0..PRIORITIES).filter(|group| groups >> group & 1 == 1);
            let passages = parts.of(facts.to(*port).node).passages;
            of.any(|group| passages.cells(port.reverse(), group) == 0)
        };
        self.unfollowed = waiting.iter().find(|found| unknown(*found)).map(|(queue, _)| *queue);
        let ways = match waiting.is_empty() {
            true => BTreeMap::new(),
            false => closed(parts, &waiting, |(port, class)| {
                let of = parts.of(facts.from(*port).node).facts.from(*port);
                is_queued(nodes, of, *class)
            }),
        };
        self.compare(parts, at, &ways);
    }

    /// Takes note of what is new, and of what is over.
    fn compare(&mut self, parts: &Parts<'_>, at: Instant, ways: &BTreeMap<Queue, BTreeSet<Queue>>) {
        let facts = parts.facts();
        for (deadlock, queues) in self.found.iter_mut().zip(&self.queues) {
            if deadlock.ended.is_none() && !queues.iter().all(|queue| ways.contains_key(queue)) {
                deadlock.ended = Some(at);
            }
        }
        let known = |queue: &Queue| {
            let open = self.found.iter().zip(&self.queues);
            open.filter(|(d, _)| d.ended.is_none()).any(|(_, queues)| reaches(ways, *queue, queues))
        };
        let Some(start) = ways.keys().find(|queue| !known(queue)) else { return };
        let cycle = circle(ways, *start);
        let moved = cycle.iter().map(|(port, class)| {
            let of_part = parts.of(facts.from(*port).node).deadlocks;
            of_part.unwrap_or(&*self).moved[port.index()][usize::from(*class)]
        });
        let since = moved.max().unwrap_or(at);
        let name = |(port, _): &Queue| facts.from(*port).name.clone();
        let mut names: Vec<String> = cycle.iter().map(name).collect();
        names.extend(cycle.first().map(name));
        let queue = |(port, class): &Queue| {
            let of = facts.from(*port);
            (of.node, of.port, TrafficClass::new(*class).expect("a class is one of eight"))
        };
        self.found.push(Deadlock {
            at,
            since,
            ended: None,
            cycle: cycle.iter().map(queue).collect(),
            name: names.join(" -> "),
        });
        self.queues.push(cycle);
    }

    /// Time since which no data frame has started, if in the last sample a queue waited for a group that
    /// holds unknown frames.
    pub(super) fn stands_still_since(&self) -> Option<Instant> {
        self.unfollowed.map(|_| self.started)
    }

    /// All that were found, in the order of time.
    pub(super) fn found(&self) -> &[Deadlock] {
        &self.found
    }

    /// The finding over a network in which `sent` frames were sent.
    pub(super) fn finish(
        &self,
        facts: &Facts,
        (now, sent): (Instant, u64),
        nodes: &mut Nodes,
    ) -> Finding {
        let Some(first) = self.found.first() else {
            if sent == 0 {
                return Finding::not_judged(Check::Deadlock, Extent::sent(0).without.into());
            }
            if let Some(why) = self.unjudged(facts, now, nodes) {
                return Finding::not_judged(Check::Deadlock, why);
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
    /// Reason that a circle of waiting queues cannot be excluded, although none was found.
    fn unjudged(&self, facts: &Facts, now: Instant, nodes: &mut Nodes) -> Option<String> {
        if let Some((port, class)) = self.unfollowed {
            let (name, peer) = (&facts.from(port).name, &facts.to(port).name);
            return Some(format!(
                "at the end class {class} of {name} waits for {peer}, and what fills that is not known"
            ));
        }
        let holding = facts.nodes.iter().enumerate().filter_map(|(n, node)| {
            match nodes.get_mut(NodeId(n as u32)) {
                Node::Switch(switch) if switch.held() > 0 => {
                    Some((node.name.as_str(), switch.held()))
                }
                _ => None,
            }
        });
        let holding: Vec<(&str, u64)> = holding.collect();
        let (first, _) = *holding.first()?;
        let frames: u64 = holding.iter().map(|(_, held)| held).sum();
        let still = now.since(self.started) > self.patience;
        let since = self.started.since(Instant::ZERO);
        still.then(|| {
            format!(
                "nothing has moved since {since}, and {frames} frames are held at the end, the first \
                 of them in {first}; no circle of queues was found"
            )
        })
    }
}

/// True if frames of a queue wait by the switch's own counters: in it, or isolated.
fn is_queued(nodes: &mut Nodes, port: &PortFacts, class: u8) -> bool {
    let class = TrafficClass::new(class).expect("a class is one of eight");
    match nodes.get_mut(port.node) {
        Node::Switch(switch) => {
            port.classes_of(class).any(|class| switch.queue_bytes(port.port, class) > 0)
        }
        Node::Host(_) => false,
    }
}

/// Of the queues that wait (and the groups that they wait for), those without a way out, each with
/// the queues that it waits for. What a busy switch is thought to hold may be in no queue of it.
fn closed(
    parts: &Parts<'_>,
    waiting: &BTreeMap<Queue, u8>,
    mut is_queued: impl FnMut(&Queue) -> bool,
) -> BTreeMap<Queue, BTreeSet<Queue>> {
    let mut inside: BTreeMap<(Direction, u8), BTreeSet<Queue>> = BTreeMap::new();
    for Known { facts, passages, .. } in parts.all() {
        for passage in passages.held() {
            let priority = usize::from(passage.priority);
            let group = facts.from(passage.ingress).group[priority];
            let queues = passage.classes().map(|class| (passage.egress, class));
            inside.entry((passage.ingress, group)).or_default().extend(queues);
        }
    }
    let mut ways: BTreeMap<Queue, BTreeSet<Queue>> = BTreeMap::new();
    for ((port, class), groups) in waiting {
        let of = (0..PRIORITIES as u8).filter(|group| groups >> group & 1 == 1);
        let next = of.filter_map(|group| inside.get(&(port.reverse(), group)));
        let next = next.flatten().copied().filter(|queue| is_queued(queue));
        ways.insert((*port, *class), next.collect());
    }
    loop {
        let stuck: BTreeSet<Queue> = ways
            .iter()
            .filter(|(_, next)| {
                !next.is_empty() && next.iter().all(|queue| ways.contains_key(queue))
            })
            .map(|(queue, _)| *queue)
            .collect();
        if stuck.len() == ways.len() {
            return ways;
        }
        ways.retain(|queue, _| stuck.contains(queue));
    }
}

/// True if one of `queues` can be reached from `queue` by the dependencies between queues.
fn reaches(ways: &BTreeMap<Queue, BTreeSet<Queue>>, queue: Queue, queues: &[Queue]) -> bool {
    let (mut seen, mut next) = (BTreeSet::from([queue]), vec![queue]);
    while let Some(queue) = next.pop() {
        if queues.contains(&queue) {
            return true;
        }
        next.extend(ways[&queue].iter().filter(|queue| seen.insert(**queue)));
    }
    false
}

/// A circle that is reached from `start`, from its smallest queue on.
fn circle(ways: &BTreeMap<Queue, BTreeSet<Queue>>, start: Queue) -> Vec<Queue> {
    let mut path = vec![start];
    loop {
        let last = path[path.len() - 1];
        let next = *ways[&last].first().expect("a queue without a way out waits for another");
        if let Some(from) = path.iter().position(|queue| *queue == next) {
            let mut cycle = path.split_off(from);
            let smallest = (0..cycle.len()).min_by_key(|n| cycle[*n]).unwrap_or(0);
            cycle.rotate_left(smallest);
            return cycle;
        }
        path.push(next);
    }
}
