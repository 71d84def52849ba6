//! Queues that wait for pauses to end, and the groups and queues that each of them waits for.
//!
//! Where the frames in a switch are known exactly, they are followed from the lines. Elsewhere (isolation moves
//! frames to other classes and charges them to other groups, a router changes addresses, a forged frame may go
//! anywhere) the switch itself says what stops a queue and which groups its frames are charged to.

use std::collections::{BTreeMap, BTreeSet};

use super::deadlock::{Known, Parts};
use super::facts::{Facts, PortFacts};
use crate::{Direction, Node, NodeId, Nodes};
use ground::time::{Duration, Instant};
use ground::units::{PRIORITIES, PortId, TrafficClass};

/// A queue: a port, as the direction that leaves it, and a class.
pub(super) type Queue = (Direction, u8);

/// The queues without a way out, each with the queues that it waits for.
pub(super) type Ways = BTreeMap<Queue, BTreeSet<Queue>>;

/// What one queue waits for. Each set of groups alone holds it up, and so does the queue that goes first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Waits {
    /// Sets of groups of the next switch, bit n for group n: all queues with frames in any group of a set have
    /// to be stuck for the set to be.
    groups: Vec<u8>,
    /// Class of the same port whose queue has to send first.
    behind: Option<u8>,
    /// Time by which the pause was obeyed: no frame left the queue after it.
    stopped_by: Option<Instant>,
}

impl Waits {
    fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.behind.is_none()
    }
}

/// All queues that wait.
#[derive(Debug)]
pub(super) struct Waiting(BTreeMap<Queue, Waits>);

