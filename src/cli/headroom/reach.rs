//! `sluice headroom reach`: the longest cable that a headroom suffices for.

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::Args;
use serde::Serialize;

use super::inputs::cell;
use super::options::{IeeeArgs, MacsecOverhead, PhyChoice, Shared, SoftwareArgs};
use crate::cli::{Format, bad_input, terminal};
use crate::config::quantity::{LinkRate, Size};
use crate::headroom::Fec;
use crate::headroom::Phy;
use crate::headroom::models::ieee::{self, Buffer};
use crate::headroom::models::{ModelError, Reach, reach};
use crate::units::Bytes;
use ::text::{Column, Table, columns, count, scaled};

const EXAMPLES: &str = "\
EXAMPLES:
  sluice headroom reach --headroom 42096B --rate 100G                  every PHY, FEC and MACsec of 100G
  sluice headroom reach --headroom 200KB                               of all rates
  sluice headroom reach --headroom 60KB --rate 100G --fec rs --macsec 32
  sluice headroom reach --headroom 400KB --rate 400G --max-frame 9216 --cell 208

This is `sluice headroom calc --model ieee` solved for the length. An option narrows the rows to the
links that have it; without --phy, --fec and --macsec there is a row for each.";

/// Calculate the longest cable that a headroom suffices for.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ReachArgs {
    /// Headroom of a lossless group, such as 42KB.
    #[arg(long, value_name = "SIZE")]
    headroom: Size,
    /// Link rate, such as 100G. Default: that of --phy, or all with a delay table.
    #[arg(long)]
    rate: Option<LinkRate>,
    /// Cell size of the buffer: the headroom is then that of a Sluice switch, as in `sluice check`.
    #[arg(long, value_name = "SIZE")]
    cell: Option<Size>,
    #[command(flatten)]
    shared: Shared,
    /// Format of the result on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    ieee: IeeeArgs,
    #[command(flatten)]
    software: SoftwareArgs,
}

/// One kind of link and its longest cable.
#[derive(Serialize)]
struct Row {
    rate_bps: u64,
    phy: String,
    fec: &'static str,
    /// `none`, `data`, or `data and PFC`.
    macsec: &'static str,
    /// Bytes that MACsec adds to a frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    macsec_octets: Option<u64>,
    /// Headroom that the link needs without a cable.
    needed_without_cable: u64,
    /// Longest cable of the PHY in metres; missing without a PHY.
    #[serde(skip_serializing_if = "Option::is_none")]
    phy_metres: Option<f64>,
    /// Longest cable in metres, at most that of the PHY; missing if the headroom does not suffice for any,
    /// and 1,000,000 if it suffices for all that the model accepts.
    #[serde(skip_serializing_if = "Option::is_none")]
    metres: Option<f64>,
    /// Sources of assumed values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assumed: Vec<&'static str>,
}

