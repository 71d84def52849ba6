//! Frames in each switch, by port of arrival: counted from the lines and from nothing else.
//!
//! Frames of one source, destination, DSCP, PCP and VLAN that come into a switch by one port have one
//! priority there, and leave by one port, in order; of those to an address with several ports of equal
//! cost, frames of one flow. Their passage remembers each frame's cells until it leaves or is dropped.
//! Frames that differed in their tag or their port of arrival alone are told apart by their flow once they
//! leave: by its number in their probes, else by addresses and ports of their packets. Until the first
//! frame of a flow has left by one of several ports, it counts at all of them.
//!
//! What a switch floods, routes, or drops without saying which frame it was cannot be followed: such a
//! switch is no longer [exact](Passages::is_exact). What is said of it then is about right, and what
//! needs to be right is not concluded from it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasherDefault;

use super::facts::Facts;
use super::parsed::{self, Data, EITHER, NONE};
use super::recent::{Entry, Key, KeyHasher, key, path};
use super::take;
use crate::{Direction, NodeId, VirtualFrame};
use contracts::stats::{DropKind, DropReason};
use ground::time::Instant;
use ground::units::{PRIORITIES, Priority, PrioritySet};

/// Frames of one kind in one switch.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    /// Source and destination address.
    pub(super) ends: (u64, u64),
    /// The port it comes in by and the ones that it may leave by, each as the direction that leaves it.
    pub(super) ingress: Direction,
    egresses: Vec<Direction>,
    /// PCP and VLAN with which it comes in.
    tag: (u8, u16),
    /// Priority that the switch classifies it to.
    pub(super) priority: u8,
    /// True if it leaves with a tag.
    tagged: bool,
    /// True if other passages leave with the same fields.
    shared: bool,
    /// The cells of each frame that is inside.
    held: VecDeque<u32>,
    /// Number of frames that left from its front.
    gone: u64,
    /// By class: the number of these frames that arrived for it. Where the class of the priority
    /// changes, later frames may overtake, and those of the former class count as the last to leave.
    classes: [u32; PRIORITIES],
}

impl Passage {
    /// The queues in which it may have frames: a port and a class.
    pub(super) fn queues(&self) -> impl Iterator<Item = (Direction, u8)> {
        let queues = |class| self.egresses.iter().map(move |egress| (*egress, class));
        self.classes().flat_map(queues)
    }

    /// The classes in which it has frames.
    fn classes(&self) -> impl Iterator<Item = u8> {
        (0..).zip(self.classes).filter(|(_, frames)| *frames > 0).map(|(class, _)| class)
    }

    /// Takes a frame out of a class: of that of its priority, `now`, if there are any.
    fn leave(&mut self, now: u8) -> u8 {
        let has = |class: &u8| self.classes[usize::from(*class)] > 0;
        // Frames of a former class may be overtaken, so they count as the later ones.
        let class = [now].into_iter().chain(0..PRIORITIES as u8).find(has);
        let class = class.expect("a frame that is inside is in a class");
        self.classes[usize::from(class)] -= 1;
        class
    }
}

/// See the module's head.
#[derive(Clone, Debug)]
pub(super) struct Passages {
    all: Vec<Passage>,
    /// By what decides about a frame on its arrival.
    known: HashMap<Key, u32, BuildHasherDefault<KeyHasher>>,
    /// By what of that a frame still has when it leaves: the passages that it may be of.
    leaving: HashMap<Key, Vec<u32>, BuildHasherDefault<KeyHasher>>,
    /// Number of passages that share what a frame has when it leaves with another one.
    several: u32,
    /// By node and flow: the passage of the flow's last frame that was looked at.
    flows: HashMap<(NodeId, u64), u32>,
    /// By node and flow that came to another passage of its queue: the former ones, and how many frames of each
    /// are gone when those ahead of the first frame of the next one are.
    former: HashMap<(NodeId, u64), VecDeque<(u32, u64)>>,
    /// Nodes with destination and source of frames that came in without a passage.
    unknown: HashSet<(NodeId, u64, u64)>,
    /// Destinations and sources of forged frames, of which any field may mislead a reader.
    forged_ends: HashSet<(u64, u64)>,
    /// By port and priority: the passage whose frame arrived last, and when.
    latest: Vec<[(u32, Instant); PRIORITIES]>,
    /// By port and group: the cells of what came in there and is still inside.
    cells: Vec<[u64; PRIORITIES]>,
    /// By port and class: the frames that are to leave there, of each priority.
    queued: Vec<[[u64; PRIORITIES]; PRIORITIES]>,
    /// By port: frames taken out already whose drops are still to be told.
    announced: Vec<u64>,
    /// By node.
    exact: Vec<bool>,
}

