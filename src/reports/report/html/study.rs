//! The pages of studies: of a sweep, from the rows of its runs, and of searches, with the values found over the axes of
//! the study.

use std::collections::HashMap;

use super::sweep::{SweepAxis, SweepFigure, SweepPage, SweepRow, sweep_html};
use crate::searches::{searched_summary, why};
use crate::study::axis_value;
use lab::study::{Found, Row, Searched, Studied, field};

/// Figures that are shown first, if runs have them.
const FIRST: [&str; 3] = ["fct.p99_ns", "latency_p99_ns", "rx_bps"];

/// Name of the axis whose runs are repetitions.
const SEED: &str = "seed";

/// Renders the page of a study that has ended. `command` reproduces it.
#[must_use]
pub fn study_html(studied: &Studied, world: &str, command: &str) -> String {
    let rows = &studied.rows;
    let mut axes: Vec<Values> = Vec::new();
    axes.extend(several("lab", rows.iter().map(|row| row.lab.clone())));
    let variant = |row: &Row| row.variant.clone().unwrap_or_else(|| "–".into());
    axes.extend(several("variant", rows.iter().map(variant)));
    for axis in &studied.axes {
        let value = |row: &Row| {
            // Variants may lack an axis of the study.
            row.axis(&axis.path).map_or_else(|| "–".into(), |value| axis_value(&axis.path, value))
        };
        axes.push(Values::new(&axis.name, axis.path == SEED, rows.iter().map(value)));
    }
    // A figure needs an axis, so a study of one point has that of its runs.
    if axes.is_empty() {
        axes.push(Values::new("run", false, rows.iter().map(|row| row.n.to_string())));
    }
    let names = names(rows);
    let lines = rows.iter().enumerate().map(|(n, row)| SweepRow {
        place: axes.iter().map(|axis| axis.places[n]).collect(),
        verdict: row.verdict,
        figures: names.iter().map(|name| row.figure(name)).collect(),
    });
    let lines: Vec<SweepRow> = lines.collect();
    let mut labs: Vec<&str> = rows.iter().map(|row| row.lab.as_str()).collect();
    // Rows of a lab follow each other.
    labs.dedup();
    // The page may be made of an interrupted study.
    let missing = studied.planned.saturating_sub(rows.len() as u64);
    let missing =
        (missing > 0).then(|| format!("{missing} of {} runs are missing", studied.planned));
    let same = studied.same_traces.iter().map(|same| format!("Note: {}", same.line()));
    let summary: Vec<String> = missing.into_iter().chain(same).collect();
    sweep_html(&SweepPage {
        title: &labs.join(", "),
        world,
        verdict: studied.verdict,
        summary: &summary,
        axes: &axes.into_iter().map(|axis| axis.axis).collect::<Vec<_>>(),
        figures: &names
            .iter()
            .map(|name| SweepFigure {
                name: (*name).to_owned(),
                unit: field(name).map_or("", |field| field.unit),
            })
            .collect::<Vec<_>>(),
        rows: &lines,
        command,
    })
}

/// An axis, and the place of each row on it.
pub(super) struct Values {
    pub(super) axis: SweepAxis,
    pub(super) places: Vec<usize>,
}

impl Values {
    /// Takes the values of all rows; those of the axis are in the order of their first row.
    pub(super) fn new(name: &str, repeats: bool, values: impl Iterator<Item = String>) -> Self {
        let mut known = HashMap::new();
        let mut axis = SweepAxis { name: name.into(), values: Vec::new(), repeats };
        let place = |value: String| {
            let next = axis.values.len();
            // By hash: a study may have as many values as runs.
            *known.entry(value.clone()).or_insert_with(|| {
                axis.values.push(value);
                next
            })
        };
        let places = values.map(place).collect();
        Self { axis, places }
    }
}

/// An axis of these values, if there are several.
fn several(name: &str, values: impl Iterator<Item = String>) -> Option<Values> {
    Some(Values::new(name, false, values)).filter(|axis| axis.axis.values.len() > 1)
}

/// Returns the names of the numbers that a run has, the most important first.
fn names(rows: &[Row]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, value) in rows.iter().flat_map(|row| &row.figures) {
        if value.is_number() && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let rank = |name: &&str| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len());
    names.sort_by_key(rank);
    names
}

/// Units of values, with their size in the units of pages.
const UNITS: [(&str, f64, &str); 19] = [
    ("", 1.0, ""),
    ("%", 1.0, "%"),
    ("B", 1.0, "B"),
    ("KB", 1e3, "B"),
    ("MB", 1e6, "B"),
    ("GB", 1e9, "B"),
    ("KiB", 1_024.0, "B"),
    ("MiB", 1_048_576.0, "B"),
    ("ns", 1.0, "ns"),
    ("us", 1e3, "ns"),
    ("ms", 1e6, "ns"),
    ("s", 1e9, "ns"),
    ("M", 1e6, "bit/s"),
    ("G", 1e9, "bit/s"),
    ("T", 1e12, "bit/s"),
    ("Mbps", 1e6, "bit/s"),
    ("Gbps", 1e9, "bit/s"),
    ("m", 1.0, "m"),
    ("km", 1e3, "m"),
];

/// Returns the number of a value, and its unit on pages; `None` for a value that is no number.
fn number(value: &str) -> Option<(f64, &'static str)> {
    if let Some((over, under)) = value.split_once('/') {
        return Some((over.parse::<f64>().ok()? / under.parse::<f64>().ok()?, ""));
    }
    let is_digit = |c: char| c.is_ascii_digit() || "._-".contains(c);
    let end = value.find(|c| !is_digit(c)).unwrap_or(value.len());
    let (digits, unit) = value.split_at(end);
    let (_, size, unit) = UNITS.iter().find(|(name, ..)| *name == unit.trim())?;
    Some((digits.replace('_', "").parse::<f64>().ok()? * size, unit))
}

