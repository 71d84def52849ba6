//! What a switch file says, field by field. The program does not trust it: `resolve` makes the
//! plan of it.
//!
//! Every field is optional but the list of ports and each port's device. The text of each field
//! here is the text of the published JSON Schema, so it states unit, default and reason.

mod agents;
mod buffer;
mod capabilities;
mod congestion;
mod discovery;
mod keys;
mod macsec;
mod port;

pub use self::buffer::{Buffer, Lossless, Profile, Shared, Xoff};
pub use self::congestion::{
    AddBitName, Aqm, AttachedName, Centiseconds, CimDialect, CimRepeatName, CimTypeName,
    CongestionIsolation, FastCnp, FastCnpQueue, IsolationPeer, IsolationQueue, LocatorName,
    MapReadingName, MessageLimit, OctetThreeName, PausePolicy, PortFastCnp, PortIsolation, PortQcn,
    PortSfc, Qcn, QcnQueue, QpEntry, QueueMapSaid, RememberName, SendersSaid, Sfc, SfcCountName,
    SfcFormName, SfcFromName, SfcLifeName, SfcProxy, SfcProxyAccept, SfcProxyCache, SfcQueue,
    SourceQpSaid, TrafficClasses, VidBitsName,
};
pub use self::discovery::{
    AdminName, Dcbx, DcbxApplication, DcbxEts, DcbxIsolation, DcbxPfc, DcbxSubtypes, DcbxTopology,
    DeviceName, FamilyWidthName, Lldp, OrientationName, PfcFormName, PrecedenceName, Recommend,
    RecommendedTable,
};
pub use agents::{
    AutoHeadroom, Headroom, KindsName, LengthName, MacsecShims, Measurement, MethodName, Ptp,
    PtpProfile, RidesName, StatisticName, TimesName,
};
pub use capabilities::{DcbxPlace, DcbxSfc, ObeysName};
pub use keys::{Range, VlanRange};
pub use macsec::{
    AcceptPfcName, CipherSuiteName, EtherTypeName, HexText, Macsec, MacsecAssociation, MacsecDelay,
    MacsecProtect, MacsecReceive, MacsecReplay, MacsecSci, MacsecTransmit, ValidateName,
};
pub use port::{
    Action, Ecn, FecName, Link, Maps, MarkPoint, NotEctAction, Pause, Pfc, PhyName, Port, Queue,
    Refresh, Shaping, Trust, Vlan, Watchdog,
};

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Size, Span};

/// A Sluice switch: the ports it has, the buffer they share, and what it does with frames. The
/// shortest file is a list of two ports, which is a plain learning bridge.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The switch as a whole.
    #[serde(default)]
    pub switch: Switch,
    /// The memory that all ports share, and the profiles by which they share it.
    #[serde(default)]
    pub buffer: Buffer,
    /// What holds for every port that does not say otherwise: any field of a port but `name`,
    /// `device` and `mac`. Mappings are merged key by key, lists are replaced as a whole.
    pub defaults: Option<Port>,
    /// The ports, 1 to 32 (the number DPDK is built for), in the order in which they are numbered.
    pub ports: Vec<Port>,
    /// The learning bridge.
    #[serde(default)]
    pub bridge: Bridge,
    /// IP routing between VLANs. Default: none; frames are bridged only.
    #[serde(default)]
    pub routing: Routing,
    /// Source flow control points. `{}` turns them on. Default: none.
    pub sfc: Option<Sfc>,
    /// Congestion isolation. Default: none.
    pub congestion_isolation: Option<CongestionIsolation>,
    /// The proxy that turns source flow control messages into PFC. `{}` turns it on. Default: none.
    pub sfc_proxy: Option<SfcProxy>,
    /// Congestion notifications of RoCEv2 made by the switch. `{}` turns them on. Default: none.
    pub fast_cnp: Option<FastCnp>,
    /// Quantized Congestion Notification. `{}` turns it on. Default: none.
    pub qcn: Option<Qcn>,
    /// DPDK's memory and arguments.
    #[serde(default)]
    pub eal: Eal,
    /// How the switch is watched from outside.
    #[serde(default)]
    pub observe: Observe,
}

