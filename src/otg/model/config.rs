//! A configuration: ports and what is set on them.

use super::capture::Capture;
use super::device::Device;
use super::flow::Flow;
use super::read::MacText;
use super::rocev2::{PortSettings, StatefulFlow};

message! {
    /// A whole test (OTG `Config`).
    Config {
        /// The ports.
        ports: Vec<Port>,
        /// What is set on ports, several at a time.
        layer1: Vec<Layer1>,
        /// What is captured.
        captures: Vec<Capture>,
        /// Emulated hosts.
        devices: Vec<Device>,
        /// The streams.
        flows: Vec<Flow>,
        /// What is set for all or per port.
        options: Option<ConfigOptions>,
        /// Connections of RoCEv2.
        stateful_flows: Option<StatefulFlow>,
    }

    /// A port.
    Port {
        /// Its name, which everything else calls it by.
        name: String; required,
        /// Where it is; its meaning is the generator's own.
        location: Option<String>,
    }

    /// What is set on ports.
    Layer1 {
        /// Its name.
        name: String; required,
        /// The ports.
        port_names: Vec<String>,
        /// The rate to run at.
        speed: Option<Speed>,
        /// The medium.
        media: Option<Media>,
        /// Whether frames to any address are taken in. Default: true.
        promiscuous: bool = true,
        /// The longest packet, in octets. Default: 1500.
        mtu: u32 = 1500,
        /// Whether the medium's own defaults are taken.
        ieee_media_defaults: Option<bool>,
        /// Whether the rate is negotiated.
        auto_negotiate: Option<bool>,
        /// What is offered then.
        auto_negotiation: Option<AutoNegotiation>,
        /// Which pauses are obeyed.
        flow_control: Option<FlowControl>,
    }

    /// What auto-negotiation offers.
    AutoNegotiation {
        /// Default: true.
        advertise_1000_mbps: bool = true,
        /// Default: true.
        advertise_100_fd_mbps: bool = true,
        /// Default: true.
        advertise_100_hd_mbps: bool = true,
        /// Default: true.
        advertise_10_fd_mbps: bool = true,
        /// Default: true.
        advertise_10_hd_mbps: bool = true,
        /// Default: false.
        link_training: bool = false,
        /// Default: false.
        rs_fec: bool = false,
    }
}

words! {
    /// The rate of a port.
    Speed {
        /// 10 Mb/s, full duplex.
        speed_10_fd_mbps: Mbps10Fd,
        /// 10 Mb/s, half duplex.
        speed_10_hd_mbps: Mbps10Hd,
        /// 100 Mb/s, full duplex.
        speed_100_fd_mbps: Mbps100Fd,
        /// 100 Mb/s, half duplex.
        speed_100_hd_mbps: Mbps100Hd,
        /// 1 Gb/s.
        speed_1_gbps: Gbps1,
        /// 10 Gb/s.
        speed_10_gbps: Gbps10,
        /// 25 Gb/s.
        speed_25_gbps: Gbps25,
        /// 40 Gb/s.
        speed_40_gbps: Gbps40,
        /// 50 Gb/s.
        speed_50_gbps: Gbps50,
        /// 100 Gb/s.
        speed_100_gbps: Gbps100,
        /// 200 Gb/s.
        speed_200_gbps: Gbps200,
        /// 400 Gb/s.
        speed_400_gbps: Gbps400,
        /// 800 Gb/s.
        speed_800_gbps: Gbps800,
    }

    /// The medium of a port.
    Media {
        /// Copper.
        copper: Copper,
        /// Fibre.
        fiber: Fiber,
        /// SGMII.
        sgmii: Sgmii,
    }
}

message! {
    /// Which pauses a port obeys.
    FlowControl {
        /// The address that pauses come to, beside the port's own. Default: 01:80:c2:00:00:01.
        directed_address: Option<MacText>,
        /// By which standard; the others are ignored.
        choice: Option<PauseKind>,
        /// Of which classes.
        ieee_802_1qbb: Option<Ieee8021Qbb>,
        /// Of all.
        ieee_802_3x: Option<Ieee8023x>,
    }

    /// Priority-based flow control (802.1Qbb).
    Ieee8021Qbb {
        /// From a pause to obeying it, in quanta of 512 bit times. Default: 0.
        pfc_delay: u32 = 0,
        /// The queue that pauses of class 0 stop. Default: 0.
        pfc_class_0: Option<u32>,
        /// Default: 1.
        pfc_class_1: Option<u32>,
        /// Default: 2.
        pfc_class_2: Option<u32>,
        /// Default: 3.
        pfc_class_3: Option<u32>,
        /// Default: 4.
        pfc_class_4: Option<u32>,
        /// Default: 5.
        pfc_class_5: Option<u32>,
        /// Default: 6.
        pfc_class_6: Option<u32>,
        /// Default: 7.
        pfc_class_7: Option<u32>,
    }

    /// PAUSE (802.3x).
    Ieee8023x {}
}

words! {
    /// The standard of a pause.
    PauseKind {
        /// PFC.
        ieee_802_1qbb: Ieee8021Qbb,
        /// PAUSE.
        ieee_802_3x: Ieee8023x,
    }
}

impl FlowControl {
    /// By which standard pauses are obeyed, with OTG's default.
    #[must_use]
    pub fn kind(&self) -> PauseKind {
        match (self.choice, &self.ieee_802_1qbb, &self.ieee_802_3x) {
            (Some(kind), _, _) => kind,
            (None, None, Some(_)) => PauseKind::Ieee8023x,
            (None, _, _) => PauseKind::Ieee8021Qbb,
        }
    }
}

impl Ieee8021Qbb {
    /// What was said of the classes 0 to 7.
    #[must_use]
    pub const fn classes(&self) -> [Option<u32>; 8] {
        [
            self.pfc_class_0,
            self.pfc_class_1,
            self.pfc_class_2,
            self.pfc_class_3,
            self.pfc_class_4,
            self.pfc_class_5,
            self.pfc_class_6,
            self.pfc_class_7,
        ]
    }
}

message! {
    /// What is set for all or per port.
    ConfigOptions {
        /// For all ports.
        port_options: Option<PortOptions>,
        /// Per port.
        per_port_options: Vec<PerPortOptions>,
    }

    /// What is set for all ports.
    PortOptions {
        /// Whether ports may be taken away from another user. Default: false.
        location_preemption: bool = false,
        /// Whether payloads are checked. Default: false.
        data_integrity: bool = false,
    }

    /// What is set on a port.
    PerPortOptions {
        /// The port.
        port_name: Option<String>,
        /// Per protocol.
        protocols: Vec<PortProtocol>,
    }
}

choice! {
    /// What is set on a port for a protocol.
    PortProtocol = rocev2 {
        /// RoCEv2.
        rocev2: Rocev2(Box<PortSettings>),
    }
}
