//! The validated plan of a whole switch and of its ports, which [`super::Switch`] may trust, with the
//! defaults of the standards.
//!
//! `config` makes one from a file; tests and the virtual world build it directly. The plan of the
//! congestion functions is in `congestion_plan`.

use core::net::IpAddr;

use crate::CongestionPlan;
use buffer::{BufferPlan, SharedLimit};
use congestion::isolation::QueueMap;
use congestion::{EcnPlan, SourceMap, Trusted};
use discovery::{
    CongestionIsolation, DcbxPlan, FamilyWidth, Role, SourceFlowControl, TopologyPlan,
};
use ground::named;
use ground::time::Duration;
use ground::units::{
    BitsPerSec, Bytes, Mac, PRIORITIES, PortId, Priority, PriorityGroup, Quanta, TrafficClass, Vid,
};
use link::AgentsPlan;
use pfc::{FlowControl, PfcPlan, WatchdogPlans};
use schedule::{ClassPlan, LinePlan, SchedulePlan};
use secure::SecyPlan;

/// One switch.
#[derive(Clone, Debug)]
pub struct SwitchPlan {
    /// Name in results.
    pub name: String,
    /// By [`PortId`].
    pub ports: Vec<PortPlan>,
    /// The shared buffer; `groups` has one entry per port.
    pub buffer: BufferPlan,
    pub bridge: BridgePlan,
    /// IP routing; empty when there is none.
    pub routing: RoutingPlan,
    /// Congestion functions.
    pub congestion: CongestionPlan,
    /// Maximum frame length, FCS and VLAN tags included. 64 to 16384.
    pub max_frame: u32,
    /// Seed of all random decisions (ECN marking) and of the hash tables of addresses and flows:
    /// secret where senders may be hostile.
    pub seed: u64,
}

impl SwitchPlan {
    /// Returns true if a port finds the headroom of its groups by itself (`headroom: auto`).
    pub fn finds_headroom(&self, port: PortId) -> bool {
        let agents = self.ports[port.index()].agents.as_ref();
        agents.is_some_and(|agents| agents.auto.is_some())
    }

    /// Creates the plan of a switch that bridges frames of up to 1,522 bytes between `ports` (802.3
    /// 3.2.7, with a C-tag) and does neither routing nor congestion functions. `buffer` has the
    /// groups of each port. Seed 1.
    pub fn new(name: impl Into<String>, ports: Vec<PortPlan>, buffer: BufferPlan) -> Self {
        Self {
            name: name.into(),
            ports,
            buffer,
            bridge: BridgePlan::default(),
            routing: RoutingPlan::default(),
            congestion: CongestionPlan::default(),
            // The longest frame with a C-tag (802.3 3.2.7).
            max_frame: 1522,
            seed: 1,
        }
    }
}

/// The learning bridge (802.1Q 8.7, 8.8).
#[derive(Clone, Debug)]
pub struct BridgePlan {
    /// Capacity of the address table; rounded up to a power of two.
    pub table_size: usize,
    /// Maximum learnt addresses per port, so that no host fills the table alone. 1 or more.
    pub port_limit: usize,
    /// Ageing time of a learnt address (802.1Q 8.8.3: 300 s).
    pub ageing: Duration,
    /// Flows per port whose forwarding decision is cached (a power of two, 1 to 65536), which saves
    /// their frames the full lookup. [`BridgePlan::SHORTCUTS`] unless memory is short.
    pub shortcuts: usize,
    /// Configured addresses, never learnt or aged.
    pub statics: Vec<StaticEntry>,
    /// Configured addresses that several ports lead to at equal cost. Each is in `statics` too, with
    /// the port by which the switch's own messages leave.
    pub spread: Vec<SpreadEntry>,
}

impl BridgePlan {
    /// Default number of cached flows: 256 KiB per port.
    pub const SHORTCUTS: usize = 4096;
    /// No limit per port other than the table's capacity.
    pub const NO_LIMIT: usize = usize::MAX;
}

impl Default for BridgePlan {
    /// A table of 4,096 addresses that age after 300 s (802.1Q 8.8.3).
    fn default() -> Self {
        Self {
            table_size: 4096,
            port_limit: Self::NO_LIMIT,
            ageing: Duration::from_secs(300),
            shortcuts: Self::SHORTCUTS,
            statics: vec![],
            spread: vec![],
        }
    }
}

