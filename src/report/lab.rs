//! The results of a lab as tables.

use super::table::{Align::Left, Align::Right, Table, count, scaled};
use crate::lab::{
    CheckOutcome, FlowOutcome, HostOutcome, Nanos, NodeOutcome, Outcome, SwitchOutcome,
};
use crate::stats::DropReason;

/// Rows of a table that are shown at most; JSON has them all.
const ROWS_MAX: usize = 64;

/// The whole results.
#[must_use]
pub fn lab_text(outcome: &Outcome) -> String {
    let mut out = format!("{}\n\n{}", scene(outcome), flows(outcome));
    for table in [transports(outcome), ports(outcome), hosts(outcome), drops(outcome)] {
        if !table.is_empty() {
            out += &format!("\n{table}");
        }
    }
    if !outcome.shortfalls.is_empty() {
        out += &format!("\nWhat the {} world does not have of this lab:\n", outcome.world);
        outcome.shortfalls.iter().for_each(|line| out += &format!("- {line}\n"));
    }
    for line in remarks(outcome) {
        out += &format!("\n{line}");
    }
    out + "\n" + &checks(outcome)
}

/// What was run.
fn scene(o: &Outcome) -> String {
    let state = if o.done { "all done" } else { "frames still on their way" };
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

/// A table's rows, up to a bound, and a line that says how many were left out.
fn bounded<T, const N: usize>(table: &mut Table, items: &[T], row: impl Fn(&T) -> [String; N]) {
    for item in items.iter().take(ROWS_MAX) {
        table.row(row(item));
    }
    if items.len() > ROWS_MAX {
        let mut cells: [String; N] = core::array::from_fn(|_| String::new());
        cells[0] = format!("... and {} more, in the JSON", items.len() - ROWS_MAX);
        table.row(cells);
    }
}

fn flows(o: &Outcome) -> Table {
    let mut t = Table::new([
        ("flow", Left),
        ("from", Left),
        ("to", Left),
        ("prio", Right),
        ("sent", Right),
        ("arrived", Right),
        ("lost", Right),
        ("rate", Right),
        ("payload", Right),
        ("p50", Right),
        ("p99", Right),
        ("p99.9", Right),
        ("max", Right),
        ("completed", Right),
    ]);
    bounded(&mut t, &o.flows, |f: &FlowOutcome| {
        [
            f.name.clone(),
            f.from.clone(),
            f.to.clone(),
            f.priority.to_string(),
            count(f.tx_frames),
            count(f.rx_frames),
            count(f.loss_frames),
            scaled(f.rx_bps, "b/s"),
            scaled(f.payload_bps, "b/s"),
            f.latency_ns.p50.to_string(),
            f.latency_ns.p99.to_string(),
            f.latency_ns.p999.to_string(),
            f.latency_ns.max.to_string(),
            optional(f.fct_ns),
        ]
    });
    t
}

fn transports(o: &Outcome) -> Table {
    let mut t = Table::new([
        ("flow", Left),
        ("kind", Left),
        ("delivered", Right),
        ("again", Right),
        ("timeouts", Right),
        ("acks", Right),
        ("naks", Right),
        ("cnps", Right),
        ("rate now", Right),
        ("messages", Right),
        ("shortest", Right),
        ("longest", Right),
    ]);
    let answered: Vec<_> =
        o.flows.iter().filter_map(|f| f.transport.map(|t| (f.name.clone(), t))).collect();
    bounded(&mut t, &answered, |(name, t)| {
        [
            name.clone(),
            t.kind.into(),
            format!("{} B", count(t.delivered_bytes)),
            count(t.retransmitted_frames),
            count(t.timeouts),
            count(t.acks_received),
            count(t.naks_received),
            count(t.cnps_received),
            scaled(t.rate_bps as f64, "b/s"),
            count(t.messages),
            optional(t.fct_min_ns),
            optional(t.fct_max_ns),
        ]
    });
    t
}

/// The priorities of switch ports at which something was paused, dropped or marked.
fn ports(o: &Outcome) -> Table {
    let mut t = Table::new([
        ("switch", Left),
        ("port", Left),
        ("to", Left),
        ("prio", Right),
        ("rx frames", Right),
        ("tx frames", Right),
        ("dropped", Right),
        ("XOFF sent", Right),
        ("for", Right),
        ("XOFF got", Right),
        ("for", Right),
        ("buffer peak", Right),
        ("headroom peak", Right),
        ("queue peak", Right),
        ("marked", Right),
    ]);
    let mut rows = Vec::new();
    for switch in switches(o) {
        for port in &switch.ports {
            for p in port.counters.priorities.iter().filter(|p| p.is_active()) {
                rows.push([
                    switch.name.clone(),
                    port.counters.name.clone(),
                    port.peer.clone(),
                    p.priority.to_string(),
                    count(p.rx_frames),
                    count(p.tx_frames),
                    count(p.dropped_frames),
                    count(p.pfc_tx_transitions),
                    nonzero(p.pfc_tx_paused_ns),
                    count(p.pfc_rx_transitions),
                    nonzero(p.pfc_rx_paused_ns),
                    count(p.buffer_peak_bytes),
                    count(p.headroom_peak_bytes),
                    count(p.queue_peak_bytes),
                    count(p.ecn_marked),
                ]);
            }
        }
    }
    bounded(&mut t, &rows, Clone::clone);
    t
}

/// The priorities of hosts that were paused, or that sent pauses.
fn hosts(o: &Outcome) -> Table {
    let mut t = Table::new([
        ("host", Left),
        ("to", Left),
        ("prio", Right),
        ("XOFF obeyed", Right),
        ("for", Right),
        ("pauses sent", Right),
    ]);
    let mut rows = Vec::new();
    for host in host_outcomes(o) {
        for port in &host.ports {
            for p in port.priorities.iter().filter(|p| p.pfc_rx_transitions + p.pfc_tx_frames > 0) {
                rows.push([
                    host.name.clone(),
                    port.peer.clone(),
                    p.priority.to_string(),
                    count(p.pfc_rx_transitions),
                    p.pfc_rx_paused_ns.to_string(),
                    count(p.pfc_tx_frames),
                ]);
            }
        }
    }
    bounded(&mut t, &rows, Clone::clone);
    t
}

fn drops(o: &Outcome) -> Table {
    let mut t = Table::new([("dropped for", Left), ("frames", Right), ("meaning", Left)]);
    for reason in DropReason::ALL {
        if let Some(n) = o.drops.get(reason.name()) {
            t.row([reason.name().into(), count(*n), reason.doc().trim().into()]);
        }
    }
    t
}

/// What fits into a line each.
fn remarks(o: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    let p = &o.pauses;
    lines.push(match p.first_ns {
        None => "pauses: none".into(),
        Some(first) => format!(
            "pauses: the first at {first}, at a host at {}; {} XOFF, {} XON, {} obeyed by hosts \
             for {} in all, the longest {}",
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
    if o.storms.detected > 0 {
        let (found, over) = (count(o.storms.detected), count(o.storms.restored));
        lines.push(format!("storms: {found} found, {over} over"));
    }
    lines.extend(o.faults.iter().map(|f| format!("fault at {}: {}", f.at_ns, f.what)));
    lines.extend(o.deadlocks.iter().map(|d| format!("deadlock at {}: {}", d.at_ns, d.cycle)));
    lines
}

fn checks(o: &Outcome) -> String {
    let width = o.checks.iter().map(|c| c.name.chars().count()).max().unwrap_or(0);
    let line = |c: &CheckOutcome| {
        let verdict = if c.verdict.is_good() { "ok    " } else { "FAILED" };
        format!("{verdict}  {:<width$}  {}\n", c.name, c.detail)
    };
    let lines: String = o.checks.iter().map(line).collect();
    let bad = o.checks.iter().filter(|c| !c.verdict.is_good()).count();
    let whole = match (o.checks.len(), bad) {
        (0, _) => "nothing was asked of this run".into(),
        (1, 0) => "the check is good".into(),
        (n, 0) => format!("all {n} checks are good"),
        (n, bad) => format!("{bad} of {n} checks FAILED"),
    };
    format!("\n{lines}{}: {whole}\n", o.verdict.name())
}

fn switches(o: &Outcome) -> impl Iterator<Item = &SwitchOutcome> {
    o.nodes.iter().filter_map(|node| match node {
        NodeOutcome::Switch(switch) => Some(switch),
        NodeOutcome::Host(_) => None,
    })
}

fn host_outcomes(o: &Outcome) -> impl Iterator<Item = &HostOutcome> {
    o.nodes.iter().filter_map(|node| match node {
        NodeOutcome::Host(host) => Some(host),
        NodeOutcome::Switch(_) => None,
    })
}

fn optional(time: Option<Nanos>) -> String {
    time.map_or_else(|| "-".into(), |t| t.to_string())
}

fn nonzero(ns: u64) -> String {
    if ns == 0 { "-".into() } else { crate::time::Duration::from_nanos(ns).to_string() }
}
