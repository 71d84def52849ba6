//! The tables of a lab's results, for both the terminal and the HTML page.
//!
//! Both media show the same names and numbers; columns for one of them only are marked.

use std::borrow::{Borrow, Cow};

use super::data::flow_columns;
use super::html::written;
use ::text::{Cell, Column, Field, Kind, Shown, Table, columns, scaled};
use contracts::stats::{DropReason, Drops, PriorityCounters};
use ground::time::Duration;
use host::PriorityPauses;
use lab::{HostOutcome, HostPort, Outcome, SwitchOutcome, SwitchPort, TransportOutcome};

/// Maximum number of printed rows of a table; JSON has all.
pub(super) const ROWS_MAX: usize = 64;

/// The medium of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Medium {
    /// Monospaced text, as short as possible.
    Terminal,
    /// A browser, which scrolls.
    Page,
}

/// A table without its layout.
#[derive(Debug)]
pub(super) struct Sheet {
    pub(super) head: Vec<(Cow<'static, str>, Kind)>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Sheet {
    /// Returns the printed rows, and the number of further rows.
    pub(super) fn shown(&self) -> (&[Vec<String>], usize) {
        let shown = &self.rows[..self.rows.len().min(ROWS_MAX)];
        (shown, self.rows.len() - shown.len())
    }

    /// Returns all rows for programs: objects with the names of the columns.
    pub(super) fn json(&self) -> serde_json::Value {
        // All rows: the limit of printed ones is for people.
        let mut all = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let cells = self.head.iter().zip(row);
            let cells =
                cells.map(|((name, _), cell)| (name.clone().into_owned(), cell.as_str().into()));
            all.push(serde_json::Value::Object(cells.collect()));
        }
        all.into()
    }

    /// Returns the table for the terminal. A last line has the number of omitted rows.
    pub(super) fn table(&self) -> Table {
        let (shown, more) = self.shown();
        let mut table = self.table_of(shown);
        if more > 0 {
            let mut cells = vec![String::new(); self.head.len()];
            // In the first column, which is never one of numbers.
            cells[0] = format!("... and {more} more, in the JSON");
            table.row(cells);
        }
        table
    }

    /// Returns the table for the terminal with all rows.
    pub(super) fn whole(&self) -> Table {
        self.table_of(&self.rows)
    }

    fn table_of(&self, rows: &[Vec<String>]) -> Table {
        let mut table = Table::new(self.head.iter().map(|(name, kind)| (&**name, kind.align())));
        rows.iter().for_each(|row| table.row(row.as_slice()));
        table
    }
}

/// Prints drops by reason as a table.
#[must_use]
pub fn drops_text(drops: &Drops) -> String {
    Medium::Terminal.drops(drops).table().to_string()
}

/// Returns a time in nanoseconds; 0 counts as absent.
fn span(ns: u64) -> Option<Duration> {
    (ns > 0).then(|| Duration::from_nanos(ns))
}

impl Medium {
    /// True if a table shows the column.
    fn has(self, field: &Field<'_>) -> bool {
        match field.shown {
            Shown::Terminal => self == Self::Terminal,
            Shown::Page => self == Self::Page,
            Shown::Everywhere | Shown::Rank(_) => field.heading.is_some(),
        }
    }

    fn cell(self, cell: &Cell<'_>, unit: &str) -> String {
        match (self, cell) {
            (Self::Page, Cell::Time(time)) => written(*time),
            (Self::Page, Cell::Unknown) => "–".into(),
            (Self::Terminal, Cell::Unknown) => "-".into(),
            (_, cell) => cell.printed(unit).unwrap_or_default(),
        }
    }

    /// Returns the table of these objects: the columns that the medium shows.
    pub(super) fn sheet<T>(
        self,
        columns: &[Column<T>],
        rows: impl IntoIterator<Item: Borrow<T>>,
    ) -> Sheet {
        // A column of the other medium takes no part, neither in the head nor in rows.
        let shown: Vec<_> = columns.iter().filter(|column| self.has(&column.field)).collect();
        let row = |row: &T| {
            shown.iter().map(|column| self.cell(&column.cell(row), column.field.unit)).collect()
        };
        Sheet {
            head: shown
                .iter()
                .filter_map(|c| Some((c.field.heading?.into(), c.field.kind)))
                .collect(),
            rows: rows.into_iter().map(|one| row(one.borrow())).collect(),
        }
    }

    pub(super) fn flows(self, o: &Outcome) -> Sheet {
        self.sheet(&flow_columns(), &o.flows)
    }

