//! Counters as commands print them.
//!
//! JSON of a port: `{"rx_ok": 5, "drops": {"full": 2}, "priorities": {"3": {"pfc_rx": 7}}}`; an absent
//! counter or `null` is unknown. `paused_us` stands for `paused_ns` in microseconds.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::counters::{Counter, PortCounters};
use ground::units::{PRIORITIES, Priority};

/// Parses the counters of one port.
pub(super) fn one_port(text: &str) -> Result<PortCounters, String> {
    port(&json(text)?)
}

/// Parses the counters of all ports by their names, and returns those of some.
pub(super) fn all_ports(text: &str, ports: &[&str]) -> Result<Vec<PortCounters>, String> {
    let value = json(text)?;
    let of = |name: &&str| {
        let of = value.get(*name).ok_or_else(|| format!("there is no port `{name}`"))?;
        port(of).map_err(|why| format!("port {name}: {why}"))
    };
    ports.iter().map(of).collect()
}

/// Parses a number; `None` if it says that there is none. Thousands may be separated by commas.
pub(super) fn number(text: &str) -> Result<Option<u64>, String> {
    let text = text.trim().replace(',', "");
    match text.as_str() {
        "" | "-" | "N/A" | "null" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            let short: String = text.chars().filter(|c| !c.is_control()).take(40).collect();
            format!("`{short}` is no number")
        }),
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("its output is no JSON: {error}"))
}

fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value
        .as_object()
        .ok_or_else(|| "a JSON object is needed, with counters by their names".to_owned())
}

/// Returns a count; `None` if it is unknown.
fn count(name: &str, value: &Value) -> Result<Option<u64>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => number(text).map_err(|why| format!("{name}: {why}")),
        value => value.as_u64().map(Some).ok_or_else(|| format!("{name}: {value} is no count")),
    }
}

fn port(value: &Value) -> Result<PortCounters, String> {
    let mut port = PortCounters::default();
    for (name, value) in object(value)? {
        match name.as_str() {
            "priorities" => priorities(value, &mut port)?,
            "drops" => port.drops = drops(value)?,
            name => insert(&mut port.port, (name, false), value)?,
        }
    }
    Ok(port)
}

fn priorities(value: &Value, to: &mut PortCounters) -> Result<(), String> {
    for (name, value) in object(value)? {
        let priority = name.parse().ok().and_then(Priority::new);
        let priority =
            priority.ok_or_else(|| format!("`{name}` is none of {PRIORITIES} priorities"))?;
        for (name, value) in object(value)? {
            insert(&mut to.priorities[priority.index()], (name, true), value)?;
        }
    }
    Ok(())
}

fn drops(value: &Value) -> Result<Option<BTreeMap<String, u64>>, String> {
    if value.is_null() {
        return Ok(None);
    }
    let mut drops = BTreeMap::new();
    for (name, value) in object(value)? {
        drops.extend(count(name, value)?.map(|n| (name.clone(), n)));
    }
    Ok(Some(drops))
}

fn insert(
    to: &mut BTreeMap<Counter, u64>,
    (name, of_priority): (&str, bool),
    value: &Value,
) -> Result<(), String> {
    let (name, factor) = if name == "paused_us" { ("paused_ns", 1000) } else { (name, 1) };
    let mut all = Counter::ALL.iter().filter(|counter| counter.is_of_priority() == of_priority);
    let Some(counter) = all.clone().find(|counter| counter.name() == name) else {
        let names: Vec<_> = all.by_ref().map(|counter| counter.name()).collect();
        return Err(format!("`{name}` is no counter here; there are {}", names.join(", ")));
    };
    to.extend(count(name, value)?.map(|n| (*counter, n.saturating_mul(factor))));
    Ok(())
}
