//! The validated plan of a whole switch, which [`super::Switch`] may trust.
//!
//! `config` makes one from a file; tests and the virtual world build it directly.

mod advertised;
mod congestion;
mod port;

pub use self::congestion::*;
pub use self::port::*;

use std::net::IpAddr;

use buffer::BufferPlan;
use ground::time::Duration;
use ground::units::{Mac, PortId, Vid};

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
    #[must_use]
    pub fn finds_headroom(&self, port: PortId) -> bool {
        let agents = self.ports[port.index()].agents.as_ref();
        agents.is_some_and(|agents| agents.auto.is_some())
    }

    /// Creates the plan of a switch that bridges frames of up to 1,522 bytes between `ports` (802.3
    /// 3.2.7, with a C-tag) and does neither routing nor congestion functions. `buffer` has the
    /// groups of each port. Seed 1.
    #[must_use]
    pub fn new(name: impl Into<String>, ports: Vec<PortPlan>, buffer: BufferPlan) -> Self {
        Self {
            name: name.into(),
            ports,
            buffer,
            bridge: BridgePlan::default(),
            routing: RoutingPlan::default(),
            congestion: CongestionPlan::default(),
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
