//! A port: its device, its link, and how it treats each priority.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::agents::{Headroom, Measurement, Ptp};
use super::buffer::Shared;
use super::congestion::{AttachedName, LocatorName, PortFastCnp, PortIsolation, PortQcn, PortSfc};
use super::discovery::{Dcbx, Lldp};
use super::keys::{Range, VlanRange};
use super::macsec::Macsec;
use crate::config::quantity::{Length, LinkRate, Ratio, Size, Span};

/// A port. Only `device` is needed.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Its name in results and in the rest of this file. Default: the device's, up to the first comma.
    pub name: Option<String>,
    /// The DPDK device: a PCI address (`0000:3b:00.0`) or a virtual device with its arguments
    /// (`net_af_packet0,iface=v0`, `net_null0`, `net_pcap0,rx_pcap=in.pcap,tx_pcap=out.pcap`).
    pub device: Option<String>,
    /// The core whose worker polls this port. Ports that name the same core share its worker.
    /// Default: one worker, not pinned, for all ports that name none.
    pub core: Option<usize>,
    /// Frames in the receive ring, 32 to 32768. Default: `1024`. What waits there is not yet in the
    /// buffer's books, so a longer ring can ask for more headroom.
    pub rx_descriptors: Option<u16>,
    /// Frames in the transmit ring, 32 to 32768. Default: `512`, and 128 for a port that is not
    /// shaped and sends PFC or PAUSE: its PFC frames wait behind all that is in the ring, and all
    /// of that is headroom.
    pub tx_descriptors: Option<u16>,
    /// Whether the NIC itself is told to send and obey PFC, where its driver can
    /// (`rte_eth_dev_priority_flow_ctrl_queue_configure`). Default: `false`: Sluice does both.
    pub hardware_pfc: Option<bool>,
    /// The MAC address of frames the port itself sends. Default: a locally administered one made
    /// of the switch's name and the port's number, so that it is the same at every start.
    pub mac: Option<String>,
    /// The rate of the link in bit/s. Default: `10G`, and for a NIC what it negotiates, up to that.
    pub rate: Option<LinkRate>,
    /// Whether what is sent is shaped to `rate`: `on`, `off`, or `auto`: on for virtual devices,
    /// which would otherwise be as fast as the core, and off for NICs, which have a clock.
    /// Default: `auto`.
    pub shaped: Option<Shaping>,
    /// The link's length and what stands at its ends; terms of the headroom.
    #[serde(default)]
    pub link: Link,
    /// VLAN membership.
    #[serde(default)]
    pub vlan: Vlan,
    /// Which field of a frame decides its priority. Default: `pcp_then_dscp`.
    pub trust: Option<Trust>,
    /// The priority of frames without the trusted field, 0 to 7. Default: `0`.
    pub default_priority: Option<u8>,
    /// The maps between priorities and the rest.
    #[serde(default)]
    pub maps: Maps,
    /// The buffer profile of each ingress priority group: `{3: lossless, 0-2: lossy}`. Default: for
    /// groups whose priorities PFC (or PAUSE) protects `lossless`, for all others `lossy`.
    #[serde(default)]
    pub priority_groups: BTreeMap<Range, String>,
    /// Priority-based flow control. Default: none; never together with `pause`.
    pub pfc: Option<Pfc>,
    /// Link-wide PAUSE (IEEE 802.3 Annex 31B). Default: none; never together with `pfc`.
    pub pause: Option<Pause>,
    /// The storm watchdog of the queues that obey PFC. Default: none.
    pub watchdog: Option<Watchdog>,
    /// Egress queues (traffic classes) that differ from the default: `{3: {weight: 50}, 6: {}}`.
    #[serde(default)]
    pub queues: BTreeMap<Range, Queue>,
    /// Where the headroom of lossless groups comes from: `computed` from what is said in `link`, or
    /// `auto`: computed at first, and set anew from what the port measures whenever its link comes
    /// up. `{auto: {...}}` says how. Default: `computed`.
    pub headroom: Option<Headroom>,
    /// The request/response measurement of the link. Default: none, unless headroom is found so.
    pub measurement: Option<Measurement>,
    /// PTP's peer delay. Default: none, unless headroom is found so.
    pub ptp: Option<Ptp>,
    /// LLDP. `{}` turns it on. Default: off, unless there is `dcbx`.
    pub lldp: Option<Lldp>,
    /// DCBX. `{}` turns it on. Default: off.
    pub dcbx: Option<Dcbx>,
    /// MACsec. Default: none.
    pub macsec: Option<Box<Macsec>>,
    /// What is at the other end, for source flow control: a `switch`, a `host` that knows PFC alone,
    /// an `sfc_host` that obeys messages by itself, or `auto`: a host that says by DCBX which it is.
    /// Default: `switch`.
    pub attached: Option<AttachedName>,
    /// Where congestion at this port is, which messages say: `incast`, at the edge, `in_network`, or
    /// `auto`, as what is attached and Topology Recognition have it. Default: `auto`.
    pub congestion_locator: Option<LocatorName>,
    /// Source flow control where this port differs from the switch's `sfc`. Default: nowhere.
    pub sfc: Option<PortSfc>,
    /// Congestion isolation: addresses and the peer of this port. Default: none of its own.
    pub congestion_isolation: Option<PortIsolation>,
    /// Notifications where this port differs from the switch's `fast_cnp`. Default: nowhere.
    pub fast_cnp: Option<PortFastCnp>,
    /// Congestion points where this port differs from the switch's `qcn`. Default: nowhere.
    pub qcn: Option<PortQcn>,
}

