//! Congestion marks, and ECN before PFC.
//!
//! A frame leaves a switch with CE if it came with CE or the switch marked it, and so does every such frame; its
//! IPv4 checksum is right. A host sends no frame with CE, and counts all that it gets. Marks are counted by node.
//! What a switch dropped, copied or holds at the end may be frames with CE: by that many the sums may differ,
//! unless it is known that the dropped frame had none.
//!
//! A queue that marks has sent a marked frame before a group whose frames it holds pauses its sender for the first
//! time after it went over its limit. A group may hold frames of several queues. It is enough that one of those
//! that mark has done so: that is the one whose length counts.

use std::collections::HashSet;

use super::conservation::Frames;
use super::facts::Facts;
use super::finding::{Check, Extent, Finding, First};
use super::passages::Passages;
use super::{parsed, take};
use crate::{Direction, Node, NodeId, Nodes, VirtualFrame};
use contracts::frame::Frame;
use ground::time::Instant;
use ground::units::{PRIORITIES, PrioritySet};

/// Counts frames with CE through nodes.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    nodes: Vec<Through>,
    /// By port: whether the last frame of a priority that came in had CE, bit n for priority n.
    latest: Vec<u8>,
    /// By node: source and destination of frames with CE that came with a wrong checksum.
    wrong: HashSet<(NodeId, Ends)>,
    first: First,
}

type Ends = [u8; 12];

/// One node.
#[derive(Clone, Copy, Debug, Default)]
struct Through {
    /// Frames with CE that came in and left. At a host, those with a probe.
    arrived: u64,
    sent: u64,
    /// Frames that a switch says it marked.
    marked: u64,
    /// Dropped frames that had CE, and those of which this is not known.
    dropped: u64,
    unknown: u64,
}

impl Marks {
    pub(super) fn new(facts: &Facts) -> Self {
        Self {
            nodes: vec![Through::default(); facts.nodes.len()],
            latest: vec![0; facts.ports.len()],
            wrong: HashSet::new(),
            first: First::default(),
        }
    }

    #[inline]
    pub(super) fn sent(
        &mut self,
        facts: &Facts,
        time: Instant,
        direction: Direction,
        frame: &VirtualFrame,
    ) {
        if parsed::is_ce(frame.head()) {
            self.sent_marked(facts, time, direction, frame);
        }
    }

    #[cold]
    fn sent_marked(
        &mut self,
        facts: &Facts,
        time: Instant,
        direction: Direction,
        frame: &VirtualFrame,
    ) {
        let port = facts.from(direction);
        let node = facts.node(port.node);
        self.nodes[port.node.index()].sent += 1;
        // A wrong checksum that came along is another node's, and is kept by a switch that updates it.
        let of = ends(frame.head()).map(|ends| (port.node, ends));
        let came_wrong = of.is_some_and(|of| self.wrong.contains(&of));
        // The mark is in the header, so a switch that sets it has to adjust the checksum.
        if node.is_switch && !came_wrong && !parsed::checksum_holds(frame.head()) {
            self.first.record_at(time, port.node.index(), || {
                format!("{} sent a frame with CE whose IPv4 checksum is wrong", port.name)
            });
        }
        if !node.is_switch && !node.sends_ce {
            self.first.record_at(time, port.node.index(), || {
                format!("{} sent a frame with CE, which none of its flows has", port.name)
            });
        }
    }

    /// A frame comes to a node, on its line or by a forgery.
    #[inline]
    pub(super) fn arrived(&mut self, facts: &Facts, direction: Direction, frame: &VirtualFrame) {
        if parsed::is_ce(frame.head()) {
            self.arrived_marked(facts, direction, frame);
        }
    }

    #[cold]
    fn arrived_marked(&mut self, facts: &Facts, direction: Direction, frame: &VirtualFrame) {
        let node = facts.to(direction).node;
        let has_probe = || host::probe_of(frame.head()).is_some();
        self.nodes[node.index()].arrived += u64::from(facts.node(node).is_switch || has_probe());
        if !parsed::checksum_holds(frame.head()) {
            self.wrong.extend(ends(frame.head()).map(|ends| (node, ends)));
        }
    }

    /// A frame of this priority has come into a switch by a port.
    #[inline]
    pub(super) fn classified(&mut self, port: Direction, priority: u8, frame: &VirtualFrame) {
        if usize::from(priority) < PRIORITIES {
            let latest = &mut self.latest[port.index()];
            *latest =
                *latest & !(1 << priority) | u8::from(parsed::is_ce(frame.head())) << priority;
        }
    }