    /// The transport results of flows with acknowledgements.
    pub(super) fn transports(self, o: &Outcome) -> Sheet {
        type Row<'a> = (&'a str, TransportOutcome);
        let columns: [Column<Row<'_>>; 13] = columns! { (name, t) =>
            Text ["flow"] = *name;
            Text ["kind"] = t.kind;
            Whole ["delivered bytes"] = t.receiver.delivered;
            Whole ["retransmitted"] = t.sender.retransmitted;
            Whole ["timeouts"] = t.sender.timeouts;
            Whole ["ACKs"] = t.sender.acks;
            Whole ["NAKs"] = t.sender.naks;
            Whole ["CNPs"] = t.sender.cnps;
            Printed ["rate at the end"] = scaled(t.sender.rate.get() as f64, "b/s");
            Whole ["messages"] = t.sender.completions.messages;
            Time ["shortest"] = t.sender.completions.fct_min;
            Time ["mean", Shown::Page] = t.sender.completions.fct_mean();
            Time ["longest"] = t.sender.completions.fct_max;
        };
        self.sheet(&columns, o.flows.iter().filter_map(|f| Some((f.name.as_str(), f.transport?))))
    }

    /// The priorities of ports of these switches with any event.
    pub(super) fn ports<'a>(self, switches: impl Iterator<Item = &'a SwitchOutcome>) -> Sheet {
        type Row<'a> = (&'a SwitchOutcome, &'a SwitchPort, usize, &'a PriorityCounters);
        let columns: [Column<Row<'_>>; 15] = columns! { (switch, port, n, p) =>
            Text ["switch", Shown::Terminal] = &*switch.name;
            Text ["port"] = &*port.summary.port.name;
            Text ["to"] = &*port.peer;
            Whole ["prio"] = *n as u64;
            Whole ["rx frames"] = p.rx_frames;
            Whole ["tx frames"] = p.tx_frames;
            Whole ["dropped"] = p.dropped;
            Whole ["XOFF sent"] = p.pfc_tx_transitions;
            Time ["tx pause time"] = span(p.pfc_tx_paused.as_nanos());
            Whole ["XOFF received"] = p.pfc_rx_transitions;
            Time ["rx pause time"] = span(p.pfc_rx_paused.as_nanos());
            Whole ["buffer peak B"] = p.buffer_peak_bytes;
            Whole ["headroom peak B"] = p.headroom_peak_bytes;
            Whole ["queue peak B"] = p.queue_peak_bytes;
            Whole ["marked"] = p.ecn_marked;
        };
        let rows = switches.flat_map(|switch| {
            switch.ports.iter().flat_map(move |port| {
                // Priorities without any event are left out, most of eight in each port.
                let active = port.summary.port.counters.active();
                active.map(move |(n, counters)| (switch, port, n, counters))
            })
        });
        self.sheet(&columns, rows)
    }

    /// The priorities of hosts that were paused, or that sent pause frames. The page has a row
    /// for each other host too.
    pub(super) fn hosts(self, o: &Outcome) -> Sheet {
        type Row<'a> = (&'a HostOutcome, &'a HostPort, Option<(usize, &'a PriorityPauses)>);
        let columns: [Column<Row<'_>>; 10] = columns! { (host, port, p) =>
            Text ["host"] = &*host.name;
            Text ["to"] = &*port.peer;
            Printed ["link", Shown::Page] = scaled(port.rate_bps as f64, "b/s");
            Whole ["tx frames", Shown::Page] = port.counters.tx_frames;
            Whole ["rx frames", Shown::Page] = port.counters.rx_frames;
            Whole ["prio"] = p.map(|(n, _)| n as u64);
            Whole ["PFC frames received"] = p.map(|(_, p)| p.received);
            Whole ["XOFF obeyed"] = p.map(|(_, p)| p.transitions);
            Time ["pause time"] = p.map(|(_, p)| p.paused.saturated());
            Whole ["PFC frames sent"] = p.map(|(_, p)| p.sent);
        };
        let mut rows: Vec<Row<'_>> = Vec::new();
        for host in o.hosts() {
            for port in &host.ports {
                let before = rows.len();
                let all = port.counters.priorities.iter().enumerate();
                // Most hosts use one or two priorities, and many are never paused.
                let active = all.filter(|(_, p)| p.received + p.sent > 0);
                rows.extend(active.map(|p| (host, port, Some(p))));
                // A page shows the frames of every host; the terminal only pauses.
                if rows.len() == before && self == Self::Page {
                    rows.push((host, port, None));
                }
            }
        }
        self.sheet(&columns, rows)
    }

    pub(super) fn drops(self, counts: &Drops) -> Sheet {
        let columns: [Column<(DropReason, u64)>; 3] = columns! { (reason, n) =>
            Text ["dropped for"] = reason.name();
            Whole ["frames"] = *n;
            Sentence ["meaning"] = reason.doc().trim().to_owned();
        };
        self.sheet(&columns, counts.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_medium_shows_its_own_columns_and_those_of_both() {
        let columns: [Column<u8>; 3] = columns! { n =>
            Whole ["n"] = u64::from(*n);
            Made ["page", Shown::Page] = "p".to_owned();
            Made ["terminal", Shown::Terminal] = "t".to_owned();
        };
        let sheet = Medium::Page.sheet(&columns, [1_u8, 2]);
        assert_eq!(sheet.head, [("n".into(), Kind::Whole), ("page".into(), Kind::Text)]);
        assert_eq!(sheet.rows, [["1", "p"], ["2", "p"]]);
        assert_eq!(Medium::Terminal.sheet(&columns, [1_u8]).rows, [["1", "t"]]);
    }
}
