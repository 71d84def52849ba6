//! Checkers: what must hold in every network, judged from outside.
//!
//! They read the octets of frames on lines, by a few lines of their own, and the notes of the
//! switches; of what the switches keep themselves they read the totals of ledger and queues
//! alone, to compare them with their own. A checker never changes what happens.
//!
//! [`Checkers`] is a [`Witness`] with all of them but [`Shares`]; [`Checkers::finish`] says what
//! they found. It costs a few tens of nanoseconds for each frame on a line, and more at samples:
//! without `sample_every` in the plan, ledgers, idle lines and deadlocks are sampled once, at
//! the end.

mod cells;
mod deadlock;
mod ecn;
mod excuses;
mod facts;
mod finding;
mod frames;
mod idle;
mod lateness;
mod lossless;
mod marks;
mod parsed;
mod parts;
mod passages;
mod pauses;
mod recent;
mod requests;
mod shares;
mod starved;
mod unite;

pub use deadlock::Deadlock;
pub use excuses::{Cause, Excuse, ExcusedDrops};
pub use finding::{Check, Finding, KnownLosses};
pub use shares::Shares;

use serde::{Deserialize, Serialize};

use super::{
    Direction, LinkId, LinkPlan, Loss, NetworkPlan, NodeId, NodePlan, Nodes, Note, Partition,
    VirtualFrame, Witness,
};
use cells::Cells;
use contracts::frame::Frame;
use deadlock::{Deadlocks, Known as OfDeadlocks};
use ecn::EcnFirst;
use facts::Facts;
use frames::Frames;
use ground::counters;
use ground::time::{Duration, Instant};
use ground::units::{PrioritySet, TrafficClass};
use idle::Idle;
use lateness::Lateness;
use lossless::Lossless;
use marks::Marks;
use parsed::Parsed;
use passages::Passages;
use pauses::Pauses;
use recent::{Kind, Known, Recent, Side};
use requests::{Cx, Requests};
use starved::Starved;

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Checkers {
    facts: Facts,
    lateness: Lateness,
    passages: Passages,
    frames: Frames,
    cells: Cells,
    lossless: Lossless,
    pauses: Pauses,
    requests: Requests,
    deadlocks: Deadlocks,
    starved: Starved,
    idle: Idle,
    ecn: EcnFirst,
    marks: Marks,
    recent: Recent,
    /// Destinations and sources of forged frames that a switch knows no port for.
    floods: Vec<(u64, u64)>,
    /// Forged frames, each with its priority at the switch that got it.
    strangers: Vec<(parsed::Kind, u8)>,
    totals: Totals,
    /// True if what happens at one node may excuse a loss at another: by a planned fault, an error of a
    /// line, a SecY, or a watchdog that ignores pauses.
    ordered: bool,
}

counters! {
    /// Events that the checkers counted in a run.
    #[derive(Serialize, Deserialize)]
    Totals {
        /// Pauses that switches sent, refreshes included.
        pauses,
        /// Resumes that switches sent.
        resumptions,
        /// Frames that switches marked.
        marks,
        /// Frames that switches dropped, for any reason.
        drops,
        /// Frames lost on lines.
        line_losses,
        /// Storms that watchdogs detected.
        watchdog_storms,
    }
}

impl Checkers {
    /// Checkers of a network that has not run yet.
    #[must_use]
    pub fn new(plan: &NetworkPlan) -> Self {
        let facts = Facts::new(plan);
        Self {
            lateness: Lateness::new(&facts),
            passages: Passages::new(&facts),
            frames: Frames::new(&facts),
            cells: Cells::default(),
            lossless: Lossless::new(&facts),
            pauses: Pauses::new(&facts),
            requests: Requests::new(&facts),
            deadlocks: Deadlocks::new(&facts),
            starved: Starved::new(&facts),
            idle: Idle::new(&facts),
            ecn: EcnFirst::new(&facts),
            marks: Marks::new(&facts),
            recent: Recent::new(&facts),
            floods: vec![],
            strangers: vec![],
            totals: Totals::default(),
            ordered: facts.ports.iter().any(|port| port.forwards != 0)
                || !plan.faults.is_empty()
                || plan.links.iter().any(LinkPlan::errs)
                || plan.nodes.iter().any(NodePlan::is_secured),
            facts,
        }
    }

    /// The deadlocks found so far, in the order of time.
    #[must_use]
    pub fn deadlocks(&self) -> &[Deadlock] {
        self.deadlocks.found()
    }

