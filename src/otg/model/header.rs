//! The headers of a flow's frames.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::pattern::{Checksum, MetricTag, Pattern};
use super::read::MacText;

/// A number in a header.
pub type Number = Option<Pattern<u32>>;
/// A MAC address in a header.
pub type HardwareAddress = Option<Pattern<MacText>>;

choice! {
    FlowHeader = ethernet {
        /// Any bytes.
        custom: Custom(FlowCustom),
        /// Ethernet (802.3 3.1).
        ethernet: Ethernet(FlowEthernet),
        /// A VLAN tag (802.1Q 9.6).
        vlan: Vlan(FlowVlan),
        /// IPv4 (RFC 791).
        ipv4: Ipv4(Box<FlowIpv4>),
        /// IPv6 (RFC 8200).
        ipv6: Ipv6(Box<FlowIpv6>),
        /// A PFC frame with its Ethernet header (802.1Qbb).
        pfcpause: PfcPause(Box<FlowPfcPause>),
        /// A PAUSE frame with its Ethernet header (802.3 31B).
        ethernetpause: EthernetPause(FlowEthernetPause),
        /// TCP (RFC 9293).
        tcp: Tcp(Box<FlowTcp>),
        /// UDP (RFC 768).
        udp: Udp(FlowUdp),
        /// ARP (RFC 826).
        arp: Arp(Box<FlowArp>),
    }
}

message! {
    /// Any bytes.
    FlowCustom {
        /// Hexadecimal digits.
        bytes: String; required,
        /// Parts by which metrics are split.
        metric_tags: Vec<MetricTag>,
    }

    FlowEthernet {
        /// Default: auto, the neighbour's address.
        dst: HardwareAddress,
        /// Default: 00:00:00:00:00:00.
        src: HardwareAddress,
        /// Default: auto, the type of the next header.
        ether_type: Number,
        /// The priority whose PFC pauses the flow. Default: 0.
        pfc_queue: Number,
    }

    FlowVlan {
        /// PCP. Default: 0.
        priority: Number,
        /// DEI. Default: 0.
        cfi: Number,
        /// VID. Default: 0.
        id: Number,
        /// The EtherType of the tag itself. Default: 65535.
        tpid: Number,
    }

    FlowIpv4 {
        /// Default: 4.
        version: Number,
        /// In words of 32 bits. Default: auto.
        header_length: Number,
        /// DSCP and ECN.
        priority: Option<Ipv4Priority>,
        /// In bytes. Default: auto.
        total_length: Number,
        /// Default: 0.
        identification: Number,
        /// The first bit of the flags. Default: 0.
        reserved: Number,
        /// Default: 0.
        dont_fragment: Number,
        /// Default: 0.
        more_fragments: Number,
        /// In words of 64 bits. Default: 0.
        fragment_offset: Number,
        /// Default: 64.
        time_to_live: Number,
        /// Default: auto, the protocol of the next header.
        protocol: Number,
        /// Default: the correct checksum.
        header_checksum: Option<Checksum>,
        /// Default: 0.0.0.0.
        src: Option<Pattern<Ipv4Addr>>,
        /// Default: 0.0.0.0.
        dst: Option<Pattern<Ipv4Addr>>,
    }
}

choice! {
    /// The byte of DSCP and ECN.
    Ipv4Priority = dscp {
        /// The whole byte.
        raw: Raw(Pattern<u32>),
        /// Type of service (RFC 791).
        tos: Tos(Box<Ipv4Tos>),
        dscp: Dscp(Ipv4Dscp),
    }
}

