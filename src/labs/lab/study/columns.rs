//! Columns of rows: the name of each result of a run, its meaning and its value. Rows, their files, data sets, tables
//! and pages are made from these.

use ground::verdict::Verdict;
use text::Shown::Rank;
use text::{Column, Field, columns};

use super::Row;
use super::row::joined;
use crate::{HopOutcome, Outcome};

/// Fields that name the run, before its figures. The values of axes follow `variant`, under the axes' paths.
pub(super) const HEAD: &[Column<Row>] = &columns! { row =>
    Whole "n" = row.n, "number of the run in its lab, from 0";
    Whole "runs" = row.runs, "number of runs of the lab";
    Text "point" = &*row.point, "name of the point; empty without a sweep";
    Text "lab" = &*row.lab, "name of the lab";
    Text "variant" = row.variant.as_deref(), "name of the variant, or null";
    Whole "seed" = row.seed, "seed of everything random";
    Text "world" = &*row.world, "`virtual` or `real`";
    Text "trace_hash" = row.trace_hash.as_deref(), "hash of all events; null in the real world";
    Text "verdict" = Verdict::name(row.verdict), "`pass`, `not_judged`, `inconclusive` or `fail`";
    // One text and no list: rows are flat, so that every tool reads them as a table.
    Made "failed" = joined(&row.failed),
        "checks that are inconclusive or FAIL, separated by commas";
};

/// Fields behind the figures.
pub(super) const TAIL: &[Column<Row>] = &columns! { row =>
    Number "wall_ms" = row.wall_ms, "duration of the run in real time";
    Text "version" = &*row.version, "version of Sluice, with the commit of its sources";
    Text "study" = &*row.study,
        "digest of the lab's text, of the files that it names, and of options that change the results";
};

/// Name of the figure that the plan has and the outcome does not.
pub(super) const HEADROOM: &str = "headroom_bytes";

