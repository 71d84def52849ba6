//! What the checkers are told: the calls of a network, and the division of the checkers among its parts.
//!
//! Every part has checkers, which are told about the nodes of that part. Nearly all that a checker knows is
//! of one port or node. A frame on a line between parts counts as that of the receiver's part once it is
//! handed over. Ledgers and idle lines are sampled by each for its own nodes, deadlocks by the first part with
//! what the others know.

use super::Checkers;
use super::deadlock::{self, Parts};
use super::facts::{Facts, PortFacts};
use super::parsed::{self, Parsed};
use super::passages::{Dropped, Left};
use super::recent::{Kind, Known, Side};
use super::requests::Context;
use crate::{Direction, LinkId, Loss, NodeId, Nodes, Note, Partition, VirtualFrame, Witness};
use contracts::frame::Frame;
use ground::time::Instant;
use ground::units::{PrioritySet, TrafficClass};

impl Checkers {
    /// PFC of a switch's port runs for other priorities from now on.
    fn pfc_changed(
        &mut self,
        time: Instant,
        port: Direction,
        send: PrioritySet,
        obey: PrioritySet,
    ) {
        self.facts.enable(port, send, obey);
        let facts = &self.facts;
        self.lossless.changed(facts, port);
        self.pauses.obeys(facts, time, port, obey);
        let over = self.lossless.over(port);
        self.requests.enabled(Context { facts, lateness: &self.lateness }, time, port, over);
    }

    /// A watchdog detected a storm in a class of a port, or restored the queue.
    fn storm(&mut self, time: Instant, port: Direction, class: u8, detected: bool) {
        let facts = &self.facts;
        let port_facts = facts.from(port);
        self.totals.watchdog_storms += u64::from(detected);
        if port_facts.forwards >> class & 1 == 1 {
            let places = self.passages.of_place(facts, port, class);
            self.lossless.ignored(facts, time, port.reverse(), places, detected);
        }
        self.lossless.stormed(port, class, detected);
        self.pauses.storm(facts, time, port, class, detected);
        self.idle.storm(port, class, detected);
        // The drops of these frames are noted afterwards, and then are expected.
        if detected && port_facts.flushes >> class & 1 == 1 {
            let is_late = self.lateness.is_late(time, port_facts.node);
            self.passages.flushed(facts, is_late, port, 1 << class);
        }
    }

    /// A frame of any kind starts; `kind` is remembered if it is data.
    #[inline(never)]
    fn sent_any(
        &mut self,
        time: Instant,
        end: Instant,
        direction: Direction,
        frame: &VirtualFrame,
        kind: Option<Kind>,
    ) {
        let facts = &self.facts;
        let port_facts = facts.from(direction);
        let is_switch = facts.node(port_facts.node).is_switch;
        let parsed = Parsed::new(frame);
        let is_control = matches!(parsed, Parsed::Control(_));
        self.idle.sent(time, end, direction, is_control);
        // A damaged frame is in no device's name.
        if is_control && !frame.spoilt {
            self.pauses.control_sent(facts, time, direction, parsed::source(frame.head()));
        }
        let data = match parsed {
            Parsed::Data(data) => data,
            // Receivers ignore a pause that its sender has damaged.
            Parsed::Control(ask) if is_switch && !frame.spoilt => {
                let cx = Context { facts, lateness: &self.lateness };
                return self.requests.sent(cx, time, direction, &ask);
            }
            Parsed::Control(_) | Parsed::Reserved => return,
        };
        let found = || self.passages.find(facts, port_facts.node, frame, &data);
        let leaves = if is_switch { found() } else { None };
        let priority = port_facts.maps.priority(&data);
        let left = match leaves {
            Some(leaves) => self.passages.left(facts, direction, leaves.passage),
            None if is_switch => self.passages.left_unknown(facts, direction, &data),
            None => Ok(Left { priority, class: None }),
        };
        if let Some(kind) = kind.filter(|_| leaves.map_or(!is_switch, |leaves| leaves.always)) {
            let passage = leaves.map_or(Known::NO_PASSAGE, |leaves| leaves.passage);
            self.recent.note(kind, Known { passage, cells: 0, priority });
        }
        self.data_sent(time, direction, left);
    }

    /// A data frame starts, of a priority and of a class if that is known; an error if it never came in.
    #[inline]
    fn data_sent(&mut self, time: Instant, direction: Direction, left: Result<Left, ()>) {
        let facts = &self.facts;
        let Ok(left) = left else {
            return self.frames.strange(facts, time, direction);
        };
        self.deadlocks.started(time);
        self.pauses.sent(facts, &self.passages, time, direction, left);
        let Left { priority, class } = left;
        let port_facts = facts.from(direction);
        if let Some(class) = class.or_else(|| port_facts.class.get(usize::from(priority)).copied())
        {
            self.deadlocks.sent(time, direction, class);
        }
    }

