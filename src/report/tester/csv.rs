//! A report as comma-separated values (RFC 4180), one file per kind of row.

use core::fmt::Write;

use crate::described::{Field, Number};
use crate::tester::report::{Flow, Latency, Pacing, Port, Priority, Report, Stamps};

/// Returns a row per flow.
#[must_use]
pub fn flows_csv(report: &Report) -> String {
    let mut head = names(&["name", "port_tx", "port_rx", "transmit"], Flow::fields());
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
        cells(&mut row, Flow::fields(), Some(flow));
        cells(&mut row, Pacing::fields(), flow.pacing.as_ref());
        cells(&mut row, Latency::fields(), flow.latency.as_ref());
        let Stamps { source, resolution_ns, uncertainty_ns } = &report.stamps;
        row.extend([(*source).to_owned(), resolution_ns.to_string(), uncertainty_ns.to_string()]);
        row
    });
    written(&head, rows)
}

/// Returns a row per port.
#[must_use]
pub fn ports_csv(report: &Report) -> String {
    let head = names(&["name", "location"], Port::fields());
    let rows = report.ports.iter().map(|port| {
        let mut row = vec![port.name.clone(), port.location.clone()];
        cells(&mut row, Port::fields(), Some(port));
        row
    });
    written(&head, rows)
}

/// Returns a row per priority of each port.
#[must_use]
pub fn priorities_csv(report: &Report) -> String {
    let head = names(&["port", "priority"], Priority::fields());
    let rows = report.ports.iter().flat_map(|port| {
        port.priorities.iter().map(|priority| {
            let mut row = vec![port.name.clone(), priority.priority.to_string()];
            cells(&mut row, Priority::fields(), Some(priority));
            row
        })
    });
    written(&head, rows)
}

/// Returns the names of columns: `first`, then those of the fields.
fn names<T: 'static>(
    first: &[&str],
    fields: impl Iterator<Item = &'static Field<T>>,
) -> Vec<String> {
    first.iter().copied().chain(fields.map(|field| field.name)).map(str::to_owned).collect()
}

/// Appends the values of the fields; empty cells for unknown values.
fn cells<T: 'static>(
    row: &mut Vec<String>,
    fields: impl Iterator<Item = &'static Field<T>>,
    of: Option<&T>,
) {
    row.extend(fields.map(|field| match of.and_then(field.value) {
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
