//! The raw model: the fields of a switch file, not validated. `resolve` makes the plan from it.
//!
//! All fields are optional except the list of ports and each port's device. The doc comment of a
//! field is its description in the published JSON Schema, so it states unit, default and reason. Buffers have
//! the names of SAI and SONiC.

mod congestion;
mod discovery;
mod macsec;
mod measurement;
mod port;
mod values;

pub use self::congestion::{
    Aqm, Centiseconds, CimDialect, CongestionIsolation, CongestionLocator, FastCnp, FastCnpQueue,
    IsolationPeer, IsolationQueue, MessageLimit, PausePolicy, PortFastCnp, PortIsolation, PortQcn,
    PortSfc, Qcn, QcnQueue, QpEntry, QueueMap, Senders, Setting, Settings, Sfc, SfcMeter, SfcProxy,
    SfcProxyAccept, SfcProxyCache, SfcQueue, SourceQp, TrafficClasses, out_of_range,
};
pub use self::discovery::{
    Dcbx, DcbxApplication, DcbxEts, DcbxIsolation, DcbxObeys, DcbxPfc, DcbxPfcForm, DcbxPlace,
    DcbxSfc, DcbxSubtypes, DcbxTopology, Lldp, LldpAdmin, Recommend, RecommendedTable,
};
pub use macsec::{
    Macsec, MacsecAssociation, MacsecDelay, MacsecProtect, MacsecReceive, MacsecReplay,
    MacsecTransmit,
};
pub use measurement::{
    AutoHeadroom, Headroom, MacsecShims, Measurement, MethodChoice, Ptp, PtpProfile, RemoteShim,
    StatisticName,
};
pub use port::{
    Core, Ecn, Link, Maps, MarkPoint, Pause, Pfc, PhyName, Port, Queue, Refresh, Shaping, Vlan,
    Watchdog,
};
pub use switch::{AttachedKind, SfcmForm, Trust};
pub use values::{EtherTypeName, HexText, MacsecSci, Range, VlanRange};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::quantity::{Size, Span};
use ::file::word_or;

/// A Sluice switch: its ports, their shared buffer, and the treatment of frames. The shortest file
/// is a list of two ports, which is a plain learning bridge.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Settings of the switch as a whole.
    #[serde(default)]
    pub switch: Switch,
    /// Shared buffer and its profiles.
    #[serde(default)]
    pub buffer: Buffer,
    /// Defaults for all ports: any field of a port except `name`, `device` and `mac`. Mappings are
    /// merged key by key, lists are replaced as a whole.
    pub defaults: Option<Port>,
    /// Ports, 1 to 32 (DPDK's build limit), numbered in this order.
    pub ports: Vec<Port>,
    /// Learning bridge.
    #[serde(default)]
    pub bridge: Bridge,
    /// IP routing between VLANs. Default: none; frames are bridged only.
    #[serde(default)]
    pub routing: Routing,
    /// Source flow control points. `{}` enables them. Default: none.
    pub sfc: Option<Sfc>,
    /// Congestion isolation. Default: none.
    pub congestion_isolation: Option<CongestionIsolation>,
    /// Proxy that turns source flow control messages into PFC. `{}` enables it. Default: none.
    pub sfc_proxy: Option<SfcProxy>,
    /// Congestion notifications of RoCEv2 from the switch. `{}` enables them. Default: none.
    pub fast_cnp: Option<FastCnp>,
    /// Quantized Congestion Notification. `{}` enables it. Default: none.
    pub qcn: Option<Qcn>,
    /// DPDK's memory and arguments.
    #[serde(default)]
    pub eal: Eal,
    /// Metrics and telemetry.
    #[serde(default)]
    pub observe: Observe,
}

