//! Congestion TLVs that a station advertises to its neighbour.

use super::StationPlan;
use super::reactions::{SfcPause, SfcReaction};
use discovery::{DcbxPlan, SourceFlowControl, TopologyPlan};
use link::AgentsPlan;

impl StationPlan {
    /// Returns the link-protocol plan, with the TLVs for source flow control and for the position
    /// at the edge of the network added unless the plan sets them.
    #[must_use]
    pub fn agents_advertised(&self) -> Option<AgentsPlan> {
        let mut agents = self.agents.clone()?;
        let role = agents.lldp.as_ref().map(|lldp| lldp.role);
        if let (Some(role), Some(sfc)) = (role, &self.reactions.sfc) {
            let dcbx = agents.dcbx.get_or_insert_with(|| DcbxPlan::new(agents.mac));
            dcbx.topology = dcbx.topology.or(Some(TopologyPlan::Recognized(role.device())));
            dcbx.sfc = dcbx.sfc.or(Some(advertised(sfc)));
        }
        Some(agents)
    }
}

const fn advertised(sfc: &SfcReaction) -> SourceFlowControl {
    SourceFlowControl {
        point: false,
        proxy: false,
        by_flow: matches!(sfc.pause, SfcPause::Flow),
        by_priority: matches!(sfc.pause, SfcPause::Priority),
        udp_port: sfc.udp_port,
    }
}
