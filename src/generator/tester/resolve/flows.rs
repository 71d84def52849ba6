//! Resolves flows to the streams that ports send, with the sizes of their frames.

use std::collections::BTreeMap;

use super::devices::Devices;
use super::findings::Findings;
use super::headers::{self, Built};
use super::ports::Ports;
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
use otg::model::flow::{self, Flow, FlowMetrics, FlowPayload, FlowSize, Mix, WeightPairs};
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
            // A flow may become several streams, or none after an error.
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
            // Each of them starts by its part of the interval later; `u128`, as the product is larger than 64 bits.
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
    warn_of_metrics(&metrics, &built, path, cx);
    // MAC control has no room for a probe: its receivers know it by its bytes.
    let probe = metrics.enable && !built.control;
    let sizes = sizes_of(flow, &built, probe, path, cx);
    let payload = payload(flow.payload.as_ref(), path, cx);
    let timing =
        sizes.as_ref().and_then(|s| timing::timing(flow, s, ports.lines[way.tx], path, cx));
    let stream_path = stream_path(&built, way.tx, ports, path, cx);
    // Only here, so that all errors of a flow are reported at once.
    let (Some(sizes), Some(timing), true) = (sizes, timing, cx.errors() == before) else {
        return None;
    };
    let (shortest, longest) = (sizes.shortest(), sizes.longest());
    for port in way.rx.iter().chain([&way.tx]) {
        ports.carry(*port, longest, &flow.name, cx);
    }
    warn_of_tags(&built, &way, ports, path, cx);
    let asked = core::mem::take(&mut built.asked).into_iter();
    let resolve =
        asked.map(|(at, nth, interface, neighbour)| Resolve { at, nth, interface, neighbour });
    // The template is that of the shortest frame, to which longer ones add payload.
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

/// Warns of measurements that are not made as they are configured.
fn warn_of_metrics(metrics: &Metrics, built: &Built, path: &str, cx: &mut Findings) {
    if metrics.latency == Some(LatencyMode::StoreForward) {
        let what = "latency is taken from handing a frame to its port to finding it received, \
                    and its own duration is not deducted; write cut_through, which is nearest to that";
        cx.warn(format!("{path}.metrics.latency.mode"), what);
    }
    if metrics.enable && built.control && built.changes() {
        let what = "MAC control frames carry no sequence number and are recognized by their \
            bytes, so frames that change are counted only where they are sent";
        cx.warn(format!("{path}.metrics"), what);
    }
}

/// Warns of service tags that a receiving port does not give as they were sent.
fn warn_of_tags(built: &Built, way: &Way, ports: &Ports, path: &str, cx: &mut Findings) {
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
    let mut sizes = configured_sizes(size, &path, cx)?;
    let what = match probe {
        true => format!("headers {headers}, sequence and time {PROBE_LEN}, FCS {FCS_BYTES}"),
        false => format!("headers {headers}, FCS {FCS_BYTES}"),
    };
    let most = if built.control { CONTROL_FRAME_MAX } else { FRAME_MAX };
    let room = Room { needed, what, most };
    widen(size, &mut sizes, &room, &path, cx);
    check_sizes(&sizes, &room, &path, cx).then_some(sizes)
}

