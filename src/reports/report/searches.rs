//! Searches and explorations of a lab as tables of 80 columns.

use crate::sheet::Sheet;
use ::text::{Align, Kind, Table, count, measured};
use ground::printable;
use ground::verdict::{Verdict, Verdicts};
use lab::explore::{Explored, Objective, Point, Sense};
use lab::study::{Found, Searched, Tried, Wanted};

/// Most characters of a cell with checks.
const CHECKS_WIDTH: usize = 36;

/// Prints the values found, with those beside them, and what is known about other seeds.
#[must_use]
pub fn searched_text(searched: &Searched) -> String {
    let (field, axes) = &searched.headings;
    let has_variants = searched.found.iter().any(|found| found.variant.is_some());
    let head = has_variants.then_some(("variant", Align::Left)).into_iter();
    let head = head.chain(axes.iter().map(|name| (name.as_str(), Align::Right)));
    let beside = ("not with", Align::Right);
    let mut table =
        Table::new(head.chain([(field.as_str(), Align::Right), beside, ("", Align::Left)]));
    for found in &searched.found {
        let mut cells: Vec<String> = Vec::new();
        if has_variants {
            cells.push(found.variant.clone().unwrap_or_default());
        }
        cells.extend(found.shown.iter().cloned());
        cells.push(found.value.clone().unwrap_or_else(|| "none".into()));
        cells.push(found.beside.as_ref().map_or("-".into(), |beside| beside.value.clone()));
        cells.push(why(found, searched.wanted));
        table.row(cells);
    }
    let mut out = if table.is_empty() { String::new() } else { format!("{table}\n") };
    for line in searched_summary(searched) {
        out += &printable::lines([line]);
    }
    out
}

/// Returns the reason why a search found nothing better.
pub(super) fn why(found: &Found, wanted: Wanted) -> String {
    // The search supposes that values are in order, so its result is void here.
    if let Some((holds, not)) = &found.contradiction {
        return format!("out of order: {holds} holds, {not} does not");
    }
    match (&found.beside, wanted) {
        (Some(beside), _) => reason(beside),
        (None, Wanted::Least) => "the first of all values holds".into(),
        (None, Wanted::Largest) => "the last of all values holds".into(),
    }
}

/// Returns the checks that do not pass with a value, and the seed.
fn reason(tried: &Tried) -> String {
    let names: Vec<&str> = tried.failed.iter().map(|failed| failed.check.as_str()).collect();
    let mut names = names.join(", ");
    // So that the table keeps its 80 columns.
    if names.chars().count() > CHECKS_WIDTH {
        names = names.chars().take(CHECKS_WIDTH - 3).chain("...".chars()).collect();
    }
    let verdict = match tried.verdict {
        Verdict::Fail => String::new(),
        other => format!(" {other}"),
    };
    let seed = tried.seed.map_or(String::new(), |seed| format!(" (seed {seed})"));
    format!("{names}{verdict}{seed}")
}

/// Says what was searched, how, and how far the result holds.
pub(super) fn searched_summary(searched: &Searched) -> Vec<String> {
    let mut lines = vec![searched.aim(), searched.path.clone()];
    // What is known about seeds that were not run is part of the result.
    lines.push(match searched.seeds {
        1 => "one seed each: other seeds were not run".into(),
        seeds => format!(
            "{} seeds each: with {} % confidence, at least {:.1} % of all seeds hold",
            count(seeds),
            searched.confidence * 100.0,
            // Rounded down: the statement must hold for the number that is printed.
            (searched.share * 1e3).floor() / 10.0,
        ),
    });
    let made = searched.found.len() as u64;
    let searches = |n: u64| format!("{} {}", count(n), if n == 1 { "search" } else { "searches" });
    lines.push(match made == searched.planned {
        true => format!("{} runs in {}", count(searched.runs), searches(made)),
        false => format!("interrupted after {} of {}", count(made), searches(searched.planned)),
    });
    lines.extend(searched.same_traces.iter().map(|same| format!("note: {}", same.line())));
    lines
}

/// Returns the points in the order of the table: by the first objective, the best first.
pub(super) fn ordered(explored: &Explored, all: bool) -> Vec<&Point> {
    let mut points: Vec<&Point> =
        explored.points.iter().filter(|point| all || point.front).collect();
    if let Some(first) = explored.objectives.first() {
        points.sort_by(|a, b| {
            let order = match (a.results[0], b.results[0]) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                // A run without the result is behind those that have it.
                (a, b) => b.is_some().cmp(&a.is_some()),
            };
            if first.sense == Sense::Maximize { order.reverse() } else { order }
        });
    }
    points
}

/// Returns the result of an objective with its unit.
pub(super) fn shown(objective: &Objective, value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| measured(value, objective.unit))
}

