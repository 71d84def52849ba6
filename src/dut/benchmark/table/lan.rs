//! Results of RFC 2544 and RFC 2889 as text.

use text::{Table, count};

use crate::mlrsearch::Irregular;
use crate::run::Run;
use crate::table::fabric::optional;
use crate::table::{NONE, ending, head, irregular, micros, percent, rate, titled};
use crate::trial::Latency;
use crate::{rfc2544, rfc2889};

/// Returns the tables of RFC 2544's results.
#[must_use]
pub fn rfc2544(results: &Run<rfc2544::Tables>) -> String {
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

fn throughput(tables: &rfc2544::Tables) -> Table {
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

fn latency(tables: &rfc2544::Tables) -> Table {
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
    // A time at the resolution of the stamps is an upper limit, and may be anything down to 0.
    let below = |ns: f64| if ns <= filo.resolution_ns { "<" } else { "" };
    let values = [filo.min_ns, filo.mean_ns, filo.p50_ns, filo.p99_ns, filo.max_ns];
    values.map(|ns| format!("{}{}", below(ns), micros(ns)))
}

fn latency_by_load(tables: &rfc2544::Tables) -> Table {
    let numbers = ["load %", "min", "mean", "p50", "p99", "max", "lost"];
    let mut table = head(&["size"], &numbers, false);
    for row in &tables.latency_by_load {
        let about = [row.size.to_string(), row.share_percent.to_string()];
        let cells = about.into_iter().chain(filo(&row.filo)).chain([count(row.lost)]);
        table.row(cells.collect::<Vec<_>>());
    }
    table
}

fn loss(tables: &rfc2544::Tables) -> Table {
    let mut table = head(&["size"], &["load %", "loss %", "lost", "held back"], false);
    for row in &tables.loss {
        for (n, point) in row.points.iter().enumerate() {
            table.row([
                // The size stands at the first point of its curve.
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

fn back_to_back(tables: &rfc2544::Tables) -> Table {
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

fn recovery(tables: &rfc2544::Tables) -> Table {
    let mut table = head(&["size"], &["overload %", "recovery us", "+-"], true);
    for row in &tables.recovery {
        let (time, remark) = match row.mean_us {
            // Without an overload there is nothing to recover from, whatever the time says.
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

fn reset(tables: &rfc2544::Tables) -> Table {
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

/// Returns the tables of RFC 2889's results.
#[must_use]
pub fn rfc2889(results: &Run<rfc2889::Tables>) -> String {
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

fn mesh(tables: &rfc2889::Tables) -> Table {
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

fn congestion(tables: &rfc2889::Tables) -> Table {
    let mut table = head(&[], &["size", "uncongested", "congested"], true);
    for row in &tables.congestion {
        let blocks = row.head_of_line_blocking.unwrap_or_default();
        let remark = match (blocks, row.back_pressure.unwrap_or_default()) {
            (true, true) => "head-of-line blocking, back-pressure",
            (true, false) => "head-of-line blocking",
            (false, true) => "back-pressure",
            (false, false) => "",
        };
        table.row([
            row.size.to_string(),
            optional(row.uncongested_loss_percent, 4),
            optional(row.congested_loss_percent, 4),
            remark.to_owned(),
        ]);
    }
    table
}

fn addresses(tables: &rfc2889::Tables) -> Table {
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

fn broadcast(tables: &rfc2889::Tables) -> Table {
    let numbers = ["size", "throughput %", "min", "mean", "p99", "max"];
    let mut table = head(&[], &numbers, true);
    for row in &tables.broadcast {
        let latency = row.latency.map(|l| [l.min_ns, l.mean_ns, l.p99_ns, l.max_ns]);
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

fn pressure(tables: &rfc2889::Tables) -> Table {
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

fn errors(tables: &rfc2889::Tables) -> Table {
    let mut table = head(&["error"], &["size", "sent", "forwarded"], true);
    for row in &tables.errors {
        let remark = match (row.filtered, &row.not_tested) {
            (Some(true), _) => "filtered".to_owned(),
            (Some(false), _) => "FORWARDED".to_owned(),
            (None, why) => format!("not tested: {}", why.as_deref().unwrap_or("unknown")),
        };
        // Counts of a kind that was not tested are no zeros.
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
