//! Output of a test for people and programs: tables, a line, files for spreadsheets and plotters,
//! metrics. All are made from one [`Report`](tester::report::Report), but for the resolved generator file, which is
//! printed before any frame is sent.

mod exports;
mod text;

pub(super) use self::text::{scene, tables, time};
pub use self::text::{tester_line, tester_text};
pub use exports::{flows_csv, hgrm, ports_csv, priorities_csv};
#[cfg(all(feature = "dpdk", feature = "instruments"))]
pub use text::self_test_text;

use super::sheet::{Medium, Sheet};
use ::text::{Column, columns, scaled};
use ground::time::Duration;
use ground::units::PrioritySet;
use host::plan::stream::{Limit, Path, Sizes, StreamPlan};
use host::{Message, Rate, TransportPlan};
use tester::plan::{FlowKind, FlowPlan, Obeys, PortPlan, TestPlan};

/// Prints a test as tables.
#[must_use]
pub fn plan_text(plan: &TestPlan) -> String {
    format!("{}\n{}", ports(plan).table(), flows(plan).table())
}

/// Returns the same for programs.
#[must_use]
pub fn plan_json(plan: &TestPlan) -> serde_json::Value {
    serde_json::json!({ "ports": ports(plan).json(), "flows": flows(plan).json() })
}

fn ports(plan: &TestPlan) -> Sheet {
    let columns: [Column<PortPlan>; 8] = columns! { p =>
        Text ["port"] = &*p.name;
        Text ["location"] = &*p.location.text;
        Printed ["speed"] = p.rate.map_or("the link's".into(), |rate| scaled(rate.get() as f64, "b/s"));
        Printed ["mtu"] = p.mtu.to_string();
        Made ["obeys"] = obeys(p);
        Printed ["delay"] = format!("{} quanta", p.pause_delay.0);
        Text ["captures"] = p.capture.as_ref().map(|capture| &*capture.name);
        Printed ["interfaces"] = p.interfaces.len().to_string();
    };
    Medium::Terminal.sheet(&columns, &plan.ports)
}

/// Describes the pause frames that a port obeys.
fn obeys(port: &PortPlan) -> String {
    match port.obeys {
        Obeys::Nothing => "no pauses".into(),
        Obeys::Pause => "PAUSE".into(),
        Obeys::Pfc(set) => {
            // A location may take priorities out of what the configuration asks for.
            let kept = port.location.pfc.unwrap_or(PrioritySet::ALL);
            let all: Vec<_> =
                PrioritySet(set.0 & kept.0).iter().map(|p| p.get().to_string()).collect();
            format!("PFC {}", all.join(","))
        }
    }
}

fn flows(plan: &TestPlan) -> Sheet {
    let columns: [Column<(&TestPlan, &FlowPlan, [String; 5])>; 9] = columns! { (plan, flow, of) =>
        Text ["flow"] = &*flow.name;
        Text ["from"] = &*plan.ports[flow.tx].name;
        Made ["to"] = receivers(plan, flow);
        Text ["as"] = &*of[0];
        Printed ["bytes"] = of[1].clone();
        Printed ["rate"] = of[2].clone();
        Text ["until"] = &*of[3];
        Printed ["after"] = of[4].clone();
        Made ["measured"] = measured(flow);
    };
    let row = |flow| (plan, flow, traffic(flow));
    Medium::Terminal.sheet(&columns, plan.flows.iter().map(row))
}

fn receivers(plan: &TestPlan, flow: &FlowPlan) -> String {
    let to: Vec<_> = flow.rx.iter().map(|port| plan.ports[*port].name.as_str()).collect();
    to.join(" ")
}

/// Returns the kind, frame size, rate, limit and delay of a flow.
fn traffic(flow: &FlowPlan) -> [String; 5] {
    match &flow.kind {
        FlowKind::Stream(stream) => of_stream(stream),
        FlowKind::Roce(roce) => of_connection(roce),
    }
}

fn of_stream(stream: &StreamPlan) -> [String; 5] {
    let kind = match stream.path {
        Path::Data(priority) => format!("data {priority}"),
        // Pause frames have no priority themselves.
        Path::Control => "MAC control".into(),
    };
    let octets = match &stream.sizes {
        Sizes::Fixed(size) => size.to_string(),
        Sizes::Increment { start, end, step } => format!("{start} to {end} by {step}"),
        Sizes::Random { min, max } => format!("{min} to {max}, random"),
        Sizes::Weighted(sizes) => format!("{} sizes, weighted", sizes.len()),
    };
    let mut rate = rate(stream.pace.rate);
    // A replay with its own times has no rate.
    if stream.recording.as_ref().is_some_and(|recording| recording.timed) {
        rate = "as recorded".into();
    } else if let Some(burst) = stream.pace.burst {
        rate = format!("{rate}, bursts of {} every {}", burst.frames, burst.gap);
    }
    let after = if stream.delay == Duration::ZERO { "-".into() } else { stream.delay.to_string() };
    [kind, octets, rate, until(stream.limit), after]
}

fn of_connection(plan: &TransportPlan) -> [String; 5] {
    let most = plan.rate.map_or("the line's".into(), |rate| scaled(rate.get() as f64, "b/s"));
    let until = match plan.message {
        // The largest count stands for no end.
        Some(Message { count, bytes, .. }) if count < u64::MAX => {
            format!("{count} messages of {bytes} bytes")
        }
        _ => "stopped".into(),
    };
    [format!("RoCEv2 {}", plan.priority), plan.size.to_string(), most, until, "-".into()]
}

fn rate(rate: Rate) -> String {
    match rate {
        Rate::LineShare(ppm) => format!("{} %", f64::from(ppm) / 1e4),
        Rate::FrameBits(rate) => scaled(rate.get() as f64, "b/s"),
        Rate::Frames(n) => format!("{n} fps"),
    }
}

fn until(limit: Limit) -> String {
    match (limit.frames, limit.time) {
        (Some(frames), None) => format!("{frames} frames"),
        (None, Some(time)) => time.to_string(),
        (Some(frames), Some(time)) => format!("{frames} frames or {time}"),
        (None, None) => "stopped".into(),
    }
}

/// Describes the measurements of a flow beside its counters.
fn measured(flow: &FlowPlan) -> String {
    let m = &flow.metrics;
    let parts = [
        (m.enable, "frames"),
        (m.loss, "loss"),
        (m.timestamps, "times"),
        (m.latency.is_some(), "latency"),
    ];
    let all: Vec<_> = parts.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
    if all.is_empty() { "-".into() } else { all.join(" ") }
}

#[cfg(test)]
pub(super) mod tests;
