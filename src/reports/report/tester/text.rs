//! Prints a report as tables, and as one line; and the self-test, which finds the measurement floor of a machine.

use crate::lab::check_lines;
use crate::sheet::{Medium, Sheet};
use ::text::{Column, columns, count, scaled};
use ground::printable;
use ground::time::Duration;
#[cfg(all(feature = "dpdk", feature = "instruments"))]
use ground::verdict::Verdict;
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

fn flows(report: &Report) -> Sheet {
    let columns: [Column<Flow>; 15] = columns! { f =>
        Text ["flow"] = &*f.name;
        Text ["from"] = &*f.port_tx;
        Made ["to"] = f.port_rx.join(" ");
        Text ["state"] = f.transmit;
        Whole ["sent"] = f.frames_tx;
        Whole ["received"] = f.frames_rx;
        Whole ["lost"] = f.lost();
        // Unknown where frames in queues cannot be counted.
        Whole ["queued"] = f.queued_frames;
        Printed ["loss"] = format!("{:.3} %", f.loss_percent);
        Whole ["duplicates"] = f.duplicates;
        Whole ["reordered"] = f.reordered;
        Whole ["damaged"] = f.damaged;
        Printed ["tx rate"] = scaled(f.frames_tx_rate, "fps");
        Printed ["rx rate"] = scaled(f.frames_rx_rate, "fps");
        Printed ["rx"] = scaled(8.0 * f.bytes_rx_rate, "b/s");
    };
    Medium::Terminal.sheet(&columns, &report.flows)
}

fn latencies(report: &Report) -> Sheet {
    let columns: [Column<(&Flow, &Latency)>; 10] = columns! { (f, l) =>
        Text ["latency"] = &*f.name;
        Whole ["frames"] = l.frames;
        Printed ["min"] = l.min_ns.to_string();
        Printed ["mean"] = l.mean_ns.to_string();
        Printed ["p50"] = l.p50_ns.to_string();
        Printed ["p99"] = l.p99_ns.to_string();
        Printed ["p99.9"] = l.p999_ns.to_string();
        Printed ["max"] = l.max_ns.to_string();
        Printed ["first at"] = f.first_rx_s.map(seconds);
        Printed ["last at"] = f.last_rx_s.map(seconds);
    };
    let measured = report.flows.iter().filter_map(|f| Some((f, f.latency.as_ref()?)));
    Medium::Terminal.sheet(&columns, measured.filter(|(_, l)| l.frames > 0))
}

fn seconds(s: f64) -> String {
    format!("{s:.6} s")
}

fn pacing(report: &Report) -> Sheet {
    let columns: [Column<(&Flow, &Pacing)>; 8] = columns! { (f, p) =>
        Text ["pacing"] = &*f.name;
        Printed ["configured"] = fps(p.asked_fps);
        Printed ["achieved"] = fps(p.sent_fps);
        Printed ["error"] = format!("{:+.1} ppm", p.error_ppm);
        Printed ["gap min"] = p.gap_min_ns.to_string();
        Printed ["gap p50"] = p.gap_p50_ns.to_string();
        Printed ["gap p99"] = p.gap_p99_ns.to_string();
        Printed ["gap max"] = p.gap_max_ns.to_string();
    };
    Medium::Terminal
        .sheet(&columns, report.flows.iter().filter_map(|f| Some((f, f.pacing.as_ref()?))))
}

fn fps(n: f64) -> String {
    format!("{} fps", count(n.round() as u64))
}

/// The flows with congestion notifications.
fn congestion(report: &Report) -> Sheet {
    let columns: [Column<Flow>; 4] = columns! { f =>
        Text ["congestion"] = &*f.name;
        Whole ["marked CE"] = f.ce_marked;
        Whole ["CNPs sent"] = f.cnp.unwrap_or_default().0;
        Whole ["CNPs received"] = f.cnp.unwrap_or_default().1;
    };
    Medium::Terminal
        .sheet(&columns, report.flows.iter().filter(|f| f.ce_marked > 0 || f.cnp.is_some()))
}

/// The transport results of connections.
fn connections(report: &Report) -> Sheet {
    let columns: [Column<(&Flow, &Connection)>; 10] = columns! { (f, c) =>
        Text ["connection"] = &*f.name;
        Made ["queue pairs"] = format!("{} to {}", c.src_qp, c.dst_qp);
        Whole ["messages"] = c.messages_tx;
        Printed ["last completion"] = c.completion_ns.map(time);
        Whole ["retransmitted"] = c.retransmitted;
        Whole ["timeouts"] = c.timeouts;
        Whole ["out of order"] = c.out_of_order;
        Whole ["ACKs"] = c.acks_rx;
        Whole ["NAKs"] = c.naks_rx;
        Printed ["current rate"] = scaled(c.rate_bps as f64, "b/s");
    };
    Medium::Terminal
        .sheet(&columns, report.flows.iter().filter_map(|f| Some((f, f.connection.as_ref()?))))
}

