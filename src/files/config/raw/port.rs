//! A port: its device, its link, and the treatment of each priority.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::congestion::{
    CongestionLocator, PortFastCnp, PortIsolation, PortQcn, PortSfc, settings,
};
use super::discovery::{Dcbx, Lldp};
use super::macsec::Macsec;
use super::measurement::{Headroom, Measurement, Ptp};
use super::{Range, Shared, VlanRange};
use crate::quantity::{Length, LinkRate, Ratio, Size, Span, Threshold};
use ::file::word_or;
use congestion::NotEct;
use headroom::Fec;
use pfc::StormAction;
use switch::{AttachedKind, Trust};

/// A port. Only `device` is required.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Name in results and in the rest of this file. Default: the interface's, or the device's up to the first comma.
    pub name: Option<String>,
    /// An interface that the kernel drives (`iface:eth1`), or a DPDK device: a PCI address (`0000:3b:00.0`) or a virtual device with its arguments
    /// (`net_af_packet0,iface=v0`, `net_null0`, `net_pcap0,rx_pcap=in.pcap,tx_pcap=out.pcap`).
    pub device: Option<String>,
    /// Core whose worker polls this port. Ports with the same number share a worker. `auto`: a worker for
    /// this port alone, on a core that no other worker has. `none`: a worker that is not pinned, for all
    /// ports with `none`. Default: one worker for all ports without a core, on a core that no other
    /// worker has. Cores are chosen if the process may use one for each worker and one more, those of
    /// other processes of Sluice left out; otherwise these workers are not pinned. The last
    /// core is taken first, and each physical core once as long as others are free.
    pub core: Option<Core>,
    /// Frames in the receive ring, 32 to 32768. Default: `1024`, and 512 for an interface, whose packets may be large
    /// segments and take 65 KiB of memory each. Frames in the ring are not yet charged to the buffer, so a longer
    /// ring may need more headroom.
    pub rx_descriptors: Option<u16>,
    /// Frames in the transmit ring, 32 to 32768. Default: `512`, and 128 for a port that is not
    /// shaped and sends PFC or PAUSE: a PFC frame waits behind all frames in the ring, and the
    /// headroom includes them.
    pub tx_descriptors: Option<u16>,
    /// True if frames of one flow that leave together by an interface are handed to the kernel as one large segment.
    /// What hosts send is cut into frames in any case. Default: they are, but not by a port with PFC or PAUSE: its
    /// peer's ring holds as many packets as the headroom reckons with frames.
    pub offload: Option<bool>,
    /// True if the NIC itself sends and obeys PFC, if its driver supports that
    /// (`rte_eth_dev_priority_flow_ctrl_queue_configure`), by a queue for each priority; needs `trust:
    /// pcp`. Default: `false`: Sluice does both.
    pub hardware_pfc: Option<bool>,
    /// Source MAC address of frames that the port itself sends. Default: a locally administered
    /// address derived from the switch's name and the port's number, so that it is the same at
    /// every start.
    pub mac: Option<String>,
    /// Link rate in bit/s. Default: `10G`, and for a NIC the negotiated rate, up to that.
    pub rate: Option<LinkRate>,
    /// Shaping of egress traffic to `rate`: `on`, `off`, or `auto`: on for virtual devices, whose
    /// rate is limited by the core alone, and for interfaces with a `rate`; off for NICs, which keep their rate.
    /// Default: `auto`.
    pub shaped: Option<Shaping>,
    /// Length of the link and properties of its ends; terms of the headroom.
    #[serde(default)]
    pub link: Link,
    /// VLAN membership.
    #[serde(default)]
    pub vlan: Vlan,
    /// Fields of a frame that set its priority. Default: `pcp_then_dscp`.
    pub trust: Option<Trust>,
    /// Priority of frames without a trusted field, 0 to 7. Default: `0`.
    pub default_priority: Option<u8>,
    /// Maps between frame fields, priorities, groups and queues.
    #[serde(default)]
    pub maps: Maps,
    /// Buffer profile of each ingress priority group: `{3: lossless, 0-2: lossy}`. Default: for
    /// groups with priorities that PFC (or PAUSE) protects `lossless`, for all others `lossy`.
    #[serde(default)]
    pub priority_groups: BTreeMap<Range, String>,
    /// Priority-based flow control. Default: none; not allowed together with `pause`.
    pub pfc: Option<Pfc>,
    /// Link-wide PAUSE (IEEE 802.3 Annex 31B). Default: none; not allowed together with `pfc`.
    pub pause: Option<Pause>,
    /// Storm watchdog of the queues that obey PFC. Default: none.
    pub watchdog: Option<Watchdog>,
    /// Egress queues (traffic classes) with settings other than the default: `{3: {weight: 50}, 6:
    /// {}}`.
    #[serde(default)]
    pub queues: BTreeMap<Range, Queue>,
    /// Source of the headroom of lossless groups: `computed` from `link`, or `auto`: calculated at
    /// first, then set from the port's measurements whenever its link comes up. `{auto: {...}}` has
    /// options. Default: `computed`.
    pub headroom: Option<Headroom>,
    /// Request/response measurement of the link. Default: none, unless automatic headroom uses it.
    pub measurement: Option<Measurement>,
    /// PTP peer delay. Default: none, unless automatic headroom uses it.
    pub ptp: Option<Ptp>,
    /// LLDP. `{}` enables it. Default: off, unless `dcbx` is present.
    pub lldp: Option<Lldp>,
    /// DCBX. `{}` enables it. Default: off.
    pub dcbx: Option<Dcbx>,
    /// MACsec. Default: none.
    pub macsec: Option<Box<Macsec>>,
    /// Link partner, for source flow control: a `switch`, a `host` that supports PFC only, an
    /// `sfc_host` that obeys messages itself, or `auto`: a host that advertises in DCBX which of
    /// these it is. Default: `switch`.
    pub attached: Option<AttachedKind>,
    /// Location of congestion at this port in messages: `incast` at the edge, `in_network`, or
    /// `auto`, derived from the link partner and Topology Recognition. Default: `auto`.
    pub congestion_locator: Option<CongestionLocator>,
    /// Source flow control settings that override the switch's `sfc`. Default: none.
    pub sfc: Option<PortSfc>,
    /// Congestion isolation: addresses and the peer of this port. Default: none.
    pub congestion_isolation: Option<PortIsolation>,
    /// Notification settings that override the switch's `fast_cnp`. Default: none.
    pub fast_cnp: Option<PortFastCnp>,
    /// Congestion point settings that override the switch's `qcn`. Default: none.
    pub qcn: Option<PortQcn>,
}

