//! Results of RFC 7640 as text.

use text::{Table, count};

use super::{NONE, ending, head, micros, titled};
use crate::rfc7640::{HuntRow, Tables};
use crate::run::Run;

/// Returns the tables of RFC 7640's results.
#[must_use]
pub fn rfc7640(results: &Run<Tables>) -> String {
    let tables = &results.tables;
    let mut sections = Vec::new();
    if !tables.burst_hunt.is_empty() {
        let title = "Burst hunt (RFC 7640): longest burst of one queue without loss and pause;\n\
                     latency and variation (PDV, 99 %) in us";
        sections.push(titled(title, hunt(&tables.burst_hunt)));
    }
    if !tables.queues.is_empty() {
        let title = "All queues at once: longest burst of each";
        sections.push(titled(title, hunt(&tables.queues)));
    }
    ending(&mut sections, results);
    sections.join("\n")
}

fn hunt(rows: &[HuntRow]) -> Table {
    let numbers = ["size", "bytes", "target", "lost above", "mean", "PDV"];
    let mut table = head(&["priority"], &numbers, true);
    for row in rows {
        let remark = match (row.at_limit, row.target_accepted) {
            (true, _) => "all that were tried",
            (false, false) => "below target",
            (false, true) => "",
        };
        table.row([
            row.priority.to_string(),
            row.size.to_string(),
            count(row.bytes),
            count(row.target),
            row.lost_above.map_or(NONE.to_owned(), count),
            row.latency.map_or(NONE.to_owned(), |of| micros(of.mean_ns)),
            row.pdv_p99_ns.map_or(NONE.to_owned(), micros),
            remark.to_owned(),
        ]);
    }
    table
}