/// Settings of the switch as a whole.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Name in results. Default: `sluice`.
    pub name: Option<String>,
    /// Longest frame that is forwarded, in bytes, VLAN tags and FCS included, 64 to 16384. Default:
    /// `1526`, a packet of 1500 bytes with two VLAN tags; 9234 for one of 9216 bytes. It counts
    /// three times in the headroom. Virtual devices may need larger slots for longer frames
    /// (`framesz` of net_af_packet).
    pub max_frame: Option<Size>,
    /// Seed of random decisions (ECN marking) and of hash tables. Default: `0`, for which a switch
    /// on real ports generates a seed at each start, so that it cannot be predicted; labs set their
    /// own, so that runs are reproducible.
    #[serde(default)]
    pub seed: u64,
}

/// Learning bridge (IEEE 802.1Q 8.7, 8.8).
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bridge {
    /// Capacity of the table in addresses, 1 to 1048576; rounded up to a power of two. Default:
    /// `16384`, which fits into a core's second-level cache.
    pub table_size: Option<u32>,
    /// Largest number of addresses learnt from one port, 1 to 1048576, so that one host cannot fill
    /// the table. Frames to addresses that are not learnt are flooded. Default: half of
    /// `table_size`.
    pub addresses_per_port: Option<u32>,
    /// Time after which a learnt address without traffic is removed, 1 s to 1000000 s. Default:
    /// `300s` (802.1Q Table 8-6).
    pub ageing: Option<Span>,
    /// Static addresses, which are not learnt or aged. Default: none.
    #[serde(default)]
    pub statics: Vec<StaticAddress>,
}

/// Table of the addresses that a bridge learns (802.1Q 8.7, 8.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Learning {
    /// Capacity of the table in addresses, 1 to 1048576; rounded up to a power of two. Default:
    /// `16384`.
    pub table_size: Option<u32>,
    /// Largest number of addresses learnt from one port, 1 to 1048576. Frames to addresses that are
    /// not learnt are flooded. Default: half of `table_size`.
    pub addresses_per_port: Option<u32>,
    /// Time after which a learnt address without traffic is removed, 1 s to 1000000 s. Default:
    /// `300s` (802.1Q Table 8-6).
    pub ageing: Option<Span>,
}

/// A static filtering entry (802.1Q 8.8.1).
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaticAddress {
    /// VLAN, 1 to 4094. Default: `1`, the default VLAN of ports.
    pub vlan: Option<u16>,
    /// MAC address, such as `02:00:00:00:00:01`.
    pub mac: String,
    /// Name of the port to which frames for it are sent.
    pub port: String,
}

/// IP routing by longest prefix with static neighbours.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// Interfaces of the router, one entry per VLAN. Default: none; routing is disabled.
    #[serde(default)]
    pub interfaces: Vec<Interface>,
    /// Routes to networks that are not connected. Default: none.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// Static neighbours; there is no neighbour discovery. Default: none.
    #[serde(default)]
    pub neighbours: Vec<Neighbour>,
}

/// An interface of the router in one VLAN.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// VLAN, 1 to 4094.
    pub vlan: u16,
    /// MAC address of the interface. Default: derived from the switch's name, the same for all
    /// interfaces.
    pub mac: Option<String>,
    /// Addresses with their prefix length, such as `10.0.1.1/24`.
    pub addresses: Vec<String>,
}

/// A static route.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Destination, such as `10.2.0.0/16`; `0.0.0.0/0` or `::/0` for the default route.
    pub to: String,
    /// Next hop: an address in one of the connected networks.
    pub via: String,
}

/// A static neighbour.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    /// IP address in one of the connected networks.
    pub ip: String,
    /// MAC address of the neighbour.
    pub mac: String,
    /// Name of the port to which frames for it are sent.
    pub port: String,
}

/// DPDK's memory and arguments.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Eal {
    /// Page type of DPDK's memory: `auto` uses huge pages if enough are free and ordinary ones
    /// otherwise, `on` requires huge pages, `off` uses ordinary ones. Default: `auto`.
    #[serde(default)]
    pub hugepages: Hugepages,
    /// Memory to reserve, at least 1 MiB. Default: the size of the frame pool.
    pub memory: Option<Size>,
    /// Additional EAL arguments, one string each. Default: none.
    #[serde(default)]
    pub args: Vec<String>,
}

