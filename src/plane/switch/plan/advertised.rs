//! Congestion TLVs that ports advertise to their neighbours.

use core::net::IpAddr;

use super::{CongestionPlan, PortPlan, SwitchPlan};
use congestion::isolation::QueueMap;
use discovery::{
    CongestionIsolation, DcbxPlan, FamilyWidth, Role, SourceFlowControl, TopologyPlan,
};
use ground::units::{PRIORITIES, PortId, TrafficClass};
use link::AgentsPlan;

impl SwitchPlan {
    /// Returns the link-protocol plan of a port, with the TLVs of the switch's congestion functions
    /// added unless the port's plan sets them. Ports without LLDP advertise nothing.
    #[must_use]
    pub fn agents_advertised(&self, port: PortId) -> Option<AgentsPlan> {
        let (plan, congestion) = (&self.ports[port.index()], &self.congestion);
        let mut agents = plan.agents.clone()?;
        let role = agents.lldp.as_ref().map(|lldp| lldp.role);
        if let (Some(role), true) = (role, congestion.concerns_neighbours()) {
            let dcbx = agents.dcbx.get_or_insert_with(|| DcbxPlan::new(agents.mac));
            congestion.tell(dcbx, port, plan, role);
        }
        Some(agents)
    }
}

impl CongestionPlan {
    /// Returns true if a function is configured that neighbours must know, even if it is disabled
    /// now.
    const fn concerns_neighbours(&self) -> bool {
        self.isolation.is_some() || self.sfc.is_some() || self.proxy.is_some()
    }

    fn tell(&self, dcbx: &mut DcbxPlan, port: PortId, plan: &PortPlan, role: Role) {
        dcbx.topology = dcbx.topology.or(Some(TopologyPlan::Recognized(role.device())));
        dcbx.isolation = dcbx.isolation.or_else(|| self.isolation_of(port, plan));
        dcbx.sfc = dcbx.sfc.or_else(|| self.source_flow());
    }

    /// Returns the advertised destination of congestion isolation messages. IPv4 takes precedence
    /// over IPv6, because the TLV holds one address.
    fn isolation_of(&self, port: PortId, plan: &PortPlan) -> Option<CongestionIsolation> {
        let isolation = self.isolation.as_ref().filter(|ci| ci.machine.enabled)?;
        let point = isolation.points.get(port.index()).copied().unwrap_or_default();
        let address = point.ipv4.map(IpAddr::V4).or(point.ipv6.map(IpAddr::V6));
        Some(CongestionIsolation {
            queue_map: queue_map(&isolation.machine.map),
            encapsulation: isolation.min_header_octets,
            mac: point.mac.unwrap_or(plan.mac),
            udp_port: point.cim_port,
            address: address.filter(|_| point.cim_port > 0),
            family: FamilyWidth::default(),
        })
    }

    fn source_flow(&self) -> Option<SourceFlowControl> {
        let point = self.sfc.as_ref().filter(|sfc| sfc.point.enabled);
        let udp_port = point.map(|sfc| sfc.point.udp_port);
        let udp_port = udp_port.or(self.proxy.as_ref().map(|proxy| proxy.udp_port))?;
        Some(SourceFlowControl {
            point: point.is_some(),
            proxy: self.proxy.is_some(),
            by_flow: false,
            by_priority: false,
            udp_port,
        })
    }
}

/// Encodes the map for the TLV: a monitored class names its congesting class, a congesting class
/// names the first of its monitored ones.
fn queue_map(map: &QueueMap) -> [i8; PRIORITIES] {
    let mut out = [0; PRIORITIES];
    for monitored in TrafficClass::ALL.into_iter().rev() {
        if let Some(congesting) = map.congesting(monitored) {
            out[monitored.index()] = congesting.get() as i8 + 1;
            out[congesting.index()] = -(monitored.get() as i8 + 1);
        }
    }
    out
}
