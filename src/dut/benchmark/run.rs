//! A run of a procedure: its tables, the durations of their rows, and what every run has; as JSON, as JSON Lines and
//! as CSV, all made from the same serialised rows.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Debug;

use serde::Serialize;
use serde_json::{Map, Value};
use validate::bench::{Bench, TrialError};

use crate::arrivals::Arrivals;
use crate::plan::Plan;
use crate::trial::Runner;

/// Results of a procedure. Tables that were not selected, or not reached, have no rows.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Run<T> {
    #[serde(flatten)]
    pub tables: T,
    /// Durations of the rows.
    pub took: Vec<Took>,
    pub trials: u64,
    /// Frames of all trials that arrived otherwise than sent: one row, none without a trial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<Arrivals>,
    /// Remarks about the numbers, once each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Tests that were not run although they apply to the device, so they are not judged; the notes have the reasons.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub not_run: BTreeSet<String>,
    /// Tests that do not apply to such a device, or to what its file has; the notes have the reasons.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub not_applicable: BTreeSet<String>,
    /// Reason why the run ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

/// The tables of a procedure, and the tests that fill them.
pub trait Procedure: Default + Serialize {
    /// Name on the command line and in results.
    const NAME: &'static str;

    type Test: Copy + Debug + PartialEq + 'static;

    /// All tests with their names; empty for a procedure that is one test.
    const TESTS: &'static [(&'static str, Self::Test)] = &[];

    /// Returns the plan of its trials.
    fn plan(plan: &Plan) -> Cow<'_, Plan> {
        Cow::Borrowed(plan)
    }

    /// Fills the tables by trials, up to the first trouble.
    ///
    /// # Errors
    /// As [`Runner::measure`].
    fn fill(&mut self, runner: &mut Runner<'_>, tests: &[Self::Test]) -> Result<(), TrialError>;

    /// Returns the tables as text.
    fn text(run: &Run<Self>) -> String;

    /// Returns the names of a selection.
    fn names(only: &[Self::Test]) -> Vec<&'static str> {
        let is_in = |test: &Self::Test| only.contains(test);
        Self::TESTS.iter().filter(|(_, test)| is_in(test)).map(|(name, _)| *name).collect()
    }

    /// Returns the selected tests: all without a selection.
    fn selected(only: &[Self::Test]) -> Vec<Self::Test> {
        if only.is_empty() {
            Self::TESTS.iter().map(|(_, test)| *test).collect()
        } else {
            only.to_vec()
        }
    }
}

/// Returns what was asked for and is not judged in the results of runs, in words; `None` if all was judged. With
/// `is_named`, that the user named the tests, those that do not apply count as well.
#[must_use]
pub fn not_judged(runs: &[Value], is_named: bool) -> Option<String> {
    let of = |field: &str| -> BTreeSet<&str> {
        let names = runs.iter().filter_map(|run| run.get(field)?.as_array());
        names.flatten().filter_map(Value::as_str).collect()
    };
    let mut tests = of("not_run");
    if is_named {
        tests.extend(of("not_applicable"));
    }
    // A table with a row that was measured and not judged, such as that of a reset.
    let tables = runs.iter().filter_map(Value::as_object).flatten();
    tests.extend(tables.filter_map(|(table, rows)| {
        let mut rows = rows.as_array()?.iter();
        rows.any(|row| row.get("not_judged").is_some()).then_some(&table[..])
    }));
    let is_empty = |run: &Value| {
        let tables = run.as_object().into_iter().flatten();
        let mut tables = tables.filter(|(table, _)| *table != "arrivals");
        !tables
            .any(|(_, rows)| rows.as_array().is_some_and(|rows| rows.iter().any(Value::is_object)))
    };
    let names = tests.into_iter().collect::<Vec<_>>().join(", ");
    match (names.is_empty(), runs.iter().any(is_empty)) {
        (false, _) => {
            Some(format!("asked for and not judged: {names}; the notes have the reasons"))
        }
        (true, true) => Some("no test applies to this device".to_owned()),
        (true, false) => None,
    }
}

