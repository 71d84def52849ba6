//! A report as files for other programs: comma-separated values (RFC 4180), one file per kind of row, and a latency
//! distribution in the text form of HdrHistogram's plotter and related tools: value, percentile, cumulative count, and
//! 1/(1-percentile), in fixed columns.

use core::fmt::Write;

use hdrhistogram::Histogram;

use ground::described::{Described, Number};
use tester::report::{Flow, Latency, Pacing, Port, Priority, Report, Stamps};

/// Returns a row per flow.
#[must_use]
pub fn flows_csv(report: &Report) -> String {
    let mut head = names::<Flow>(&["name", "port_tx", "port_rx", "transmit"]);
    head.extend(Pacing::fields().map(|f| f.name.to_owned()));
    head.extend(Latency::fields().map(|f| format!("latency_{}", f.name)));
    head.extend(["source", "resolution_ns", "uncertainty_ns"].map(|name| format!("stamps_{name}")));
    let rows = report.flows.iter().map(|flow| {
        let mut row = vec![
            flow.name.clone(),
            flow.port_tx.clone(),
            flow.port_rx.join(" "),
            flow.transmit.to_owned(),
        ];
        cells(&mut row, Some(flow));
        cells(&mut row, flow.pacing.as_ref());
        cells(&mut row, flow.latency.as_ref());
        let Stamps { source, resolution_ns, uncertainty_ns } = &report.stamps;
        row.extend([(*source).to_owned(), resolution_ns.to_string(), uncertainty_ns.to_string()]);
        row
    });
    written(&head, rows)
}

/// Returns a row per port.
#[must_use]
pub fn ports_csv(report: &Report) -> String {
    let head = names::<Port>(&["name", "location"]);
    let rows = report.ports.iter().map(|port| {
        let mut row = vec![port.name.clone(), port.location.clone()];
        cells(&mut row, Some(port));
        row
    });
    written(&head, rows)
}

/// Returns a row per priority of each port.
#[must_use]
pub fn priorities_csv(report: &Report) -> String {
    let head = names::<Priority>(&["port", "priority"]);
    let rows = report.ports.iter().flat_map(|port| {
        port.priorities.iter().map(|priority| {
            let mut row = vec![port.name.clone(), priority.priority.to_string()];
            cells(&mut row, Some(priority));
            row
        })
    });
    written(&head, rows)
}

/// Returns the names of columns: `first`, then those of the numbers of a `T`.
fn names<T: Described>(first: &[&str]) -> Vec<String> {
    first.iter().copied().chain(T::fields().map(|field| field.name)).map(str::to_owned).collect()
}

/// Appends the numbers of a `T`; empty cells for unknown ones.
fn cells<T: Described>(row: &mut Vec<String>, of: Option<&T>) {
    row.extend(T::fields().map(|field| match of.and_then(field.value) {
        None => String::new(),
        Some(Number::Count(n)) => n.to_string(),
        Some(Number::Real(n)) => n.to_string(),
    }));
}

fn written(head: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut out = head.join(",") + "\r\n";
    for row in rows {
        // Types gain fields; head and rows are made from the same description, and this proves it.
        assert_eq!(row.len(), head.len(), "a row has a cell for every column");
        for (n, cell) in row.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            let _ = write!(out, "{comma}{}", quoted(cell));
        }
        out += "\r\n";
    }
    out
}

/// Returns a cell, quoted if it contains a special character (RFC 4180 section 2).
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Number of steps per halving of the distance to 100 %; the default of HdrHistogram.
const TICKS_PER_HALF: u32 = 5;

/// Nanoseconds per unit of the file, which is the microsecond as the plotter expects.
const UNIT_NS: f64 = 1e3;

