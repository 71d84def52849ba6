//! The row of a run: one flat JSON object, a line of a file of rows.
//!
//! A row names its run (lab, variant, point, seed), so that rows of several files, shards and machines can
//! be put together in any order, and has the hash of the lab and the version of the program, so that rows
//! of different studies are not. Names and units of all fields are in `columns`. Values of axes are under
//! the paths of their axes, as the lab file has them. Unknown is null, never 0.

use std::fmt;
use std::time::Duration as WallSpan;

use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::columns::{FIGURES, HEAD, HEADROOM, HOPS, TAIL, is_figure, is_fixed};
use crate::{HopOutcome, Outcome, Resolved};
use ground::verdict::Verdict;
use text::Cell;

/// A run in a file of rows.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(remote = "Self")]
pub struct Row {
    /// Number of the run in its lab, from 0, in the order of variants and points.
    pub n: u64,
    /// Number of runs of the lab.
    pub runs: u64,
    /// Name of the point, such as `alpha=1/8,length=100m`; empty for a lab without a sweep.
    pub point: String,
    /// Name of the lab.
    pub lab: String,
    pub variant: Option<String>,
    /// Values of the axes, by their path in the lab file: numbers, booleans or text.
    #[serde(skip)]
    pub axes: Vec<(String, Value)>,
    /// Seed of everything random.
    pub seed: u64,
    /// World of the run: `virtual` or `real`.
    pub world: String,
    /// Hash of all events; `None` in the real world.
    pub trace_hash: Option<String>,
    /// Worst verdict of the checks.
    pub verdict: Verdict,
    /// Names of the checks that are neither PASS nor not judged.
    #[serde(deserialize_with = "names")]
    pub failed: Vec<String>,
    /// Numbers of the results by name: see [`fields`](super::fields). Null if the run has none.
    #[serde(skip)]
    pub figures: Vec<(String, Value)>,
    /// Duration of the run in real time, in ms, with the resolution of the lab.
    pub wall_ms: f64,
    /// Version of Sluice.
    pub version: String,
    /// Digest of the lab's text and of the options that change it: [`super::digest`].
    pub study: String,
}

impl Row {
    /// Returns the row of a run of a lab without a sweep, which took `wall` in real time. A study adds the
    /// number, the point and the digest.
    #[must_use]
    pub fn new(outcome: &Outcome, wall: WallSpan) -> Self {
        let figures = FIGURES.iter().map(|c| (c.field.name.to_owned(), json!(c.cell(outcome))));
        Self {
            n: 0,
            runs: 1,
            point: String::new(),
            lab: outcome.lab.clone(),
            variant: outcome.variant.clone(),
            axes: Vec::new(),
            seed: outcome.seed,
            world: outcome.world.to_owned(),
            trace_hash: outcome.trace_hash.clone(),
            verdict: outcome.verdict,
            failed: outcome.failed().map(|check| check.name.clone()).collect(),
            figures: figures.chain(outcome.figures.hops.iter().flat_map(hop_figures)).collect(),
            // Microseconds are more than a clock of a busy machine tells.
            wall_ms: (wall.as_secs_f64() * 1e6).round() / 1e3,
            version: ground::program::version().to_owned(),
            study: String::new(),
        }
    }

    /// Adds the configured headroom, which the results of a run do not have.
    #[must_use]
    pub fn with_headroom(mut self, resolved: &Resolved) -> Self {
        let bytes = resolved.headroom.iter().filter_map(|(node, check)| {
            let sim::NodeKind::Switch(plan) = &resolved.plan.network.nodes[node.index()].kind
            else {
                return None;
            };
            Some(u64::from(check.given.0) * u64::from(plan.buffer.cell_bytes))
        });
        if let (Some((_, value)), Some(bytes)) =
            (self.figures.iter_mut().find(|(name, _)| name == HEADROOM), bytes.max())
        {
            *value = bytes.into();
        }
        self
    }

    /// Returns a number of the results by its name; `None` if the run has none.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|(own, _)| own == name).and_then(|(_, value)| value.as_f64())
    }

    /// Returns the value of a field, a figure or an axis by its name.
    #[must_use]
    pub fn cell(&self, name: &str) -> Cell<'_> {
        if let Some(column) = HEAD.iter().chain(TAIL).find(|column| column.field.name == name) {
            return column.cell(self);
        }
        match self.figures.iter().chain(&self.axes).find(|(own, _)| own == name).map(|(_, v)| v) {
            Some(Value::String(text)) => Cell::Text(text.into()),
            Some(Value::Bool(is)) => Cell::Truth(*is),
            Some(Value::Number(n)) => match n.as_u64() {
                Some(n) => Cell::Whole(n),
                None => n.as_f64().map_or(Cell::Unknown, Cell::Number),
            },
            _ => Cell::Unknown,
        }
    }

    /// Returns the value of an axis by its path.
    #[must_use]
    pub fn axis(&self, path: &str) -> Option<&Value> {
        self.axes.iter().find(|(own, _)| own == path).map(|(_, value)| value)
    }
}

