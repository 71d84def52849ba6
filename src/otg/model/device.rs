//! Emulated hosts.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::read::MacText;
use super::rocev2::Rocev2Peer;

message! {
    Device {
        name: String; required,
        ethernets: Vec<DeviceEthernet>,
        rocev2: Option<Rocev2Peer>,
    }

    /// An interface of an emulated host.
    DeviceEthernet {
        name: String; required,
        connection: Option<Connection>,
        /// Default: chosen by the generator.
        mac: Option<MacText>,
        /// Maximum packet length in bytes. Default: 1500.
        mtu: u32 = 1500,
        /// VLAN tags, outermost first.
        vlans: Vec<DeviceVlan>,
        ipv4_addresses: Vec<DeviceIpv4>,
        ipv6_addresses: Vec<DeviceIpv6>,
    }

    /// A VLAN tag of an interface.
    DeviceVlan {
        name: String; required,
        /// Default: 0x8100.
        tpid: Tpid = Tpid::X8100,
        /// The PCP of sent frames. Default: 0.
        priority: u32 = 0,
        /// The VID. Default: 1.
        id: u32 = 1,
    }

    DeviceIpv4 {
        name: String; required,
        address: Ipv4Addr = Ipv4Addr::UNSPECIFIED; required,
        /// Prefix length in bits. Default: 24.
        prefix: u32 = 24,
        gateway: Option<Ipv4Addr>,
        /// Default: resolved by ARP.
        gateway_mac: Option<GatewayMac>,
    }

    DeviceIpv6 {
        name: String; required,
        address: Ipv6Addr = Ipv6Addr::UNSPECIFIED; required,
        /// Prefix length in bits. Default: 64.
        prefix: u32 = 64,
        gateway: Option<Ipv6Addr>,
        /// Default: resolved by neighbour discovery.
        gateway_mac: Option<GatewayMac>,
    }
}

choice! {
    /// The attachment of an interface.
    Connection = port_name {
        port_name: Port(String),
    }

    /// The MAC address of a gateway.
    GatewayMac = auto {
        /// Resolved by ARP or neighbour discovery.
        auto: Auto,
        /// Configured.
        value: Value(MacText),
    }
}

words! {
    /// The EtherType of a VLAN tag.
    Tpid {
        /// 802.1Q, C-tag.
        x8100: X8100,
        /// 802.1Q, S-tag.
        x88A8: X88A8,
        /// S-tag before 802.1ad.
        x9100: X9100,
        /// S-tag before 802.1ad.
        x9200: X9200,
        /// S-tag before 802.1ad.
        x9300: X9300,
    }
}

impl Tpid {
    /// Returns the value on the wire.
    #[must_use]
    pub const fn ether_type(self) -> u16 {
        match self {
            Self::X8100 => 0x8100,
            Self::X88A8 => 0x88a8,
            Self::X9100 => 0x9100,
            Self::X9200 => 0x9200,
            Self::X9300 => 0x9300,
        }
    }
}
