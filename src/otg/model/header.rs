//! The headers of a stream's frames.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::pattern::{Checksum, MetricTag, Pattern};
use super::read::MacText;

/// A number in a header.
pub type Number = Option<Pattern<u32>>;
/// A hardware address in a header.
pub type HardwareAddress = Option<Pattern<MacText>>;

choice! {
    /// A header.
    FlowHeader = ethernet {
        /// Any octets.
        custom: Custom(FlowCustom),
        /// Ethernet (802.3 3.1).
        ethernet: Ethernet(FlowEthernet),
        /// A VLAN tag (802.1Q 9.6).
        vlan: Vlan(FlowVlan),
        /// IPv4 (RFC 791).
        ipv4: Ipv4(Box<FlowIpv4>),
        /// IPv6 (RFC 8200).
        ipv6: Ipv6(Box<FlowIpv6>),
        /// A priority-based pause with its Ethernet header (802.1Qbb).
        pfcpause: PfcPause(Box<FlowPfcPause>),
        /// A pause with its Ethernet header (802.3 31B).
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
    /// Any octets.
    FlowCustom {
        /// In hexadecimal digits.
        bytes: String; required,
        /// Parts that metrics are split by.
        metric_tags: Vec<MetricTag>,
    }

    /// Ethernet.
    FlowEthernet {
        /// The destination. Default: auto, that of the neighbour.
        dst: HardwareAddress,
        /// The source. Default: 00:00:00:00:00:00.
        src: HardwareAddress,
        /// The type. Default: auto, that of what follows.
        ether_type: Number,
        /// The priority whose pauses stop the stream. Default: 0.
        pfc_queue: Number,
    }

    /// A VLAN tag.
    FlowVlan {
        /// PCP. Default: 0.
        priority: Number,
        /// DEI. Default: 0.
        cfi: Number,
        /// VID. Default: 0.
        id: Number,
        /// The type of the tag itself. Default: 65535.
        tpid: Number,
    }

    /// IPv4.
    FlowIpv4 {
        /// Default: 4.
        version: Number,
        /// In words of 32 bits. Default: auto.
        header_length: Number,
        /// DSCP and ECN.
        priority: Option<Ipv4Priority>,
        /// In octets. Default: auto.
        total_length: Number,
        /// Default: 0.
        identification: Number,
        /// The first flag. Default: 0.
        reserved: Number,
        /// The second flag. Default: 0.
        dont_fragment: Number,
        /// The third flag. Default: 0.
        more_fragments: Number,
        /// In words of 64 bits. Default: 0.
        fragment_offset: Number,
        /// Default: 64.
        time_to_live: Number,
        /// Default: auto, that of what follows.
        protocol: Number,
        /// Default: right.
        header_checksum: Option<Checksum>,
        /// Default: 0.0.0.0.
        src: Option<Pattern<Ipv4Addr>>,
        /// Default: 0.0.0.0.
        dst: Option<Pattern<Ipv4Addr>>,
    }
}

choice! {
    /// The octet of DSCP and ECN.
    Ipv4Priority = dscp {
        /// As a whole.
        raw: Raw(Pattern<u32>),
        /// As types of service (RFC 791).
        tos: Tos(Box<Ipv4Tos>),
        /// As DSCP and ECN (RFC 2474, RFC 3168).
        dscp: Dscp(Ipv4Dscp),
    }
}

message! {
    /// Types of service.
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

    /// DSCP and ECN.
    Ipv4Dscp {
        /// DSCP, 6 bits. Default: 0.
        phb: Number,
        /// ECN, 2 bits. Default: 0.
        ecn: Number,
    }

    /// IPv6.
    FlowIpv6 {
        /// Default: 6.
        version: Number,
        /// DSCP and ECN. Default: 0.
        traffic_class: Number,
        /// Default: 0.
        flow_label: Number,
        /// In octets. Default: auto.
        payload_length: Number,
        /// Default: auto, that of what follows.
        next_header: Number,
        /// Default: 64.
        hop_limit: Number,
        /// Default: ::.
        src: Option<Pattern<Ipv6Addr>>,
        /// Default: ::.
        dst: Option<Pattern<Ipv6Addr>>,
    }

    /// A priority-based pause.
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

    /// A pause of all.
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

    /// TCP.
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
        /// Default: right.
        checksum: Option<Checksum>,
    }

    /// UDP.
    FlowUdp {
        /// Default: 0.
        src_port: Number,
        /// Default: 0.
        dst_port: Number,
        /// In octets. Default: 0.
        length: Number,
        /// Default: right.
        checksum: Option<Checksum>,
    }

    /// ARP.
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
    /// The times of the classes 0 to 7.
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
