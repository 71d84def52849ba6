//! Connections of RoCEv2: endpoints of devices, what flows between them, what ports do about them.

use core::net::{Ipv4Addr, Ipv6Addr};

message! {
    /// The endpoints of a device (OTG `Device.Rocev2Peer`).
    Rocev2Peer {
        /// On IPv4 addresses.
        ipv4_interfaces: Vec<V4Interface>,
        /// On IPv6 addresses.
        ipv6_interfaces: Vec<V6Interface>,
    }

    /// Endpoints on an IPv4 address.
    V4Interface {
        /// The name of the address.
        ipv4_name: String; required,
        /// The longest payload of a packet, in octets. Default: 1024.
        ib_mtu: u32 = 1024,
        /// Whom they talk to.
        peers: Vec<V4Peer>,
    }

    /// Endpoints on an IPv6 address.
    V6Interface {
        /// The name of the address.
        ipv6_name: String; required,
        /// The longest payload of a packet, in octets. Default: 1024.
        ib_mtu: u32 = 1024,
        /// Whom they talk to.
        peers: Vec<V6Peer>,
    }

    /// Whom an endpoint talks to.
    V4Peer {
        /// Its name.
        name: String; required,
        /// Its address.
        destination_ip_address: Ipv4Addr = Ipv4Addr::UNSPECIFIED; required,
        /// The queue pairs towards it.
        qps: Vec<QueuePair>,
    }

    /// Whom an endpoint talks to.
    V6Peer {
        /// Its name.
        name: String; required,
        /// Its address.
        destination_ip_address: Ipv6Addr = Ipv6Addr::UNSPECIFIED; required,
        /// The queue pairs towards it.
        qps: Vec<QueuePair>,
    }

    /// A queue pair.
    QueuePair {
        /// Its name, which flows call it by.
        qp_name: String; required,
        /// How it is connected.
        connection_type: Option<ConnectionType>,
    }
}

choice! {
    /// How a queue pair is connected.
    ConnectionType = reliable_connection {
        /// Reliably.
        reliable_connection: Reliable(QpParameters),
    }
}

