//! Prints a report as tables, and as one line.

use crate::printable;
use crate::report::checks::check_lines;
use crate::report::sheet::{Kind, Sheet};
use crate::report::{count, scaled};
use crate::tester::Measured;
use crate::tester::judge::Finding;
use crate::tester::report::{Flow, Port, Priority, Report, Stamps};
use crate::time::Duration;
use Kind::{Number, Word};

/// Prints the whole report as tables. `findings` belong to a finished test; a running one has
/// none.
#[must_use]
pub fn tester_text(report: &Report, findings: Option<&[Finding]>) -> String {
    let mut out = printable::lines([scene(report)]);
    for (_, sheet) in tables(report) {
        out += &format!("\n{}", sheet.table());
    }
    if !report.warnings.is_empty() {
        let warnings = report.warnings.iter().map(|warning| format!("warning: {warning}"));
        out += &format!("\n{}", printable::lines(warnings));
    }
    out += &disturbance(report);
    out + &findings.map_or(String::new(), verdict)
}

/// Returns the tables that are not empty, each with its title.
pub(in crate::report) fn tables(report: &Report) -> impl Iterator<Item = (&'static str, Sheet)> {
    let all = [
        ("Flows", flows(report)),
        ("Latency", latencies(report)),
        ("Pace", pacing(report)),
        ("Congestion", congestion(report)),
        ("Connections", connections(report)),
        ("Ports", ports(report)),
        ("Pauses obeyed", pauses_received(report)),
        ("Pauses sent", pauses_sent(report)),
    ];
    all.into_iter().filter(|(_, sheet)| !sheet.rows.is_empty())
}

/// Prints the report as one line, for an interval of a test whose output is not a terminal.
#[must_use]
pub fn tester_line(report: &Report) -> String {
    let sum = |f: fn(&Flow) -> u64| report.flows.iter().map(f).sum::<u64>();
    let rate = |f: fn(&Flow) -> f64| scaled(report.flows.iter().map(f).sum::<f64>(), "");
    let sending = report.flows.iter().filter(|f| f.transmit == "started").count();
    let paused = report.ports.iter().flat_map(|p| &p.priorities).map(|p| p.transitions);
    format!(
        "{:>8} tx {}fps {}b/s rx {}fps {}b/s sent {} received {} pauses obeyed {} sending {} of {}",
        format!("{:.1}s", report.elapsed_s.unwrap_or(0.0)),
        rate(|f| f.frames_tx_rate),
        rate(|f| 8.0 * f.bytes_tx_rate),
        rate(|f| f.frames_rx_rate),
        rate(|f| 8.0 * f.bytes_rx_rate),
        count(sum(|f| f.frames_tx)),
        count(sum(|f| f.frames_rx)),
        count(paused.sum()),
        sending,
        report.flows.len(),
    )
}

/// Describes the test and the precision of its times.
pub(in crate::report) fn scene(report: &Report) -> String {
    let Stamps { source, resolution_ns, uncertainty_ns } = report.stamps;
    let elapsed = report.elapsed_s.map_or("not started".into(), |s| format!("{s:.3} s"));
    let by = match source {
        "nic" => "stamps of the NIC",
        "tsc" => "the processor's clock (TSC)",
        "virtual" => "the virtual world's exact time",
        other => other,
    };
    let (world, resolution, off) = (report.world, time(resolution_ns), time(uncertainty_ns));
    let trust = if uncertainty_ns > 0.0 {
        format!("resolution {resolution}, a latency is right within {off} either way")
    } else {
        format!("resolution {resolution}")
    };
    format!("{elapsed} in the {world} world; times by {by}, {trust}")
}

