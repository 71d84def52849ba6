//! The congestion features that ports and their neighbours advertise.

use serde::{Deserialize, Serialize};

use discovery::{CongestionIsolation, Device, Orientation, PeerDcbx, SourceFlowControl, Topology};

/// A place in the network (802.1Qcz, Topology Recognition).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlaceSummary {
    /// `end_station`, `bridge`, `router` or `unknown`.
    pub device: String,
    /// The level, 0 at the edge; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// Orientation of the port: `uplink`, `downlink`, `crosslink` or `unknown`.
    pub orientation: String,
}

/// The destination of congestion isolation messages (802.1Qcz).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct IsolationSummary {
    /// By traffic class: 0 takes no part, n is monitored for the congesting class n - 1, -n is the
    /// congesting class of the monitored class n - 1.
    pub queue_map: [i8; 8],
    /// Number of frame bytes to encapsulate.
    pub encapsulation: u16,
    /// Destination MAC address of layer-2 messages.
    pub mac: String,
    /// Destination IP address, for messages over UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Destination port.
    pub udp_port: u16,
}

/// The source flow control features (P802.1Qdw).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SfcSummary {
    /// True if the system sends messages.
    pub point: bool,
    /// True if the system converts messages to PFC.
    pub proxy: bool,
    /// The objects that a message pauses: any of `flow` and `priority`.
    pub obeys: Vec<String>,
    /// Port on which messages are received.
    pub udp_port: u16,
}

/// Features that a neighbour advertises beside the negotiated ones.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SaidSummary {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<PlaceSummary>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationSummary>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sfc: Option<SfcSummary>,
}

impl PlaceSummary {
    pub(super) fn new(place: &Topology) -> Self {
        let device = match place.device {
            Device::EndStation => "end_station",
            Device::Bridge => "bridge",
            Device::Router => "router",
            Device::Unknown => "unknown",
        };
        let orientation = match place.orientation {
            Orientation::Uplink => "uplink",
            Orientation::Downlink => "downlink",
            Orientation::Crosslink => "crosslink",
            Orientation::Unknown => "unknown",
        };
        Self { device: device.into(), level: place.level, orientation: orientation.into() }
    }

    fn text(&self) -> String {
        let level = self.level.map_or_else(|| "level unknown".into(), |n| format!("level {n}"));
        format!("{}, {level}", self.device.replace('_', " "))
    }
}

impl SaidSummary {
    pub(super) fn new(said: &PeerDcbx) -> Self {
        Self {
            topology: said.topology.as_ref().map(PlaceSummary::new),
            isolation: said.isolation.as_ref().map(IsolationSummary::new),
            sfc: said.sfc.as_ref().map(SfcSummary::new),
        }
    }

    /// Returns the features in one line; empty if there are none.
    #[must_use]
    pub fn text(&self) -> String {
        let place = self.topology.as_ref().map(PlaceSummary::text);
        let isolation = self.isolation.as_ref().map(IsolationSummary::text);
        let sfc = self.sfc.as_ref().map(SfcSummary::text);
        let parts: Vec<_> = [place, isolation, sfc].into_iter().flatten().collect();
        parts.join("; ")
    }
}

impl IsolationSummary {
    fn new(said: &CongestionIsolation) -> Self {
        Self {
            queue_map: said.queue_map,
            encapsulation: said.encapsulation,
            mac: said.mac.to_string(),
            address: said.address.map(|address| address.to_string()),
            udp_port: said.udp_port,
        }
    }

    fn text(&self) -> String {
        match &self.address {
            None => format!("congestion isolation messages to {}", self.mac),
            Some(ip) => format!("congestion isolation messages to {ip} port {}", self.udp_port),
        }
    }
}

impl SfcSummary {
    fn new(said: &SourceFlowControl) -> Self {
        let obeys = [(said.by_flow, "flow"), (said.by_priority, "priority")];
        let obeys = obeys.into_iter().filter(|(does, _)| *does).map(|(_, what)| what.to_owned());
        let (point, proxy, udp_port) = (said.point, said.proxy, said.udp_port);
        Self { point, proxy, obeys: obeys.collect(), udp_port }
    }

    fn text(&self) -> String {
        let obeys = match self.obeys.join(" and ") {
            none if none.is_empty() => "obeys no messages".into(),
            what => format!("obeys messages by {what}"),
        };
        let roles = [(self.point, "point"), (self.proxy, "proxy")];
        let mut roles: Vec<_> =
            roles.into_iter().filter(|(is, _)| *is).map(|(_, name)| name.to_owned()).collect();
        roles.push(obeys);
        format!("SFC {} (UDP port {})", roles.join(", "), self.udp_port)
    }
}
