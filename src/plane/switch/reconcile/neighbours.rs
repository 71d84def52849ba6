//! Knowledge of the other ends of a switch's links.

use crate::{Attached, SwitchPlan};
use congestion::isolation::Peer;
use discovery::{
    CongestionIsolation, Device, Recognition, SourceFlowControl, Surroundings, Topology,
    TopologyPlan,
};
use ground::units::PortId;
use wire::sfcm::{Level, Locator};

/// Information received at one port, and the settings derived from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortInfo {
    pub(super) heard: Surroundings,
    /// Configured neighbour.
    pub(super) attached: Attached,
    /// Advertised position of the port, if it is discovered.
    pub(super) topology: Option<Topology>,
    pub(super) locator: Locator,
    pub(super) peer: Option<Peer>,
    pub(super) obeys: bool,
    /// UDP port on which a host obeys messages, if it differs from the switch's.
    pub(super) elsewhere: Option<u16>,
    /// Advertised congestion isolation and source flow control TLVs.
    pub(super) advertised: Advertised,
}

pub(super) type Advertised = (Option<CongestionIsolation>, Option<SourceFlowControl>);

/// Neighbour information of all ports.
#[derive(Clone, Debug)]
pub(super) struct NeighbourInfo {
    pub(super) recognition: Recognition,
    /// Level of the switch in its messages.
    pub(super) level: Option<Level>,
    pub(super) ports: Vec<PortInfo>,
}

impl NeighbourInfo {
    pub(super) fn new(plan: &SwitchPlan) -> Self {
        let ids = || (0..plan.ports.len()).filter_map(|n| PortId::new(n as u16));
        let kind = |port| match plan.agents_advertised(port)?.dcbx?.topology? {
            TopologyPlan::Recognized(device) => Some(device),
            TopologyPlan::Fixed(_) => None,
        };
        let device = ids().find_map(kind).unwrap_or(Device::Bridge);
        let recognition = Recognition::new(device, plan.ports.len());
        let info = |port: PortId| PortInfo {
            heard: Surroundings::default(),
            attached: plan.congestion.attached(port),
            topology: kind(port).map(|_| recognition.advertised(port.index())),
            locator: plan.congestion.locator(port),
            peer: None,
            obeys: false,
            elsewhere: None,
            advertised: advertised(plan, port),
        };
        Self { ports: ids().map(info).collect(), level: None, recognition }
    }
}

/// Returns the TLVs that a port advertises by the plan.
pub(super) fn advertised(plan: &SwitchPlan, port: PortId) -> Advertised {
    let dcbx = plan.agents_advertised(port).and_then(|agents| agents.dcbx);
    dcbx.map_or((None, None), |dcbx| (dcbx.isolation, dcbx.sfc))
}
