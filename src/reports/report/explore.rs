//! Exploration of a lab as a table of 80 columns.

use ::text::{Align, Table, count, delay, scaled};
use ground::printable;
use ground::verdict::Verdict;
use lab::explore::{Explored, Objective, Point, Sense};

/// Returns a result with its unit.
pub(super) fn shown(objective: &Objective, value: Option<f64>) -> String {
    let Some(value) = value else { return "-".into() };
    match objective.unit {
        "ns" => delay(value),
        "" if value.fract() == 0.0 && value >= 0.0 => count(value as u64),
        "" => format!("{value:.3}"),
        unit => scaled(value, unit),
    }
}

/// Returns the points in the order of the table: by the first objective, the best first.
pub(super) fn ordered(explored: &Explored, all: bool) -> Vec<&Point> {
    let mut points: Vec<&Point> =
        explored.points.iter().filter(|point| all || point.front).collect();
    if let Some(first) = explored.objectives.first() {
        points.sort_by(|a, b| {
            let order = match (a.results[0], b.results[0]) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                (a, b) => b.is_some().cmp(&a.is_some()),
            };
            if first.sense == Sense::Maximize { order.reverse() } else { order }
        });
    }
    points
}

/// Prints the front, or all points, with the number of runs. `names` are the headings of the axes.
#[must_use]
pub fn explored_text(explored: &Explored, names: &[&str], all: bool) -> String {
    let axes = names.iter().map(|name| (*name, Align::Right));
    let objectives = explored.objectives.iter().map(|o| (o.name.as_str(), Align::Right));
    let mark = all.then_some(("", Align::Left));
    let mut table = Table::new(axes.chain(objectives).chain(mark));
    for point in ordered(explored, all) {
        let mut cells = point.values.clone();
        let results = explored.objectives.iter().zip(&point.results);
        cells.extend(results.map(|(objective, value)| shown(objective, *value)));
        if all {
            cells.push(match (point.front, point.verdict) {
                (true, _) => "front".into(),
                (false, Verdict::Fail) => "FAIL".into(),
                _ => String::new(),
            });
        }
        table.row(cells);
    }
    let mut out = if table.is_empty() { String::new() } else { format!("{table}\n") };
    for line in summary(explored) {
        out += &printable::lines([line]);
    }
    out
}

/// Says how many points there are of each kind.
pub(super) fn summary(explored: &Explored) -> Vec<String> {
    let number = |of: fn(&&Point) -> bool| count(explored.points.iter().filter(of).count() as u64);
    let ran = explored.points.len();
    let mut lines = vec![format!(
        "{}: {} of {} runs are on the front; {} failed a check",
        explored.lab,
        number(|point| point.front),
        count(ran as u64),
        number(|point| point.verdict == Verdict::Fail),
    )];
    let unjudged =
        count(explored.points.iter().filter(|point| point.verdict == Verdict::NotJudged).count()
            as u64);
    if unjudged != "0" {
        lines[0] += &format!("; {unjudged} not judged");
    }
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

    /// An exploration of five axes, with long figures.
    pub(in super::super) fn sample() -> Explored {
        let point = |n: u64, front: bool, verdict| Point {
            values: ["100KB", "400KB", "20%", "1/128", "18KiB"].map(Into::into).to_vec(),
            front,
            verdict,
            failed: vec![],
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
        assert!(text.contains("4 of 5,000 points were drawn with seed 1"), "{text}");
    }

    #[test]
    fn runs_that_were_not_judged_are_counted() {
        let mut explored = sample();
        assert!(!explored_text(&explored, &NAMES, false).contains("not judged"));
        explored.points[0].verdict = Verdict::NotJudged;
        let text = explored_text(&explored, &NAMES, false);
        assert!(text.contains("1 failed a check; 1 not judged"), "{text}");
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
