//! Results of RFC 2889 as text.

use text::table::Table;

use super::{NONE, ending, head, irregular, rate, titled};
use crate::rfc2889::Results;

/// Returns the tables of RFC 2889's results.
#[must_use]
pub fn rfc2889(results: &Results) -> String {
    let mut sections = Vec::new();
    if !results.mesh.is_empty() {
        let title = "Throughput (% of the line), forwarding rates (frames/s) (RFC 2889, 5.1 to 5.3).\n\
                     FRMOL: at the maximum offered load; MFR: the maximum of all loads";
        sections.push(titled(title, mesh(results)));
    }
    if !results.congestion.is_empty() {
        sections.push(titled("Congestion control (5.5), loss in %", congestion(results)));
    }
    ending(&mut sections, (&results.notes, results.ended.as_deref()), results.trials);
    sections.join("\n")
}

fn mesh(results: &Results) -> Table {
    let numbers = ["size", "throughput", "offered", "FRMOL", "MFR"];
    let mut table = head(&["pattern"], &numbers, true);
    for row in &results.mesh {
        table.row([
            row.pattern.clone(),
            row.size.to_string(),
            row.throughput_percent.map_or(NONE.to_owned(), |n| format!("{n:.3}")),
            rate(row.frmol.offered),
            rate(row.frmol.forwarded),
            rate(row.mfr.forwarded),
            irregular(row.irregular),
        ]);
    }
    table
}

fn congestion(results: &Results) -> Table {
    let mut table = head(&[], &["size", "uncongested", "congested"], true);
    for row in &results.congestion {
        let remark = match (row.head_of_line_blocking, row.back_pressure) {
            (true, true) => "head-of-line blocking, back-pressure",
            (true, false) => "head-of-line blocking",
            (false, true) => "back-pressure",
            (false, false) => "",
        };
        table.row([
            row.size.to_string(),
            format!("{:.4}", row.uncongested_loss_percent),
            format!("{:.4}", row.congested_loss_percent),
            remark.to_owned(),
        ]);
    }
    table
}