/// Shaping of egress traffic. YAML 1.1 tools write `on` and `off` as booleans.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Shaping {
    /// On for virtual devices and for interfaces with a `rate`, off for NICs.
    #[default]
    Auto,
    /// Always.
    #[serde(alias = "true")]
    On,
    /// Never.
    #[serde(alias = "false")]
    Off,
}

/// Core of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Core {
    /// One that no other worker has.
    Auto,
    /// Not pinned.
    None,
    /// The core of this number.
    Number(usize),
}

word_or! {
    Core "Core" enum "auto" Auto | "none" None or number usize as Number:
        "`auto`, `none` or the number of a core";
}

/// The link between this port and its peer.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Cable length, one way, in metres. Default: `0` for a virtual device and 100 for a NIC, the
    /// length in the examples of IEEE 802.1Q.
    pub length: Option<Length>,
    /// Physical layer, which sets the interface delay of IEEE 802.3 at both ends. `auto` is `none`
    /// for a virtual device and the BASE-R type of the rate for a NIC. Default: `auto`.
    pub phy: Option<PhyName>,
    /// Forward error correction, if optional: `rs` at 25G and 100G, `base_r` at 40G and 100G; it
    /// adds delay at both ends. Default: `none`.
    pub fec: Option<Fec>,
    /// Time from the peer's reception of a PFC frame to its last frame start, up to 1 s. Default:
    /// `100us` for a virtual device, whose peer is software, and 614.4 ns for a NIC, the limit of
    /// IEEE 802.1Q.
    pub peer_response: Option<Span>,
    /// Bytes that a software peer has already given to its device when it reads a PFC frame; they
    /// are still sent. Default: `0`; a peer that paces its frames has none there.
    pub peer_committed: Option<Size>,
    /// Longest time between two polls of this port, up to 1 s; frames that arrive in it are not yet
    /// charged to the buffer. Default: `100us`, which a core with other work exceeds occasionally:
    /// 2 ms is safe on a busy machine.
    pub poll_gap: Option<Span>,
}

