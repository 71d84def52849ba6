//! `sluice headroom calc`: the headroom of a link by one model, term by term.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Command, FromArgMatches};
use serde::Serialize;

use super::inputs::LinkArgs;
use crate::cli::{Format, bad_input, terminal};
use crate::headroom::Term;
use crate::headroom::models::{Estimate, Model};
use crate::units::Bytes;
use ::text::{Align, Table, count};

const EXAMPLES: &str = "\
EXAMPLES:
  sluice headroom calc --model ieee --rate 100G --length 100m               IEEE 802.1Q Annex N
  sluice headroom calc --model ieee --rate 100G --length 100m --explain     with every term
  sluice headroom calc --model ieee --rate 100G --length 2km --fec rs --cell 208
  sluice headroom calc --model ieee --rate 100G --length 3m --macsec 32
  sluice headroom calc --model cisco --rate 10G --length 300m --complete
  sluice headroom calc --model sonic --asic spectrum4 --rate 400G --length 9m
  sluice headroom calc --model mlx5 --rate 100G --length 7m --format json

Models: ieee, the delay value of the standard; cisco, five factors, as printed or complete; sonic, the
dynamic model of SONiC's switches (its headroom is xoff); mlx5, Linux's driver of ConnectX NICs.";

/// Calculate the headroom of a link by one model.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CalcArgs {
    /// Headroom model.
    #[arg(long, value_enum)]
    model: Model,
    /// Show the terms of the sum with their sources.
    #[arg(long)]
    explain: bool,
    /// Format of the result on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    link: LinkArgs,
}

/// Result as JSON: bytes and bits, the terms, and named values of the model.
#[derive(Serialize)]
struct View {
    model: String,
    bits: u64,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<u64>,
    formula: &'static str,
    terms: Vec<Term>,
    #[serde(flatten)]
    figures: BTreeMap<&'static str, u64>,
    /// Sources of assumed values, which the terms have as well.
    #[serde(skip)]
    assumed: Vec<&'static str>,
}

impl View {
    fn new(estimate: &Estimate, cell: Option<u32>) -> Self {
        Self {
            model: estimate.model.to_string(),
            bits: estimate.bits(),
            bytes: estimate.bytes().0,
            cell,
            cells: cell.map(|cell| estimate.cells(cell)),
            formula: estimate.formula,
            terms: estimate.terms.clone(),
            assumed: estimate.assumed(),
            figures: estimate.figures.iter().map(|(name, Bytes(n))| (*name, *n)).collect(),
        }
    }
}

fn view(args: &CalcArgs) -> Result<View> {
    let model = args.model;
    // An option of another model would have no effect on the estimate.
    args.link.refuse_others(model)?;
    Ok(View::new(&args.link.estimate(model)?, args.link.cell()?))
}

/// Calculates as `sluice headroom calc` does with these arguments; returns the JSON of `--format json`.
///
/// # Errors
/// A sentence about an invalid argument.
pub fn calculate(arguments: &[String]) -> Result<String, String> {
    let command = Command::new("calc").no_binary_name(true).disable_help_flag(true);
    let found = CalcArgs::augment_args(command).try_get_matches_from(arguments);
    let parsed = found.and_then(|found| CalcArgs::from_arg_matches(&found)).map_err(|error| {
        // The lines before the first empty one are the error, those behind it the usage.
        let text = error.to_string();
        let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
        lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
    })?;
    let view = view(&parsed).map_err(|error| format!("{error:#}"))?;
    serde_json::to_string(&view).map_err(|error| error.to_string())
}

/// Calculates and prints.
///
/// # Errors
/// An invalid argument.
pub fn run(args: &CalcArgs) -> Result<ExitCode> {
    let view = view(args).map_err(bad_input)?;
    match args.format {
        Format::Json => terminal::print_json(&view)?,
        Format::Table => terminal::print(text(args, &view))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn text(args: &CalcArgs, view: &View) -> String {
    let (link, model) = (&args.link, args.model);
    let (rate, length, frame) = (link.rate, link.length, link.frame(model).0);
    let mut out = format!("{model}: {rate}, {length}, frames to {frame} B\n");
    out += &format!("headroom: {} B, {} bits", count(view.bytes), count(view.bits));
    if let (Some(cells), Some(cell)) = (view.cells, view.cell) {
        out += &format!(", {} cells of {cell} B", count(cells));
    }
    out.push('\n');
    for (name, octets) in &view.figures {
        out += &format!("{}: {} B\n", name.replace('_', " "), count(*octets));
    }
    for source in &view.assumed {
        out += &format!("{source}\n");
    }
    if args.explain {
        out += &format!("\n= {}\n\n{}", view.formula, table(&view.terms));
    }
    out
}

/// A sum as a table.
pub(super) fn table(terms: &[Term]) -> Table {
    use Align::{Left, Right};
    let mut table =
        Table::new([("term", Left), ("bits", Right), ("bytes", Right), ("source", Left)]);
    for t in terms {
        let sign = if t.bits < 0 { "-" } else { "" };
        let n = t.bits.unsigned_abs();
        let [bits, octets] = [count(n), octets(n)].map(|n| format!("{sign}{n}"));
        table.row([t.name.into(), bits, octets, t.source.into()]);
    }
    // Adjustments may be negative, a headroom is not.
    let sum = terms.iter().map(|t| t.bits).sum::<i64>().max(0) as u64;
    table.row(["sum".into(), count(sum), octets(sum), String::new()]);
    table
}

/// Formats bits as bytes, with eighths if there are any.
fn octets(bits: u64) -> String {
    let eighths = bits % 8;
    // An eighth is .125, so three digits are exact.
    let rest = if eighths == 0 { String::new() } else { format!(".{:03}", eighths * 125) };
    count(bits / 8) + &rest
}
