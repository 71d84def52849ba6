//! The report of `sluice benchmark`: one self-contained HTML page.

use ::benchmark::baseline::{Compared, Comparison};
use ::benchmark::summary::Metric;
use maud::{Markup, html};

use super::page;
use super::parts::{self, LINES_MAX, card};
use super::plot::{Axis, Line, Plot};
use super::scale::{self, Unit};
use crate::sheet::Medium;
use ::text::{Column, columns, count};
use ground::verdict::Verdict;

/// The contents of a report.
#[derive(Clone, Copy, Debug)]
pub struct BenchmarkPage<'a> {
    /// Procedure: `rfc2544`.
    pub procedure: &'a str,
    pub dut: &'a str,
    /// `virtual` or `real`.
    pub world: &'a str,
    pub seed: u64,
    pub verdict: Verdict,
    /// Reason why the run ended early.
    pub ended: Option<&'a str>,
    /// Tables of the only run, or of the last one and of all.
    pub tables: &'a str,
    /// Parameters.
    pub plan: &'a str,
    /// Numbers of all runs.
    pub metrics: &'a [Metric],
    pub compared: Option<&'a Comparison>,
}

/// A plot of numbers of one table.
struct Drawing {
    title: &'static str,
    caption: &'static str,
    /// Table of the results.
    test: &'static str,
    /// Column of the horizontal axis.
    over: &'static str,
    /// Columns of the lines, and their names.
    lines: &'static [(&'static str, &'static str)],
    /// Column of the largest possible value, drawn as a separate line.
    most: Option<&'static str>,
    what: &'static str,
    unit: fn(f64) -> Unit,
}

const fn percent(_: f64) -> Unit {
    Unit { name: "%", size: 1.0 }
}

const fn burst(_: f64) -> Unit {
    Unit { name: "frames", size: 1.0 }
}

/// Column of the rate of a full line, and its name in legends.
const LINE: (&str, &str) = ("line_frames_per_second", "full line");

/// Latencies of a row whose latency is `filo`.
const FILO: &[(&str, &str)] = &[
    ("filo.min_ns", "least"),
    ("filo.p50_ns", "median"),
    ("filo.p99_ns", "99 %"),
    ("filo.max_ns", "largest"),
];

/// All plots, by the tables of the results. Those whose columns are missing are left out.
const DRAWINGS: &[Drawing] = &[
    Drawing {
        title: "Throughput",
        caption: "Highest rate without loss, beside the rate of a full line.",
        test: "throughput",
        over: "size",
        lines: &[("frames_per_second", "throughput")],
        most: Some(LINE.0),
        what: "throughput",
        unit: scale::frames,
    },
    Drawing {
        title: "Conditional throughput",
        caption: "Conditional throughput of each goal, beside the rate of a full line.",
        test: "rows",
        over: "size",
        lines: &[("lower.conditional_throughput", "")],
        most: Some(LINE.0),
        what: "throughput",
        unit: scale::frames,
    },
    Drawing {
        title: "Latency",
        caption: "First bit in to last bit out, at the throughput of each size.",
        test: "latency",
        over: "size",
        lines: FILO,
        most: None,
        what: "latency",
        unit: scale::time,
    },
    Drawing {
        title: "Latency by load",
        caption: "99th percentile at parts of the throughput.",
        test: "latency_by_load",
        over: "share_percent",
        lines: &[("filo.p99_ns", "")],
        most: None,
        what: "latency",
        unit: scale::time,
    },
    Drawing {
        title: "Frame loss rate",
        caption: "Lost and held back frames by the load of the line.",
        test: "loss",
        over: "load_percent",
        lines: &[("loss_percent", "")],
        most: None,
        what: "loss",
        unit: percent,
    },
    Drawing {
        title: "Back-to-back frames",
        caption: "Longest burst without loss at line rate.",
        test: "back_to_back",
        over: "size",
        lines: &[("mean", "mean"), ("min", "least"), ("max", "largest")],
        most: None,
        what: "burst",
        unit: burst,
    },
    Drawing {
        title: "Rates without loss and without pauses",
        caption: "Highest load of each sender at which no frame is lost, and no sender is paused.",
        test: "rows",
        over: "size",
        lines: &[("no_loss_percent", "without loss"), ("no_pause_percent", "without pauses")],
        most: None,
        what: "load",
        unit: percent,
    },
    Drawing {
        title: "Throughput of meshes",
        caption: "Highest load of each sender at which no frame is lost.",
        test: "mesh",
        over: "size",
        lines: &[("throughput_percent", "")],
        most: None,
        what: "load",
        unit: percent,
    },
    Drawing {
        title: "Forwarded at line rate",
        caption: "Forwarded frames in percent of what full lines carry.",
        test: "line_rate",
        over: "size",
        lines: &[("forwarded_percent", "")],
        most: None,
        what: "forwarded",
        unit: percent,
    },
    Drawing {
        title: "Buffer of a port",
        caption: "Bytes that are buffered before the first pause or loss.",
        test: "buffer",
        over: "size",
        lines: &[("bytes", "")],
        most: None,
        what: "buffer",
        unit: scale::octets,
    },
    Drawing {
        title: "Microbursts",
        caption: "Longest burst of each sender without loss and pause.",
        test: "microburst",
        over: "size",
        lines: &[("bytes", "")],
        most: None,
        what: "burst",
        unit: scale::octets,
    },
    Drawing {
        title: "Latency over time",
        caption: "First bit in to last bit out: a leak of buffers makes it grow.",
        test: "rows",
        over: "at_s",
        lines: &[("latency.mean_ns", "mean"), ("latency.p99_ns", "99 %")],
        most: None,
        what: "latency",
        unit: scale::time,
    },
];

