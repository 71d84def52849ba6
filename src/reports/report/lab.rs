//! Text tables of the results of a lab.

use super::agents::agents_text;
use super::checks::check_lines;
use super::sheet::Medium;
use super::tester::tables as tester_tables;
use super::workloads::{slowdowns, workload_lines};
use ::text::count;
use ground::printable;
use ground::time::Duration;
use lab::Outcome;

/// Prints all results.
#[must_use]
pub fn lab_text(outcome: &Outcome) -> String {
    let medium = Medium::Terminal;
    let mut out = printable::lines([scene(outcome)]);
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
