//! Tables of the report. They say what [`lab_text`](super::super::lab_text) says, in columns that
//! a phone can scroll.

use maud::{Markup, html};

use super::scale::written;
use crate::lab::{FlowOutcome, Nanos, NodeOutcome, Outcome, SwitchOutcome};
use crate::report::{count, scaled};
use crate::stats::DropReason;
use crate::time::Duration;

/// Rows and nodes that are shown at most; JSON has them all.
const MOST: usize = 64;

/// A table with this head. Columns whose name begins with `#` are numbers, with `~` sentences.
fn table(head: &[&str], rows: &[Vec<String>]) -> Markup {
    let class = |name: &&str| match name.chars().next() {
        Some('#') => Some("n"),
        Some('~') => Some("wide"),
        _ => None,
    };
    let classes: Vec<_> = head.iter().map(class).collect();
    html! {
        div.scroll tabindex="0" role="region" aria-label="table" {
            table {
                thead { tr {
                    @for (name, class) in head.iter().zip(&classes) {
                        th class=[*class] scope="col" { (name.trim_start_matches(['#', '~'])) }
                    }
                } }
                tbody {
                    @for row in rows.iter().take(MOST) {
                        tr {
                            @for (cell, class) in row.iter().zip(&classes) {
                                td class=[*class] { (cell) }
                            }
                        }
                    }
                }
            }
        }
        @if rows.len() > MOST {
            p.small.soft { "and " (rows.len() - MOST) " more, in the JSON" }
        }
    }
}

/// A verdict that needs no colour to be read.
pub(super) fn word(good: bool) -> Markup {
    html! {
        @if good { span.word.good { "✓ good" } } @else { span.word.bad { "✗ bad" } }
    }
}

fn optional(time: Option<Nanos>) -> String {
    time.map_or_else(|| "–".into(), written)
}

fn span(ns: u64) -> String {
    if ns == 0 { "–".into() } else { written(Nanos(Duration::from_nanos(ns))) }
}

/// The flows.
pub(super) fn flows(o: &Outcome) -> Markup {
    let row = |f: &FlowOutcome| {
        vec![
            f.name.clone(),
            format!("{} → {}", f.from, f.to),
            f.priority.to_string(),
            count(f.tx_frames),
            count(f.rx_frames),
            count(f.loss_frames),
            count(f.ce_frames),
            scaled(f.rx_bps, "b/s"),
            scaled(f.payload_bps, "b/s"),
            written(f.latency_ns.min),
            written(f.latency_ns.p50),
            written(f.latency_ns.p99),
            written(f.latency_ns.p999),
            written(f.latency_ns.max),
            optional(f.fct_ns),
        ]
    };
    let head = [
        "flow",
        "way",
        "#prio",
        "#sent",
        "#arrived",
        "#lost",
        "#CE",
        "#rate",
        "#payload",
        "#min",
        "#p50",
        "#p99",
        "#p99.9",
        "#max",
        "#completed in",
    ];
    table(&head, &o.flows.iter().map(row).collect::<Vec<_>>())
}

/// What the ends of answered flows said to each other.
pub(super) fn transports(o: &Outcome) -> Option<Markup> {
    let row = |f: &FlowOutcome| {
        let t = f.transport?;
        Some(vec![
            f.name.clone(),
            t.kind.into(),
            count(t.delivered_bytes),
            count(t.retransmitted_frames),
            count(t.timeouts),
            count(t.acks_received),
            count(t.naks_received),
            count(t.cnps_received),
            scaled(t.rate_bps as f64, "b/s"),
            count(t.messages),
            optional(t.fct_min_ns),
            optional(t.fct_mean_ns),
            optional(t.fct_max_ns),
        ])
    };
    let head = [
        "flow",
        "kind",
        "#delivered bytes",
        "#sent again",
        "#timeouts",
        "#ACKs",
        "#NAKs",
        "#CNPs",
        "#rate at the end",
        "#messages",
        "#shortest",
        "#mean",
        "#longest",
    ];
    let rows: Vec<_> = o.flows.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| table(&head, &rows))
}

