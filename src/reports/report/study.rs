//! A study as a table of 80 columns: a row for each run, or for each point with all of its seeds.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::compare::same_text;
use ::text::{Align, Field, Shown, Table, count, measured};
use ground::printable;
use lab::study::{Group, Part, Row, Spread, Studied, field, fields};

/// Width of the table in characters.
const WIDTH: usize = 80;
/// Most rows of the table; of more, the first and the last ones.
const ROWS_MAX: usize = 60;
const FIRST: usize = 40;
/// Most runs that are named below the table.
const NAMED_MAX: usize = 10;

/// Returns the figures of the table, the most significant first.
fn ranked() -> Vec<Field<'static>> {
    let rank = |field: &Field<'_>| match field.shown {
        Shown::Rank(rank) => Some(rank),
        _ => None,
    };
    let mut all: Vec<_> = fields().filter(|field| rank(field).is_some()).collect();
    all.sort_by_key(rank);
    all
}

/// A column of the table.
#[derive(Clone)]
struct Column {
    name: String,
    align: Align,
    cells: Vec<String>,
}

impl Column {
    fn new(name: &str, align: Align, cells: impl Iterator<Item = String>) -> Self {
        let cells = cells.map(|cell| printable::line(&cell).into_owned()).collect();
        Self { name: printable::line(name).into_owned(), align, cells }
    }

    /// True if its cells are not all the same.
    fn differs(&self) -> bool {
        // Compared as they are shown: a difference in further digits does not count.
        self.cells.iter().any(|cell| *cell != self.cells[0])
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().chain([&self.name]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

/// A row of the table: one run, or several that differ in the seed alone.
#[derive(Clone, Copy)]
enum Line<'a> {
    Run(&'a Row),
    Group(&'a Group),
}

impl<'a> Line<'a> {
    fn lab(self) -> &'a str {
        match self {
            Self::Run(row) => &row.lab,
            Self::Group(group) => &group.lab,
        }
    }

    fn variant(self) -> Option<&'a str> {
        match self {
            Self::Run(row) => row.variant.as_deref(),
            Self::Group(group) => group.variant.as_deref(),
        }
    }

    fn axis(self, key: &str) -> Option<&'a Value> {
        let axes = match self {
            Self::Run(row) => &row.axes,
            Self::Group(group) => &group.axes,
        };
        axes.iter().find(|(own, _)| own == key).map(|(_, value)| value)
    }

    fn figure(self, name: &str) -> Option<Spread> {
        match self {
            // A single run is a spread without width, so that both kinds of lines have one column.
            Self::Run(row) => Spread::of(row.figure(name).into_iter()),
            Self::Group(group) => group.figure(name).copied(),
        }
    }

    fn verdict(self) -> String {
        match self {
            Self::Run(row) => row.verdict.label().into(),
            Self::Group(group) if group.failed > 0 => {
                format!("FAIL: {} of {}", count(group.failed), count(group.runs))
            }
            Self::Group(group) => format!("{}: {}", group.verdict.label(), count(group.runs)),
        }
    }
}

/// Prints the runs of a study, and those that did not pass. `kept` are files with the labs of runs, by lab
/// and number.
#[must_use]
pub fn study_text(studied: &Studied, kept: &[(String, u64, String)]) -> String {
    let lines: Vec<Line<'_>> = match studied.groups.is_empty() {
        true => studied.rows.iter().map(Line::Run).collect(),
        false => studied.groups.iter().map(Line::Group).collect(),
    };
    let mut out = String::new();
    if !lines.is_empty() {
        let Layout { columns, legend, spreads } = columns(studied, &lines);
        out += &format!("{}\n", table(&columns));
        for (title, columns) in spreads {
            out += &format!("{title}\n{}\n", table(&columns));
        }
        for line in legend {
            out += &printable::lines([line]);
        }
    }
    let bad: Vec<&Row> = studied.rows.iter().filter(|row| row.verdict.is_bad()).collect();
    for row in bad.iter().take(NAMED_MAX) {
        let variant = row.variant.as_ref().map_or(String::new(), |name| format!(" {name}"));
        let point = if row.point.is_empty() { String::new() } else { format!(": {}", row.point) };
        let (lab, n, failed) = (&row.lab, row.n, row.failed.join(", "));
        let file = kept.iter().find(|(own, number, _)| (own, *number) == (&row.study, n));
        let file = file.map_or(String::new(), |(_, _, file)| format!("; sluice run {file}"));
        let line = format!("{}  {lab}{variant} run {n}{point}: {failed}{file}", row.verdict);
        out += &printable::lines([line]);
    }
    if bad.len() > NAMED_MAX {
        out += &format!("and {} more\n", count((bad.len() - NAMED_MAX) as u64));
    }
    out += &same_text(&studied.same_traces);
    out + &format!("{}\n", summary(studied))
}

