//! Names, types, units and meanings of all tables and columns.

use std::borrow::Cow;

use lab::study::FIELDS;

/// Type of a column. Every value may be unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// A whole number from 0 to 2^64 - 1.
    Whole,
    /// A floating-point number (IEEE 754 double).
    Number,
    Truth,
}

/// A column of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    pub name: Cow<'static, str>,
    pub kind: Kind,
    /// Unit; empty for text, counts and truth values.
    pub unit: &'static str,
    pub meaning: Cow<'static, str>,
}

/// A table: a file of a data set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    /// Name of the file without its extension.
    pub name: &'static str,
    pub meaning: &'static str,
    /// Columns: name, type, unit and meaning.
    pub columns: &'static [(&'static str, Kind, &'static str, &'static str)],
}

use Kind::{Number, Text, Truth, Whole};

const N: (&str, Kind, &str, &str) = ("n", Whole, "", "number of the run in its lab, from 0");
const LAB: (&str, Kind, &str, &str) = ("lab", Text, "", "name of the lab");
const VARIANT: (&str, Kind, &str, &str) = ("variant", Text, "", "name of the variant");

pub(crate) const RUNS: usize = 0;
pub(crate) const FLOWS: usize = 1;
pub(crate) const MESSAGES: usize = 2;
pub(crate) const HOPS: usize = 3;
pub(crate) const SERIES: usize = 4;
pub(crate) const PAUSES: usize = 5;

/// All tables.
pub const TABLES: [Table; 6] = [
    Table {
        name: "runs",
        meaning: "A line for each run: the fields of its row but those of hops, and the values of the sweep's axes.",
        columns: &[],
    },
    Table {
        name: "flows",
        meaning: "A line for each flow of each run.",
        columns: &[
            N,
            LAB,
            VARIANT,
            ("flow", Text, "", "name of the flow"),
            ("from", Text, "", "sending host"),
            ("to", Text, "", "receiving host"),
            ("priority", Whole, "", "priority, 0 to 7"),
            ("lossless", Truth, "", "true if all switches on the way have it in a lossless group"),
            ("tx_frames", Whole, "", "frames sent"),
            ("rx_frames", Whole, "", "frames received"),
            ("lost_frames", Whole, "", "frames lost, retransmitted or not"),
            ("tx_bytes", Whole, "B", "bytes sent, FCS included"),
            ("rx_bytes", Whole, "B", "bytes received, FCS included"),
            ("ce_frames", Whole, "", "frames received with CE"),
            ("reordered_frames", Whole, "", "frames received behind later ones"),
            ("rx_bps", Number, "bit/s", "received bits in the measurement interval, FCS included"),
            ("payload_bps", Number, "bit/s", "goodput in the measurement interval"),
            ("latency_min_ns", Number, "ns", "shortest frame latency"),
            ("latency_p50_ns", Number, "ns", "median of frame latency"),
            ("latency_p99_ns", Number, "ns", "99th percentile of frame latency"),
            ("latency_max_ns", Number, "ns", "longest frame latency"),
            ("fct_ns", Number, "ns", "completion time of the flow, or mean of its messages"),
        ],
    },
    Table {
        name: "messages",
        meaning: "A line for each message that was due; only of labs with `record: {messages: true}`.",
        columns: &[
            N,
            LAB,
            VARIANT,
            ("flow", Text, "", "name of the flow"),
            ("message", Whole, "", "number of the message in its flow, from 0"),
            ("bytes", Whole, "B", "length"),
            ("start_ns", Number, "ns", "time at which it became due"),
            (
                "completion_ns",
                Number,
                "ns",
                "completion time; unknown if it was not complete at the end",
            ),
            ("ideal_ns", Number, "ns", "completion time on an idle path"),
            ("slowdown", Number, "", "completion time over that on an idle path"),
        ],
    },
    Table {
        name: "hops",
        meaning: "A line for the paused lines of each distance from the destination.",
        columns: &[
            N,
            LAB,
            VARIANT,
            ("distance", Whole, "", "lines between the pausing switch and the destination"),
            ("hosts", Truth, "", "true if hosts are paused, false for switches"),
            ("lines", Whole, "", "number of lines"),
            ("pauses", Whole, "", "changes of a priority from running to paused"),
            ("paused_ns", Number, "ns", "sum of the pause times of all priorities"),
            ("longest_ns", Number, "ns", "longest uninterrupted pause"),
        ],
    },
    Table {
        name: "series",
        meaning: "A line where a value of a series changes, which holds until the next one, and for its last sample.",
        columns: &[
            N,
            LAB,
            VARIANT,
            (
                "what",
                Text,
                "",
                "`queue` (bytes in an egress queue), `group` (bytes of an ingress group), `rate` (bit/s of a flow \
                 since the last sample) or `marks` (frames marked CE so far)",
            ),
            ("node", Text, "", "switch; unknown for a flow"),
            ("port", Text, "", "port of the switch; unknown for a flow"),
            (
                "index",
                Whole,
                "",
                "traffic class, priority group or priority, 0 to 7; unknown for a flow",
            ),
            ("flow", Text, "", "name of the flow, of a `rate`"),
            ("t_ns", Number, "ns", "time of the sample"),
            ("value", Number, "", "value, in the unit of `what`"),
        ],
    },
    Table {
        name: "pauses",
        meaning: "A line for each pause of a priority, as the paused end sees it.",
        columns: &[
            N,
            LAB,
            VARIANT,
            ("node", Text, "", "paused node"),
            ("port", Text, "", "paused port"),
            ("priority", Whole, "", "paused priority, 0 to 7"),
            ("from_ns", Number, "ns", "start"),
            ("to_ns", Number, "ns", "end"),
            (
                "paused_ns",
                Number,
                "ns",
                "paused time in between: less than all of it if several pauses with short gaps were merged, as more \
                 than 1,000 are kept of no port",
            ),
            ("pauses", Whole, "", "number of pauses in it"),
        ],
    },
];

