//! ECN before PFC: a switch that marks sends a marked frame before it first pauses anyone.

use super::facts::Facts;
use super::finding::{Check, Extent, Finding, First};
use super::unite::take;
use crate::NodeId;
use ground::time::Instant;

/// The first mark and the first pause of each switch that marks.
#[derive(Clone, Debug)]
pub(super) struct EcnFirst {
    switches: Vec<Firsts>,
    first: First,
}

#[derive(Clone, Copy, Debug, Default)]
struct Firsts {
    marks: bool,
    marked: Option<Instant>,
    paused: Option<Instant>,
}

impl EcnFirst {
    pub(super) fn new(facts: &Facts) -> Self {
        let mut switches = vec![Firsts::default(); facts.nodes.len()];
        for port in &facts.ports {
            switches[port.node.index()].marks |= port.marks;
        }
        Self { switches, first: First::default() }
    }

    pub(super) fn marked(&mut self, at: Instant, node: NodeId) {
        self.switches[node.index()].marked.get_or_insert(at);
    }

    pub(super) fn paused(&mut self, facts: &Facts, at: Instant, node: NodeId) {
        let Firsts { marks, marked, paused } = &mut self.switches[node.index()];
        if *marks && marked.is_none() && paused.is_none() {
            self.first.see_at(at, node.index(), || {
                format!(
                    "{} paused a sender and had not sent any marked frame",
                    facts.node(node).name
                )
            });
        }
        paused.get_or_insert(at);
    }

    /// Adds what another part has seen of its switches.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        take(&mut self.switches, other.switches, |n| theirs.has_node(n));
        self.first.unite(other.first);
    }

    pub(super) fn finish(self) -> Finding {
        let Self { switches, first } = self;
        let marking = switches.iter().filter(|s| s.marks).count();
        let marked = switches.iter().filter(|s| s.marked.is_some()).count();
        if marking == 0 {
            return Finding::not_judged(Check::EcnBeforePfc, "no switch marks".into());
        }
        let acted =
            switches.iter().filter(|s| s.marks && (s.marked.or(s.paused)).is_some()).count();
        let extent = Extent {
            count: acted as u64,
            without: "no switch that marks marked or paused anything",
        };
        first.finding(Check::EcnBeforePfc, extent, || {
            format!("{marked} of {marking} switches that mark did, none after its first pause")
        })
    }
}
