//! Captures and capture requests.

message! {
    /// A capture on one or more ports.
    Capture {
        name: String; required,
        port_names: Vec<String>,
        /// Only frames that match all filters are captured.
        filters: Vec<CaptureFilter>,
        /// True if new frames replace the oldest ones. Default: true.
        overwrite: bool = true,
        /// Captured bytes per frame (snap length). Default: all.
        packet_size: Option<u32>,
        /// The file format. Default: pcap.
        format: Format = Format::Pcap,
    }
}

words! {
    /// The file format of a capture.
    Format {
        pcap: Pcap,
        pcapng: Pcapng,
    }
}

choice! {
    /// A filter condition.
    CaptureFilter = custom {
        /// Matches any bits.
        custom: Custom(CaptureCustom),
        ethernet: Ethernet(CaptureEthernet),
        vlan: Vlan(CaptureVlan),
        ipv4: Ipv4(Box<CaptureIpv4>),
        ipv6: Ipv6(Box<CaptureIpv6>),
    }
}

message! {
    /// A condition on any bits of the frame.
    CaptureCustom {
        /// Offset of the first bit from the start of the frame. Default: 0.
        offset: u32 = 0,
        /// Number of bits. Default: 8.
        bit_length: u32 = 8,
        /// The value in hexadecimal digits. Default: 00.
        value: String = "00".into(),
        /// The mask in hexadecimal digits. Default: 00.
        mask: String = "00".into(),
        /// True if the match is inverted. Default: false.
        negate: bool = false,
    }

    /// A condition on a header field.
    CaptureField {
        /// The value in hexadecimal digits. Default: 00.
        value: String = "00".into(),
        /// The mask in hexadecimal digits. Default: 00.
        mask: String = "00".into(),
        /// True if the match is inverted. Default: false.
        negate: bool = false,
    }

    /// Conditions on an Ethernet header.
    CaptureEthernet {
        src: Option<CaptureField>,
        dst: Option<CaptureField>,
        ether_type: Option<CaptureField>,
        /// The queue of the generator; frames do not carry it.
        pfc_queue: Option<CaptureField>,
    }

    /// Conditions on a VLAN tag.
    CaptureVlan {
        /// The PCP.
        priority: Option<CaptureField>,
        /// The DEI.
        cfi: Option<CaptureField>,
        /// The VID.
        id: Option<CaptureField>,
        /// The EtherType after the tag.
        protocol: Option<CaptureField>,
    }

    /// Conditions on an IPv4 header.
    CaptureIpv4 {
        version: Option<CaptureField>,
        /// The IHL: header length in words of 32 bits.
        header_length: Option<CaptureField>,
        /// The byte of DSCP and ECN.
        priority: Option<CaptureField>,
        /// In bytes.
        total_length: Option<CaptureField>,
        identification: Option<CaptureField>,
        /// The first bit of the flags.
        reserved: Option<CaptureField>,
        dont_fragment: Option<CaptureField>,
        more_fragments: Option<CaptureField>,
        fragment_offset: Option<CaptureField>,
        time_to_live: Option<CaptureField>,
        protocol: Option<CaptureField>,
        header_checksum: Option<CaptureField>,
        src: Option<CaptureField>,
        dst: Option<CaptureField>,
    }

    /// Conditions on an IPv6 header.
    CaptureIpv6 {
        version: Option<CaptureField>,
        /// The byte of DSCP and ECN.
        traffic_class: Option<CaptureField>,
        flow_label: Option<CaptureField>,
        /// In bytes.
        payload_length: Option<CaptureField>,
        next_header: Option<CaptureField>,
        hop_limit: Option<CaptureField>,
        src: Option<CaptureField>,
        dst: Option<CaptureField>,
    }

    /// A request for the capture of a port.
    CaptureRequest {
        port_name: String; required,
        /// The selected packets. Default: all.
        packets: Option<Packets>,
    }
}

choice! {
    /// A selection of packets of a capture.
    Packets = all {
        all: All,
        slice: Slice(Slice),
    }

    /// A range of packets of a capture.
    Slice = initial {
        initial: Initial(Initial),
    }
}

message! {
    /// A range of packets in the order of arrival.
    Initial {
        /// Number of the first packet, counted from 1. Default: 1.
        start: u64 = 1,
        /// Number of packets. Default: 100.
        count: u64 = 100,
    }
}