/// Returns the table of the front, or of all points. `names` are the headings of the axes.
pub(super) fn explored_sheet(explored: &Explored, names: &[&str], all: bool) -> Sheet {
    let objectives = &explored.objectives;
    let names = names.iter().copied().chain(objectives.iter().map(|o| o.name.as_str()));
    let head = names.map(|name| (name.to_owned().into(), Kind::Number));
    let row = |point: &Point| {
        let results = objectives.iter().zip(&point.results);
        let results = results.map(|(objective, value)| shown(objective, *value));
        let mark = match (point.front, point.verdict) {
            (true, _) => "front",
            (false, Verdict::Fail) => "FAIL",
            _ => "",
        };
        let mark = all.then(|| mark.to_owned());
        point.values.iter().cloned().chain(results).chain(mark).collect()
    };
    Sheet {
        head: head.chain(all.then(|| ("".into(), Kind::Text))).collect(),
        rows: ordered(explored, all).into_iter().map(row).collect(),
    }
}

/// Prints the front, or all points, with the number of runs. `names` are the headings of the axes.
#[must_use]
pub fn explored_text(explored: &Explored, names: &[&str], all: bool) -> String {
    let sheet = explored_sheet(explored, names, all);
    let mut out =
        if sheet.rows.is_empty() { String::new() } else { format!("{}\n", sheet.whole()) };
    for line in explored_summary(explored) {
        out += &printable::lines([line]);
    }
    out
}

