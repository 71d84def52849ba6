//! Numbers of several runs, and their comparison with earlier ones, as text.

use text::scaled;

use super::{NONE, head, titled};
use crate::baseline::{Compared, Comparison, Trend};
use crate::summary::Metric;

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
