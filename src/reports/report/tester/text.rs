//! Prints a report as tables, and as one line; and the self-test, which finds the measurement floor of a machine.

use crate::lab::check_lines;
use crate::sheet::Kind::{self, Number, Word};
use crate::sheet::Sheet;
use ::text::{count, scaled};
use ground::printable;
use ground::time::Duration;
#[cfg(all(feature = "dpdk", feature = "instruments"))]
use ground::verdict::Verdict;
use tester::Measured;
use tester::judge::Finding;
use tester::report::{Connection, Flow, Latency, Pacing, Port, Priority, Report, Stamps};
#[cfg(all(feature = "dpdk", feature = "instruments"))]
use tester::self_test::SelfTest;

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
pub(crate) fn tables(report: &Report) -> impl Iterator<Item = (&'static str, Sheet)> {
    let all = [
        ("Flows", flows(report)),
        ("Latency", latencies(report)),
        ("Pacing", pacing(report)),
        ("Congestion", congestion(report)),
        ("Connections", connections(report)),
        ("Ports", ports(report)),
        ("Pauses obeyed", pauses_received(report)),
        ("Pauses sent", pauses_sent(report)),
    ];
    // Most tests have no connections and no pauses.
    all.into_iter().filter(|(_, sheet)| !sheet.rows.is_empty())
}

/// Prints the report as one line, for an interval of a test whose output is not a terminal.
#[must_use]
pub fn tester_line(report: &Report) -> String {
    let sum = |f: fn(&Flow) -> u64| report.flows.iter().map(f).sum::<u64>();
    let rate = |f: fn(&Flow) -> f64| scaled(report.flows.iter().map(f).sum::<f64>(), "");
    // Flows end one by one, and a line shows how far the test is.
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
pub(crate) fn scene(report: &Report) -> String {
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
        format!("resolution {resolution}, error of latencies at most {off}")
    } else {
        format!("resolution {resolution}")
    };
    format!("{elapsed} in the {world} world; times by {by}, {trust}")
}