    /// A switch has marked a frame.
    pub(super) fn marked(&mut self, node: NodeId) {
        self.nodes[node.index()].marked += 1;
    }

    /// A switch dropped a frame, which is the last one of a priority that came in by a port, if that is known.
    pub(super) fn dropped(&mut self, node: NodeId, latest: Option<(Direction, u8)>) {
        let through = &mut self.nodes[node.index()];
        match latest {
            Some((port, priority)) => {
                through.dropped += u64::from(self.latest[port.index()] >> priority & 1);
            }
            None => through.unknown += 1,
        }
    }

    /// Adds what another part has counted of its nodes.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        take(&mut self.nodes, other.nodes, |n| theirs.has_node(n));
        take(&mut self.latest, other.latest, |n| theirs.has_port(Direction(n as u32)));
        self.wrong.extend(other.wrong);
        self.first.unite(other.first);
    }

    pub(super) fn finish(
        mut self,
        facts: &Facts,
        frames: &Frames,
        now: Instant,
        nodes: &mut Nodes,
    ) -> Finding {
        for (n, through) in self.nodes.iter().enumerate() {
            let id = NodeId(n as u32);
            let what = match facts.node(id).is_switch {
                true => of_switch(facts, now, id, through, nodes),
                false => of_host(facts, id, through, nodes),
            };
            if let Some(what) = what {
                self.first.record(now, || what);
            }
        }
        let sum = |of: fn(&Through) -> u64| -> u64 { self.nodes.iter().map(of).sum() };
        let (marked, sent) = (sum(|node| node.marked), sum(|node| node.sent));
        self.first.finding(Check::Marks, Extent::sent(frames.total()), || match marked + sent {
            0 => String::new(),
            _ => format!("{marked} frames marked by switches, {sent} sent with CE"),
        })
    }
}

/// Source and destination of a frame.
fn ends(head: &[u8]) -> Option<Ends> {
    head.first_chunk().copied()
}

/// Describes a difference between the frames with CE that came into a switch or were marked there, and those
/// that left.
fn of_switch(
    facts: &Facts,
    now: Instant,
    id: NodeId,
    through: &Through,
    nodes: &mut Nodes,
) -> Option<String> {
    let Through { arrived, sent, marked, dropped, unknown } = *through;
    let waiting = super::conservation::waiting(facts, id, nodes);
    let local = nodes.local(id, now);
    let Node::Switch(switch) = nodes.get_mut(id) else { return None };
    let snapshot = switch.snapshot(local);
    let copied: u64 = snapshot.ports.iter().map(|port| port.counters.copied).sum();
    let taken: u64 = snapshot.ports.iter().map(|port| port.counters.consumed).sum();
    // Only a router takes in frames that may have CE.
    let taken = if facts.node(id).bridges { 0 } else { taken };
    let (name, came) = (&facts.node(id).name, arrived + marked);
    // More than there can be, even if each copy has the mark.
    if sent > came + copied {
        return Some(format!(
            "{name} sent {sent} frames with CE: {arrived} came with it, and it marked {marked}"
        ));
    }
    // Any frame that is held or was dropped unseen may have had the mark.
    let most = sent + dropped + unknown + snapshot.held + waiting + taken;
    (came > most).then(|| {
        format!(
            "{name}: {arrived} frames came with CE and {marked} were marked, and {sent} left with it; at \
             most {} are held or were dropped",
            most - sent
        )
    })
}

/// Describes a difference between the frames of flows that came to a host with CE and those that it counted.
fn of_host(facts: &Facts, id: NodeId, through: &Through, nodes: &mut Nodes) -> Option<String> {
    let waiting = super::conservation::waiting(facts, id, nodes);
    let Node::Host(host) = nodes.get_mut(id) else { return None };
    let counters = host.counters();
    let (mut counted, mut other) =
        (0, counters.foreign + counters.unexpected + counters.other_runs);
    for sink in host.sinks() {
        // Frames that a sink counts as others may have had the mark, too.
        counted += sink.ce_marked;
        other += sink.duplicates + sink.old;
    }
    let (name, arrived) = (&facts.node(id).name, through.arrived);
    (arrived > counted + other + waiting).then(|| {
        format!("{arrived} frames of flows came to {name} with CE, and it counted {counted}")
    })
}

/// The queues that have marked, and the groups that are about to pause.
#[derive(Clone, Debug)]
pub(super) struct EcnFirst {
    /// By port: its classes that have marked a frame, bit n for class n.
    marked: Vec<u8>,
    /// By port: the groups that went over their limits since it last sent a pause.
    crossed: Vec<u8>,
    first: First,
    /// Pauses of groups that have frames in queues that mark.
    judged: u64,
}