/// A passage of which nothing is known.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// The passage of a frame that leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaves {
    /// Its number, or [`UNKNOWN`] if it may be of several.
    pub(super) passage: u32,
    /// True if every frame with these first bytes, so far, is of that passage.
    pub(super) always: bool,
}

/// A frame that leaves, as far as that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// Its priority there, [`NONE`] or [`EITHER`].
    pub(super) priority: u8,
    /// The class in which it waited.
    pub(super) class: Option<u8>,
}

/// A frame that a switch dropped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dropped {
    pub(super) at: Instant,
    /// The port that counts it.
    pub(super) port: Direction,
    /// Its priority, if it was classified.
    pub(super) priority: Option<u8>,
    pub(super) reason: DropReason,
}

impl Passages {
    pub(super) fn new(facts: &Facts) -> Self {
        let ports = facts.ports.len();
        Self {
            all: vec![],
            known: HashMap::default(),
            leaving: HashMap::default(),
            several: 0,
            flows: HashMap::new(),
            former: HashMap::new(),
            unknown: HashSet::new(),
            forged_ends: HashSet::new(),
            latest: vec![[(UNKNOWN, Instant::ZERO); PRIORITIES]; ports],
            cells: vec![[0; PRIORITIES]; ports],
            queued: vec![[[0; PRIORITIES]; PRIORITIES]; ports],
            announced: vec![0; ports],
            exact: facts.nodes.iter().map(|node| node.is_switch && node.bridges).collect(),
        }
    }

