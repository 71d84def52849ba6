//! Results and counters of the link protocols of a port, by name: one form for tables, JSON and
//! metrics, of switches and of labs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counters::{Counters, by_name};
use contracts::port::{StampSource, Stamps};
use discovery::{
    CongestionIsolation, Device, EtsTable, Neighbour, Party, PeerDcbx, PeerState, PfcResolved,
    Refusal, Resolved, SourceFlowControl, Topology,
};
use ground::statistics::Statistics;
use ground::time::{Duration, Instant};
use headroom::Required;
use link::{AgentsSnapshot, AutoState, Found, Sources};
use switch::Headroom;

/// Bits of a pause quantum.
const QUANTUM_BITS: u64 = 512;

/// The link protocols of a port.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AgentsSummary {
    /// The precision of timestamps.
    pub stamps: StampsSummary,
    /// The headroom that the port determines by itself; `None` where it is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<HeadroomSummary>,
    /// The round trip of the last measurement, without the peer's turnaround time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<TimesSummary>,
    /// The turnaround time of the peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turnaround: Option<TimesSummary>,
    /// PTP's mean path delay, one way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_delay: Option<TimesSummary>,
    /// The neighbours of LLDP.
    pub neighbours: Vec<NeighbourSummary>,
    /// The result of DCBX, where it is enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dcbx: Option<DcbxSummary>,
    /// The port's place in the network, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Counters by protocol.
    pub counters: BTreeMap<String, Counters>,
}

/// The precision of timestamps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StampsSummary {
    pub source: String,
    /// The least difference between two timestamps.
    pub resolution_ns: f64,
}

/// Sources of the times of a measured delay, as those of [`StampsSummary`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourcesSummary {
    /// Transmission of the requests.
    pub t1: String,
    /// Their reception by the peer: `peer`, which does not tell the source.
    pub t2: String,
    /// Transmission of the responses by the peer: `peer`.
    pub t3: String,
    /// Reception of the responses.
    pub t4: String,
}

/// Headroom that a port determines by itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HeadroomSummary {
    /// `down`, `waiting` (for DCBX), `measuring`, `found` or `failed`.
    pub state: String,
    /// Required headroom per lossless group; `None` before the first measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<NeedSummary>,
    /// The same without MACsec, if the link has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_macsec: Option<NeedSummary>,
    /// True if the groups have this headroom.
    pub set: bool,
}

/// An amount of headroom.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NeedSummary {
    /// In bytes, rounded up to cells.
    pub bytes: u64,
    /// In cells, if all frames have the most wasteful length.
    pub cells: u64,
    /// The worst case of arriving bits on the line.
    pub bits: u64,
    /// The same in pause quanta of the line.
    pub quanta: u64,
    /// The components in bits, by name.
    pub terms: Vec<(String, i64)>,
}

/// Statistics of one kind of time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TimesSummary {
    /// Number of measurements, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u64>,
    pub min_ns: f64,
    pub mean_ns: f64,
    pub p99_ns: f64,
    pub max_ns: f64,
    /// The value used for the headroom.
    pub chosen_ns: f64,
    /// Maximum error in either direction, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertainty_ns: Option<f64>,
    /// Sources of its four times; absent where all times are exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<SourcesSummary>,
}

/// An LLDP neighbour.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NeighbourSummary {
    pub chassis: String,
    pub port: String,
    /// Empty if it is not advertised.
    pub port_description: String,
    /// Empty if it is not advertised.
    pub system_name: String,
    /// Empty if it is not advertised.
    pub system_description: String,
    /// Remaining time to live.
    pub ttl_s: f64,
    /// True if the neighbour advertises DCBX.
    pub dcbx: bool,
    /// The internal delay that the neighbour advertises, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal_delay_ns: Option<f64>,
    /// Its congestion features.
    #[serde(flatten)]
    pub said: SaidSummary,
    /// Its information that is not used, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// The result of DCBX.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DcbxSummary {
    /// Number of peers; several disable negotiation.
    pub peers: PeerState,
    /// The operational PFC configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pfc: Option<PfcResolved>,
    /// The operational ETS configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ets: Option<EtsSummary>,
    /// The measurement methods that both ends support (`round_trip`, `ptp`), if both advertise
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,
    /// Settings of the peer that have precedence and are not used, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// The operational ETS configuration.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EtsSummary {
    /// Traffic class by priority.
    pub class: [u8; 8],
    /// Percent by traffic class.
    pub bandwidth: [u8; 8],
    /// The algorithm by traffic class: `strict`, `cbs`, `ets`, `ats`, or a number.
    pub algorithm: Vec<String>,
    pub from: Party,
}