    /// Time since which no data has moved, where a switch waits for a group that is filled by frames of
    /// which nothing is known: it may be a deadlock, which cannot be judged.
    #[must_use]
    pub fn stands_still_since(&self) -> Option<Instant> {
        self.deadlocks.stands_still_since()
    }

    /// The longest time for which a queue starves now because the flows isolated from it are strictly served
    /// before it.
    #[must_use]
    pub fn starved(&self) -> Duration {
        self.starved.longest()
    }

    /// Has everything told in the order of time, as if what happens at one node could excuse another: for
    /// tests that this makes no difference.
    #[cfg(any(test, feature = "rig"))]
    pub const fn keep_order(&mut self) {
        self.ordered = true;
    }

    /// Returns the events counted so far.
    #[must_use]
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the frames of lossless priorities that switches dropped because the buffer was full:
    /// those without an excuse, and those with one.
    #[must_use]
    pub fn lossless_drops(&self) -> (u64, ExcusedDrops) {
        self.lossless.drops()
    }

    /// Samples the nodes for the last time and returns one finding for each check.
    #[must_use]
    pub fn finish(mut self, now: Instant, nodes: &mut Nodes) -> Vec<Finding> {
        self.sampled(now, nodes);
        let sent = self.frames.total();
        let Self { facts, passages, pauses, requests, .. } = &self;
        let known = OfDeadlocks { facts, passages, pauses, requests, deadlocks: None };
        let deadlock = self.deadlocks.finish(&known, (now, sent), (&self.lateness, nodes));
        let cx = Cx { facts: &self.facts, lateness: &self.lateness };
        let [pauses_sent, ends] = self.requests.finish(cx, now);
        let marks = self.marks.finish(&self.facts, &self.frames, now, nodes);
        vec![
            self.frames.finish(&self.facts, now, nodes),
            self.cells.finish(&self.facts, sent),
            self.lossless.finish(),
            self.pauses.finish(&self.facts),
            pauses_sent,
            ends,
            deadlock,
            self.idle.finish(sent),
            self.ecn.finish(&self.facts),
            marks,
        ]
    }
}

impl Checkers {
    /// PFC of a switch's port runs for other priorities from now on.
    fn pfc_changed(
        &mut self,
        at: Instant,
        port: Direction,
        (send, obey): (PrioritySet, PrioritySet),
    ) {
        self.facts.enable(port, send, obey);
        let facts = &self.facts;
        self.lossless.changed(facts, port);
        self.pauses.obeys(facts, at, port, obey);
        let over = self.lossless.over(port);
        self.requests.enabled(Cx { facts, lateness: &self.lateness }, at, port, over);
    }
}

impl Checkers {
    /// A frame of any kind starts; `kind` is remembered if it is data.
    #[inline(never)]
    fn sent_any(
        &mut self,
        (at, end): (Instant, Instant),
        direction: Direction,
        frame: &VirtualFrame,
        kind: Option<Kind>,
    ) {
        let facts = &self.facts;
        let of = facts.from(direction);
        let is_switch = facts.node(of.node).is_switch;
        let parsed = Parsed::new(frame);
        let is_control = matches!(parsed, Parsed::Control(_));
        self.idle.sent((at, end), direction, is_control);
        if is_control && !frame.spoilt {
            self.pauses.control_sent(facts, at, direction, parsed::source(frame.head()));
        }
        let data = match parsed {
            Parsed::Data(data) => data,
            // Receivers ignore a pause that its sender has damaged.
            Parsed::Control(ask) if is_switch && !frame.spoilt => {
                let cx = Cx { facts, lateness: &self.lateness };
                return self.requests.sent(cx, at, direction, &ask);
            }
            Parsed::Control(_) | Parsed::Reserved => return,
        };
        let found = || self.passages.find(facts, of.node, (frame, &data));
        let leaves = if is_switch { found() } else { None };
        let priority = of.maps.priority(&data);
        let left = match leaves {
            Some(leaves) => self.passages.left(facts, direction, leaves.passage),
            None if is_switch => self.passages.left_unknown(facts, direction, &data),
            None => Ok((priority, None)),
        };
        if let Some(kind) = kind.filter(|_| leaves.map_or(!is_switch, |leaves| leaves.always)) {
            let passage = leaves.map_or(Known::NO_PASSAGE, |leaves| leaves.passage);
            self.recent.note(kind, Known { passage, cells: 0, priority });
        }
        self.data_sent(at, direction, left);
    }

