//! What is asked of a run, and what is recorded of it.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::{Many, Short, Wanted};
use crate::config::quantity::Span;

/// A check: a word, or a mapping.
pub type Check = Short<CheckWord, CheckLong>;

/// A check that needs no more than its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckWord {
    /// Every frame and every cell is accounted for.
    Conservation,
    /// No frame of a lossless priority is dropped.
    Lossless,
    /// No frame of a priority starts while that is paused.
    PauseLegality,
    /// Every pause that a switch asked for ends before the run does.
    PausesEnd,
    /// No circle of ports waits for itself.
    NoDeadlock,
    /// No line that leaves a switch is idle while a frame waits for it that nobody pauses. Switches
    /// that stall or whose processor is charged for are not judged.
    WorkConserving,
    /// Every switch that marks does so before it pauses anyone.
    EcnBeforePfc,
}

/// A check that needs more than its name: exactly one of `fairness` and `value`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckLong {
    /// Its name in results. Default: `fairness`, or the path of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Flows get equal shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness: Option<Fairness>,
    /// A number of the results is what it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

impl Wanted for CheckLong {
    const WANTED: &'static str = "a check: conservation, lossless, pause_legality, pauses_end, \
                                  no_deadlock, work_conserving, ecn_before_pfc, \
                                  {fairness: ...} or {value: ...}";
}

/// Flows get equal shares.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fairness {
    /// The flows, by the names of theirs in this file or in results. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Many<String>>,
    /// How far a flow may be from the mean: `1%`. Default: `1%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Allowance>,
}

/// A number of the results: `expect` with a tolerance, bounds, or both.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// Where it is in the JSON results, by names: `flows.d.payload_bps`, `pauses.first_ns`,
    /// `nodes.s1.ports.to_h1.priorities.3.headroom_peak_bytes`.
    pub path: String,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<f64>,
    /// How far it may be from `expect`: a part of that with `%`, else a number. Default: `0`, not
    /// at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Allowance>,
    /// What it is no less than.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// What it is no more than.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// Where the expectation comes from, for people. Default: nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// How far a number may be off: `1%` of it, or a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Allowance {
    /// In percent of what is expected.
    Percent(f64),
    /// In the unit of the number itself.
    Number(f64),
}

/// What is recorded beyond counters.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// How often queues and rates are looked at for plots, at least 1ns. Default: as often as a
    /// plot can show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_every: Option<Span>,
    /// Links whose frames are written to files. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pcapng: Vec<Capture>,
}

/// A capture of a link, both directions in one file.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The link.
    pub link: String,
    /// The file that is written, pcapng with stamps in nanoseconds.
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
        let n = number.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        let n = n.ok_or_else(|| format!("`{text}` is no tolerance; write 1% or a number"))?;
        Ok(if relative { Self::Percent(n) } else { Self::Number(n) })
    }
}

struct AllowanceReader;

impl Visitor<'_> for AllowanceReader {
    type Value = Allowance;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tolerance, such as 1% or a number")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Allowance, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Allowance, E> {
        Ok(Allowance::Number(n as f64))
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Allowance, E> {
        self.visit_str(&n.to_string())
    }

    fn visit_f64<E: de::Error>(self, n: f64) -> Result<Allowance, E> {
        self.visit_str(&n.to_string())
    }
}

impl<'de> Deserialize<'de> for Allowance {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(AllowanceReader)
    }
}

impl Serialize for Allowance {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Percent(_) => s.collect_str(self),
            Self::Number(n) => s.serialize_f64(*n),
        }
    }
}

impl JsonSchema for Allowance {
    fn schema_name() -> Cow<'static, str> {
        "Allowance".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? *%?$" }
            ]
        })
    }
}
