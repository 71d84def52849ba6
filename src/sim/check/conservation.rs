//! Conservation of frames and of cells.
//!
//! Every frame that starts on a line ends there, and what goes into a node comes out, is held, or is dropped under
//! a name. Every group holds exactly the cells of the frames that came in there and have not left, and nothing
//! once they have.

use super::excuses::Lateness;
use super::facts::Facts;
use super::finding::{Check, Extent, Finding, First};
use super::passages::Passages;
use super::take;
use crate::{Direction, Node, NodeId, Nodes, Note, VirtualFrame};
use ground::time::Instant;
use ground::units::{PortId, PriorityGroup};

/// Counts frames on lines and through nodes.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    lines: Vec<Line>,
    nodes: Vec<Through>,
    first: First,
}

/// One direction.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Frames and octets that started and have not ended.
    frames: u64,
    octets: u64,
    /// By when the last that started must have ended.
    last: Instant,
}

/// One node.
#[derive(Clone, Copy, Debug, Default)]
struct Through {
    arrived: u64,
    sent: u64,
    dropped: u64,
    obeyed: u64,
    requested: u64,
}

impl Frames {
    pub(super) fn new(facts: &Facts) -> Self {
        Self {
            lines: vec![Line { last: Instant::ZERO, ..Line::default() }; facts.ports.len()],
            nodes: vec![Through::default(); facts.nodes.len()],
            first: First::default(),
        }
    }

    #[inline]
    pub(super) fn sent(
        &mut self,
        facts: &Facts,
        direction: Direction,
        frame: &VirtualFrame,
        end: Instant,
    ) {
        let port = facts.from(direction);
        let line = &mut self.lines[direction.index()];
        line.frames += 1;
        line.octets += u64::from(frame.started_len());
        // A bound for frames of all kinds: pauses are given later than data, by the response time.
        line.last = end.saturating_add(port.delay).saturating_add(port.response);
        self.nodes[port.node.index()].sent += 1;
    }

    #[inline]
    pub(super) fn arrived(
        &mut self,
        facts: &Facts,
        time: Instant,
        direction: Direction,
        frame: &VirtualFrame,
    ) {
        self.ended(facts, time, direction, frame);
        self.nodes[facts.to(direction).node.index()].arrived += 1;
    }

    /// A frame arrived that never was on its line.
    pub(super) fn forged(&mut self, facts: &Facts, direction: Direction) {
        self.nodes[facts.to(direction).node.index()].arrived += 1;
    }

    /// A frame is on its line no longer.
    #[inline]
    pub(super) fn ended(
        &mut self,
        facts: &Facts,
        time: Instant,
        direction: Direction,
        frame: &VirtualFrame,
    ) {
        let line = &mut self.lines[direction.index()];
        let octets = u64::from(frame.started_len());
        // No underflow: what ends here without a start is the finding.
        if line.frames == 0 || line.octets < octets {
            let place = facts.to(direction).node.index();
            self.first.record_at(time, place, || {
                format!(
                    "a frame ended on the line from {} that never started there",
                    facts.from(direction).name
                )
            });
            return;
        }
        line.frames -= 1;
        line.octets -= octets;
    }

    /// A frame that has started ends in another part of the network.
    #[inline]
    pub(super) fn handed_over(&mut self, direction: Direction, frame: &VirtualFrame) {
        let line = &mut self.lines[direction.index()];
        line.frames -= 1;
        line.octets -= u64::from(frame.started_len());
    }

    /// A frame that started in another part ends in this one.
    #[inline]
    pub(super) fn taken_over(
        &mut self,
        facts: &Facts,
        direction: Direction,
        frame: &VirtualFrame,
        end: Instant,
    ) {
        let port = facts.from(direction);
        let line = &mut self.lines[direction.index()];
        line.frames += 1;
        line.octets += u64::from(frame.started_len());
        line.last = end.saturating_add(port.delay).saturating_add(port.response);
    }

    /// Adds what another part has counted.
    pub(super) fn unite(&mut self, other: Self) {
        for (line, other) in self.lines.iter_mut().zip(other.lines) {
            line.frames += other.frames;
            line.octets += other.octets;
            line.last = line.last.max(other.last);
        }
        for (node, other) in self.nodes.iter_mut().zip(other.nodes) {
            node.arrived += other.arrived;
            node.sent += other.sent;
            node.dropped += other.dropped;
            node.obeyed += other.obeyed;
            node.requested += other.requested;
        }
        self.first.unite(other.first);
    }