    /// A frame of any kind arrives; `kind` is remembered if it is data.
    #[inline(never)]
    fn arrived_any(
        &mut self,
        time: Instant,
        direction: Direction,
        frame: &VirtualFrame,
        kind: Option<Kind>,
    ) {
        let facts = &self.facts;
        let data = match Parsed::new(frame) {
            Parsed::Data(data) => data,
            Parsed::Control(ask) => {
                self.deadlocks.paused(direction, &ask, false);
                return self.pauses.arrived(facts, time, direction, &ask);
            }
            Parsed::Reserved => return,
        };
        let to = facts.to(direction);
        let mut known = Known { passage: Known::NO_PASSAGE, cells: 0, priority: 0 };
        if facts.node(to.node).is_switch {
            let kinds = self.passages.kinds();
            let passage = self.passages.arrived(facts, time, direction, frame, &data);
            if self.passages.kinds() != kinds {
                // What left so far may be told apart from now on.
                self.recent.forget();
            }
            let priority = to.maps.priority(&data);
            self.marks.classified(direction.reverse(), priority, frame);
            self.lossless.arrived(|| to.is_lossless(priority));
            // Nor does a pause hold back what the switch before takes for another priority.
            let kind_here = data.kind();
            let is_other = |(of, was): &(parsed::Kind, u8)| *of == kind_here && *was != priority;
            if self.floods.contains(&(data.dst, data.src)) || self.strangers.iter().any(is_other) {
                self.lossless.forged(facts, time, direction.reverse(), priority);
            }
            let Some((passage, cells)) = passage else { return };
            known = Known { passage, cells, priority };
            // Frames of other flows may begin with the same bytes, and a flow that may move is known by its own frames.
            if facts.reroutes || !self.passages.is_alone(facts, passage) {
                return;
            }
        }
        if let Some(kind) = kind {
            self.recent.note(kind, known);
        }
    }
}

impl Witness for Checkers {
    fn is_ordered(&self) -> bool {
        self.ordered
    }

    #[inline]
    fn sent(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame, end: Instant) {
        self.frames.sent(&self.facts, direction, frame, end);
        self.marks.sent(&self.facts, time, direction, frame);
        let kind = Kind::of(frame, direction, Side::Leaves);
        let Some(known) = kind.as_ref().and_then(|kind| self.recent.find(kind)) else {
            return self.sent_any(time, end, direction, frame, kind);
        };
        self.idle.sent(time, end, direction, false);
        if known.passage == Known::NO_PASSAGE {
            return self.data_sent(
                time,
                direction,
                Ok(Left { priority: known.priority, class: None }),
            );
        }
        let left = self.passages.left(&self.facts, direction, known.passage);
        self.data_sent(time, direction, left);
    }

    #[inline]
    fn arrived(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame) {
        self.frames.arrived(&self.facts, time, direction, frame);
        self.marks.arrived(&self.facts, direction, frame);
        // Copies of what is flooded have no headroom, at any switch that they come to.
        let is_plain = self.floods.is_empty() && self.strangers.is_empty();
        let kind = Kind::of(frame, direction, Side::Arrives).filter(|_| is_plain);
        let Some(known) = kind.as_ref().and_then(|kind| self.recent.find(kind)) else {
            return self.arrived_any(time, direction, frame, kind);
        };
        if known.passage != Known::NO_PASSAGE {
            let facts = &self.facts;
            self.passages.came(facts, time, known.passage, known.cells);
            self.marks.classified(direction.reverse(), known.priority, frame);
            self.lossless.arrived(|| facts.to(direction).is_lossless(known.priority));
        }
    }

    fn forged(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame) {
        let facts = &self.facts;
        let to = facts.to(direction);
        self.frames.forged(facts, direction);
        self.marks.arrived(facts, direction, frame);
        self.requests.forged();
        match Parsed::new(frame) {
            Parsed::Control(ask) => {
                // To another address it is nothing that a port obeys.
                if frame.head().starts_with(&[0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]) {
                    self.pauses.arrived(facts, time, direction, &ask);
                    self.deadlocks.paused(direction, &ask, true);
                    self.lossless.forged_pause(facts, time, direction, ask.sets().0);
                }
            }
            Parsed::Reserved => {}
            Parsed::Data(data) if facts.node(to.node).is_switch => {
                self.passages.arrived(facts, time, direction, frame, &data);
                self.recent.forget();
                self.lossless.forged(facts, time, direction.reverse(), to.maps.priority(&data));
                // Its later switches may give the frame another priority, at which no pause holds it back.
                let stranger = (data.kind(), to.maps.priority(&data));
                if !self.strangers.contains(&stranger) {
                    self.strangers.push(stranger);
                }
                // Without a port it is flooded, and the copies have no headroom anywhere.
                if facts.node(to.node).behind(data.dst).next().is_none() {
                    self.floods.push((data.dst, data.src));
                }
            }
            Parsed::Data(_) => {}
        }
        let ends = match Parsed::new(frame) {
            Parsed::Data(data) => Some((data.dst, data.src)),
            Parsed::Control(_) | Parsed::Reserved => None,
        };
        self.passages.forged(to.node, ends);
    }