/// Calculates and prints.
///
/// # Errors
/// An invalid argument.
pub fn run(args: &ReachArgs) -> Result<ExitCode> {
    let rows = rows(args).map_err(bad_input)?;
    match args.format {
        Format::Json => terminal::print_json(&rows)?,
        Format::Table => terminal::print(text(args, &rows))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// MACsec of a row: its overhead, and if PFC frames are protected too.
type Secured = (Option<MacsecOverhead>, bool);

fn rows(args: &ReachArgs) -> Result<Vec<Row>> {
    let given = &args.ieee;
    // Without a choice all combinations are tried, and those that do not exist are left out.
    let fecs = given.fec.map_or(vec![Fec::None, Fec::BaseR, Fec::Rs], |fec| vec![fec]);
    let secured: Vec<Secured> = match given.macsec {
        Some(octets) => vec![(Some(octets), given.macsec_pfc)],
        None => {
            let sci = Some(MacsecOverhead::Sci);
            vec![(None, false), (Some(MacsecOverhead::NoSci), false), (sci, false), (sci, true)]
        }
    };
    cell(args.cell)?;
    let mut rows = vec![];
    let mut refused = None;
    for phy in phys(args)? {
        for fec in &fecs {
            for &(macsec, macsec_pfc) in &secured {
                let (phy, fec) = (Some(phy), Some(*fec));
                let link = IeeeArgs { phy, fec, macsec, macsec_pfc, ..given.clone() };
                match row(args, &link) {
                    Ok(row) => rows.push(row),
                    // This PHY does not have this FEC or extender.
                    Err(error @ ModelError::Interface(_)) => refused = Some(error),
                    Err(error) => return Err(named(&error)),
                }
            }
        }
    }
    match refused {
        // A combination that does not exist is an error only if no other one is left.
        Some(error) if rows.is_empty() => Err(named(&error)),
        _ => Ok(rows),
    }
}

fn named(error: &ModelError) -> anyhow::Error {
    anyhow!("--{}: {error}", error.field())
}

/// The PHYs of the rows.
fn phys(args: &ReachArgs) -> Result<Vec<PhyChoice>> {
    let all = || Phy::ALL.into_iter().map(PhyChoice::Of);
    match (args.ieee.phy, args.rate) {
        (Some(PhyChoice::None), None) => Err(anyhow!("--phy: a link without one needs its --rate")),
        (Some(choice), _) => Ok(vec![choice]),
        (None, None) => Ok(all().collect()),
        (None, Some(LinkRate(rate))) => {
            let of_rate: Vec<_> = Phy::ALL.into_iter().filter(|phy| phy.rate() == rate).collect();
            match of_rate[..] {
                [] => Err(named(&ModelError::NoTable(rate))),
                _ => Ok(of_rate.into_iter().map(PhyChoice::Of).collect()),
            }
        }
    }
}

fn row(args: &ReachArgs, link: &IeeeArgs) -> Result<Row, ModelError> {
    let rate = match (args.rate, link.phy) {
        (Some(LinkRate(rate)), _) => rate,
        (None, Some(PhyChoice::Of(phy))) => phy.rate(),
        (None, _) => unreachable!("a link without a PHY has its rate"),
    };
    let software = args.software.terms();
    let buffer = args.cell.map(|Size(cell)| Buffer { cell: cell as u32, software });
    // A length of 0: the cable is what is searched for.
    let inputs = ieee::Inputs { buffer, ..link.inputs(rate, 0, args.shared)? };
    let interface = inputs.interface;
    let metres = match reach(&inputs, Bytes(args.headroom.0))? {
        Reach::None { .. } => None,
        Reach::UpTo { length_mm } => Some(length_mm as f64 / 1e3),
        // 1000 km, the longest that the model accepts.
        Reach::Unlimited => Some(1e6),
    };
    let phy_metres = interface.phy().longest_m().map(|metres| metres as f64);
    // A longer cable than the PHY's own would have no link.
    let metres = metres.map(|metres: f64| phy_metres.map_or(metres, |most| metres.min(most)));
    let estimate = ieee::estimate(&inputs)?;
    Ok(Row {
        rate_bps: rate.get(),
        phy: match interface.phy() {
            Phy::Virtual(_) => "none".into(),
            phy => phy.to_string(),
        },
        fec: link.fec.unwrap_or(Fec::None).name(),
        macsec: match inputs.macsec {
            None => "none",
            Some(macsec) if macsec.protects_pfc => "data and PFC",
            Some(_) => "data",
        },
        macsec_octets: inputs.macsec.map(|macsec| macsec.octets().0),
        needed_without_cable: estimate.bytes().0,
        phy_metres,
        metres,
        assumed: estimate.assumed(),
    })
}

fn text(args: &ReachArgs, rows: &[Row]) -> String {
    let columns: [Column<Row>; 6] = columns! { row =>
        Made ["rate"] = scaled(row.rate_bps as f64, "b/s");
        Text ["PHY"] = &*row.phy;
        Text ["FEC"] = row.fec;
        Made ["MACsec"] = match row.macsec_octets {
            Some(n) => format!("{}, {n} B", row.macsec),
            None => row.macsec.to_owned(),
        };
        Printed ["without cable"] = format!("{} B", count(row.needed_without_cable));
        Printed ["longest cable"] = match row.metres {
            None => "none".into(),
            Some(metres) if metres >= 1e6 => "1000 km or more".into(),
            // Equal only if it was limited by the PHY above.
            Some(metres) if Some(metres) == row.phy_metres => format!("{metres} m, all of the PHY"),
            Some(metres) => format!("{metres:.3} m"),
        };
    };
    let table = Table::of(rows, &columns);
    let notes = rows
        .iter()
        .flat_map(|row| row.assumed.iter().map(|source| format!("{}: {source}\n", row.phy)));
    // One line for each PHY, which has a row for each FEC and MACsec.
    let mut notes: Vec<String> = notes.collect();
    notes.dedup();
    let gap = if notes.is_empty() { "" } else { "\n" };
    format!("headroom {} B\n\n{table}{gap}{}", count(args.headroom.0), notes.concat())
}
