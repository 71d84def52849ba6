//! The published JSON Schema, generated from the raw model.

use super::raw;

/// Returns the JSON Schema (2020-12) of a lab file, for completion and validation in editors.
#[must_use]
pub fn lab_schema() -> serde_json::Value {
    config::schema_of::<raw::Lab>("Sluice lab file")
}