/// Returns the verdict in a line, such as `FAIL: 3 of 360 runs`.
fn summary(studied: &Studied) -> String {
    let (whole, verdicts, planned) = (studied.verdict, studied.verdicts, studied.planned);
    if verdicts.total() < planned {
        // The number that counts in an interrupted study is how far it came.
        let (ran, planned) = (count(verdicts.total()), count(planned));
        return format!(
            "{whole}: {ran} of {planned} runs ended{}",
            verdicts.uncertain(whole, count)
        );
    }
    let mut runs = "runs".to_owned();
    if let Some(Part { part, parts, runs: all }) = studied.part {
        runs += &format!("; part {part} of {parts} of a study of {} runs", count(all));
    }
    verdicts.line(whole, &runs, count)
}

/// Most figures of which the spread over seeds is shown.
const SPREADS_MAX: usize = 3;

/// A table with its title.
type Titled = (String, Vec<Column>);

/// The table of a study, and what belongs to it.
struct Layout {
    columns: Vec<Column>,
    legend: Vec<String>,
    /// Tables of the spreads over seeds.
    spreads: Vec<Titled>,
}

fn width(columns: &[Column]) -> usize {
    columns.iter().map(|c| c.width() + 2).sum()
}

/// Chooses the columns: the axes that vary, and as many figures that differ as fit.
fn columns(studied: &Studied, lines: &[Line<'_>]) -> Layout {
    let is_grouped = !studied.groups.is_empty();
    let mut columns = axes(studied, lines);
    let head = if is_grouped { "verdict: seeds" } else { "verdict" };
    let verdicts = Column::new(head, Align::Left, lines.iter().map(|line| line.verdict()));
    let mut legend = Vec::new();
    if width(&columns) + verdicts.width() > WIDTH {
        // The number of the run still identifies a row, and the file of rows has its axes.
        columns.retain(|column| column.name == "run");
        legend.push("The axes are too wide for a table; --rows has them.".to_owned());
    }
    let has = |name: &str| lines.iter().any(|line| line.figure(name).is_some());
    let (axes, mut spreads) = (columns.clone(), Vec::new());
    let mut shown = Vec::new();
    for Field { name, heading, .. } in ranked() {
        let heading = heading.unwrap_or(name);
        // Latency stands in for the completion time where no message completes.
        if !has(name) || name == "latency_p99_ns" && has("fct.p99_ns") {
            continue;
        }
        let new = figure(lines, name, heading, |spread| spread.median);
        let varies = |line: &Line<'_>| line.figure(name).is_some_and(|s| s.min != s.max);
        let varies = lines.iter().any(varies);
        // A loss in one of many seeds does not change the median.
        let all_same = lines.len() > 1 && !new.differs() && !varies;
        if all_same || width(&columns) + new.width() + 2 + verdicts.width() > WIDTH {
            continue;
        }
        columns.push(new);
        shown.push((name, heading));
        if varies && spreads.len() < SPREADS_MAX {
            let whole = quantiles(&axes, lines, name);
            if width(&whole) <= WIDTH {
                spreads.push((format!("{heading} over seeds:"), whole));
            }
        }
    }
    columns.push(verdicts);
    if !shown.is_empty() {
        legend.extend(wrapped(&shown));
        if is_grouped {
            legend.push("Figures are medians over seeds.".into());
        }
    }
    Layout { columns, legend, spreads }
}

/// Returns the columns that name the lines: those of the run, the lab, the variant and the axes that vary.
fn axes(studied: &Studied, lines: &[Line<'_>]) -> Vec<Column> {
    let is_grouped = !studied.groups.is_empty();
    let mut columns = Vec::new();
    if !is_grouped {
        let numbers = studied.rows.iter().map(|row| row.n.to_string());
        columns.push(Column::new("run", Align::Right, numbers));
    }
    let names = |of: &dyn Fn(Line<'_>) -> String| lines.iter().map(|l| of(*l)).collect::<Vec<_>>();
    let labs = Column::new("lab", Align::Left, names(&|l| l.lab().to_owned()).into_iter());
    let variant = |l: Line<'_>| l.variant().unwrap_or("-").to_owned();
    let variants = Column::new("variant", Align::Left, names(&variant).into_iter());
    columns.extend([labs, variants].into_iter().filter(Column::differs));
    let own: BTreeSet<&str> =
        studied.rows.iter().flat_map(|row| row.axes.iter().map(|(key, _)| key.as_str())).collect();
    let axes = studied.axes.iter().filter(|axis| own.contains(axis.path.as_str()));
    // A group has runs of all seeds.
    for axis in axes.filter(|axis| !(is_grouped && axis.path == "seed")) {
        let shown = |value: &Value| axis_value(&axis.path, value);
        let cells = lines.iter().map(|line| line.axis(&axis.path).map_or("-".into(), shown));
        let column = Column::new(&axis.name, Align::Right, cells);
        // Axes that go together may have the same values.
        if !columns.iter().any(|other: &Column| other.cells == column.cells) {
            columns.push(column);
        }
    }
    columns
}

/// Returns the table of a figure's spread over seeds, behind the axes.
fn quantiles(axes: &[Column], lines: &[Line<'_>], name: &str) -> Vec<Column> {
    let of = |heading, of| figure(lines, name, heading, of);
    let quantiles = [
        of("min", |spread| spread.min),
        of("5 %", |spread| spread.p5),
        of("median", |spread| spread.median),
        of("95 %", |spread| spread.p95),
        of("max", |spread| spread.max),
    ];
    axes.iter().cloned().chain(quantiles).collect()
}

/// Returns the column of a figure, or of a quantile of it over seeds.
fn figure(lines: &[Line<'_>], name: &str, heading: &str, of: fn(Spread) -> f64) -> Column {
    let unit = field(name).map_or("", |field| field.unit);
    let cell = |line: &Line<'_>| line.figure(name).map_or("-".into(), |s| measured(of(s), unit));
    Column::new(heading, Align::Right, lines.iter().map(cell))
}

/// Names the fields of rows behind the headings, in lines of the table's width.
fn wrapped(shown: &[(&str, &str)]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (name, heading) in shown {
        let item = format!("{heading}: {name}");
        match lines.last_mut() {
            // Two for the separator.
            Some(line) if line.len() + item.len() + 2 <= WIDTH => *line += &format!("; {item}"),
            _ => lines.push(item),
        }
    }
    lines
}

/// Prints the columns; of many rows the first and the last ones.
fn table(columns: &[Column]) -> Table {
    let mut table = Table::new(columns.iter().map(|column| (column.name.as_str(), column.align)));
    let len = columns[0].cells.len();
    // The first rows are more of use than the last, so they are more in number.
    let last = if len > ROWS_MAX { len - (ROWS_MAX - FIRST) } else { 0 };
    for n in 0..len {
        match n {
            _ if len <= ROWS_MAX || n < FIRST || n >= last => {
                table.row(columns.iter().map(|column| column.cells[n].clone()).collect::<Vec<_>>());
            }
            FIRST => table.row(vec!["...".to_owned(); columns.len()]),
            _ => {}
        }
    }
    table
}

/// Formats a value of an axis; an alpha as a fraction, as files have it.
pub(super) fn axis_value(path: &str, value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => match other.as_f64().filter(|_| path == "alpha") {
            Some(alpha) if alpha >= 1.0 => format!("{alpha}"),
            // Alphas are powers of two, so the fraction is exact.
            Some(alpha) if alpha > 0.0 => format!("1/{}", 1.0 / alpha),
            _ => other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::verdict::Verdict;
    use lab::study::AxisName;
    use serde_json::json;

    fn row(n: u64, seed: u64, lost: u64) -> Row {
        let figures = [
            ("lost_frames", json!(lost)),
            ("fct.p99_ns", json!(123_456.0 * n as f64)),
            ("rx_bps", json!(98.7e9)),
            ("headroom_peak_bytes", json!(if n == 0 { None } else { Some(n * 1_000) })),
            ("pauses.xoffs", json!(n)),
        ];
        Row {
            n,
            runs: 100,
            point: format!("length={n}m,seed={seed}"),
            lab: "incast".into(),
            variant: None,
            axes: vec![("a.length".into(), json!(format!("{n}m"))), ("seed".into(), json!(seed))],
            seed,
            world: "virtual".into(),
            trace_hash: None,
            verdict: Verdict::of(lost == 0),
            failed: if lost > 0 { vec!["lossless".into()] } else { vec![] },
            figures: figures.map(|(name, value)| (name.to_owned(), value)).into(),
            wall_ms: 1.0,
            version: "0".into(),
            study: "d".into(),
        }
    }

    fn studied(rows: Vec<Row>, has_seeds: bool) -> Studied {
        let axis = |path: &str, name: &str| AxisName { path: path.into(), name: name.into() };
        let mut axes = vec![axis("a.length", "length")];
        axes.extend(has_seeds.then(|| axis("seed", "seed")));
        let mut studied = Studied::new(axes, rows.len() as u64);
        rows.into_iter().for_each(|row| studied.add(row));
        studied.close()
    }

    fn fits(text: &str) {
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }

    #[test]
    fn the_table_has_the_axes_the_figures_that_differ_and_the_verdict() {
        let rows = (0..3).map(|n| row(n, 1, u64::from(n == 2) * 7)).collect();
        let kept = [("d".into(), 2, "kept/incast-2.yaml".into())];
        let text = study_text(&studied(rows, false), &kept);
        fits(&text);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "run  length  lost        p99  peak headroom  pauses  verdict");
        assert_eq!(lines[1], "  0      0m     0     0.0 ns              -       0  PASS");
        assert_eq!(lines[3], "  2      2m     7  246.91 us        2.00 kB       2  FAIL");
        assert!(!text.contains("rx_bps"), "the same everywhere: {text}");
        let failed =
            "FAIL  incast run 2: length=2m,seed=1: lossless; sluice run kept/incast-2.yaml";
        assert!(text.contains(failed), "{text}");
        assert!(text.ends_with("FAIL: 1 of 3 runs\n"), "{text}");
    }

    #[test]
    fn seeds_are_taken_together() {
        let rows = (0..6).map(|n| Row { n, ..row(n / 3, n % 3, u64::from(n == 4)) }).collect();
        let text = study_text(&studied(rows, true), &[]);
        fits(&text);
        let rows: Vec<&str> =
            text.lines().filter(|line| line.trim_start().starts_with("1m")).collect();
        // Behind it are those of its spreads.
        assert!(rows[0].ends_with("FAIL: 1 of 3") && rows.len() > 1, "{text}");
        assert!(text.contains("length  lost        p99  peak headroom  "), "{text}");
        assert!(text.contains("lost over seeds:\nlength  min  5 %  median  95 %  max\n"), "{text}");
        assert_eq!(axis_value("alpha", &json!(0.125)) + &axis_value("alpha", &json!(2.0)), "1/82");
        assert!(text.contains("PASS: 3") && text.contains("medians over seeds"), "{text}");
    }

    #[test]
    fn many_rows_and_wide_axes_fit_too() {
        let rows = (0..1_000).map(|n| row(n, 1, 0)).collect();
        let text = study_text(&studied(rows, false), &[]);
        fits(&text);
        assert!(text.lines().count() < ROWS_MAX + 8, "{text}");
        assert!(
            text.contains("999m") && text.contains("...") && text.contains("1,000 runs"),
            "{text}"
        );
        let wide = |n| Row {
            axes: vec![("a.length".into(), json!("x".repeat(90 + n as usize)))],
            ..row(1, 1, 0)
        };
        let text = study_text(&studied((0..3_u64).map(wide).collect(), false), &[]);
        fits(&text);
        assert!(text.contains("--rows has them"), "{text}");
        let mut part = studied(vec![row(0, 1, 0), row(1, 1, 0)], false);
        part.part = Some(Part { part: 1, parts: 2, runs: 4 });
        let text = study_text(&part, &[]);
        assert!(text.contains("PASS: 2 of 2 runs; part 1 of 2 of a study of 4 runs"), "{text}");
        let mut ended = studied(vec![row(0, 1, 0)], false);
        ended.planned = 9;
        ended.verdict = Verdict::Inconclusive;
        assert!(study_text(&ended, &[]).contains("INCONCLUSIVE: 1 of 9 runs ended"));
    }
}
