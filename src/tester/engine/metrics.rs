//! A report as OTG's metrics. What OTG has no field for is in a field `sluice` of each.

use serde_json::{Value, json};

use super::actions::json as written;
use super::changes::unknown;
use super::named;
use crate::frame::LINE_OVERHEAD_BYTES;
use crate::otg::engine::Refusal;
use crate::otg::model::metrics::{
    FlowMetric, MetricLatency, MetricTimestamp, MetricsRequest, MetricsResponse, PortMetric,
    QpMetric, Rocev2FlowsRequest,
};
use crate::tester::report::{Connection, Flow, Port, Report};

/// The field for what OTG has none for.
const OURS: &str = "sluice";

/// Answers a request for metrics.
pub(super) fn answer(request: &MetricsRequest, report: &Report) -> Result<Value, Refusal> {
    let mut response = MetricsResponse::default();
    let choice = match request {
        MetricsRequest::Port(wanted) => {
            let names = report.ports.iter().map(|port| port.name.as_str());
            let places = named(&wanted.port_names, names, ("port.port_names", "port"))?;
            let metrics = places.iter().map(|place| port(&report.ports[*place]));
            response.port_metrics = metrics.collect();
            "port_metrics"
        }
        MetricsRequest::Flow(wanted) => {
            let names = report.flows.iter().map(|flow| flow.name.as_str());
            let places = named(&wanted.flow_names, names, ("flow.flow_names", "flow"))?;
            let metrics = places.iter().map(|place| flow(report, &report.flows[*place]));
            response.flow_metrics = metrics.collect();
            "flow_metrics"
        }
        MetricsRequest::Rocev2Flow(Rocev2FlowsRequest::PerQp(_)) => {
            let connections = report.flows.iter().filter_map(|f| Some((f, f.connection.as_ref()?)));
            let metrics = connections.map(|(flow, connection)| queue_pair(flow, connection));
            response.rocev2_flow_per_qp_metrics = metrics.collect();
            "rocev2_flow_per_qp_metrics"
        }
        MetricsRequest::Rocev2Flow(Rocev2FlowsRequest::Other { name, .. }) => {
            return Err(unknown("rocev2_flow.", name));
        }
        MetricsRequest::Rocev2Ipv4(_) => return Err(unknown("", "rocev2_ipv4")),
        MetricsRequest::Rocev2Ipv6(_) => return Err(unknown("", "rocev2_ipv6")),
        MetricsRequest::Other { name, .. } => return Err(unknown("", name)),
    };
    response.choice = choice.into();
    Ok(written(&response))
}

const fn started(is: bool) -> &'static str {
    if is { "started" } else { "stopped" }
}

fn port(port: &Port) -> PortMetric {
    let ours = json!({
        "unexpected": port.unexpected,
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
    let timestamps = flow.first_rx_s.map(|_| MetricTimestamp {
        first_timestamp_ns: ns(flow.first_rx_s),
        last_timestamp_ns: ns(flow.last_rx_s),
        ..MetricTimestamp::default()
    });
    let latency = flow.latency.as_ref().map(|latency| MetricLatency {
        minimum_ns: Some(latency.min_ns),
        maximum_ns: Some(latency.max_ns),
        average_ns: Some(latency.mean_ns),
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
        avg_latency: ns(|l| l.mean_ns),
        min_latency: ns(|l| l.min_ns),
        max_latency: ns(|l| l.max_ns),
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
