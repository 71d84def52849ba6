//! Switch profiles: the buffer and port configuration of a switch file, for any number of switches.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use config::quantity::Size;
use config::raw::{
    AttachedKind, Buffer, CongestionIsolation, CongestionLocator, Dcbx, FastCnp, Headroom,
    Learning, Lldp, Macsec, Maps, Measurement, Pause, Pfc, Port, Ptp, Qcn, Queue, Range, Sfc,
    SfcProxy, Trust, Watchdog,
};
use config::{Congestion, HeadroomRule};

/// A switch profile. The `buffer` and `defaults` sections of a switch file can be copied here.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Longest frame that is forwarded, in bytes, FCS included, 64 to 16384. Default: `1526`.
    /// Headroom includes it three times.
    pub max_frame: Option<Size>,
    /// Action if a configured headroom size is less than the link's round trip requires: `refuse`,
    /// `warn`, or `off` for labs that demonstrate the loss. Default: `refuse`.
    pub headroom_check: Option<HeadroomRule>,
    /// Memory shared by all ports. Cells may be as small as one byte here. `auto` headroom is
    /// calculated from the round trip of each port's link: length or delay, PHY at both ends, the
    /// peer's response time, rate and longest frame.
    #[serde(default, skip_serializing_if = "is_default")]
    pub buffer: Buffer,
    /// Default configuration of every port.
    #[serde(default, skip_serializing_if = "is_default")]
    pub defaults: PortDefaults,
    /// Addresses are learnt, and frames to others are flooded; in labs of one switch alone, because
    /// flooding in a network with loops would never end. `{}` enables it. Default: none; the switches
    /// know where all hosts are.
    pub bridge: Option<Learning>,
    /// Source flow control (SFC) at the egress queues. `{}` enables it. Default: none.
    pub sfc: Option<Sfc>,
    /// Congestion isolation. Each switch knows its isolating peers, unless `isolation` in
    /// `defaults.dcbx` makes LLDP find them. Default: none.
    pub congestion_isolation: Option<CongestionIsolation>,
    /// Proxy that converts source flow control messages to PFC, for hosts without `sfc`. `{}`
    /// enables it. Default: none.
    pub sfc_proxy: Option<SfcProxy>,
    /// RoCEv2 congestion notification packets sent by the switch. `{}` enables them. Default: none.
    pub fast_cnp: Option<FastCnp>,
    /// Quantized Congestion Notification. `{}` enables it. Default: none.
    pub qcn: Option<Qcn>,
}

impl Profile {
    /// The congestion sections.
    pub const fn congestion(&self) -> Congestion<'_> {
        // Without `..`: a new section is either one of these or named here as another.
        let Self {
            max_frame: _,
            headroom_check: _,
            buffer: _,
            defaults: _,
            bridge: _,
            sfc,
            congestion_isolation,
            sfc_proxy,
            fast_cnp,
            qcn,
        } = self;
        Congestion {
            sfc: sfc.as_ref(),
            isolation: congestion_isolation.as_ref(),
            proxy: sfc_proxy.as_ref(),
            fast_cnp: fast_cnp.as_ref(),
            qcn: qcn.as_ref(),
        }
    }
}

/// Ports of a switch. Their names, rates and lengths are those of the links.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortDefaults {
    /// Source of a frame's priority. Default: `pcp_then_dscp`, which is the DSCP for the untagged
    /// frames of a lab's flows.
    pub trust: Option<Trust>,
    /// Priority of frames without the trusted field, 0 to 7. Default: `0`.
    pub default_priority: Option<u8>,
    /// Maps between priorities, DSCP, priority groups and queues.
    #[serde(default, skip_serializing_if = "is_default")]
    pub maps: Maps,
    /// Buffer profile of each ingress priority group. Default: for groups whose priorities are
    /// protected by PFC (or PAUSE) `lossless`, for all others `lossy`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub priority_groups: BTreeMap<Range, String>,
    /// Priority-based flow control. Default: none; excludes `pause`.
    pub pfc: Option<Pfc>,
    /// Link-wide PAUSE (IEEE 802.3 Annex 31B). Default: none; excludes `pfc`.
    pub pause: Option<Pause>,
    /// PFC storm watchdog of the queues that obey PFC. Default: none.
    pub watchdog: Option<Watchdog>,
    /// Egress queues (traffic classes) that differ from the default. Default: all strict priority,
    /// without ECN and limits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, Queue>,
    /// Source of the headroom of lossless groups: `computed` from the link's parameters, or `auto`:
    /// computed at first, and updated from the port's measurements. With `auto` the peer answers
    /// measurements unless configured otherwise. Default: `computed`.
    pub headroom: Option<Headroom>,
    /// Request/response measurement of the link delay (IEEE P802.1Qdt). Default: none, unless
    /// `headroom` is `auto`.
    pub measurement: Option<Measurement>,
    /// PTP peer delay measurement. Default: none, unless `headroom` is `auto`.
    pub ptp: Option<Ptp>,
    /// LLDP. `{}` enables it. Default: off, unless `dcbx` is set.
    pub lldp: Option<Lldp>,
    /// DCBX. `{}` enables it. Default: off.
    pub dcbx: Option<Dcbx>,
    /// MACsec. The peers' secure channels need no identifiers. Default: none, unless the link has
    /// it.
    pub macsec: Option<Box<Macsec>>,
    /// Type of the hosts at host ports: `host` (PFC only), `sfc_host` (obeys source flow control
    /// messages), `auto` (as DCBX advertises), or `switch`. Default: the host's type, from its
    /// `sfc`. Ports between switches are detected.
    pub attached: Option<AttachedKind>,
    /// Congestion locator in the messages of these ports: `incast`, `in_network`, or `auto`, from
    /// the lab and Topology Recognition. Default: `auto`.
    pub congestion_locator: Option<CongestionLocator>,
}

impl PortDefaults {
    /// The same configuration as a port of a switch file; fields that a profile does not have are
    /// those of a link, or of one port alone.
    pub fn as_port(&self) -> Port {
        // Without `..`: a new field compiles only once it is handled here.
        let Self {
            trust,
            default_priority,
            maps,
            priority_groups,
            pfc,
            pause,
            watchdog,
            queues,
            headroom,
            measurement,
            ptp,
            lldp,
            dcbx,
            macsec,
            attached,
            congestion_locator,
        } = self.clone();
        Port {
            trust,
            default_priority,
            maps,
            priority_groups,
            pfc,
            pause,
            watchdog,
            queues,
            headroom,
            measurement,
            ptp,
            lldp,
            dcbx,
            macsec,
            attached,
            congestion_locator,
            // What is left belongs to a single port, such as its name and its link.
            ..Port::default()
        }
    }
}
