//! The tables of a lab's results, for both the terminal and the HTML page.
//!
//! A [`Field`] is a column: its name, and the function that makes its cell from the object of a
//! row. Both media show the same names and numbers; columns for the page only are marked.

use super::html::written;
use ::text::{Align, Table, count, scaled};
use contracts::stats::{DropReason, Drops, PriorityCounters};
use ground::time::Duration;
use host::PriorityPauses;
use lab::{
    FlowOutcome, HostOutcome, HostPort, Outcome, SwitchOutcome, SwitchPort, TransportOutcome,
};

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

/// The content of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Word,
    Number,
    /// Text that may wrap.
    Sentence,
}

/// A table without its layout.
#[derive(Debug)]
pub(super) struct Sheet {
    pub(super) head: Vec<(&'static str, Kind)>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A column of rows about `T`s.
struct Field<T> {
    name: &'static str,
    kind: Kind,
    /// The one medium that shows the column, if only one does.
    only: Option<Medium>,
    cell: fn(&T, Medium) -> String,
}

impl<T> Field<T> {
    const fn word(name: &'static str, cell: fn(&T, Medium) -> String) -> Self {
        Self { name, kind: Kind::Word, only: None, cell }
    }

    const fn number(name: &'static str, cell: fn(&T, Medium) -> String) -> Self {
        Self { name, kind: Kind::Number, only: None, cell }
    }

    const fn sentence(name: &'static str, cell: fn(&T, Medium) -> String) -> Self {
        Self { name, kind: Kind::Sentence, only: None, cell }
    }

    /// A field that only this medium shows.
    fn only(medium: Medium, field: Self) -> Self {
        Self { only: Some(medium), ..field }
    }
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
            let cells = cells.map(|((name, _), cell)| ((*name).to_owned(), cell.as_str().into()));
            all.push(serde_json::Value::Object(cells.collect()));
        }
        all.into()
    }

    /// Returns the table for the terminal. A last line has the number of omitted rows.
    pub(super) fn table(&self) -> Table {
        let align = |kind| if kind == Kind::Number { Align::Right } else { Align::Left };
        let mut table = Table::new(self.head.iter().map(|(name, kind)| (*name, align(*kind))));
        let (shown, more) = self.shown();
        shown.iter().for_each(|row| table.row(row.as_slice()));
        if more > 0 {
            let mut cells = vec![String::new(); self.head.len()];
            // In the first column, which is never one of numbers.
            cells[0] = format!("... and {more} more, in the JSON");
            table.row(cells);
        }
        table
    }
}

/// Prints drops by reason as a table.
#[must_use]
pub fn drops_text(drops: &Drops) -> String {
    Medium::Terminal.drops(drops).table().to_string()
}

impl Medium {
    fn time(self, time: Duration) -> String {
        match self {
            Self::Terminal => time.to_string(),
            Self::Page => written(time),
        }
    }

    fn optional(self, time: Option<Duration>) -> String {
        time.map_or_else(|| self.nothing(), |time| self.time(time))
    }

    /// Formats nanoseconds; 0 counts as absent.
    fn span(self, ns: u64) -> String {
        self.optional((ns > 0).then(|| Duration::from_nanos(ns)))
    }

    /// Returns the sign for an absent value.
    fn nothing(self) -> String {
        match self {
            Self::Terminal => "-".into(),
            Self::Page => "–".into(),
        }
    }

    fn sheet<T>(self, fields: &[Field<T>], rows: impl IntoIterator<Item = T>) -> Sheet {
        // A column of the other medium takes no part, neither in the head nor in rows.
        let shown: Vec<_> =
            fields.iter().filter(|f| f.only.is_none_or(|only| only == self)).collect();
        Sheet {
            head: shown.iter().map(|f| (f.name, f.kind)).collect(),
            rows: rows
                .into_iter()
                .map(|row| shown.iter().map(|f| (f.cell)(&row, self)).collect())
                .collect(),
        }
    }

