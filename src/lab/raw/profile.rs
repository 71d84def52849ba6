//! Switch profiles: what a switch file says of its buffer and its ports, for any number of
//! switches.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::silent;
use crate::config::Congestion;
use crate::config::quantity::Size;
use crate::config::raw::{
    AttachedName, Buffer, CongestionIsolation, Dcbx, FastCnp, Headroom, Lldp, LocatorName, Macsec,
    Maps, Measurement, Pause, Pfc, Port, Ptp, Qcn, Queue, Range, Sfc, SfcProxy, Trust, Watchdog,
};

/// A kind of switch, in the words of a switch file: its `buffer` and `defaults` can be copied here.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The longest frame forwarded, in octets, FCS included, 64 to 16384. Default: `1526`. It is a
    /// term of the headroom, three times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_frame: Option<Size>,
    /// What is done about headroom that is given as a size and is less than the round trip of a
    /// port's link: `refuse`, `warn`, or `off` for labs that are to show the loss. Default:
    /// `refuse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom_check: Option<HeadroomCheckName>,
    /// The memory that all ports share. Cells may be as small as one octet here. Headroom that is
    /// `auto` is the round trip of each port's link as the lab has it: length or delay, PHY at both
    /// ends, the peer's response, rate and longest frame.
    #[serde(default, skip_serializing_if = "silent")]
    pub buffer: Buffer,
    /// What holds for every port.
    #[serde(default, skip_serializing_if = "silent")]
    pub defaults: PortDefaults,
    /// Source flow control points. `{}` turns them on. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sfc: Option<Sfc>,
    /// Congestion isolation. Each switch knows its neighbours that isolate, too, unless its
    /// `defaults.dcbx` speaks of `isolation` and LLDP is to find them. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_isolation: Option<CongestionIsolation>,
    /// The proxy that turns source flow control messages into PFC, for hosts without `sfc`. `{}` turns
    /// it on. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sfc_proxy: Option<SfcProxy>,
    /// Congestion notifications of RoCEv2 made by the switch. `{}` turns them on. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_cnp: Option<FastCnp>,
    /// Quantized Congestion Notification. `{}` turns it on. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qcn: Option<Qcn>,
}

impl Profile {
    /// What is said of congestion.
    pub(in crate::lab) const fn congestion(&self) -> Congestion<'_> {
        Congestion {
            sfc: self.sfc.as_ref(),
            isolation: self.congestion_isolation.as_ref(),
            proxy: self.sfc_proxy.as_ref(),
            fast_cnp: self.fast_cnp.as_ref(),
            qcn: self.qcn.as_ref(),
        }
    }
}

/// What is done about too little headroom.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeadroomCheckName {
    /// The file is refused.
    #[default]
    Refuse,
    /// It is said.
    Warn,
    /// Nothing. (YAML 1.1 takes the word for a boolean.)
    #[serde(alias = "false")]
    Off,
}

/// The ports of a switch. Names, rates and lengths are those of the links.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortDefaults {
    /// Which field of a frame decides its priority. Default: `pcp_then_dscp`, and so the DSCP for
    /// the frames of a lab's flows, which are not tagged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// The priority of frames without the trusted field, 0 to 7. Default: `0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_priority: Option<u8>,
    /// The maps between priorities and the rest.
    #[serde(default, skip_serializing_if = "silent")]
    pub maps: Maps,
    /// The buffer profile of each ingress priority group. Default: for groups whose priorities PFC
    /// (or PAUSE) protects `lossless`, for all others `lossy`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub priority_groups: BTreeMap<Range, String>,
    /// Priority-based flow control. Default: none; never together with `pause`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc: Option<Pfc>,
    /// Link-wide PAUSE (IEEE 802.3 Annex 31B). Default: none; never together with `pfc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// The storm watchdog of the queues that obey PFC. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<Watchdog>,
    /// Egress queues (traffic classes) that differ from the default. Default: all strict, without
    /// ECN and limits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<Range, Queue>,
    /// Where the headroom of lossless groups comes from: `computed` from the link as the lab has
    /// it, or `auto`: computed at first, and set anew from what the port measures. The other end of
    /// the link answers then, whatever it is, unless it says otherwise. Default: `computed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Headroom>,
    /// The request/response measurement of the links. Default: none, unless headroom is found so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measurement: Option<Measurement>,
    /// PTP's peer delay. Default: none, unless headroom is found so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptp: Option<Ptp>,
    /// LLDP. `{}` turns it on. Default: off, unless there is `dcbx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lldp: Option<Lldp>,
    /// DCBX. `{}` turns it on. Default: off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcbx: Option<Dcbx>,
    /// MACsec. The channels of the other ends need no names. Default: none, unless the link has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macsec: Option<Box<Macsec>>,
    /// What ports to hosts take their hosts for: a `host` that knows PFC alone, an `sfc_host` that
    /// obeys source flow control messages, `auto`, what DCBX says, or a `switch`. Default: what the host
    /// is, by its `sfc`. What ports to switches lead to is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached: Option<AttachedName>,
    /// Where messages say that congestion at these ports is: `incast`, `in_network`, or `auto`, as the
    /// lab and Topology Recognition have it. Default: `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_locator: Option<LocatorName>,
}

impl PortDefaults {
    /// The same as a switch file has it.
    pub(in crate::lab) fn as_port(&self) -> Port {
        Port {
            trust: self.trust,
            default_priority: self.default_priority,
            maps: self.maps.clone(),
            priority_groups: self.priority_groups.clone(),
            pfc: self.pfc.clone(),
            pause: self.pause.clone(),
            watchdog: self.watchdog.clone(),
            queues: self.queues.clone(),
            headroom: self.headroom.clone(),
            measurement: self.measurement.clone(),
            ptp: self.ptp.clone(),
            lldp: self.lldp.clone(),
            dcbx: self.dcbx.clone(),
            macsec: self.macsec.clone(),
            attached: self.attached,
            congestion_locator: self.congestion_locator,
            ..Port::default()
        }
    }
}
