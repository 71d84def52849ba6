//! Surroundings of faults in a lab.

use super::graph::Graph;
use super::profiles::{Profiles, Switches};
use pfc::FlowControl;
use sim::{NodeKind, NodePlan};

/// Context of all faults.
pub(super) struct Context<'r, 'g> {
    pub graph: &'r Graph<'g>,
    pub switches: &'r Switches,
    pub profiles: &'r Profiles<'g>,
    pub nodes: &'r [NodePlan],
}

impl Context<'_, '_> {
    /// Returns true if a port of a node has 802.3x PAUSE.
    pub(super) fn is_link_wide(&self, node: usize, port: usize) -> bool {
        let switch = self.switches.plans[node].as_ref();
        let mode = match (switch, &self.nodes[node].kind) {
            (Some(switch), _) => switch.ports[port].pfc.mode,
            (None, NodeKind::Host(host)) => host.flow_control,
            (None, NodeKind::Switch(_)) => return false,
        };
        matches!(mode, FlowControl::Pause { .. })
    }
}