/// Figures of every run. A run without messages has unknown times and not 0, which would be the best of all.
pub(super) const FIGURES: &[Column<Outcome>] = &columns! { o =>
    Time "elapsed_ns" ["time", Rank(16)] = o.elapsed_ns, "time of the run on the network's clock";
    Truth "done" = o.done, "true if all traffic was sent, and had arrived or was lost";
    Number "rx_bps" ["rate", Rank(9)] = rate(o),
        "received bits of all flows over the whole run, FCS included";
    Number "latency_p99_ns" ["latency", Rank(3)] = latency(o),
        "largest 99th percentile of the frame latency of a flow";
    Whole "fct.messages" = o.figures.fct.map(|fct| fct.count), "completed messages";
    Time "fct.min_ns" = o.figures.fct.map(|fct| fct.min), "shortest completion time of a message";
    Time "fct.p50_ns" ["p50", Rank(15)] = o.figures.fct.map(|fct| fct.p50),
        "median of completion times";
    Time "fct.p99_ns" ["p99", Rank(2)] = o.figures.fct.map(|fct| fct.p99),
        "99th percentile of completion times";
    Time "fct.max_ns" = o.figures.fct.map(|fct| fct.max), "longest completion time";
    Number "victim_bps" ["victims", Rank(4)] = o.figures.victim_bps,
        "goodput of the victim flows in the measurement interval";
    Number "fairness" ["fairness", Rank(11)] = o.figures.fairness,
        "Jain's index of the throughput of the flows that are not victims";
    Whole "lost_frames" ["lost", Rank(1)] = o.figures.lost_frames,
        "lost frames of flows, retransmitted or not";
    Whole "lossless_drops" ["drops", Rank(13)] = o.lossless_drops,
        "frames of lossless groups dropped because of congestion";
    // `Row::with_headroom` fills it in.
    Whole "headroom_bytes" ["headroom", Rank(5)] = None::<u64>,
        "largest configured headroom of a group of a port";
    Whole "headroom_peak_bytes" ["peak headroom", Rank(6)] = headroom_peak(o),
        "largest use of headroom by a group of a port";
    Whole "buffer_peak_bytes" ["buffer", Rank(8)] = o.figures.buffer_peak_bytes,
        "largest use of a switch's buffer, an upper bound";
    Whole "queue_peak_bytes" ["queue", Rank(10)] = o.figures.queue_peak_bytes,
        "longest egress queue of a switch";
    Time "pauses.first_ns" = o.pauses.first_ns,
        "time at which a group first crossed its XOFF threshold";
    Whole "pauses.xoffs" ["pauses", Rank(7)] = o.pauses.xoffs,
        "XOFF crossings of groups of switches";
    Whole "pauses.frames_sent" = o.pauses.frames_sent, "PFC and PAUSE frames that switches sent";
    Time "pauses.paused_ns" ["paused", Rank(14)] = o.pauses.paused_ns,
        "sum of the pause times of all priorities of hosts; with PAUSE, of their lines";
    Time "pauses.longest_ns" = o.pauses.longest_ns, "longest uninterrupted pause of a priority";
    Whole "marks" ["marks", Rank(12)] = o.marks, "frames that switches marked CE";
    Whole "deadlocks" = o.deadlocks.len() as u64, "cyclic buffer dependencies found";
    Whole "signals.cnps" = o.figures.signals.cnps, "RoCEv2 congestion notification packets sent";
    Whole "signals.cnms" = o.figures.signals.cnms, "congestion notification messages of QCN sent";
    Whole "signals.sfcms" = o.figures.signals.sfcms, "source flow control messages sent";
    Whole "signals.cims" = o.figures.signals.cims, "congestion isolation messages sent";
    Whole "slowdown.messages" = o.figures.slowdown.as_ref().map(|s| s.messages),
        "completed messages of which the slowdown is known";
    Whole "slowdown.unfinished" = o.figures.slowdown.as_ref().map(|s| s.unfinished),
        "messages that were due and not complete at the end";
    Whole "slowdown.left_out" = o.figures.slowdown.as_ref().map(|s| s.left_out),
        "completed messages whose times were not kept";
    Number "slowdown.mean" = o.figures.slowdown.as_ref().and_then(|s| s.mean),
        "mean of completion time over that on an idle path";
    Number "slowdown.p50" = o.figures.slowdown.as_ref().and_then(|s| s.p50), "median of the same";
    Number "slowdown.p99" = o.figures.slowdown.as_ref().and_then(|s| s.p99),
        "99th percentile of the same";
    Number "slowdown.max" = o.figures.slowdown.as_ref().and_then(|s| s.max), "maximum of the same";
    Text "steady.rule" = o.figures.steady.as_ref().map(|s| s.rule),
        "rule that gave the steady state: `mser_5` or `measure`";
    Time "steady.from_ns" = o.figures.steady.as_ref().map(|s| s.from_ns),
        "start of the steady state; null if there is none";
    Time "steady.to_ns" = o.figures.steady.as_ref().map(|s| s.to_ns), "end of the steady state";
    Whole "steady.flows" = o.figures.steady.as_ref().map(|s| s.flows as u64),
        "flows without an end, and those with an offered load";
    Number "steady.throughput_bps" = o.figures.steady.as_ref().map(|s| s.throughput_bps),
        "sum of their mean payload rates in the steady state, without headers";
    Number "steady.fairness" = o.figures.steady.as_ref().and_then(|s| s.fairness),
        "Jain's index of the flows without an end that are not victims";
    Number "steady.queue_mean_bytes" = o.figures.steady.as_ref().and_then(|s| s.queue_mean_bytes),
        "mean of the bytes in the buffers of all switches";
};

/// Figures of the lines at one distance from a destination. The first `*` of a name stands for the distance, the second
/// for `hosts` or `switches`.
pub(super) const HOPS: &[Column<HopOutcome>] = &columns! { hop =>
    Whole "hops.*.*.lines" = hop.lines as u64,
        "lines *n* lines before the destination, at hosts or switches";
    Whole "hops.*.*.pauses" = hop.pauses, "pauses of these lines";
    Time "hops.*.*.paused_ns" = hop.paused_ns,
        "sum of the pause times of their priorities; with PAUSE, of the lines";
    Time "hops.*.*.longest_ns" = hop.longest_ns, "longest uninterrupted pause of a priority of them";
};

