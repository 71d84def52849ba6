//! ECN before PFC: a queue that marks has sent a marked frame before a group whose frames it holds
//! pauses its sender for the first time after it went over its limit.
//!
//! A group may hold frames of several queues. It is enough that one of those that mark has done so: that
//! is the one whose length counts.

use super::facts::Facts;
use super::finding::{Check, Extent, Finding, First};
use super::passages::Passages;
use super::unite::take;
use crate::{Direction, NodeId};
use ground::time::Instant;
use ground::units::{PRIORITIES, PrioritySet};

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
        (facts, passages): (&Facts, &Passages),
        at: Instant,
        port: Direction,
        paused: PrioritySet,
    ) {
        let of = facts.from(port);
        let crossed = core::mem::take(&mut self.crossed[port.index()]);
        for group in (0..PRIORITIES as u8).filter(|group| crossed >> group & 1 == 1) {
            if of.of_group(group).0 & paused.0 == 0 {
                continue;
            }
            let marking = queues(facts, passages, port, group);
            let marking: Vec<_> =
                marking.filter(|(port, class)| facts.from(*port).marks >> class & 1 == 1).collect();
            self.judged += u64::from(!marking.is_empty());
            let has_marked =
                |(port, class): &(Direction, u8)| self.marked[port.index()] >> class & 1 == 1;
            if let Some((queue, class)) =
                marking.first().filter(|_| !marking.iter().any(has_marked))
            {
                self.first.see_at(at, of.node.index(), || {
                    let (name, queue) = (&of.name, &facts.from(*queue).name);
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
    let held = passages.held().filter(move |of| of.ingress == port && is_here(of.priority));
    let exact = passages.is_exact(node);
    let all = facts.node(node).out.iter().flat_map(move |port| {
        let of = facts.from(*port);
        let places = (0..PRIORITIES as u8).filter(move |p| is_here(*p));
        let places = places.fold(0, |set, p| set | of.places_of(usize::from(p)));
        (0..PRIORITIES as u8)
            .filter(move |class| places >> class & 1 == 1)
            .map(move |class| (*port, class))
    });
    held.flat_map(|passage| passage.queues())
        .filter(move |_| exact)
        .chain(all.filter(move |_| !exact))
}