/// Whether egress is shaped. Tools that still read YAML 1.1 write `on` and `off` as booleans.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Shaping {
    /// On for virtual devices, off for NICs.
    #[default]
    Auto,
    /// Always.
    #[serde(alias = "true")]
    On,
    /// Never.
    #[serde(alias = "false")]
    Off,
}

/// The link between this port and its peer.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The cable's length, one way, in metres. Default: `0` for a virtual device and 100 for a NIC,
    /// the length that the examples of IEEE 802.1Q have.
    pub length: Option<Length>,
    /// The physical layer, which decides the interface delay of IEEE 802.3 at both ends. `auto`
    /// is `none` for a virtual device and for a NIC the BASE-R kind of its rate. Default: `auto`.
    pub phy: Option<PhyName>,
    /// Forward error correction, where it is an option: `rs` at 25G and 100G, `base_r` at 40G and
    /// 100G; it takes time at both ends. Default: `none`.
    pub fec: Option<FecName>,
    /// How long the peer takes from having received a PFC frame to starting no further frame, up
    /// to 1 s. Default: `100us` for a virtual device, whose peer is software, and 614.4 ns for a
    /// NIC, which is what IEEE 802.1Q allows.
    pub peer_response: Option<Span>,
    /// What a peer in software has given to its device when it takes a PFC frame in, in octets;
    /// it still sends that. Default: `0`; a peer that paces what it sends has nothing there.
    pub peer_committed: Option<Size>,
    /// The longest time between two polls of this port, up to 1 s; what arrives meanwhile is not
    /// in the books yet. Default: `100us`, which a core that has other work to do exceeds now and
    /// then: 2 ms is a safe choice on a busy machine.
    pub poll_gap: Option<Span>,
}

/// A physical layer, by the name that IEEE 802.3 gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub enum PhyName {
    /// By the device and its rate.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// None: frames go from memory to memory.
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

/// Forward error correction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FecName {
    /// None, or the one that the physical layer always has.
    #[default]
    None,
    /// BASE-R FEC (clause 74).
    BaseR,
    /// RS-FEC (clauses 91 and 108).
    Rs,
}

/// VLAN membership.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vlan {
    /// The VLAN of untagged frames, 1 to 4094, or 0 to refuse them. Default: the only VLAN in
    /// `untagged`, or 1 when no VLAN is given at all, or 0 when all are tagged.
    pub pvid: Option<u16>,
    /// VLANs whose frames leave tagged: numbers and ranges. Default: none.
    #[serde(default)]
    pub tagged: Vec<VlanRange>,
    /// VLANs whose frames leave untagged. Default: the PVID.
    #[serde(default)]
    pub untagged: Vec<VlanRange>,
}

/// Which field of a frame decides its priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The PCP of the VLAN tag, else the port's default.
    Pcp,
    /// The DSCP of an IP packet, else the port's default.
    Dscp,
    /// The PCP, else the DSCP, else the port's default.
    #[default]
    PcpThenDscp,
    /// The DSCP, else the PCP, else the port's default.
    DscpThenPcp,
    /// The port's default alone.
    Port,
}

/// The maps of a port, as `{from: to}`; a range may stand for `from`, and what is not named keeps
/// its default.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Maps {
    /// PCP (0 to 7) to priority. Default: the same number (SONiC's DOT1P_TO_TC_MAP).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pcp_to_priority: BTreeMap<Range, u8>,
    /// DSCP (0 to 63) to priority. Default: the class selector, the upper three of its six bits
    /// (RFC 2474 4.2.2), so RoCE's usual 24 and 26 go to 3 and its CNPs' 48 to 6.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dscp_to_priority: BTreeMap<Range, u8>,
    /// Priority to ingress priority group. Default: the same number; all to 0 with `pause`, which
    /// cannot tell them apart.
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
    /// Priorities for which PFC is sent and obeyed, 0 to 7. Default: `[3, 4]`, as SONiC has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable: Option<Vec<u8>>,
    /// Priorities for which PFC is sent, where that differs from `enable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<Vec<u8>>,
    /// Priorities for which PFC is obeyed, where that differs from `enable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obey: Option<Vec<u8>>,
    /// The pause time of every XOFF in quanta of 512 bit times, 1 to 65535. Default: `65535`, so
    /// that a lost refresh does the least harm; XON ends it early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quanta: Option<u16>,
    /// How long after an XOFF the next one is sent while the group is still full, or `auto` for
    /// half the pause time. Default: `auto`. With `link.poll_gap` it must be below the pause time, and
    /// at least the time of four PFC frames at the port's rate, so that data has a turn.
    #[serde(default, skip_serializing_if = "Refresh::is_auto")]
    pub refresh: Refresh,
}

