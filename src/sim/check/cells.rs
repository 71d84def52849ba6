//! Conservation of cells: every group holds exactly the cells of the frames that came in there and
//! have not left, and nothing once they have.

use super::facts::Facts;
use super::finding::{Check, Extent, Finding, First};
use super::lateness::Lateness;
use super::passages::Passages;
use super::unite::take;
use crate::{Node, NodeId, Nodes};
use ground::time::Instant;
use ground::units::{PortId, PriorityGroup};

/// Compares the ledgers with the passages, whenever the nodes may be sampled.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    first: First,
    compared: u64,
    nodes: Vec<Seen>,
}

/// Observations of a node.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
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
        (passages, lateness): (&Passages, &Lateness),
        at: Instant,
        nodes: &mut Nodes,
    ) {
        self.nodes.resize(facts.nodes.len(), Seen::default());
        for (n, node) in facts.nodes.iter().enumerate() {
            if !facts.has_node(n) {
                continue;
            }
            let seen = &mut self.nodes[n];
            seen.compared |= !node.is_switch;
            let id = NodeId(n as u32);
            let Node::Switch(switch) = nodes.get_mut(id) else { continue };
            let ledger = switch.ledger();
            ledger.check();
            let is_empty = switch.held() == 0;
            // Messages of the switch itself are in its groups and never arrived on a line.
            let silent = node.speaks_as.is_empty();
            let exact = passages.is_exact(id) && !lateness.is_late(at, id) && silent;
            if !is_empty && !exact {
                // A switch configured so can never be followed, and has to be empty.
                seen.lost |= node.bridges && silent;
                continue;
            }
            seen.compared = true;
            seen.followed |= !is_empty;
            for (port, out) in node.out.iter().enumerate() {
                let port = PortId::new(port as u16).expect("a switch has no more ports than ids");
                for group in PriorityGroup::ALL {
                    let usage = ledger.usage(port, group);
                    let found = u64::from(usage.used.0) + u64::from(usage.headroom.0);
                    let due = if exact { passages.cells(*out, group.index()) } else { 0 };
                    self.compared += 1;
                    if found != due {
                        self.first.see_at(at, n, || {
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
        self.nodes.resize(theirs.nodes.len(), Seen::default());
        take(&mut self.nodes, other.nodes, |n| theirs.has_node(n));
        self.compared += other.compared;
        self.first.unite(other.first);
    }

    /// The finding over a network in which `sent` frames were sent.
    pub(super) fn finish(self, facts: &Facts, sent: u64) -> Finding {
        let Self { first, compared, nodes } = self;
        let unseen = |seen: &Seen| !seen.compared || seen.lost && !seen.followed;
        let unseen = nodes.iter().position(unseen).filter(|_| first.is_none());
        if let Some(node) = unseen {
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
