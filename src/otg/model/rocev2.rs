//! RoCEv2 connections: endpoints of devices, their flows, and the RoCEv2 settings of ports.

use core::net::{Ipv4Addr, Ipv6Addr};

message! {
    /// The RoCEv2 endpoints of a device (OTG `Device.Rocev2Peer`).
    Rocev2Peer {
        ipv4_interfaces: Vec<V4Interface>,
        ipv6_interfaces: Vec<V6Interface>,
    }

    /// Endpoints on an IPv4 address.
    V4Interface {
        /// Name of the address.
        ipv4_name: String; required,
        /// Maximum payload of a packet in bytes. Default: 1024.
        ib_mtu: u32 = 1024,
        peers: Vec<V4Peer>,
    }

    /// Endpoints on an IPv6 address.
    V6Interface {
        /// Name of the address.
        ipv6_name: String; required,
        /// Maximum payload of a packet in bytes. Default: 1024.
        ib_mtu: u32 = 1024,
        peers: Vec<V6Peer>,
    }

    /// A remote peer on IPv4.
    V4Peer {
        name: String; required,
        destination_ip_address: Ipv4Addr = Ipv4Addr::UNSPECIFIED; required,
        qps: Vec<QueuePair>,
    }

    /// A remote peer on IPv6.
    V6Peer {
        name: String; required,
        destination_ip_address: Ipv6Addr = Ipv6Addr::UNSPECIFIED; required,
        qps: Vec<QueuePair>,
    }

    QueuePair {
        /// The name by which flows refer to the queue pair.
        qp_name: String; required,
        connection_type: Option<ConnectionType>,
    }
}

choice! {
    /// The transport service of a queue pair.
    ConnectionType = reliable_connection {
        reliable_connection: Reliable(QpParameters),
    }
}

message! {
    /// The parameters of a reliable connection.
    QpParameters {
        /// 24 bits. Default: 2.
        source_qp_number: u32 = 2,
        /// DSCP of data packets. Default: 24.
        dscp: u32 = 24,
        /// ECN of data packets. Default: ECT(1).
        ecn: Ecn = Ecn::Ect1,
        /// The UDP source port, by which routers hash flows (ECMP). Default: 49152.
        udp_source_port: u32 = 49152,
        /// The first packet sequence number, 24 bits. Default: 0.
        initial_psn: u64 = 0,
        /// Target address of RDMA writes, 64 bits in hexadecimal digits. Default: 0.
        virtual_address: String = "0000000000000000".into(),
        /// 32 bits in hexadecimal digits. Default: 0.
        remote_key: String = "00000000".into(),
    }
}

words! {
    /// ECN (RFC 3168).
    Ecn {
        /// 00.
        non_ect: NonEct,
        /// 01.
        ect_1: Ect1,
        /// 10.
        ect_0: Ect0,
        /// 11.
        ce: Ce,
    }

    /// The unit of a message's size.
    SizeUnit {
        bytes: Bytes,
        /// 1,000 bytes.
        kb: Kb,
        /// 1,000,000 bytes.
        mb: Mb,
        /// 1,000,000,000 bytes.
        gb: Gb,
    }
}

impl Ecn {
    /// Returns the codepoint on the wire.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::NonEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }
}

choice! {
    /// Flows over connections.
    StatefulFlow = rocev2 {
        rocev2: Rocev2(Vec<Rocev2Flows>),
    }

    /// The transmit rate of a port's connections.
    TransmitType = target_line_rate {
        /// A share of the line rate.
        target_line_rate: TargetLineRate(TargetLineRate),
    }

    /// The operation of a flow.
    Verb = write {
        /// RDMA WRITE.
        write: Write,
        /// RDMA WRITE with immediate data.
        write_with_immediate: WriteWithImmediate(ImmediateData),
        /// SEND.
        send: Send,
        /// SEND with immediate data.
        send_with_immediate: SendWithImmediate(ImmediateData),
        /// RDMA READ.
        read: Read,
    }
}

