//! A report as OTG's metrics. What OTG has no field for is in a field `sluice` of each.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::actions::json as written;
use super::changes::unknown;
use super::named;
use super::peers;
use crate::frame::LINE_OVERHEAD_BYTES;
use crate::otg::engine::Refusal;
use crate::otg::model::Config;
use crate::otg::model::metrics::{
    FlowMetric, MetricLatency, MetricTimestamp, MetricsRequest, MetricsResponse, PeerMetric,
    PortMetric, QpMetric, Rocev2FlowsRequest, Rocev2PeersRequest,
};
use crate::tester::report::{Connection, Flow, Port, Report};

/// The field for what OTG has none for.
const OURS: &str = "sluice";

/// Parts of a test's flows that a request for metrics needs.
pub(super) enum Needs<'a> {
    /// None of them.
    Ports,
    /// Those of these names; of all, if there are none.
    Flows(&'a [String]),
    /// All connections.
    Connections,
}

/// Parts that a request needs.
pub(super) fn needs(request: &MetricsRequest) -> Needs<'_> {
    match request {
        MetricsRequest::Flow(wanted) => Needs::Flows(&wanted.flow_names),
        MetricsRequest::Rocev2Flow(_) => Needs::Connections,
        _ => Needs::Ports,
    }
}

/// Answers a request for metrics by a report that has what it [`needs`], of the test of a
/// configuration.
pub(super) fn answer(
    request: &MetricsRequest,
    report: &Report,
    config: &Config,
) -> Result<Value, Refusal> {
    let mut response = MetricsResponse::default();
    let (choice, key, columns) = match request {
        MetricsRequest::Port(wanted) => {
            let names = report.ports.iter().map(|port| port.name.as_str());
            let places = named(&wanted.port_names, names, ("port.port_names", "port"))?;
            let metrics = places.iter().map(|place| port(&report.ports[*place]));
            response.port_metrics = metrics.collect();
            ("port_metrics", "name", &wanted.column_names)
        }
        MetricsRequest::Flow(wanted) => {
            let names: HashSet<&String> = wanted.flow_names.iter().collect();
            let is_named = |flow: &&Flow| names.is_empty() || names.contains(&flow.name);
            let measured = report.flows.iter().filter(|flow| flow.metrics.enable).filter(is_named);
            response.flow_metrics = measured.map(|f| flow(report, f)).collect();
            ("flow_metrics", "name", &wanted.metric_names)
        }
        MetricsRequest::Rocev2Flow(Rocev2FlowsRequest::PerQp(wanted)) => {
            let connections = report.flows.iter().filter_map(|f| Some((f, f.connection.as_ref()?)));
            let metrics = connections.map(|(flow, connection)| queue_pair(flow, connection));
            response.rocev2_flow_per_qp_metrics = metrics.collect();
            ("rocev2_flow_per_qp_metrics", "flow_name", &wanted.column_names)
        }
        MetricsRequest::Rocev2Flow(Rocev2FlowsRequest::Other { name, .. }) => {
            return Err(unknown("rocev2_flow.", name));
        }
        MetricsRequest::Rocev2Ipv4(Rocev2PeersRequest::PerPeer(wanted)) => {
            response.rocev2_ipv4_per_peer_metrics =
                peers::metrics(config, report, &wanted.peer_names)?;
            ("rocev2_ipv4_per_peer_metrics", "name", &wanted.column_names)
        }
        // A configuration with such peers is refused, so that there are none.
        MetricsRequest::Rocev2Ipv6(Rocev2PeersRequest::PerPeer(wanted)) => {
            named(&wanted.peer_names, [].into_iter(), ("rocev2_ipv6.per_peer.peer_names", "peer"))?;
            ("rocev2_ipv6_per_peer_metrics", "name", &wanted.column_names)
        }
        MetricsRequest::Rocev2Ipv4(Rocev2PeersRequest::Other { name, .. })
        | MetricsRequest::Rocev2Ipv6(Rocev2PeersRequest::Other { name, .. }) => {
            return Err(unknown("rocev2_ipv4.", name));
        }
        MetricsRequest::Other { name, .. } => return Err(unknown("", name)),
    };
    check_columns(choice, columns)?;
    response.choice = choice.into();
    let mut answer = written(&response);
    if !columns.is_empty() {
        let keeps = |name: &String| name == key || columns.contains(name);
        let metrics = answer.get_mut(choice).and_then(Value::as_array_mut);
        for metric in metrics.into_iter().flatten().filter_map(Value::as_object_mut) {
            metric.retain(|name, _| keeps(name));
        }
    }
    Ok(answer)
}

/// Refuses columns that there are not.
fn check_columns(choice: &str, columns: &[String]) -> Result<(), Refusal> {
    let known = match choice {
        "port_metrics" => PortMetric::FIELDS,
        "flow_metrics" => FlowMetric::FIELDS,
        "rocev2_flow_per_qp_metrics" => QpMetric::FIELDS,
        _ => PeerMetric::FIELDS,
    };
    let fields = || known.iter().copied().chain([OURS]);
    let strange = columns.iter().find(|name| !fields().any(|field| field == name.as_str()));
    match strange {
        None => Ok(()),
        Some(name) => {
            let known: Vec<_> = fields().collect();
            let name: String = name.chars().take(100).collect();
            let why = format!("there is no metric {name}; there are {}", known.join(", "));
            Err(Refusal::validation(why))
        }
    }
}

const fn started(is: bool) -> &'static str {
    if is { "started" } else { "stopped" }
}

fn port(port: &Port) -> PortMetric {
    let ours = json!({
        "unexpected": port.unexpected,
        "other_runs": port.other_runs,
        "malformed": port.malformed,
        "captured": port.captured,
        "capture_missed": port.capture_missed,
        "priorities": port.priorities,
    });
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
        last_change: None,
        speed: Some(port.speed_bps),
        extra: [(OURS.to_owned(), ours)].into(),
    }
}

fn flow(report: &Report, flow: &Flow) -> FlowMetric {
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
    let ours = json!({
        "duplicates": flow.duplicates,
        "reordered": flow.reordered,
        "ce_marked": flow.ce_marked,
        "pacing": flow.pacing,
        "latency": flow.latency,
        "stamps": report.stamps,
        "connection": flow.connection,
    });
    let ours = without_nulls(ours);
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
        extra: [(OURS.to_owned(), ours)].into(),
    }
}

fn queue_pair(flow: &Flow, connection: &Connection) -> QpMetric {
    let ns = |of: fn(&crate::tester::report::Latency) -> f64| {
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

/// Clients of OTG take no nulls.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        other => other,
    }
}