    pub(super) fn flows(self, o: &Outcome) -> Sheet {
        let fields: [Field<&FlowOutcome>; 18] = [
            Field::word("flow", |f, _| f.name.clone()),
            // A page has the two ends in one column, which saves width on phones.
            Field::only(Medium::Page, Field::word("way", |f, _| format!("{} → {}", f.from, f.to))),
            Field::only(Medium::Terminal, Field::word("from", |f, _| f.from.clone())),
            Field::only(Medium::Terminal, Field::word("to", |f, _| f.to.clone())),
            Field::number("prio", |f, _| f.priority.to_string()),
            Field::number("sent", |f, _| count(f.tx_frames)),
            Field::number("arrived", |f, _| count(f.rx_frames)),
            Field::number("lost", |f, _| count(f.loss_frames)),
            Field::number("queued", |f, _| count(f.pending_frames)),
            Field::only(Medium::Page, Field::number("CE", |f, _| count(f.ce_frames))),
            Field::number("rate", |f, _| scaled(f.rx_bps, "b/s")),
            Field::number("payload", |f, _| scaled(f.payload_bps, "b/s")),
            Field::only(
                Medium::Page,
                Field::number("min", |f, m| m.optional(f.latency_ns.map(|l| l.min))),
            ),
            Field::number("p50", |f, m| m.optional(f.latency_ns.map(|l| l.p50))),
            Field::number("p99", |f, m| m.optional(f.latency_ns.map(|l| l.p99))),
            Field::number("p99.9", |f, m| m.optional(f.latency_ns.map(|l| l.p999))),
            Field::number("max", |f, m| m.optional(f.latency_ns.map(|l| l.max))),
            Field::number("completion time", |f, m| m.optional(f.fct_ns)),
        ];
        self.sheet(&fields, &o.flows)
    }

