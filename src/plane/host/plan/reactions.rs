//! Reactions of a station to congestion messages of switches, and the congestion TLVs that it advertises
//! to its neighbour.

use super::{PlanError, StationPlan};
use congestion::SourceMap;
use congestion::proxy::{PausePolicy, Senders};
use congestion::qcn::ReactionPlan;
use congestion::sfc::SfcPlan;
use discovery::{DcbxPlan, SourceFlowControl, TopologyPlan};
use ground::named;
use ground::time::Duration;
use link::AgentsPlan;
use wire::sfcm;

/// Messages that a station obeys. By default it only counts them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReactionsPlan {
    /// Source flow control messages.
    pub sfc: Option<SfcReaction>,
    /// Congestion notification messages of QCN: a reaction point for each acknowledged flow and
    /// each paced flow. Frames carry no CN-TAG: messages quote enough of a frame to identify the
    /// flow.
    pub qcn: Option<ReactionPlan>,
}

impl ReactionsPlan {
    /// Validates that all parameters are in range.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        if let Some(sfc) = &self.sfc {
            if sfc.udp_port < sfcm::PORT_MIN {
                return Err(PlanError::SfcPort(sfc.udp_port));
            }
            // Either would make every message redundant.
            if sfc.longest == Duration::ZERO || sfc.max_flow_life == Duration::ZERO {
                return Err(PlanError::SfcPause);
            }
        }
        match &self.qcn {
            Some(qcn) if !qcn.is_sound() => Err(PlanError::Qcn),
            _ => Ok(()),
        }
    }
}

/// Reaction to source flow control messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SfcReaction {
    /// sfcmUDPPort of received messages. 49152 to 65535.
    pub udp_port: u16,
    /// Scope of a pause.
    pub pause: SfcPause,
    /// Reaction to congestion in the network.
    pub in_network: InNetwork,
    /// Maximum pause per message. Not zero.
    pub longest: Duration,
    /// sfcMaxFlowLife: lifetime of the entry of a flow, or of a priority, from the first message
    /// about it on. No pause outlasts it; the next message creates another entry. Not zero.
    pub max_flow_life: Duration,
    /// Accepted senders.
    pub senders: Senders,
    /// Maps of the host's port, by which a message names a priority. `None` takes the priority of
    /// the message.
    pub map: Option<SourceMap>,
}

impl Default for SfcReaction {
    /// A message of any sender pauses its flow, for at most 1 ms.
    fn default() -> Self {
        Self {
            udp_port: sfcm::PORT_DEFAULT,
            pause: SfcPause::Flow,
            in_network: InNetwork::Pause,
            longest: PausePolicy::standard().longest,
            max_flow_life: SfcPlan::new().max_flow_life,
            senders: Senders::Anybody,
            map: None,
        }
    }
}

named! {
    /// Scope of a pause at its host. The source document names both.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum SfcPause {
        /// The flow of the message.
        #[default]
        Flow = "flow",
        /// All flows of its priority.
        Priority = "priority",
    }
}

/// Default of [`InNetwork::Path`]'s spacing: some round trips of a data centre's network.
pub const PATH_SPACING: Duration = Duration::from_micros(100);

/// Reaction to a message whose locator says in-network. Congestion at the edge is at the destination,
/// which every path leads to, so only a pause helps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InNetwork {
    /// A pause, as for any other message.
    Pause,
    /// A pause, and another UDP source port of RoCEv2 flows, and so another path where switches spread
    /// flows by it (ECMP).
    Path {
        /// Minimum time between two changes of path of a flow: until a message about the new path can
        /// be back, it is not known to be better or worse.
        spacing: Duration,
    },
}

impl StationPlan {
    /// Returns the link-protocol plan, with the TLVs for source flow control and for the position
    /// at the edge of the network added unless the plan sets them.
    pub fn agents_advertised(&self) -> Option<AgentsPlan> {
        let mut agents = self.agents.clone()?;
        let role = agents.lldp.as_ref().map(|lldp| lldp.role);
        // A station that obeys messages tells its switch, which then needs no proxy for it.
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