    /// A data frame starts, of a priority and of a class if that is known; an error if it never came in.
    #[inline]
    fn data_sent(&mut self, at: Instant, direction: Direction, left: Result<(u8, Option<u8>), ()>) {
        let facts = &self.facts;
        let Ok((priority, class)) = left else {
            return self.frames.strange(facts, at, direction);
        };
        self.deadlocks.started(at);
        self.pauses.sent((facts, &self.passages), at, direction, (priority, class));
        let of = facts.from(direction);
        if let Some(class) = class.or_else(|| of.class.get(usize::from(priority)).copied()) {
            self.deadlocks.sent(at, direction, class);
        }
    }

    /// A frame of any kind arrives; `kind` is remembered if it is data.
    #[inline(never)]
    fn arrived_any(
        &mut self,
        at: Instant,
        direction: Direction,
        frame: &VirtualFrame,
        kind: Option<Kind>,
    ) {
        let facts = &self.facts;
        let data = match Parsed::new(frame) {
            Parsed::Data(data) => data,
            Parsed::Control(ask) => return self.pauses.arrived(facts, at, direction, &ask),
            Parsed::Reserved => return,
        };
        let to = facts.to(direction);
        let mut known = Known { passage: Known::NO_PASSAGE, cells: 0, priority: 0 };
        if facts.node(to.node).is_switch {
            let kinds = self.passages.kinds();
            let passage = self.passages.arrived(facts, at, direction, (frame, &data));
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
                self.lossless.forged(facts, at, direction.reverse(), priority);
            }
            let Some((passage, cells)) = passage else { return };
            known = Known { passage, cells, priority };
            if !self.passages.is_alone(facts, passage) {
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
    fn sent(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, end: Instant) {
        self.frames.sent(&self.facts, direction, frame, end);
        self.marks.sent(&self.facts, at, direction, frame);
        let kind = Kind::of(frame, direction, Side::Leaves);
        let Some(known) = kind.as_ref().and_then(|kind| self.recent.find(kind)) else {
            return self.sent_any((at, end), direction, frame, kind);
        };
        self.idle.sent((at, end), direction, false);
        if known.passage == Known::NO_PASSAGE {
            return self.data_sent(at, direction, Ok((known.priority, None)));
        }
        let left = self.passages.left(&self.facts, direction, known.passage);
        self.data_sent(at, direction, left);
    }

    #[inline]
    fn arrived(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        self.frames.arrived(&self.facts, at, direction, frame);
        self.marks.arrived(&self.facts, direction, frame);
        // Copies of what is flooded have no headroom, at any switch that they come to.
        let is_plain = self.floods.is_empty() && self.strangers.is_empty();
        let kind = Kind::of(frame, direction, Side::Arrives).filter(|_| is_plain);
        let Some(known) = kind.as_ref().and_then(|kind| self.recent.find(kind)) else {
            return self.arrived_any(at, direction, frame, kind);
        };
        if known.passage != Known::NO_PASSAGE {
            let facts = &self.facts;
            self.passages.came(facts, at, (known.passage, known.cells));
            self.marks.classified(direction.reverse(), known.priority, frame);
            self.lossless.arrived(|| facts.to(direction).is_lossless(known.priority));
        }
    }

    fn forged(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        let facts = &self.facts;
        let to = facts.to(direction);
        self.frames.forged(facts, direction);
        self.marks.arrived(facts, direction, frame);
        self.requests.forged();
        match Parsed::new(frame) {
            Parsed::Control(ask) => {
                // To another address it is nothing that a port obeys.
                if frame.head().starts_with(&[0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]) {
                    self.pauses.arrived(facts, at, direction, &ask);
                    self.lossless.forged_pause(facts, at, direction, ask.sets().0);
                }
            }
            Parsed::Reserved => {}
            Parsed::Data(data) if facts.node(to.node).is_switch => {
                self.passages.arrived(facts, at, direction, (frame, &data));
                self.recent.forget();
                self.lossless.forged(facts, at, direction.reverse(), to.maps.priority(&data));
                let stranger = (data.kind(), to.maps.priority(&data));
                if !self.strangers.contains(&stranger) {
                    self.strangers.push(stranger);
                }
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

    fn held_up(&mut self, at: Instant, node: NodeId) {
        self.lateness.held_up(&self.facts, at, node);
    }

    fn caught_up(&mut self, at: Instant, node: NodeId) {
        if let Some(since) = self.lateness.since(node) {
            self.pauses.read(&self.facts, node, (since, at));
        }
        self.lateness.caught_up(at, node);
    }

    fn lost(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, cause: Loss) {
        let facts = &self.facts;
        self.frames.ended(facts, at, direction, frame);
        self.totals.line_losses += 1;
        match Parsed::new(frame) {
            Parsed::Control(ask) => {
                self.lossless.pause_lost(facts, at, direction, (ask.sets().1, cause));
            }
            Parsed::Reserved => {}
            Parsed::Data(data) => {
                // At one of its ends is a switch, and that knows what is lossless.
                let of = |port: &facts::PortFacts| port.is_lossless(port.maps.priority(&data));
                if of(facts.from(direction)) || of(facts.to(direction)) {
                    self.lossless.lost(facts, at, direction, cause);
                }
            }
        }
    }

    fn noted(&mut self, at: Instant, node: NodeId, note: &Note) {
        match *note {
            Note::Regrouped { port, group, headroom } => {
                self.facts.regroup(node, port, group, headroom);
                return self.lossless.changed(&self.facts, self.facts.out(node, port));
            }
            Note::PfcChanged { port, send, obey } => {
                return self.pfc_changed(at, self.facts.out(node, port), (send, obey));
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
                let priority = priority.map(|p| p.get());
                let is_late = self.lateness.is_late(at, node);
                let whose =
                    self.passages.dropped((facts, is_late), at, (node, port), (priority, reason));
                let latest = priority.filter(|_| whose.is_some());
                self.marks.dropped(node, latest.map(|p| (facts.out(node, port), p)));
                if let Some(p) = priority {
                    let port = facts.out(node, port);
                    self.lossless.dropped((facts, &self.lateness), at, port, (p, reason), whose);
                }
            }
            Note::Marked { port, class } => {
                self.totals.marks += 1;
                self.marks.marked(node);
                self.ecn.marked(facts.out(node, port), class.get());
            }
            Note::Crossed { port, group, xoff } => {
                let port = facts.out(node, port);
                let cx = Cx { facts, lateness: &self.lateness };
                self.requests.crossed(cx, at, port, group.get(), xoff);
                self.idle.crossed(facts, port, group.get());
                self.ecn.crossed(port, group.get(), xoff);
                self.lossless.crossed(at, port, facts.from(port).of_group(group.get()), xoff);
            }
            Note::PauseSent { port, paused, .. } => {
                self.totals.resumptions += u64::from(paused.is_empty());
                if !paused.is_empty() {
                    self.totals.pauses += 1;
                    let port = facts.out(node, port);
                    self.ecn.paused((facts, &self.passages), at, port, paused);
                }
            }
            Note::PauseObeyed { .. }
            | Note::Regrouped { .. }
            | Note::PfcChanged { .. }
            | Note::ClassesChanged { .. } => {}
            Note::Storm { port, class, detected } => {
                let (port, class) = (facts.out(node, port), class.get());
                self.totals.watchdog_storms += u64::from(detected);
                if facts.from(port).forwards >> class & 1 == 1 {
                    let of = self.passages.of_place(facts, port, class);
                    self.lossless.ignored(facts, at, port.reverse(), (of, detected));
                }
                self.lossless.stormed(port, class, detected);
                self.pauses.storm(facts, at, port, class, detected);
                self.idle.storm(port, class, detected);
                if detected && facts.from(port).flushes >> class & 1 == 1 {
                    let is_late = self.lateness.is_late(at, node);
                    self.passages.flushed((facts, is_late), port, 1 << class);
                }
            }
        }
    }

    fn link(&mut self, at: Instant, link: LinkId, up: bool) {
        let facts = &self.facts;
        self.requests.link(Cx { facts, lateness: &self.lateness }, at, link, up);
        self.idle.link(link, up);
        for port in [link.ab(), link.ba()] {
            self.pauses.link(port);
            self.lossless.link(facts, at, port, up);
            let node = facts.from(port).node;
            if !up && facts.node(node).is_switch {
                let is_late = self.lateness.is_late(at, node);
                self.passages.flushed((facts, is_late), port, u8::MAX);
            }
            if facts.node(node).is_switch {
                self.passages.respread(facts, node);
            }
        }
    }

    fn sampled(&mut self, at: Instant, nodes: &mut Nodes) {
        self.sampled_with(&mut [], at, nodes);
    }

    fn sampled_with(&mut self, others: &mut [&mut Self], at: Instant, nodes: &mut Nodes) {
        self.sample_own(at, nodes);
        others.iter_mut().for_each(|other| other.sample_own(at, nodes));
        self.sample_deadlocks(others, at, nodes);
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

#[cfg(test)]
mod tests;