message! {
    /// A reliable connection.
    QpParameters {
        /// The queue pair's number, 24 bits. Default: 2.
        source_qp_number: u32 = 2,
        /// DSCP of its data. Default: 24.
        dscp: u32 = 24,
        /// ECN of its data. Default: ECT(1).
        ecn: Ecn = Ecn::Ect1,
        /// The source port, which routers spread flows by. Default: 49152.
        udp_source_port: u32 = 49152,
        /// The first sequence number, 24 bits. Default: 0.
        initial_psn: u64 = 0,
        /// Where writes go, 64 bits in hexadecimal digits. Default: 0.
        virtual_address: String = "0000000000000000".into(),
        /// The key to that memory, 32 bits in hexadecimal digits. Default: 0.
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

    /// What a message's size is counted in.
    SizeUnit {
        /// Octets.
        bytes: Bytes,
        /// Thousands.
        kb: Kb,
        /// Millions.
        mb: Mb,
        /// Thousands of millions.
        gb: Gb,
    }
}

impl Ecn {
    /// As it is on the wire.
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
    /// What flows in connections.
    StatefulFlow = rocev2 {
        /// RoCEv2.
        rocev2: Rocev2(Vec<Rocev2Flows>),
    }

    /// How fast a port sends to its connections.
    TransmitType = target_line_rate {
        /// A share of the line's rate.
        target_line_rate: TargetLineRate(TargetLineRate),
    }

    /// What a flow does.
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
    /// Flows of RoCEv2, by the port that sends them.
    Rocev2Flows {
        /// The ports.
        tx_ports: Vec<TxPort>,
    }

    /// A port that sends flows of RoCEv2.
    TxPort {
        /// The port.
        port_name: Option<String>,
        /// How fast, and what.
        transmit_type: Option<TransmitType>,
    }

    /// A share of the line's rate, for all flows of a port together.
    TargetLineRate {
        /// In per cent. Default: 98.
        value: u64 = 98,
        /// The flows.
        flows: Vec<Rocev2Flow>,
    }

    /// A flow of RoCEv2.
    Rocev2Flow {
        /// Its name.
        name: String; required,
        /// The queue pair that sends.
        tx_endpoint: String; required,
        /// The queue pair that receives.
        rx_endpoint: Option<String>,
        /// What it does. Default: write.
        rocev2_verb: Option<Verb>,
        /// How long its messages are. Default: 1.
        message_size: u32 = 1,
        /// In what. Default: millions of octets.
        message_size_unit: SizeUnit = SizeUnit::Mb,
    }

    /// Immediate data.
    ImmediateData {
        /// 32 bits in hexadecimal digits. Default: 0.
        immediate_data: String = "00000000".into(),
    }

    /// What a port does about RoCEv2.
    PortSettings {
        /// How it notifies of congestion.
        cnp: Option<Cnp>,
        /// How it acknowledges.
        connection_type: Option<PortConnection>,
        /// How it reacts to congestion.
        dcqcn_settings: Option<Dcqcn>,
    }

    /// Congestion notification packets.
    Cnp {
        /// By which field they are prioritised.
        choice: Option<String>,
        /// Their DSCP.
        ip_dscp: Option<DscpValue>,
        /// Their ECN. Default: ECT(1).
        ecn_value: Ecn = Ecn::Ect1,
        /// The least time from one to the next, in microseconds. Default: 55.
        cnp_delay_timer: u32 = 55,
    }

    /// A DSCP.
    DscpValue {
        /// 0 to 63. Default: 48.
        value: u32 = 48,
    }
}

choice! {
    /// How a port acknowledges.
    PortConnection = reliable_connection {
        /// In reliable connections.
        reliable_connection: Reliable(AckAndNak),
    }
}

message! {
    /// How a port acknowledges in reliable connections.
    AckAndNak {
        /// Its acknowledgements.
        ack: Option<Acknowledgement>,
        /// Its negative acknowledgements.
        nak: Option<Acknowledgement>,
        /// Whether what is not acknowledged is sent again. Default: true.
        enable_retransmission_timeout: bool = true,
        /// After how many milliseconds. Default: 1.
        retransmission_timeout_value: u32 = 1,
        /// How often. Default: 3.
        retransmission_retry_count: u32 = 3,
    }

    /// An acknowledgement of either kind.
    Acknowledgement {
        /// By which field it is prioritised.
        choice: Option<String>,
        /// Its DSCP.
        ip_dscp: Option<DscpValue>,
        /// Its ECN. Default: ECT(1).
        ecn_value: Ecn = Ecn::Ect1,
    }

    /// How a port reacts to congestion. Rates are in per cent of the line's, times in microseconds.
    Dcqcn {
        /// Whether it does. Default: true.
        enable_dcqcn: bool = true,
        /// g of alpha's update, in 1/1024 of keeping the old one. Default: 1019.
        alpha_g: u64 = 1019,
        /// The first alpha, in 1/1024. Default: 1023.
        initial_alpha: u64 = 1023,
        /// Default: 21.
        alpha_update_period: u64 = 21,
        /// Default: 21.
        rate_reduction_time_period: u64 = 21,
        /// Default: 0.002.
        initial_rate_after_first_cnp: f64 = 0.002,
        /// Default: 0.002. (OTG spells it so.)
        minimum_rate_limmit: f64 = 0.002,
        /// In per cent of the rate. Default: 10.
        maximum_rate_decrement_at_time: u32 = 10,
        /// Default: false.
        clamp_target_rate: bool = false,
        /// Default: 250.
        rate_increment_time: u64 = 250,
        /// In units of 64 octets. Default: 32767.
        rate_increment_byte_counter: u64 = 32767,
        /// Default: 25.
        rate_increment_threshold: u32 = 25,
        /// Default: 0.001.
        additive_increment_rate: f64 = 0.001,
        /// Default: 0.001.
        hyper_increment_rate: f64 = 0.001,
    }
}
