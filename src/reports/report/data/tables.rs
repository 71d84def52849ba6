//! Names, meanings and columns of all tables.

use ground::time::Instant;
use lab::record::Piece;
use lab::study::{Row, fields};
use lab::{FlowOutcome, HopOutcome, MessageRecord};
use text::Shown::{Everywhere, Page, Terminal};
use text::{Column, Field, Kind, columns};

/// A table: a file of a data set, with a line for each `T` of a run.
pub(super) struct Table<T> {
    /// Name of the file without its extension.
    pub(super) name: &'static str,
    /// Columns behind [`KEYS`]. Those without a name are for tables of people.
    pub(super) columns: Vec<Column<T>>,
}

/// Names of all tables.
pub(super) const TABLES: [&str; 6] = ["runs", "flows", "messages", "hops", "series", "pauses"];

/// The first columns of all tables but that of runs.
pub(super) const KEYS: &[Column<Row>] = &columns! { row =>
    Whole "n" = row.n, "number of the run in its lab, from 0";
    Text "lab" = &*row.lab, "name of the lab";
    Text "variant" = row.variant.as_deref(), "name of the variant";
};

impl<T> Table<T> {
    /// Returns the fields of the file.
    pub(super) fn fields(&self) -> Vec<Field<'static>> {
        KEYS.iter().map(|key| key.field).chain(self.columns().map(|c| c.field)).collect()
    }

    /// Returns the columns of the file behind [`KEYS`].
    pub(super) fn columns(&self) -> impl Iterator<Item = &Column<T>> {
        self.columns.iter().filter(|column| !column.field.name.is_empty())
    }
}

/// Returns the fields of the table of runs: those of rows but for hops, and the axes behind `variant`.
pub(super) fn runs(axes: &[(String, bool)]) -> Vec<Field<'_>> {
    let mut all = Vec::new();
    for field in fields().filter(|field| !field.name.contains('*')) {
        all.push(field);
        if field.name == "variant" {
            // Rows have a field of their own for the seed.
            let axes = axes.iter().filter(|(path, _)| path != "seed");
            all.extend(axes.map(|(path, is_number)| Field {
                name: path,
                kind: if *is_number { Kind::Number } else { Kind::Text },
                unit: "",
                meaning: "value of the sweep's axis",
                heading: None,
                shown: Everywhere,
            }));
        }
    }
    all
}

/// Returns the columns of flows, for files and for tables of people.
pub(crate) fn flow_columns() -> [Column<FlowOutcome>; 22] {
    columns! { f =>
        Text "flow" ["flow"] = &*f.name, "name of the flow";
        // A page has the two ends in one column, which saves width on phones.
        Made ["way", Page] = format!("{} → {}", f.from, f.to);
        Text "from" ["from", Terminal] = &*f.from, "sending host";
        Text "to" ["to", Terminal] = &*f.to, "receiving host";
        Whole "priority" ["prio"] = u64::from(f.priority), "priority, 0 to 7";
        Truth "lossless" = f.lossless,
            "true if all switches on the way have it in a lossless group";
        Whole "tx_frames" ["sent"] = f.tx_frames, "frames sent";
        Whole "rx_frames" ["arrived"] = f.rx_frames, "frames received";
        Whole "lost_frames" ["lost"] = f.loss_frames, "frames lost, retransmitted or not";
        Whole ["queued"] = f.pending_frames;
        Whole "tx_bytes" = f.tx_bytes, "bytes sent, FCS included";
        Whole "rx_bytes" = f.rx_bytes, "bytes received, FCS included";
        Whole "ce_frames" ["CE", Page] = f.ce_frames, "frames received with CE";
        Whole "reordered_frames" = f.reordered_frames, "frames received behind later ones";
        Number "rx_bps" ["rate"] = f.rx_bps,
            "received bits in the measurement interval, FCS included";
        Number "payload_bps" ["payload"] = f.payload_bps, "goodput in the measurement interval";
        // A flow without a frame that arrived has no latency.
        Time "latency_min_ns" ["min", Page] = f.latency_ns.map(|l| l.min), "shortest frame latency";
        Time "latency_p50_ns" ["p50"] = f.latency_ns.map(|l| l.p50), "median of frame latency";
        Time "latency_p99_ns" ["p99"] = f.latency_ns.map(|l| l.p99),
            "99th percentile of frame latency";
        Time ["p99.9"] = f.latency_ns.map(|l| l.p999);
        Time "latency_max_ns" ["max"] = f.latency_ns.map(|l| l.max), "longest frame latency";
        Time "fct_ns" ["completion time"] = f.fct_ns,
            "completion time of the flow, or mean of its messages";
    }
}

