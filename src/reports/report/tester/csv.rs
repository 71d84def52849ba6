//! A report as comma-separated values (RFC 4180), one file per kind of row.

use core::fmt::Write;

use ground::described::{Described, Number};
use tester::report::{Flow, Latency, Pacing, Port, Priority, Report, Stamps};

/// Returns a row per flow.
#[must_use]
pub fn flows_csv(report: &Report) -> String {
    let mut head = names::<Flow>(&["name", "port_tx", "port_rx", "transmit"]);
    head.extend(Pacing::fields().map(|f| f.name.to_owned()));
    head.extend(Latency::fields().map(|f| format!("latency_{}", f.name)));
    head.extend(["source", "resolution_ns", "uncertainty_ns"].map(|name| format!("stamps_{name}")));
    let rows = report.flows.iter().map(|flow| {
        let mut row = vec![
            flow.name.clone(),
            flow.port_tx.clone(),
            flow.port_rx.join(" "),
            flow.transmit.to_owned(),
        ];
        cells(&mut row, Some(flow));
        cells(&mut row, flow.pacing.as_ref());
        cells(&mut row, flow.latency.as_ref());
        let Stamps { source, resolution_ns, uncertainty_ns } = &report.stamps;
        row.extend([(*source).to_owned(), resolution_ns.to_string(), uncertainty_ns.to_string()]);
        row
    });
    written(&head, rows)
}

/// Returns a row per port.
#[must_use]
pub fn ports_csv(report: &Report) -> String {
    let head = names::<Port>(&["name", "location"]);
    let rows = report.ports.iter().map(|port| {
        let mut row = vec![port.name.clone(), port.location.clone()];
        cells(&mut row, Some(port));
        row
    });
    written(&head, rows)
}

/// Returns a row per priority of each port.
#[must_use]
pub fn priorities_csv(report: &Report) -> String {
    let head = names::<Priority>(&["port", "priority"]);
    let rows = report.ports.iter().flat_map(|port| {
        port.priorities.iter().map(|priority| {
            let mut row = vec![port.name.clone(), priority.priority.to_string()];
            cells(&mut row, Some(priority));
            row
        })
    });
    written(&head, rows)
}

/// Returns the names of columns: `first`, then those of the numbers of a `T`.
fn names<T: Described>(first: &[&str]) -> Vec<String> {
    first.iter().copied().chain(T::fields().map(|field| field.name)).map(str::to_owned).collect()
}

/// Appends the numbers of a `T`; empty cells for unknown ones.
fn cells<T: Described>(row: &mut Vec<String>, of: Option<&T>) {
    row.extend(T::fields().map(|field| match of.and_then(field.value) {
        None => String::new(),
        Some(Number::Count(n)) => n.to_string(),
        Some(Number::Real(n)) => n.to_string(),
    }));
}

fn written(head: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut out = head.join(",") + "\r\n";
    for row in rows {
        assert_eq!(row.len(), head.len(), "a row has a cell for every column");
        for (n, cell) in row.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            let _ = write!(out, "{comma}{}", quoted(cell));
        }
        out += "\r\n";
    }
    out
}

/// Returns a cell, quoted if it contains a special character (RFC 4180 section 2).
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