/// Returns the latency distribution of a flow as text in microseconds. Values are not below the
/// resolution of the timestamps, nor outside the minimum and the maximum.
#[must_use]
pub fn hgrm(latency: &Latency, histogram: &Histogram<u64>) -> String {
    // Buckets of the histogram may reach beyond the values in them.
    let bounded = |ns: f64| ns.max(latency.min_ns.ns()).min(latency.max_ns.ns()) / UNIT_NS;
    let mut out = String::from("       Value     Percentile TotalCount 1/(1-Percentile)\n\n");
    let mut last = None;
    for step in histogram.iter_quantiles(TICKS_PER_HALF) {
        let value = bounded(step.value_iterated_to() as f64);
        // Rounding may bring it above one, and its inverse would be negative.
        let quantile = step.quantile_iterated_to().min(1.0);
        let count = histogram.count_between(0, step.value_iterated_to());
        // The iterator may repeat a step at the end.
        if last.replace((step.value_iterated_to(), quantile.to_bits()))
            == Some((step.value_iterated_to(), quantile.to_bits()))
        {
            continue;
        }
        let _ = write!(out, "{value:12.3} {quantile:2.12} {count:10}");
        let _ = if quantile < 1.0 {
            writeln!(out, " {:14.2}", 1.0 / (1.0 - quantile))
        } else {
            writeln!(out)
        };
    }
    let (mean, deviation) = (latency.mean_ns.ns() / UNIT_NS, histogram.stdev() / UNIT_NS);
    let _ = writeln!(out, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]");
    let (max, total) = (latency.max_ns.ns() / UNIT_NS, histogram.len());
    let _ = writeln!(out, "#[Max     = {max:12.3}, Total count    = {total:12}]");
    let buckets = histogram.buckets();
    // A histogram has one half of sub-buckets more than buckets, so their number follows from that of its
    // values.
    let sub = 2 * (histogram.distinct_values() / (usize::from(buckets) + 1));
    let _ = writeln!(out, "#[Buckets = {buckets:12}, SubBuckets     = {sub:12}]");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tester::Measured;

    fn between(min_ns: f64, mean_ns: f64, max_ns: f64, floor_ns: f64) -> Latency {
        let [min_ns, mean_ns, max_ns] =
            [min_ns, mean_ns, max_ns].map(|ns| Measured::new(ns, floor_ns));
        Latency { min_ns, mean_ns, max_ns, ..Latency::default() }
    }

    #[test]
    fn no_value_is_below_the_resolution_or_outside_of_what_was_measured() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 1_000_000, 3).unwrap();
        [0, 666, 666, 5_001].iter().for_each(|ns| histogram.record(*ns).unwrap());
        for (floor, least) in [(0.0, 0.66624), (2_000.0, 2.0)] {
            let text = hgrm(&between(666.24, 1_000.0, 5_000.5, floor), &histogram);
            let rows = text.lines().skip(2).filter(|line| !line.starts_with('#'));
            let values: Vec<f64> = rows.map(|row| row[..12].trim().parse().unwrap()).collect();
            let inside = |value: &f64| *value >= least - 5e-4 && *value <= 5.001;
            assert!(!values.is_empty() && values.iter().all(inside), "{text}");
        }
    }

    #[test]
    fn rows_rise_to_all_of_the_frames_and_read_as_columns() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 100_000_000_000, 3).unwrap();
        for us in 1..=1_000_u64 {
            histogram.record(us * 1_000).unwrap();
        }
        let text = hgrm(&between(1_000.0, 500_500.0, 1e6, 0.0), &histogram);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("       Value     Percentile TotalCount 1/(1-Percentile)"));
        assert_eq!(lines.next(), Some(""));
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(2)
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|cell| cell.parse().unwrap()).collect())
            .collect();
        assert_eq!(rows[0][1], 0.0);
        assert!(rows.windows(2).all(|two| two[0][1] <= two[1][1] && two[0][2] <= two[1][2]));
        let (last, before) = (&rows[rows.len() - 1], &rows[rows.len() - 2]);
        assert_eq!((last[1], last[2], last.len()), (1.0, 1000.0, 3), "the last has no fourth cell");
        assert_eq!(before.len(), 4);
        let half = rows.iter().find(|row| row[1] >= 0.5).unwrap();
        assert!((half[0] - 500.0).abs() < 1.0 && (half[3] - 2.0).abs() < 0.1, "{half:?}");
        assert!(
            text.contains("#[Mean    =      500.")
                && text.contains("Total count    =         1000]")
        );
        assert!(text.contains("SubBuckets     =         2048]"), "{text}");
    }

    #[test]
    fn nothing_measured_is_a_file_too() {
        let text =
            hgrm(&Latency::default(), &Histogram::<u64>::new_with_bounds(1, 1_000, 3).unwrap());
        assert!(text.contains("Total count    =            0]"), "{text}");
    }
}
