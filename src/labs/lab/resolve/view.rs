//! Results of the resolution beside the plan, for reports.

use super::profiles::Switches;
use crate::LabPlan;
use config::HeadroomCheck;
use sim::{LinkPlan, NodeId};

/// A resolved lab and its headroom.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub plan: LabPlan,
    /// Required and configured headroom of each lossless group of each switch.
    pub headroom: Vec<(NodeId, HeadroomCheck)>,
}

/// A link with the headroom at its ends.
#[derive(Clone, Debug)]
pub struct LinkView<'a> {
    pub link: &'a LinkPlan,
    /// Headroom of the lossless groups at either end, that of end `a` first.
    pub headroom: Vec<&'a (NodeId, HeadroomCheck)>,
}

impl Resolved {
    /// Returns the links, with the headroom at their ends.
    pub fn links(&self) -> impl Iterator<Item = LinkView<'_>> {
        self.plan.network.links.iter().map(|link| {
            let at = |end: sim::End| {
                // The list is in the order of nodes.
                let first = self.headroom.partition_point(|(node, _)| *node < end.node);
                let of_node =
                    self.headroom[first..].iter().take_while(move |(node, _)| *node == end.node);
                of_node.filter(move |(_, h)| h.port == end.port)
            };
            LinkView { link, headroom: at(link.a).chain(at(link.b)).collect() }
        })
    }
}

/// Returns the headroom of all switches, in the order of nodes.
pub(super) fn headroom(switches: &Switches) -> Vec<(NodeId, HeadroomCheck)> {
    let shapes = switches.shape_of.iter().enumerate();
    shapes
        .filter_map(|(node, shape)| Some((NodeId(node as u32), &switches.headroom[(*shape)?])))
        .flat_map(|(node, checks)| checks.iter().map(move |check| (node, check.clone())))
        .collect()
}