/// A static filtering entry (802.1Q 8.8.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaticEntry {
    pub vid: Vid,
    pub mac: Mac,
    pub port: PortId,
}

/// An address that several ports lead to: each flow takes one of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpreadEntry {
    pub vid: Vid,
    pub mac: Mac,
    /// The ports, of which those that are up are used.
    pub ports: Vec<PortId>,
}

/// IP routing with static neighbours.
#[derive(Clone, Debug, Default)]
pub struct RoutingPlan {
    pub interfaces: Vec<InterfacePlan>,
    pub routes: Vec<RoutePlan>,
    pub neighbours: Vec<NeighbourPlan>,
}

/// One address of the router in one VLAN.
#[derive(Clone, Debug)]
pub struct InterfacePlan {
    pub vid: Vid,
    /// Destination of frames to be routed, and source of routed frames.
    pub mac: Mac,
    /// IP addresses that answer ARP and ICMP echo.
    pub addresses: Vec<IpAddr>,
}

#[derive(Clone, Copy, Debug)]
pub struct RoutePlan {
    /// Network address of the prefix.
    pub network: IpAddr,
    /// Prefix length, 0 to 32 or 128.
    pub prefix_len: u8,
    /// Next hop; `None` if the destination itself is the neighbour (connected).
    pub via: Option<IpAddr>,
    /// Egress interface: an index into [`RoutingPlan::interfaces`].
    pub interface: usize,
}

/// A neighbour on one interface.
#[derive(Clone, Copy, Debug)]
pub struct NeighbourPlan {
    pub ip: IpAddr,
    pub mac: Mac,
    /// An index into [`RoutingPlan::interfaces`].
    pub interface: usize,
    pub port: PortId,
}