/// Returns the numbers of the lines at one distance from a destination.
fn hop_figures(hop: &HopOutcome) -> impl Iterator<Item = (String, Value)> + '_ {
    let (distance, whose) = (hop.distance, if hop.hosts { "hosts" } else { "switches" });
    let name =
        move |name: &str| name.replacen('*', &distance.to_string(), 1).replacen('*', whose, 1);
    HOPS.iter().map(move |column| (name(column.field.name), json!(column.cell(hop))))
}

/// Returns the names as one text. A name may be any text: a comma in it that would separate names has a backslash in
/// front, and so has a backslash.
pub(super) fn joined(names: &[String]) -> String {
    let escaped = names.iter().map(|name| name.replace('\\', r"\\").replace(", ", r"\, "));
    escaped.collect::<Vec<_>>().join(", ")
}

/// Returns the names of a text of [`joined`].
fn separated(text: &str) -> Vec<String> {
    let (mut names, mut name) = (Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => name.extend(chars.next()),
            ',' if chars.next_if_eq(&' ').is_some() => names.push(core::mem::take(&mut name)),
            c => name.push(c),
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for column in HEAD {
            map.serialize_entry(column.field.name, &column.cell(self))?;
            if column.field.name == "variant" {
                // The seed is a field of every row, so as an axis it would be there twice.
                for (path, value) in self.axes.iter().filter(|(path, _)| path != "seed") {
                    map.serialize_entry(path, value)?;
                }
            }
        }
        for (name, value) in &self.figures {
            map.serialize_entry(name, value)?;
        }
        for column in TAIL {
            map.serialize_entry(column.field.name, &column.cell(self))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Reader)
    }
}

/// Reads a row; fields may be in any order.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Row;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row of a study: an object with `n`, `verdict` and others")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
        let mut fixed = serde_json::Map::new();
        let (mut axes, mut figures) = (Vec::new(), Vec::new());
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            // Axes are whatever is neither fixed nor a figure, as their names are paths of the lab.
            match () {
                () if is_fixed(&name) => {
                    if fixed.insert(name.clone(), value).is_some() {
                        return Err(A::Error::custom(format!("`{name}` is there twice")));
                    }
                }
                () if is_figure(&name) => figures.push((name, value)),
                () => axes.push((name, value)),
            }
        }
        // The derived function, for the fields that every row has; the trait's one leads here.
        let row = Row::deserialize(Value::Object(fixed)).map_err(A::Error::custom)?;
        Ok(Row { axes, figures, ..row })
    }
}