    /// The transport results of flows with acknowledgements.
    pub(super) fn transports(self, o: &Outcome) -> Sheet {
        type Row<'a> = (&'a str, TransportOutcome);
        let fields: [Field<Row<'_>>; 13] = [
            Field::word("flow", |(name, _), _| (*name).into()),
            Field::word("kind", |(_, t), _| t.kind.into()),
            Field::number("delivered bytes", |(_, t), _| count(t.receiver.delivered)),
            Field::number("retransmitted", |(_, t), _| count(t.sender.retransmitted)),
            Field::number("timeouts", |(_, t), _| count(t.sender.timeouts)),
            Field::number("ACKs", |(_, t), _| count(t.sender.acks)),
            Field::number("NAKs", |(_, t), _| count(t.sender.naks)),
            Field::number("CNPs", |(_, t), _| count(t.sender.cnps)),
            Field::number("rate at the end", |(_, t), _| scaled(t.sender.rate.get() as f64, "b/s")),
            Field::number("messages", |(_, t), _| count(t.sender.completions.messages)),
            Field::number("shortest", |(_, t), m| m.optional(t.sender.completions.fct_min)),
            Field::only(
                Medium::Page,
                Field::number("mean", |(_, t), m| m.optional(t.sender.completions.fct_mean())),
            ),
            Field::number("longest", |(_, t), m| m.optional(t.sender.completions.fct_max)),
        ];
        self.sheet(&fields, o.flows.iter().filter_map(|f| Some((f.name.as_str(), f.transport?))))
    }

    /// The priorities of ports of these switches with any event.
    pub(super) fn ports<'a>(self, switches: impl Iterator<Item = &'a SwitchOutcome>) -> Sheet {
        type Row<'a> = (&'a SwitchOutcome, &'a SwitchPort, usize, &'a PriorityCounters);
        let fields: [Field<Row<'_>>; 15] = [
            Field::only(
                Medium::Terminal,
                Field::word("switch", |(switch, ..), _| switch.name.clone()),
            ),
            Field::word("port", |(_, port, ..), _| port.summary.port.name.clone()),
            Field::word("to", |(_, port, ..), _| port.peer.clone()),
            Field::number("prio", |(.., n, _), _| n.to_string()),
            Field::number("rx frames", |(.., p), _| count(p.rx_frames)),
            Field::number("tx frames", |(.., p), _| count(p.tx_frames)),
            Field::number("dropped", |(.., p), _| count(p.dropped)),
            Field::number("XOFF sent", |(.., p), _| count(p.pfc_tx_transitions)),
            Field::number("tx pause time", |(.., p), m| m.span(p.pfc_tx_paused.as_nanos())),
            Field::number("XOFF received", |(.., p), _| count(p.pfc_rx_transitions)),
            Field::number("rx pause time", |(.., p), m| m.span(p.pfc_rx_paused.as_nanos())),
            Field::number("buffer peak B", |(.., p), _| count(p.buffer_peak_bytes)),
            Field::number("headroom peak B", |(.., p), _| count(p.headroom_peak_bytes)),
            Field::number("queue peak B", |(.., p), _| count(p.queue_peak_bytes)),
            Field::number("marked", |(.., p), _| count(p.ecn_marked)),
        ];
        let rows = switches.flat_map(|switch| {
            switch.ports.iter().flat_map(move |port| {
                // Priorities without any event are left out, most of eight in each port.
                let active = port.summary.port.counters.active();
                active.map(move |(n, counters)| (switch, port, n, counters))
            })
        });
        self.sheet(&fields, rows)
    }

    /// The priorities of hosts that were paused, or that sent pause frames. The page has a row
    /// for each other host too.
    pub(super) fn hosts(self, o: &Outcome) -> Sheet {
        type Row<'a> = (&'a HostOutcome, &'a HostPort, Option<(usize, &'a PriorityPauses)>);
        let fields: [Field<Row<'_>>; 10] = [
            Field::word("host", |(host, ..), _| host.name.clone()),
            Field::word("to", |(_, port, _), _| port.peer.clone()),
            Field::only(
                Medium::Page,
                Field::number("link", |(_, port, _), _| scaled(port.rate_bps as f64, "b/s")),
            ),
            Field::only(
                Medium::Page,
                Field::number("tx frames", |(_, port, _), _| count(port.counters.tx_frames)),
            ),
            Field::only(
                Medium::Page,
                Field::number("rx frames", |(_, port, _), _| count(port.counters.rx_frames)),
            ),
            Field::number("prio", |(.., p), m| m.of(*p, |(n, _)| n.to_string())),
            Field::number("PFC frames received", |(.., p), m| m.of(*p, |(_, p)| count(p.received))),
            Field::number("XOFF obeyed", |(.., p), m| m.of(*p, |(_, p)| count(p.transitions))),
            Field::number("pause time", |(.., p), m| {
                m.of(*p, |(_, p)| m.time(p.paused.saturated()))
            }),
            Field::number("PFC frames sent", |(.., p), m| m.of(*p, |(_, p)| count(p.sent))),
        ];
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
        self.sheet(&fields, rows)
    }

    /// Returns the cell of an optional object.
    fn of<T>(self, thing: Option<T>, cell: impl Fn(T) -> String) -> String {
        thing.map_or_else(|| self.nothing(), cell)
    }

    pub(super) fn drops(self, counts: &Drops) -> Sheet {
        type Row = (DropReason, u64);
        let fields: [Field<Row>; 3] = [
            Field::word("dropped for", |(reason, _), _| reason.name().into()),
            Field::number("frames", |(_, n), _| count(*n)),
            Field::sentence("meaning", |(reason, _), _| reason.doc().trim().into()),
        ];
        self.sheet(&fields, counts.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_medium_shows_its_own_columns_and_those_of_both() {
        let fields: [Field<u8>; 3] = [
            Field::number("n", |n, _| n.to_string()),
            Field::only(Medium::Page, Field::word("page", |_, _| "p".into())),
            Field::only(Medium::Terminal, Field::word("terminal", |_, _| "t".into())),
        ];
        let sheet = Medium::Page.sheet(&fields, [1, 2]);
        assert_eq!(sheet.head, [("n", Kind::Number), ("page", Kind::Word)]);
        assert_eq!(sheet.rows, [["1", "p"], ["2", "p"]]);
        assert_eq!(Medium::Terminal.sheet(&fields, [1]).rows, [["1", "t"]]);
    }
}
