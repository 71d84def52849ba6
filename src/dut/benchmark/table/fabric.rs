//! Results of RFC 7640, RFC 8239 and the lossless profile as text.

use text::{Table, count};

use crate::rfc7640::{self, HuntRow};
use crate::run::Run;
use crate::table::{NONE, ending, head, micros, titled};
use crate::{lossless, rfc8239};

/// Returns the tables of RFC 7640's results.
#[must_use]
pub fn rfc7640(results: &Run<rfc7640::Tables>) -> String {
    let tables = &results.tables;
    let mut sections = Vec::new();
    if !tables.burst_hunt.is_empty() {
        let title = "Burst hunt (RFC 7640): longest burst of one queue without loss and pause;\n\
                     latency and variation (PDV, 99 %) in us";
        sections.push(titled(title, hunt(&tables.burst_hunt)));
    }
    if !tables.queues.is_empty() {
        let title = "All queues at once: longest burst of each";
        sections.push(titled(title, hunt(&tables.queues)));
    }
    ending(&mut sections, results);
    sections.join("\n")
}

fn hunt(rows: &[HuntRow]) -> Table {
    let numbers = ["size", "bytes", "target", "lost above", "mean", "PDV"];
    let mut table = head(&["priority"], &numbers, true);
    for row in rows {
        let remark = match (row.at_limit, row.target_accepted) {
            (true, _) => "all that were tried",
            (false, false) => "below target",
            (false, true) => "",
        };
        table.row([
            row.priority.to_string(),
            row.size.to_string(),
            count(row.bytes),
            count(row.target),
            row.lost_above.map_or(NONE.to_owned(), count),
            row.latency.map_or(NONE.to_owned(), |latency| micros(latency.mean_ns)),
            row.pdv_p99_ns.map_or(NONE.to_owned(), micros),
            remark.to_owned(),
        ]);
    }
    table
}

/// Returns the tables of RFC 8239's results.
#[must_use]
pub fn rfc8239(results: &Run<rfc8239::Tables>) -> String {
    let tables = &results.tables;
    let mut sections = Vec::new();
    if !tables.line_rate.is_empty() {
        let title = "Line rate of all ports (RFC 8239, section 2); latency FILO and jitter in us";
        sections.push(titled(title, line_rate(tables)));
    }
    if !tables.buffer.is_empty() {
        let title = "Buffer of a port by an oversubscription of 1 % (3); \"or more\" than fills in the\n\
                     longest `trial`";
        sections.push(titled(title, buffer(tables)));
    }
    if !tables.microburst.is_empty() {
        let title = "Microburst (4): longest burst per sender without loss and pause";
        sections.push(titled(title, microburst(tables)));
    }
    if !tables.holb.is_empty() {
        sections.push(titled("Head-of-line blocking (5), %", holb(tables)));
    }
    if !tables.incast.is_empty() {
        let title = "Incast (6): goodput of connections (TCP NewReno window) in Gb/s, alone and with\n\
                     bursts; latency of the bursts in us";
        sections.push(titled(title, incast(tables)));
    }
    ending(&mut sections, results);
    sections.join("\n")
}

fn line_rate(tables: &rfc8239::Tables) -> Table {
    let numbers = ["size", "% of line", "lost", "held back", "min", "mean", "max", "jitter"];
    let mut table = head(&["pattern"], &numbers, false);
    for row in &tables.line_rate {
        let latency = |value: fn(&crate::trial::Latency) -> f64| {
            row.latency.as_ref().map_or(NONE.to_owned(), |latency| micros(value(latency)))
        };
        table.row([
            row.pattern.clone(),
            row.size.to_string(),
            format!("{:.3}", row.forwarded_percent),
            count(row.lost),
            count(row.held_back),
            latency(|l| l.min_ns),
            latency(|l| l.mean_ns),
            latency(|l| l.max_ns),
            row.jitter_ns.map_or(NONE.to_owned(), micros),
        ]);
    }
    table
}

fn buffer(tables: &rfc8239::Tables) -> Table {
    let numbers = ["size", "frames", "bytes", "latency us"];
    let mut table = head(&["pattern", "egress", "tester"], &numbers, true);
    for row in &tables.buffer {
        table.row([
            row.pattern.to_owned(),
            row.egress.clone(),
            row.tester.to_owned(),
            row.size.to_string(),
            format!("{:.1}", row.frames),
            count(row.bytes as u64),
            row.latency_ns.map_or(NONE.to_owned(), micros),
            if row.at_limit { "or more" } else { "" }.to_owned(),
        ]);
    }
    table
}

fn microburst(tables: &rfc8239::Tables) -> Table {
    let mut table = head(&[], &["senders", "receivers", "size", "frames", "bytes"], true);
    for row in &tables.microburst {
        table.row([
            row.senders.to_string(),
            row.receivers.to_string(),
            row.size.to_string(),
            count(row.frames.into()),
            count(row.bytes),
            if row.at_limit { "the longest burst passed" } else { "" }.to_owned(),
        ]);
    }
    table
}

fn holb(tables: &rfc8239::Tables) -> Table {
    let numbers = ["size", "shift", "uncongested loss", "its rate", "congested loss"];
    let mut table = head(&["parts"], &numbers, true);
    for row in &tables.holb {
        table.row([
            row.pattern.name().to_owned(),
            row.size.to_string(),
            row.shift.to_string(),
            optional(row.uncongested_loss_percent, 4),
            optional(row.uncongested_rate_percent, 3),
            optional(row.congested_loss_percent, 4),
            if row.back_pressure { "back-pressure" } else { "" }.to_owned(),
        ]);
    }
    table
}

fn incast(tables: &rfc8239::Tables) -> Table {
    let numbers = ["bursts", "size", "alone", "goodput", "% of G", "again", "lost", "mean", "max"];
    let mut table = head(&["stateful"], &numbers, false);
    for row in &tables.incast {
        let giga = |bps: f64| format!("{:.3}", bps / 1e9);
        let latency = |value: fn(&crate::trial::Latency) -> f64| {
            row.latency.as_ref().map_or(NONE.to_owned(), |latency| micros(value(latency)))
        };
        table.row([
            row.stateful.to_string(),
            row.stateless.to_string(),
            row.size.to_string(),
            giga(row.alone_bps),
            giga(row.goodput_bps),
            format!("{:.2}", row.goodput_percent),
            count(row.retransmitted),
            count(row.burst_lost),
            latency(|l| l.mean_ns),
            latency(|l| l.max_ns),
        ]);
    }
    table
}

/// Returns the tables of the profile's results.
#[must_use]
pub fn lossless(results: &Run<lossless::Tables>) -> String {
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

pub(super) fn optional(value: Option<f64>, decimals: usize) -> String {
    value.map_or(NONE.to_owned(), |value| format!("{value:.decimals$}"))
}

fn rates(tables: &lossless::Tables) -> Table {
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

fn overload(tables: &lossless::Tables) -> Table {
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

fn buffers(tables: &lossless::Tables) -> Table {
    let numbers = ["XOFF", "loss", "difference", "free flow", "its loss"];
    let mut table = head(&["size"], &numbers, false);
    for row in &tables.rows {
        let bytes = |value: Option<f64>| value.map_or(NONE.to_owned(), |n| count(n as u64));
        // The difference is what the device takes after its first pause: its headroom in use.
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

fn times(tables: &lossless::Tables) -> Table {
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

fn pauses(tables: &lossless::Tables) -> Table {
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
