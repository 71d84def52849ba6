//! `sluice ctl`: shows or changes a running switch through its control socket.

mod macsec;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Subcommand, ValueEnum};

use super::{Format, bad_input, terminal, verdict};
use crate::config::quantity::Size;
use crate::printable;
use crate::report::{self, Objects};
use crate::stats::DropReason;
use ::text::{Align, Table, count};
use daemon::messages::{Place, PortSecured, PortsFound, Request, SetEcn, SetGroup, SetObject};
use daemon::socket;
use macsec::MacsecArgs;
use results::Summary;

/// Error for a response that cannot be parsed.
const OTHER_VERSION: &str = "the switch is of another version; use --format json";

const EXAMPLES: &str = "\
EXAMPLES:
  sluice ctl show                                  the counters as tables
  sluice ctl show --format json | jq .drops
  sluice ctl set-group port0 3 --xoff 64KiB --dynamic-th -1
  sluice ctl set-ecn port1 3 --kmin 100KB --kmax 400KB --pmax 0.2
  sluice ctl link port1 down
  sluice ctl neighbours                            who is at the other ends (LLDP, DCBX)
  sluice ctl headroom                              what was measured, and what followed
  sluice ctl measure port1                         measure a link again
  sluice ctl macsec                                channels, associations and counters of MACsec
  sluice ctl macsec install port1 --transmit --an 1 --key-file tx1.key --use
  sluice ctl objects sfc                           managed objects of SFC and their values
  sluice ctl get sfcTransmittedSFCMs --port port1 --class 3
  sluice ctl set sfc.queues.threshold 200KB --class 3
  sluice ctl objects --describe                    all objects; needs no switch
  sluice ctl --control /run/sluice/tor.sock stop";

