//! Streams.

use super::header::FlowHeader;
use super::read::Extra;

message! {
    /// A stream.
    Flow {
        /// Its name.
        name: String; required,
        /// Where it comes from and goes to.
        tx_rx: FlowTxRx; required,
        /// Its headers, outermost first.
        packet: Vec<FlowHeader>,
        /// How long its frames are, in octets with FCS. Default: 64.
        size: Option<FlowSize>,
        /// How fast it is. Default: 1000 frames per second.
        rate: Option<FlowRate>,
        /// How long it lasts. Default: until it is stopped.
        duration: Option<FlowDuration>,
        /// What is measured of it. Default: nothing.
        metrics: Option<FlowMetrics>,
        /// What follows its headers. Default: zeros.
        payload: Option<FlowPayload>,
    }
}

choice! {
    /// Where a stream comes from and goes to.
    FlowTxRx = port {
        /// Ports.
        port: Port(FlowPort),
        /// Interfaces and addresses of devices.
        device: Device(FlowRouter),
    }
}

message! {
    /// From a port to ports.
    FlowPort {
        /// The port that sends.
        tx_name: String; required,
        /// The port that receives.
        rx_name: Option<String>,
        /// The ports that receive.
        rx_names: Vec<String>,
    }

    /// From devices to devices.
    FlowRouter {
        /// Who sends to whom. Default: all to all.
        mode: RouterMode = RouterMode::Mesh,
        /// Names of interfaces or addresses that send.
        tx_names: Vec<String>,
        /// Names of interfaces or addresses that receive.
        rx_names: Vec<String>,
        /// Whether there is a stream the other way, too. Default: false.
        bidirectional: bool = false,
    }
}

words! {
    /// Who sends to whom.
    RouterMode {
        /// All to all.
        mesh: Mesh,
        /// The first to the first, the second to the second.
        one_to_one: OneToOne,
    }
}

choice! {
    /// How long frames are, in octets with FCS.
    FlowSize = fixed {
        /// All the same.
        fixed: Fixed(u32 = 64),
        /// Each longer than the one before.
        increment: Increment(SizeIncrement),
        /// Drawn by chance.
        random: Random(SizeRandom),
        /// A mix.
        weight_pairs: WeightPairs(WeightPairs),
    }

    /// A mix of sizes.
    WeightPairs = predefined {
        /// A well-known one.
        predefined: Predefined(Mix = Mix::Imix),
        /// One's own.
        custom: Custom(Vec<SizeWeight>),
    }
}

message! {
    /// Sizes that grow.
    SizeIncrement {
        /// The first. Default: 64.
        start: u32 = 64,
        /// The last. Default: 1518.
        end: u32 = 1518,
        /// What each adds. Default: 1.
        step: u32 = 1,
    }

    /// Sizes drawn by chance.
    SizeRandom {
        /// The least. Default: 64.
        min: u32 = 64,
        /// The greatest. Default: 1518.
        max: u32 = 1518,
    }

    /// A size and how often it is.
    SizeWeight {
        /// The size. Default: 64.
        size: u32 = 64,
        /// Its share in all weights. Default: 1.
        weight: f64 = 1.0,
    }
}

words! {
    /// Well-known mixes of sizes.
    Mix {
        /// 64, 570 and 1518 octets.
        imix: Imix,
        /// The same under IPsec.
        ipsec_imix: IpsecImix,
        /// The same under IPv6.
        ipv6_imix: Ipv6Imix,
        /// A simpler one.
        standard_imix: StandardImix,
        /// That of TCP.
        tcp_imix: TcpImix,
    }
}