impl AgentsSummary {
    /// Summarises a port's link protocols at `now`, and its headroom in a buffer with cells of
    /// `cell_bytes`.
    pub fn new(
        agents: &AgentsSnapshot,
        headroom: Option<&Headroom>,
        cell_bytes: u32,
        now: Instant,
    ) -> Self {
        let measure = agents.measure.as_ref();
        let found = measure.and_then(|m| m.found);
        let rounds = found.map(|found| u64::from(found.rounds));
        let turnaround = measure.and_then(|m| m.turnaround);
        let path = agents.path_delay.as_ref().and_then(|p| p.found);
        Self {
            stamps: StampsSummary::new(&agents.stamps),
            headroom: agents
                .auto
                .map(|(state, _)| HeadroomSummary::new(state, headroom, cell_bytes)),
            round_trip: found.as_ref().map(TimesSummary::of),
            turnaround: turnaround.map(|times| TimesSummary::unchosen(&times, rounds)),
            path_delay: path.as_ref().map(TimesSummary::of),
            neighbours: agents.neighbours.iter().map(|n| NeighbourSummary::new(n, now)).collect(),
            dcbx: agents.resolved.as_ref().map(DcbxSummary::new),
            topology: agents.topology,
            counters: counters(agents),
        }
    }
}

impl AgentsSummary {
    /// Returns a counter by the names of its protocol and its own; 0 if the protocol is not
    /// present.
    pub fn counted(&self, agent: &str, name: &str) -> u64 {
        self.counters.get(agent).and_then(|of| of.get(name)).copied().unwrap_or_default()
    }
}

/// Returns the counters by protocol.
fn counters(agents: &AgentsSnapshot) -> BTreeMap<String, Counters> {
    let measurement = agents.measure.as_ref().map(|of| by_name(of.counters.iter()));
    let ptp = agents.path_delay.as_ref().map(|of| by_name(of.counters.iter()));
    let lldp = agents.lldp.as_ref().map(|of| by_name(of.iter()));
    let other = Some(by_name(agents.counters.iter()));
    // Protocols that the port does not have are absent, not 0.
    let all = [("measurement", measurement), ("ptp", ptp), ("lldp", lldp), ("other", other)];
    all.into_iter().filter_map(|(name, of)| Some((name.to_owned(), of?))).collect()
}

impl StampsSummary {
    pub fn new(stamps: &Stamps) -> Self {
        let resolution_ns = stamps.resolution.as_nanos_f64();
        Self { source: source_name(stamps.source).into(), resolution_ns }
    }
}

impl SourcesSummary {
    pub fn new(sources: Sources) -> Self {
        let [t1, t4] = [sources.t1, sources.t4].map(|source| source_name(source).to_owned());
        Self { t1, t2: PEER.to_owned(), t3: PEER.to_owned(), t4 }
    }

    /// Returns the sources unless the times are exact.
    fn of_inexact(sources: Sources) -> Option<Self> {
        // In the virtual world all times are exact, and sources would only fill the results.
        (sources.t4 != StampSource::Exact).then(|| Self::new(sources))
    }
}

/// Source of times that a peer does not tell.
const PEER: &str = "peer";

const fn source_name(source: StampSource) -> &'static str {
    match source {
        StampSource::Exact => "exact",
        StampSource::Nic => "nic",
        StampSource::Software => "software",
        StampSource::Poll => "poll",
    }
}

impl HeadroomSummary {
    fn new(state: AutoState, headroom: Option<&Headroom>, cell_bytes: u32) -> Self {
        let state = match state {
            AutoState::Down => "down",
            AutoState::Waiting(_) => "waiting",
            AutoState::Measuring => "measuring",
            AutoState::Found => "found",
            AutoState::Failed => "failed",
        };
        let need = |required: &Required| NeedSummary::new(required, cell_bytes);
        Self {
            state: state.into(),
            needs: headroom.map(|h| need(&h.required)),
            without_macsec: headroom.and_then(|h| h.without_macsec.as_ref()).map(need),
            set: headroom.is_some_and(|h| h.set),
        }
    }
}

impl NeedSummary {
    fn new(required: &Required, cell_bytes: u32) -> Self {
        let bits = required.sum.bits();
        let cells = u64::from(required.cells.0);
        Self {
            bytes: cells * u64::from(cell_bytes),
            cells,
            bits,
            // Rounded up, as headroom covers the last bit.
            quanta: bits.div_ceil(QUANTUM_BITS),
            terms: required.sum.terms.iter().map(|t| (t.name.to_owned(), t.bits)).collect(),
        }
    }
}

