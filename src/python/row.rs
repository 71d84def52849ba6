//! The flat row of a run, as a line of JSON.

use lab::Outcome;
use serde_json::{Map, Value};

/// Columns of a run: number and axes of the point, seed, trace, verdict, figures, wall time.
pub fn row(outcome: &Outcome, number: u64, axes: &[(String, String)], wall: f64) -> String {
    let whole = serde_json::to_value(outcome).unwrap_or_default();
    let mut row = Map::new();
    row.insert("n".into(), number.into());
    for (path, value) in axes.iter().filter(|(path, _)| path != "seed" && path != "variant") {
        row.insert(
            path.clone(),
            serde_json::from_str(value).unwrap_or_else(|_| value.clone().into()),
        );
    }
    for name in ["lab", "variant", "seed", "trace_hash", "verdict"] {
        row.insert(name.into(), whole.get(name).cloned().unwrap_or_default());
    }
    flatten(&whole["figures"], "figures", &mut row);
    row.insert("wall_s".into(), wall.into());
    row.insert("version".into(), whole["version"].clone());
    Value::Object(row).to_string()
}

fn flatten(value: &Value, path: &str, row: &mut Map<String, Value>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| flatten(value, &format!("{path}.{name}"), row));
        }
        Value::Array(_) => {}
        value => {
            row.insert(path.into(), value.clone());
        }
    }
}