/// Renders the page of searches that have ended. `command` reproduces it.
#[must_use]
pub fn searched_html(searched: &Searched, command: &str) -> String {
    let all = &searched.found;
    let (field, headings) = &searched.headings;
    let mut axes: Vec<Values> = Vec::new();
    if all.iter().any(|found| found.variant.is_some()) {
        let name = |found: &Found| found.variant.clone().unwrap_or_default();
        axes.push(Values::new("variant", false, all.iter().map(name)));
    }
    for (n, heading) in headings.iter().enumerate() {
        axes.push(Values::new(heading, false, all.iter().map(|found| found.shown[n].clone())));
    }
    if axes.is_empty() {
        axes.push(Values::new("lab", false, all.iter().map(|_| searched.lab.clone())));
    }
    let numbers: Vec<Option<(f64, &str)>> =
        all.iter().map(|found| found.value.as_deref().and_then(number)).collect();
    // All values are of one field, and so of one unit.
    let unit = numbers.iter().flatten().next().map_or("", |(_, unit)| *unit);
    let row = |(n, found): (usize, &Found)| SweepRow {
        place: axes.iter().map(|axis| axis.places[n]).collect(),
        verdict: found.verdict,
        figures: vec![numbers[n].map(|(number, _)| number)],
    };
    let rows: Vec<SweepRow> = all.iter().enumerate().map(row).collect();
    let mut lines = searched_summary(searched);
    // The table has the values; the reasons stand in lines above it.
    for found in all.iter().take(LINES_MAX) {
        let variant = found.variant.iter().map(String::as_str);
        let name: Vec<&str> = variant.chain(found.shown.iter().map(String::as_str)).collect();
        let value = found.value.as_deref().unwrap_or("none");
        let beside = found.beside.as_ref().map_or(String::new(), |b| format!(", not {}", b.value));
        lines.push(format!(
            "{}: {value}{beside}: {}",
            name.join(", "),
            why(found, searched.wanted)
        ));
    }
    let axes: Vec<SweepAxis> = axes.into_iter().map(|axis| axis.axis).collect();
    sweep_html(&SweepPage {
        title: &searched.lab,
        world: "virtual",
        verdict: searched.verdict(),
        summary: &lines,
        axes: &axes,
        figures: &[SweepFigure { name: field.clone(), unit }],
        rows: &rows,
        command,
    })
}

/// Most searches that are listed with their reasons.
const LINES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::searches::tests::searched;
    use ground::verdict::Verdict;
    use lab::study::AxisName;

    #[test]
    fn a_sweep_has_its_axes_seeds_as_repetitions_and_figures_by_importance() {
        let axis = |name: &str| AxisName { path: name.into(), name: name.into() };
        let mut studied = Studied::new(vec![axis("alpha"), axis("seed")], 7);
        for n in 0..6_u64 {
            let alpha = [0.125, 1.0, 2.0][n as usize / 2];
            studied.add(Row {
                n,
                runs: 6,
                point: String::new(),
                lab: "a lab".into(),
                variant: None,
                axes: vec![("alpha".into(), json!(alpha)), ("seed".into(), json!(n % 2))],
                seed: n % 2,
                world: "virtual".into(),
                trace_hash: None,
                verdict: if n == 5 { Verdict::Fail } else { Verdict::Pass },
                failed: vec![],
                figures: vec![
                    ("done".into(), json!(true)),
                    ("marks".into(), json!(7)),
                    ("fct.p99_ns".into(), json!(1e3 * (n + 1) as f64)),
                    ("victim_bps".into(), Value::Null),
                ],
                wall_ms: 1.0,
                version: "0".into(),
                study: "x".into(),
            });
        }
        let page = study_html(&studied.close(), "virtual", "sluice run a.yaml");
        for part in [
            "<title>a lab: FAIL</title>",
            "1 of 7 runs are missing",
            "fct.p99_ns over alpha: medians of the runs.",
            "<th class=\"n\" scope=\"col\">1/8</th>",
            "<th class=\"n\" scope=\"col\">2</th>",
            "1.5 µs",
            "5.5 µs<span class=\"word fail\">FAIL 1/2</span>",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("victim_bps") && !page.contains("\"done\""), "no run has a number");
    }

    #[test]
    fn values_are_numbers_in_the_units_of_pages() {
        let close = |value: &str, wanted: f64, unit: &str| {
            let (found, in_unit) = number(value).unwrap();
            assert!((found - wanted).abs() < 1e-9 * wanted.abs() && in_unit == unit, "{value}");
        };
        close("58KB", 58_000.0, "B");
        close("1.5us", 1_500.0, "ns");
        close("-3", -3.0, "");
        close("1/8", 0.125, "");
        close("60%", 60.0, "%");
        close("100m", 100.0, "m");
        assert_eq!([number("roce"), number("3 apples")], [None, None]);
    }

    #[test]
    fn the_page_has_each_search_with_its_reason() {
        let page = searched_html(&searched(), "sluice run incast.yaml --report x.html");
        for words in [
            "dcqcn, 100m: 31KB, not 30KB",
            "out of order: 31KB holds, 35KB does not",
            "dcqcn, 100m: none, not 200KB: lossless not judged (seed 17)",
            "sluice run incast.yaml --report x.html",
        ] {
            assert!(page.contains(words), "{words}\n{page}");
        }
    }
}