pub(super) fn sheet<const N: usize>(
    head: [(&'static str, Kind); N],
    rows: impl Iterator<Item = [String; N]>,
) -> Sheet {
    Sheet { head: head.into(), rows: rows.map(Vec::from).collect() }
}

fn flows(report: &Report) -> Sheet {
    let head = [
        ("flow", Word),
        ("from", Word),
        ("to", Word),
        ("state", Word),
        ("sent", Number),
        ("received", Number),
        ("lost", Number),
        ("queued", Number),
        ("loss", Number),
        ("twice", Number),
        ("reordered", Number),
        ("tx rate", Number),
        ("rx rate", Number),
        ("rx", Number),
    ];
    let row = |f: &Flow| {
        [
            f.name.clone(),
            f.port_tx.clone(),
            f.port_rx.join(" "),
            f.transmit.into(),
            count(f.frames_tx),
            count(f.frames_rx),
            count(f.lost()),
            f.queued_frames.map_or_else(|| "-".into(), count),
            format!("{:.3} %", f.loss_percent),
            count(f.duplicates),
            count(f.reordered),
            scaled(f.frames_tx_rate, "fps"),
            scaled(f.frames_rx_rate, "fps"),
            scaled(8.0 * f.bytes_rx_rate, "b/s"),
        ]
    };
    sheet(head, report.flows.iter().map(row))
}

fn latencies(report: &Report) -> Sheet {
    let head = [
        ("latency", Word),
        ("frames", Number),
        ("min", Number),
        ("mean", Number),
        ("p50", Number),
        ("p99", Number),
        ("p99.9", Number),
        ("max", Number),
        ("first at", Number),
        ("last at", Number),
    ];
    let seconds = |s: Option<f64>| s.map_or("-".into(), |s| format!("{s:.6} s"));
    let rows = report.flows.iter().filter_map(|f| {
        let l = f.latency.as_ref().filter(|l| l.frames > 0)?;
        let [min, mean, p50, p99, p999, max] =
            [l.min_ns, l.mean_ns, l.p50_ns, l.p99_ns, l.p999_ns, l.max_ns]
                .map(|time| time.to_string());
        let (first, last) = (seconds(f.first_rx_s), seconds(f.last_rx_s));
        Some([f.name.clone(), count(l.frames), min, mean, p50, p99, p999, max, first, last])
    });
    sheet(head, rows)
}

fn pacing(report: &Report) -> Sheet {
    let head = [
        ("pace", Word),
        ("asked", Number),
        ("kept", Number),
        ("off by", Number),
        ("gap min", Number),
        ("gap p50", Number),
        ("gap p99", Number),
        ("gap max", Number),
    ];
    let rows = report.flows.iter().filter_map(|f| {
        let p = f.pacing.as_ref()?;
        let fps = |n: f64| format!("{} fps", count(n.round() as u64));
        let [min, p50, p99, max] =
            [p.gap_min_ns, p.gap_p50_ns, p.gap_p99_ns, p.gap_max_ns].map(|gap| gap.to_string());
        let off = format!("{:+.1} ppm", p.error_ppm);
        Some([f.name.clone(), fps(p.asked_fps), fps(p.sent_fps), off, min, p50, p99, max])
    });
    sheet(head, rows)
}

/// The flows with congestion notifications.
fn congestion(report: &Report) -> Sheet {
    let head = [
        ("congestion", Word),
        ("marked CE", Number),
        ("CNPs sent", Number),
        ("CNPs received", Number),
    ];
    let told = report.flows.iter().filter(|f| f.ce_marked > 0 || f.cnp.is_some());
    let row = |f: &Flow| {
        let (sent, got) = f.cnp.unwrap_or_default();
        [f.name.clone(), count(f.ce_marked), count(sent), count(got)]
    };
    sheet(head, told.map(row))
}

/// The transport results of connections.
fn connections(report: &Report) -> Sheet {
    let head = [
        ("connection", Word),
        ("queue pairs", Word),
        ("messages", Number),
        ("last took", Number),
        ("sent again", Number),
        ("timeouts", Number),
        ("behind a gap", Number),
        ("ACKs", Number),
        ("NAKs", Number),
        ("rate now", Number),
    ];
    let rows = report.flows.iter().filter_map(|f| {
        let c = f.connection.as_ref()?;
        Some([
            f.name.clone(),
            format!("{} to {}", c.src_qp, c.dst_qp),
            count(c.messages_tx),
            perhaps(c.completion_ns),
            count(c.retransmitted),
            count(c.timeouts),
            count(c.out_of_order),
            count(c.acks_rx),
            count(c.naks_rx),
            scaled(c.rate_bps as f64, "b/s"),
        ])
    });
    sheet(head, rows)
}

fn ports(report: &Report) -> Sheet {
    let head = [
        ("port", Word),
        ("location", Word),
        ("link", Word),
        ("speed", Number),
        ("tx frames", Number),
        ("rx frames", Number),
        ("tx", Number),
        ("rx", Number),
        ("unexpected", Number),
        ("malformed", Number),
        ("captured", Number),
        ("not captured", Number),
    ];
    let row = |p: &Port| {
        [
            p.name.clone(),
            p.location.clone(),
            if p.link_up { "up" } else { "down" }.into(),
            scaled(p.speed_bps as f64, "b/s"),
            count(p.frames_tx),
            count(p.frames_rx),
            scaled(8.0 * p.bytes_tx_rate, "b/s"),
            scaled(8.0 * p.bytes_rx_rate, "b/s"),
            count(p.unexpected),
            count(p.malformed),
            count(p.captured),
            count(p.capture_missed),
        ]
    };
    let mut sheet = sheet(head, report.ports.iter().map(row));
    // Most devices lose none.
    if report.ports.iter().any(|port| port.rx_missed != Some(0)) {
        sheet.head.push(("missed", Number));
        for (row, port) in sheet.rows.iter_mut().zip(&report.ports) {
            row.push(port.rx_missed.map_or_else(|| "unknown".into(), count));
        }
    }
    if report.ports.iter().any(|port| port.tx_dropped > 0) {
        sheet.head.push(("not sent", Number));
        for (row, port) in sheet.rows.iter_mut().zip(&report.ports) {
            row.push(count(port.tx_dropped));
        }
    }
    if report.ports.iter().any(|port| port.other_runs > 0) {
        sheet.head.push(("other runs", Number));
        for (row, port) in sheet.rows.iter_mut().zip(&report.ports) {
            row.push(count(port.other_runs));
        }
    }
    sheet
}

fn priorities<'a>(
    report: &'a Report,
    which: fn(&Priority) -> bool,
) -> impl Iterator<Item = (&'a Port, &'a Priority)> {
    let of = move |port: &'a Port| port.priorities.iter().map(move |p| (port, p));
    report.ports.iter().flat_map(of).filter(move |(_, p)| which(p))
}

/// Priorities that peers paused.
fn pauses_received(report: &Report) -> Sheet {
    let head = [
        ("paused", Word),
        ("prio", Number),
        ("pauses", Number),
        ("resumes", Number),
        ("asked for", Number),
        ("paused for", Number),
        ("times", Number),
        ("last frame after", Number),
    ];
    let rows = priorities(report, |p| p.pauses_rx > 0).map(|(port, p)| {
        [
            port.name.clone(),
            p.priority.to_string(),
            count(p.pauses_rx),
            count(p.resumes_rx),
            time(p.requested_ns),
            time(p.paused_ns),
            count(p.transitions),
            measured(p.last_frame_after_pause_ns),
        ]
    });
    sheet(head, rows)
}

/// Priorities that a port paused at its peer.
fn pauses_sent(report: &Report) -> Sheet {
    let head = [
        ("pausing", Word),
        ("prio", Number),
        ("pauses", Number),
        ("resumes", Number),
        ("largest gap", Number),
        ("window", Number),
        ("continuous", Number),
        ("stops", Number),
        ("reaction p50", Number),
        ("reaction max", Number),
        ("in window", Number),
        ("after stop", Number),
        ("resumed after", Number),
    ];
    let rows = priorities(report, |p| p.pauses_tx > 0).map(|(port, p)| {
        let continuous = match p.continuous {
            None => "-",
            Some(true) => "yes",
            Some(false) => "no",
        };
        [
            port.name.clone(),
            p.priority.to_string(),
            count(p.pauses_tx),
            count(p.resumes_tx),
            perhaps(p.largest_gap_ns),
            perhaps(p.window_ns),
            continuous.into(),
            count(p.reaction_count),
            measured(p.reaction_p50_ns),
            measured(p.reaction_max_ns),
            count(p.frames_in_window),
            count(p.frames_after_stop),
            measured(p.resume_ns),
        ]
    });
    sheet(head, rows)
}

fn verdict(findings: &[Finding]) -> String {
    let checks = findings.iter().map(|f| (f.verdict, f.flow.as_str(), f.what.as_str()));
    format!("\n{}", check_lines(checks))
}

/// Describes the disturbance by the machine, if there was any.
fn disturbance(report: &Report) -> String {
    let Some(machine) = report.machine.filter(|m| m.preempted_ns.max(m.longest_gap_ns) >= 1e6)
    else {
        return String::new();
    };
    let excluded = if machine.excluded { "excluded: " } else { "" };
    let gap = match machine.longest_gap_ns {
        0.0 => String::new(),
        ns => format!(", ports not polled for up to {:.0} ms", ns / 1e6),
    };
    format!("\n{excluded}CPU preempted for {:.0} ms{gap}\n", machine.preempted_ns / 1e6)
}

/// Formats nanoseconds with a suitable unit.
pub(in crate::report) fn time(ns: f64) -> String {
    Duration::from_nanos_f64(ns).to_string()
}

fn measured(time: Option<Measured>) -> String {
    time.map_or_else(|| "-".into(), |time| time.to_string())
}

fn perhaps(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".into(), time)
}