/// Type of a field of a row.
fn kind(name: &str, unit: &str) -> Kind {
    match name {
        "point" | "lab" | "variant" | "world" | "trace_hash" | "verdict" | "failed" | "version"
        | "study" | "steady.rule" => Text,
        "done" => Truth,
        // These have fractions although their units do not say so.
        "fairness" | "rx_bps" | "victim_bps" | "wall_ms" => Number,
        _ if unit == "ns" => Number,
        _ if name.starts_with("slowdown") || name.starts_with("steady") => Number,
        _ => Whole,
    }
}

/// Returns the columns of a table. Those of runs follow from the fields of rows; axes stand behind `variant`.
pub(crate) fn columns(table: usize, axes: &[(String, bool)]) -> Vec<Column> {
    if table != RUNS {
        let column =
            |(name, kind, unit, meaning): &(&'static str, Kind, &'static str, &'static str)| {
                Column {
                    name: Cow::Borrowed(*name),
                    kind: *kind,
                    unit,
                    meaning: Cow::Borrowed(*meaning),
                }
            };
        return TABLES[table].columns.iter().map(column).collect();
    }
    let mut columns = Vec::new();
    for field in FIELDS.iter().filter(|field| !field.name.contains('*')) {
        columns.push(Column {
            name: Cow::Borrowed(field.name),
            kind: kind(field.name, field.unit),
            unit: field.unit,
            meaning: Cow::Borrowed(field.meaning),
        });
        if field.name == "variant" {
            // Rows have a field of their own for the seed.
            let axes = axes.iter().filter(|(path, _)| path != "seed");
            columns.extend(axes.map(|(path, is_number)| Column {
                name: Cow::Owned(path.clone()),
                kind: if *is_number { Number } else { Text },
                unit: "",
                meaning: Cow::Borrowed("value of the sweep's axis"),
            }));
        }
    }
    columns
}
