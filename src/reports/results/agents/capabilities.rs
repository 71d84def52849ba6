//! The congestion features that ports and their neighbours advertise.

use serde::{Deserialize, Serialize};

use discovery::{CongestionIsolation, Device, PeerDcbx, SourceFlowControl, Topology};

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
    pub topology: Option<Topology>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<CongestionIsolation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sfc: Option<SfcSummary>,
}

impl SaidSummary {
    pub(super) fn new(said: &PeerDcbx) -> Self {
        Self {
            topology: said.topology,
            isolation: said.isolation,
            sfc: said.sfc.as_ref().map(SfcSummary::new),
        }
    }

    /// Returns the features in one line; empty if there are none.
    #[must_use]
    pub fn text(&self) -> String {
        let place = self.topology.as_ref().map(place);
        let isolation = self.isolation.as_ref().map(isolation);
        let sfc = self.sfc.as_ref().map(SfcSummary::text);
        let parts: Vec<_> = [place, isolation, sfc].into_iter().flatten().collect();
        parts.join("; ")
    }
}

fn place(of: &Topology) -> String {
    let device = match of.device {
        Device::EndStation => "end station",
        Device::Bridge => "bridge",
        Device::Router => "router",
        Device::Unknown => "unknown",
    };
    let level = of.level.map_or_else(|| "level unknown".into(), |n| format!("level {n}"));
    format!("{device}, {level}")
}

fn isolation(of: &CongestionIsolation) -> String {
    match of.address {
        None => format!("congestion isolation messages to {}", of.mac),
        Some(ip) => format!("congestion isolation messages to {ip} port {}", of.udp_port),
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