/// Arguments of `sluice ctl`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Control socket of the switch. Default: that of the only switch that runs here.
    #[arg(long, value_name = "PATH", global = true)]
    control: Option<PathBuf>,
    /// Format of results.
    #[arg(long, value_enum, default_value_t, global = true)]
    format: Format,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Show the counters so far.
    Show,
    /// Show the drops so far, by reason.
    Drops,
    /// Change the thresholds of a priority group; options not given stay as they are.
    SetGroup(GroupArgs),
    /// Change the marking curve of a traffic class; options not given stay as they are.
    SetEcn(EcnArgs),
    /// Take a link down or up.
    Link {
        /// Port name or number (from 0).
        port: String,
        /// State of the link.
        state: UpDown,
    },
    /// Show the neighbours that LLDP found, and the settings that DCBX negotiated.
    Neighbours,
    /// Show the automatic headroom of ports, its measurements, and each step.
    Headroom,
    /// Show managed objects of source flow control and congestion isolation, with their values.
    Objects {
        /// Part of their names. Default: all of the enabled features.
        pattern: Option<String>,
        /// Describe the objects instead of showing their values; needs no switch.
        #[arg(long)]
        describe: bool,
    },
    /// Show one managed object, or a table: ci-peer-table, ci-stream-table, sfc-stream-table.
    Get(PlaceArgs),
    /// Set a managed object, until the switch stops.
    Set {
        #[command(flatten)]
        place: PlaceArgs,
        /// Value: true, 6, 100KB, 10us, 75%, [3,4], unset ...
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Show MACsec counters of ports, and manage their keys.
    Macsec {
        #[command(subcommand)]
        what: Option<MacsecArgs>,
    },
    /// Repeat the measurement of a link.
    Measure {
        /// Port name or number (from 0).
        port: String,
    },
    /// Reset counters and peaks to zero.
    Clear,
    /// Remove all learnt addresses.
    FlushFdb,
    /// Stop the switch: it drains and prints its summary.
    Stop,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum UpDown {
    Up,
    Down,
}

#[derive(clap::Args, Debug)]
struct GroupArgs {
    /// Port name or number (from 0).
    port: String,
    /// Priority group, 0 to 7.
    group: u8,
    /// Reserved space of the group, such as 16KiB.
    #[arg(long, value_name = "SIZE")]
    reserved: Option<Size>,
    /// Dynamic threshold: alpha = 2^N times the free part of the shared pool, N = log2(alpha), -8
    /// to 8.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["static_th", "unlimited"])]
    dynamic_th: Option<i8>,
    /// Static threshold: this much of the shared pool.
    #[arg(long, value_name = "SIZE", conflicts_with = "unlimited")]
    static_th: Option<Size>,
    /// No threshold: all of the shared pool.
    #[arg(long)]
    unlimited: bool,
    /// Headroom of a lossless group.
    #[arg(long, value_name = "SIZE")]
    xoff: Option<Size>,
    /// XON if the shared use is at most this ...
    #[arg(long, value_name = "SIZE")]
    xon: Option<Size>,
    /// ... or at most the limit minus this, whichever is higher.
    #[arg(long, value_name = "SIZE")]
    xon_offset: Option<Size>,
}

#[derive(clap::Args, Debug)]
struct EcnArgs {
    /// Port name or number (from 0).
    port: String,
    /// Traffic class, 0 to 7.
    class: u8,
    /// Disable marking.
    #[arg(long, conflicts_with_all = ["kmin", "kmax", "pmax"])]
    off: bool,
    /// Queue length below which no frame is marked.
    #[arg(long, value_name = "SIZE")]
    kmin: Option<Size>,
    /// Queue length above which every frame is marked.
    #[arg(long, value_name = "SIZE")]
    kmax: Option<Size>,
    /// Marking probability just below kmax, 0 to 1.
    #[arg(long, value_name = "P")]
    pmax: Option<f64>,
}

#[derive(clap::Args, Debug)]
struct PlaceArgs {
    /// Name of the object, as in its document.
    name: String,
    /// Port name or number (from 0). Default: all ports.
    #[arg(long)]
    port: Option<String>,
    /// Traffic class, 0 to 7. Default: all.
    #[arg(long)]
    class: Option<u8>,
}

impl TryFrom<What> for Request {
    type Error = anyhow::Error;

    fn try_from(what: What) -> Result<Self> {
        let octets = |size: Option<Size>| size.map(|s| s.0);
        Ok(match what {
            What::Show => Self::Show {},
            What::Drops => Self::Drops {},
            What::SetGroup(g) => Self::SetGroup(SetGroup {
                port: g.port,
                group: g.group,
                reserved: octets(g.reserved),
                dynamic_th: g.dynamic_th,
                static_th: octets(g.static_th),
                unlimited: g.unlimited.then_some(true),
                xoff: octets(g.xoff),
                xon: octets(g.xon),
                xon_offset: octets(g.xon_offset),
            }),
            What::SetEcn(e) => Self::SetEcn(SetEcn {
                port: e.port,
                class: e.class,
                off: e.off,
                kmin: octets(e.kmin),
                kmax: octets(e.kmax),
                pmax: e.pmax,
            }),
            What::Link { port, state } => Self::Link { port, up: state == UpDown::Up },
            What::Neighbours => Self::Neighbours {},
            What::Headroom => Self::Headroom {},
            What::Objects { pattern, .. } => Self::Objects { pattern },
            What::Get(PlaceArgs { name, port, class }) => Self::Get(Place { name, port, class }),
            What::Set { place: PlaceArgs { name, port, class }, value } => {
                Self::Set(SetObject { name, port, class, value })
            }
            What::Macsec { what } => macsec::request(what)?,
            What::Measure { port } => Self::Measure { port },
            What::Clear => Self::Clear {},
            What::FlushFdb => Self::FlushFdb {},
            What::Stop => Self::Stop {},
        })
    }
}

/// Runs `sluice ctl`.
///
/// # Errors
/// Bad input if the switch refuses the request; otherwise no switch could be reached.
pub fn run(args: Args) -> Result<ExitCode> {
    if let What::Objects { pattern, describe: true } = &args.what {
        describe(pattern.as_deref().unwrap_or_default(), args.format)?;
        return Ok(verdict(true));
    }
    let path = args.control.map_or_else(the_only_socket, Ok)?;
    let request = Request::try_from(args.what)?;
    let response = request.send(&path)?;
    if !response.ok {
        let why = response.error.unwrap_or_else(|| "it does not say why".into());
        return Err(bad_input(anyhow::anyhow!("the switch refuses: {why}")));
    }
    let result = response.result.unwrap_or_default();
    match (&request, args.format) {
        (
            Request::Show {}
            | Request::Drops {}
            | Request::Neighbours {}
            | Request::Headroom {}
            | Request::Macsec {},
            Format::Json,
        ) => terminal::print_json(&result)?,
        (Request::Neighbours {} | Request::Headroom {}, Format::Table) => {
            let found: PortsFound = serde_json::from_value(result).context(OTHER_VERSION)?;
            terminal::print(ports_found(&request, &found))?;
        }
        (Request::Objects { .. } | Request::Get(_), format) => {
            let found: Objects = serde_json::from_value(result).context(OTHER_VERSION)?;
            match format {
                Format::Table => terminal::print(report::objects_text(&found))?,
                Format::Json => terminal::print_json(&report::objects_tree(&found))?,
            }
        }
        (Request::Show {}, Format::Table) => {
            let summary: Summary = serde_json::from_value(result).context(OTHER_VERSION)?;
            terminal::print(report::text(&summary, None))?;
        }
        (Request::Macsec {}, Format::Table) => {
            let found: Vec<PortSecured> = serde_json::from_value(result).context(OTHER_VERSION)?;
            terminal::print(macsec::text(&found))?;
        }
        (Request::Drops {}, Format::Table) => terminal::print(drops(&result))?,
        _ => {}
    }
    Ok(verdict(true))
}

/// Prints the descriptions of the objects.
fn describe(pattern: &str, format: Format) -> Result<()> {
    let pattern = pattern.to_lowercase();
    let wanted = |name: &str| name.to_lowercase().contains(&pattern);
    match format {
        Format::Table => terminal::print(report::objects_described(wanted)),
        Format::Json => terminal::print_json(&report::objects_schema(wanted)),
    }
}

/// Formats ports with link protocols as tables.
fn ports_found(request: &Request, found: &PortsFound) -> String {
    let ports = found.ports.iter().map(|port| (port.name.as_str(), &port.agents));
    if matches!(request, Request::Neighbours {}) {
        return report::neighbours_text(ports);
    }
    let mut out = report::headroom_text(ports);
    if found.steps_before > 0 {
        out += &format!("\n{} steps before these\n", count(found.steps_before));
    } else if !found.steps.is_empty() {
        out.push('\n');
    }
    for step in &found.steps {
        let line = format!("{:>10.3} s  {}: {}", step.at_ns as f64 / 1e9, step.port, step.step);
        out += &printable::lines([line]);
    }
    out
}

fn drops(result: &serde_json::Value) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new([("dropped for", Left), ("frames", Right), ("meaning", Left)]);
    for reason in DropReason::ALL {
        if let Some(n) = result[reason.name()].as_u64() {
            table.row([reason.name().into(), count(n), reason.doc().trim().into()]);
        }
    }
    table
}

fn the_only_socket() -> Result<PathBuf> {
    let mut sockets = socket::sockets();
    match sockets.len() {
        0 => bail!("no switch of this user runs here; --control PATH names the socket of another"),
        1 => Ok(sockets.remove(0)),
        _ => {
            let list: Vec<_> = sockets.iter().map(|p| p.display().to_string()).collect();
            Err(bad_input(anyhow::anyhow!(
                "several switches run here; pick one with --control: {}",
                list.join(", ")
            )))
        }
    }
}