    fn held_up(&mut self, time: Instant, node: NodeId) {
        self.lateness.held_up(&self.facts, time, node);
    }

    fn caught_up(&mut self, time: Instant, node: NodeId) {
        if let Some(since) = self.lateness.since(node) {
            // Pauses that arrived meanwhile are obeyed from now on, and so last longer.
            self.pauses.read(&self.facts, node, since, time);
        }
        self.lateness.caught_up(time, node);
    }

    fn lost(&mut self, time: Instant, direction: Direction, frame: &VirtualFrame, cause: Loss) {
        let facts = &self.facts;
        self.frames.ended(facts, time, direction, frame);
        self.totals.line_losses += 1;
        match Parsed::new(frame) {
            Parsed::Control(ask) => {
                self.lossless.pause_lost(facts, time, direction, ask.sets().1, cause);
            }
            Parsed::Reserved => {}
            Parsed::Data(data) => {
                // At one of its ends is a switch, and that knows what is lossless.
                let of = |port: &PortFacts| port.is_lossless(port.maps.priority(&data));
                if of(facts.from(direction)) || of(facts.to(direction)) {
                    self.lossless.lost(facts, time, direction, cause);
                }
            }
        }
    }

    fn noted(&mut self, time: Instant, node: NodeId, note: &Note) {
        match *note {
            // Changes of the plan come first: the notes that follow are judged by it.
            Note::Regrouped { port, group, headroom } => {
                self.facts.regroup(node, port, group, headroom);
                return self.lossless.changed(&self.facts, self.facts.out(node, port));
            }
            Note::PfcChanged { port, send, obey } => {
                return self.pfc_changed(time, self.facts.out(node, port), send, obey);
            }
            Note::ClassesChanged { port, map } => {
                let port = self.facts.out(node, port);
                return self.facts.reclass(port, map.map(TrafficClass::get));
            }
            _ => {}
        }
        let facts = &self.facts;
        self.frames.noted(node, note);
        match *note {
            Note::Dropped { port, priority, reason } => {
                self.totals.drops += 1;
                let (port, priority) = (facts.out(node, port), priority.map(|p| p.get()));
                let dropped = Dropped { at: time, port, priority, reason };
                let is_late = self.lateness.is_late(time, node);
                let whose = self.passages.dropped(facts, dropped, is_late);
                // Only then is it the frame that arrived last, whose mark is known.
                let latest = priority.filter(|_| whose.is_some());
                self.marks.dropped(node, latest.map(|p| (port, p)));
                self.lossless.dropped(Context { facts, lateness: &self.lateness }, dropped, whose);
            }
            Note::Marked { port, class } => {
                self.totals.marks += 1;
                self.marks.marked(node);
                self.ecn.marked(facts.out(node, port), class.get());
            }
            Note::Crossed { port, group, xoff } => {
                let port = facts.out(node, port);
                let cx = Context { facts, lateness: &self.lateness };
                self.requests.crossed(cx, time, port, group.get(), xoff);
                self.idle.crossed(facts, port, group.get());
                self.ecn.crossed(port, group.get(), xoff);
                self.lossless.crossed(time, port, facts.from(port).of_group(group.get()), xoff);
            }
            Note::PauseSent { port, paused, .. } => {
                self.totals.resumptions += u64::from(paused.is_empty());
                if !paused.is_empty() {
                    self.totals.pauses += 1;
                    let port = facts.out(node, port);
                    self.ecn.paused(facts, &self.passages, time, port, paused);
                }
            }
            Note::PauseObeyed { .. }
            | Note::Regrouped { .. }
            | Note::PfcChanged { .. }
            | Note::ClassesChanged { .. } => {}
            Note::Storm { port, class, detected } => {
                self.storm(time, facts.out(node, port), class.get(), detected);
            }
        }
    }

    fn link(&mut self, time: Instant, link: LinkId, up: bool) {
        let facts = &self.facts;
        self.requests.link(Context { facts, lateness: &self.lateness }, time, link, up);
        self.idle.link(link, up);
        for port in [link.ab(), link.ba()] {
            self.pauses.link(port);
            self.lossless.link(facts, time, port, up);
            let node = facts.from(port).node;
            // A switch drops what is queued for a port whose link goes down.
            if !up && facts.node(node).is_switch {
                let is_late = self.lateness.is_late(time, node);
                self.passages.flushed(facts, is_late, port, u8::MAX);
            }
            if facts.node(node).is_switch {
                self.passages.respread(facts, node);
            }
        }
    }

