//! Serialises a lab as YAML.

use serde_json::Value;

use crate::raw::Lab;

/// Returns the lab as YAML that parses to the same lab.
#[must_use]
pub fn as_yaml(lab: &Lab) -> String {
    let mut out = String::new();
    block(&config::sparse(lab), 0, &mut out);
    out
}

/// Longest mapping or list on one line, in characters.
const WIDE: usize = 88;

/// Writes the members of a mapping or a list, each on a separate line.
fn block(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                out.push_str(&format!("{indent}{}:", scalar(key)));
                member(value, depth, out);
            }
        }
        Value::Array(list) => {
            for value in list {
                out.push_str(&format!("{indent}-"));
                member(value, depth, out);
            }
        }
        other => out.push_str(&format!("{indent}{}\n", flow(other))),
    }
}

/// Writes the value after a key or a dash, on the same line if it fits.
fn member(value: &Value, depth: usize, out: &mut String) {
    let line = flow(value);
    let nested = matches!(value, Value::Object(map) if !map.is_empty())
        || matches!(value, Value::Array(list) if !list.is_empty());
    if nested && line.len() + 2 * depth > WIDE {
        out.push('\n');
        block(value, depth + 1, out);
    } else {
        out.push_str(&format!(" {line}\n"));
    }
}

/// Formats a value on one line.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members = map.iter().map(|(k, v)| format!("{}: {}", scalar(k), flow(v)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(list) => {
            format!("[{}]", list.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// Formats text, in quotes unless it is a plain word or a quantity that is no number.
fn scalar(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.%".contains(c))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().any(|c| c.is_ascii_alphabetic())
        && text.parse::<f64>().is_err()
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text);
    if plain { text.to_owned() } else { Value::from(text).to_string() }
}
