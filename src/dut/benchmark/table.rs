//! Results as text, in the terms of the RFCs: those of MLRsearch and of soaks, the numbers of several runs, and their
//! comparison with earlier ones. The tables of the other procedures are in the modules below.

mod fabric;
mod lan;

pub use fabric::{lossless, rfc7640, rfc8239};
pub use lan::{rfc2544, rfc2889};

use text::{Column, Table, columns, count, scaled};

use crate::baseline::{Compared, Comparison, Trend};
use crate::mlrsearch::Irregular;
use crate::run::Run;
use crate::summary::Metric;
use crate::trial::Latency;
use crate::{search, soak};

/// Returns the table of MLRsearch's results.
#[must_use]
pub fn mlrsearch(results: &Run<search::Tables>) -> String {
    let columns: [Column<search::MlrRow>; 7] = columns! { row =>
        Made ["size"] = row.size.to_string();
        Text ["goal"] = &*row.goal;
        Printed ["throughput"] = row.result.lower.map(|lower| rate(lower.conditional_throughput));
        Printed ["lower"] = row.result.lower.map(|bound| rate(bound.load));
        Printed ["upper"] = row.result.upper.map(|bound| rate(bound.load));
        Printed ["% of line"] = row.result.lower
            .map(|lower| percent(lower.conditional_throughput / row.line_frames_per_second));
        Made [""] = irregular(row.result.irregular);
    };
    let title = "MLRsearch: conditional throughput and its bounds, frames/s";
    Sections::default().section(title, &Table::of(&results.tables.rows, &columns)).end(results)
}

/// The tables of a procedure, each under its title.
#[derive(Default)]
struct Sections(Vec<String>);

impl Sections {
    fn section(mut self, title: &str, table: &Table) -> Self {
        self.0.push(titled(title, table));
        self
    }

    /// Adds the table of these rows, if there are any.
    fn rows<T>(self, title: &str, rows: &[T], columns: &[Column<T>]) -> Self {
        if rows.is_empty() { self } else { self.section(title, &Table::of(rows, columns)) }
    }

    /// Returns the text, with notes, the reason of an early end, and the number of trials.
    fn end<T>(mut self, results: &Run<T>) -> String {
        let Run { notes, ended, trials, .. } = results;
        let mut text = String::new();
        for note in notes {
            text += &format!("note: {note}\n");
        }
        if let Some(why) = ended {
            text += &format!("ended early: {why}\n");
        }
        self.0.push(format!("{text}{trials} trials\n"));
        self.0.join("\n")
    }
}

fn titled(title: &str, table: &Table) -> String {
    format!("{title}\n{table}")
}

fn rate(rate: f64) -> String {
    count(rate.round() as u64)
}

fn percent(share: f64) -> String {
    format!("{:.3}", share * 100.0)
}

fn micros(ns: f64) -> String {
    format!("{:.3}", ns / 1e3)
}

fn irregular(reason: Option<Irregular>) -> String {
    match reason {
        None => "",
        Some(Irregular::AtMaximum) => "no loss found",
        Some(Irregular::AtMinimum) => "always loss",
        Some(Irregular::OutOfTime) => "out of time",
        Some(Irregular::Interrupted) => "not finished",
    }
    .to_owned()
}

/// Returns the table of a soak's results.
#[must_use]
pub fn soak(results: &Run<soak::Tables>) -> String {
    let columns: [Column<soak::SoakRow>; 10] = columns! { row =>
        Made ["size"] = row.size.to_string();
        Printed ["load %"] = format!("{:.2}", row.load_percent);
        Printed ["parts"] = row.parts.len().to_string();
        Whole ["sent"] = row.parts.iter().map(|part| part.offered).sum::<u64>();
        Whole ["lost"] = row.lost();
        // Parts are equally long at one load, so the mean of their means stands for that of all frames.
        Printed ["mean us"] = latency(row, |all| {
            all.iter().map(|l| l.mean_ns).sum::<f64>() / all.len() as f64
        });
        Printed ["max us"] = latency(row, |all| all.iter().map(|l| l.max_ns).fold(0.0, f64::max));
        Printed ["slope ns/h"] = row.latency_slope_ns_per_hour.map(slope);
        Printed ["memory B/h"] = row.memory_slope_bytes_per_hour.map(|n| format!("{n:.0}"));
        Text [""] = if row.memory_leak == Some(true) { "leak" } else { "" };
    };
    let title = "Soak: one load, in parts one after the other";
    Sections::default().section(title, &Table::of(&results.tables.rows, &columns)).end(results)
}

/// Returns a figure of the latencies of all parts in microseconds; `None` if no frame arrived.
fn latency(row: &soak::SoakRow, figure: fn(&[Latency]) -> f64) -> Option<String> {
    let all: Vec<Latency> = row.parts.iter().filter_map(|part| part.latency).collect();
    (!all.is_empty()).then(|| micros(figure(&all)))
}

