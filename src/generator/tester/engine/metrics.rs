//! Converts a report to OTG's metrics. Values without an OTG field are in a field `sluice` of
//! each.
//!
//! RoCEv2 connections are configured at both ends without messages of connection management, so a queue pair is up
//! as soon as its port's link is, and these messages have no counters.

use std::collections::HashSet;

use super::changes::unknown;
use super::named;
use crate::report::{self, Connection, Flow, Pacing, Port, Report, Stamps};
use contracts::frame::LINE_OVERHEAD_BYTES;
use otg::engine::{JsonText, Refusal};
use otg::model::device::{self, Device};
use otg::model::metrics::{
    FlowMetric, MetricLatency, MetricTimestamp, MetricsRequest, PeerMetric, PortMetric, QpMetric,
    Rocev2FlowsRequest, Rocev2PeersRequest,
};
use otg::model::{Config, Fields};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer as _};
use serde_json::{Value, json};

/// The field for values without an OTG field.
const OURS: &str = "sluice";

/// A metric, and its values without an OTG field.
#[derive(Serialize)]
struct Row<M, O> {
    #[serde(flatten)]
    metric: M,
    #[serde(skip_serializing_if = "Option::is_none")]
    sluice: Option<O>,
}

/// Values of a flow without an OTG field.
#[derive(Serialize)]
struct OfFlow<'a> {
    duplicates: u64,
    reordered: u64,
    damaged: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<&'a str>,
    ce_marked: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pacing: Option<&'a Pacing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<&'a report::Latency>,
    stamps: &'a Stamps,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<&'a Connection>,
    /// Frames of any flow that the devices of its ports lost; absent if they lost none, or do not
    /// count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    rx_missed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tx_dropped: Option<u64>,
}

/// A list of metrics, each generated when it is serialised.
struct Rows<F>(F);

impl<F, I> Serialize for Rows<F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq((self.0)())
    }
}

/// The flows of a test that a request for metrics needs.
pub(super) enum Needs<'a> {
    Ports,
    /// The flows of these names; all if there are none.
    Flows(&'a [String]),
    /// All connections.
    Connections,
}

/// Returns the flows that a request needs.
pub(super) fn needs(request: &MetricsRequest) -> Needs<'_> {
    match request {
        MetricsRequest::Flow(wanted) => Needs::Flows(&wanted.flow_names),
        MetricsRequest::Rocev2Flow(_) => Needs::Connections,
        _ => Needs::Ports,
    }
}

/// Answers a request for metrics from a report that includes what it [`needs`].
pub(super) fn answer(
    request: &MetricsRequest,
    report: &Report,
    config: &Config,
) -> Result<JsonText, Refusal> {
    match request {
        MetricsRequest::Port(wanted) => {
            let names = report.ports.iter().map(|port| port.name.as_str());
            let places = named(&wanted.port_names, names, "port.port_names", "port")?;
            let ports = || places.iter().map(|place| &report.ports[*place]);
            respond("port_metrics", &wanted.column_names, || {
                ports().map(|of| (port(of), Some(of_port(of))))
            })
        }
        MetricsRequest::Flow(wanted) => {
            let names: HashSet<&String> = wanted.flow_names.iter().collect();
            let is_wanted =
                |of: &&Flow| of.metrics.enable && (names.is_empty() || names.contains(&of.name));
            let flows = || report.flows.iter().filter(is_wanted);
            let row = |of| (flow(of), Some(of_flow(report, of)));
            respond("flow_metrics", &wanted.metric_names, || flows().map(row))
        }
        MetricsRequest::Rocev2Flow(Rocev2FlowsRequest::PerQp(wanted)) => {
            let pairs = |of| Some((queue_pair(of, of.connection.as_ref()?), NOTHING));
            let rows = || report.flows.iter().filter_map(pairs);
            respond("rocev2_flow_per_qp_metrics", &wanted.column_names, rows)
        }
        MetricsRequest::Rocev2Flow(Rocev2FlowsRequest::Other { name, .. }) => {
            Err(unknown("rocev2_flow.", name))
        }
        MetricsRequest::Rocev2Ipv4(Rocev2PeersRequest::PerPeer(wanted)) => {
            let peers = peer_metrics(config, report, &wanted.peer_names)?;
            let rows = || peers.iter().map(|peer| (peer.clone(), NOTHING));
            respond("rocev2_ipv4_per_peer_metrics", &wanted.column_names, rows)
        }
        // A configuration with IPv6 peers is refused, so there are none.
        MetricsRequest::Rocev2Ipv6(Rocev2PeersRequest::PerPeer(wanted)) => {
            named(&wanted.peer_names, [].into_iter(), "rocev2_ipv6.per_peer.peer_names", "peer")?;
            let none = core::iter::empty::<(PeerMetric, Option<()>)>;
            respond("rocev2_ipv6_per_peer_metrics", &wanted.column_names, none)
        }
        MetricsRequest::Rocev2Ipv4(Rocev2PeersRequest::Other { name, .. })
        | MetricsRequest::Rocev2Ipv6(Rocev2PeersRequest::Other { name, .. }) => {
            Err(unknown("rocev2_ipv4.", name))
        }
        MetricsRequest::Other { name, .. } => Err(unknown("", name)),
    }
}

