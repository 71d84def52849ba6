//! Sluice's counters in DPDK's telemetry: `dpdk-telemetry.py -f NAME` with the name of the switch,
//! then `/sluice/port,p1`.
//!
//! DPDK's threads read the last summary of the main thread, so they never wait for a worker.

use std::sync::Arc;

use anyhow::Result;
use serde_json::{Value, json};

use super::session::Session;
use dpdk::{Eal, TelemetryCommand, register_telemetry};
use ground::units::PRIORITIES;
use results::Summary;

/// Builds an answer from a summary and a client's parameter.
type Answer = fn(&Summary, &str) -> Value;

const COMMANDS: [(&str, &str, Answer); 5] = [
    ("/sluice/summary", "Totals of the switch. No parameter.", totals),
    ("/sluice/ports", "The names of the ports. No parameter.", names),
    ("/sluice/port", "Counters of a port. Parameter: its name or number.", port),
    ("/sluice/priorities", "Counters by priority. Parameter: a port's name or number.", priorities),
    ("/sluice/drops", "Dropped frames by reason. No parameter.", drops),
];

/// Registers the commands; dropping the returned guards removes them.
pub(crate) fn serve(eal: &Eal, session: &Arc<Session>) -> Result<Vec<TelemetryCommand>> {
    // A client may ask before the first period of the main thread has passed.
    session.refresh();
    let register = |(name, help, answer): (&str, &str, Answer)| {
        let session = Arc::clone(session);
        let answer = move |parameter: &str| match session.latest() {
            Some(summary) => answer(&summary, parameter),
            None => Value::Null,
        };
        Ok(register_telemetry(eal, name, help, answer)?)
    };
    COMMANDS.into_iter().map(register).collect()
}

fn value(of: impl serde::Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

fn totals(s: &Summary, _: &str) -> Value {
    json!({
        "name": s.name,
        "version": s.version,
        "elapsed_ns": s.elapsed_ns,
        "workers": s.workers,
        "lossless_lost_frames": s.lossless_lost_frames,
        "dropped_frames": s.drops.total(),
        "balance": value(s.balance),
        "shared_pool": value(s.shared_pool),
        "fdb": value(s.fdb),
        "storms": value(s.storms),
    })
}

fn names(s: &Summary, _: &str) -> Value {
    s.ports.iter().map(|p| p.port.name.clone()).collect()
}

fn find<'s>(s: &'s Summary, parameter: &str) -> Option<&'s results::PortSummary> {
    // As for requests at the control socket: a name first, then a number.
    let by_name = s.ports.iter().find(|p| p.port.name == parameter);
    by_name.or_else(|| s.ports.get(parameter.parse::<usize>().ok()?))
}

fn port(s: &Summary, parameter: &str) -> Value {
    let mut port = find(s, parameter).map(value).unwrap_or_default();
    if let Some(fields) = port.as_object_mut() {
        // Too much for one object of DPDK's telemetry (255 entries); they have a command of their own.
        fields.remove("priorities");
    }
    port
}

fn priorities(s: &Summary, parameter: &str) -> Value {
    let Some(port) = find(s, parameter) else { return Value::Null };
    let mut all = value(&port.port.counters)["priorities"].take();
    // DPDK shows an object of objects, but not an array of them.
    (0..PRIORITIES).map(|n| (n.to_string(), all[n].take())).collect()
}

fn drops(s: &Summary, _: &str) -> Value {
    value(s.drops.by_name())
}
