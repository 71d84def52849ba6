//! What a swarm writes: the row of each lab, a line of `sluice swarm --rows` from which shards are joined, and
//! failing labs as YAML.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration as WallSpan;

use super::{Failed, Slowest, Summary, Swarm, Trial, lab_seed};
use crate::raw::Lab;
use crate::study::{RowError, each_row};
use ground::verdict::Verdict;
use labrun::trial::Counts;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use sim::check::Cause;

/// A lab of a swarm. Written flat: `totals`, `faults`, `defects` and `excused` are prefixes of names.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct LabRow {
    /// Number of the lab, from 0.
    n: u64,
    /// Number of labs of the swarm.
    count: u64,
    /// Seed of the swarm.
    swarm: u64,
    /// Seed of the lab.
    seed: u64,
    /// Hash of all events, 16 hexadecimal digits.
    trace_hash: String,
    verdict: Verdict,
    /// Check that failed.
    check: Option<Cow<'static, str>>,
    detail: Option<String>,
    #[serde(flatten)]
    counts: Counts,
    excused: BTreeMap<Cause, u64>,
    /// Duration of the run in real time.
    wall_ms: f64,
    version: String,
}

impl LabRow {
    /// Returns the row of a lab by its number in a swarm.
    pub(super) fn new(swarm: Swarm, n: u64, trial: &Trial, took: WallSpan) -> Self {
        let failure = trial.failure();
        Self {
            n,
            count: swarm.count,
            swarm: swarm.seed,
            seed: lab_seed(swarm.seed, n),
            trace_hash: format!("{:016x}", trial.trace_hash),
            verdict: trial.verdict(),
            check: failure.map(|failure| failure.check.into()),
            detail: failure.map(|failure| failure.detail.clone()),
            counts: trial.counts,
            excused: trial.excused.by_cause().collect(),
            wall_ms: took.as_secs_f64() * 1e3,
            version: ground::program::version().into(),
        }
    }

    /// Adds the lab to a summary.
    pub(super) fn add_to(&self, summary: &mut Summary) {
        let Self { n: lab, seed, counts, wall_ms: milliseconds, .. } = *self;
        summary.labs += 1;
        // `difference` has refused a row whose hash is no number.
        summary.hashes[lab as usize] = u64::from_str_radix(&self.trace_hash, 16).unwrap_or(0);
        if summary.slowest.is_none_or(|slowest| slowest.milliseconds < milliseconds) {
            summary.slowest = Some(Slowest { lab, seed, milliseconds });
        }
        summary.frames += counts.frames;
        summary.totals.add(&counts.totals);
        summary.faults.add(&counts.faults);
        summary.defects.add(&counts.defects);
        summary.deadlocks += u64::from(counts.deadlocks > 0);
        summary.stood_still += u64::from(counts.stood_still);
        summary.judged_for_marks += u64::from(counts.judges_marks);
        summary.judged_for_shares += u64::from(counts.judges_shares);
        summary.lossless_drops += counts.lossless_drops;
        for (cause, n) in &self.excused {
            *summary.excused_drops.entry(*cause).or_default() += n;
        }
        if let Some(check) = self.check.clone() {
            let detail = self.detail.clone().unwrap_or_default();
            summary.failed.push(Failed { lab, seed, check, detail });
        }
    }

    /// Describes a row that is not of this swarm, or whose lab is not the one of its number.
    fn difference(&self, swarm: Swarm) -> Option<String> {
        let version = ground::program::version();
        let differs = |what: &str, row: &dyn std::fmt::Display, own: &dyn std::fmt::Display| {
            Some(format!("{what} {row}, and the others are of {what} {own}"))
        };
        match () {
            () if self.version != version => differs("version", &self.version, &version),
            () if self.swarm != swarm.seed => differs("seed", &self.swarm, &swarm.seed),
            () if self.count != swarm.count => differs("count", &self.count, &swarm.count),
            () if self.n >= self.count || self.seed != lab_seed(self.swarm, self.n) => {
                Some(format!("lab {} with seed {}, which no swarm has", self.n, self.seed))
            }
            () if u64::from_str_radix(&self.trace_hash, 16).is_err() => {
                Some(format!("lab {} with `{}` as its trace", self.n, self.trace_hash))
            }
            () => None,
        }
    }
}

