//! Results as text, in the terms of the RFCs.

use text::table::{Align, Table, count};

use crate::mlr;
use crate::mlrsearch::Irregular;
use crate::rfc2544::Results;

/// Cell of a value that is not known.
const NONE: &str = "-";

/// Returns the tables of RFC 2544's results.
#[must_use]
pub fn rfc2544(results: &Results) -> String {
    let mut sections = Vec::new();
    if !results.throughput.is_empty() {
        sections.push(titled("Throughput (RFC 2544, 26.1)", throughput(results)));
    }
    if !results.latency.is_empty() {
        let title = "Latency at the throughput (26.2), us, first bit in to last bit out (FILO).\n\
                     S&F: last bit in to first out; bit: first in to first out (RFC 1242)";
        sections.push(titled(title, latency(results)));
    }
    if !results.loss.is_empty() {
        sections.push(titled("Frame loss rate by load (26.3), %", loss(results)));
    }
    if !results.back_to_back.is_empty() {
        sections.push(titled("Back-to-back frames (RFC 9004)", back_to_back(results)));
    }
    if !results.recovery.is_empty() {
        sections.push(titled("System recovery (26.5)", recovery(results)));
    }
    ending(&mut sections, (&results.notes, results.ended.as_deref()), results.trials);
    sections.join("\n")
}

/// Returns the table of MLRsearch's results.
#[must_use]
pub fn mlrsearch(results: &mlr::Results) -> String {
    let mut table = head(&["size", "goal"], &["throughput", "lower", "upper", "% of line"], true);
    for row in &results.rows {
        let bound = |bound: Option<crate::mlrsearch::Bound>| match bound {
            Some(bound) => rate(bound.load),
            None => NONE.to_owned(),
        };
        let throughput = row.result.lower.map(|lower| lower.conditional_throughput);
        table.row([
            row.size.to_string(),
            row.goal.clone(),
            throughput.map_or(NONE.to_owned(), rate),
            bound(row.result.lower),
            bound(row.result.upper),
            throughput.map_or(NONE.to_owned(), |n| percent(n / row.line_frames_per_second)),
            irregular(row.result.irregular),
        ]);
    }
    let title = "MLRsearch: conditional throughput and its bounds, frames/s";
    let mut sections = vec![titled(title, table)];
    ending(&mut sections, (&results.notes, results.ended.as_deref()), results.trials);
    sections.join("\n")
}

fn titled(title: &str, table: Table) -> String {
    format!("{title}\n{table}")
}

/// Adds notes, the reason of an early end, and the number of trials.
fn ending(sections: &mut Vec<String>, (notes, ended): (&[String], Option<&str>), trials: u64) {
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
        Some(Irregular::AtMaximum) => "no loss at the largest load",
        Some(Irregular::AtMinimum) => "loss at the smallest load",
        Some(Irregular::OutOfTime) => "out of time",
        Some(Irregular::Interrupted) => "not finished",
    }
    .to_owned()
}

fn throughput(results: &Results) -> Table {
    let mut table = head(&["size"], &["frames/s", "line", "% of line", "loss at", "trials"], true);
    for row in &results.throughput {
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

fn latency(results: &Results) -> Table {
    let numbers = ["min", "mean", "p50", "p99", "max", "S&F mean", "bit mean", "lost"];
    let mut table = head(&["size"], &numbers, false);
    for row in &results.latency {
        let filo = row.filo;
        let values = [filo.min_ns, filo.mean_ns, filo.p50_ns, filo.p99_ns, filo.max_ns];
        let below = |ns: f64| if ns <= filo.resolution_ns { "<" } else { "" };
        let first = values.map(|ns| format!("{}{}", below(ns), micros(ns)));
        let means = [row.store_and_forward_ns, row.bit_forwarding_ns];
        let cells = first.into_iter().chain(means.map(|ns| ns.map_or(NONE.to_owned(), micros)));
        let size = core::iter::once(row.size.to_string());
        table.row(size.chain(cells).chain([count(row.lost)]).collect::<Vec<_>>());
    }
    table
}

fn loss(results: &Results) -> Table {
    let mut table = head(&["size"], &["load %", "loss %", "lost", "held back"], false);
    for row in &results.loss {
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

fn back_to_back(results: &Results) -> Table {
    let numbers = ["mean frames", "min", "max", "deviation", "implied us", "corrected us"];
    let mut table = head(&["size"], &numbers, true);
    for row in &results.back_to_back {
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

fn recovery(results: &Results) -> Table {
    let mut table = head(&["size"], &["overload %", "recovery us", "+-"], true);
    for row in &results.recovery {
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
