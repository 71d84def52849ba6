//! `sluice headroom sensitivity`: the effect of errors of a measured delay on the headroom.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::inputs::cell;
use super::options::{IeeeArgs, Shared};
use crate::cli::{Format, bad_input, terminal};
use crate::config::quantity::{Length, LinkRate, Size, Span};
use crate::headroom::models::ieee;
use crate::headroom::{DelayInputs, Effect, Frames, Term};
use crate::printable;
use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes};
use ::text::{Align, Table, count, delay as time};
use ground::statistics::Statistics;

const EXAMPLES: &str = "\
EXAMPLES:
  sluice headroom sensitivity --rate 100G                               the table of the P802.1Qdt proposal
  sluice headroom sensitivity --rate 400G --length 3m,2km --error 1ns,1us
  sluice headroom sensitivity --rate 100G --fec rs --max-frame 9216 --cell 208
  sluice headroom sensitivity --from link.json                          errors that a measurement had

link.json is what `sluice headroom measure --format json` printed.

An error of t4 - t1 is an error of the headroom: bytes at the link's rate, cells that they take in
addition (0 if the last cell of the headroom has room for them), percent of the headroom, and, as the
proposal asks for, pause quanta and longest frames.";

/// Cell size of the example in the proposal.
const CELL: Size = Size(160);

/// Calculate the effect of errors of a measured delay on the headroom.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct SensitivityArgs {
    /// Link rate, such as 100G.
    #[arg(long, required_unless_present = "from")]
    rate: Option<LinkRate>,
    /// Cable lengths, one way.
    #[arg(long, value_name = "LENGTH,..", value_delimiter = ',', default_value = "500m,100m,20m")]
    length: Vec<Length>,
    /// Errors of the measured delay, t4 - t1.
    #[arg(long, value_name = "TIME,..", value_delimiter = ',', default_value = "10ns,100ns")]
    error: Vec<Span>,
    /// Errors and headroom of a measurement, from the output of `sluice headroom measure --format
    /// json`, instead of those above.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "length", "error", "max_frame",
        "delay_per_metre", "reaction_delay", "phy", "fec", "extender", "interface_delay", "macsec"])]
    from: Option<PathBuf>,
    /// Cell size of the buffer. Default: 160 bytes, as in the proposal.
    #[arg(long, value_name = "SIZE")]
    cell: Option<Size>,
    #[command(flatten)]
    shared: Shared,
    /// Format of the result on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    ieee: IeeeArgs,
}

/// Effect of one error on one headroom.
#[derive(Serialize)]
struct Row {
    /// The link, or the measurement by its number.
    link: String,
    /// Parts of the calculated headroom.
    #[serde(flatten)]
    parts: Option<Parts>,
    headroom_bits: u64,
    headroom_bytes: u64,
    /// Name of the error; `given` for those of the arguments.
    error: &'static str,
    error_ns: f64,
    cell: u32,
    #[serde(flatten)]
    effect: Effect,
}

/// Parts of a headroom as in the proposal's table, in bits.
#[derive(Clone, Copy, Serialize)]
struct Parts {
    fixed_bits: u64,
    internal_bits: u64,
    medium_bits: u64,
}

/// The used part of a measurement's result.
#[derive(Deserialize)]
struct Measured {
    method: String,
    rate_bps: u64,
    max_frame: u64,
    measurements: Vec<Measurement>,
}

#[derive(Deserialize)]
struct Measurement {
    uncertainty_ns: f64,
    delay_ns: Statistics<f64>,
    headroom: Sum,
}

#[derive(Deserialize)]
struct Sum {
    bits: u64,
}

