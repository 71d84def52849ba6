//! Forms of files as JSON: the schema of a file, generated from the types that read it; values without nulls, as a
//! field that a file does not have is not written.

use schemars::Schema;
use schemars::transform::{Transform, transform_subschemas};
use serde::Serialize;
use serde_json::Value;

/// Joins the lines of descriptions, which are line breaks of the source file, and leaves absent fields
/// out of defaults.
struct OneLine;

impl Transform for OneLine {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            // The line breaks are those of the source file, and mean nothing to readers of the schema.
            *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        // Defaults are whole structures, whose absent fields serde writes as null.
        if let Some(default) = schema.get_mut("default") {
            without_nulls(default);
        }
        transform_subschemas(self, schema);
    }
}

/// Schema of a type, with each description on one line.
pub fn schema_of<T: schemars::JsonSchema>(title: &str) -> Value {
    let mut schema = schemars::schema_for!(T);
    schema.insert("title".into(), title.into());
    OneLine.transform(&mut schema);
    schema.to_value()
}

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
