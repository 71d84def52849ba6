//! The published JSON Schema, generated from the raw model.

use super::{raw, schema_of};

/// The JSON Schema (2020-12) of a switch file. Editors that know it complete and check fields.
#[must_use]
pub fn switch_schema() -> serde_json::Value {
    schema_of::<raw::File>("Sluice switch file")
}