impl Waiting {
    /// Finds the queues that wait now. `patience` is, by port, the minimum duration of a pause that counts.
    pub(super) fn new(
        parts: &Parts<'_>,
        time: Instant,
        nodes: &mut Nodes,
        patience: &[Duration],
    ) -> Self {
        let facts = parts.facts();
        let mut waiting = BTreeMap::new();
        for port in facts.directions() {
            let (own, next) = (facts.from(port).node, facts.to(port).node);
            // A host may resume at any time, so what it pauses has a way out.
            if !facts.node(own).is_switch || !facts.node(next).is_switch {
                continue;
            }
            let link = Link { own: parts.of(own), next: parts.of(next), port, time };
            let is_known = link.own.passages.is_exact(own);
            for class in 0..PRIORITIES as u8 {
                let waits = match is_known {
                    true => link.followed(class, patience[port.index()]),
                    false => link.asked(class, patience[port.index()], nodes),
                };
                if !waits.is_empty() && is_queued(nodes, facts.from(port), class) {
                    waiting.insert((port, class), waits);
                }
            }
        }
        Self(waiting)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Time by which the pause that a queue waits for was obeyed, where its frames cannot be followed.
    pub(super) fn stopped_by(&self, queue: &Queue) -> Option<Instant> {
        self.0.get(queue)?.stopped_by
    }

    /// Those without a way out, each with the queues that it waits for. What a busy switch is thought to hold
    /// may be in no queue of it.
    pub(super) fn closed(&mut self, parts: &Parts<'_>, nodes: &mut Nodes) -> Ways {
        let facts = parts.facts();
        self.leave_trees(facts);
        let inside = self.inside(parts, nodes);
        let mut ways: BTreeMap<Queue, Vec<BTreeSet<Queue>>> = BTreeMap::new();
        for ((port, class), waits) in &self.0 {
            let next = |groups: &u8| -> BTreeSet<Queue> {
                let of = (0..PRIORITIES as u8).filter(|group| groups >> group & 1 == 1);
                let next = of.filter_map(|group| inside.get(&(port.reverse(), group)));
                next.flatten().copied().collect()
            };
            let behind = waits.behind.map(|class| BTreeSet::from([(*port, class)]));
            ways.insert((*port, *class), waits.groups.iter().map(next).chain(behind).collect());
        }
        for set in ways.values_mut().flatten() {
            set.retain(|(port, class)| is_queued(nodes, facts.from(*port), *class));
        }
        loop {
            // A queue with a way out may free those that wait for it, so this is repeated until none is left.
            let stuck: BTreeSet<Queue> = ways.keys().copied().collect();
            let before = stuck.len();
            ways.retain(|_, sets| {
                sets.retain(|next| !next.is_empty() && next.is_subset(&stuck));
                !sets.is_empty()
            });
            if ways.len() == before {
                let whole = |sets: Vec<BTreeSet<Queue>>| sets.into_iter().flatten().collect();
                return ways.into_iter().map(|(queue, sets)| (queue, whole(sets))).collect();
            }
        }
    }

    /// Takes out the queues that wait for a switch of which no queue waits: they have a way out, whatever is
    /// there. Mostly none is left then, and no switch is searched.
    fn leave_trees(&mut self, facts: &Facts) {
        loop {
            let stopped: BTreeSet<NodeId> =
                self.0.keys().map(|(port, _)| facts.from(*port).node).collect();
            let before = self.0.len();
            self.0.retain(|(port, _), waits| {
                waits.behind.is_some() || stopped.contains(&facts.to(*port).node)
            });
            if self.0.len() == before {
                break;
            }
        }
    }

    /// By port and group: the queues that its frames are in, at the switches that queues wait for.
    fn inside(
        &self,
        parts: &Parts<'_>,
        nodes: &mut Nodes,
    ) -> BTreeMap<(Direction, u8), BTreeSet<Queue>> {
        let facts = parts.facts();
        let next: BTreeSet<NodeId> = self.0.keys().map(|(port, _)| facts.to(*port).node).collect();
        let mut inside: BTreeMap<(Direction, u8), BTreeSet<Queue>> = BTreeMap::new();
        for Known { facts, passages, .. } in parts.all() {
            for passage in passages.held() {
                let port = facts.from(passage.ingress);
                if passages.is_exact(port.node) {
                    let group = port.group[usize::from(passage.priority)];
                    inside.entry((passage.ingress, group)).or_default().extend(passage.queues());
                }
            }
        }
        let is_asked = |node: &NodeId| !parts.of(*node).passages.is_exact(*node);
        for node in next.into_iter().filter(is_asked) {
            let Node::Switch(switch) = nodes.get_mut(node) else { continue };
            for out in &facts.node(node).out {
                for class in TrafficClass::ALL {
                    // Frames of one group follow each other mostly: one look-up for all of them.
                    let mut latest = None;
                    switch.visit_charged(facts.from(*out).port, class, |ingress, group| {
                        if latest != Some((ingress, group)) {
                            latest = Some((ingress, group));
                            let place = (facts.out(node, ingress), group.get());
                            inside.entry(place).or_default().insert((*out, class.get()));
                        }
                    });
                }
            }
        }
        inside
    }
}

/// A port of a switch with another switch behind it, at a sample.
#[derive(Clone, Copy)]
struct Link<'a> {
    own: &'a Known<'a>,
    next: &'a Known<'a>,
    port: Direction,
    time: Instant,
}