/// The values without an OTG field of a metric that has none.
const NOTHING: Option<()> = None;

/// Returns the response: the list of its choice, serialised row by row. Rows have the columns of
/// the names in `wanted` and always their first, the name; all if none is named.
fn respond<M, O, I>(
    choice: &'static str,
    wanted: &[String],
    rows: impl Fn() -> I,
) -> Result<JsonText, Refusal>
where
    M: Fields + Serialize,
    O: Serialize,
    I: Iterator<Item = (M, Option<O>)>,
{
    let known = || M::FIELDS.iter().copied().chain([OURS]);
    if let Some(name) = wanted.iter().find(|name| !known().any(|field| field == name.as_str())) {
        let name: String = name.chars().take(100).collect();
        let known: Vec<_> = known().collect();
        let why = format!("there is no metric {name}; there are {}", known.join(", "));
        return Err(Refusal::validation(why));
    }
    // A row without its name would be of no use.
    let is_kept = |name: &str| name == M::FIELDS[0] || wanted.iter().any(|one| one == name);
    let row = |(mut metric, ours): (M, Option<O>)| {
        // OTG: no names stand for all columns.
        if wanted.is_empty() {
            return Row { metric, sluice: ours };
        }
        metric.keep(is_kept);
        Row { metric, sluice: ours.filter(|_| is_kept(OURS)) }
    };
    let mut text = Vec::new();
    let mut to = serde_json::Serializer::new(&mut text);
    let mut write = || {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("choice", choice)?;
        // Row by row, so that ten thousand flows are never in memory as a list of messages.
        map.serialize_entry(choice, &Rows(|| rows().map(row)))?;
        map.end()
    };
    write().map_err(|error| Refusal::internal(error.to_string()))?;
    Ok(JsonText(text))
}

const fn started(is: bool) -> &'static str {
    if is { "started" } else { "stopped" }
}

/// Returns the values of a port without an OTG field.
fn of_port(port: &Port) -> Value {
    let mut value = json!({
        "unexpected": port.unexpected,
        "other_runs": port.other_runs,
        "malformed": port.malformed,
        "captured": port.captured,
        "capture_missed": port.capture_missed,
        "rx_missed": port.rx_missed,
        "tx_dropped": port.tx_dropped,
        "sfcm_rx": port.sfcm_rx,
        "sfcm_obeyed": port.sfcm_obeyed,
        "sfcm_refused": port.sfcm_refused,
        "sfcm_paused_ns": port.sfcm_paused_ns,
        "sfcm_requested_ns": port.sfcm_requested_ns,
        "sfcm_incast": port.sfcm_incast,
        "sfcm_in_network": port.sfcm_in_network,
        "sfcm_first_ns": port.sfcm_first_ns,
        "sfcm_silence_ns": port.sfcm_silence_ns,
        "sfcm_tx": port.sfcm_tx,
        "sfcm_tx_requested_ns": port.sfcm_tx_requested_ns,
        "sfcm_reaction_min_ns": port.sfcm_reaction_min_ns,
        "sfcm_reaction_p50_ns": port.sfcm_reaction_p50_ns,
        "sfcm_reaction_max_ns": port.sfcm_reaction_max_ns,
        "sfcm_to_pfc": port.sfcm_to_pfc,
        "sfcm_to_pfc_min_ns": port.sfcm_to_pfc_min_ns,
        "sfcm_to_pfc_p50_ns": port.sfcm_to_pfc_p50_ns,
        "sfcm_to_pfc_max_ns": port.sfcm_to_pfc_max_ns,
        "sfcm_quanta_error": port.sfcm_quanta_error,
        "priorities": port.priorities,
    });
    // Clients print nulls as text, or fail on them.
    config::without_nulls(&mut value);
    value
}

