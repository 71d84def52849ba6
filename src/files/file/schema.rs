//! Schemas of files, generated from the types that read them.

use schemars::Schema;
use schemars::transform::{Transform, transform_subschemas};

/// Joins the lines of descriptions, which are line breaks of the source file, and leaves absent fields
/// out of defaults.
struct OneLine;

impl Transform for OneLine {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(serde_json::Value::String(text)) = schema.get_mut("description") {
            *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        if let Some(default) = schema.get_mut("default") {
            super::without_nulls(default);
        }
        transform_subschemas(self, schema);
    }
}

/// Schema of a type, with each description on one line.
pub fn schema_of<T: schemars::JsonSchema>(title: &str) -> serde_json::Value {
    let mut schema = schemars::schema_for!(T);
    schema.insert("title".into(), title.into());
    OneLine.transform(&mut schema);
    schema.to_value()
}