impl SwitchPlan {
    /// Returns the link-protocol plan of a port, with the TLVs of the switch's congestion functions
    /// added unless the port's plan sets them. Ports without LLDP advertise nothing.
    pub fn agents_advertised(&self, port: PortId) -> Option<AgentsPlan> {
        let (plan, congestion) = (&self.ports[port.index()], &self.congestion);
        let mut agents = plan.agents.clone()?;
        let role = agents.lldp.as_ref().map(|lldp| lldp.role);
        // LLDP carries DCBX: without it there is no neighbour to advertise to.
        if let (Some(role), true) = (role, congestion.concerns_neighbours()) {
            let dcbx = agents.dcbx.get_or_insert_with(|| DcbxPlan::new(agents.mac));
            congestion.advertise(dcbx, port, plan, role);
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

    fn advertise(&self, dcbx: &mut DcbxPlan, port: PortId, plan: &PortPlan, role: Role) {
        // What the port's own plan says takes precedence.
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
            // Port 0 accepts no CIMs in IP: an address would invite messages that are then dropped.
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
    // Downwards, so that the lowest of several monitored classes is written last and stays.
    for monitored in TrafficClass::ALL.into_iter().rev() {
        if let Some(congesting) = map.congesting(monitored) {
            // Classes count from 1, because 0 stands for none; the sign tells the two kinds apart.
            out[monitored.index()] = congesting.get() as i8 + 1;
            out[congesting.index()] = -(monitored.get() as i8 + 1);
        }
    }
    out
}

/// One port.
#[derive(Clone, Debug)]
pub struct PortPlan {
    /// Name in results.
    pub name: String,
    /// Source address of frames that the port itself sends, and its router address.
    pub mac: Mac,
    /// Link rate: egress is shaped to it and quanta are converted by it.
    pub rate: BitsPerSec,
    /// True if egress is shaped to `rate`. Off for a NIC, which has its own clock.
    pub shaped: bool,
    /// Frame to priority, priority to group and class.
    pub classify: ClassifyPlan,
    /// PFC or PAUSE.
    pub pfc: PfcPlan,
    /// The storm watchdog, by traffic class.
    pub watchdog: WatchdogPlans,
    /// The egress scheduler.
    pub schedule: SchedulePlan,
    /// ECN, by traffic class.
    pub ecn: [Option<EcnPlan>; PRIORITIES],
    /// Limit of each egress queue on the shared pool.
    pub queue_limits: [SharedLimit; PRIORITIES],
    /// VLAN membership.
    pub vlan: VlanPlan,
    /// Link protocols of the port: measurement, discovery, headroom.
    pub agents: Option<AgentsPlan>,
    /// MACsec protection of sent frames, and requirements on received ones.
    pub secy: Option<Box<SecyPlan>>,
}

impl PortPlan {
    /// Creates the plan of a port at `rate` that is an untagged member of VLAN 1, without flow
    /// control, watchdog, ECN, link protocols and MACsec. The PCP is the priority, else the upper
    /// three bits of the DSCP (RFC 2474 4.2.2), else 0; each priority has its group and its class,
    /// of equal weights.
    pub fn new(name: impl Into<String>, mac: Mac, rate: BitsPerSec) -> Self {
        let vid = Vid::MIN;
        Self {
            name: name.into(),
            mac,
            rate,
            shaped: false,
            classify: ClassifyPlan {
                trust: Trust::PcpThenDscp,
                pcp: Priority::ALL,
                dscp: core::array::from_fn(|d| Priority::ALL[d / 8]),
                default: Priority::MIN,
                group: PriorityGroup::ALL,
                class: TrafficClass::ALL,
            },
            pfc: PfcPlan {
                mode: FlowControl::Off,
                quanta: Quanta::MAX,
                // Half of the pause time: a refresh may come late, or be lost, before the pause ends.
                refresh: Quanta::MAX.at(rate).div(2),
            },
            watchdog: [None; 8],
            schedule: SchedulePlan {
                classes: [ClassPlan::Dwrr { weight: 10 }; 8],
                shaper_burst: Bytes(0),
                line: LinePlan::ETHERNET,
            },
            ecn: [None; 8],
            queue_limits: [SharedLimit::Unlimited; 8],
            vlan: VlanPlan { pvid: Some(vid), members: vec![VlanMember { vid, tagged: false }] },
            agents: None,
            secy: None,
        }
    }

    /// Returns the per-frame overhead on the line, MACsec included.
    pub fn protected_line(&self) -> LinePlan {
        self.schedule.line.and(self.secy.as_ref().map_or(0, |secy| secy.line_overhead()))
    }
}

named! {
    /// Fields of a frame that set its priority.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Trust {
        /// PCP of the VLAN tag, otherwise the port's default.
        Pcp = "pcp",
        /// DSCP of an IP packet, otherwise the port's default.
        Dscp = "dscp",
        /// PCP, otherwise DSCP, otherwise the port's default.
        #[default]
        PcpThenDscp = "pcp_then_dscp",
        /// DSCP, otherwise PCP, otherwise the port's default.
        DscpThenPcp = "dscp_then_pcp",
        /// Always the port's default.
        Port = "port",
    }
}

/// Classification maps of one port.
#[derive(Clone, Debug)]
pub struct ClassifyPlan {
    pub trust: Trust,
    /// PCP to priority.
    pub pcp: [Priority; 8],
    /// DSCP to priority.
    pub dscp: [Priority; 64],
    /// For frames without the trusted field.
    pub default: Priority,
    /// Priority to ingress priority group.
    pub group: [PriorityGroup; PRIORITIES],
    /// Priority to egress traffic class.
    pub class: [TrafficClass; PRIORITIES],
}

impl ClassifyPlan {
    /// Returns the maps by which source flow control messages find the priority of a flow from this
    /// port.
    pub const fn source_map(&self) -> SourceMap {
        let trusted = match self.trust {
            Trust::Pcp => Trusted::Pcp,
            // The flows of messages are of IP, so they all have a DSCP.
            Trust::Dscp | Trust::DscpThenPcp => Trusted::Dscp,
            Trust::PcpThenDscp => Trusted::PcpOrDscp,
            Trust::Port => Trusted::Neither,
        };
        SourceMap { trusted, pcp: self.pcp, dscp: self.dscp }
    }
}

/// The VLANs of one port.
#[derive(Clone, Debug)]
pub struct VlanPlan {
    /// VLAN of untagged and priority-tagged frames; `None` drops them.
    pub pvid: Option<Vid>,
    /// VLANs of the port.
    pub members: Vec<VlanMember>,
}

/// A port's membership of one VLAN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VlanMember {
    pub vid: Vid,
    /// True if frames of the VLAN leave this port tagged.
    pub tagged: bool,
}