/// Calculates and prints.
///
/// # Errors
/// An invalid argument, or a file that is no measurement.
pub fn run(args: &SensitivityArgs) -> Result<ExitCode> {
    let rows = match &args.from {
        Some(path) => {
            from_measurement(args, path).with_context(|| format!("--from {}", path.display()))
        }
        None => from_arguments(args),
    };
    let rows = rows.map_err(bad_input)?;
    match args.format {
        Format::Json => terminal::print_json(&rows)?,
        Format::Table => terminal::print(text(&rows))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A headroom for which errors are calculated.
struct Base {
    link: String,
    rate: BitsPerSec,
    frames: Frames,
    bits: u64,
    parts: Option<Parts>,
    cell: u32,
}

impl Base {
    fn row(&self, error: &'static str, span: Duration) -> Row {
        Row {
            link: self.link.clone(),
            parts: self.parts,
            headroom_bits: self.bits,
            headroom_bytes: self.bits.div_ceil(8),
            error,
            error_ns: span.as_nanos_f64(),
            cell: self.cell,
            effect: Effect::of(span, self.rate, self.frames, self.bits, Some(self.cell)),
        }
    }
}

fn cell_of(args: &SensitivityArgs) -> Result<u32> {
    Ok(cell(args.cell.or(Some(CELL)))?.expect("it has a default"))
}

fn from_arguments(args: &SensitivityArgs) -> Result<Vec<Row>> {
    let LinkRate(rate) = args.rate.expect("clap asks for it");
    let cell = cell_of(args)?;
    let mut rows = vec![];
    for length in &args.length {
        let estimate =
            args.ieee.inputs(rate, length.0, args.shared).and_then(|i| ieee::estimate(&i));
        let estimate = estimate.map_err(|e| anyhow!("--{}: {e}", e.field()))?;
        let max_frame = args.shared.max_frame.map_or(DelayInputs::MAX_FRAME, |Size(n)| Bytes(n));
        let base = Base {
            link: format!("{}, {length}", LinkRate(rate)),
            rate,
            frames: Frames::up_to(max_frame),
            bits: estimate.bits(),
            parts: Some(Parts::of(&estimate.terms)),
            cell,
        };
        for Span(error) in &args.error {
            // A limit far above any delay of a link.
            ensure!(*error <= Duration::from_secs(1), "--error: is longer than a second");
            rows.push(base.row("given", *error));
        }
    }
    Ok(rows)
}

impl Parts {
    /// Splits the terms of the delay value as the proposal's table does.
    fn of(terms: &[Term]) -> Self {
        let is_fixed = |t: &Term| {
            // By name, since terms have no kinds.
            ["frame begun", "PFC frame", "MACsec on"].iter().any(|name| t.name.starts_with(name))
        };
        let is_medium = |t: &Term| t.name == "cable both ways";
        let sum = |of: &dyn Fn(&Term) -> bool| {
            terms.iter().filter(|t| of(t)).map(|t| t.bits.unsigned_abs()).sum()
        };
        Self {
            fixed_bits: sum(&is_fixed),
            internal_bits: sum(&|t| !is_fixed(t) && !is_medium(t)),
            medium_bits: sum(&is_medium),
        }
    }
}

fn from_measurement(args: &SensitivityArgs, path: &Path) -> Result<Vec<Row>> {
    let text = std::fs::read(path)?;
    let measured: Measured = serde_json::from_slice(&text)
        .map_err(|error| anyhow!(printable::json_error(&error)))
        .context("is not what `sluice headroom measure --format json` prints")?;
    let rate = BitsPerSec::new(measured.rate_bps).context("a rate of 0")?;
    ensure!(!measured.measurements.is_empty(), "has no measurement that succeeded");
    // A file may have been edited: the numbers are checked as those of arguments are.
    ensure!((64..=65_535).contains(&measured.max_frame), "max_frame is not 64 to 65535");
    let cell = cell_of(args)?;
    // The path delay of PTP is that of one direction.
    let directions = if measured.method == "ptp" { 2.0 } else { 1.0 };
    let mut rows = vec![];
    for (n, m) in measured.measurements.iter().enumerate() {
        ensure!(m.headroom.bits > 0, "a headroom of 0");
        let base = Base {
            link: format!("measurement {}", n + 1),
            rate,
            frames: Frames::up_to(Bytes(measured.max_frame)),
            bits: m.headroom.bits,
            parts: None,
            cell,
        };
        let delay = &m.delay_ns;
        for (name, ns) in [
            ("uncertainty", m.uncertainty_ns),
            ("max - min", delay.max - delay.min),
            ("max - mean", delay.max - delay.mean),
            ("p99 - p50", delay.p99 - delay.p50),
        ] {
            ensure!((0.0..=1e9).contains(&ns), "{name} is {ns} ns");
            // The headroom has both directions, so an error of one counts twice.
            let picos = (ns * directions * 1e3).round() as u64;
            rows.push(base.row(name, Duration::from_picos(picos)));
        }
    }
    Ok(rows)
}

fn text(rows: &[Row]) -> String {
    use Align::{Left, Right};
    let calculated = rows.iter().any(|row| row.parts.is_some());
    let mut heads = vec![("link", Left)];
    if calculated {
        heads.extend([("fixed", Right), ("internal", Right), ("medium", Right)]);
    } else {
        heads.push(("error", Left));
    }
    heads.extend([("headroom", Right), ("error of delay", Right), ("bytes", Right)]);
    heads.extend([("cells", Right), ("percent", Right), ("quanta", Right), ("frames", Right)]);
    let mut table = Table::new(heads);
    for row in rows {
        let mut cells = vec![row.link.clone()];
        match row.parts {
            Some(parts) => {
                cells.extend([parts.fixed_bits, parts.internal_bits, parts.medium_bits].map(count));
            }
            None => cells.push(row.error.into()),
        }
        let effect = &row.effect;
        cells.extend([
            format!("{} B", count(row.headroom_bytes)),
            time(row.error_ns),
            count(effect.bytes),
            effect.cells.map_or("-".into(), count),
            format!("{:.3} %", effect.percent),
            format!("{:.2}", effect.accuracy.quanta),
            format!("{:.3}", effect.accuracy.max_frames),
        ]);
        table.row(cells);
    }
    let cell = rows.first().map_or(0, |row| row.cell);
    let parts = if calculated { "fixed, internal and medium in bits, " } else { "" };
    format!("{parts}cells of {cell} B\n\n{table}")
}
