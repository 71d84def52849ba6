//! Text tables of the results of a lab, of its workloads (completion, and slowdowns by size), and of checks.

use super::protocols::agents_text;
use super::sheet::Medium;
use super::tester::tables as tester_tables;
use ::text::{Column, Table, columns, count, scaled};
use ground::printable;
use ground::time::Duration;
use ground::verdict::Verdict;
use lab::{Outcome, WorkloadOutcome};

/// Prints all results.
#[must_use]
pub fn lab_text(outcome: &Outcome) -> String {
    let medium = Medium::Terminal;
    let mut out = printable::lines([scene(outcome)]);
    // Tables without rows are left out, so a lab shows only what it has.
    let sheets = [
        medium.flows(outcome),
        medium.transports(outcome),
        medium.ports(outcome.switches()),
        medium.hosts(outcome),
        medium.drops(&outcome.drops),
    ];
    for table in sheets.map(|sheet| sheet.table()) {
        if !table.is_empty() {
            out += &format!("\n{table}");
        }
    }
    if let Some(table) = slowdowns(outcome) {
        out += &format!("\n{table}");
    }
    out += &found_out(outcome);
    if let Some(tester) = &outcome.tester {
        for (_, sheet) in tester_tables(tester) {
            out += &format!("\n{}", sheet.table());
        }
    }
    if !outcome.shortfalls.is_empty() {
        out += &format!("\nNot available in the {} world:\n", outcome.world);
        out += &printable::lines(outcome.shortfalls.iter().map(|line| format!("- {line}")));
    }
    out += "\n";
    out += &printable::lines(remarks(outcome));
    let checks = outcome.checks.iter();
    out + "\n" + &check_lines(checks.map(|c| (c.verdict, c.name.as_str(), c.detail.as_str())))
}

/// Prints the discovery results of the switches' ports and their problems.
pub(super) fn found_out(o: &Outcome) -> String {
    let ports = || o.switches().flat_map(|s| s.ports.iter().map(move |p| (&s.name, p)));
    let named: Vec<_> = ports()
        .filter_map(|(switch, p)| {
            Some((format!("{switch} {}", p.summary.port.name), p.summary.agents.as_ref()?))
        })
        .collect();
    let mut out = agents_text(named.iter().map(|(name, agents)| (name.as_str(), *agents)));
    for (switch, p) in ports() {
        // Of all steps only those that need a reader's attention; the page has the others.
        for step in p.steps.iter().filter(|step| step.trouble) {
            let name = &p.summary.port.name;
            let line = format!("{switch} {name} at {}: {}", step.at_ns, step.what);
            out += &printable::lines([line]);
        }
    }
    out
}

/// Prints the lab and its world.
fn scene(o: &Outcome) -> String {
    // An interrupted run has frames on their way, too, but that is not the reason.
    let state = match (o.interrupted, o.done) {
        (true, _) => "interrupted",
        (false, true) => "all done",
        (false, false) => "frames still on their way",
    };
    let shuffle = o.shuffle.map_or(String::new(), |s| format!(", shuffled by {s}"));
    format!(
        "{} in the {} world: {} ({state}), seed {}{shuffle}{}",
        o.lab,
        o.world,
        o.elapsed_ns,
        o.seed,
        o.trace_hash.as_ref().map_or(String::new(), |hash| format!(", trace {hash}"))
    )
}

/// Prints the results that fit one line each.
fn remarks(o: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    let p = &o.pauses;
    lines.push(match p.first_ns {
        None => "pauses: none".into(),
        Some(first) => format!(
            "pauses: the first at {first}, at a host at {}; {} XOFF, {} XON, {} obeyed by hosts \
             for {} in all; the longest of a host or a switch {}",
            optional(p.first_received_ns),
            count(p.xoffs),
            count(p.xons),
            count(p.received_xoffs),
            p.paused_ns,
            p.longest_ns
        ),
    });
    lines.push(match o.first_mark_ns {
        None => "marks: none".into(),
        Some(first) => format!("marks: {}, the first at {first}", count(o.marks)),
    });
    lines.push(format!("lossless frames dropped: {}", count(o.lossless_drops)));
    if let Some(drop) = &o.first_drop {
        let (node, port, reason) = (&drop.node, &drop.port, drop.reason);
        lines.push(format!("first drop: at {} by {node} port {port}, {reason}", drop.at_ns));
    }
    let l = o.line_losses;
    // Pauses, marks and drops are always reported, even if there were none; the rest only if it occurred.
    if l.damaged + l.lost + l.link_down > 0 {
        lines.push(format!(
            "lost on links: {} damaged, {} lost, {} on links that were down",
            count(l.damaged),
            count(l.lost),
            count(l.link_down)
        ));
    }
    if l.secy > 0 {
        lines.push(format!("lost to MACsec: {}", count(l.secy)));
    }
    if o.storms.detected > 0 {
        let (found, over) = (count(o.storms.detected), count(o.storms.restored));
        lines.push(format!("storms: {found} found, {over} over"));
    }
    lines.extend(workload_lines(o));
    lines.extend(o.faults.iter().map(|f| format!("fault at {}: {}", f.at_ns, f.what)));
    lines.extend(
        o.deadlocks.iter().map(|d| format!("deadlock at {}: {}", d.at.since_start(), d.name)),
    );
    lines
}