fn port(port: &Port) -> PortMetric {
    PortMetric {
        name: port.name.clone(),
        location: Some(port.location.clone()),
        link: Some(if port.link_up { "up" } else { "down" }.into()),
        capture: Some(started(port.capturing).into()),
        frames_tx: Some(port.frames_tx),
        frames_rx: Some(port.frames_rx),
        bytes_tx: Some(port.bytes_tx),
        bytes_rx: Some(port.bytes_rx),
        frames_tx_rate: Some(port.frames_tx_rate),
        frames_rx_rate: Some(port.frames_rx_rate),
        bytes_tx_rate: Some(port.bytes_tx_rate),
        bytes_rx_rate: Some(port.bytes_rx_rate),
        transmit: Some(started(port.transmitting).into()),
        // When a link last changed is not recorded.
        last_change: None,
        speed: Some(port.speed_bps),
        ..PortMetric::default()
    }
}

/// Returns the values of a flow without an OTG field.
fn of_flow<'a>(report: &'a Report, flow: &'a Flow) -> OfFlow<'a> {
    let ports = || report.ports.iter();
    let received = ports().filter(|port| flow.port_rx.contains(&port.name));
    // Of any flow: a device does not know whose frames it lost.
    let missed: u64 = received.filter_map(|port| port.rx_missed).sum();
    let dropped = ports().find(|port| port.name == flow.port_tx).map(|port| port.tx_dropped);
    OfFlow {
        rx_missed: Some(missed).filter(|n| *n > 0),
        tx_dropped: dropped.filter(|n| *n > 0),
        duplicates: flow.duplicates,
        reordered: flow.reordered,
        damaged: flow.damaged,
        damage: flow.damage.as_deref(),
        ce_marked: flow.ce_marked,
        pacing: flow.pacing.as_ref(),
        latency: flow.latency.as_ref(),
        stamps: &report.stamps,
        connection: flow.connection.as_ref(),
    }
}

fn flow(flow: &Flow) -> FlowMetric {
    let ns = |seconds: Option<f64>| seconds.map(|s| s * 1e9);
    let asked = flow.first_rx_s.filter(|_| flow.metrics.timestamps);
    let timestamps = asked.map(|_| MetricTimestamp {
        first_timestamp_ns: ns(flow.first_rx_s),
        last_timestamp_ns: ns(flow.last_rx_s),
        ..MetricTimestamp::default()
    });
    let latency = flow.latency.as_ref().map(|latency| MetricLatency {
        minimum_ns: Some(latency.min_ns.ns()),
        maximum_ns: Some(latency.max_ns.ns()),
        average_ns: Some(latency.mean_ns.ns()),
        ..MetricLatency::default()
    });
    // Layer 1 has the preamble and the gap of each frame, too.
    let line = |bytes: f64, frames: f64| 8.0 * (bytes + frames * f64::from(LINE_OVERHEAD_BYTES));
    let (tx, rx) = (flow.bytes_tx_rate, flow.bytes_rx_rate);
    FlowMetric {
        name: flow.name.clone(),
        port_tx: Some(flow.port_tx.clone()),
        port_rx: Some(flow.port_rx.join(",")),
        transmit: Some(flow.transmit.into()),
        frames_tx: Some(flow.frames_tx),
        frames_rx: Some(flow.frames_rx),
        bytes_tx: Some(flow.bytes_tx),
        bytes_rx: Some(flow.bytes_rx),
        frames_tx_rate: Some(flow.frames_tx_rate),
        frames_rx_rate: Some(flow.frames_rx_rate),
        loss: Some(flow.loss_percent),
        timestamps,
        latency,
        tx_l1_rate_bps: Some(line(tx, flow.frames_tx_rate)),
        rx_l1_rate_bps: Some(line(rx, flow.frames_rx_rate)),
        tx_rate_bytes: Some(tx),
        rx_rate_bytes: Some(rx),
        tx_rate_bps: Some(tx * 8.0),
        rx_rate_bps: Some(rx * 8.0),
        tx_rate_kbps: Some(tx * 8.0 / 1e3),
        rx_rate_kbps: Some(rx * 8.0 / 1e3),
        tx_rate_mbps: Some(tx * 8.0 / 1e6),
        rx_rate_mbps: Some(rx * 8.0 / 1e6),
        ..FlowMetric::default()
    }
}

