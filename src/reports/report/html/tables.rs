//! Tables of the report, with the content of [`lab_text`](super::super::lab_text), in columns
//! that a phone can scroll.

use maud::{Markup, html};

use super::written;
use crate::sheet::{Kind, Medium, ROWS_MAX, Sheet};
use ::text::count;
use ground::verdict::Verdict;
use lab::{Outcome, SwitchOutcome};

pub(super) fn table(sheet: &Sheet) -> Markup {
    let class = |kind: Kind| match kind {
        Kind::Word => None,
        Kind::Number => Some("n"),
        Kind::Sentence => Some("wide"),
    };
    let classes: Vec<_> = sheet.head.iter().map(|(_, kind)| class(*kind)).collect();
    let (shown, more) = sheet.shown();
    html! {
        div.scroll tabindex="0" role="region" aria-label="table" {
            table {
                thead { tr {
                    @for ((name, _), class) in sheet.head.iter().zip(&classes) {
                        th class=[*class] scope="col" { (name) }
                    }
                } }
                tbody {
                    @for row in shown {
                        tr {
                            @for (cell, class) in row.iter().zip(&classes) {
                                td class=[*class] { (cell) }
                            }
                        }
                    }
                }
            }
        }
        @if more > 0 {
            p.small.soft { "and " (more) " more, in the JSON" }
        }
    }
}

/// Renders a table of the terminal.
pub(super) fn preformatted(text: &str) -> Markup {
    html! {
        div.scroll.text tabindex="0" role="region" aria-label="table" { pre.table { (text) } }
    }
}

/// Renders a verdict in words as well as in colour.
pub(super) fn verdict(verdict: Verdict) -> Markup {
    html! { span class={ "word " (verdict.name()) } { (verdict.label()) } }
}

/// Renders a table, unless it has no rows.
fn some(sheet: &Sheet) -> Option<Markup> {
    (!sheet.rows.is_empty()).then(|| table(sheet))
}

pub(super) fn flows(o: &Outcome) -> Markup {
    table(&Medium::Page.flows(o))
}

/// Renders the transport results of flows with acknowledgements.
pub(super) fn transports(o: &Outcome) -> Option<Markup> {
    some(&Medium::Page.transports(o))
}

/// Renders drops by reason.
pub(super) fn drops(o: &Outcome) -> Option<Markup> {
    some(&Medium::Page.drops(&o.drops))
}

/// Renders all switches, collapsed if there are many, and all hosts.
pub(super) fn nodes(o: &Outcome) -> Markup {
    const OPEN_MAX: usize = 3;
    let switches: Vec<_> = o.switches().collect();
    html! {
        @for switch in switches.iter().take(ROWS_MAX) {
            (one_switch(switch, switches.len() <= OPEN_MAX))
        }
        @if switches.len() > ROWS_MAX {
            p.small.soft { "and " (switches.len() - ROWS_MAX) " more switches, in the JSON" }
        }
        details open[o.nodes.len() - switches.len() <= 20] {
            summary { "hosts" }
            (table(&Medium::Page.hosts(o)))
        }
    }
}

fn one_switch(s: &SwitchOutcome, open: bool) -> Markup {
    html! {
        details open[open] {
            summary { "switch " (s.name) }
            p.small.soft {
                "shared pool peak " (count(s.shared_pool.peak_bytes)) " B, lossless frames lost "
                (count(s.lossless_lost_frames)) ", every frame accounted for: "
                (if s.balance.holds { "yes" } else { "NO" })
            }
            (table(&Medium::Page.ports([s].into_iter())))
        }
    }
}

/// Renders the injected faults and their effects.
pub(super) fn faults(o: &Outcome) -> Option<Markup> {
    let mut rows: Vec<_> =
        o.faults.iter().map(|f| vec![written(f.at_ns), f.what.clone()]).collect();
    rows.extend(
        o.deadlocks
            .iter()
            .map(|d| vec![written(d.at.since_start()), format!("deadlock: {}", d.name)]),
    );
    some(&Sheet { head: vec![("at", Kind::Word), ("what", Kind::Sentence)], rows })
}
