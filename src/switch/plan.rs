//! The validated plan of a whole switch, which [`super::Switch`] may trust.
//!
//! `config` makes one from a file; tests and the virtual world build it directly.

mod advertised;
mod congestion;
mod simple;

pub use self::congestion::*;

use std::net::IpAddr;

use ::congestion::EcnPlan;
use buffer::{BufferPlan, SharedLimit};
use ground::time::Duration;
use ground::units::{
    BitsPerSec, Mac, PRIORITIES, PortId, Priority, PriorityGroup, TrafficClass, Vid,
};
use link::AgentsPlan;
use pfc::{PfcPlan, WatchdogPlans};
use schedule::{LinePlan, SchedulePlan};
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
    /// Returns the per-frame overhead on the line, MACsec included.
    #[must_use]
    pub fn protected_line(&self) -> LinePlan {
        self.schedule.line.and(self.secy.as_ref().map_or(0, |secy| secy.line_overhead()))
    }
}

/// Field of a frame that decides its priority.
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
}

impl BridgePlan {
    /// Default number of cached flows: 160 KiB per port.
    pub const SHORTCUTS: usize = 4096;
    /// No limit per port other than the table's capacity.
    pub const NO_LIMIT: usize = usize::MAX;
}

/// A static filtering entry (802.1Q 8.8.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaticEntry {
    pub vid: Vid,
    pub mac: Mac,
    pub port: PortId,
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
