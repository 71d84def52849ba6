//! The demo's result as a table.

use super::outcome::{Outcome, PrioritySummary, RunSummary};
use crate::verdict::Verdict;
use ::text::{Align, Table, count, scaled};

/// The whole result, with suggestions for further runs.
pub(super) fn text(outcome: &Outcome, program: &str) -> String {
    let mut out = format!("{}\n{}\n", scene(outcome), table(outcome));
    for check in &outcome.checks {
        out += &format!("{:<12}  {}\n", check.verdict, check.text);
    }
    out += &format!("{}\n", Verdict::summary(outcome.checks.iter().map(|check| check.verdict)));
    out + &format!(
        "\nTry next:\n  \
         {program} check configs/switch/tor4.yaml         a rack switch, checked to be lossless\n  \
         sudo {program} switch configs/switch/bump.yaml   a bump in the wire, for real hosts\n"
    )
}

/// Parameters of the runs.
fn scene(outcome: &Outcome) -> String {
    let s = &outcome.setup;
    let mut text = format!(
        "{} hosts send to one through a switch, {} s with PFC off and {} s with PFC on.\n\
         Every link carries {}, every frame has {} bytes.\n",
        s.senders,
        s.seconds,
        s.seconds,
        scaled(s.link_rate_bps as f64, "b/s"),
        s.frame_bytes
    );
    if s.cpus == 1 {
        text += "There is one CPU: switch and hosts take turns on it.\n";
    }
    text
}

fn table(outcome: &Outcome) -> Table {
    let mut t =
        Table::new([("", Align::Left), ("PFC off", Align::Right), ("PFC on", Align::Right)]);
    for (name, of) in [
        ("priority 3, lossless with PFC", (|r| &r.lossless) as fn(&RunSummary) -> &PrioritySummary),
        ("priority 0, lossy", |r| &r.lossy),
    ] {
        priority(&mut t, name, outcome, of);
    }
    t.row(["switch".into(), String::new(), String::new()]);
    let mut row = |name: &str, cell: &dyn Fn(&RunSummary) -> String| {
        t.row(cells(name, outcome, cell));
    };
    let s = &outcome.setup;
    row("pauses sent", &|r| count(r.pauses_sent));
    row("pauses obeyed by the hosts", &|r| count(r.pauses_obeyed));
    row("senders paused, of the time", &|r| format!("{:.0} %", 100.0 * r.paused_share));
    row("shared buffer in bytes, peak", &|r| count(r.shared_peak_bytes));
    row("shared buffer in bytes, size", &|r| count(r.shared_bytes));
    row("headroom of a port, peak", &|r| count(r.headroom_peak_bytes));
    row("headroom of a port, size", &|r| match r.pfc {
        true => count(s.headroom_bytes_per_sender),
        false => "0".into(),
    });
    row("excluded: CPU preempted", &|r| milliseconds(r.stalled_ns));
    t
}

/// A row with one cell per run; a dash for a run that did not take place.
fn cells(name: &str, outcome: &Outcome, cell: &dyn Fn(&RunSummary) -> String) -> [String; 3] {
    let of = |n: usize| outcome.runs.get(n).map_or_else(|| "-".into(), cell);
    [format!("  {name}"), of(0), of(1)]
}

/// Rows of one priority.
fn priority(t: &mut Table, name: &str, outcome: &Outcome, of: fn(&RunSummary) -> &PrioritySummary) {
    t.row([name.into(), String::new(), String::new()]);
    let mut row = |name: &str, cell: &dyn Fn(&PrioritySummary) -> String| {
        t.row(cells(name, outcome, &|run| cell(of(run))));
    };
    row("frames sent", &|p| count(p.sent_frames));
    row("frames delivered", &|p| count(p.delivered_frames));
    row("frames lost", &|p| count(p.lost_frames));
    row("throughput", &|p| scaled(p.delivered_bps, "b/s"));
    row("latency p50", &|p| latency(p.latency_p50_ns));
    row("latency p99", &|p| latency(p.latency_p99_ns));
    row("latency max", &|p| latency(p.latency_max_ns));
}

/// Formats a latency in microseconds.
fn latency(ns: u64) -> String {
    if ns < 100_000 {
        format!("{:.1} us", ns as f64 / 1e3)
    } else {
        format!("{} us", count((ns + 500) / 1_000))
    }
}

fn milliseconds(ns: u64) -> String {
    format!("{} ms", count((ns + 500_000) / 1_000_000))
}