fn queue_pair(flow: &Flow, connection: &Connection) -> QpMetric {
    let ns = |of: fn(&crate::report::Latency) -> f64| {
        flow.latency.as_ref().map(|latency| of(latency) as u64)
    };
    let stamp = |seconds: Option<f64>| seconds.map(|s| format!("{s:.9}"));
    QpMetric {
        flow_name: flow.name.clone(),
        port_tx: Some(flow.port_tx.clone()),
        port_rx: Some(flow.port_rx.join(",")),
        src_qp: Some(connection.src_qp.into()),
        dest_qp: Some(connection.dst_qp.into()),
        src_ipv4: Some(connection.src_ip.to_string()),
        dest_ipv4: Some(connection.dst_ip.to_string()),
        data_frames_tx: Some(flow.frames_tx),
        data_frames_rx: Some(flow.frames_rx),
        frame_delta: Some(flow.frames_tx.saturating_sub(flow.frames_rx)),
        data_frames_retransmitted: Some(connection.retransmitted),
        frame_sequence_error: Some(connection.out_of_order),
        tx_bytes: Some(flow.bytes_tx),
        rx_bytes: Some(flow.bytes_rx),
        data_tx_rate: Some(flow.bytes_tx_rate * 8.0),
        data_rx_rate: Some(flow.bytes_rx_rate * 8.0),
        message_tx: Some(connection.messages_tx),
        message_complete_rx: Some(connection.messages_rx),
        // Senders repeat until they are stopped, so no message fails.
        message_fail: None,
        flow_completion_time: connection.completion_ns.map(|ns| ns as u64),
        avg_latency: ns(|l| l.mean_ns.ns()),
        min_latency: ns(|l| l.min_ns.ns()),
        max_latency: ns(|l| l.max_ns.ns()),
        ecn_ce_rx: Some(flow.ce_marked),
        cnp_tx: Some(connection.cnps_tx),
        cnp_rx: Some(connection.cnps_rx),
        ack_tx: Some(connection.acks_tx),
        ack_rx: Some(connection.acks_rx),
        nak_tx: Some(connection.naks_tx),
        nak_rx: Some(connection.naks_rx),
        first_timestamp: stamp(flow.first_rx_s),
        last_timestamp: stamp(flow.last_rx_s),
        ..QpMetric::default()
    }
}

/// Returns the metrics of the peers of these names, of all if there are none.
fn peer_metrics(
    config: &Config,
    report: &Report,
    names: &[String],
) -> Result<Vec<PeerMetric>, Refusal> {
    let devices = config.devices.iter().filter_map(|d| Some((d, d.rocev2.as_ref()?)));
    let interfaces = devices.flat_map(|(d, roce)| roce.ipv4_interfaces.iter().map(move |i| (d, i)));
    let peers: Vec<_> = interfaces
        .flat_map(|(device, interface)| interface.peers.iter().map(move |p| (device, interface, p)))
        .collect();
    let all = peers.iter().map(|(.., peer)| peer.name.as_str());
    let places = named(names, all, "rocev2_ipv4.per_peer.peer_names", "peer")?;
    let metric = |place: &usize| {
        let (device, interface, peer) = peers[*place];
        let configured = peer.qps.len() as u64;
        let up = is_up(config, report, device, &interface.ipv4_name);
        PeerMetric {
            name: peer.name.clone(),
            qp_configured: Some(configured),
            qp_up: Some(if up { configured } else { 0 }),
            qp_down: Some(if up { 0 } else { configured }),
            ..PeerMetric::default()
        }
    };
    Ok(places.iter().map(metric).collect())
}

