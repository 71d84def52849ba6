//! An engine that runs nothing: it records the calls and returns the answers that tests expect.

use std::sync::Mutex;

use serde_json::{Value, json};
use sluice::otg::engine::{Engine, JsonText, Refusal, Warnings};
use sluice::otg::model;

/// Length of every capture: more than one message of a stream holds.
pub const CAPTURE: usize = 3_000_000;

#[derive(Default)]
pub struct Rehearsal {
    config: Mutex<Option<Value>>,
    asked: Mutex<Vec<(&'static str, Value)>>,
}

impl Rehearsal {
    /// Calls since the last read.
    pub fn asked(&self) -> Vec<(&'static str, Value)> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn note(&self, call: &'static str, request: &Value) -> Result<Warnings, Refusal> {
        self.asked.lock().unwrap().push((call, request.clone()));
        Ok(vec![format!("{call} was rehearsed")])
    }
}

impl Engine for Rehearsal {
    fn set_config(&self, config: &Value) -> Result<Warnings, Refusal> {
        let read: model::Config = model::parse(config)?;
        match read.flows.first().map(|flow| flow.name.as_str()) {
            Some("wrong") => return Err(Refusal::validation("flows[0].name: `wrong` is wrong")),
            Some("failing") => panic!("a rehearsed failure"),
            Some("verbose") => {
                let errors = (0..500).map(|n| format!("flows[{n}].name: \"{n}\" is {{wrong}}"));
                return Err(Refusal { errors: errors.collect(), ..Refusal::validation("") });
            }
            _ => {}
        }
        let mut warnings = self.note("set_config", config)?;
        warnings.extend(model::unsupported(&read));
        *self.config.lock().unwrap() = Some(config.clone());
        Ok(warnings)
    }

    fn config(&self) -> Value {
        self.config.lock().unwrap().clone().unwrap_or_else(|| json!({}))
    }

    fn update_config(&self, update: &Value) -> Result<Warnings, Refusal> {
        let read: model::control::ConfigUpdate = model::parse(update)?;
        self.note("update_config", &serde_json::to_value(read).unwrap())
    }

    fn append_config(&self, append: &Value) -> Result<Warnings, Refusal> {
        let read: model::control::ConfigAppend = model::parse(append)?;
        self.note("append_config", &serde_json::to_value(read).unwrap())
    }

    fn delete_config(&self, delete: &Value) -> Result<Warnings, Refusal> {
        let read: model::control::ConfigDelete = model::parse(delete)?;
        self.note("delete_config", &serde_json::to_value(read).unwrap())
    }

    fn control_state(&self, state: &Value) -> Result<Warnings, Refusal> {
        let read: model::control::ControlState = model::parse(state)?;
        self.note("control_state", &serde_json::to_value(read).unwrap())
    }

    fn control_action(&self, action: &Value) -> Result<Value, Refusal> {
        let read: model::control::ControlAction = model::parse(action)?;
        self.note("control_action", &serde_json::to_value(read).unwrap())?;
        let pong = json!({"src_name": "ip", "dst_ip": "10.0.0.9", "result": "succeeded"});
        let ping = json!({"choice": "ping", "ping": {"responses": [pong]}});
        let protocol = json!({"choice": "ipv4", "ipv4": ping});
        Ok(json!({"response": {"choice": "protocol", "protocol": protocol}}))
    }

    fn metrics(&self, request: &Value) -> Result<JsonText, Refusal> {
        let read: model::metrics::MetricsRequest = model::parse(request)?;
        self.note("metrics", &serde_json::to_value(&read).unwrap())?;
        // Priorities are not part of OTG.
        Ok(JsonText::of(&match read {
            model::metrics::MetricsRequest::Flow(_) => json!({
                "choice": "flow_metrics",
                "flow_metrics": [{"name": "data", "transmit": "stopped", "frames_rx": 1000,
                    "ce_marked": 3, "latency": {"average_ns": 12.5}}],
            }),
            _ => json!({
                "choice": "port_metrics",
                "port_metrics": [{"name": "a", "frames_tx": u64::MAX, "frames_tx_rate": 0.5,
                    "link": "up", "priorities": [{"pauses_rx": 7}]}],
            }),
        }))
    }

    fn states(&self, request: &Value) -> Result<Value, Refusal> {
        let read: model::states::StatesRequest = model::parse(request)?;
        self.note("states", &serde_json::to_value(read).unwrap())?;
        let neighbour = json!({"ethernet_name": "e", "ipv4_address": "10.0.0.9",
            "link_layer_address": "02:00:00:00:00:09"});
        Ok(json!({"choice": "ipv4_neighbors", "ipv4_neighbors": [neighbour]}))
    }

    fn capture(&self, request: &Value) -> Result<Vec<u8>, Refusal> {
        let read: model::capture::CaptureRequest = model::parse(request)?;
        self.note("capture", &serde_json::to_value(read).unwrap())?;
        Ok(vec![7; CAPTURE])
    }
}
