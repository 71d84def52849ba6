//! Emulated hosts.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::read::MacText;
use super::rocev2::Rocev2Peer;

message! {
    /// An emulated host.
    Device {
        /// Its name.
        name: String; required,
        /// Its interfaces.
        ethernets: Vec<DeviceEthernet>,
        /// Its endpoints of RoCEv2.
        rocev2: Option<Rocev2Peer>,
    }

    /// An interface.
    DeviceEthernet {
        /// Its name.
        name: String; required,
        /// Where it is attached.
        connection: Option<Connection>,
        /// Its address. Default: the generator's choice.
        mac: Option<MacText>,
        /// Its longest packet, in octets. Default: 1500.
        mtu: u32 = 1500,
        /// Its tags, outermost first.
        vlans: Vec<DeviceVlan>,
        /// Its IPv4 addresses.
        ipv4_addresses: Vec<DeviceIpv4>,
        /// Its IPv6 addresses.
        ipv6_addresses: Vec<DeviceIpv6>,
    }

    /// A tag of an interface.
    DeviceVlan {
        /// Its name.
        name: String; required,
        /// Its type. Default: 0x8100.
        tpid: Tpid = Tpid::X8100,
        /// The priority of the frames. Default: 0.
        priority: u32 = 0,
        /// The VLAN. Default: 1.
        id: u32 = 1,
    }

    /// An IPv4 address of an interface.
    DeviceIpv4 {
        /// Its name.
        name: String; required,
        /// The address.
        address: Ipv4Addr = Ipv4Addr::UNSPECIFIED; required,
        /// The length of its prefix in bits. Default: 24.
        prefix: u32 = 24,
        /// Where packets to elsewhere go.
        gateway: Option<Ipv4Addr>,
        /// The gateway's hardware address. Default: it is asked for.
        gateway_mac: Option<GatewayMac>,
    }

    /// An IPv6 address of an interface.
    DeviceIpv6 {
        /// Its name.
        name: String; required,
        /// The address.
        address: Ipv6Addr = Ipv6Addr::UNSPECIFIED; required,
        /// The length of its prefix in bits. Default: 64.
        prefix: u32 = 64,
        /// Where packets to elsewhere go.
        gateway: Option<Ipv6Addr>,
        /// The gateway's hardware address. Default: it is asked for.
        gateway_mac: Option<GatewayMac>,
    }
}

choice! {
    /// Where an interface is attached.
    Connection = port_name {
        /// To a port.
        port_name: Port(String),
    }

    /// A gateway's hardware address.
    GatewayMac = auto {
        /// It is asked for.
        auto: Auto,
        /// It is known.
        value: Value(MacText),
    }
}

words! {
    /// The type of a tag.
    Tpid {
        /// 802.1Q, customer.
        x8100: X8100,
        /// 802.1Q, service.
        x88A8: X88A8,
        /// Older service tags.
        x9100: X9100,
        /// Older service tags.
        x9200: X9200,
        /// Older service tags.
        x9300: X9300,
    }
}

impl Tpid {
    /// As it is on the wire.
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