    pub(super) fn noted(&mut self, node: NodeId, note: &Note) {
        let through = &mut self.nodes[node.index()];
        match note {
            Note::Dropped { .. } => through.dropped += 1,
            Note::PauseObeyed { .. } => through.obeyed += 1,
            Note::PauseSent { .. } => through.requested += 1,
            Note::Marked { .. }
            | Note::Crossed { .. }
            | Note::Regrouped { .. }
            | Note::PfcChanged { .. }
            | Note::ClassesChanged { .. }
            | Note::Storm { .. } => {}
        }
    }

    /// A switch sent a frame that it never got.
    #[cold]
    pub(super) fn strange(&mut self, facts: &Facts, time: Instant, direction: Direction) {
        self.first.record_at(time, facts.from(direction).node.index(), || {
            format!(
                "{} sent a frame that never came in, or by a wrong port",
                facts.from(direction).name
            )
        });
    }

    /// Frames that were sent on all lines.
    pub(super) fn total(&self) -> u64 {
        self.nodes.iter().map(|node| node.sent).sum()
    }

    pub(super) fn finish(mut self, facts: &Facts, now: Instant, nodes: &mut Nodes) -> Finding {
        for direction in facts.directions() {
            let line = self.lines[direction.index()];
            // Some frame ended with fewer octets than it had at its start.
            let over = line.frames == 0 && line.octets > 0;
            if over || (line.frames > 0 && line.last < now) {
                let Line { frames, octets, last } = line;
                self.first.record(now, || {
                    let name = &facts.from(direction).name;
                    format!("{frames} frames of {octets} octets on the line from {name} never ended; the last was due at {last:?}")
                });
            }
        }
        for (n, through) in self.nodes.iter().enumerate() {
            let id = NodeId(n as u32);
            if let Some(what) = imbalance(facts, now, id, through, nodes) {
                self.first.record(now, || what);
            }
        }
        let (sent, dropped) = (self.total(), self.nodes.iter().map(|n| n.dropped).sum::<u64>());
        self.first.finding(Check::Frames, Extent::sent(sent), || {
            format!(
                "{sent} frames sent on {} lines, {dropped} dropped by switches",
                self.lines.len()
            )
        })
    }
}

/// Describes a difference between the frames that a node received, sent and holds; none if it
/// balances.
fn imbalance(
    facts: &Facts,
    now: Instant,
    id: NodeId,
    through: &Through,
    nodes: &mut Nodes,
) -> Option<String> {
    let name = &facts.node(id).name;
    let local = nodes.local(id, now);
    let waiting = waiting(facts, id, nodes);
    let Through { arrived, sent, dropped, obeyed, requested } = *through;
    match nodes.get_mut(id) {
        Node::Switch(switch) => {
            let snapshot = switch.snapshot(local);
            // Only a router knows which frames it, its link protocols and its congestion machines
            // generate and consume.
            let has_agents = switch.agents_of_ports().next().is_some();
            let sum = |of: fn(&contracts::stats::PortCounters) -> u64| -> u64 {
                snapshot.ports.iter().map(|port| of(&port.counters)).sum()
            };
            let silent = facts.node(id).speaks_as.is_empty() && !has_agents;
            let (answers, taken) = if facts.node(id).bridges && silent {
                (requested, obeyed)
            } else {
                (sum(|c| c.originated), sum(|c| c.consumed))
            };
            // Each copy of a flooded frame leaves, is dropped or held like a frame that arrived.
            let came = arrived + answers + sum(|c| c.copied);
            let went = sent + taken + dropped + snapshot.held + waiting;
            (came != went).then(|| {
                format!(
                    "{name}: {arrived} frames arrived, {answers} were made, {} copied; \
                     {sent} were sent, {taken} obeyed, {dropped} dropped, {} are held, \
                     {waiting} not looked at: {came} are not {went}",
                    sum(|c| c.copied),
                    snapshot.held
                )
            })
        }
        Node::Host(host) => {
            let counters = host.counters();
            let (rx, tx) = (counters.rx_frames, counters.tx_frames);
            // What a host has not read yet it cannot have counted.
            (rx + waiting != arrived || tx != sent).then(|| {
                format!(
                    "{name}: {arrived} frames arrived and {sent} started; it counted {rx} and {tx}"
                )
            })
        }
    }
}