/// Renders the page.
#[must_use]
pub fn benchmark_html(p: &BenchmarkPage<'_>) -> String {
    let title = format!("{}: {}", p.dut, p.procedure);
    let body = html! {
        header {
            h1 { (p.dut) }
            p.soft { "Benchmark " (p.procedure) " of a device in the " (p.world) " world" }
        }
        div class={ "verdict " (p.verdict.name()) } role="status" {
            strong { (p.verdict.label()) }
            @if let Some(why) = p.ended { ": ended early: " (why) } @else { ": complete" }
            @if let Some(compared) = p.compared {
                ", compared with " (compared.dut) " (" (compared.world) ")"
            }
        }
        @if let Some(compared) = p.compared { (comparison(compared)) }
        div.cards { @for drawing in DRAWINGS { (drawing.draw(p.metrics)) } }
        section.card { h2 { "Results" } (parts::preformatted(p.tables)) }
        section.card {
            h2 { "Set-up" }
            (parts::preformatted(p.plan))
            p.small.soft { "sluice " (ground::program::version()) ", seed " (p.seed) }
        }
    };
    page(&title, ground::program::version(), &body)
}

fn comparison(compared: &Comparison) -> Markup {
    let columns: [Column<Compared>; 7] = columns! { one =>
        Made ["trend"] = one.trend.to_string();
        Text ["test"] = &*one.now.test;
        Made ["row"] = one.now.row();
        Text ["number"] = &*one.now.metric;
        Printed ["before"] = one.before.map_or_else(String::new, number);
        Printed ["now"] =
            if one.now.samples.is_empty() { String::new() } else { number(one.now.mean()) };
        Printed ["change %"] = one.change_percent
            .map_or_else(String::new, |change| format!("{:.2}", rounded(change)));
    };
    // A long table is cut.
    let mut sorted: Vec<&Compared> = compared.numbers.iter().collect();
    sorted.sort_by_key(|one| one.trend);
    let table = parts::table(&Medium::Page.sheet(&columns, sorted));
    html! { section.card { h2 { "Comparison" } (table) } }
}

fn number(value: f64) -> String {
    match value.abs() < 1e3 {
        true => format!("{value:.3}"),
        false => count(value.round() as u64),
    }
}

/// Rounds to two decimals, and never to a negative zero.
fn rounded(percent: f64) -> f64 {
    (percent * 100.0).round() / 100.0 + 0.0
}

impl Drawing {
    fn draw(&self, metrics: &[Metric]) -> Markup {
        let mut lines = self.found(metrics);
        // The line of the largest value comes in addition, and is always drawn.
        let left = lines.len().saturating_sub(LINES_MAX);
        lines.truncate(LINES_MAX);
        if let Some(most) = self.most {
            let line = lines_of(metrics, self, most, LINE.1).into_iter().next();
            lines.extend(line.filter(|_| !lines.is_empty()).map(|line| Line {
                name: LINE.1.to_owned(),
                sum: true,
                ..line
            }));
        }
        let points = || lines.iter().flat_map(|line| &line.points);
        let end = points().map(|(x, _)| *x).fold(0.0, f64::max);
        // Units follow the largest value, so that no axis has numbers of six digits.
        let highest = points().map(|(_, y)| *y).fold(0.0, f64::max);
        let (what, unit) = match self.over {
            "size" => ("frame size", Unit { name: "bytes", size: 1.0 }),
            "share_percent" => ("load", Unit { name: "% of the throughput", size: 1.0 }),
            "load_percent" => ("load", Unit { name: "% of the line", size: 1.0 }),
            _ => ("traffic before", Unit { name: "s", size: 1.0 }),
        };
        let plot = Plot {
            about: format!("{} by {what}", self.title),
            what: self.what,
            unit: (self.unit)(highest),
            max: None,
            axis: Axis { what, unit, end, dots: true, ..Axis::time(end, "") },
            lines,
            marks: Vec::new(),
        };
        let more =
            if left > 0 { format!(" {left} more lines are not drawn.") } else { String::new() };
        card(self.title, plot.draw(), &format!("{}{more}", self.caption))
    }

