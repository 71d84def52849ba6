//! Configurations to plans: the exact errors of invalid ones, and the plans of valid ones.

mod plans;
mod random;
mod refusals;
mod signals;

use serde_json::{Value, json};

use super::resolve;
use crate::plan::{FlowKind, TestPlan};
use host::plan::stream::StreamPlan;
use otg::engine::{Refusal, Warnings};
use otg::model;

/// A configuration of two ports back to back, with these flows from the first to the second.
fn with_flows(flows: Value) -> Value {
    json!({
        "ports": [{"name": "a", "location": "ring:r.a"}, {"name": "b", "location": "ring:r.b"}],
        "layer1": [{"name": "l", "port_names": ["a", "b"], "speed": "speed_10_gbps"}],
        "flows": flows,
    })
}

/// A flow with this packet and further settings.
fn flow(packet: Value, more: Value) -> Value {
    let mut flow = json!({
        "name": "f",
        "tx_rx": {"port": {"tx_name": "a", "rx_names": ["b"]}},
        "packet": packet,
    });
    let fields = flow.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    flow
}

fn resolved(config: &Value) -> Result<(TestPlan, Warnings), Refusal> {
    resolve(&model::parse(config)?)
}

/// Returns the plan of a configuration that must be valid and without warnings.
fn good(config: &Value) -> TestPlan {
    let (plan, warnings) = resolved(config).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    plan
}

/// Returns the stream of the only flow of a valid configuration.
fn stream(packet: Value, more: Value) -> StreamPlan {
    let mut plan = good(&with_flows(json!([flow(packet, more)])));
    match plan.flows.remove(0).kind {
        FlowKind::Stream(stream) => *stream,
        FlowKind::Roce(_) => panic!("no stream"),
    }
}
