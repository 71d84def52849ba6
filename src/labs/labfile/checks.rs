//! Checks of a run, what is recorded during it, and the sweep and the search over many runs.
//!
//! The sweep and the search are as the schema describes them; `study` reads them, with the place of each value.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use super::{Many, Short, Wanted};
use config::forms;
use config::quantity::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

/// A check: a word, or a mapping.
pub type Check = Short<CheckWord, CheckLong>;

/// A check that is configured by its name alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckWord {
    /// Every frame and every buffer cell is accounted for.
    Conservation,
    /// No frame of a lossless priority is lost; not judged where planned faults took all that are lost.
    Lossless,
    /// No frame of a priority starts while that priority is paused.
    PauseLegality,
    /// Every pause that a switch requested ends before the run does.
    PausesEnd,
    /// No cyclic buffer dependency (deadlock).
    NoDeadlock,
    /// No egress link of a switch is idle while an unpaused frame is queued for it. Switches that
    /// stall or have a `cpu` cost are not judged.
    WorkConserving,
    /// Every switch that marks ECN does so before it sends a pause.
    EcnBeforePfc,
}

impl CheckWord {
    pub const ALL: [Self; 7] = [
        Self::Conservation,
        Self::Lossless,
        Self::PauseLegality,
        Self::PausesEnd,
        Self::NoDeadlock,
        Self::WorkConserving,
        Self::EcnBeforePfc,
    ];
}

/// A check with parameters: exactly one of `fairness` and `value`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckLong {
    /// Name in results. Default: `fairness`, or the path of the value.
    pub name: Option<String>,
    /// Flows get equal throughput.
    pub fairness: Option<Fairness>,
    /// A number in the results has the expected value.
    pub value: Option<Value>,
}

impl Wanted for CheckLong {
    const WANTED: &'static str = "a check: conservation, lossless, pause_legality, pauses_end, \
                                  no_deadlock, work_conserving, ecn_before_pfc, \
                                  {fairness: ...} or {value: ...}";
}

/// Flows get equal throughput.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fairness {
    /// Flows, by their names in this file or in results. Default: all.
    pub flows: Option<Many<String>>,
    /// Largest deviation of a flow from the mean: `1%`. Default: `1%`.
    pub tolerance: Option<Allowance>,
}

/// A number in the results: `expect` or `same_as` with a tolerance, bounds, or both.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// Path in the JSON results, names separated by dots: `flows.d.payload_bps`, `pauses.first_ns`,
    /// `nodes.s1.ports.to_h1.priorities.3.headroom_peak_bytes`.
    pub path: String,
    /// Expected value, in the unit of the number.
    pub expect: Option<f64>,
    /// Path of another number in the results that is the expected value, instead of `expect`. Default:
    /// none.
    pub same_as: Option<String>,
    /// Largest deviation from the expected value: relative with `%`, else absolute. Default: `0`, an
    /// exact match.
    pub tolerance: Option<Allowance>,
    /// Lower bound, inclusive.
    pub at_least: Option<f64>,
    /// Upper bound, inclusive.
    pub at_most: Option<f64>,
    /// Source of the expected value, for the reader. Default: none.
    pub source: Option<String>,
}

/// Largest deviation of a number: `1%` of the expected value, or an absolute number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Allowance {
    /// Percent of the expected value.
    Percent(f64),
    /// Absolute, in the unit of the number.
    Number(f64),
}

/// Data recorded in addition to counters.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Sampling interval of queues and rates for plots, at least 1ns. Default: the shortest that a
    /// plot can resolve.
    pub sample_every: Option<Span>,
    /// True to keep every message of flows with acknowledgements for programs: flow, size, start,
    /// completion time and slowdown, up to 1,000,000 messages of a lab, shared equally by its flows.
    /// Default: `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub messages: bool,
    /// Links whose frames are captured to files. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pcapng: Vec<Capture>,
}

/// A capture of a link, both directions in one file.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Name of the link.
    pub link: String,
    /// Output file: pcapng with timestamps in nanoseconds.
    pub file: PathBuf,
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(n) => write!(f, "{n}%"),
            Self::Number(n) => n.fmt(f),
        }
    }
}

impl std::str::FromStr for Allowance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, relative) = match text.trim().strip_suffix('%') {
            Some(number) => (number.trim_end(), true),
            None => (text.trim(), false),
        };
        // A NaN or a negative tolerance would make every comparison false.
        let n = number.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        let n = n.ok_or_else(|| format!("`{text}` is no tolerance; write 1% or a number"))?;
        Ok(if relative { Self::Percent(n) } else { Self::Number(n) })
    }
}

impl Serialize for Allowance {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            // A text, as the percent sign is part of the meaning.
            Self::Percent(_) => s.collect_str(self),
            Self::Number(n) => s.serialize_f64(*n),
        }
    }
}

forms! {
    Allowance as "Allowance", "a tolerance, such as 1% or a number" =>
        text, number;
        |_| {
            "anyOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? *%?$" }
            ]
        }
}

/// The sweep of a lab file. It is taken out of the file before the rest is resolved.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Sweep(pub serde_json::Value);

// Written out, as a sweep is read as a tree: its keys are paths of fields.
impl JsonSchema for Sweep {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Sweep".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let values = values();
        // Keys are paths of fields, so they cannot be listed; editors validate the values alone.
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

// Written out for the same reason.
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
            // The value that is found depends on the end, so both at once would be two searches.
            "oneOf": [{ "required": ["least"] }, { "required": ["largest"] }],
            "additionalProperties": false
        })
    }
}