/// A slope without the sign of a rounded zero.
fn slope(slope: f64) -> String {
    let slope = if slope.abs() < 0.0005 { 0.0 } else { slope };
    format!("{slope:.3}")
}

/// Largest relative standard deviation of numbers that repeat, in percent (RFC 8239, section 1.3).
const SD_MAX: f64 = 10.0;

/// Returns the table of the numbers of several runs.
#[must_use]
pub fn summary(metrics: &[Metric]) -> String {
    let columns: [Column<&Metric>; 7] = columns! { metric =>
        Text ["test"] = &*metric.test;
        Made ["row"] = metric.row();
        Text ["metric"] = &*metric.metric;
        Printed ["runs"] = metric.samples.len().to_string();
        Printed ["mean"] = number(metric.mean());
        Printed ["sd %"] = metric.relative_deviation().map(|value| format!("{value:.3}"));
        Printed ["PV %"] = metric.variation().map(|value| format!("{value:.3}"));
    };
    let shown: Vec<&Metric> = metrics.iter().filter(|metric| !is_detail(&metric.metric)).collect();
    // An unknown deviation, of a mean of 0, is not above any limit.
    let is_wide = |m: &&&Metric| m.relative_deviation().is_some_and(|percent| percent > SD_MAX);
    let wide = shown.iter().filter(is_wide).count();
    let title = "All runs: mean, relative standard deviation, variation from the first to the last";
    let mut text = titled(title, &Table::of(&shown, &columns));
    if wide > 0 {
        text += &format!("{wide} with a deviation above {SD_MAX} % (RFC 8239, section 1.3)\n");
    }
    text
}

/// Returns the table of a comparison without the numbers that did not change.
#[must_use]
pub fn compared(comparison: &Comparison) -> String {
    let columns: [Column<&Compared>; 7] = columns! { one =>
        Text ["test"] = &*one.now.test;
        Made ["row"] = one.now.row();
        Text ["metric"] = &*one.now.metric;
        Printed ["before"] = one.before.map(number);
        Printed ["now"] = (!one.now.samples.is_empty()).then(|| number(one.now.mean()));
        Printed ["change %"] = one.change_percent.map(|change| format!("{change:.2}"));
        Made [""] = one.trend.to_string();
    };
    let all = &comparison.numbers;
    let changed: Vec<_> = all.iter().filter(|one| one.trend != Trend::NoChange).collect();
    let table = Table::of(&changed, &columns);
    // Numbers that did not change are counted and not listed: they are most of them.
    let same = all.len() - changed.len();
    let title = format!("Compared with {} ({})", comparison.dut, comparison.world);
    let mut text = match (comparison.compares_nothing(), table.is_empty()) {
        (true, true) => format!("{title}: no number of a test is in both\n"),
        (_, true) => format!("{title}: no change of {same} numbers\n"),
        _ => format!("{}{same} other numbers did not change\n", titled(&title, &table)),
    };
    if all.iter().any(|one| one.trend == Trend::Unclear) {
        text += "unclear: run both with --runs 3 or more to tell changes from chance\n";
    }
    if comparison.parameters_unknown {
        text += "the baseline does not say its rates, flows and durations: write it again\n";
    }
    if let Some(why) = &comparison.ended {
        text += &format!("one of both is not complete: {why}\n");
    }
    for (what, names) in [
        ("not judged, because only one of both has the test", &comparison.tests_missing),
        ("not compared, because only one of both has the test", &comparison.only_one_has),
        ("not compared, because neither more nor less is better", &comparison.not_compared),
    ] {
        if !names.is_empty() {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            text += &format!("{what}: {}\n", names.join(", "));
        }
    }
    text
}

/// True for numbers that a reader of the summary does not need.
fn is_detail(name: &str) -> bool {
    [
        "trials",
        "took_s",
        "repeats",
        "trial_time_ps",
        "resolution_ns",
        "run",
        "line_frames_per_second",
        "load",
    ]
    .iter()
    .any(|end| name.ends_with(end))
}

fn number(value: f64) -> String {
    if value.abs() < 1e3 { format!("{value:.3}") } else { scaled(value, "") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(samples: &[f64]) -> String {
        let metric = Metric {
            test: "latency".to_owned(),
            about: [("size".to_owned(), "64".to_owned())].into(),
            metric: "mean_ns".to_owned(),
            samples: samples.to_vec(),
        };
        summary(&[metric])
    }

    #[test]
    fn numbers_that_do_not_repeat_are_counted() {
        assert!(text(&[100.0, 130.0, 70.0]).contains("\n1 with a deviation above 10 %"));
        assert!(!text(&[100.0, 105.0, 95.0]).contains("with a deviation"));
        // One run tells nothing, and neither does a mean of 0.
        assert!(!text(&[100.0]).contains("with a deviation"));
        assert!(!text(&[0.0, 0.0]).contains("with a deviation"));
    }
}