/// Every switch, folded where there are many, and all hosts.
pub(super) fn nodes(o: &Outcome) -> Markup {
    const OPEN_MAX: usize = 3;
    let switches: Vec<&SwitchOutcome> = o
        .nodes
        .iter()
        .filter_map(|node| match node {
            NodeOutcome::Switch(switch) => Some(switch),
            NodeOutcome::Host(_) => None,
        })
        .collect();
    html! {
        @for switch in switches.iter().take(MOST) {
            (one_switch(switch, switches.len() <= OPEN_MAX))
        }
        @if switches.len() > MOST {
            p.small.soft { "and " (switches.len() - MOST) " more switches, in the JSON" }
        }
        details open[o.nodes.len() - switches.len() <= 20] {
            summary { "hosts" }
            (hosts(o))
        }
    }
}

fn one_switch(s: &SwitchOutcome, open: bool) -> Markup {
    let mut rows = Vec::new();
    for port in &s.ports {
        for p in port.counters.priorities.iter().filter(|p| p.is_active()) {
            rows.push(vec![
                port.counters.name.clone(),
                port.peer.clone(),
                p.priority.to_string(),
                count(p.rx_frames),
                count(p.tx_frames),
                count(p.dropped_frames),
                count(p.pfc_tx_transitions),
                span(p.pfc_tx_paused_ns),
                count(p.pfc_rx_transitions),
                span(p.pfc_rx_paused_ns),
                count(p.buffer_peak_bytes),
                count(p.headroom_peak_bytes),
                count(p.queue_peak_bytes),
                count(p.ecn_marked),
            ]);
        }
    }
    let head = [
        "port",
        "to",
        "#prio",
        "#rx frames",
        "#tx frames",
        "#dropped",
        "#XOFF sent",
        "#pausing for",
        "#XOFF got",
        "#paused for",
        "#buffer peak B",
        "#headroom peak B",
        "#queue peak B",
        "#marked",
    ];
    html! {
        details open[open] {
            summary { "switch " (s.name) }
            p.small.soft {
                "shared pool peak " (count(s.shared_pool.peak_bytes)) " B, lossless frames lost "
                (count(s.lossless_lost_frames)) ", every frame accounted for: "
                (if s.balance.holds { "yes" } else { "NO" })
            }
            (table(&head, &rows))
        }
    }
}

/// A row for each host, and for each priority of it that was paused or that paused others.
fn hosts(o: &Outcome) -> Markup {
    let mut rows = Vec::new();
    for node in &o.nodes {
        let NodeOutcome::Host(host) = node else { continue };
        for port in &host.ports {
            let active = port.priorities.iter().filter(|p| p.pfc_rx_frames + p.pfc_tx_frames > 0);
            let pauses: Vec<_> = active.collect();
            let cells = |pauses: [String; 5]| {
                let head = [
                    host.name.clone(),
                    port.peer.clone(),
                    scaled(port.rate_bps as f64, "b/s"),
                    count(port.tx_frames),
                    count(port.rx_frames),
                ];
                head.into_iter().chain(pauses).collect::<Vec<_>>()
            };
            if pauses.is_empty() {
                rows.push(cells(["–"; 5].map(String::from)));
            }
            rows.extend(pauses.into_iter().map(|p| {
                cells([
                    p.priority.to_string(),
                    count(p.pfc_rx_frames),
                    count(p.pfc_rx_transitions),
                    written(p.pfc_rx_paused_ns),
                    count(p.pfc_tx_frames),
                ])
            }));
        }
    }
    let head = [
        "host",
        "to",
        "#link",
        "#tx frames",
        "#rx frames",
        "#prio",
        "#PFC frames got",
        "#XOFF obeyed",
        "#paused for",
        "#PFC frames sent",
    ];
    table(&head, &rows)
}

/// Drops by reason.
pub(super) fn drops(o: &Outcome) -> Option<Markup> {
    let row = |reason: &DropReason| {
        let n = o.drops.get(reason.name())?;
        Some(vec![reason.name().to_owned(), count(*n), reason.doc().trim().to_owned()])
    };
    let rows: Vec<_> = DropReason::ALL.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| table(&["dropped for", "#frames", "~meaning"], &rows))
}

/// What went wrong by plan, and what came of it.
pub(super) fn faults(o: &Outcome) -> Option<Markup> {
    let mut rows: Vec<_> =
        o.faults.iter().map(|f| vec![written(f.at_ns), f.what.clone()]).collect();
    rows.extend(
        o.deadlocks.iter().map(|d| vec![written(d.at_ns), format!("deadlock: {}", d.cycle)]),
    );
    (!rows.is_empty()).then(|| table(&["at", "~what"], &rows))
}
