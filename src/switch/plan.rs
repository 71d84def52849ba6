//! A whole switch, validated: what [`super::Switch`] may trust.
//!
//! `config` makes one of these from a file; tests and the virtual world make it by hand.

mod congestion;
mod told;

pub use congestion::*;

use std::net::IpAddr;

use crate::agents::AgentsPlan;
use crate::buffer::{BufferPlan, SharedLimit};
use crate::congestion::EcnPlan;
use crate::pfc::{PfcPlan, WatchdogPlans};
use crate::schedule::{LinePlan, SchedulePlan};
use crate::secure::SecyPlan;
use crate::time::Duration;
use crate::units::{
    BitsPerSec, Mac, PRIORITIES, PortId, Priority, PriorityGroup, TrafficClass, Vid,
};

/// One switch.
#[derive(Clone, Debug)]
pub struct SwitchPlan {
    /// Its name in results.
    pub name: String,
    /// The ports, by [`PortId`].
    pub ports: Vec<PortPlan>,
    /// The shared buffer; `groups` has one entry per port.
    pub buffer: BufferPlan,
    /// The learning bridge.
    pub bridge: BridgePlan,
    /// IP routing; empty when there is none.
    pub routing: RoutingPlan,
    /// What is done about congesting flows.
    pub congestion: CongestionPlan,
    /// The longest frame forwarded, FCS included, VLAN tags too. 64 to 16384.
    pub max_frame: u32,
    /// The seed of everything drawn by chance (ECN marking), and of where tables keep addresses and flows:
    /// secret where senders may be hostile.
    pub seed: u64,
}

/// One port.
#[derive(Clone, Debug)]
pub struct PortPlan {
    /// Its name in results.
    pub name: String,
    /// The source address of frames the port itself sends, and the address it is routed by.
    pub mac: Mac,
    /// The rate of the link: egress is shaped to it and quanta are counted in it.
    pub rate: BitsPerSec,
    /// Whether egress is shaped to `rate`. Off for a NIC, which shapes by its own clock.
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
    /// How much of the shared pool each egress queue may hold.
    pub queue_limits: [SharedLimit; PRIORITIES],
    /// VLAN membership.
    pub vlan: VlanPlan,
    /// What the port does by itself: measuring, discovery, headroom.
    pub agents: Option<AgentsPlan>,
    /// What the port protects by MACsec, and what it demands of what comes in.
    pub secy: Option<Box<SecyPlan>>,
}

impl PortPlan {
    /// What a frame takes on its line, protection included.
    #[must_use]
    pub fn protected_line(&self) -> LinePlan {
        self.schedule.line.and(self.secy.as_ref().map_or(0, |secy| secy.line_overhead()))
    }
}

/// Which of a frame's fields decides its priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trust {
    /// The PCP of the outer tag, else the port default.
    Pcp,
    /// The DSCP of an IPv4 or IPv6 packet, else the port default.
    Dscp,
    /// The PCP of the outer tag, else the DSCP, else the port default.
    PcpThenDscp,
    /// The DSCP, else the PCP, else the port default.
    DscpThenPcp,
    /// The port default alone.
    Port,
}

/// The maps of one port.
#[derive(Clone, Debug)]
pub struct ClassifyPlan {
    /// Which field decides.
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

/// The VLANs of one port.
#[derive(Clone, Debug)]
pub struct VlanPlan {
    /// The VLAN of untagged and priority-tagged frames; nothing refuses them.
    pub pvid: Option<Vid>,
    /// The VLANs the port belongs to, and whether they leave it tagged.
    pub members: Vec<VlanMember>,
}

/// A port's membership of one VLAN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VlanMember {
    /// The VLAN.
    pub vid: Vid,
    /// Whether frames of it leave this port with a tag.
    pub tagged: bool,
}

/// The learning bridge (802.1Q 8.7, 8.8).
#[derive(Clone, Debug)]
pub struct BridgePlan {
    /// How many addresses the table holds; rounded up to a power of two.
    pub table_size: usize,
    /// The most learnt addresses of one port, so that no host fills the table alone. 1 or more.
    pub port_limit: usize,
    /// How long a learnt address lives without a frame from it (802.1Q 8.8.3: 300 s).
    pub ageing: Duration,
    /// How many flows each port remembers the way of (a power of two, 1 to 65536), which spares
    /// their frames the full way. [`BridgePlan::SHORTCUTS`] unless memory is short.
    pub shortcuts: usize,
    /// Addresses that are configured, never learnt or aged.
    pub statics: Vec<StaticEntry>,
}

impl BridgePlan {
    /// Flows whose way a port remembers, usually: 160 KiB for each port.
    pub const SHORTCUTS: usize = 4096;
    /// A port may have as many addresses as the table holds.
    pub const NO_LIMIT: usize = usize::MAX;
}

/// A static filtering entry (802.1Q 8.8.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaticEntry {
    /// The VLAN.
    pub vid: Vid,
    /// The address.
    pub mac: Mac,
    /// Where it is.
    pub port: PortId,
}

/// IP routing with static neighbours.
#[derive(Clone, Debug, Default)]
pub struct RoutingPlan {
    /// The router's own addresses.
    pub interfaces: Vec<InterfacePlan>,
    /// The table for longest-prefix match.
    pub routes: Vec<RoutePlan>,
    /// The static neighbours.
    pub neighbours: Vec<NeighbourPlan>,
}

/// One address of the router in one VLAN.
#[derive(Clone, Debug)]
pub struct InterfacePlan {
    /// The VLAN it is in.
    pub vid: Vid,
    /// The address frames to be routed are sent to, and routed frames come from.
    pub mac: Mac,
    /// Answered to ARP and ICMP echo.
    pub addresses: Vec<IpAddr>,
}

/// One route.
#[derive(Clone, Copy, Debug)]
pub struct RoutePlan {
    /// The prefix's network address.
    pub network: IpAddr,
    /// The prefix's length, 0 to 32 or 128.
    pub prefix_len: u8,
    /// The next hop, or nothing when the destination itself is the neighbour (connected).
    pub via: Option<IpAddr>,
    /// The interface out: an index into [`RoutingPlan::interfaces`].
    pub interface: usize,
}

/// A neighbour on one interface.
#[derive(Clone, Copy, Debug)]
pub struct NeighbourPlan {
    /// Its IP address.
    pub ip: IpAddr,
    /// Its MAC address.
    pub mac: Mac,
    /// The interface it is on: an index into [`RoutingPlan::interfaces`].
    pub interface: usize,
    /// The port it is behind.
    pub port: PortId,
}