/// True if the link is up on the port with this address, which may belong to any device.
fn is_up(config: &Config, report: &Report, own: &Device, address: &str) -> bool {
    // The peer's own device first, as it is nearly always there.
    let devices = core::iter::once(own).chain(&config.devices);
    let mut ethernets = devices.flat_map(|device| &device.ethernets);
    let has = ethernets.find(|e| e.ipv4_addresses.iter().any(|ip| ip.name == address));
    let port = has.and_then(|ethernet| match &ethernet.connection {
        Some(device::Connection::PortName(name)) => Some(name),
        _ => None,
    });
    report.ports.iter().any(|p| Some(&p.name) == port && p.link_up)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Measured;
    use crate::plan::Metrics;
    use otg::model::metrics::FlowMetricsRequest;

    /// A report of `flows` flows with all measurements.
    fn report(flows: usize) -> Report {
        let (time, enable) =
            (Measured::new(1_500.0, 240.0), Metrics { enable: true, ..Metrics::default() });
        let pacing = Pacing { sent_fps: 999.9, gap_max_ns: time, ..Pacing::default() };
        let latency = report::Latency { frames: 3, max_ns: time, ..report::Latency::default() };
        let flow = |n: usize| Flow {
            name: format!("flow {n}"),
            metrics: enable,
            port_tx: "p1".into(),
            port_rx: vec!["p2".into()],
            transmit: "started",
            frames_tx: n as u64,
            pacing: Some(pacing.clone()),
            latency: Some(latency.clone()),
            ..Flow::default()
        };
        Report { flows: (0..flows).map(flow).collect(), ..Report::default() }
    }

    fn asked(metric_names: &[&str]) -> MetricsRequest {
        let metric_names = metric_names.iter().map(|name| name.to_string()).collect();
        MetricsRequest::Flow(FlowMetricsRequest { metric_names, ..FlowMetricsRequest::default() })
    }

    fn read(request: &MetricsRequest, report: &Report) -> Value {
        let JsonText(text) = answer(request, report, &Config::default()).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// A tree of ten thousand metrics took a million allocations.
    #[test]
    fn an_answer_takes_a_few_allocations_for_each_flow() {
        for metric_names in [&[][..], &["frames_tx"]] {
            let request = asked(metric_names);
            let taken = |flows: usize| {
                let (report, config) = (report(flows), Config::default());
                let mut length = 0;
                let taken = allocation_counter::measure(|| {
                    length = answer(&request, &report, &config).unwrap().0.len();
                });
                assert!(length > 20 * flows);
                taken.count_total
            };
            let (some, more) = (taken(1_000), taken(2_000));
            assert!(more - some <= 6 * 1_000, "{} for 1,000 flows", more - some);
        }
    }

    #[test]
    fn a_flow_names_what_the_devices_of_its_ports_lost() {
        let port = |name: &str, rx_missed, tx_dropped| Port {
            name: name.into(),
            rx_missed,
            tx_dropped,
            ..Port::default()
        };
        let row = |sender, receiver| {
            let report = Report { ports: vec![sender, receiver], ..report(1) };
            read(&asked(&[]), &report)["flow_metrics"][0]["sluice"].clone()
        };
        let lost = row(port("p1", Some(9), 7), port("p2", Some(5), 3));
        assert_eq!((&lost["rx_missed"], &lost["tx_dropped"]), (&5.into(), &7.into()), "{lost}");
        for rx_missed in [None, Some(0)] {
            let none = row(port("p1", Some(9), 0), port("p2", rx_missed, 3));
            assert!(none.get("rx_missed").is_none() && none.get("tx_dropped").is_none(), "{none}");
        }
    }

    #[test]
    fn a_row_has_the_columns_that_are_asked_for_and_no_nulls() {
        let report = report(2);
        let all = read(&asked(&[]), &report);
        assert_eq!((&all["choice"], all.as_object().unwrap().len()), (&"flow_metrics".into(), 2));
        let rows = all["flow_metrics"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[1]["frames_tx"]), (2, &1.into()));
        assert_eq!(rows[0]["sluice"]["pacing"]["gap_max_ns"], 1_500.0);
        assert!(!all.to_string().contains("null"), "{all}");
        let some = read(&asked(&["frames_tx", "sluice"]), &report);
        let row = some["flow_metrics"][0].as_object().unwrap();
        assert_eq!(row.keys().collect::<Vec<_>>(), ["frames_tx", "name", "sluice"]);
        let one = read(&asked(&["transmit"]), &report);
        assert_eq!(one["flow_metrics"][1], json!({"name": "flow 1", "transmit": "started"}));
        let why = answer(&asked(&["speed"]), &report, &Config::default()).unwrap_err().to_string();
        assert!(why.contains("there is no metric speed; there are name"), "{why}");
        let none = read(&asked(&[]), &Report::default());
        assert_eq!(none, json!({"choice": "flow_metrics", "flow_metrics": []}));
    }
}