/// Declares the tables of a procedure, a list of rows each.
macro_rules! tables {
    ($($name:ident: $Row:ty,)+) => {
        /// Tables of results. A test that was not selected, or not reached, has no rows.
        #[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
        pub struct Tables {
            $(#[serde(skip_serializing_if = "Vec::is_empty")] pub $name: Vec<$Row>,)+
        }
    };
}
pub(crate) use tables;

/// Runs tests of a procedure; all of them if `only` is empty.
///
/// `progress` is called before each trial with its description, and ends the run by returning false.
pub fn run<P: Procedure>(
    plan: &Plan,
    only: &[P::Test],
    bench: &mut dyn Bench,
    progress: &mut dyn FnMut(&str) -> bool,
) -> (Run<P>, Option<TrialError>) {
    let plan = P::plan(plan);
    let mut runner = Runner::new(&plan, bench, progress);
    let mut tables = P::default();
    let trouble = tables.fill(&mut runner, &P::selected(only)).err();
    let Runner { mut took, trials, mut notes, not_run, not_applicable, arrivals, .. } = runner;
    notes.extend(arrivals.note());
    // Without a trial nothing arrived, which is not known to be right.
    let arrivals: Vec<Arrivals> = (trials > 0).then_some(arrivals).into_iter().collect();
    // All trials count for it, and have their times in other rows.
    took.extend(arrivals.iter().map(|_| Took { table: "arrivals", seconds: 0.0 }));
    let ended = trouble.as_ref().map(ToString::to_string);
    (Run { tables, took, trials, arrivals, notes, not_run, not_applicable, ended }, trouble)
}

/// Field of a row with its duration in seconds: of virtual time for a virtual device, else of the clock, with
/// rests and repeated trials. The points of a row share it.
pub const TOOK: &str = "took_s";

/// Duration of a row of a table.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Took {
    pub table: &'static str,
    pub seconds: f64,
}

/// Returns results as JSON, each row with its duration.
///
/// # Errors
/// As of `serde_json`.
pub fn to_json(results: &impl Serialize) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(results)?;
    let Some(run) = value.as_object_mut() else { return Ok(value) };
    let Some(Value::Array(all)) = run.remove("took") else { return Ok(value) };
    // The n-th duration of a table is that of its n-th row.
    let tables: Vec<String> = run.keys().cloned().collect();
    for table in tables {
        let mut own = all.iter().filter(|took| took["table"] == *table);
        for row in run.get_mut(&table).and_then(Value::as_array_mut).into_iter().flatten() {
            let (Value::Object(row), Some(took)) = (row, own.next()) else { continue };
            row.insert(TOOK.to_owned(), took["seconds"].clone());
        }
    }
    Ok(value)
}

/// A measured row with the name of its table: `throughput`, `latency`.
pub(crate) struct Line {
    pub(crate) table: String,
    pub(crate) fields: Map<String, Value>,
}

/// Returns a line of JSON for each row; without rows, one for the run. The fields of the run, such as its device and
/// its seed, are in each of them.
///
/// # Panics
/// The document is no object: a run always is.
#[must_use]
pub fn json_lines(document: &Value) -> String {
    let run = run_of(document);
    let all = lines(document);
    // A run that ended before its first row says why.
    let mut text =
        if all.is_empty() { format!("{}\n", Value::Object(run.clone())) } else { String::new() };
    for Line { table, fields } in all {
        let mut line = run.clone();
        line.insert("test".to_owned(), table.into());
        line.extend(fields);
        text += &Value::Object(line).to_string();
        text.push('\n');
    }
    text
}

