//! What is known of a lab beside its plan, for people.

use std::sync::Arc;

use super::switches::Switches;
use crate::headroom::{DelayInputs, Required};
use crate::lab::LabPlan;
use crate::sim::{LinkPlan, NodeId};
use crate::units::{Cells, PortId, PriorityGroup};

/// A lab and what was found out on the way to its plan.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The plan.
    pub plan: LabPlan,
    /// What each lossless group of each switch needs and has.
    pub headroom: Vec<PortHeadroom>,
}

/// The headroom of one lossless group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortHeadroom {
    /// The switch.
    pub node: NodeId,
    /// The port.
    pub port: PortId,
    /// The group.
    pub group: PriorityGroup,
    /// What the round trip of the port's link asks for.
    pub required: Arc<Required>,
    /// The link, which it is calculated from.
    pub link: DelayInputs,
    /// What the group has.
    pub given: Cells,
}

/// One link with the headroom at its ends.
#[derive(Clone, Debug)]
pub struct LinkView<'a> {
    /// The link.
    pub link: &'a LinkPlan,
    /// The headroom of the lossless groups at either end, that of end `a` first.
    pub headroom: Vec<&'a PortHeadroom>,
}

impl Resolved {
    /// The links, with the headroom at their ends.
    pub fn links(&self) -> impl Iterator<Item = LinkView<'_>> {
        self.plan.network.links.iter().map(|link| {
            let at = |end: crate::sim::End| {
                // They are in the order of nodes.
                let first = self.headroom.partition_point(|h| h.node < end.node);
                let of_node = self.headroom[first..].iter().take_while(move |h| h.node == end.node);
                of_node.filter(move |h| h.port == end.port)
            };
            LinkView { link, headroom: at(link.a).chain(at(link.b)).collect() }
        })
    }
}

/// The headroom of all switches, in the order of nodes.
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
