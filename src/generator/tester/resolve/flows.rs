//! Resolves flows to the streams that ports send.

use std::collections::BTreeMap;

use super::devices::Devices;
use super::findings::Findings;
use super::headers::{self, Built};
use super::ports::Ports;
use super::sizes::{self, Room};
use super::timing;
use super::ways::{self, Way};
use crate::plan::{FlowKind, FlowPlan, LatencyMode, Metrics, Resolve};
use contracts::frame::FCS_BYTES;
use contracts::port::CONTROL_FRAME_MAX;
use ground::time::Duration;
use ground::units::Priority;
use host::FlowId;
use host::plan::stream::{Path, Payload, Sizes, StreamPlan};
use host::plan::{FRAME_MAX, FRAME_MIN};
use host::probe::PROBE_LEN;
use otg::model::flow::{self, Flow, FlowMetrics, FlowPayload};
use otg::model::header::FlowHeader;

/// Resolves all flows between ports and devices. Ids start at 0, in the order of the result.
pub(super) fn flows(
    flows: &[Flow],
    ports: &mut Ports,
    devices: &Devices,
    cx: &mut Findings,
) -> Vec<FlowPlan> {
    let (mut plans, mut free) = (Vec::new(), Vec::new());
    for (i, flow) in flows.iter().enumerate() {
        let path = format!("flows[{i}]");
        for way in ways::ways(flow, ports, devices, &path, cx) {
            let id = FlowId(plans.len() as u32);
            plans.extend(stream(flow, way, id, ports, &path, cx));
            free.resize(plans.len(), timing::starts_anywhere(flow));
        }
    }
    spread(&mut plans, &free, ports);
    plans
}

/// Spreads the starts of a port's flows of one interval over it, where the configuration states no
/// delay. Otherwise their frames would be sent back to back, and keep that phase to the end.
fn spread(plans: &mut [FlowPlan], free: &[bool], ports: &Ports) {
    let mut members: BTreeMap<(usize, Duration), Vec<usize>> = BTreeMap::new();
    for (n, plan) in plans.iter().enumerate().filter(|(n, _)| free[*n]) {
        let FlowKind::Stream(stream) = &plan.kind else { continue };
        if let Some(interval) = timing::interval(stream, ports.lines[plan.tx]) {
            members.entry((plan.tx, interval)).or_default().push(n);
        }
    }
    for ((_, interval), members) in members {
        for (k, n) in members.iter().enumerate() {
            let FlowKind::Stream(stream) = &mut plans[*n].kind else { continue };
            let part = u128::from(interval.as_picos()) * k as u128 / members.len() as u128;
            stream.delay = Duration::from_picos(part as u64);
        }
    }
}

/// Resolves one stream of a flow.
fn stream(
    flow: &Flow,
    way: Way,
    id: FlowId,
    ports: &mut Ports,
    path: &str,
    cx: &mut Findings,
) -> Option<FlowPlan> {
    let turned: Vec<FlowHeader>;
    let packet = if way.back {
        turned = ways::turned(&flow.packet);
        &turned
    } else {
        &flow.packet
    };
    let before = cx.errors();
    let mut built = headers::build(packet, &way.ends, &format!("{path}.packet"), cx);
    let metrics = metrics(flow.metrics.as_ref());
    if metrics.latency == Some(LatencyMode::StoreForward) {
        let what = "latency is taken from handing a frame to its port to finding it received, \
                    and its own duration is not deducted; write cut_through, which is nearest to that";
        cx.warn(format!("{path}.metrics.latency.mode"), what);
    }
    let probe = metrics.enable && !built.control;
    if metrics.enable && built.control && built.changes() {
        let what = "MAC control frames carry no sequence number and are recognized by their \
            bytes, so frames that change are counted only where they are sent";
        cx.warn(format!("{path}.metrics"), what);
    }
    let sizes = sizes_of(flow, &built, probe, path, cx);
    let payload = payload(flow.payload.as_ref(), path, cx);
    let timing =
        sizes.as_ref().and_then(|s| timing::timing(flow, s, ports.lines[way.tx], path, cx));
    let stream_path = stream_path(&built, way.tx, ports, path, cx);
    let (Some(sizes), Some(timing), true) = (sizes, timing, cx.errors() == before) else {
        return None;
    };
    let (shortest, longest) = (sizes.shortest(), sizes.longest());
    for port in way.rx.iter().chain([&way.tx]) {
        ports.carry(*port, longest, &flow.name, cx);
    }
    for port in &way.rx {
        if built.is_service_tagged() && ports.plans[*port].location.place.loses_service_tags() {
            let what = format!(
                "net_af_packet, at port {}, gives a service tag (88A8) as a customer tag (8100): the \
                 kernel takes it off, and the driver puts 8100 in its place",
                ports.plans[*port].name
            );
            cx.warn(format!("{path}.packet"), what);
        }
    }
    let asked = core::mem::take(&mut built.asked).into_iter();
    let resolve =
        asked.map(|(at, nth, interface, neighbour)| Resolve { at, nth, interface, neighbour });
    let len = (shortest - FCS_BYTES) as usize;
    let stream = StreamPlan {
        id,
        path: stream_path,
        template: built.template(payload, len, probe),
        recording: None,
        sizes,
        pace: timing.pace,
        limit: timing.limit,
        delay: timing.delay,
        // Distinct per flow: two flows with one seed would have the same random values.
        seed: u64::from(id.0) + 1,
    };
    Some(FlowPlan {
        name: flow.name.clone(),
        id,
        tx: way.tx,
        rx: way.rx,
        resolve: resolve.collect(),
        kind: FlowKind::Stream(Box::new(stream)),
        metrics,
    })
}

