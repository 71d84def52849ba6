//! `sluice headroom compare`: compares all models and a measurement.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::calc::table;
use super::inputs::LinkArgs;
use crate::cli::{Format, bad_input, terminal};
use crate::config::quantity::Size;
use crate::headroom::Term;
use crate::headroom::models::{Estimate, Model};
use crate::printable;
use crate::units::{BitsPerSec, Bytes};
use ::text::{Align, Table, count};

const EXAMPLES: &str = "\
EXAMPLES:
  sluice headroom compare --rate 100G --length 100m
  sluice headroom compare --rate 100G --length 100m --max-frame 9216      the same frames in all
  sluice headroom compare --rate 100G --length 100m --measured 40.5KB     beside a measurement
  sluice headroom compare --rate 100G --length 100m --measured-from link.json
  sluice headroom compare --rate 100G --length 100m --explain             with every sum
  sluice headroom compare --rate 400G --length 40m --cell 192 --format json

link.json is what `sluice headroom measure --format json` printed.

An option of one model counts for that model. Models differ in what they count (frames, cells, the
reaction of the peer), not only in numbers: --explain shows each sum.";

/// Compare all models, and a measurement.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CompareArgs {
    /// Headroom that was measured on the link, to compare the models with.
    #[arg(long, value_name = "SIZE")]
    measured: Option<Size>,
    /// Measured headroom from the output of `sluice headroom measure --format json`.
    #[arg(long, value_name = "FILE", conflicts_with = "measured")]
    measured_from: Option<PathBuf>,
    /// Show the terms of every sum with their sources.
    #[arg(long)]
    explain: bool,
    /// Format of the result on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    link: LinkArgs,
}

/// Result of a model, or the reason why it has none.
#[derive(Serialize)]
struct Row {
    model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_frame: Option<u64>,
    #[serde(flatten)]
    answer: Answer,
    /// Sources of assumed values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assumed: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    formula: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    terms: Vec<Term>,
}

/// The used part of a measurement's result.
#[derive(Deserialize)]
struct Measurement {
    rate_bps: u64,
    /// `None` if no measurement succeeded.
    headroom: Option<Headroom>,
    failure: Option<String>,
}

/// Headroom of a measurement.
#[derive(Deserialize)]
struct Headroom {
    bytes: u64,
}

/// A sum, or the reason why there is none.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Sum(Sum),
    None { refused: String },
}

/// A headroom, and its relation to the reference.
#[derive(Serialize)]
struct Sum {
    bytes: u64,
    bits: u64,
    /// Time in which the link sends it.
    nanoseconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<f64>,
}