/// Frames that have arrived at a node and that it has not looked at.
pub(super) fn waiting(facts: &Facts, id: NodeId, nodes: &mut Nodes) -> u64 {
    let ports = facts.node(id).out.len() as u16;
    let of = |port| match nodes.get_mut(id) {
        Node::Switch(switch) => switch.port_mut(port).map_or(0, |port| port.waiting()),
        Node::Host(host) => host.port_mut().waiting(),
    };
    (0..ports).filter_map(PortId::new).map(of).sum::<usize>() as u64
}

/// Compares the ledgers with the passages, whenever the nodes may be sampled.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    first: First,
    compared: u64,
    nodes: Vec<Coverage>,
}

/// Observations of a node.
#[derive(Clone, Copy, Debug, Default)]
struct Coverage {
    /// True if it was compared, empty or not, or is no switch.
    compared: bool,
    /// True if it was compared with frames in it.
    followed: bool,
    /// True if it had frames in it at some time that could not be followed, for what happened to it.
    lost: bool,
}

impl Cells {
    pub(super) fn sample(
        &mut self,
        facts: &Facts,
        passages: &Passages,
        lateness: &Lateness,
        time: Instant,
        nodes: &mut Nodes,
    ) {
        // At the first sample: the default has no nodes.
        self.nodes.resize(facts.nodes.len(), Coverage::default());
        for (n, node) in facts.nodes.iter().enumerate() {
            if !facts.has_node(n) {
                continue;
            }
            let coverage = &mut self.nodes[n];
            coverage.compared |= !node.is_switch;
            let id = NodeId(n as u32);
            let Node::Switch(switch) = nodes.get_mut(id) else { continue };
            let ledger = switch.ledger();
            ledger.check();
            let is_empty = switch.held() == 0;
            // Messages of the switch itself are in its groups and never arrived on a line.
            let silent = node.speaks_as.is_empty();
            let exact = passages.is_exact(id) && !lateness.is_late(time, id) && silent;
            if !is_empty && !exact {
                // A switch configured so can never be followed, and has to be empty.
                coverage.lost |= node.bridges && silent;
                continue;
            }
            coverage.compared = true;
            coverage.followed |= !is_empty;
            for (port, out) in node.out.iter().enumerate() {
                let port = PortId::new(port as u16).expect("a switch has no more ports than ids");
                for group in PriorityGroup::ALL {
                    let usage = ledger.usage(port, group);
                    let found = u64::from(usage.used.0) + u64::from(usage.headroom.0);
                    let due = if exact { passages.cells(*out, group.index()) } else { 0 };
                    self.compared += 1;
                    if found != due {
                        self.first.record_at(time, n, || {
                            let name = &facts.from(*out).name;
                            format!(
                                "{name} group {group} has {found} cells; its frames take \
                                {due}"
                            )
                        });
                    }
                }
            }
        }
    }

    /// Adds what another part has compared at its nodes.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        self.nodes.resize(theirs.nodes.len(), Coverage::default());
        take(&mut self.nodes, other.nodes, |n| theirs.has_node(n));
        self.compared += other.compared;
        self.first.unite(other.first);
    }

    /// The finding over a network in which `sent` frames were sent.
    pub(super) fn finish(self, facts: &Facts, sent: u64) -> Finding {
        let Self { first, compared, nodes } = self;
        let uncovered =
            |coverage: &Coverage| !coverage.compared || coverage.lost && !coverage.followed;
        let uncovered = nodes.iter().position(uncovered).filter(|_| first.is_none());
        if let Some(node) = uncovered {
            let name = &facts.nodes[node].name;
            let rest = match nodes[node].compared {
                true => "while it had any",
                false => "and it is not empty at the end",
            };
            let why = format!("the frames in {name} could not be followed, {rest}");
            return Finding::not_judged(Check::Cells, why);
        }
        first.finding(Check::Cells, Extent::sent(sent), || {
            format!("{compared} comparisons: each group held the cells of its frames")
        })
    }
}