/// Returns the frame sizes of a flow, which are at least the length of its headers.
fn sizes_of(
    flow: &Flow,
    built: &Built,
    probe: bool,
    path: &str,
    cx: &mut Findings,
) -> Option<Sizes> {
    let (headers, path) = (built.len(), format!("{path}.size"));
    let needed = headers + FCS_BYTES + if probe { PROBE_LEN as u32 } else { 0 };
    let Some(size) = &flow.size else {
        // The default of 64 bytes was not configured, so it may grow to fit the headers.
        return Some(Sizes::Fixed(needed.max(FRAME_MIN)));
    };
    let mut sizes = sizes::sizes(size, &path, cx)?;
    let what = match probe {
        true => format!("headers {headers}, sequence and time {PROBE_LEN}, FCS {FCS_BYTES}"),
        false => format!("headers {headers}, FCS {FCS_BYTES}"),
    };
    let most = if built.control { CONTROL_FRAME_MAX } else { FRAME_MAX };
    let room = Room { needed, what, most };
    sizes::widen(size, &mut sizes, &room, &path, cx);
    sizes::check(&sizes, &room, &path, cx).then_some(sizes)
}

fn payload(payload: Option<&FlowPayload>, path: &str, cx: &mut Findings) -> Payload {
    match payload {
        None | Some(FlowPayload::Other { .. }) => Payload::Zero,
        Some(FlowPayload::IncrementByte) => Payload::IncrementByte,
        Some(FlowPayload::DecrementByte) => Payload::DecrementByte,
        Some(FlowPayload::IncrementWord) => Payload::IncrementWord,
        Some(FlowPayload::DecrementWord) => Payload::DecrementWord,
        Some(FlowPayload::Fixed(fixed)) => match headers::octets(&fixed.pattern) {
            Some(octets) if octets.iter().all(|o| *o == 0) => Payload::Zero,
            Some(octets) => Payload::Fixed { octets, repeat: fixed.repeat },
            None => {
                let what = "write pairs of hexadecimal digits, such as `cafe`";
                cx.error(format!("{path}.payload.fixed.pattern"), what);
                Payload::Zero
            }
        },
    }
}

/// Returns the path of a flow's frames through its port. The queue is `pfc_queue` if it is set,
/// else the priority of the tag, else the upper bits of the DSCP, else 0.
fn stream_path(built: &Built, tx: usize, ports: &Ports, path: &str, cx: &mut Findings) -> Path {
    if built.control {
        return Path::Control;
    }
    let (marked, changes) = built.marked.unwrap_or((0, false));
    if changes && built.queue.is_none() {
        let what = format!(
            "the priority in its frames changes, and a flow is sent by one queue: {marked}; say \
             which with `ethernet.pfc_queue`"
        );
        cx.warn(format!("{path}.packet"), what);
    }
    let queue = built.queue.unwrap_or(marked);
    let own = Priority::new(queue & 7).expect("three bits are a priority");
    Path::Data(ports.stopped_by(tx, queue).unwrap_or(own))
}

fn metrics(metrics: Option<&FlowMetrics>) -> Metrics {
    let Some(m) = metrics.filter(|m| m.enable) else { return Metrics::default() };
    let latency = m.latency.as_ref().filter(|l| l.enable).map(|l| match l.mode {
        flow::LatencyMode::StoreForward => LatencyMode::StoreForward,
        flow::LatencyMode::CutThrough => LatencyMode::CutThrough,
    });
    Metrics { enable: true, loss: m.loss, timestamps: m.timestamps, latency }
}