    fn sampled(&mut self, time: Instant, nodes: &mut Nodes) {
        self.sampled_with(&mut [], time, nodes);
    }

    fn sampled_with(&mut self, others: &mut [&mut Self], time: Instant, nodes: &mut Nodes) {
        self.sample_own(time, nodes);
        others.iter_mut().for_each(|other| other.sample_own(time, nodes));
        self.sample_deadlocks(others, time, nodes);
    }

    fn is_divisible(&self) -> bool {
        self.needs_whole().is_none()
    }

    fn divide(&mut self, partition: &Partition) -> Vec<Self> {
        self.divide_into(partition)
    }

    fn unite(&mut self, others: Vec<Self>, _: &Partition) {
        others.into_iter().for_each(|other| self.unite_with(other));
    }

    #[inline]
    fn handed_over(&mut self, direction: Direction, frame: &VirtualFrame) {
        self.frames.handed_over(direction, frame);
    }

    #[inline]
    fn taken_over(&mut self, direction: Direction, frame: &VirtualFrame, end: Instant) {
        self.frames.taken_over(&self.facts, direction, frame, end);
    }
}

impl Checkers {
    /// Reason for which one observer has to see the whole network in the order of time, if there is one.
    pub fn needs_whole(&self) -> Option<&'static str> {
        if self.ordered {
            Some("faults, line errors, MACsec or a forwarding watchdog may excuse losses elsewhere")
        } else if self.facts.nodes.iter().any(|node| node.takes_time) {
            Some("a processor that takes time may excuse losses, in the order of time")
        } else {
            None
        }
    }

    /// Becomes the checkers of the first part; returns those of the others.
    pub(super) fn divide_into(&mut self, partition: &Partition) -> Vec<Self> {
        let nodes = self.facts.nodes.len() as u32;
        let of = |part: usize| {
            let own = (0..nodes).map(|n| partition.of(NodeId(n)) as usize == part);
            // All facts are copied, as a port's peer may be in another part.
            let facts = Facts { own: own.collect(), ..self.facts.clone() };
            Self { facts, ..self.clone() }
        };
        let mut all: Vec<Self> = (0..partition.parts()).map(of).collect();
        *self = all.remove(0);
        all
    }

    /// Takes over what the checkers of another part know.
    pub(super) fn unite_with(&mut self, other: Self) {
        let theirs = &other.facts;
        self.lateness.unite(other.lateness, theirs);
        self.passages.unite(other.passages, theirs);
        self.frames.unite(other.frames);
        self.cells.unite(other.cells, theirs);
        self.lossless.unite(other.lossless, theirs);
        self.pauses.unite(other.pauses, theirs);
        self.requests.unite(other.requests, theirs);
        self.deadlocks.unite(other.deadlocks, theirs);
        self.starved.unite(other.starved, theirs);
        self.idle.unite(other.idle, theirs);
        self.ecn.unite(other.ecn, theirs);
        self.marks.unite(other.marks, theirs);
        self.floods.extend(other.floods);
        self.strangers.extend(other.strangers);
        self.totals.add(&other.totals);
        self.facts.unite(other.facts);
    }

    /// Samples what is of single nodes of this part.
    pub(super) fn sample_own(&mut self, time: Instant, nodes: &mut Nodes) {
        let Self { facts, lateness, passages, pauses, requests, deadlocks, starved, .. } = self;
        self.cells.sample(facts, passages, lateness, time, nodes);
        let known = deadlock::Known { facts, passages, pauses, requests, deadlocks: None };
        self.idle.sample(&known, lateness, time, nodes);
        starved.sample(facts, deadlocks, time, nodes);
    }

    /// Searches for deadlocks in all parts.
    pub(super) fn sample_deadlocks(
        &mut self,
        others: &[&mut Self],
        time: Instant,
        nodes: &mut Nodes,
    ) {
        let Self { facts, passages, pauses, requests, deadlocks, .. } = self;
        let mut parts =
            Parts(vec![deadlock::Known { facts, passages, pauses, requests, deadlocks: None }]);
        for other in others {
            let Self { facts, passages, pauses, requests, deadlocks: of, .. } = &**other;
            // A network stands still only where no part has sent.
            deadlocks.started(of.last_start());
            parts.0.push(deadlock::Known {
                facts,
                passages,
                pauses,
                requests,
                deadlocks: Some(of),
            });
        }
        deadlocks.sample(&parts, time, nodes);
    }
}
