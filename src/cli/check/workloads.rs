//! Workloads of a resolved lab, as tables and JSON show them.

use super::json::{Json, object, some};
use crate::lab::{Collective, OfferedLoad, Workload};
use ::text::Align::{Left, Right};
use ::text::{Table, count, scaled};

/// Returns one workload. Loads are fractions of a link.
pub fn json(of: &Workload) -> Json {
    let load = of.load.map(|load| {
        object! {
            of: load.of.name(),
            configured: load.share,
            offered: load.drawn,
            links: load.links,
            span_ns: load.span,
        }
    });
    let collective = of.collective.map(|of| {
        object! {
            pattern: of.pattern,
            hosts: of.hosts,
            bytes: of.bytes,
            chunk_bytes: of.chunk,
            steps: of.steps,
        }
    });
    object! {
        name: of.name.clone(),
        flows: of.flows.len(),
        sizes: of.sizes.clone(),
        mean_bytes: of.mean_bytes,
        messages: of.messages,
        bytes: of.bytes,
        load: some(load),
        collective: some(collective),
    }
}

/// Returns the table of workloads; `None` without any.
pub fn table(all: &[Workload]) -> Option<Table> {
    let mut table = Table::new([
        ("workload", Left),
        ("sizes", Left),
        ("mean", Right),
        ("messages", Right),
        ("all", Right),
        ("load", Left),
    ]);
    for of in all {
        table.row([
            of.name.clone(),
            of.sizes.clone(),
            scaled(of.mean_bytes, "B"),
            count(of.messages),
            scaled(of.bytes as f64, "B"),
            load(of),
        ]);
    }
    (!table.is_empty()).then_some(table)
}

fn load(of: &Workload) -> String {
    match (of.load, of.collective) {
        (Some(OfferedLoad { share, of, drawn, .. }), _) => {
            let percent = |part: f64| 100.0 * part;
            let side = of.name();
            format!("{} % of {side} (drawn {:.1} %)", percent(share), percent(drawn))
        }
        (None, Some(Collective { pattern, hosts, steps, .. })) => {
            format!("{pattern} of {hosts}, {steps} steps")
        }
        (None, None) => "-".into(),
    }
}
