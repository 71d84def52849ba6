//! Results of the resolution beside the plan, for reports.

use std::sync::Arc;

use super::profiles::Switches;
use crate::LabPlan;
use ground::units::{Cells, PortId, PriorityGroup};
use headroom::{DelayInputs, Required};
use sim::{LinkPlan, NodeId};

/// A resolved lab and its headroom.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub plan: LabPlan,
    /// Required and configured headroom of each lossless group of each switch.
    pub headroom: Vec<PortHeadroom>,
}

/// Headroom of one lossless group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortHeadroom {
    pub node: NodeId,
    pub port: PortId,
    pub group: PriorityGroup,
    /// Headroom that the round trip of the port's link requires.
    pub required: Arc<Required>,
    /// Link parameters that it is calculated from.
    pub link: DelayInputs,
    /// Configured headroom, in cells.
    pub given: Cells,
}

/// A link with the headroom at its ends.
#[derive(Clone, Debug)]
pub struct LinkView<'a> {
    pub link: &'a LinkPlan,
    /// Headroom of the lossless groups at either end, that of end `a` first.
    pub headroom: Vec<&'a PortHeadroom>,
}

impl Resolved {
    /// Returns the links, with the headroom at their ends.
    pub fn links(&self) -> impl Iterator<Item = LinkView<'_>> {
        self.plan.network.links.iter().map(|link| {
            let at = |end: sim::End| {
                // The list is in the order of nodes.
                let first = self.headroom.partition_point(|h| h.node < end.node);
                let of_node = self.headroom[first..].iter().take_while(move |h| h.node == end.node);
                of_node.filter(move |h| h.port == end.port)
            };
            LinkView { link, headroom: at(link.a).chain(at(link.b)).collect() }
        })
    }
}

/// Returns the headroom of all switches, in the order of nodes.
pub(super) fn headroom(switches: &Switches) -> Vec<PortHeadroom> {
    let shapes = switches.shape_of.iter().enumerate();
    shapes
        .filter_map(|(node, shape)| Some((NodeId(node as u32), &switches.headroom[(*shape)?])))
        .flat_map(|(node, checks)| {
            checks.iter().map(move |h| PortHeadroom {
                node,
                port: h.port,
                group: h.group,
                required: Arc::clone(&h.required),
                link: h.link,
                given: h.given,
            })
        })
        .collect()
}