message! {
    /// Type of service.
    Ipv4Tos {
        /// 3 bits. Default: 0.
        precedence: Number,
        /// 1 bit. Default: 0.
        delay: Number,
        /// 1 bit. Default: 0.
        throughput: Number,
        /// 1 bit. Default: 0.
        reliability: Number,
        /// 1 bit. Default: 0.
        monetary: Number,
        /// 1 bit. Default: 0.
        unused: Number,
    }

    Ipv4Dscp {
        /// DSCP, 6 bits. Default: 0.
        phb: Number,
        /// ECN, 2 bits. Default: 0.
        ecn: Number,
    }

    FlowIpv6 {
        /// Default: 6.
        version: Number,
        /// DSCP and ECN. Default: 0.
        traffic_class: Number,
        /// Default: 0.
        flow_label: Number,
        /// In bytes. Default: auto.
        payload_length: Number,
        /// Default: auto, the protocol of the next header.
        next_header: Number,
        /// Default: 64.
        hop_limit: Number,
        /// Default: ::.
        src: Option<Pattern<Ipv6Addr>>,
        /// Default: ::.
        dst: Option<Pattern<Ipv6Addr>>,
    }

    /// A PFC frame.
    FlowPfcPause {
        /// Default: 01:80:c2:00:00:01.
        dst: HardwareAddress,
        /// Default: 00:00:00:00:00:00.
        src: HardwareAddress,
        /// Default: 0x8808.
        ether_type: Number,
        /// Default: 0x0101.
        control_op_code: Number,
        /// One bit per class, the upper octet reserved. Default: 0.
        class_enable_vector: Number,
        /// In quanta of 512 bit times. Default: 0.
        pause_class_0: Number,
        /// In quanta of 512 bit times. Default: 0.
        pause_class_1: Number,
        /// In quanta of 512 bit times. Default: 0.
        pause_class_2: Number,
        /// In quanta of 512 bit times. Default: 0.
        pause_class_3: Number,
        /// In quanta of 512 bit times. Default: 0.
        pause_class_4: Number,
        /// In quanta of 512 bit times. Default: 0.
        pause_class_5: Number,
        /// In quanta of 512 bit times. Default: 0.
        pause_class_6: Number,
        /// In quanta of 512 bit times. Default: 0.
        pause_class_7: Number,
    }

    /// A PAUSE frame.
    FlowEthernetPause {
        /// Default: 01:80:c2:00:00:01.
        dst: HardwareAddress,
        /// Default: 00:00:00:00:00:00.
        src: HardwareAddress,
        /// Default: 0x8808.
        ether_type: Number,
        /// Default: 0x0001.
        control_op_code: Number,
        /// In quanta of 512 bit times. Default: 0.
        time: Number,
    }

    FlowTcp {
        /// Default: 0.
        src_port: Number,
        /// Default: 0.
        dst_port: Number,
        /// Default: 0.
        seq_num: Number,
        /// Default: 0.
        ack_num: Number,
        /// In words of 32 bits. Default: 0.
        data_offset: Number,
        /// Default: 0.
        ecn_ns: Number,
        /// Default: 0.
        ecn_cwr: Number,
        /// Default: 0.
        ecn_echo: Number,
        /// Default: 0.
        ctl_urg: Number,
        /// Default: 0.
        ctl_ack: Number,
        /// Default: 0.
        ctl_psh: Number,
        /// Default: 0.
        ctl_rst: Number,
        /// Default: 0.
        ctl_syn: Number,
        /// Default: 0.
        ctl_fin: Number,
        /// Default: 0.
        window: Number,
        /// Default: the correct checksum.
        checksum: Option<Checksum>,
    }

    FlowUdp {
        /// Default: 0.
        src_port: Number,
        /// Default: 0.
        dst_port: Number,
        /// In bytes. Default: 0.
        length: Number,
        /// Default: the correct checksum.
        checksum: Option<Checksum>,
    }

    FlowArp {
        /// Default: 1, Ethernet.
        hardware_type: Number,
        /// Default: 0x0800, IPv4.
        protocol_type: Number,
        /// Default: 6.
        hardware_length: Number,
        /// Default: 4.
        protocol_length: Number,
        /// Default: 1, a request.
        operation: Number,
        /// Default: 00:00:00:00:00:00.
        sender_hardware_addr: HardwareAddress,
        /// Default: 0.0.0.0.
        sender_protocol_addr: Option<Pattern<Ipv4Addr>>,
        /// Default: 00:00:00:00:00:00.
        target_hardware_addr: HardwareAddress,
        /// Default: 0.0.0.0.
        target_protocol_addr: Option<Pattern<Ipv4Addr>>,
    }
}

impl FlowPfcPause {
    /// Returns the pause times of classes 0 to 7.
    #[must_use]
    pub const fn times(&self) -> [&Number; 8] {
        [
            &self.pause_class_0,
            &self.pause_class_1,
            &self.pause_class_2,
            &self.pause_class_3,
            &self.pause_class_4,
            &self.pause_class_5,
            &self.pause_class_6,
            &self.pause_class_7,
        ]
    }
}