/// Returns the fields of every row, in their order. The values of axes follow `variant`, under the axes' paths.
pub fn fields() -> impl Iterator<Item = Field<'static>> {
    let hops = HOPS.iter().map(|column| column.field);
    let figures = FIGURES.iter().map(|column| column.field).chain(hops);
    HEAD.iter().map(|c| c.field).chain(figures).chain(TAIL.iter().map(|c| c.field))
}

/// Returns the field of a name, such as `hops.2.hosts.pauses`.
#[must_use]
pub fn field(name: &str) -> Option<Field<'static>> {
    let parts = || name.split('.');
    fields().find(|field| {
        let own = || field.name.split('.');
        own().count() == parts().count() && own().zip(parts()).all(|(a, b)| a == "*" || a == b)
    })
}

/// True for a field that is neither an axis nor a figure.
pub(super) fn is_fixed(name: &str) -> bool {
    HEAD.iter().chain(TAIL).any(|column| column.field.name == name)
}

/// True for a number of the results: its first part is not the name of an axis, which is a field of a lab.
pub(super) fn is_figure(name: &str) -> bool {
    // The first part decides, as `hops.2.hosts.pauses` has as many names as there are distances.
    let first = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    !is_fixed(name) && fields().any(|field| first(field.name) == first(name))
}

/// Returns the received bits of all flows over the time of the run, in bit/s.
pub(crate) fn rate(outcome: &Outcome) -> Option<f64> {
    let bytes: u64 = outcome.flows.iter().map(|flow| flow.rx_bytes).sum();
    let seconds = outcome.elapsed_ns.as_secs_f64();
    (seconds > 0.0 && !outcome.flows.is_empty()).then(|| bytes as f64 * 8.0 / seconds)
}

/// Returns the largest of the flows' 99th percentiles of frame latency, in ns.
pub(crate) fn latency(outcome: &Outcome) -> Option<f64> {
    let flows = outcome.flows.iter().filter_map(|flow| flow.latency_ns);
    flows.map(|latency| latency.p99.as_nanos_f64()).max_by(f64::total_cmp)
}

fn headroom_peak(outcome: &Outcome) -> Option<u64> {
    let ports = outcome.switches().flat_map(|switch| &switch.ports);
    let priorities = ports.flat_map(|port| &port.summary.port.counters.priorities);
    priorities.map(|priority| priority.headroom_peak_bytes).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SLUICE_BLESS=1` writes the table into the page.
    #[test]
    fn the_manual_has_every_field_with_its_unit_and_no_other() {
        const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/src/studies.md");
        let page = std::fs::read_to_string(PAGE).unwrap();
        let head = "| field | unit | meaning |\n| --- | --- | --- |\n";
        let (_, found) = page.split_once(head).expect("the page has the table");
        let line = |f: Field<'_>| format!("| `{}` | {} | {} |", f.name, f.unit, f.meaning);
        let wanted: Vec<String> = fields().map(line).collect();
        let found: Vec<&str> = found.lines().take_while(|line| line.starts_with("| ")).collect();
        if std::env::var_os("SLUICE_BLESS").is_some() {
            std::fs::write(PAGE, page.replacen(&found.join("\n"), &wanted.join("\n"), 1)).unwrap();
            return;
        }
        assert_eq!(found, wanted, "SLUICE_BLESS=1 writes the table of docs/src/studies.md");
    }

    #[test]
    fn figures_are_told_from_axes_by_the_first_part_of_their_names() {
        for figure in ["fct.p99_ns", "hops.3.hosts.pauses", "marks", "fct.new"] {
            assert!(is_figure(figure), "{figure}");
        }
        let schema = crate::lab_schema();
        let lab = schema["properties"].as_object().unwrap().keys().map(String::as_str);
        let shorts = crate::study::Short::ALL.map(crate::study::Short::name);
        for axis in lab.chain(shorts).chain(["points", "*", "**"]) {
            assert!(!is_figure(axis), "{axis} is an axis, so no figure may begin with it");
        }
        assert_eq!(field("hops.2.switches.paused_ns").map(|field| field.unit), Some("ns"));
        assert_eq!(field("hops.2.paused_ns"), None);
    }
}