/// Returns the table of the flows of each run.
pub(super) fn flows() -> Table<FlowOutcome> {
    Table { name: "flows", columns: flow_columns().into() }
}

pub(super) struct Message<'a> {
    pub(super) flow: Option<&'a str>,
    pub(super) record: &'a MessageRecord,
}

/// Returns the table of the messages that were due, in labs that record them.
pub(super) fn messages<'a>() -> Table<Message<'a>> {
    let columns: [Column<Message<'a>>; 7] = columns! { message =>
        Text "flow" = message.flow, "name of the flow";
        Whole "message" = message.record.message, "number of the message in its flow, from 0";
        Whole "bytes" = message.record.bytes, "length";
        Time "start_ns" = message.record.start, "time at which it became due";
        Time "completion_ns" = message.record.completion,
            "completion time; unknown if it was not complete at the end";
        Time "ideal_ns" = message.record.ideal, "completion time on an idle path";
        Number "slowdown" = message.record.slowdown(), "completion time over that on an idle path";
    };
    Table { name: "messages", columns: columns.into() }
}

/// Returns the table of the paused lines of each distance from the destination.
pub(super) fn hops() -> Table<HopOutcome> {
    let columns: [Column<HopOutcome>; 6] = columns! { hop =>
        Whole "distance" = hop.distance as u64,
            "lines between the pausing switch and the destination";
        Truth "hosts" = hop.hosts, "true if hosts are paused, false for switches";
        Whole "lines" = hop.lines as u64, "number of lines";
        Whole "pauses" = hop.pauses, "changes of a priority from running to paused";
        Time "paused_ns" = hop.paused_ns, "sum of the pause times of all priorities";
        Time "longest_ns" = hop.longest_ns, "longest uninterrupted pause";
    };
    Table { name: "hops", columns: columns.into() }
}

/// A port and a queue, group or priority of it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) node: &'a str,
    pub(super) port: &'a str,
    pub(super) index: u8,
}

/// A sample of a series, of a place or of a flow.
pub(super) struct Sample<'a> {
    pub(super) what: &'static str,
    pub(super) place: Option<Place<'a>>,
    pub(super) flow: Option<&'a str>,
    pub(super) time: Instant,
    pub(super) value: f64,
}

/// Returns the table of the values of series, each where it changes.
pub(super) fn series<'a>() -> Table<Sample<'a>> {
    let columns: [Column<Sample<'a>>; 7] = columns! { sample =>
        Text "what" = sample.what,
            "`queue` (bytes in an egress queue), `group` (bytes of an ingress group), `rate` (bit/s of a flow \
             since the last sample) or `marks` (frames marked CE so far)";
        Text "node" = sample.place.map(|place| place.node), "switch; unknown for a flow";
        Text "port" = sample.place.map(|place| place.port), "port of the switch; unknown for a flow";
        Whole "index" = sample.place.map(|place| u64::from(place.index)),
            "traffic class, priority group or priority, 0 to 7; unknown for a flow";
        Text "flow" = sample.flow, "name of the flow, of a `rate`";
        Time "t_ns" = sample.time.since_start(), "time of the sample";
        Number "value" = sample.value, "value, in the unit of `what`";
    };
    Table { name: "series", columns: columns.into() }
}

/// A pause of a place.
pub(super) struct Pause<'a> {
    pub(super) place: Place<'a>,
    pub(super) piece: &'a Piece,
}

/// Returns the table of the pauses of priorities, as the paused end sees them.
pub(super) fn pauses<'a>() -> Table<Pause<'a>> {
    let columns: [Column<Pause<'a>>; 7] = columns! { pause =>
        Text "node" = pause.place.node, "paused node";
        Text "port" = pause.place.port, "paused port";
        Whole "priority" = u64::from(pause.place.index), "paused priority, 0 to 7";
        Time "from_ns" = pause.piece.from.since_start(), "start";
        Time "to_ns" = pause.piece.to.since_start(), "end";
        Time "paused_ns" = pause.piece.paused,
            "paused time in between: less than all of it if several pauses with short gaps were merged, as more \
             than 1,000 are kept of no port";
        Whole "pauses" = pause.piece.pauses, "number of pauses in it";
    };
    Table { name: "pauses", columns: columns.into() }
}