impl Link<'_> {
    /// True if the peer has had a priority paused for long.
    fn is_old(&self, p: usize, patience: Duration) -> bool {
        self.next.requests.since(self.port.reverse(), p).saturating_add(patience) <= self.time
    }

    /// True if the peer wants a priority paused.
    fn is_wanted(&self, p: &usize) -> bool {
        self.next.requests.wants(self.port.reverse(), *p)
    }

    /// The set of the group that a priority has at the peer.
    fn group(&self, p: usize) -> u8 {
        1 << self.next.facts.to(self.port).group[p]
    }

    /// PAUSE lasts while any group wants it: each of them alone holds the queue up.
    fn all_groups(&self) -> Vec<u8> {
        (0..PRIORITIES).filter(|p| self.is_wanted(p)).map(|p| self.group(p)).collect()
    }

    /// What a queue waits for, by the frames that are followed.
    fn followed(&self, class: u8, patience: Duration) -> Waits {
        let Self { own: Known { facts, passages, pauses, .. }, port, time, .. } = *self;
        if passages.queued(port, usize::from(class)) == 0 {
            return Waits::default();
        }
        let held_back = |p: &usize| {
            (facts.from(port).class[*p] == class || passages.places(port, *p) >> class & 1 == 1)
                && self.is_old(*p, patience)
                && pauses.is_paused(facts, passages, time, port, *p)
        };
        let mut held_back = (0..PRIORITIES).filter(held_back);
        let groups = match self.next.facts.to(port).link_wide {
            true if held_back.next().is_some() => self.all_groups(),
            true => vec![],
            false => {
                let wanted = held_back.filter(|p| self.is_wanted(p));
                let all = wanted.fold(0, |set, p| set | self.group(p));
                Some(all).filter(|all| *all != 0).into_iter().collect()
            }
        };
        Waits { groups, ..Waits::default() }
    }

    /// What a queue waits for, by what its switch says may stop it.
    fn asked(&self, class: u8, patience: Duration, nodes: &mut Nodes) -> Waits {
        let Self { own: Known { facts, pauses, .. }, port, time, .. } = *self;
        let PortFacts { node, port: id, .. } = *facts.from(port);
        let Some(blockers) = blockers(nodes, node, id, class) else { return Waits::default() };
        let held_back = blockers
            .priorities
            .iter()
            .map(|p| p.index())
            .filter(|p| self.is_old(*p, patience) && pauses.stops(facts, time, port, *p));
        let held_back: Vec<usize> = held_back.collect();
        let peer = self.next.facts.to(port);
        let groups = match peer.link_wide {
            true if !held_back.is_empty() => self.all_groups(),
            true => vec![],
            // The pause of any of them holds the queue up alone.
            false => {
                held_back.iter().filter(|p| self.is_wanted(p)).map(|p| self.group(*p)).collect()
            }
        };
        let way = peer.wait + peer.delay + peer.response;
        let since = held_back.iter().map(|p| self.next.requests.since(port.reverse(), *p));
        let behind = blockers.behind.map(TrafficClass::get);
        Waits { groups, behind, stopped_by: since.min().map(|since| since.saturating_add(way)) }
    }
}

fn blockers(nodes: &mut Nodes, node: NodeId, id: PortId, class: u8) -> Option<switch::Blockers> {
    match nodes.get_mut(node) {
        Node::Switch(switch) => switch.blockers(id, TrafficClass::ALL[usize::from(class)]),
        Node::Host(_) => None,
    }
}

/// True if frames wait in a queue by the switch's own counters.
pub(super) fn is_queued(nodes: &mut Nodes, port: &PortFacts, class: u8) -> bool {
    match nodes.get_mut(port.node) {
        Node::Switch(switch) => {
            switch.queue_bytes(port.port, TrafficClass::ALL[usize::from(class)]) > 0
        }
        Node::Host(_) => false,
    }
}

/// True if one of `queues` can be reached from `queue` by the dependencies between queues.
pub(super) fn reaches(ways: &Ways, queue: Queue, queues: &[Queue]) -> bool {
    let (mut visited, mut next) = (BTreeSet::from([queue]), vec![queue]);
    while let Some(queue) = next.pop() {
        if queues.contains(&queue) {
            return true;
        }
        next.extend(ways[&queue].iter().filter(|queue| visited.insert(**queue)));
    }
    false
}

/// A circle that is reached from `start`, from its smallest queue on.
pub(super) fn circle(ways: &Ways, start: Queue) -> Vec<Queue> {
    let mut path = vec![start];
    loop {
        let last = path[path.len() - 1];
        let next = *ways[&last].first().expect("a queue without a way out waits for another");
        // Each waits for another one without a way out, so the walk comes back to one of its own queues.
        if let Some(from) = path.iter().position(|queue| *queue == next) {
            let mut cycle = path.split_off(from);
            // One circle has one name, wherever the walk began.
            let smallest = (0..cycle.len()).min_by_key(|n| cycle[*n]).unwrap_or(0);
            cycle.rotate_left(smallest);
            return cycle;
        }
        path.push(next);
    }
}