    /// Adds what another part knows of its switches.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        // The other part's passages are numbered behind those of this one.
        let shift = self.all.len() as u32;
        self.all.extend(other.all);
        self.known.extend(other.known.into_iter().map(|(key, id)| (key, id + shift)));
        let moved = |all: Vec<u32>| all.into_iter().map(|id| id + shift).collect();
        self.leaving.extend(other.leaving.into_iter().map(|(key, all)| (key, moved(all))));
        self.flows.extend(other.flows.into_iter().map(|(key, id)| (key, id + shift)));
        for (key, former) in other.former {
            let former = former.into_iter().map(|(id, gone)| (id + shift, gone)).collect();
            self.former.insert(key, former);
        }
        self.several += other.several;
        self.unknown.extend(other.unknown);
        self.forged_ends.extend(other.forged_ends);
        let has_port = |n: usize| theirs.has_port(Direction(n as u32));
        let mut latest = other.latest;
        for (id, _) in latest.iter_mut().flatten().filter(|(id, _)| *id != UNKNOWN) {
            *id += shift;
        }
        take(&mut self.latest, latest, has_port);
        take(&mut self.cells, other.cells, has_port);
        take(&mut self.queued, other.queued, has_port);
        take(&mut self.announced, other.announced, has_port);
        take(&mut self.exact, other.exact, |n| theirs.has_node(n));
    }

    /// A data frame comes into a switch. Gives its passage and its cells, which are those of all frames of
    /// its kind that come in there; `None` if its passage is not known.
    pub(super) fn arrived(
        &mut self,
        facts: &Facts,
        now: Instant,
        direction: Direction,
        frame: &VirtualFrame,
        data: &Data,
    ) -> Option<(u32, u32)> {
        let node = facts.to(direction).node;
        let from = Entry { tag: (data.pcp, data.vid), port: direction.0 };
        let key = key(node, data, from, path(facts, node, frame, data));
        let id = match self.known.get(&key) {
            Some(id) => *id,
            None => self.discover(facts, direction, key, frame, data),
        };
        if id == UNKNOWN {
            self.exact[node.index()] = false;
            self.unknown.insert((node, data.dst, data.src));
            return None;
        }
        let flow = (node, parsed::flow(frame));
        match self.flows.insert(flow, id) {
            Some(former) if former != id => self.moved(flow, former, id),
            _ => {}
        }
        let port = facts.to(direction);
        let passage = &self.all[id as usize];
        if passage.priority != port.maps.priority(data) {
            self.exact[node.index()] = false;
        }
        // The buffer has the frame as it will leave, with a tag or without.
        let untagged = data.len - if data.pcp == NONE { 0 } else { 4 };
        let len = untagged + if passage.tagged { 4 } else { 0 };
        let cells = len.div_ceil(facts.node(node).cell).max(1);
        self.came(facts, now, id, cells);
        Some((id, cells))
    }

    /// A flow comes by another passage than before. In one queue, its frames there stay behind all that are
    /// inside now.
    #[cold]
    fn moved(&mut self, flow: (NodeId, u64), from: u32, to: u32) {
        let [old, new] = [from, to].map(|id| &self.all[id as usize]);
        if old.held.is_empty() || old.priority != new.priority {
            return;
        }
        let ahead = (from, old.gone + old.held.len() as u64);
        let former = self.former.entry(flow).or_default();
        // Frames that have left hold nothing back any more.
        former.retain(|(id, gone)| self.all[*id as usize].gone < *gone);
        former.push_back(ahead);
    }

    /// A data frame of a passage comes into a switch.
    #[inline]
    pub(super) fn came(&mut self, facts: &Facts, now: Instant, id: u32, cells: u32) {
        let passage = &mut self.all[id as usize];
        let priority = usize::from(passage.priority);
        passage.held.push_back(cells);
        // Ports of equal cost have one map of classes.
        let class = usize::from(facts.from(passage.egresses[0]).class[priority]);
        passage.classes[class] += 1;
        for egress in &passage.egresses {
            self.queued[egress.index()][class][priority] += 1;
        }
        let ingress = passage.ingress.index();
        let group = facts.from(passage.ingress).group[priority];
        self.cells[ingress][usize::from(group)] += u64::from(cells);
        self.latest[ingress][priority] = (id, now);
    }

    /// The first frame of its kind in a switch: where it will leave.
    fn discover(
        &mut self,
        facts: &Facts,
        direction: Direction,
        key: Key,
        frame: &VirtualFrame,
        data: &Data,
    ) -> u32 {
        let port = facts.to(direction);
        let node = facts.node(port.node);
        let priority = port.maps.priority(data);
        let ports = node.behind(data.dst).filter_map(|n| node.out.get(usize::from(n)).copied());
        let egresses: Vec<Direction> = ports.collect();
        // What is flooded, or has a priority that the plan does not tell, cannot be followed.
        let Some(first) = egresses.first().filter(|_| usize::from(priority) < PRIORITIES) else {
            return UNKNOWN;
        };
        // A priority tag has no VLAN of its own; the port's counts.
        let vid = if data.vid == 0 { port.pvid } else { data.vid };
        let id = self.all.len() as u32;
        let tagged = facts.from(*first).tags(vid);
        self.all.push(Passage {
            ends: (data.src, data.dst),
            ingress: direction.reverse(),
            egresses,
            tag: (data.pcp, data.vid),
            priority,
            tagged,
            shared: false,
            held: VecDeque::new(),
            gone: 0,
            classes: [0; PRIORITIES],
        });
        self.known.insert(key, id);
        let path = path(facts, port.node, frame, data);
        let leaving = self::key(port.node, data, Entry::LEAVING, path);
        let of = self.leaving.entry(leaving).or_default();
        of.push(id);
        if of.len() > 1 {
            self.several += 1;
            // From now on a frame that leaves with these fields may be of any of them.
            of.iter().for_each(|id| self.all[*id as usize].shared = true);
        }
        id
    }

    /// True if every frame with the first bytes of one of this passage is of it: other passages leave with
    /// other fields, and it has one port.
    pub(super) fn is_alone(&self, facts: &Facts, id: u32) -> bool {
        let Passage { ingress, ends, shared, .. } = &self.all[id as usize];
        !shared && facts.node(facts.from(*ingress).node).is_single(ends.1)
    }

    /// Returns the number of kinds that cannot be told apart by the fields that all frames keep.
    pub(super) const fn kinds(&self) -> u32 {
        self.several
    }

    /// Returns the passage of a data frame that leaves a node, if it is known.
    pub(super) fn find(
        &self,
        facts: &Facts,
        node: NodeId,
        frame: &VirtualFrame,
        data: &Data,
    ) -> Option<Leaves> {
        let of =
            self.leaving.get(&key(node, data, Entry::LEAVING, path(facts, node, frame, data)))?;
        if let [one] = **of {
            return Some(Leaves { passage: one, always: self.is_alone(facts, one) });
        }
        let by_flow = || {
            let flow = (node, parsed::flow(frame));
            let mut former = self.former.get(&flow).into_iter().flatten();
            let ahead = former.find(|(id, gone)| self.all[*id as usize].gone < *gone);
            let passage = ahead.map(|(id, _)| id).or_else(|| self.flows.get(&flow))?;
            of.contains(passage).then_some(*passage)
        };
        let by_tag = || {
            let mut with = of.iter().filter(|id| {
                let passage = &self.all[**id as usize];
                passage.tagged && data.pcp != NONE && passage.tag == (data.pcp, data.vid)
            });
            with.next().copied().filter(|_| with.next().is_none())
        };
        // A tag that one passage alone has decides; a flow may have moved.
        let passage = by_tag().or_else(by_flow).unwrap_or(UNKNOWN);
        Some(Leaves { passage, always: false })
    }

    /// A data frame leaves a switch. Gives what is known of it; an error if it never came in.
    #[inline]
    pub(super) fn left(
        &mut self,
        facts: &Facts,
        direction: Direction,
        id: u32,
    ) -> Result<Left, ()> {
        if id == UNKNOWN {
            // One of several kinds, and nothing in the frame says which.
            self.exact[facts.from(direction).node.index()] = false;
            return Ok(Left { priority: EITHER, class: None });
        }
        let passage = &self.all[id as usize];
        let priority = passage.priority;
        let is_here = passage.egresses.contains(&direction);
        // The first frame of a flow shows which of the ports of equal cost all take.
        if is_here && passage.egresses.len() > 1 {
            self.settle(id, direction);
        }
        let class = if is_here { self.take(facts, id) } else { None };
        let is_known = class.is_some() || !self.exact[facts.from(direction).node.index()];
        if is_known { Ok(Left { priority, class }) } else { Err(()) }
    }

    /// The frames of a passage with several ports leave by this one.
    #[cold]
    fn settle(&mut self, id: u32, direction: Direction) {
        let passage = &mut self.all[id as usize];
        let priority = usize::from(passage.priority);
        for egress in passage.egresses.iter().filter(|egress| **egress != direction) {
            for (class, frames) in passage.classes.iter().enumerate() {
                self.queued[egress.index()][class][priority] -= u64::from(*frames);
            }
        }
        passage.egresses = vec![direction];
    }

    /// A link of a switch went down or came up: flows to addresses with several ports may take others.
    pub(super) fn respread(&mut self, facts: &Facts, node: NodeId) {
        for n in 0..self.all.len() {
            let passage = &self.all[n];
            if facts.from(passage.ingress).node != node {
                continue;
            }
            let of = facts.node(node);
            let ports =
                of.behind(passage.ends.1).filter_map(|n| of.out.get(usize::from(n)).copied());
            let ports: Vec<Direction> = ports.collect();
            if ports.len() < 2 {
                continue;
            }
            // What is inside stays where it is, and what comes may go elsewhere.
            self.exact[node.index()] &= passage.held.is_empty();
            let passage = &mut self.all[n];
            let priority = usize::from(passage.priority);
            for egress in ports.iter().filter(|port| !passage.egresses.contains(port)) {
                for (class, frames) in passage.classes.iter().enumerate() {
                    self.queued[egress.index()][class][priority] += u64::from(*frames);
                }
            }
            passage.egresses = ports;
        }
    }

    /// As [`Self::left`], of a frame that has no passage.
    pub(super) fn left_unknown(
        &self,
        facts: &Facts,
        direction: Direction,
        data: &Data,
    ) -> Result<Left, ()> {
        let port = facts.from(direction);
        let (node, of) = (port.node, facts.node(port.node));
        // The switch's own frames never arrived, and have the priority that it gave them, which may be
        // neither in a tag nor in a DSCP. A forged one may leave without the tag that gave it its priority.
        let is_forged = self.forged_ends.contains(&(data.dst, data.src));
        if is_forged || of.speaks_as.contains(&data.src) {
            return Ok(Left { priority: NONE, class: None });
        }
        // What is flooded came in as well; a router alone changes addresses.
        match self.unknown.contains(&(node, data.dst, data.src)) || !of.bridges {
            true => Ok(Left { priority: port.maps.priority(data), class: None }),
            false => Err(()),
        }
    }

    /// Takes the first frame of a passage out of the sums, and gives its class; `None` if there is no
    /// frame.
    #[inline]
    fn take(&mut self, facts: &Facts, id: u32) -> Option<u8> {
        let passage = &self.all[id as usize];
        let class = facts.from(passage.egresses[0]).class[usize::from(passage.priority)];
        self.take_from(facts, id, class)
    }

    /// The same, of a class if the passage has frames there.
    #[inline]
    fn take_from(&mut self, facts: &Facts, id: u32, class: u8) -> Option<u8> {
        let passage = &mut self.all[id as usize];
        let cells = passage.held.pop_front()?;
        passage.gone += 1;
        let priority = usize::from(passage.priority);
        let group = facts.from(passage.ingress).group[priority];
        let class = passage.leave(class);
        self.cells[passage.ingress.index()][usize::from(group)] -= u64::from(cells);
        for egress in &passage.egresses {
            self.queued[egress.index()][usize::from(class)][priority] -= 1;
        }
        Some(class)
    }

    /// Takes the last frame of a passage out of the sums, which never got into a queue.
    fn take_back(&mut self, facts: &Facts, id: u32) -> bool {
        let Some(passage) = self.all.get_mut(id as usize) else { return false };
        // The first leaves the sums and the last one leaves the list.
        let Some(last) = passage.held.pop_back() else { return false };
        passage.held.push_front(last);
        if self.take(facts, id).is_none() {
            return false;
        }
        // It went ahead of none that is inside, and a flow that came by another passage waits for it no more.
        let passage = &mut self.all[id as usize];
        passage.gone -= 1;
        let inside = passage.gone + passage.held.len() as u64;
        for (_, gone) in self.former.values_mut().flatten().filter(|(of, _)| *of == id) {
            *gone = inside.min(*gone);
        }
        true
    }

    /// A switch dropped a frame. Gives source and destination of the frame, if they are known.
    pub(super) fn dropped(
        &mut self,
        facts: &Facts,
        dropped: Dropped,
        is_late: bool,
    ) -> Option<(u64, u64)> {
        use DropReason as R;
        let Dropped { at, port, priority, reason } = dropped;
        let (node, port) = (facts.from(port).node, port.index());
        if matches!(reason, R::Flushed | R::Watchdog) && self.announced[port] > 0 {
            self.announced[port] -= 1;
            return None;
        }
        let on_arrival = match reason.kind() {
            // Nothing that is inside.
            _ if reason == R::ReservedAddress => return None,
            // Behind a tag it looked like data when it arrived, and is among what is inside.
            DropKind::Control if reason != R::MacControlTagged => return None,
            DropKind::Frame | DropKind::Control | DropKind::Watchdog => true,
            // RED may pick a frame that leaves, and for want of memory one copy is not made.
            DropKind::Congestion => !matches!(reason, R::RedNotEct | R::NoMemory),
            DropKind::Link => reason != R::Flushed,
        };
        let none = (UNKNOWN, Instant::ZERO);
        let (latest, arrived) = priority.map_or(none, |p| self.latest[port][usize::from(p)]);
        // A message that the switch made itself never arrived, and what arrives is dropped at once or
        // not at all. One that is made for a frame is made when that arrives, and then either it was.
        let speaks = !facts.node(node).speaks_as.is_empty();
        if on_arrival && speaks && !is_late && arrived != at {
            return None;
        }
        if speaks {
            self.exact[node.index()] = false;
        }
        let found = on_arrival && self.take_back(facts, latest);
        // A busy switch may have got other frames since the one that it dropped.
        if found && !is_late {
            return Some(self.all[latest as usize].ends);
        }
        self.exact[node.index()] = false;
        None
    }

    /// The queues of these classes of a port are about to be emptied. Frames that have arrived and
    /// were not looked at are none of them, but only of a switch that is never busy is it known
    /// that there are none.
    pub(super) fn flushed(&mut self, facts: &Facts, is_late: bool, port: Direction, classes: u8) {
        if is_late {
            self.exact[facts.from(port).node.index()] = false;
        }
        for id in 0..self.all.len() as u32 {
            let passage = &self.all[id as usize];
            if !passage.egresses.contains(&port) {
                continue;
            }
            if passage.egresses.len() > 1 {
                // They may be at another of its ports.
                self.exact[facts.from(port).node.index()] &= passage.held.is_empty();
                continue;
            }
            for class in (0..PRIORITIES as u8).filter(|class| classes >> class & 1 == 1) {
                while self.all[id as usize].classes[usize::from(class)] > 0 {
                    self.take_from(facts, id, class);
                    self.announced[port.index()] += 1;
                }
            }
        }
    }

    /// A frame came to a node from nowhere, and may go anywhere.
    pub(super) fn forged(&mut self, node: NodeId, ends: Option<(u64, u64)>) {
        self.forged_ends.extend(ends);
        self.exact[node.index()] = false;
    }

    /// True if the frames in a switch are known exactly.
    #[inline]
    pub(super) fn is_exact(&self, node: NodeId) -> bool {
        self.exact[node.index()]
    }

    /// Cells of what came in by a port in one group and is still inside.
    pub(super) fn cells(&self, port: Direction, group: usize) -> u64 {
        self.cells[port.index()][group]
    }

    /// Frames that wait to leave by a port in one class.
    pub(super) fn queued(&self, port: Direction, class: usize) -> u64 {
        self.queued[port.index()][class].iter().sum()
    }

    /// The classes in which frames of a priority may be that leave by a port now or later, bit n for
    /// class n: that of its new frames, and former ones until its last frame there has left. Only where
    /// the frames in the switch are not known exactly does a former class count to the end of the run.
    pub(super) fn all_places(&self, facts: &Facts, port: Direction, priority: usize) -> u8 {
        let port_facts = facts.from(port);
        let former = match self.is_exact(port_facts.node) {
            true => self.places(port, priority),
            false => port_facts.former[priority],
        };
        port_facts.places_of(priority) | former
    }

    /// The priorities whose frames may be in a class of a port.
    pub(super) fn of_place(&self, facts: &Facts, port: Direction, class: u8) -> PrioritySet {
        let is_there = |p: &Priority| self.all_places(facts, port, p.index()) >> class & 1 == 1;
        Priority::ALL.into_iter().filter(is_there).collect()
    }

    /// The classes in which frames of a priority wait to leave by a port: bit n for class n.
    pub(super) fn places(&self, port: Direction, priority: usize) -> u8 {
        let classes = self.queued[port.index()].iter().enumerate();
        classes.fold(0, |set, (class, frames)| set | u8::from(frames[priority] > 0) << class)
    }

    /// The passages that have frames inside.
    pub(super) fn held(&self) -> impl Iterator<Item = &Passage> {
        self.all.iter().filter(|passage| !passage.held.is_empty())
    }
}