choice! {
    /// How fast a stream is.
    FlowRate = pps {
        /// Frames per second.
        pps: Pps(u64 = 1000),
        /// Bits per second.
        bps: Bps(u64 = 1_000_000_000),
        /// Thousands of bits per second.
        kbps: Kbps(u64 = 1_000_000),
        /// Millions of bits per second.
        mbps: Mbps(u64 = 1000),
        /// Thousands of millions of bits per second.
        gbps: Gbps(u32 = 1),
        /// Per cent of the line's rate.
        percentage: Percentage(f64 = 100.0),
    }

    /// How long a stream lasts.
    FlowDuration = continuous {
        /// So many frames.
        fixed_packets: FixedPackets(FixedPackets),
        /// So many seconds.
        fixed_seconds: FixedSeconds(FixedSeconds),
        /// In bursts.
        burst: Burst(Burst),
        /// Until it is stopped.
        continuous: Continuous(Continuous),
    }

    /// A time, as OTG counts it before a stream begins.
    FlowDelay = bytes {
        /// The time of so many octets on the line.
        bytes: Bytes(f64 = 0.0),
        /// In nanoseconds.
        nanoseconds: Nanoseconds(f64 = 0.0),
        /// In microseconds.
        microseconds: Microseconds(f64 = 0.0),
    }

    /// A time between two bursts.
    InterBurstGap = bytes {
        /// The time of so many octets on the line.
        bytes: Bytes(f64 = 12.0),
        /// In nanoseconds.
        nanoseconds: Nanoseconds(f64 = 96.0),
        /// In microseconds.
        microseconds: Microseconds(f64 = 0.096),
    }
}

message! {
    /// So many frames.
    FixedPackets {
        /// How many. Default: 1.
        packets: u32 = 1,
        /// The least gap between two frames, in octets. Default: 12.
        gap: u32 = 12,
        /// From the start to the first frame. Default: 0.
        delay: Option<FlowDelay>,
    }

    /// So many seconds.
    FixedSeconds {
        /// How many. Default: 1.
        seconds: f64 = 1.0,
        /// The least gap between two frames, in octets. Default: 12.
        gap: u32 = 12,
        /// From the start to the first frame. Default: 0.
        delay: Option<FlowDelay>,
    }

    /// Bursts.
    Burst {
        /// How many; 0 for no end. Default: 0.
        bursts: u32 = 0,
        /// How many frames each has. Default: 1.
        packets: u32 = 1,
        /// The least gap between two frames of a burst, in octets. Default: 12.
        gap: u32 = 12,
        /// From the end of a burst to the next. Default: 12 octets.
        inter_burst_gap: Option<InterBurstGap>,
    }

    /// Until it is stopped.
    Continuous {
        /// The least gap between two frames, in octets. Default: 12.
        gap: u32 = 12,
        /// From the start to the first frame. Default: 0.
        delay: Option<FlowDelay>,
    }

    /// What is measured of a stream.
    FlowMetrics {
        /// Whether anything is. Default: false.
        enable: bool = false,
        /// Loss in per cent. Default: false.
        loss: bool = false,
        /// When the first and the last frame came. Default: false.
        timestamps: bool = false,
        /// How long frames took. Default: not measured.
        latency: Option<LatencyMetrics>,
    }

    /// How latencies are measured.
    LatencyMetrics {
        /// Whether they are. Default: false.
        enable: bool = false,
        /// Between which bits. Default: store-and-forward.
        mode: LatencyMode = LatencyMode::StoreForward,
    }
}

words! {
    /// Between which bits a latency is measured.
    LatencyMode {
        /// From the last bit sent to the first received.
        store_forward: StoreForward,
        /// From the first bit sent to the first received.
        cut_through: CutThrough,
    }
}

choice! {
    /// What follows a stream's headers.
    FlowPayload = fixed {
        /// The same octets.
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
    /// The same octets in every payload.
    FixedPayload {
        /// Hexadecimal digits. Default: 00.
        pattern: String = "00".into(),
        /// Whether they are repeated up to the end. Default: true.
        repeat: bool = true,
    }
}

impl FlowPort {
    /// The ports that receive, whichever way they were named.
    pub fn receivers(&self) -> impl Iterator<Item = &str> {
        self.rx_names.iter().chain(&self.rx_name).map(String::as_str)
    }
}

impl Flow {
    /// A stream with nothing but a name and its ports.
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
