//! The published JSON Schema, generated from the raw model.

use super::raw;

/// The JSON Schema (2020-12) of a switch file. Editors that know it complete and check fields.
#[must_use]
pub fn switch_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(raw::File);
    schema.insert("title".into(), "Sluice switch file".into());
    schema.to_value()
}
