//! Flows.

use super::header::FlowHeader;
use super::read::Extra;

message! {
    /// A flow of test frames.
    Flow {
        name: String; required,
        /// Ports or devices that send and receive it.
        tx_rx: FlowTxRx; required,
        /// Headers, outermost first.
        packet: Vec<FlowHeader>,
        /// Frame length in bytes with FCS. Default: 64.
        size: Option<FlowSize>,
        /// Default: 1000 frames per second.
        rate: Option<FlowRate>,
        /// Default: until it is stopped.
        duration: Option<FlowDuration>,
        /// The measured values. Default: none.
        metrics: Option<FlowMetrics>,
        /// The content after the headers. Default: zeros.
        payload: Option<FlowPayload>,
    }
}

choice! {
    /// The endpoints of a flow.
    FlowTxRx = port {
        port: Port(FlowPort),
        /// Interfaces and addresses of devices.
        device: Device(FlowRouter),
    }
}

message! {
    /// From one port to one or more ports.
    FlowPort {
        tx_name: String; required,
        rx_name: Option<String>,
        rx_names: Vec<String>,
    }

    /// From devices to devices.
    FlowRouter {
        /// Pairing of the endpoints. Default: mesh.
        mode: RouterMode = RouterMode::Mesh,
        /// Names of the sending interfaces or addresses.
        tx_names: Vec<String>,
        /// Names of the receiving interfaces or addresses.
        rx_names: Vec<String>,
        /// True if there is a flow in the reverse direction as well. Default: false.
        bidirectional: bool = false,
    }
}

words! {
    /// The pairing of senders and receivers.
    RouterMode {
        /// All to all.
        mesh: Mesh,
        /// The first to the first, the second to the second.
        one_to_one: OneToOne,
    }
}

choice! {
    /// Frame length in bytes with FCS.
    FlowSize = fixed {
        fixed: Fixed(u32 = 64),
        increment: Increment(SizeIncrement),
        random: Random(SizeRandom),
        /// A weighted mix.
        weight_pairs: WeightPairs(WeightPairs),
    }

    /// A mix of sizes.
    WeightPairs = predefined {
        /// A well-known mix.
        predefined: Predefined(Mix = Mix::Imix),
        /// A mix of the user.
        custom: Custom(Vec<SizeWeight>),
    }
}

message! {
    /// Increasing sizes.
    SizeIncrement {
        /// The first size. Default: 64.
        start: u32 = 64,
        /// The last size. Default: 1518.
        end: u32 = 1518,
        /// Default: 1.
        step: u32 = 1,
    }

    /// Random sizes.
    SizeRandom {
        /// Default: 64.
        min: u32 = 64,
        /// Default: 1518.
        max: u32 = 1518,
    }

    /// A size with its weight.
    SizeWeight {
        /// Default: 64.
        size: u32 = 64,
        /// The share of this size in the sum of weights. Default: 1.
        weight: f64 = 1.0,
    }
}

words! {
    /// Well-known mixes of sizes.
    Mix {
        /// 64, 570 and 1518 bytes.
        imix: Imix,
        /// IMIX with IPsec.
        ipsec_imix: IpsecImix,
        /// IMIX with IPv6.
        ipv6_imix: Ipv6Imix,
        standard_imix: StandardImix,
        /// The IMIX of TCP.
        tcp_imix: TcpImix,
    }
}

choice! {
    /// The rate of a flow.
    FlowRate = pps {
        /// Frames per second.
        pps: Pps(u64 = 1000),
        /// Bits per second.
        bps: Bps(u64 = 1_000_000_000),
        /// Kilobits per second.
        kbps: Kbps(u64 = 1_000_000),
        /// Megabits per second.
        mbps: Mbps(u64 = 1000),
        /// Gigabits per second.
        gbps: Gbps(u32 = 1),
        /// Percent of the line rate.
        percentage: Percentage(f64 = 100.0),
    }

    /// The duration of a flow.
    FlowDuration = continuous {
        fixed_packets: FixedPackets(FixedPackets),
        fixed_seconds: FixedSeconds(FixedSeconds),
        burst: Burst(Burst),
        /// Until it is stopped.
        continuous: Continuous(Continuous),
    }

    /// The delay before the first frame.
    FlowDelay = bytes {
        /// The time of this number of bytes on the line.
        bytes: Bytes(f64 = 0.0),
        nanoseconds: Nanoseconds(f64 = 0.0),
        microseconds: Microseconds(f64 = 0.0),
    }

    /// The gap between two bursts.
    InterBurstGap = bytes {
        /// The time of this number of bytes on the line.
        bytes: Bytes(f64 = 12.0),
        nanoseconds: Nanoseconds(f64 = 96.0),
        microseconds: Microseconds(f64 = 0.096),
    }
}

