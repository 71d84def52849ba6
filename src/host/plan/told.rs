//! What a station tells its neighbour because of what it does about congestion.

use super::StationPlan;
use super::reactions::{SfcPause, SfcReaction};
use crate::agents::AgentsPlan;
use crate::discovery::{DcbxPlan, SourceFlowControl, TopologyPlan};

impl StationPlan {
    /// Its agents, which tell whether it obeys source flow control messages as well, and that it is at
    /// the edge of the network, unless their own plan says otherwise.
    #[must_use]
    pub fn agents_told(&self) -> Option<AgentsPlan> {
        let mut agents = self.agents.clone()?;
        let role = agents.lldp.as_ref().map(|lldp| lldp.role);
        if let (Some(role), Some(sfc)) = (role, &self.reactions.sfc) {
            let dcbx = agents.dcbx.get_or_insert_with(|| DcbxPlan::new(agents.mac));
            dcbx.topology = dcbx.topology.or(Some(TopologyPlan::Recognized(role.device())));
            dcbx.sfc = dcbx.sfc.or(Some(told(sfc)));
        }
        Some(agents)
    }
}

const fn told(sfc: &SfcReaction) -> SourceFlowControl {
    SourceFlowControl {
        point: false,
        proxy: false,
        by_flow: matches!(sfc.pause, SfcPause::Flow),
        by_priority: matches!(sfc.pause, SfcPause::Priority),
        udp_port: sfc.udp_port,
    }
}