/// A physical layer, by its name in IEEE 802.3.
// `auto` and `none` are no `Phy` of their own: the device and the rate decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub enum PhyName {
    /// Derived from the device and its rate.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// None: frames are passed in memory.
    #[serde(rename = "none")]
    None,
    /// SR, LR, ER and direct-attach copper.
    #[serde(rename = "10GBASE-R")]
    Base10R,
    /// Twisted pair.
    #[serde(rename = "10GBASE-T")]
    Base10T,
    /// One lane of 25G.
    #[serde(rename = "25GBASE-R")]
    Base25R,
    /// SR4 and LR4.
    #[serde(rename = "40GBASE-R")]
    Base40R,
    /// Direct-attach copper.
    #[serde(rename = "40GBASE-CR4")]
    Base40Cr4,
    /// All but CR10.
    #[serde(rename = "100GBASE-R")]
    Base100R,
    /// Ten lanes of copper.
    #[serde(rename = "100GBASE-CR10")]
    Base100Cr10,
    /// 200G.
    #[serde(rename = "200GBASE-R")]
    Base200R,
    /// 400G.
    #[serde(rename = "400GBASE-R")]
    Base400R,
    /// 800G (802.3df); its delays are assumed to be those of 400GBASE-R.
    #[serde(rename = "800GBASE-R")]
    Base800R,
    /// 1.6T (802.3dj, a draft); its delays are assumed to be those of 400GBASE-R.
    #[serde(rename = "1.6TBASE-R")]
    Base1600R,
}

/// VLAN membership.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vlan {
    /// VLAN of untagged frames, 1 to 4094, or 0 to refuse them. Default: the only VLAN in
    /// `untagged`, or 1 if no VLAN is configured, or 0 if all are tagged.
    pub pvid: Option<u16>,
    /// VLANs whose frames are sent tagged: numbers and ranges. Default: none.
    #[serde(default)]
    pub tagged: Vec<VlanRange>,
    /// VLANs whose frames are sent untagged. Default: the PVID.
    #[serde(default)]
    pub untagged: Vec<VlanRange>,
}

/// Maps of a port, as `{from: to}`; `from` may be a range, and values without an entry keep their
/// default.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Maps {
    /// PCP (0 to 7) to priority. Default: the same number (SONiC's DOT1P_TO_TC_MAP).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pcp_to_priority: BTreeMap<Range, u8>,
    /// DSCP (0 to 63) to priority. Default: the class selector, the upper three of its six bits
    /// (RFC 2474 4.2.2), so RoCE's usual 24 and 26 map to 3 and its CNPs' 48 to 6.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dscp_to_priority: BTreeMap<Range, u8>,
    /// Priority to ingress priority group. Default: the same number; all to 0 with `pause`, which
    /// is not per priority.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub priority_to_group: BTreeMap<Range, u8>,
    /// Priority to egress queue (traffic class). Default: the same number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub priority_to_queue: BTreeMap<Range, u8>,
}

/// Priority-based flow control (IEEE 802.1Q clause 36).
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pfc {
    /// Priorities for which PFC is sent and obeyed, 0 to 7. Default: `[3, 4]`, as in SONiC.
    pub enable: Option<Vec<u8>>,
    /// Priorities for which PFC is sent, if different from `enable`.
    pub send: Option<Vec<u8>>,
    /// Priorities for which PFC is obeyed, if different from `enable`.
    pub obey: Option<Vec<u8>>,
    /// Pause time of every XOFF in quanta of 512 bit times, 1 to 65535. Default: `65535`, so that a
    /// lost refresh does least harm; XON ends the pause early.
    pub quanta: Option<u16>,
    /// Time after an XOFF at which it is repeated while the group stays in XOFF, or `auto` for half
    /// the pause time; at least the time of four PFC frames at the port's rate, so that data can be
    /// sent. Default: `auto`. The sum with `link.poll_gap` must be below the pause time.
    #[serde(default, skip_serializing_if = "Refresh::is_auto")]
    pub refresh: Refresh,
}

