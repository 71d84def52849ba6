//! A report as comma-separated values (RFC 4180), one file per kind of row.

use core::fmt::Write;

use super::fields::{FLOW, Field, LATENCY, Number, PACING, PORT, PRIORITY};
use crate::tester::report::{Report, Stamps};

/// Returns a row per flow.
#[must_use]
pub fn flows_csv(report: &Report) -> String {
    let mut head = vec!["name", "port_tx", "port_rx", "transmit"];
    head.extend(FLOW.iter().map(|f| f.name));
    head.extend(PACING.iter().map(|f| f.name));
    head.extend(LATENCY.iter().map(|f| f.name));
    head.extend(["stamps_source", "stamps_resolution_ns", "stamps_uncertainty_ns"]);
    let rows = report.flows.iter().map(|flow| {
        let mut row = vec![
            flow.name.clone(),
            flow.port_tx.clone(),
            flow.port_rx.join(" "),
            flow.transmit.to_owned(),
        ];
        cells(&mut row, FLOW, Some(flow));
        cells(&mut row, PACING, flow.pacing.as_ref());
        cells(&mut row, LATENCY, flow.latency.as_ref());
        let Stamps { source, resolution_ns, uncertainty_ns } = &report.stamps;
        row.extend([(*source).to_owned(), resolution_ns.to_string(), uncertainty_ns.to_string()]);
        row
    });
    written(&head, rows)
}

/// Returns a row per port.
#[must_use]
pub fn ports_csv(report: &Report) -> String {
    let mut head = vec!["name", "location"];
    head.extend(PORT.iter().map(|f| f.name));
    let rows = report.ports.iter().map(|port| {
        let mut row = vec![port.name.clone(), port.location.clone()];
        cells(&mut row, PORT, Some(port));
        row
    });
    written(&head, rows)
}

/// Returns a row per priority of each port.
#[must_use]
pub fn priorities_csv(report: &Report) -> String {
    let mut head = vec!["port", "priority"];
    head.extend(PRIORITY.iter().map(|f| f.name));
    let rows = report.ports.iter().flat_map(|port| {
        port.priorities.iter().map(|priority| {
            let mut row = vec![port.name.clone(), priority.priority.to_string()];
            cells(&mut row, PRIORITY, Some(priority));
            row
        })
    });
    written(&head, rows)
}

/// Appends the values of the fields; empty cells for unknown values.
fn cells<T>(row: &mut Vec<String>, fields: &[Field<T>], of: Option<&T>) {
    row.extend(fields.iter().map(|field| match of.and_then(field.value) {
        None => String::new(),
        Some(Number::Count(n)) => n.to_string(),
        Some(Number::Real(n)) => n.to_string(),
    }));
}

fn written(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
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
