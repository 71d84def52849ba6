//! The configuration: ports and their settings.

use super::capture::Capture;
use super::device::Device;
use super::flow::Flow;
use super::read::MacText;
use super::rocev2::{PortSettings, StatefulFlow};

message! {
    /// A test (OTG `Config`).
    Config {
        ports: Vec<Port>,
        /// Settings of groups of ports.
        layer1: Vec<Layer1>,
        captures: Vec<Capture>,
        /// Emulated hosts.
        devices: Vec<Device>,
        flows: Vec<Flow>,
        options: Option<ConfigOptions>,
        /// RoCEv2 connections.
        stateful_flows: Option<StatefulFlow>,
    }

    /// A test port.
    Port {
        /// The name by which other objects refer to the port.
        name: String; required,
        /// The place of the port in the generator's syntax.
        location: Option<String>,
    }

    /// Layer-1 settings of one or more ports.
    Layer1 {
        name: String; required,
        port_names: Vec<String>,
        speed: Option<Speed>,
        media: Option<Media>,
        /// True if frames to any MAC address are received. Default: true.
        promiscuous: bool = true,
        /// Maximum packet length in bytes. Default: 1500.
        mtu: u32 = 1500,
        /// True if the defaults of the medium are used.
        ieee_media_defaults: Option<bool>,
        /// True if the speed is negotiated.
        auto_negotiate: Option<bool>,
        /// The abilities to advertise.
        auto_negotiation: Option<AutoNegotiation>,
        flow_control: Option<FlowControl>,
    }

    /// The abilities that auto-negotiation advertises.
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
    /// The speed of a port.
    Speed {
        /// 10 Mb/s, full duplex.
        speed_10_fd_mbps: Mbps10Fd,
        /// 10 Mb/s, half duplex.
        speed_10_hd_mbps: Mbps10Hd,
        /// 100 Mb/s, full duplex.
        speed_100_fd_mbps: Mbps100Fd,
        /// 100 Mb/s, half duplex.
        speed_100_hd_mbps: Mbps100Hd,
        speed_1_gbps: Gbps1,
        speed_10_gbps: Gbps10,
        speed_25_gbps: Gbps25,
        speed_40_gbps: Gbps40,
        speed_50_gbps: Gbps50,
        speed_100_gbps: Gbps100,
        speed_200_gbps: Gbps200,
        speed_400_gbps: Gbps400,
        speed_800_gbps: Gbps800,
    }

    /// The medium of a port.
    Media {
        copper: Copper,
        fiber: Fiber,
        sgmii: Sgmii,
    }
}

message! {
    /// Flow control settings of a port.
    FlowControl {
        /// Destination address of pause frames beside the port's own. Default: 01:80:c2:00:00:01.
        directed_address: Option<MacText>,
        /// The standard in use; the settings of the other are ignored.
        choice: Option<PauseKind>,
        ieee_802_1qbb: Option<Ieee8021Qbb>,
        ieee_802_3x: Option<Ieee8023x>,
    }

    /// Priority-based flow control (802.1Qbb).
    Ieee8021Qbb {
        /// Response time to a PFC frame, in quanta of 512 bit times. Default: 0.
        pfc_delay: u32 = 0,
        /// The queue that class 0 pauses. Default: 0.
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
    /// The flow control standard.
    PauseKind {
        /// PFC.
        ieee_802_1qbb: Ieee8021Qbb,
        /// PAUSE.
        ieee_802_3x: Ieee8023x,
    }
}

impl FlowControl {
    /// Returns the flow control standard, with OTG's default.
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
    /// Returns the configured queues of classes 0 to 7.
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
    /// Options for all ports and per port.
    ConfigOptions {
        port_options: Option<PortOptions>,
        per_port_options: Vec<PerPortOptions>,
    }

    /// Options for all ports.
    PortOptions {
        /// True if ports may be taken from another user. Default: false.
        location_preemption: bool = false,
        /// True if payloads are verified. Default: false.
        data_integrity: bool = false,
    }

    /// Options of one port.
    PerPortOptions {
        port_name: Option<String>,
        protocols: Vec<PortProtocol>,
    }
}

choice! {
    /// Options of one protocol on a port.
    PortProtocol = rocev2 {
        rocev2: Rocev2(Box<PortSettings>),
    }
}
