//! The row of a run: one flat JSON object, a line of a file of rows.
//!
//! A row names its run (lab, variant, point, seed), so that rows of several files, shards and machines can
//! be put together in any order, and has the hash of the lab and the version of the program, so that rows
//! of different studies are not. Names and units of all fields are in [`FIELDS`]. Values of axes are under
//! the paths of their axes, as the lab file has them. Unknown is null, never 0.

use std::fmt;
use std::time::Duration as WallSpan;

use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::row_file::FIXED;
use crate::{CheckOutcome, HopOutcome, Outcome, Resolved, SlowdownOutcome, SteadyOutcome};
use ground::statistics::Statistics;
use ground::time::Duration;
use ground::verdict::Verdict;

/// A run in a file of rows.
#[derive(Clone, PartialEq, Debug)]
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
    pub failed: Vec<String>,
    /// Numbers of the results by name: see [`FIELDS`](super::FIELDS). Null if the run has none.
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
        let is_bad = |check: &&CheckOutcome| check.verdict > Verdict::NotJudged;
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
            failed: outcome.checks.iter().filter(is_bad).map(|check| check.name.clone()).collect(),
            figures: figures(outcome),
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

    /// Returns the value of an axis by its path.
    #[must_use]
    pub fn axis(&self, path: &str) -> Option<&Value> {
        self.axes.iter().find(|(own, _)| own == path).map(|(_, value)| value)
    }
}

const HEADROOM: &str = "headroom_bytes";

