//! Results of RFC 2544 as text.

use text::{Table, count};

use super::{NONE, ending, head, irregular, micros, percent, rate, titled};
use crate::rfc2544::Tables;
use crate::run::Run;
use crate::trial::Latency;

/// Returns the tables of RFC 2544's results.
#[must_use]
pub fn rfc2544(results: &Run<Tables>) -> String {
    let tables = &results.tables;
    let mut sections = Vec::new();
    if !tables.throughput.is_empty() {
        sections.push(titled("Throughput (RFC 2544, 26.1)", throughput(tables)));
    }
    if !tables.latency.is_empty() {
        let title = "Latency at the throughput (26.2), us, first bit in to last bit out (FILO).\n\
                     S&F: last bit in to first out; bit: first in to first out (RFC 1242)";
        sections.push(titled(title, latency(tables)));
    }
    if !tables.latency_by_load.is_empty() {
        let title = "Latency (FILO) by load, us; load in % of the throughput";
        sections.push(titled(title, latency_by_load(tables)));
    }
    if !tables.loss.is_empty() {
        sections.push(titled("Frame loss rate by load (26.3), %", loss(tables)));
    }
    if !tables.back_to_back.is_empty() {
        sections.push(titled("Back-to-back frames (RFC 9004)", back_to_back(tables)));
    }
    if !tables.recovery.is_empty() {
        sections.push(titled("System recovery (26.5)", recovery(tables)));
    }
    if !tables.reset.is_empty() {
        sections.push(titled("Reset: time without forwarding (26.6, RFC 6201), ms", reset(tables)));
    }
    ending(&mut sections, results);
    sections.join("\n")
}

fn throughput(tables: &Tables) -> Table {
    let mut table = head(&["size"], &["frames/s", "line", "% of line", "loss at", "trials"], true);
    for row in &tables.throughput {
        let share = row.frames_per_second.map(|rate| rate / row.line_frames_per_second);
        let pauses = if row.paused { " paused the tester" } else { "" };
        table.row([
            row.size.to_string(),
            row.frames_per_second.map_or(NONE.to_owned(), rate),
            rate(row.line_frames_per_second),
            share.map_or(NONE.to_owned(), percent),
            row.loss_at.map_or(NONE.to_owned(), rate),
            row.trials.to_string(),
            irregular(row.irregular) + pauses,
        ]);
    }
    table
}

fn latency(tables: &Tables) -> Table {
    let numbers = ["min", "mean", "p50", "p99", "max", "S&F mean", "bit mean", "lost"];
    let mut table = head(&["size"], &numbers, false);
    for row in &tables.latency {
        let first = filo(&row.filo);
        let means = [row.store_and_forward_ns, row.bit_forwarding_ns];
        let cells = first.into_iter().chain(means.map(|ns| ns.map_or(NONE.to_owned(), micros)));
        let size = core::iter::once(row.size.to_string());
        table.row(size.chain(cells).chain([count(row.lost)]).collect::<Vec<_>>());
    }
    table
}

/// Returns least, mean, median, 99th percentile and largest latency.
fn filo(filo: &Latency) -> [String; 5] {
    let below = |ns: f64| if ns <= filo.resolution_ns { "<" } else { "" };
    let values = [filo.min_ns, filo.mean_ns, filo.p50_ns, filo.p99_ns, filo.max_ns];
    values.map(|ns| format!("{}{}", below(ns), micros(ns)))
}

fn latency_by_load(tables: &Tables) -> Table {
    let numbers = ["load %", "min", "mean", "p50", "p99", "max", "lost"];
    let mut table = head(&["size"], &numbers, false);
    for row in &tables.latency_by_load {
        let about = [row.size.to_string(), row.share_percent.to_string()];
        let cells = about.into_iter().chain(filo(&row.filo)).chain([count(row.lost)]);
        table.row(cells.collect::<Vec<_>>());
    }
    table
}

fn loss(tables: &Tables) -> Table {
    let mut table = head(&["size"], &["load %", "loss %", "lost", "held back"], false);
    for row in &tables.loss {
        for (n, point) in row.points.iter().enumerate() {
            table.row([
                if n == 0 { row.size.to_string() } else { String::new() },
                format!("{:.2}", point.load_percent),
                format!("{:.4}", point.loss_percent),
                count(point.lost),
                count(point.held_back),
            ]);
        }
    }
    table
}

fn back_to_back(tables: &Tables) -> Table {
    let numbers = ["mean frames", "min", "max", "deviation", "implied us", "corrected us"];
    let mut table = head(&["size"], &numbers, true);
    for row in &tables.back_to_back {
        table.row([
            row.size.to_string(),
            format!("{:.1}", row.mean),
            count(row.min.into()),
            count(row.max.into()),
            format!("{:.2}", row.deviation),
            format!("{:.3}", row.implied_us),
            format!("{:.3}", row.corrected_us),
            if row.at_limit { "the longest burst passed" } else { "" }.to_owned(),
        ]);
    }
    table
}

fn recovery(tables: &Tables) -> Table {
    let mut table = head(&["size"], &["overload %", "recovery us", "+-"], true);
    for row in &tables.recovery {
        let (time, remark) = match row.mean_us {
            _ if !row.overloaded => (NONE.to_owned(), "no loss in the overload"),
            Some(time) => (format!("{time:.3}"), ""),
            None => (NONE.to_owned(), "loss until the end"),
        };
        table.row([
            row.size.to_string(),
            format!("{:.2}", row.overload_percent),
            time,
            format!("{:.3}", row.uncertainty_us),
            remark.to_owned(),
        ]);
    }
    table
}

fn reset(tables: &Tables) -> Table {
    let mut table = head(&["reset", "size"], &["lost", "ms", "+-", "by stamps"], true);
    for row in &tables.reset {
        let ms = |value: Option<f64>| value.map_or(NONE.to_owned(), |ms| format!("{ms:.6}"));
        table.row([
            row.kind.name().to_owned(),
            row.size.to_string(),
            count(row.lost),
            ms(row.mean_ms),
            ms(Some(row.uncertainty_ms)),
            ms(row.stamps_ms),
            row.not_judged.as_ref().map_or(String::new(), |_| "not judged".to_owned()),
        ]);
    }
    table
}