/// Link-wide PAUSE.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// True to send PAUSE. Default: `true`.
    pub send: Option<bool>,
    /// True to obey PAUSE. Default: `true`.
    pub obey: Option<bool>,
    /// Pause time in quanta of 512 bit times, 1 to 65535. Default: `65535`.
    pub quanta: Option<u16>,
    /// Time after which PAUSE is repeated, as for PFC. Default: `auto`.
    #[serde(default, skip_serializing_if = "Refresh::is_auto")]
    pub refresh: Refresh,
}

settings! {
/// Storm watchdog (SONiC's pfcwd).
pub struct Watchdog {
    /// True to start it with the switch; `sluice ctl set watchdog.enabled` changes it at run time.
    /// Default: `true`.
    pub enabled: Option<bool> => "enabled",
    /// Time that a queue with frames must be paused, without sending any, to be in a storm.
    /// Default: `200ms`; SONiC accepts 100 ms to 5 s.
    pub detection: Option<Span>,
    /// Time without a pause after which the queue is released. Default: twice `detection`.
    pub restoration: Option<Span>,
    /// Action on a queue in a storm: `drop` its frames, `forward` them in spite of the pause, or
    /// `alert` only. Default: `drop`, which keeps the storm from spreading.
    pub action: Option<StormAction>,
}
}

/// An egress queue.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Strict priority (802.1Q 8.6.8.1). Default: `true` unless `weight` is given.
    pub strict: Option<bool>,
    /// Weight, 1 to 65535: the queue's share of the bandwidth that strict queues leave, relative to
    /// the other weights; percentages are possible (ETS, 802.1Q 8.6.8.4). Default: none; the queue
    /// is strict.
    pub weight: Option<u16>,
    /// ECN marking. Default: none.
    pub ecn: Option<Ecn>,
    /// Limit of the queue's use of the shared pool. Default: `{unlimited: true}`; ingress groups
    /// are limited already. Refused on a queue of a lossless priority, because it would drop.
    pub limit: Option<Shared>,
}

/// RED-like ECN marking (RFC 3168) for DCQCN.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ecn {
    /// Queue length in bytes below which no frame is marked, or as a share of the port's buffer,
    /// `25%`: its equal part of `buffer.total`. Default: 4 KB per Gb/s of the port's rate (40 KB at
    /// 10G, 400 KB at 100G), as in HPCC's DCQCN configuration.
    pub kmin: Option<Threshold>,
    /// Queue length above which every frame is marked, in bytes or as a share of the port's buffer.
    /// Default: four times `kmin`.
    pub kmax: Option<Threshold>,
    /// Marking probability just below `kmax`. Default: `20%`, from the same source.
    pub pmax: Option<Ratio>,
    /// Time of marking: when a frame joins the queue (`enqueue`), or when it leaves (`dequeue`), by
    /// the queue behind it, which informs the sender sooner (`fast_ecn` is another name of that).
    /// With `queue`, by the queue that a frame joins, and if that exceeds `kmax`, all frames that it
    /// holds are marked too. Default: `enqueue`.
    pub at: Option<MarkPoint>,
    /// Treatment of a frame that is not ECN-capable if the curve selects it: `pass`, `drop`,
    /// `chance` (dropped up to `kmax`, passed above it), or `letter` (dropped up to `kmax`, marked
    /// above it, as overviews of ECN say and RFC 3168 forbids). Default: `pass`, and the only choice
    /// on a queue of a lossless priority.
    pub not_ect: Option<NotEct>,
}

/// Time of marking.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MarkPoint {
    /// By the queue length when a frame joins.
    #[default]
    Enqueue,
    /// By the queue length when a frame leaves.
    Dequeue,
    /// The same, by the name that it has in overviews.
    #[serde(rename = "fast_ecn")]
    FastEcn,
    /// By the queue length when a frame joins; above `kmax`, also all frames in the queue.
    Queue,
}

/// Time after which a pause is repeated: a duration or `auto`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Refresh {
    /// Half the pause time.
    #[default]
    Auto,
    /// A configured duration.
    After(Span),
}

impl Refresh {
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

word_or! {
    Refresh "Refresh" const "auto" Auto or text Span as After: "`auto` or a span of time such as 50us";
}
