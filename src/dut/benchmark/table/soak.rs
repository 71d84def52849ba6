//! Results of a soak as text.

use text::{Table, count};

use super::{NONE, ending, head, micros, titled};
use crate::run::Run;
use crate::soak::Tables;
use crate::trial::Latency;

/// Returns the table of a soak's results.
#[must_use]
pub fn soak(results: &Run<Tables>) -> String {
    let tables = &results.tables;
    let numbers =
        ["load %", "parts", "sent", "lost", "mean us", "max us", "slope ns/h", "memory B/h"];
    let mut table: Table = head(&["size"], &numbers, true);
    for row in &tables.rows {
        let all: Vec<&Latency> = row.parts.iter().filter_map(|p| p.latency.as_ref()).collect();
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