/// Link-wide PAUSE.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Whether this port sends PAUSE. Default: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<bool>,
    /// Whether this port obeys PAUSE. Default: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obey: Option<bool>,
    /// The pause time in quanta of 512 bit times, 1 to 65535. Default: `65535`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quanta: Option<u16>,
    /// When PAUSE is sent again, as for PFC. Default: `auto`.
    #[serde(default, skip_serializing_if = "Refresh::is_auto")]
    pub refresh: Refresh,
}

/// The storm watchdog (SONiC's pfcwd).
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watchdog {
    /// True if it runs from the start; `sluice ctl set watchdog.enabled` changes that. Default: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// How long a queue with frames must be paused without sending one. Default: `200ms`; SONiC
    /// takes 100 ms to 5 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detection: Option<Span>,
    /// How long no pause must have come in before the queue is released. Default: twice
    /// `detection`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restoration: Option<Span>,
    /// What is done in between: `drop` the queue's frames, `forward` them in spite of the pause,
    /// or `alert` only. Default: `drop`, which keeps a storm from spreading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
}

/// What the watchdog does to a stormed queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Drops its frames.
    #[default]
    Drop,
    /// Ignores the pauses.
    Forward,
    /// Counts and reports.
    Alert,
}

/// An egress queue.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Strict priority (802.1Q 8.6.8.1). Default: `true` unless `weight` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// The queue's share, 1 to 65535, of what strict queues leave, relative to the other weights;
    /// write percent if you like (ETS, 802.1Q 8.6.8.4). Default: none; the queue is strict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u16>,
    /// ECN marking. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Ecn>,
    /// How much of the shared pool the queue may hold. Default: `{unlimited: true}`; the ingress
    /// groups are limited already. Refused on a queue of a lossless priority, as it would drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Shared>,
}

/// RED-like ECN marking (RFC 3168), the switch's part of DCQCN.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ecn {
    /// Queue length in octets below which nothing is marked. Default: 4 KB per Gb/s of the port's
    /// rate (40 KB at 10G, 400 KB at 100G), as HPCC's DCQCN set-up has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmin: Option<Size>,
    /// Queue length in octets above which everything is marked. Default: four times `kmin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmax: Option<Size>,
    /// The probability just below `kmax`. Default: `20%`, of the same source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmax: Option<Ratio>,
    /// Whether a frame is marked by the queue it joins (`enqueue`) or by the one it leaves behind
    /// (`dequeue`), which tells the sender sooner. Default: `enqueue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<MarkPoint>,
    /// What becomes of a frame that is not ECN-capable when the curve picks it: `pass` or `drop`.
    /// Default: `pass`, and the only choice on a queue of a lossless priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_ect: Option<NotEctAction>,
}

/// When a frame is marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MarkPoint {
    /// By the queue it joins.
    #[default]
    Enqueue,
    /// By the queue it leaves behind.
    Dequeue,
}

/// What becomes of a picked frame that is not ECN-capable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NotEctAction {
    /// It passes.
    #[default]
    Pass,
    /// It is dropped.
    Drop,
}

/// When a pause is sent again: a span or `auto`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Refresh {
    /// Half the pause time.
    #[default]
    Auto,
    /// As given.
    After(Span),
}

impl Refresh {
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

impl Serialize for Refresh {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => s.serialize_str("auto"),
            Self::After(span) => span.serialize(s),
        }
    }
}

struct RefreshReader;

impl Visitor<'_> for RefreshReader {
    type Value = Refresh;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`auto` or a span of time such as 50us")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Refresh, E> {
        if text == "auto" {
            return Ok(Refresh::Auto);
        }
        text.parse().map(Refresh::After).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Refresh, E> {
        self.visit_str(&n.to_string())
    }

    fn visit_f64<E: de::Error>(self, n: f64) -> Result<Refresh, E> {
        self.visit_str(&n.to_string())
    }
}

impl<'de> Deserialize<'de> for Refresh {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(RefreshReader)
    }
}

impl JsonSchema for Refresh {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Refresh")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let span = generator.subschema_for::<Span>();
        json_schema!({ "anyOf": [{ "const": "auto" }, span] })
    }
}