/// Reads names that are one text.
fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let text = String::deserialize(from)?;
    Ok(separated(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{field, fields};
    use crate::{Options, World, run};
    use crate::{SlowdownOutcome, SteadyOutcome};
    use ground::statistics::Statistics;
    use ground::time::Duration;

    const LAB: &str = "\
name: two
duration: 200us
topology: {star: {hosts: 3}}
profiles: {tor: {defaults: {pfc: {enable: [3]}}}}
defaults: {links: {rate: 100G, length: 10m}}
flows: [{name: f, from: [h1, h2], to: h3, priority: 3, size: 1500}]
checks: [conservation, lossless, {value: {path: marks, at_least: 1}}]
";

    fn row() -> (Row, Outcome) {
        let (resolved, _) = crate::examine("f.yaml", LAB).unwrap();
        let run = run(&resolved.plan, World::Virtual, Options::default(), |_| ()).unwrap();
        let row = Row::new(&run.outcome, WallSpan::from_micros(1_234));
        let axes = vec![
            ("defaults.links.length".into(), json!("10m")),
            ("alpha".into(), json!(-3)),
            ("flows.f.size".into(), json!(1500)),
        ];
        (Row { axes, n: 7, runs: 9, ..row.with_headroom(&resolved) }, run.outcome)
    }

    #[test]
    fn a_row_is_flat_and_reads_back_in_any_order_of_its_fields() {
        let (row, _) = row();
        let line = serde_json::to_string(&row).unwrap();
        let flat: serde_json::Map<String, Value> = serde_json::from_str(&line).unwrap();
        assert!(flat.values().all(|value| !value.is_object() && !value.is_array()), "{line}");
        assert_eq!((&flat["failed"], &flat["verdict"]), (&json!("marks"), &json!("fail")));
        assert!(!line.contains('\n') && line.starts_with(r#"{"n":7,"runs":9,"#), "{line}");
        assert_eq!(serde_json::from_str::<Row>(&line).unwrap(), row);
        // A map of serde_json has its keys in the order of the alphabet.
        let sorted = serde_json::to_string(&flat).unwrap();
        let back: Row = serde_json::from_str(&sorted).unwrap();
        assert_eq!(serde_json::to_value(&back).unwrap(), serde_json::to_value(&row).unwrap());
        assert_eq!(back.axis("alpha"), Some(&json!(-3)));
        let twice = line.replacen(r#""n":7"#, r#""n":7,"n":8"#, 1);
        assert!(serde_json::from_str::<Row>(&twice).unwrap_err().to_string().contains("twice"));
        assert!(serde_json::from_str::<Row>(r#"{"n":7}"#).is_err());
    }

    #[test]
    fn names_of_checks_read_back_whatever_is_in_them() {
        for names in [
            &[][..],
            &["a"],
            &["a", "b c"],
            &["rate of f, in bit/s", "a"],
            &["a,", " b"],
            &["c\\", "d", "e\\, f"],
        ] {
            let (row, _) = row();
            let failed = names.iter().map(|name| (*name).to_owned()).collect();
            let row = Row { failed, ..row };
            let read: Row = serde_json::from_str(&serde_json::to_string(&row).unwrap()).unwrap();
            assert_eq!(read.failed, names);
        }
        assert_eq!(joined(&["a".into(), "b c".into()]), "a, b c");
    }

    #[test]
    fn every_field_of_a_row_is_described_and_unknown_is_null() {
        let (row, _) = row();
        let flat = serde_json::to_value(&row).unwrap();
        for name in flat.as_object().unwrap().keys() {
            let is_axis = row.axes.iter().any(|(path, _)| path == name);
            assert!(is_axis != field(name).is_some(), "{name}");
        }
        for field in fields().filter(|field| !field.name.contains('*')) {
            assert!(flat.get(field.name).is_some(), "no row has `{}`", field.name);
            assert!(field.unit == "ns" || !field.name.ends_with("_ns"), "{}", field.name);
            assert!(field.unit == "B" || !field.name.ends_with("_bytes"), "{}", field.name);
            assert!(field.unit == "bit/s" || !field.name.ends_with("_bps"), "{}", field.name);
        }
        assert!(flat["fct.p99_ns"].is_null(), "no messages, no completion time");
        assert!(row.figure("headroom_bytes") >= row.figure("headroom_peak_bytes"));
        assert!(row.figure("queue_peak_bytes") > Some(0.0) && row.figure("rx_bps") > Some(5e10));
        assert_eq!(row.wall_ms, 1.234);
    }

    #[test]
    fn no_figure_of_the_results_is_left_out() {
        fn leaves(value: &Value, path: &str, all: &mut Vec<String>) {
            match value {
                Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                    let dot = if path.is_empty() { "" } else { "." };
                    leaves(value, &format!("{path}{dot}{name}"), all);
                }),
                _ => all.push(path.to_owned()),
            }
        }
        let (row, outcome) = row();
        let mut all = Vec::new();
        let zero = Duration::ZERO;
        let slowdown = SlowdownOutcome {
            messages: 1,
            unfinished: 0,
            left_out: 0,
            mean: None,
            p50: None,
            p99: None,
            max: None,
            bins: Vec::new(),
        };
        let steady = SteadyOutcome {
            rule: "measure",
            from_ns: zero,
            to_ns: zero,
            flows: 1,
            throughput_bps: 1.0,
            fairness: None,
            queue_mean_bytes: None,
        };
        let figures = crate::Figures {
            fct: Some(Statistics::default()),
            slowdown: Some(slowdown),
            steady: Some(steady),
            ..outcome.figures
        };
        leaves(&serde_json::to_value(figures).unwrap(), "", &mut all);
        for name in all.iter().filter(|name| !["hops", "slowdown.bins"].contains(&name.as_str())) {
            assert!(row.figures.iter().any(|(own, _)| own == name), "{name}");
        }
        assert!(row.figures.iter().any(|(own, _)| own == "hops.1.hosts.pauses"));
    }
}