/// A column of rows about `T`s: its name, its kind, and its cell.
pub(super) type Column<T> = (&'static str, Kind, fn(&T) -> String);

pub(super) fn sheet<T>(columns: &[Column<T>], rows: impl IntoIterator<Item = T>) -> Sheet {
    let row = |row| columns.iter().map(|(.., cell)| cell(&row)).collect();
    Sheet {
        head: columns.iter().map(|(name, kind, _)| (*name, *kind)).collect(),
        rows: rows.into_iter().map(row).collect(),
    }
}

fn flows(report: &Report) -> Sheet {
    let columns: [Column<&Flow>; 15] = [
        ("flow", Word, |f| f.name.clone()),
        ("from", Word, |f| f.port_tx.clone()),
        ("to", Word, |f| f.port_rx.join(" ")),
        ("state", Word, |f| f.transmit.into()),
        ("sent", Number, |f| count(f.frames_tx)),
        ("received", Number, |f| count(f.frames_rx)),
        ("lost", Number, |f| count(f.lost())),
        // Unknown where frames in queues cannot be counted.
        ("queued", Number, |f| f.queued_frames.map_or_else(|| "-".into(), count)),
        ("loss", Number, |f| format!("{:.3} %", f.loss_percent)),
        ("duplicates", Number, |f| count(f.duplicates)),
        ("reordered", Number, |f| count(f.reordered)),
        ("damaged", Number, |f| count(f.damaged)),
        ("tx rate", Number, |f| scaled(f.frames_tx_rate, "fps")),
        ("rx rate", Number, |f| scaled(f.frames_rx_rate, "fps")),
        ("rx", Number, |f| scaled(8.0 * f.bytes_rx_rate, "b/s")),
    ];
    sheet(&columns, &report.flows)
}

fn latencies(report: &Report) -> Sheet {
    let columns: [Column<(&Flow, &Latency)>; 10] = [
        ("latency", Word, |(f, _)| f.name.clone()),
        ("frames", Number, |(_, l)| count(l.frames)),
        ("min", Number, |(_, l)| l.min_ns.to_string()),
        ("mean", Number, |(_, l)| l.mean_ns.to_string()),
        ("p50", Number, |(_, l)| l.p50_ns.to_string()),
        ("p99", Number, |(_, l)| l.p99_ns.to_string()),
        ("p99.9", Number, |(_, l)| l.p999_ns.to_string()),
        ("max", Number, |(_, l)| l.max_ns.to_string()),
        ("first at", Number, |(f, _)| seconds(f.first_rx_s)),
        ("last at", Number, |(f, _)| seconds(f.last_rx_s)),
    ];
    let measured = report.flows.iter().filter_map(|f| Some((f, f.latency.as_ref()?)));
    sheet(&columns, measured.filter(|(_, l)| l.frames > 0))
}

fn seconds(s: Option<f64>) -> String {
    s.map_or_else(|| "-".into(), |s| format!("{s:.6} s"))
}

fn pacing(report: &Report) -> Sheet {
    let columns: [Column<(&Flow, &Pacing)>; 8] = [
        ("pacing", Word, |(f, _)| f.name.clone()),
        ("configured", Number, |(_, p)| fps(p.asked_fps)),
        ("achieved", Number, |(_, p)| fps(p.sent_fps)),
        ("error", Number, |(_, p)| format!("{:+.1} ppm", p.error_ppm)),
        ("gap min", Number, |(_, p)| p.gap_min_ns.to_string()),
        ("gap p50", Number, |(_, p)| p.gap_p50_ns.to_string()),
        ("gap p99", Number, |(_, p)| p.gap_p99_ns.to_string()),
        ("gap max", Number, |(_, p)| p.gap_max_ns.to_string()),
    ];
    sheet(&columns, report.flows.iter().filter_map(|f| Some((f, f.pacing.as_ref()?))))
}

fn fps(n: f64) -> String {
    format!("{} fps", count(n.round() as u64))
}

/// The flows with congestion notifications.
fn congestion(report: &Report) -> Sheet {
    let columns: [Column<&Flow>; 4] = [
        ("congestion", Word, |f| f.name.clone()),
        ("marked CE", Number, |f| count(f.ce_marked)),
        ("CNPs sent", Number, |f| count(f.cnp.unwrap_or_default().0)),
        ("CNPs received", Number, |f| count(f.cnp.unwrap_or_default().1)),
    ];
    sheet(&columns, report.flows.iter().filter(|f| f.ce_marked > 0 || f.cnp.is_some()))
}

/// The transport results of connections.
fn connections(report: &Report) -> Sheet {
    let columns: [Column<(&Flow, &Connection)>; 10] = [
        ("connection", Word, |(f, _)| f.name.clone()),
        ("queue pairs", Word, |(_, c)| format!("{} to {}", c.src_qp, c.dst_qp)),
        ("messages", Number, |(_, c)| count(c.messages_tx)),
        ("last completion", Number, |(_, c)| perhaps(c.completion_ns)),
        ("retransmitted", Number, |(_, c)| count(c.retransmitted)),
        ("timeouts", Number, |(_, c)| count(c.timeouts)),
        ("out of order", Number, |(_, c)| count(c.out_of_order)),
        ("ACKs", Number, |(_, c)| count(c.acks_rx)),
        ("NAKs", Number, |(_, c)| count(c.naks_rx)),
        ("current rate", Number, |(_, c)| scaled(c.rate_bps as f64, "b/s")),
    ];
    sheet(&columns, report.flows.iter().filter_map(|f| Some((f, f.connection.as_ref()?))))
}

fn ports(report: &Report) -> Sheet {
    // Columns of features that no port has are left out, as lines of a terminal are short.
    let mut columns: Vec<Column<&Port>> = vec![
        ("port", Word, |p| p.name.clone()),
        ("location", Word, |p| p.location.clone()),
        ("link", Word, |p| if p.link_up { "up" } else { "down" }.into()),
        ("speed", Number, |p| scaled(p.speed_bps as f64, "b/s")),
        ("tx frames", Number, |p| count(p.frames_tx)),
        ("rx frames", Number, |p| count(p.frames_rx)),
        ("tx", Number, |p| scaled(8.0 * p.bytes_tx_rate, "b/s")),
        ("rx", Number, |p| scaled(8.0 * p.bytes_rx_rate, "b/s")),
        ("unexpected", Number, |p| count(p.unexpected)),
        ("malformed", Number, |p| count(p.malformed)),
        ("captured", Number, |p| count(p.captured)),
        ("not captured", Number, |p| count(p.capture_missed)),
    ];
    // Most devices lose none.
    let any = |is: fn(&Port) -> bool| report.ports.iter().any(is);
    // Unknown is not none, so such a device has the column as well.
    if any(|port| port.rx_missed != Some(0)) {
        columns.push(("missed", Number, |p| p.rx_missed.map_or_else(|| "unknown".into(), count)));
    }
    if any(|port| port.tx_dropped > 0) {
        columns.push(("not sent", Number, |p| count(p.tx_dropped)));
    }
    if any(|port| port.sfcm_rx.is_some()) {
        columns.push(("SFCM received", Number, |p| p.sfcm_rx.map_or_else(|| "-".into(), count)));
        columns
            .push(("SFCM refused", Number, |p| p.sfcm_refused.map_or_else(|| "-".into(), count)));
        columns.push(("SFCM pause time", Number, |p| {
            p.sfcm_paused_ns.map_or_else(|| "-".into(), time)
        }));
    }
    if any(|port| port.sfcm_tx.is_some()) {
        columns.push(("SFCM sent", Number, |p| p.sfcm_tx.map_or_else(|| "-".into(), count)));
        columns.push(("SFCM to silence p50", Number, |p| measured(p.sfcm_reaction_p50_ns)));
    }
    if any(|port| port.sfcm_to_pfc.is_some()) {
        columns.push(("SFCM to PFC p50", Number, |p| measured(p.sfcm_to_pfc_p50_ns)));
        columns.push(("max", Number, |p| measured(p.sfcm_to_pfc_max_ns)));
        columns.push(("quanta error", Number, |p| {
            p.sfcm_quanta_error.map_or_else(|| "-".into(), |error| format!("{error:+}"))
        }));
    }
    if any(|port| port.other_runs > 0) {
        columns.push(("other runs", Number, |p| count(p.other_runs)));
    }
    sheet(&columns, &report.ports)
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
    let columns: [Column<(&Port, &Priority)>; 8] = [
        ("PFC received", Word, |(port, _)| port.name.clone()),
        ("prio", Number, |(_, p)| p.priority.to_string()),
        ("pauses", Number, |(_, p)| count(p.pauses_rx)),
        ("resumes", Number, |(_, p)| count(p.resumes_rx)),
        ("requested pause time", Number, |(_, p)| time(p.requested_ns)),
        ("pause time", Number, |(_, p)| time(p.paused_ns)),
        ("transitions", Number, |(_, p)| count(p.transitions)),
        ("last frame after", Number, |(_, p)| measured(p.last_frame_after_pause_ns)),
    ];
    sheet(&columns, priorities(report, |p| p.pauses_rx > 0))
}

/// Priorities that a port paused at its peer.
fn pauses_sent(report: &Report) -> Sheet {
    let columns: [Column<(&Port, &Priority)>; 13] = [
        ("PFC sent", Word, |(port, _)| port.name.clone()),
        ("prio", Number, |(_, p)| p.priority.to_string()),
        ("pauses", Number, |(_, p)| count(p.pauses_tx)),
        ("resumes", Number, |(_, p)| count(p.resumes_tx)),
        ("largest gap", Number, |(_, p)| perhaps(p.largest_gap_ns)),
        ("window", Number, |(_, p)| perhaps(p.window_ns)),
        ("continuous", Number, |(_, p)| match p.continuous {
            None => "-".into(),
            Some(true) => "yes".into(),
            Some(false) => "no".into(),
        }),
        ("stops", Number, |(_, p)| count(p.reaction_count)),
        ("reaction p50", Number, |(_, p)| measured(p.reaction_p50_ns)),
        ("reaction max", Number, |(_, p)| measured(p.reaction_max_ns)),
        ("in window", Number, |(_, p)| count(p.frames_in_window)),
        ("after stop", Number, |(_, p)| count(p.frames_after_stop)),
        ("resume latency", Number, |(_, p)| measured(p.resume_ns)),
    ];
    sheet(&columns, priorities(report, |p| p.pauses_tx > 0))
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
pub(crate) fn time(ns: f64) -> String {
    Duration::from_nanos_f64(ns).to_string()
}

fn measured(time: Option<Measured>) -> String {
    time.map_or_else(|| "-".into(), |time| time.to_string())
}

fn perhaps(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".into(), time)
}

/// Prints the self-test. Times below the floor are not given as numbers.
#[cfg(all(feature = "dpdk", feature = "instruments"))]
#[must_use]
pub fn self_test_text(s: &SelfTest) -> String {
    // Below the floor a number would be one of the machine and not of what it measures.
    let resolved = |ns: f64| s.resolved(ns).map_or_else(|| format!("< {}", time(s.floor_ns)), time);
    let l = &s.latency;
    let mut out = format!(
        "clock    {:.3} MHz, steps of {}, {:+.1} ppm off the system's clock, longest gap {}\n",
        s.clock_hz as f64 / 1e6,
        time(s.clock_step_ns),
        s.clock_drift_ppm,
        time(s.clock_gap_max_ns),
    );
    out += &format!(
        "nothing  takes p50 {}, p99 {}, p99.9 {}, max {} through memory, of {} frames\n",
        resolved(l.p50_ns.ns()),
        l.p99_ns,
        resolved(l.p999_ns.ns()),
        resolved(l.max_ns.ns()),
        count(l.frames),
    );
    if let Some(Pacing { asked_fps, error_ppm, gap_p50_ns, gap_p99_ns, gap_max_ns, .. }) = &s.pacing
    {
        out += &format!(
            "pace     {} fps kept within {error_ppm:+.1} ppm, gaps p50 {}, p99 {}, max {}\n",
            count(asked_fps.round() as u64),
            gap_p50_ns,
            gap_p99_ns,
            gap_max_ns,
        );
    }
    out += &format!(
        "floor    {}: no shorter latency can be measured here; stamps may be off by {}\n",
        time(s.floor_ns),
        time(s.uncertainty_ns),
    );
    s.warnings.iter().for_each(|warning| out += &format!("warning: {warning}\n"));
    let (sent, received) = s.frames;
    // The machine's disturbance is the only reason for this verdict, so it is named.
    let busy = match s.verdict() {
        Verdict::Inconclusive => format!("; {}", s.machine),
        _ => String::new(),
    };
    out + &format!("{}: {} of {} frames arrived{busy}\n", s.verdict(), count(received), count(sent))
}