fn payload(payload: Option<&FlowPayload>, path: &str, cx: &mut Findings) -> Payload {
    match payload {
        None | Some(FlowPayload::Other { .. }) => Payload::Zero,
        Some(FlowPayload::IncrementByte) => Payload::IncrementByte,
        Some(FlowPayload::DecrementByte) => Payload::DecrementByte,
        Some(FlowPayload::IncrementWord) => Payload::IncrementWord,
        Some(FlowPayload::DecrementWord) => Payload::DecrementWord,
        Some(FlowPayload::Fixed(fixed)) => match headers::octets(&fixed.pattern) {
            // The same bytes as without a payload.
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

/// The predefined mixes of OTG's model: bytes with FCS, and weights.
const IMIX: &[(u32, f64)] = &[(64, 7.0), (570, 4.0), (1518, 1.0)];
const IPSEC: &[(u32, f64)] = &[(90, 58.67), (92, 2.0), (594, 23.66), (1418, 15.67)];
const IPV6: &[(u32, f64)] = &[(60, 58.67), (496, 2.0), (594, 23.66), (1518, 15.67)];
const STANDARD: &[(u32, f64)] = &[(58, 58.67), (62, 2.0), (594, 23.66), (1518, 15.67)];
const TCP: &[(u32, f64)] = &[(90, 58.67), (92, 2.0), (594, 23.66), (1518, 15.67)];

/// Returns the configured sizes; `None` after an error was reported.
fn configured_sizes(size: &FlowSize, path: &str, cx: &mut Findings) -> Option<Sizes> {
    match size {
        FlowSize::Fixed(size) => Some(Sizes::Fixed(*size)),
        FlowSize::Increment(i) => {
            if i.step == 0 || i.start > i.end {
                let what = "sizes go up from `start` to `end` by `step`, so `start` is not above \
                            `end` and `step` is at least 1";
                cx.error(format!("{path}.increment"), what);
                return None;
            }
            Some(Sizes::Increment { start: i.start, end: i.end, step: i.step })
        }
        FlowSize::Random(r) => {
            if r.min > r.max {
                let what = format!("`min` ({}) is above `max` ({}); swap them", r.min, r.max);
                cx.error(format!("{path}.random"), what);
                return None;
            }
            Some(Sizes::Random { min: r.min, max: r.max })
        }
        FlowSize::WeightPairs(pairs) => weighted(pairs, &format!("{path}.weight_pairs"), cx),
        FlowSize::Other { .. } => None,
    }
}

fn weighted(pairs: &WeightPairs, path: &str, cx: &mut Findings) -> Option<Sizes> {
    let pairs = match pairs {
        WeightPairs::Predefined(mix) => {
            let table = match mix {
                Mix::Imix => IMIX,
                Mix::IpsecImix => IPSEC,
                Mix::Ipv6Imix => IPV6,
                Mix::StandardImix => STANDARD,
                Mix::TcpImix => TCP,
            };
            return Some(Sizes::Weighted(table.to_vec()));
        }
        WeightPairs::Custom(pairs) => pairs,
        WeightPairs::Other { .. } => return None,
    };
    let path = format!("{path}.custom");
    if pairs.is_empty() {
        cx.error(path, "an empty list of sizes; give pairs such as `{size: 64, weight: 7}`");
        return None;
    }
    let before = cx.errors();
    for (i, pair) in pairs.iter().enumerate() {
        // Negated, so that a weight that is no number is refused as well.
        if !(pair.weight > 0.0 && pair.weight.is_finite()) {
            let what = format!("{} is no weight; write a number above 0", pair.weight);
            cx.error(format!("{path}[{i}].weight"), what);
        }
    }
    let all = || pairs.iter().map(|p| (p.size, p.weight)).collect();
    (cx.errors() == before).then(|| Sizes::Weighted(all()))
}

/// Lengthens frames of a predefined mix that are too short for this flow, as the client cannot
/// change the sizes of a mix.
fn widen(size: &FlowSize, sizes: &mut Sizes, room: &Room, path: &str, cx: &mut Findings) {
    let FlowSize::WeightPairs(WeightPairs::Predefined(_)) = size else { return };
    let Sizes::Weighted(pairs) = sizes else { return };
    let Room { needed, what, .. } = room;
    // The sizes of a mix are not the client's choice, so they are raised and not refused.
    for (size, _) in pairs.iter_mut().filter(|(size, _)| size < needed) {
        cx.warn(
            path,
            format!(
                "frames of {size} octets of the mix are sent with {needed}, which this flow needs \
                 ({what})"
            ),
        );
        *size = *needed;
    }
}

/// The bounds for the frame sizes of a flow.
struct Room {
    /// Bytes of headers, probe and FCS.
    needed: u32,
    /// Description of these bytes for error texts.
    what: String,
    /// The longest frame that the path takes.
    most: u32,
}

/// Returns true if all sizes are within the bounds; reports an error otherwise.
fn check_sizes(sizes: &Sizes, room: &Room, path: &str, cx: &mut Findings) -> bool {
    let (min, max) = (sizes.shortest(), sizes.longest());
    let Room { needed, what, most } = room;
    if min < *needed {
        let what = format!(
            "{min} octets are less than the {needed} that this flow needs ({what}); \
             write at least {needed}, or take something out"
        );
        cx.error(path, what);
        return false;
    }
    if max > *most {
        let kind = if *most < FRAME_MAX { "frame of MAC control" } else { "frame" };
        let what = format!("{max} octets are more than a {kind} can have; write {most} or less");
        cx.error(path, what);
        return false;
    }
    // A test may send runts on purpose, so they are no error.
    if min < FRAME_MIN {
        let what = format!(
            "frames of {min} octets are shorter than Ethernet's least; ports that cannot send \
             such pad them to {FRAME_MIN}"
        );
        cx.warn(path, what);
    }
    true
}
