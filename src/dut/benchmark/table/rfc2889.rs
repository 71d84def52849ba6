//! Results of RFC 2889 as text.

use text::{Table, count};

use super::{NONE, ending, head, irregular, micros, rate, titled};
use crate::mlrsearch::Irregular;
use crate::rfc2889::Tables;
use crate::run::Run;

/// Returns the tables of RFC 2889's results.
#[must_use]
pub fn rfc2889(results: &Run<Tables>) -> String {
    let tables = &results.tables;
    let mut sections = Vec::new();
    if !tables.mesh.is_empty() {
        let title = "Throughput (% line), forwarding rates (frames/s) (RFC 2889, 5.1 to 5.3).\n\
                     FRMOL: at the maximum offered load; MFR: the maximum of all loads; /N: bursts";
        sections.push(titled(title, mesh(tables)));
    }
    if !tables.congestion.is_empty() {
        sections.push(titled("Congestion control (5.5), loss in %", congestion(tables)));
    }
    if !tables.addresses.is_empty() {
        let title = "Address caching capacity (5.7), and address learning rate (5.8), frames/s";
        sections.push(titled(title, addresses(tables)));
    }
    if !tables.broadcast.is_empty() {
        let title = "Broadcast frames from one port to all others (5.10); latency FILO, us";
        sections.push(titled(title, broadcast(tables)));
    }
    if !tables.pressure.is_empty() {
        let title = "Forward pressure: gaps of 88 bits instead of 96 (5.6), frames/s";
        sections.push(titled(title, pressure(tables)));
    }
    if !tables.errors.is_empty() {
        sections.push(titled("Errored frames (5.9)", errors(tables)));
    }
    ending(&mut sections, results);
    sections.join("\n")
}

fn mesh(tables: &Tables) -> Table {
    let numbers = ["size", "% line", "offered", "FRMOL", "MFR"];
    let mut table = head(&["pattern"], &numbers, true);
    for row in &tables.mesh {
        let pattern = match row.burst {
            1 => row.pattern.clone(),
            burst => format!("{} /{burst}", row.pattern),
        };
        table.row([
            pattern,
            row.size.to_string(),
            row.throughput_percent.map_or(NONE.to_owned(), |n| format!("{n:.3}")),
            rate(row.frmol.offered),
            rate(row.frmol.forwarded),
            rate(row.mfr.forwarded),
            irregular(row.irregular),
        ]);
    }
    table
}

fn congestion(tables: &Tables) -> Table {
    let mut table = head(&[], &["size", "uncongested", "congested"], true);
    for row in &tables.congestion {
        let remark = match (row.head_of_line_blocking, row.back_pressure) {
            (true, true) => "head-of-line blocking, back-pressure",
            (true, false) => "head-of-line blocking",
            (false, true) => "back-pressure",
            (false, false) => "",
        };
        table.row([
            row.size.to_string(),
            format!("{:.4}", row.uncongested_loss_percent),
            format!("{:.4}", row.congested_loss_percent),
            remark.to_owned(),
        ]);
    }
    table
}

fn addresses(tables: &Tables) -> Table {
    let mut table = head(&[], &["addresses", "learning rate"], true);
    for row in &tables.addresses {
        let all = if row.addresses_at_limit { "all that were tried; " } else { "" };
        let learning = row.learning_per_second.map_or(NONE.to_owned(), rate);
        let remark = match row.irregular {
            Some(Irregular::AtMaximum) => "at the line rate, too".to_owned(),
            other => irregular(other),
        };
        let remark = format!("{all}{remark}").trim_end_matches("; ").to_owned();
        table.row([count(row.addresses.into()), learning, remark]);
    }
    table
}

fn broadcast(tables: &Tables) -> Table {
    let numbers = ["size", "throughput %", "min", "mean", "p99", "max"];
    let mut table = head(&[], &numbers, true);
    for row in &tables.broadcast {
        let latency = row.latency.map(|of| [of.min_ns, of.mean_ns, of.p99_ns, of.max_ns]);
        let cells = match latency {
            Some(times) => times.map(micros),
            None => [const { String::new() }; 4].map(|_| NONE.to_owned()),
        };
        let throughput = row.throughput_percent.map_or(NONE.to_owned(), |n| format!("{n:.3}"));
        let first = [row.size.to_string(), throughput];
        let all = first.into_iter().chain(cells).chain([irregular(row.irregular)]);
        table.row(all.collect::<Vec<_>>());
    }
    table
}

fn pressure(tables: &Tables) -> Table {
    let mut table = head(&["size"], &["line", "offered", "forwarded", "lost"], true);
    for row in &tables.pressure {
        table.row([
            row.size.to_string(),
            rate(row.line_frames_per_second),
            rate(row.offered),
            rate(row.forwarded),
            count(row.lost),
            if row.faster { "FASTER THAN THE LINE" } else { "not faster" }.to_owned(),
        ]);
    }
    table
}

fn errors(tables: &Tables) -> Table {
    let mut table = head(&["error"], &["size", "sent", "forwarded"], true);
    for row in &tables.errors {
        let remark = match (row.filtered, &row.not_tested) {
            (Some(true), _) => "filtered".to_owned(),
            (Some(false), _) => "FORWARDED".to_owned(),
            (None, why) => format!("not tested: {}", why.as_deref().unwrap_or("unknown")),
        };
        let known = |value: u64| row.filtered.map_or(NONE.to_owned(), |_| count(value));
        table.row([
            row.kind.to_owned(),
            row.size.map_or(NONE.to_owned(), |size| size.to_string()),
            known(row.sent),
            known(row.forwarded),
            remark,
        ]);
    }
    table
}
