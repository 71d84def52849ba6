//! Captures, and asking for them.

message! {
    /// What is captured.
    Capture {
        /// Its name.
        name: String; required,
        /// The ports.
        port_names: Vec<String>,
        /// Only frames that pass all of these.
        filters: Vec<CaptureFilter>,
        /// Whether new frames replace the oldest. Default: true.
        overwrite: bool = true,
        /// How many octets of each frame are kept. Default: all.
        packet_size: Option<u32>,
        /// How it is written. Default: pcap.
        format: Format = Format::Pcap,
    }
}

words! {
    /// How a capture is written.
    Format {
        /// libpcap's format.
        pcap: Pcap,
        /// The next generation of it.
        pcapng: Pcapng,
    }
}

choice! {
    /// A condition on frames.
    CaptureFilter = custom {
        /// On any bits.
        custom: Custom(CaptureCustom),
        /// On an Ethernet header.
        ethernet: Ethernet(CaptureEthernet),
        /// On a VLAN tag.
        vlan: Vlan(CaptureVlan),
        /// On an IPv4 header.
        ipv4: Ipv4(Box<CaptureIpv4>),
        /// On an IPv6 header.
        ipv6: Ipv6(Box<CaptureIpv6>),
    }
}

message! {
    /// A condition on any bits.
    CaptureCustom {
        /// The first bit, from the frame's first. Default: 0.
        offset: u32 = 0,
        /// How many bits. Default: 8.
        bit_length: u32 = 8,
        /// What they are to be, in hexadecimal digits. Default: 00.
        value: String = "00".into(),
        /// Which of them count, in hexadecimal digits. Default: 00.
        mask: String = "00".into(),
        /// Whether frames pass that do not have the value. Default: false.
        negate: bool = false,
    }

    /// What a field is to be.
    CaptureField {
        /// In hexadecimal digits. Default: 00.
        value: String = "00".into(),
        /// Which bits count, in hexadecimal digits. Default: 00.
        mask: String = "00".into(),
        /// Whether frames pass that do not have the value. Default: false.
        negate: bool = false,
    }

    /// Conditions on an Ethernet header.
    CaptureEthernet {
        /// The source.
        src: Option<CaptureField>,
        /// The destination.
        dst: Option<CaptureField>,
        /// The type.
        ether_type: Option<CaptureField>,
        /// The queue, which frames do not carry.
        pfc_queue: Option<CaptureField>,
    }

    /// Conditions on a VLAN tag.
    CaptureVlan {
        /// PCP.
        priority: Option<CaptureField>,
        /// DEI.
        cfi: Option<CaptureField>,
        /// VID.
        id: Option<CaptureField>,
        /// The type that follows.
        protocol: Option<CaptureField>,
    }

    /// Conditions on an IPv4 header.
    CaptureIpv4 {
        /// The version.
        version: Option<CaptureField>,
        /// The header's length in words of 32 bits.
        header_length: Option<CaptureField>,
        /// The octet of DSCP and ECN.
        priority: Option<CaptureField>,
        /// The packet's length in octets.
        total_length: Option<CaptureField>,
        /// The identification.
        identification: Option<CaptureField>,
        /// The first flag.
        reserved: Option<CaptureField>,
        /// The second flag.
        dont_fragment: Option<CaptureField>,
        /// The third flag.
        more_fragments: Option<CaptureField>,
        /// The fragment's offset.
        fragment_offset: Option<CaptureField>,
        /// The time to live.
        time_to_live: Option<CaptureField>,
        /// The protocol.
        protocol: Option<CaptureField>,
        /// The checksum.
        header_checksum: Option<CaptureField>,
        /// The source.
        src: Option<CaptureField>,
        /// The destination.
        dst: Option<CaptureField>,
    }

    /// Conditions on an IPv6 header.
    CaptureIpv6 {
        /// The version.
        version: Option<CaptureField>,
        /// The octet of DSCP and ECN.
        traffic_class: Option<CaptureField>,
        /// The flow label.
        flow_label: Option<CaptureField>,
        /// The payload's length in octets.
        payload_length: Option<CaptureField>,
        /// What follows.
        next_header: Option<CaptureField>,
        /// The hop limit.
        hop_limit: Option<CaptureField>,
        /// The source.
        src: Option<CaptureField>,
        /// The destination.
        dst: Option<CaptureField>,
    }

    /// Asking for what a port has captured.
    CaptureRequest {
        /// The port.
        port_name: String; required,
        /// Which packets. Default: all.
        packets: Option<Packets>,
    }
}

choice! {
    /// Which packets of a capture.
    Packets = all {
        /// All of them.
        all: All,
        /// Some of them.
        slice: Slice(Slice),
    }

    /// Some packets of a capture.
    Slice = initial {
        /// From one on, in the order of arrival.
        initial: Initial(Initial),
    }
}

message! {
    /// Packets in the order of arrival.
    Initial {
        /// The first, counted from 1. Default: 1.
        start: u64 = 1,
        /// How many. Default: 100.
        count: u64 = 100,
    }
}