/// Page type of DPDK's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hugepages {
    /// Huge pages if enough are free, otherwise ordinary pages.
    #[default]
    Auto,
    /// Huge pages; an error if there are too few.
    #[serde(alias = "true")]
    On,
    /// Ordinary pages.
    #[serde(alias = "false")]
    Off,
}

/// Metrics and telemetry.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// Address of the Prometheus endpoint: `127.0.0.1:9464`, or a TCP port alone, on the loopback.
    /// Default: none; nothing listens.
    pub prometheus: Option<String>,
    /// True to serve counters to `dpdk-telemetry.py`. Default: `false`, because DPDK leaves a
    /// socket in the file system otherwise.
    #[serde(default)]
    pub telemetry: bool,
}

/// Buffer that all ports share.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Bytes per cell, 64 to 16384; a frame takes whole cells. Default: `256`, as in current switch
    /// chips. At least 64, so that the shortest frame fills a cell and the frame pool, one frame
    /// per cell, cannot run out before the buffer is full.
    pub cell: Option<Size>,
    /// Size of the whole buffer in bytes, up to 4 GiB. Default: the reserved space and headroom of
    /// the ports, plus 4 MiB of shared space.
    pub total: Option<Size>,
    /// Profiles by name, which ports assign to their priority groups. Two are predefined and may be
    /// redefined: `lossless` (`{shared: {dynamic_th: 0}, lossless: {}}`) and `lossy` (`{shared:
    /// {dynamic_th: 0}}`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, Profile>,
}

/// Use of the buffer by one priority group.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Bytes reserved for each group of this profile. Default: `0`; reserved space is lost to other
    /// groups.
    pub reserved: Option<Size>,
    /// Limit of a group's use of the shared pool. Default: `{dynamic_th: 0}`, as much as is still
    /// free, so that one congested group never takes more than half of the pool.
    pub shared: Option<Shared>,
    /// Makes the group lossless: above its limit the sender is paused, and frames in flight use the
    /// headroom. Default: absent; a frame above the limit is dropped.
    pub lossless: Option<Lossless>,
}

/// Additional settings of a lossless group.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lossless {
    /// Private headroom for frames that arrive after XOFF, in bytes, or `auto` for the round trip
    /// of each port's link. Default: `auto`. A size below the round trip is refused; in labs
    /// `headroom_check` of the profile sets the reaction.
    #[serde(default, skip_serializing_if = "Xoff::is_auto")]
    pub xoff: Xoff,
    /// XON when the group's shared use is at most this, in bytes ... Default: `0`.
    pub xon: Option<Size>,
    /// ... or at most its limit minus this, in bytes, whichever is higher. Default: two frames of
    /// the longest length, so that XOFF and XON do not alternate frame by frame.
    pub xon_offset: Option<Size>,
}

/// Limit of a group's or queue's use of the shared pool: exactly one of the three.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Dynamic threshold n = log2(alpha), -8 to 8. The limit is alpha = 2^n times the free part of
    /// the pool, so `-1` is alpha 1/2, `0` alpha 1, `3` alpha 8. The name of SAI and SONiC;
    /// Broadcom and papers use alpha itself.
    pub dynamic_th: Option<i8>,
    /// Static threshold in bytes.
    pub static_th: Option<Size>,
    /// No limit except the pool's size. Only `true` is allowed.
    pub unlimited: Option<bool>,
}

/// Headroom: a size or `auto`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Xoff {
    /// Calculated from the round trip of the port's link.
    #[default]
    Auto,
    /// A configured size.
    Size(Size),
}

impl Xoff {
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

word_or! {
    Xoff "Xoff" const "auto" Auto or whole Size as Size: "`auto` or a size such as 40KiB";
}