    /// Returns the lines of its columns.
    fn found(&self, metrics: &[Metric]) -> Vec<Line> {
        self.lines.iter().flat_map(|(column, name)| lines_of(metrics, self, column, name)).collect()
    }
}

/// Returns a line for each row, but for the column of the horizontal axis: means of all runs, with a band
/// from the least to the largest.
fn lines_of(metrics: &[Metric], drawing: &Drawing, column: &str, name: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mine = metrics.iter().filter(|m| m.test == drawing.test && m.metric == column);
    for metric in mine {
        let over = metric.keys().find(|(key, _)| *key == drawing.over);
        let Some(x) = over.and_then(|(_, x)| x.parse::<f64>().ok()) else { continue };
        // The other keys tell the lines apart.
        let others = metric.keys().filter(|(key, _)| *key != drawing.over);
        let words = others.map(|(key, value)| named(key, value));
        // A line has no name where the keys of its row are name enough.
        let name = (!name.is_empty()).then(|| name.to_owned());
        let label = name.into_iter().chain(words).collect::<Vec<_>>().join(", ");
        let index = lines.iter().position(|line| line.name == label).unwrap_or(lines.len());
        if index == lines.len() {
            lines.push(Line { name: label, ..Line::default() });
        }
        lines[index].points.push((x, metric.mean()));
        // One run has no spread, and no band.
        if metric.samples.len() > 1 {
            let each = || metric.samples.iter().copied();
            let (low, high) = (each().fold(f64::MAX, f64::min), each().fold(f64::MIN, f64::max));
            lines[index].band.push((x, low, high));
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        line.band.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines
}

/// Returns a value of a row's key in words.
fn named(key: &str, value: &str) -> String {
    match key {
        "size" => format!("{value} bytes"),
        "load_percent" => format!("at {value} %"),
        "senders" => format!("from {value}"),
        "receivers" => format!("to {value}"),
        "pattern" | "goal" | "tester" => value.to_owned(),
        _ => format!("{key} {value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::benchmark::baseline::Runs;
    use ::benchmark::summary::metrics;
    use serde_json::{Value, json};

    fn run(rate: f64) -> Value {
        let row = |size: u32, share: f64| json!({"size": size, "frames_per_second": rate * share, "line_frames_per_second": 2e6});
        json!({
            "throughput": [row(64, 1.0), row(1518, 0.5)],
            "loss": [{"size": 64, "points": [
                {"load_percent": 100.0, "loss_percent": 9.0}, {"load_percent": 90.0, "loss_percent": 0.0},
            ]}],
        })
    }

    fn page_of(runs: &[Value], compared: Option<&Comparison>) -> String {
        benchmark_html(&BenchmarkPage {
            procedure: "rfc2544",
            dut: "a<b",
            world: "virtual",
            seed: 7,
            verdict: Verdict::Pass,
            ended: None,
            tables: "Throughput (RFC 2544, 26.1)\n",
            plan: "width 0.5 %\n",
            metrics: &metrics(runs),
            compared,
        })
    }

    #[test]
    fn a_page_has_plots_tables_and_parameters() {
        let page = page_of(&[run(1e6)], None);
        for part in [
            "<title>a&lt;b: rfc2544</title>",
            "Throughput by frame size",
            "full line",
            "frame size (bytes)",
            "Frame loss rate by load",
            "64 bytes",
            "Throughput (RFC 2544, 26.1)",
            "width 0.5 %",
            "seed 7",
        ] {
            assert!(page.contains(part), "{part}");
        }
        // Results without these columns have no plots of them.
        assert!(!page.contains("Microbursts") && !page.contains("Latency"), "{page}");
        crate::html::assets::needs_nothing_else(&page);
    }

    #[test]
    fn a_regression_comes_first_and_several_runs_have_a_band() {
        let of = |runs: Vec<Value>| {
            let [procedure, dut, world] = ["rfc2544", "a", "virtual"].map(str::to_owned);
            Runs { procedure, dut, world, seed: 1, parameters: Some([].into()), runs, ended: None }
        };
        let (before, now) = (of(vec![run(1e6)]), of(vec![run(0.9e6), run(0.8e6)]));
        let compared = Comparison::of(&before, &now, &[], 0.01);
        let page = page_of(&now.runs, Some(&compared));
        let regression = page.find("<td>regression</td>").expect("it is slower");
        assert!(page.find("<td>no change</td>").is_none_or(|other| regression < other));
        assert!(page.contains("<polygon"), "the band");
    }

    #[test]
    fn lines_have_the_points_of_their_rows_alone() {
        let all = metrics(&[run(1e6)]);
        let loss = DRAWINGS.iter().find(|drawing| drawing.test == "loss").unwrap();
        let lines = loss.found(&all);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].points, [(90.0, 0.0), (100.0, 9.0)]);
    }
}