/// Calculates all models and prints them.
///
/// # Errors
/// An invalid argument that all models share.
pub fn run(args: &CompareArgs) -> Result<ExitCode> {
    let rows = rows(args).map_err(bad_input)?;
    match args.format {
        Format::Json => terminal::print_json(&rows)?,
        Format::Table => terminal::print(text(args, &rows))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(args: &CompareArgs) -> Result<Vec<Row>> {
    let (link, complete) = (&args.link, args.link.complete());
    let cell = link.cell()?;
    let sum = |bits: u64| {
        let bytes = bits.div_ceil(8);
        let cells = cell.map(|cell| bytes.div_ceil(u64::from(cell)));
        let nanoseconds = link.rate.0.time_for(Bytes(bytes)).as_nanos();
        Answer::Sum(Sum { bytes, bits, nanoseconds, cells, percent: None })
    };
    let mut rows = vec![];
    if let Some((option, bytes)) = measured(args)? {
        ensure!(bytes <= u64::from(u32::MAX), "{option}: is more than 4 GiB, which no buffer has");
        let (model, answer) = ("measured".into(), sum(bytes * 8));
        let (assumed, terms) = (vec![], vec![]);
        rows.push(Row { model, max_frame: None, answer, assumed, formula: None, terms });
    }
    let both = [
        (Model::Ieee, "ieee", link),
        (Model::Cisco, "cisco", link),
        // Both sums of the digest: as printed it leaves out one of its own terms.
        (Model::Cisco, "cisco complete", &complete),
        (Model::Sonic, "sonic", link),
        (Model::Mlx5, "mlx5", link),
    ];
    for (model, name, link) in both {
        let (model, max_frame) = (link.estimate(model), Some(link.frame(model).0));
        let (mut formula, mut terms) = (None, vec![]);
        let assumed = model.as_ref().map_or_else(|_| vec![], Estimate::assumed);
        let answer = match model {
            Ok(estimate) => {
                if args.explain {
                    (formula, terms) = (Some(estimate.formula), estimate.terms.clone());
                }
                sum(estimate.bits())
            }
            // One model without an answer does not hide the others.
            Err(error) => Answer::None { refused: error.to_string() },
        };
        rows.push(Row { model: name.into(), max_frame, answer, assumed, formula, terms });
    }
    relate(&mut rows);
    Ok(rows)
}

/// Measured bytes, and the option that they are from.
fn measured(args: &CompareArgs) -> Result<Option<(&'static str, u64)>> {
    if let Some(Size(bytes)) = args.measured {
        ensure!(bytes > 0, "--measured: no link needs 0 bytes; give what was measured");
        return Ok(Some(("--measured", bytes)));
    }
    let Some(path) = &args.measured_from else { return Ok(None) };
    let bytes = read(path, args.link.rate.0)
        .with_context(|| format!("--measured-from {}", path.display()))?;
    Ok(Some(("--measured-from", bytes)))
}

fn read(path: &Path, rate: BitsPerSec) -> Result<u64> {
    let text = std::fs::read(path)?;
    let measurement: Measurement = serde_json::from_slice(&text)
        .map_err(|error| anyhow!(printable::json_error(&error)))
        .context("is not what `sluice headroom measure --format json` prints")?;
    let of_link = BitsPerSec::new(measurement.rate_bps).context("has a rate of 0")?;
    ensure!(
        // The bits of another rate would be compared with models of this one.
        of_link == rate,
        "is of a link of {of_link}, and --rate is {rate}: give the link's rate"
    );
    let why = measurement.failure.map_or(String::new(), |why| format!(": {why}"));
    let headroom = measurement.headroom;
    let bytes = headroom.with_context(|| format!("has no measurement that succeeded{why}"))?.bytes;
    ensure!(bytes > 0, "has a headroom of 0 bytes, which no link needs: measure it again");
    Ok(bytes)
}

/// Relates all sums to the first: the measurement, or the standard's.
fn relate(rows: &mut [Row]) {
    let Some(Answer::Sum(Sum { bytes: base @ 1.., .. })) = rows.first().map(|r| &r.answer) else {
        return;
    };
    let base = *base as f64;
    for row in rows {
        if let Answer::Sum(sum) = &mut row.answer {
            // To tenths of a percent, in JSON as in the table.
            sum.percent = Some((sum.bytes as f64 / base * 1000.0).round() / 10.0);
        }
    }
}

fn text(args: &CompareArgs, rows: &[Row]) -> String {
    use Align::{Left, Right};
    let base = rows.first().map_or("", |row| row.model.as_str());
    let share = format!("of {base}");
    let mut side_by_side = Table::new([
        ("model", Left),
        ("frame", Right),
        ("bytes", Right),
        ("bits", Right),
        ("time", Right),
        ("cells", Right),
        (&share, Right),
    ]);
    let mut refused = String::new();
    let none = || "-".to_owned();
    for row in rows {
        let frame = row.max_frame.map_or_else(none, count);
        let cells = match &row.answer {
            Answer::Sum(sum) => [
                count(sum.bytes),
                count(sum.bits),
                format!("{} ns", count(sum.nanoseconds)),
                sum.cells.map_or_else(none, count),
                sum.percent.map_or_else(none, |p| format!("{p:.1} %")),
            ],
            Answer::None { refused: why } => {
                // Reasons are too long for a cell, so they follow the table.
                refused += &format!("{}: {why}\n", row.model);
                [none(), none(), none(), none(), none()]
            }
        };
        let [bytes, bits, time, cells, percent] = cells;
        side_by_side.row([row.model.clone(), frame, bytes, bits, time, cells, percent]);
    }
    let of_row = |row: &Row| {
        let lines = row.assumed.iter().map(|source| format!("{}: {source}\n", row.model));
        lines.collect::<String>()
    };
    let notes = refused + &rows.iter().map(of_row).collect::<String>();
    let gap = if notes.is_empty() { "" } else { "\n" };
    let sums: String = rows.iter().map(explained).collect();
    format!("{}, {}\n\n{side_by_side}{gap}{notes}{sums}", args.link.rate, args.link.length)
}

/// Explanation of a model's sum, if requested.
fn explained(row: &Row) -> String {
    let sum = |formula| format!("\n{} = {formula}\n\n{}", row.model, table(&row.terms));
    row.formula.map(sum).unwrap_or_default()
}
