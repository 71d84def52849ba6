//! Results as text, in the terms of the RFCs: those of MLRsearch and of soaks, the numbers of several runs, and their
//! comparison with earlier ones. The tables of the other procedures are in the modules below.

mod fabric;
mod lan;

pub use fabric::{lossless, rfc7640, rfc8239};
pub use lan::{rfc2544, rfc2889};

use text::{Align, Table, columns, count, scaled};

use crate::baseline::{Compared, Comparison, Trend};
use crate::mlrsearch::Irregular;
use crate::run::Run;
use crate::summary::Metric;
use crate::trial::Latency;
use crate::{search, soak};

/// Cell of a value that is not known.
const NONE: &str = "-";

/// Returns the table of MLRsearch's results.
#[must_use]
pub fn mlrsearch(results: &Run<search::Tables>) -> String {
    let table = Table::of(
        &results.tables.rows,
        &columns! { row =>
            Made ["size"] = row.size.to_string();
            Text ["goal"] = &*row.goal;
            Printed ["throughput"] = row.result.lower.map(|lower| rate(lower.conditional_throughput));
            Printed ["lower"] = row.result.lower.map(|bound| rate(bound.load));
            Printed ["upper"] = row.result.upper.map(|bound| rate(bound.load));
            Printed ["% of line"] = row.result.lower
                .map(|lower| percent(lower.conditional_throughput / row.line_frames_per_second));
            Made [""] = irregular(row.result.irregular);
        },
    );
    let title = "MLRsearch: conditional throughput and its bounds, frames/s";
    let mut sections = vec![titled(title, table)];
    ending(&mut sections, results);
    sections.join("\n")
}

fn titled(title: &str, table: Table) -> String {
    format!("{title}\n{table}")
}

/// Adds notes, the reason of an early end, and the number of trials.
fn ending<T>(sections: &mut Vec<String>, results: &Run<T>) {
    let Run { notes, ended, trials, .. } = results;
    let mut text = String::new();
    for note in notes {
        text += &format!("note: {note}\n");
    }
    if let Some(why) = ended {
        text += &format!("ended early: {why}\n");
    }
    sections.push(format!("{text}{trials} trials\n"));
}

/// Returns a table with columns of words and of numbers, and a last one of words.
fn head(words: &[&str], numbers: &[&str], remark: bool) -> Table {
    let words = words.iter().map(|name| (*name, Align::Left));
    let numbers = numbers.iter().map(|name| (*name, Align::Right));
    Table::new(words.chain(numbers).chain(remark.then_some(("", Align::Left))))
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
    let tables = &results.tables;
    let numbers =
        ["load %", "parts", "sent", "lost", "mean us", "max us", "slope ns/h", "memory B/h"];
    let mut table: Table = head(&["size"], &numbers, true);
    for row in &tables.rows {
        let all: Vec<&Latency> = row.parts.iter().filter_map(|p| p.latency.as_ref()).collect();
        // Parts are equally long at one load, so the mean of their means stands for that of all frames.
        let mean = all.iter().map(|l| l.mean_ns).sum::<f64>() / all.len() as f64;
        let max = all.iter().map(|l| l.max_ns).fold(0.0, f64::max);
        let known = |ns: f64| if all.is_empty() { NONE.to_owned() } else { micros(ns) };
        table.row([
            row.size.to_string(),
            format!("{:.2}", row.load_percent),
            row.parts.len().to_string(),
            count(row.parts.iter().map(|part| part.offered).sum()),
            count(row.lost()),
            known(mean),
            known(max),
            row.latency_slope_ns_per_hour.map_or(NONE.to_owned(), slope),
            row.memory_slope_bytes_per_hour.map_or(NONE.to_owned(), |n| format!("{n:.0}")),
            if row.memory_leak == Some(true) { "leak" } else { "" }.to_owned(),
        ]);
    }
    let mut sections = vec![titled("Soak: one load, in parts one after the other", table)];
    ending(&mut sections, results);
    sections.join("\n")
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
    let numbers = ["runs", "mean", "sd %", "PV %"];
    let mut table = head(&["test", "row", "metric"], &numbers, false);
    let percent = |value: Option<f64>| value.map_or(NONE.to_owned(), |value| format!("{value:.3}"));
    let mut wide = 0;
    for metric in metrics.iter().filter(|metric| !is_detail(&metric.metric)) {
        // An unknown deviation, of a mean of 0, is not above any limit.
        wide += usize::from(metric.relative_deviation().is_some_and(|percent| percent > SD_MAX));
        table.row([
            metric.test.clone(),
            metric.row(),
            metric.metric.clone(),
            metric.samples.len().to_string(),
            number(metric.mean()),
            percent(metric.relative_deviation()),
            percent(metric.variation()),
        ]);
    }
    let title = "All runs: mean, relative standard deviation, variation from the first to the last";
    let mut text = titled(title, table);
    if wide > 0 {
        text += &format!("{wide} with a deviation above {SD_MAX} % (RFC 8239, section 1.3)\n");
    }
    text
}

/// Returns the table of a comparison without the numbers that did not change.
#[must_use]
pub fn compared(comparison: &Comparison) -> String {
    let mut table = head(&["test", "row", "metric"], &["before", "now", "change %"], true);
    let changed = |c: &&Compared| c.trend != Trend::NoChange;
    for one in comparison.numbers.iter().filter(changed) {
        table.row([
            one.now.test.clone(),
            one.now.row(),
            one.now.metric.clone(),
            one.before.map_or(NONE.to_owned(), number),
            if one.now.samples.is_empty() { NONE.to_owned() } else { number(one.now.mean()) },
            one.change_percent.map_or(NONE.to_owned(), |change| format!("{change:.2}")),
            one.trend.to_string(),
        ]);
    }
    // Numbers that did not change are counted and not listed: they are most of them.
    let all = &comparison.numbers;
    let same = all.len() - all.iter().filter(changed).count();
    let title = format!("Compared with {} ({})", comparison.dut, comparison.world);
    let mut text = match (all.is_empty(), table.is_empty()) {
        (true, _) => format!("{title}: no number is in both\n"),
        (_, true) => format!("{title}: no change of {same} numbers\n"),
        _ => format!("{}{same} other numbers did not change\n", titled(&title, table)),
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