/// Returns a table of comma-separated values (RFC 4180) for each table of the results, with an empty
/// line between two. The first column is the name of the table. Absent values are empty.
///
/// # Panics
/// As [`json_lines`].
#[must_use]
pub fn csv(document: &Value) -> String {
    let all = lines(document);
    let mut text = String::new();
    let mut rest = &all[..];
    while let Some(first) = rest.first() {
        let end = rest.iter().position(|line| line.table != first.table).unwrap_or(rest.len());
        let (table, more) = rest.split_at(end);
        rest = more;
        if !text.is_empty() {
            text.push('\n');
        }
        text += &one_table(table);
    }
    text
}

/// Columns that say what a row is about, which come first.
pub(crate) const KEYS: [&str; 17] = [
    "priority",
    "kind",
    "pattern",
    "burst",
    "goal",
    "tester",
    "senders",
    "receivers",
    "egress",
    "port",
    "stateful",
    "stateless",
    "shift",
    "size",
    "load_percent",
    "share_percent",
    "at_s",
];

fn one_table(lines: &[Line]) -> String {
    let has = |name: &&str| lines.iter().any(|line| line.fields.contains_key(*name));
    // First what a row is about, in a fixed order, then its figures as they come.
    let mut columns: Vec<&str> = KEYS.into_iter().filter(has).collect();
    for name in lines.iter().flat_map(|line| line.fields.keys()) {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    let mut text = format!("test,{}\n", columns.join(","));
    for line in lines {
        let cells = columns.iter().map(|name| line.fields.get(*name).map_or(String::new(), cell));
        text += &format!("{},{}\n", line.table, cells.collect::<Vec<_>>().join(","));
    }
    text
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        // RFC 4180: fields with these characters are quoted, and quotes doubled.
        Value::String(text) if text.contains(['"', ',', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the fields of a run that are no rows.
fn run_of(document: &Value) -> Map<String, Value> {
    let fields = document.as_object().expect("a run is an object").iter();
    let scalar = fields.filter(|(_, value)| !value.is_array() && !value.is_object());
    scalar.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns all rows, with nested objects and lists spread out; of several runs with their number.
pub(crate) fn lines(document: &Value) -> Vec<Line> {
    if let Some(runs) = document["runs"].as_array() {
        let numbered = |(n, run): (usize, &Value)| {
            let number = |mut line: Line| {
                line.fields.insert("run".to_owned(), (n + 1).into());
                line
            };
            lines(run).into_iter().map(number).collect::<Vec<_>>()
        };
        let mut all: Vec<Line> = runs.iter().enumerate().flat_map(numbered).collect();
        // A table has the rows of all runs; the sort is stable, so they keep the order of the runs.
        all.sort_by(|a, b| a.table.cmp(&b.table));
        return all;
    }
    let mut all = Vec::new();
    for (table, rows) in document.as_object().expect("a run is an object") {
        for row in rows.as_array().into_iter().flatten() {
            if let Value::Object(row) = row {
                for fields in spread(row) {
                    all.push(Line { table: table.clone(), fields });
                }
            }
        }
    }
    all
}

/// Returns a row without objects and lists: the fields of an object get its name before theirs, and
/// for a list of objects there is a row for each.
fn spread(row: &Map<String, Value>) -> Vec<Map<String, Value>> {
    let mut own = Map::new();
    let mut lists = Vec::new();
    for (name, value) in row {
        match value {
            Value::Object(inner) => {
                for fields in spread(inner) {
                    own.extend(fields.into_iter().map(|(key, v)| (format!("{name}.{key}"), v)));
                }
            }
            Value::Array(inner) => lists.extend(inner.iter().filter_map(Value::as_object)),
            other => {
                own.insert(name.clone(), other.clone());
            }
        }
    }
    if lists.is_empty() {
        return vec![own];
    }
    // The points of a curve are rows, each with the fields of the curve.
    let with = |fields: Map<String, Value>| own.clone().into_iter().chain(fields).collect();
    lists.into_iter().flat_map(spread).map(with).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_have_their_own_times_in_order() {
        let took = |table, seconds| Took { table, seconds };
        let run = json!({
            "a": [{"size": 64}, {"size": 128}], "b": [{"size": 64}], "c": [{"size": 1}], "trials": 3,
            "took": [took("a", 1.0), took("b", 2.5), took("a", 3.0), took("gone", 9.0)],
        });
        let rows = json!({
            "a": [{"size": 64, "took_s": 1.0}, {"size": 128, "took_s": 3.0}],
            "b": [{"size": 64, "took_s": 2.5}],
            // Without a measured time there is none.
            "c": [{"size": 1}],
            "trials": 3,
        });
        assert_eq!(to_json(&run).unwrap(), rows);
    }

    #[test]
    fn tests_that_are_not_judged_are_named_once_and_a_run_without_rows_is_not_judged() {
        let run = |not_run: &[&str], others: &[&str]| {
            let row = json!([{"size": 64}]);
            json!({"throughput": row, "not_run": not_run, "not_applicable": others})
        };
        let runs = [run(&["congestion", "broadcast"], &["reset"]), run(&["congestion"], &[])];
        let why = not_judged(&runs, false).unwrap();
        assert!(why.contains("not judged: broadcast, congestion;"), "{why}");
        assert!(not_judged(&runs, true).unwrap().contains("congestion, reset;"));
        // A test that does not apply is left out of what the default asks for, and not of what the user names.
        let runs = [run(&[], &["reset"])];
        assert_eq!(not_judged(&runs, false), None);
        assert!(not_judged(&runs, true).unwrap().contains("not judged: reset;"));
        let reset =
            json!({"throughput": [{"size": 64}], "reset": [{"not_judged": "no frame was lost"}]});
        assert!(not_judged(&[reset], false).unwrap().contains("not judged: reset;"));
        let nothing = json!({"arrivals": [{"duplicates": 0}], "trials": 3, "notes": ["a note"]});
        assert_eq!(
            not_judged(&[nothing], false).as_deref(),
            Some("no test applies to this device")
        );
    }

    fn run() -> Value {
        json!({
            "procedure": "rfc2544", "dut": "a, \"b\"", "trials": 7,
            "throughput": [{"size": 64, "loss_at": null}, {"size": 128, "paused": true}],
            "latency": [{"size": 64, "filo": {"min_ns": 1.5, "max_ns": 2.0}}],
            "loss": [{"size": 64, "points": [{"load": 100}, {"load": 90}]}],
            "notes": ["a note"],
        })
    }

    #[test]
    fn every_row_is_a_line_with_its_run() {
        let text = json_lines(&run());
        let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(lines.len(), 5);
        assert!(lines.iter().all(|line| line["trials"] == 7 && line["dut"] == "a, \"b\""));
        let latency = lines.iter().find(|line| line["test"] == "latency").unwrap();
        assert_eq!((&latency["filo.min_ns"], &latency["size"]), (&json!(1.5), &json!(64)));
        let loads: Vec<_> = lines
            .iter()
            .filter(|l| l["test"] == "loss")
            .map(|l| (&l["size"], &l["load"]))
            .collect();
        assert_eq!(loads, [(&json!(64), &json!(100)), (&json!(64), &json!(90))]);
    }

    #[test]
    fn tables_of_csv_have_their_own_columns() {
        let text = csv(&run());
        assert!(text.contains("test,size,filo.max_ns,filo.min_ns\nlatency,64,2.0,1.5\n"), "{text}");
        assert!(
            text.contains("\nthroughput,64,,\n") || text.contains("throughput,64,,\n"),
            "{text}"
        );
        assert!(text.contains("throughput,128,,true\n"), "{text}");
        assert_eq!(text.matches("\n\n").count(), 2, "{text}");
        assert_eq!(cell(&json!("a, \"b\"")), "\"a, \"\"b\"\"\"");
    }
}