fn optional(time: Option<Duration>) -> String {
    time.map_or_else(|| "-".into(), |t| t.to_string())
}

/// Returns a line for each workload, and one for the steady state of a lab with workloads.
fn workload_lines(o: &Outcome) -> Vec<String> {
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
        let (percent, of) = (100.0 * load.drawn, load.of.name());
        let configured = 100.0 * load.share;
        line += &format!("; offered {percent:.1} % of each {of}'s link, {configured} % configured");
    }
    if let Some(of) = of.collective {
        let took = of.completion_ns.map_or_else(
            || "not complete at the end".into(),
            |took| format!("complete after {took}"),
        );
        line += &format!(
            "; {} of {} hosts in {} steps, {took}",
            of.plan.pattern, of.plan.hosts, of.plan.steps
        );
    }
    line
}

/// Returns the table of slowdowns of a lab with workloads.
fn slowdowns(o: &Outcome) -> Option<Table> {
    let found = o.figures.slowdown.as_ref().filter(|_| !o.workloads.is_empty())?;
    type Row = (String, u64, u64, [Option<f64>; 3]);
    let columns: [Column<Row>; 6] = columns! { (up_to, messages, unfinished, [p50, p99, max]) =>
        Text ["messages up to"] = &**up_to;
        Whole ["complete"] = *messages;
        Whole ["unfinished"] = *unfinished;
        Printed ["slowdown p50"] = p50.map(|n| format!("{n:.2}"));
        Printed ["p99"] = p99.map(|n| format!("{n:.2}"));
        Printed ["max"] = max.map(|n| format!("{n:.2}"));
    };
    let rows = found.bins.iter().map(|bin| {
        // The last bin has no upper bound.
        let up_to = bin.up_to_bytes.map_or_else(|| "more".into(), |n| scaled(n as f64, "B"));
        (up_to, bin.messages, bin.unfinished, [bin.p50, bin.p99, bin.max])
    });
    let all = ("all".into(), found.messages, found.unfinished, [found.p50, found.p99, found.max]);
    Some(Table::of(&rows.chain([all]).collect::<Vec<Row>>(), &columns))
}

/// Prints a line per check with verdict, name and details, and a summary below.
pub(super) fn check_lines<'a>(
    checks: impl Iterator<Item = (Verdict, &'a str, &'a str)> + Clone,
) -> String {
    let named = checks.clone().map(|(verdict, name, detail)| {
        // Escaped before the width is measured, so that the columns line up.
        (verdict, printable::line(name), detail)
    });
    let label = checks.clone().map(|(verdict, ..)| verdict.label().len()).max().unwrap_or(0);
    let width = named.clone().map(|(_, name, _)| name.chars().count()).max().unwrap_or(0);
    let lines = named.map(|(verdict, name, detail)| {
        format!("{:<label$}  {name:<width$}  {detail}", verdict.label())
    });
    printable::lines(lines) + &Verdict::summary(checks.map(|(verdict, ..)| verdict)) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_and_no_detail_makes_a_line() {
        let all = [(Verdict::Pass, "a\nPASS  b", "c\u{1b}[2J"), (Verdict::Fail, "d", "e\nPASS")];
        assert_eq!(
            check_lines(all.into_iter()),
            "PASS  a\\nPASS  b  c\\u{1b}[2J\nFAIL  d           e\\nPASS\n\
             FAIL: 1 of 2 checks\n"
        );
    }
}
