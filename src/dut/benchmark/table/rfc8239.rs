//! Results of RFC 8239 as text.

use text::{Table, count};

use super::{NONE, ending, head, micros, titled};
use crate::rfc8239::Tables;
use crate::run::Run;

/// Returns the tables of RFC 8239's results.
#[must_use]
pub fn rfc8239(results: &Run<Tables>) -> String {
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

fn line_rate(tables: &Tables) -> Table {
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

fn buffer(tables: &Tables) -> Table {
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

fn microburst(tables: &Tables) -> Table {
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

fn holb(tables: &Tables) -> Table {
    let numbers = ["size", "shift", "uncongested loss", "its rate", "congested loss"];
    let mut table = head(&["parts"], &numbers, true);
    for row in &tables.holb {
        table.row([
            row.pattern.name().to_owned(),
            row.size.to_string(),
            row.shift.to_string(),
            format!("{:.4}", row.uncongested_loss_percent),
            format!("{:.3}", row.uncongested_rate_percent),
            format!("{:.4}", row.congested_loss_percent),
            if row.back_pressure { "back-pressure" } else { "" }.to_owned(),
        ]);
    }
    table
}

fn incast(tables: &Tables) -> Table {
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