impl TimesSummary {
    fn of(found: &Found) -> Self {
        let uncertainty = found.uncertainty.as_nanos_f64();
        let sources = SourcesSummary::of_inexact(found.sources);
        Self {
            chosen_ns: found.chosen.as_nanos_f64(),
            uncertainty_ns: Some(uncertainty),
            sources,
            ..Self::unchosen(&found.delay, Some(found.rounds.into()))
        }
    }

    /// Summarizes times from which no headroom is calculated: what would be chosen is the longest.
    fn unchosen(times: &Statistics<Duration>, rounds: Option<u64>) -> Self {
        let times = times.map(Duration::as_nanos_f64);
        Self {
            rounds,
            min_ns: times.min,
            mean_ns: times.mean,
            p99_ns: times.p99,
            max_ns: times.max,
            chosen_ns: times.max,
            uncertainty_ns: None,
            sources: None,
        }
    }
}

impl NeighbourSummary {
    fn new(neighbour: &Neighbour, now: Instant) -> Self {
        let said = &neighbour.received;
        // Neighbours may send any bytes.
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        // Its last moment may be over before the port removes it.
        let left = if neighbour.expires > now { neighbour.expires.since(now) } else { ZERO };
        Self {
            chassis: said.chassis.as_id().to_string(),
            port: said.port.as_id().to_string(),
            port_description: text(&said.port_description),
            system_name: text(&said.system_name),
            system_description: text(&said.system_description),
            ttl_s: left.as_secs_f64(),
            dcbx: said.dcbx.is_peer(),
            internal_delay_ns: said.dcbx.information.map(|said| said.internal_delay.as_nanos_f64()),
            said: SaidSummary::new(&said.dcbx),
            refused: said.dcbx.refused.iter().map(ToString::to_string).collect(),
        }
    }
}

const ZERO: Duration = Duration::ZERO;

impl DcbxSummary {
    fn new(resolved: &Resolved) -> Self {
        // In the order in which automatic headroom prefers them.
        let methods = resolved.methods.map(|methods| {
            let both = [("round_trip", methods.round_trip), ("ptp", methods.ptp)];
            both.into_iter().filter(|(_, can)| *can).map(|(name, _)| name.to_owned()).collect()
        });
        let pfc =
            resolved.pfc.and_then(|pfc| pfc.refused).map(|why| ("the PFC configuration", why));
        let ets = resolved.ets.and_then(|ets| ets.refused);
        let ets = ets.map(|why| ("the ETS recommendation", why));
        // A setting that has precedence and cannot be used is no error of this end, but explains its result.
        let refused = [pfc, ets].into_iter().flatten();
        Self {
            refused: refused.map(|(what, why)| Refusal { what, why }.to_string()).collect(),
            peers: resolved.state,
            pfc: resolved.pfc,
            ets: resolved.ets.map(|ets| EtsSummary::new(&ets.table, ets.from)),
            methods,
        }
    }
}

impl EtsSummary {
    fn new(table: &EtsTable, from: Party) -> Self {
        // Numbers of 802.1Q's TLV; vendors have others.
        let name = |algorithm: &u8| match algorithm {
            0 => "strict".to_owned(),
            1 => "cbs".to_owned(),
            2 => "ets".to_owned(),
            3 => "ats".to_owned(),
            other => other.to_string(),
        };
        let algorithm = table.algorithm.iter().map(name).collect();
        Self { class: table.class, bandwidth: table.bandwidth, algorithm, from }
    }
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
    pub topology: Option<Topology>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<CongestionIsolation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sfc: Option<SfcSummary>,
}

impl SaidSummary {
    fn new(said: &PeerDcbx) -> Self {
        Self {
            topology: said.topology,
            isolation: said.isolation,
            sfc: said.sfc.as_ref().map(SfcSummary::new),
        }
    }

    /// Returns the features in one line; empty if there are none.
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

#[cfg(test)]
mod tests {
    use super::*;
    use discovery::Why;
    use ground::units::PrioritySet;

    /// A setting that is not as the peer asked has its reason beside it.
    #[test]
    fn a_refusal_of_the_peers_pfc_is_in_the_summary() {
        for why in [Why::SameAddress, Why::PfcClasses(3, 2)] {
            let pfc =
                PfcResolved { enable: PrioritySet::EMPTY, from: Party::Local, refused: Some(why) };
            let (state, pfc) = (PeerState::Present, Some(pfc));
            let shown =
                DcbxSummary::new(&Resolved { state, pfc, ets: None, methods: None, peer: None });
            let expected = format!("the PFC configuration of the peer refused: {why}");
            assert_eq!(shown.refused, [expected]);
            let json = serde_json::to_value(&shown).unwrap();
            assert_eq!(json["refused"][0], shown.refused[0]);
        }
    }
}
