//! The sweep and the search of a lab file, as the schema describes them. They are read by `study`, with the place
//! of each value.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The sweep of a lab file. It is taken out of the file before the rest is resolved.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Sweep(pub serde_json::Value);

impl JsonSchema for Sweep {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Sweep".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let values = values();
        let axes = json_schema!({
            "type": "object", "minProperties": 1, "additionalProperties": values
        });
        json_schema!({
            "type": "object",
            "minProperties": 1,
            "properties": {
                "zip": {
                    "description": "Axes of the same length that go together, as one axis; or a list of \
                        such mappings.",
                    "anyOf": [axes, { "type": "array", "minItems": 1, "items": axes }]
                },
                "points": {
                    "description": "Points by name, as one axis: each sets fields by path; `{}` sets none.",
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": { "type": ["object", "null"] }
                }
            },
            "additionalProperties": values
        })
    }
}

/// Describes the values of an axis.
fn values() -> Schema {
    let number = json_schema!({ "type": ["number", "string"] });
    json_schema!({
        "description": "Values of an axis: a list, or a range. A range is a text, such as `1..100`, \
            `5m..500m step 5m`, `1KiB..64KiB factor 2` or `5m..500m count 12`, or a mapping with \
            `from`, `to` and one of `step`, `factor` and `count`; both ends are in the same unit.",
        "anyOf": [
            { "type": "array", "minItems": 1 },
            { "type": "string", "pattern": r"\.\." },
            {
                "type": "object",
                "properties": {
                    "from": number, "to": number, "step": number, "factor": number, "count": number
                },
                "required": ["from", "to"],
                "additionalProperties": false
            }
        ]
    })
}

/// The search of a lab file. It is taken out of the file before the rest is resolved.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Search(pub serde_json::Value);

impl JsonSchema for Search {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Search".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let field = |end: &str| {
            json_schema!({
                "description": format!("A field by path with its values in ascending order; the {end} is found."),
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": values()
            })
        };
        json_schema!({
            "type": "object",
            "properties": {
                "least": field("least"),
                "largest": field("largest"),
                "holds": {
                    "description": "Names of checks that must pass. Default: all checks of the lab.",
                    "anyOf": [
                        { "type": "string" },
                        { "type": "array", "minItems": 1, "items": { "type": "string" } }
                    ]
                },
                "seed": values(),
                "confidence": {
                    "description": "Confidence of the share of seeds with which a found value holds, at \
                        least: above 0% and below 100%. Default: `95%`.",
                    "type": ["string", "number"]
                }
            },
            "oneOf": [{ "required": ["least"] }, { "required": ["largest"] }],
            "additionalProperties": false
        })
    }
}