/// The switch as a whole.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Its name in results. Default: `sluice`.
    pub name: Option<String>,
    /// The longest frame forwarded, in octets, VLAN tags and FCS included, 64 to 16384. Default:
    /// `1526`, a packet of 1500 octets with two VLAN tags; 9234 for one of 9216. It is a term of
    /// the headroom, three times. Virtual devices may need to be told of longer frames
    /// (`framesz` of net_af_packet).
    pub max_frame: Option<Size>,
    /// The seed of what is drawn by chance (ECN marking), and of where tables keep flows. Default: `0`, for
    /// which a switch on real ports draws one when it starts, so that nobody can know it; labs have their
    /// own, so that runs repeat.
    #[serde(default)]
    pub seed: u64,
}

/// The learning bridge (IEEE 802.1Q 8.7, 8.8).
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bridge {
    /// How many addresses the table holds, 1 to 1048576; rounded up to a power of two. Default:
    /// `16384`, which stays in a core's second-level cache.
    pub table_size: Option<u32>,
    /// The most addresses that are learnt from one port, 1 to 1048576, so that no host can fill the table
    /// alone. Frames to addresses that are not learnt are flooded. Default: half of `table_size`.
    pub addresses_per_port: Option<u32>,
    /// How long a learnt address lives without a frame from it, 1 s to 1000000 s. Default: `300s`
    /// (802.1Q table 8-6).
    pub ageing: Option<Span>,
    /// Addresses that are configured, never learnt or aged. Default: none.
    #[serde(default)]
    pub statics: Vec<StaticAddress>,
}

/// A static filtering entry (802.1Q 8.8.1).
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaticAddress {
    /// The VLAN, 1 to 4094. Default: `1`, the VLAN of ports that name none.
    pub vlan: Option<u16>,
    /// The address, such as `02:00:00:00:00:01`.
    pub mac: String,
    /// The name of the port behind which it is.
    pub port: String,
}

/// IP routing by longest prefix with static neighbours.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// The router's own addresses, one entry per VLAN. Default: none, and then nothing is routed.
    #[serde(default)]
    pub interfaces: Vec<Interface>,
    /// Routes beyond the connected networks, which need none. Default: none.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// Who is behind which address; there is no neighbour discovery. Default: none.
    #[serde(default)]
    pub neighbours: Vec<Neighbour>,
}

/// The router in one VLAN.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// The VLAN, 1 to 4094.
    pub vlan: u16,
    /// The MAC address it answers by. Default: one made of the switch's name, the same for all
    /// interfaces, as routers have it.
    pub mac: Option<String>,
    /// Its addresses with the length of their network's prefix, such as `10.0.1.1/24`.
    pub addresses: Vec<String>,
}

/// A static route.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The destination, such as `10.2.0.0/16`; `0.0.0.0/0` or `::/0` for everything else.
    pub to: String,
    /// The next hop: an address in one of the connected networks.
    pub via: String,
}

/// A static neighbour.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    /// Its IP address, in one of the connected networks.
    pub ip: String,
    /// Its MAC address.
    pub mac: String,
    /// The name of the port behind which it is.
    pub port: String,
}

/// DPDK's memory and arguments.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Eal {
    /// Which pages memory is made of: `auto` takes huge pages where enough are free and ordinary
    /// ones else, `on` insists, `off` never asks. Default: `auto`.
    #[serde(default)]
    pub hugepages: Hugepages,
    /// Memory to set aside, at least 1 MiB. Default: what the frame pool needs.
    pub memory: Option<Size>,
    /// More EAL arguments, one string each, as they are. Default: none.
    #[serde(default)]
    pub args: Vec<String>,
}

/// Which pages DPDK's memory is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hugepages {
    /// Huge pages where enough are free.
    #[default]
    Auto,
    /// Huge pages, or an error.
    #[serde(alias = "true")]
    On,
    /// Ordinary pages.
    #[serde(alias = "false")]
    Off,
}

/// How the switch is watched from outside.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// Where Prometheus may fetch counters: `127.0.0.1:9464`, or a TCP port alone, which means
    /// this machine only. Default: nowhere; nothing listens unless it is asked to.
    pub prometheus: Option<String>,
    /// Whether `dpdk-telemetry.py` can ask for counters. Default: `false`, as DPDK then leaves a
    /// socket in the file system.
    #[serde(default)]
    pub telemetry: bool,
}
