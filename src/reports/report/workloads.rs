//! Text of workloads: their completion, and slowdowns by size.

use ::text::Align::{Left, Right};
use ::text::{Table, count, scaled};
use lab::{Outcome, WorkloadOutcome};

/// Returns a line for each workload, and one for the steady state of a lab with workloads.
pub(super) fn workload_lines(o: &Outcome) -> Vec<String> {
    let mut lines: Vec<String> = o.workloads.iter().map(workload).collect();
    if let (Some(steady), false) = (&o.figures.steady, lines.is_empty()) {
        let queue = steady.queue_mean_bytes.map_or_else(|| "-".into(), |n| scaled(n, "B"));
        lines.push(format!(
            "steady state from {} to {}: {} of payload arrive (flows with an offered load or \
             without an end), {queue} in buffers on average",
            steady.from_ns,
            steady.to_ns,
            scaled(steady.throughput_bps, "b/s")
        ));
    }
    lines
}

fn workload(of: &WorkloadOutcome) -> String {
    let mut line = format!(
        "workload {}: {} messages of {}, {} in all",
        of.name,
        count(of.messages),
        of.sizes,
        scaled(of.bytes as f64, "B")
    );
    if of.completed > 0 {
        line += &format!(", {} complete", count(of.completed));
    }
    if let Some(load) = of.load {
        let (percent, of) = (100.0 * load.offered, load.of);
        let configured = 100.0 * load.configured;
        line += &format!("; offered {percent:.1} % of each {of}'s link, {configured} % configured");
    }
    if let Some(of) = of.collective {
        let took = of.completion_ns.map_or_else(
            || "not complete at the end".into(),
            |took| format!("complete after {took}"),
        );
        line += &format!("; {} of {} hosts in {} steps, {took}", of.pattern, of.hosts, of.steps);
    }
    line
}

/// Returns the table of slowdowns of a lab with workloads.
pub(super) fn slowdowns(o: &Outcome) -> Option<Table> {
    let found = o.figures.slowdown.as_ref().filter(|_| !o.workloads.is_empty())?;
    let mut table = Table::new([
        ("messages up to", Left),
        ("complete", Right),
        ("unfinished", Right),
        ("slowdown p50", Right),
        ("p99", Right),
        ("max", Right),
    ]);
    let number = |n: Option<f64>| n.map_or_else(|| "-".into(), |n| format!("{n:.2}"));
    for bin in &found.bins {
        let up_to = bin.up_to_bytes.map_or_else(|| "more".into(), |n| scaled(n as f64, "B"));
        table.row([
            up_to,
            count(bin.messages),
            count(bin.unfinished),
            number(bin.p50),
            number(bin.p99),
            number(bin.max),
        ]);
    }
    let [p50, p99, max] = [found.p50, found.p99, found.max].map(number);
    table.row(["all".into(), count(found.messages), count(found.unfinished), p50, p99, max]);
    Some(table)
}
