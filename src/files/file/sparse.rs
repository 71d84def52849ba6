//! JSON without nulls: a field that a file does not have is not written.

use serde::Serialize;
use serde_json::Value;

/// Returns a value as JSON in which absent fields are left out.
///
/// # Panics
/// If a mapping has keys that are no text.
pub fn sparse(value: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(value).expect("names are text");
    without_nulls(&mut value);
    value
}

/// Removes nulls from objects, because readers of files refuse them, and clients print them as text or
/// fail on them.
pub fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