fn ports(report: &Report) -> Sheet {
    // Columns of features that no port has are left out, as lines of a terminal are short.
    let common: [Column<Port>; 12] = columns! { p =>
        Text ["port"] = &*p.name;
        Text ["location"] = &*p.location;
        Text ["link"] = if p.link_up { "up" } else { "down" };
        Printed ["speed"] = scaled(p.speed_bps as f64, "b/s");
        Whole ["tx frames"] = p.frames_tx;
        Whole ["rx frames"] = p.frames_rx;
        Printed ["tx"] = scaled(8.0 * p.bytes_tx_rate, "b/s");
        Printed ["rx"] = scaled(8.0 * p.bytes_rx_rate, "b/s");
        Whole ["unexpected"] = p.unexpected;
        Whole ["malformed"] = p.malformed;
        Whole ["captured"] = p.captured;
        Whole ["not captured"] = p.capture_missed;
    };
    let missed: [Column<Port>; 1] = columns! { p =>
        Printed ["missed"] = p.rx_missed.map_or_else(|| "unknown".into(), count);
    };
    let not_sent: [Column<Port>; 1] = columns! { p => Whole ["not sent"] = p.tx_dropped; };
    let sfcm_received: [Column<Port>; 3] = columns! { p =>
        Whole ["SFCM received"] = p.sfcm_rx;
        Whole ["SFCM refused"] = p.sfcm_refused;
        Printed ["SFCM pause time"] = p.sfcm_paused_ns.map(time);
    };
    let sfcm_sent: [Column<Port>; 2] = columns! { p =>
        Whole ["SFCM sent"] = p.sfcm_tx;
        Printed ["SFCM to silence p50"] = p.sfcm_reaction_p50_ns.map(|time| time.to_string());
    };
    let sfcm_to_pfc: [Column<Port>; 3] = columns! { p =>
        Printed ["SFCM to PFC p50"] = p.sfcm_to_pfc_p50_ns.map(|time| time.to_string());
        Printed ["max"] = p.sfcm_to_pfc_max_ns.map(|time| time.to_string());
        Printed ["quanta error"] = p.sfcm_quanta_error.map(|error| format!("{error:+}"));
    };
    let other_runs: [Column<Port>; 1] = columns! { p => Whole ["other runs"] = p.other_runs; };
    let any = |is: fn(&Port) -> bool| report.ports.iter().any(is);
    let mut columns = Vec::from(common);
    // Unknown is not none, so such a device has the column as well. Most devices lose none.
    columns.extend(missed.into_iter().filter(|_| any(|port| port.rx_missed != Some(0))));
    columns.extend(not_sent.into_iter().filter(|_| any(|port| port.tx_dropped > 0)));
    columns.extend(sfcm_received.into_iter().filter(|_| any(|port| port.sfcm_rx.is_some())));
    columns.extend(sfcm_sent.into_iter().filter(|_| any(|port| port.sfcm_tx.is_some())));
    columns.extend(sfcm_to_pfc.into_iter().filter(|_| any(|port| port.sfcm_to_pfc.is_some())));
    columns.extend(other_runs.into_iter().filter(|_| any(|port| port.other_runs > 0)));
    Medium::Terminal.sheet(&columns, &report.ports)
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
    let columns: [Column<(&Port, &Priority)>; 8] = columns! { (port, p) =>
        Text ["PFC received"] = &*port.name;
        Whole ["prio"] = u64::from(p.priority);
        Whole ["pauses"] = p.pauses_rx;
        Whole ["resumes"] = p.resumes_rx;
        Printed ["requested pause time"] = time(p.requested_ns);
        Printed ["pause time"] = time(p.paused_ns);
        Whole ["transitions"] = p.transitions;
        Printed ["last frame after"] = p.last_frame_after_pause_ns.map(|time| time.to_string());
    };
    Medium::Terminal.sheet(&columns, priorities(report, |p| p.pauses_rx > 0))
}

/// Priorities that a port paused at its peer.
fn pauses_sent(report: &Report) -> Sheet {
    let columns: [Column<(&Port, &Priority)>; 13] = columns! { (port, p) =>
        Text ["PFC sent"] = &*port.name;
        Whole ["prio"] = u64::from(p.priority);
        Whole ["pauses"] = p.pauses_tx;
        Whole ["resumes"] = p.resumes_tx;
        Printed ["largest gap"] = p.largest_gap_ns.map(time);
        Printed ["window"] = p.window_ns.map(time);
        Truth ["continuous"] = p.continuous;
        Whole ["stops"] = p.reaction_count;
        Printed ["reaction p50"] = p.reaction_p50_ns.map(|time| time.to_string());
        Printed ["reaction max"] = p.reaction_max_ns.map(|time| time.to_string());
        Whole ["in window"] = p.frames_in_window;
        Whole ["after stop"] = p.frames_after_stop;
        Printed ["resume latency"] = p.resume_ns.map(|time| time.to_string());
    };
    Medium::Terminal.sheet(&columns, priorities(report, |p| p.pauses_tx > 0))
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