impl Serialize for LabRow {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let nested = Self::serialize(self, serde_json::value::Serializer);
        let nested = nested.map_err(serde::ser::Error::custom)?;
        let Value::Object(nested) = nested else { unreachable!("a structure is an object") };
        let mut flat = Map::new();
        for (name, value) in nested {
            match value {
                Value::Object(inner) => {
                    // Rows are flat, so that table tools read them; names with a prefix are nested again by
                    // `deserialize`.
                    flat.extend(inner.into_iter().map(|(own, v)| (format!("{name}.{own}"), v)));
                }
                plain => {
                    flat.insert(name, plain);
                }
            }
        }
        flat.serialize(to)
    }
}

impl<'de> Deserialize<'de> for LabRow {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut nested = Map::new();
        for (name, value) in Map::<String, Value>::deserialize(from)? {
            match name.split_once('.') {
                Some((first, own)) => {
                    let inner = nested.entry(first).or_insert_with(|| Map::new().into());
                    if let Value::Object(inner) = inner {
                        inner.insert(own.to_owned(), value);
                    }
                }
                None => {
                    nested.insert(name, value);
                }
            }
        }
        Self::deserialize(Value::Object(nested)).map_err(serde::de::Error::custom)
    }
}

/// The reason why rows are not those of one swarm.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// A file, and its line or its system error.
    #[error("{0}: {1}")]
    Row(String, RowError),
    /// Labs without a row.
    #[error("{0}")]
    Missing(String),
}

/// Most labs that are named in an error.
const NAMED_MAX: usize = 8;

/// Joins the rows of all labs of a swarm, from files in any order, to the summary of the whole swarm. It has
/// the very hash that one machine would give. Its seconds are those of all labs, one after the other.
///
/// # Errors
/// A file cannot be read; a row is of another version, seed or count, or there twice; or one is missing.
pub fn join(files: &[PathBuf]) -> Result<(Swarm, Summary), JoinError> {
    let mut whole: Option<(Swarm, Summary)> = None;
    let mut known: Vec<bool> = Vec::new();
    let mut seconds = 0.0;
    for path in files {
        let name = path.display().to_string();
        let wrong = |error| JoinError::Row(name.clone(), error);
        let file = File::open(path).map_err(|error| wrong(error.into()))?;
        let take = |line, row: LabRow| {
            let (n, of) = (row.n, row.count);
            let (swarm, summary) = whole.get_or_insert_with(|| {
                let swarm = Swarm { count: of, seed: row.swarm, jobs: 1 };
                (swarm, Summary::new(swarm))
            });
            if let Some(what) = row.difference(*swarm) {
                return Err(RowError::Foreign(line, what));
            }
            // Sized by the first row, which says how many labs the swarm has.
            known.resize(swarm.count as usize, false);
            if std::mem::replace(&mut known[n as usize], true) {
                return Err(RowError::Twice(line, n, format!("the {of} of the swarm")));
            }
            seconds += row.wall_ms / 1e3;
            row.add_to(summary);
            Ok(())
        };
        // The row that was cut off is missing in the sum, so it is an error and not left out.
        if !each_row(&file, take).map_err(wrong)?.is_empty() {
            let what = "the last line is cut off; run its shard again".to_owned();
            return Err(JoinError::Missing(format!("{name}: {what}")));
        }
    }
    let Some((swarm, mut summary)) = whole else {
        return Err(JoinError::Missing("the files have no rows".into()));
    };
    let missing: Vec<usize> = (0..known.len()).filter(|n| !known[*n]).collect();
    if !missing.is_empty() {
        let named: Vec<_> = missing.iter().take(NAMED_MAX).map(ToString::to_string).collect();
        let more = if missing.len() > NAMED_MAX { ", ..." } else { "" };
        return Err(JoinError::Missing(format!(
            "{} of {} labs have no row: {}{more}; give the files of all shards",
            missing.len(),
            swarm.count,
            named.join(", ")
        )));
    }
    summary.close();
    summary.seconds = seconds;
    Ok((swarm, summary))
}

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
    // What YAML 1.1 or 1.2 takes for a number or a truth value is quoted, whichever the reader follows.
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.%".contains(c))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().any(|c| c.is_ascii_alphabetic())
        && text.parse::<f64>().is_err()
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text);
    if plain { text.to_owned() } else { Value::from(text).to_string() }
}