message! {
    /// RoCEv2 flows, grouped by their sending port.
    Rocev2Flows {
        tx_ports: Vec<TxPort>,
    }

    /// A port that sends RoCEv2 flows.
    TxPort {
        port_name: Option<String>,
        /// The rate and the flows.
        transmit_type: Option<TransmitType>,
    }

    /// A share of the line rate, for all flows of a port together.
    TargetLineRate {
        /// In percent. Default: 98.
        value: u64 = 98,
        flows: Vec<Rocev2Flow>,
    }

    /// A RoCEv2 flow.
    Rocev2Flow {
        name: String; required,
        /// The sending queue pair.
        tx_endpoint: String; required,
        /// The receiving queue pair.
        rx_endpoint: Option<String>,
        /// Default: write.
        rocev2_verb: Option<Verb>,
        /// Default: 1.
        message_size: u32 = 1,
        /// Default: 1,000,000 bytes.
        message_size_unit: SizeUnit = SizeUnit::Mb,
    }

    ImmediateData {
        /// 32 bits in hexadecimal digits. Default: 0.
        immediate_data: String = "00000000".into(),
    }

    /// The RoCEv2 settings of a port.
    PortSettings {
        /// Congestion notification.
        cnp: Option<Cnp>,
        /// Acknowledgements.
        connection_type: Option<PortConnection>,
        /// Reaction to congestion notifications.
        dcqcn_settings: Option<Dcqcn>,
    }

    /// Congestion notification packets.
    Cnp {
        /// The field that holds their priority.
        choice: Option<String>,
        ip_dscp: Option<DscpValue>,
        /// Default: ECT(1).
        ecn_value: Ecn = Ecn::Ect1,
        /// Minimum interval between two CNPs in microseconds. Default: 55.
        cnp_delay_timer: u32 = 55,
    }

    DscpValue {
        /// 0 to 63. Default: 48.
        value: u32 = 48,
    }
}

choice! {
    /// The acknowledgement settings of a port.
    PortConnection = reliable_connection {
        reliable_connection: Reliable(AckAndNak),
    }
}

message! {
    /// The acknowledgement settings of reliable connections.
    AckAndNak {
        ack: Option<Acknowledgement>,
        nak: Option<Acknowledgement>,
        /// True if packets without an acknowledgement are sent again. Default: true.
        enable_retransmission_timeout: bool = true,
        /// In milliseconds. Default: 1.
        retransmission_timeout_value: u32 = 1,
        /// Default: 3.
        retransmission_retry_count: u32 = 3,
    }

    /// The settings of ACKs or NAKs.
    Acknowledgement {
        /// The field that holds their priority.
        choice: Option<String>,
        ip_dscp: Option<DscpValue>,
        /// Default: ECT(1).
        ecn_value: Ecn = Ecn::Ect1,
    }

    /// The DCQCN settings of a port. Rates are in percent of the line rate, times in
    /// microseconds.
    Dcqcn {
        /// Default: true.
        enable_dcqcn: bool = true,
        /// g of alpha's update: the weight of the old alpha in 1/1024. Default: 1019.
        alpha_g: u64 = 1019,
        /// The initial alpha in 1/1024. Default: 1023.
        initial_alpha: u64 = 1023,
        /// Default: 21.
        alpha_update_period: u64 = 21,
        /// Default: 21.
        rate_reduction_time_period: u64 = 21,
        /// Default: 0.002.
        initial_rate_after_first_cnp: f64 = 0.002,
        /// Default: 0.002. (The spelling is OTG's.)
        minimum_rate_limmit: f64 = 0.002,
        /// In percent of the rate. Default: 10.
        maximum_rate_decrement_at_time: u32 = 10,
        /// Default: false.
        clamp_target_rate: bool = false,
        /// Default: 250.
        rate_increment_time: u64 = 250,
        /// In units of 64 bytes. Default: 32767.
        rate_increment_byte_counter: u64 = 32767,
        /// Default: 25.
        rate_increment_threshold: u32 = 25,
        /// Default: 0.001.
        additive_increment_rate: f64 = 0.001,
        /// Default: 0.001.
        hyper_increment_rate: f64 = 0.001,
    }
}