/// Says how many points there are of each kind.
pub(super) fn explored_summary(explored: &Explored) -> Vec<String> {
    let verdicts: Verdicts = explored.points.iter().map(|point| point.verdict).collect();
    let (front, ran) = (explored.points.iter().filter(|point| point.front), explored.points.len());
    let mut lines = vec![format!(
        "{}: {} of {} runs are on the front; {} failed a check",
        explored.lab,
        count(front.count() as u64),
        count(ran as u64),
        count(verdicts.count(Verdict::Fail)),
    )];
    let unjudged = verdicts.count(Verdict::NotJudged);
    if unjudged > 0 {
        lines[0] += &format!("; {} not judged", count(unjudged));
    }
    let mut open = explored.points.iter().filter(|point| point.verdict == Verdict::NotJudged);
    if let Some(why) = open.find_map(|point| point.not_judged.first()) {
        lines.push(format!("not judged: {why}"));
    }
    // A run that passes is compared only if it has all of the numbers.
    let objectives = explored.objectives.iter().enumerate();
    for (n, objective) in objectives {
        let lacks = |point: &&Point| point.verdict == Verdict::Pass && point.results[n].is_none();
        let runs = explored.points.iter().filter(lacks).count();
        if runs > 0 {
            lines.push(format!("{} of {ran} runs have no {}", count(runs as u64), objective.name));
        }
    }
    // Refused combinations were drawn as well.
    let drawn = explored.planned + explored.refused.len();
    if drawn as u64 != explored.of {
        let of = count(explored.of);
        lines.push(format!("{drawn} of {of} points were drawn with seed {}", explored.seed));
    }
    if let Some(first) = explored.refused.first() {
        let (n, values) = (count(explored.refused.len() as u64), first.values.join(", "));
        lines.push(format!(
            "{n} combinations of values are impossible, such as {values}: {}",
            first.why
        ));
    }
    if ran < explored.planned {
        lines.push(format!("interrupted after {ran} of {} runs", explored.planned));
    }
    lines
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use lab::study::Failed;

    fn tried(value: &str, verdict: Verdict, checks: &[&str]) -> Tried {
        let failed = checks.iter().map(|check| Failed {
            check: (*check).to_owned(),
            verdict,
            detail: String::new(),
        });
        Tried {
            value: value.into(),
            verdict,
            seeds: 4,
            seed: Some(17),
            failed: failed.collect(),
            traces: Vec::new(),
        }
    }

    /// Five searches, one of which was not made.
    pub(in super::super) fn searched() -> Searched {
        let found = |n: u64, value: Option<&str>, verdict, beside| Found {
            n,
            variant: Some("dcqcn".into()),
            axes: vec![("defaults.links.length".into(), "100m".into())],
            shown: vec!["100m".into()],
            value: value.map(Into::into),
            verdict,
            beside,
            contradiction: None,
            tried: vec![],
        };
        let long = ["lossless", "throughput of victims", "no_deadlock", "conservation"];
        let odd = Found {
            contradiction: Some(("31KB".into(), "35KB".into())),
            ..found(3, Some("36KB"), Verdict::Inconclusive, None)
        };
        Searched {
            version: "0".into(),
            lab: "incast".into(),
            wanted: Wanted::Least,
            path: "profiles.tor.buffer.profiles.roce.lossless.xoff".into(),
            headings: ("xoff".into(), vec!["length".into()]),
            checks: vec!["lossless".into()],
            seeds: 20,
            confidence: 0.95,
            share: 0.8608,
            runs: 1_234,
            planned: 5,
            same_traces: vec![],
            found: vec![
                found(0, Some("31KB"), Verdict::Pass, Some(tried("30KB", Verdict::Fail, &long))),
                found(
                    1,
                    None,
                    Verdict::NotJudged,
                    Some(tried("200KB", Verdict::NotJudged, &long[..1])),
                ),
                found(2, Some("10KB"), Verdict::Pass, None),
                odd,
            ],
        }
    }

    #[test]
    fn a_table_of_searches_has_80_columns_and_reasons() {
        let text = searched_text(&searched());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for words in [
            "31KB      30KB  lossless, throughput of victims, ... (seed 17)",
            "none     200KB  lossless not judged (seed 17)",
            "10KB         -  the first of all values holds",
            "out of order: 31KB holds, 35KB does not",
            "incast: the least xoff with which lossless passes",
            "20 seeds each: with 95 % confidence, at least 86.0 % of all seeds hold",
            "interrupted after 4 of 5 searches",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }

    #[test]
    fn the_largest_of_all_values_is_the_last() {
        let text = searched_text(&Searched { wanted: Wanted::Largest, ..searched() });
        assert!(text.contains("10KB         -  the last of all values holds"), "{text}");
    }

    #[test]
    fn nothing_is_said_about_other_seeds_than_the_one_that_was_run() {
        let one = Searched { seeds: 1, planned: 4, ..searched() };
        let text = searched_text(&one);
        assert!(text.contains("one seed each: other seeds were not run"), "{text}");
        assert!(text.contains("1,234 runs in 4 searches"), "{text}");
        assert!(!text.contains("confidence"), "{text}");
    }

    /// An exploration of five axes, with long figures.
    pub(in super::super) fn sample() -> Explored {
        let point = |n: u64, front: bool, verdict| Point {
            values: ["100KB", "400KB", "20%", "1/128", "18KiB"].map(Into::into).to_vec(),
            front,
            verdict,
            failed: vec![],
            not_judged: vec![],
            results: vec![
                Some(123_456.0 * n as f64),
                Some(98.7e9),
                Some(123_456.0),
                (n != 3).then_some(1_234_567.0),
            ],
            trace_hash: None,
        };
        Explored {
            version: "0".into(),
            lab: "incast".into(),
            seed: 1,
            axes: ["a.kmin", "a.kmax", "a.pmax", "a.alpha", "a.xon"].map(Into::into).to_vec(),
            objectives: Objective::standard(),
            of: 5_000,
            planned: 4,
            points: vec![
                point(2, false, Verdict::Pass),
                point(1, true, Verdict::Pass),
                point(3, false, Verdict::Pass),
                point(4, false, Verdict::Fail),
            ],
            refused: vec![],
        }
    }

    const NAMES: [&str; 5] = ["kmin", "kmax", "pmax", "alpha", "xon"];

    #[test]
    fn five_axes_and_four_objectives_fit_into_80_columns() {
        let text = explored_text(&sample(), &NAMES, false);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("123.46 us") && !text.contains("246.91 us"), "{text}");
        assert!(text.contains("incast: 1 of 4 runs are on the front; 1 failed a check"), "{text}");
        assert!(text.contains("1 of 4 runs have no buffer"), "{text}");
        assert!(text.contains("4 of 5,000 points were drawn with seed 1"), "{text}");
    }

    #[test]
    fn runs_that_were_not_judged_are_counted() {
        let mut explored = sample();
        assert!(!explored_text(&explored, &NAMES, false).contains("not judged"));
        explored.points[0].verdict = Verdict::NotJudged;
        explored.points[0].not_judged = vec!["lossless: no frame arrived".into()];
        // A run that fails has its own reason.
        explored.points[3].not_judged = vec!["marks: none".into()];
        let text = explored_text(&explored, &NAMES, false);
        assert!(text.contains("1 failed a check; 1 not judged"), "{text}");
        assert!(text.contains("not judged: lossless: no frame arrived"), "{text}");
        assert!(!text.contains("marks"), "{text}");
    }

    #[test]
    fn all_points_are_in_the_order_of_the_first_objective_and_unknown_is_no_number() {
        let text = explored_text(&sample(), &NAMES, true);
        let rows: Vec<&str> = text.lines().skip(1).take(4).collect();
        for (row, (p99, mark)) in rows.iter().zip([
            ("123.46 us", "front"),
            ("246.91 us", ""),
            ("370.37 us", "-"),
            ("493.82 us", "FAIL"),
        ]) {
            assert!(row.contains(p99) && row.contains(mark), "{row}: {p99} {mark}");
        }
        let ended = Explored { planned: 9, ..sample() };
        assert!(explored_text(&ended, &NAMES, true).contains("interrupted after 4 of 9 runs"));
    }
}