impl EcnFirst {
    pub(super) fn new(facts: &Facts) -> Self {
        let none = vec![0; facts.ports.len()];
        Self { marked: none.clone(), crossed: none, first: First::default(), judged: 0 }
    }

    pub(super) fn marked(&mut self, port: Direction, class: u8) {
        self.marked[port.index()] |= 1 << class;
    }

    /// A group of a port went over its limit, or below it.
    pub(super) fn crossed(&mut self, port: Direction, group: u8, xoff: bool) {
        let crossed = &mut self.crossed[port.index()];
        *crossed = *crossed & !(1 << group) | u8::from(xoff) << group;
    }

    /// A port pauses these priorities of its peer.
    pub(super) fn paused(
        &mut self,
        facts: &Facts,
        passages: &Passages,
        time: Instant,
        port: Direction,
        paused: PrioritySet,
    ) {
        let port_facts = facts.from(port);
        // Only the first pause after the limit counts; a refresh finds nothing here.
        let crossed = core::mem::take(&mut self.crossed[port.index()]);
        for group in (0..PRIORITIES as u8).filter(|group| crossed >> group & 1 == 1) {
            if port_facts.of_group(group).0 & paused.0 == 0 {
                continue;
            }
            let marking = queues(facts, passages, port, group);
            // Only queues that mark at all owe a mark.
            let marking: Vec<_> =
                marking.filter(|(port, class)| facts.from(*port).marks >> class & 1 == 1).collect();
            self.judged += u64::from(!marking.is_empty());
            let has_marked =
                |(port, class): &(Direction, u8)| self.marked[port.index()] >> class & 1 == 1;
            if let Some((queue, class)) =
                marking.first().filter(|_| !marking.iter().any(has_marked))
            {
                self.first.record_at(time, port_facts.node.index(), || {
                    let (name, queue) = (&port_facts.name, &facts.from(*queue).name);
                    format!(
                        "{name} paused its sender for group {group}, and class {class} of {queue}, where its \
                         frames wait, had not sent any marked frame"
                    )
                });
            }
        }
    }

    /// Adds what another part has seen of its switches.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        let has = |n: usize| theirs.has_port(Direction(n as u32));
        take(&mut self.marked, other.marked, has);
        take(&mut self.crossed, other.crossed, has);
        self.judged += other.judged;
        self.first.unite(other.first);
    }

    pub(super) fn finish(self, facts: &Facts) -> Finding {
        let Self { marked, first, judged, .. } = self;
        let count = |sets: &mut dyn Iterator<Item = u8>| -> u32 { sets.map(u8::count_ones).sum() };
        let marking = count(&mut facts.ports.iter().map(|port| port.marks));
        let marked = count(&mut marked.into_iter());
        if marking == 0 {
            return Finding::not_judged(Check::EcnBeforePfc, "no switch marks".into());
        }
        let extent = Extent {
            count: judged + u64::from(marked),
            without: "no marking queue marked a frame, and no group with frames in one paused",
        };
        first.finding(Check::EcnBeforePfc, extent, || {
            format!(
                "{marked} of {marking} marking queues marked frames, before each of {judged} \
                first pauses"
            )
        })
    }
}

/// Returns the queues of a switch in which a group of a port has frames; all that its frames may be in, if
/// they cannot be followed.
fn queues<'a>(
    facts: &'a Facts,
    passages: &'a Passages,
    port: Direction,
    group: u8,
) -> impl Iterator<Item = (Direction, u8)> + 'a {
    let node: NodeId = facts.from(port).node;
    let is_here = move |p: u8| facts.from(port).group[usize::from(p)] == group;
    let held = passages
        .held()
        .filter(move |port_facts| port_facts.ingress == port && is_here(port_facts.priority));
    let exact = passages.is_exact(node);
    let all = facts.node(node).out.iter().flat_map(move |port| {
        let port_facts = facts.from(*port);
        let places = (0..PRIORITIES as u8).filter(move |p| is_here(*p));
        let places = places.fold(0, |set, p| set | port_facts.places_of(usize::from(p)));
        (0..PRIORITIES as u8)
            .filter(move |class| places >> class & 1 == 1)
            .map(move |class| (*port, class))
    });
    held.flat_map(|passage| passage.queues())
        // Frames that are followed tell their queues; else all queues of the group's priorities count.
        .filter(move |_| exact)
        .chain(all.filter(move |_| !exact))
}