/// Returns the numbers of the results by name, in the order of [`FIELDS`](super::FIELDS): first those of every run,
/// then those of the lines at each distance from a destination.
fn figures(outcome: &Outcome) -> Vec<(String, Value)> {
    let f = &outcome.figures;
    // A run without messages has null here and not 0, which would be the best of all times.
    let fct = |of: fn(&Statistics<Duration>) -> Value| f.fct.as_ref().map_or(Value::Null, of);
    let slowdown = |of: fn(&SlowdownOutcome) -> Value| f.slowdown.as_ref().map_or(Value::Null, of);
    let steady = |of: fn(&SteadyOutcome) -> Value| f.steady.as_ref().map_or(Value::Null, of);
    let ports = outcome.switches().flat_map(|switch| &switch.ports);
    let priorities = ports.flat_map(|port| &port.summary.port.counters.priorities);
    let headroom = priorities.map(|priority| priority.headroom_peak_bytes).max();
    let pauses = &outcome.pauses;
    let mut all: Vec<(String, Value)> = [
        ("elapsed_ns", json!(outcome.elapsed_ns)),
        ("done", json!(outcome.done)),
        ("rx_bps", json!(rate(outcome))),
        ("latency_p99_ns", json!(latency(outcome))),
        ("fct.messages", fct(|fct| json!(fct.count))),
        ("fct.min_ns", fct(|fct| json!(fct.min))),
        ("fct.p50_ns", fct(|fct| json!(fct.p50))),
        ("fct.p99_ns", fct(|fct| json!(fct.p99))),
        ("fct.max_ns", fct(|fct| json!(fct.max))),
        ("victim_bps", json!(f.victim_bps)),
        ("fairness", json!(f.fairness)),
        ("lost_frames", json!(f.lost_frames)),
        ("lossless_drops", json!(outcome.lossless_drops)),
        // The plan has it and the outcome does not: `with_headroom` fills it in.
        (HEADROOM, Value::Null),
        ("headroom_peak_bytes", json!(headroom)),
        ("buffer_peak_bytes", json!(f.buffer_peak_bytes)),
        ("queue_peak_bytes", json!(f.queue_peak_bytes)),
        ("pauses.first_ns", json!(pauses.first_ns)),
        ("pauses.xoffs", json!(pauses.xoffs)),
        ("pauses.frames_sent", json!(pauses.frames_sent)),
        ("pauses.paused_ns", json!(pauses.paused_ns)),
        ("pauses.longest_ns", json!(pauses.longest_ns)),
        ("marks", json!(outcome.marks)),
        ("deadlocks", json!(outcome.deadlocks.len())),
        ("signals.cnps", json!(f.signals.cnps)),
        ("signals.cnms", json!(f.signals.cnms)),
        ("signals.sfcms", json!(f.signals.sfcms)),
        ("signals.cims", json!(f.signals.cims)),
        ("slowdown.messages", slowdown(|s| json!(s.messages))),
        ("slowdown.unfinished", slowdown(|s| json!(s.unfinished))),
        ("slowdown.left_out", slowdown(|s| json!(s.left_out))),
        ("slowdown.mean", slowdown(|s| json!(s.mean))),
        ("slowdown.p50", slowdown(|s| json!(s.p50))),
        ("slowdown.p99", slowdown(|s| json!(s.p99))),
        ("slowdown.max", slowdown(|s| json!(s.max))),
        ("steady.rule", steady(|s| json!(s.rule))),
        ("steady.from_ns", steady(|s| json!(s.from_ns))),
        ("steady.to_ns", steady(|s| json!(s.to_ns))),
        ("steady.flows", steady(|s| json!(s.flows))),
        ("steady.throughput_bps", steady(|s| json!(s.throughput_bps))),
        ("steady.fairness", steady(|s| json!(s.fairness))),
        ("steady.queue_mean_bytes", steady(|s| json!(s.queue_mean_bytes))),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    all.extend(f.hops.iter().flat_map(hop_figures));
    all
}

/// Returns the numbers of the lines at one distance from a destination.
fn hop_figures(hop: &HopOutcome) -> [(String, Value); 4] {
    let whose = if hop.hosts { "hosts" } else { "switches" };
    let name = |what: &str| format!("hops.{}.{whose}.{what}", hop.distance);
    [
        (name("lines"), json!(hop.lines)),
        (name("pauses"), json!(hop.pauses)),
        (name("paused_ns"), json!(hop.paused_ns)),
        (name("longest_ns"), json!(hop.longest_ns)),
    ]
}

/// Returns the received bits of all flows over the time of the run, in bit/s.
pub(crate) fn rate(outcome: &Outcome) -> Option<f64> {
    let bytes: u64 = outcome.flows.iter().map(|flow| flow.rx_bytes).sum();
    let seconds = outcome.elapsed_ns.as_secs_f64();
    (seconds > 0.0 && !outcome.flows.is_empty()).then(|| bytes as f64 * 8.0 / seconds)
}

/// Returns the largest of the flows' 99th percentiles of frame latency, in ns.
pub(crate) fn latency(outcome: &Outcome) -> Option<f64> {
    let flows = outcome.flows.iter().filter_map(|flow| flow.latency_ns);
    flows.map(|latency| latency.p99.as_nanos_f64()).max_by(f64::total_cmp)
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("n", &self.n)?;
        map.serialize_entry("runs", &self.runs)?;
        map.serialize_entry("point", &self.point)?;
        map.serialize_entry("lab", &self.lab)?;
        map.serialize_entry("variant", &self.variant)?;
        // The seed is a field of every row, so as an axis it would be there twice.
        for (path, value) in self.axes.iter().filter(|(path, _)| path != "seed") {
            map.serialize_entry(path, value)?;
        }
        map.serialize_entry("seed", &self.seed)?;
        map.serialize_entry("world", &self.world)?;
        map.serialize_entry("trace_hash", &self.trace_hash)?;
        map.serialize_entry("verdict", &self.verdict)?;
        // One text and no list: rows are flat, so that every tool reads them as a table.
        map.serialize_entry("failed", &self.failed.join(", "))?;
        for (name, value) in &self.figures {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry("wall_ms", &self.wall_ms)?;
        map.serialize_entry("version", &self.version)?;
        map.serialize_entry("study", &self.study)?;
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
                () if FIXED.contains(&name.as_str()) => {
                    if fixed.insert(name.clone(), value).is_some() {
                        return Err(A::Error::custom(format!("`{name}` is there twice")));
                    }
                }
                () if super::row_file::is_figure(&name) => figures.push((name, value)),
                () => axes.push((name, value)),
            }
        }
        let fixed: Fixed = serde_json::from_value(fixed.into()).map_err(A::Error::custom)?;
        let failed = fixed.failed.split(", ").filter(|name| !name.is_empty());
        Ok(Row {
            failed: failed.map(Into::into).collect(),
            n: fixed.n,
            runs: fixed.runs,
            point: fixed.point,
            lab: fixed.lab,
            variant: fixed.variant,
            axes,
            seed: fixed.seed,
            world: fixed.world,
            trace_hash: fixed.trace_hash,
            verdict: fixed.verdict,
            figures,
            wall_ms: fixed.wall_ms,
            version: fixed.version,
            study: fixed.study,
        })
    }
}

/// Fields that every row has.
#[derive(Deserialize)]
struct Fixed {
    n: u64,
    runs: u64,
    point: String,
    lab: String,
    variant: Option<String>,
    seed: u64,
    world: String,
    trace_hash: Option<String>,
    verdict: Verdict,
    failed: String,
    wall_ms: f64,
    version: String,
    study: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::row_file::{FIELDS, field};
    use crate::{Options, World, run};

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
    fn every_field_of_a_row_is_described_and_unknown_is_null() {
        let (row, _) = row();
        let flat = serde_json::to_value(&row).unwrap();
        for name in flat.as_object().unwrap().keys() {
            let is_axis = row.axes.iter().any(|(path, _)| path == name);
            assert!(is_axis != field(name).is_some(), "{name}");
        }
        for field in FIELDS.iter().filter(|field| !field.name.contains('*')) {
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