message! {
    /// A fixed number of frames.
    FixedPackets {
        /// Number of frames. Default: 1.
        packets: u32 = 1,
        /// Minimum gap between two frames in bytes. Default: 12.
        gap: u32 = 12,
        /// Delay from the start to the first frame. Default: 0.
        delay: Option<FlowDelay>,
    }

    /// A fixed time.
    FixedSeconds {
        /// Default: 1.
        seconds: f64 = 1.0,
        /// Minimum gap between two frames in bytes. Default: 12.
        gap: u32 = 12,
        /// Delay from the start to the first frame. Default: 0.
        delay: Option<FlowDelay>,
    }

    /// A sequence of bursts.
    Burst {
        /// Number of bursts; 0 for no limit. Default: 0.
        bursts: u32 = 0,
        /// Frames per burst. Default: 1.
        packets: u32 = 1,
        /// Minimum gap between two frames of a burst in bytes. Default: 12.
        gap: u32 = 12,
        /// Gap from the end of a burst to the next. Default: 12 bytes.
        inter_burst_gap: Option<InterBurstGap>,
    }

    /// Transmission until the flow is stopped.
    Continuous {
        /// Minimum gap between two frames in bytes. Default: 12.
        gap: u32 = 12,
        /// Delay from the start to the first frame. Default: 0.
        delay: Option<FlowDelay>,
    }

    /// The measured values of a flow.
    FlowMetrics {
        /// True if metrics are collected. Default: false.
        enable: bool = false,
        /// Loss in percent. Default: false.
        loss: bool = false,
        /// Arrival times of the first and the last frame. Default: false.
        timestamps: bool = false,
        /// Default: not measured.
        latency: Option<LatencyMetrics>,
    }

    /// The latency measurement.
    LatencyMetrics {
        /// Default: false.
        enable: bool = false,
        /// Default: store-and-forward.
        mode: LatencyMode = LatencyMode::StoreForward,
    }
}

words! {
    /// The reference bits of a latency (RFC 1242).
    LatencyMode {
        /// From the last bit sent to the first bit received.
        store_forward: StoreForward,
        /// From the first bit sent to the first bit received.
        cut_through: CutThrough,
    }
}

choice! {
    /// The content after the headers.
    FlowPayload = fixed {
        fixed: Fixed(FixedPayload),
        /// 00 01 02 ..
        increment_byte: IncrementByte,
        /// ff fe fd ..
        decrement_byte: DecrementByte,
        /// 0000 0001 ..
        increment_word: IncrementWord,
        /// ffff fffe ..
        decrement_word: DecrementWord,
    }
}

message! {
    /// Equal bytes in every payload.
    FixedPayload {
        /// Hexadecimal digits. Default: 00.
        pattern: String = "00".into(),
        /// True if the pattern is repeated up to the end. Default: true.
        repeat: bool = true,
    }
}

impl FlowPort {
    /// Returns the receiving ports, from either field.
    pub fn receivers(&self) -> impl Iterator<Item = &str> {
        self.rx_names.iter().chain(&self.rx_name).map(String::as_str)
    }
}

impl Flow {
    /// A flow with only a name and its ports.
    #[must_use]
    pub fn between(name: &str, tx: &str, rx: &[&str]) -> Self {
        let port = FlowPort {
            tx_name: tx.into(),
            rx_name: None,
            rx_names: rx.iter().map(|name| (*name).into()).collect(),
            extra: Extra::new(),
        };
        Self { name: name.into(), tx_rx: FlowTxRx::Port(port), ..Self::default() }
    }
}
