//! Results of the lossless profile as text.

use text::{Table, count};

use super::{NONE, ending, head, micros, titled};
use crate::lossless::Tables;
use crate::run::Run;

/// Returns the tables of the profile's results.
#[must_use]
pub fn lossless(results: &Run<Tables>) -> String {
    let tables = &results.tables;
    let mut sections = Vec::new();
    if !tables.rows.is_empty() {
        let title = "Lossless profile: all ports but one send to the last; loads in % of the line";
        sections.push(titled(title, rates(tables)));
        sections.push(titled("All senders at the largest load", overload(tables)));
        let title = "Buffered bytes before the first pause, and before the first loss if the tester\n\
                     ignores pauses; a flow to a free port beside one to the congested port, %";
        sections.push(titled(title, buffers(tables)));
        let title = "Longest response of senders to a pause without loss; completion of messages of\n\
                     1 MB; return to 98 % of the rate after the largest load; us";
        sections.push(titled(title, times(tables)));
    }
    if !tables.pauses.is_empty() {
        let title = "Pauses at the largest load";
        sections.push(titled(title, pauses(tables)));
    }
    ending(&mut sections, results);
    sections.join("\n")
}

fn optional(value: Option<f64>, decimals: usize) -> String {
    value.map_or(NONE.to_owned(), |value| format!("{value:.decimals$}"))
}

fn rates(tables: &Tables) -> Table {
    let mut table =
        head(&["size"], &["senders", "no-loss rate", "no-pause rate", "goodput"], false);
    for row in &tables.rows {
        table.row([
            row.size.to_string(),
            row.senders.to_string(),
            optional(row.no_loss_percent, 3),
            optional(row.no_pause_percent, 3),
            format!("{:.3}", row.overload.goodput_percent),
        ]);
    }
    table
}

fn overload(tables: &Tables) -> Table {
    let numbers = ["intended", "held back", "lost", "pauses", "paused %", "p99 us", "max us"];
    let mut table = head(&["size", "worst"], &numbers, false);
    for row in &tables.rows {
        let overload = &row.overload;
        let latency = |value: fn(&crate::trial::Latency) -> f64| {
            overload.latency.as_ref().map_or(NONE.to_owned(), |latency| micros(value(latency)))
        };
        table.row([
            row.size.to_string(),
            overload.worst_sender.clone(),
            count(overload.intended),
            count(overload.held_back),
            count(overload.lost),
            count(overload.pauses),
            format!("{:.2}", overload.worst_paused_percent),
            latency(|l| l.p99_ns),
            latency(|l| l.max_ns),
        ]);
    }
    table
}

fn buffers(tables: &Tables) -> Table {
    let numbers = ["XOFF", "loss", "difference", "free flow", "its loss"];
    let mut table = head(&["size"], &numbers, false);
    for row in &tables.rows {
        let bytes = |value: Option<f64>| value.map_or(NONE.to_owned(), |n| count(n as u64));
        let difference = row.loss_bytes.zip(row.xoff_bytes).map(|(loss, xoff)| loss - xoff);
        table.row([
            row.size.to_string(),
            bytes(row.xoff_bytes),
            bytes(row.loss_bytes),
            bytes(difference),
            optional(row.uncongested_rate_percent, 3),
            optional(row.uncongested_loss_percent, 4),
        ]);
    }
    table
}

fn times(tables: &Tables) -> Table {
    let numbers = ["response", "message", "least", "recovery", "last lost", "+-"];
    let mut table = head(&["size"], &numbers, false);
    for row in &tables.rows {
        table.row([
            row.size.to_string(),
            optional(row.response_ns.map(|ns| ns / 1e3), 3),
            optional(row.message.completion_us, 3),
            format!("{:.3}", row.message.least_us),
            optional(row.recovery.mean_us, 3),
            optional(row.recovery.to_last_lost_us, 3),
            format!("{:.3}", row.recovery.uncertainty_us),
        ]);
    }
    table
}

fn pauses(tables: &Tables) -> Table {
    let numbers = ["priority", "received", "XON", "pauses", "paused %"];
    let mut table = head(&["size", "port"], &numbers, false);
    for row in &tables.pauses {
        table.row([
            row.size.to_string(),
            row.port.clone(),
            row.priority.to_string(),
            count(row.received),
            count(row.resumes),
            count(row.pauses),
            format!("{:.2}", row.paused_percent),
        ]);
    }
    table
}
