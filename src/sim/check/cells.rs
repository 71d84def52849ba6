//! Conservation of cells: every group holds exactly the cells of the frames that came in there and
//! have not left, and nothing once they have.

use super::facts::Facts;
use super::finding::{Check, Finding, First};
use super::passages::Passages;
use crate::sim::{Node, NodeId, Nodes};
use crate::time::Instant;
use crate::units::{PortId, PriorityGroup};

/// Compares the ledgers with the passages, whenever the nodes may be looked at.
#[derive(Debug, Default)]
pub(super) struct Cells {
    first: First,
    compared: u64,
}

impl Cells {
    pub(super) fn look(
        &mut self,
        facts: &Facts,
        passages: &Passages,
        at: Instant,
        nodes: &mut Nodes,
    ) {
        for (n, node) in facts.nodes.iter().enumerate() {
            let id = NodeId(n as u32);
            let Node::Switch(switch) = nodes.get_mut(id) else { continue };
            let ledger = switch.ledger();
            ledger.check();
            let is_empty = switch.held() == 0;
            // Its own messages are in the cells of a group, and came in nowhere.
            let speaks = !node.speaks_as.is_empty();
            let exact = passages.is_exact(id) && node.is_prompt() && !speaks;
            if !is_empty && !exact {
                continue;
            }
            for (port, out) in node.out.iter().enumerate() {
                let port = PortId::new(port as u16).expect("a switch has no more ports than ids");
                for group in PriorityGroup::ALL {
                    let usage = ledger.usage(port, group);
                    let found = u64::from(usage.used.0) + u64::from(usage.headroom.0);
                    let due = if exact { passages.cells(*out, group.index()) } else { 0 };
                    self.compared += 1;
                    if found != due {
                        self.first.see(at, || {
                            let name = &facts.from(*out).name;
                            format!("{name} group {group} holds {found} cells; the frames inside that came in there have {due}")
                        });
                    }
                }
            }
        }
    }

    pub(super) fn finish(self) -> Finding {
        let Self { first, compared } = self;
        first.finding(Check::Cells, || {
            format!("{compared} times what a group held was what its frames have")
        })
    }
}
