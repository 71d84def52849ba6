//! `sluice ctl`: looks at a running switch, or changes it, through its control socket.

mod macsec;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Subcommand, ValueEnum};
use zeroize::Zeroizing;

use super::control::{
    Place, PortSecured, PortsFound, Request, Response, SetEcn, SetGroup, SetObject,
};
use super::{Format, bad_input, terminal, verdict};
use crate::config::quantity::Size;
use crate::printable;
use crate::report::{self, Objects, Summary};
use crate::runtime::control;
use crate::stats::DropReason;
use macsec::MacsecArgs;

/// Where an answer cannot be read.
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
    /// The control socket of the switch. Default: that of the only switch that runs here.
    #[arg(long, value_name = "PATH", global = true)]
    control: Option<PathBuf>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t, global = true)]
    format: Format,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// The counters until now.
    Show,
    /// The drops until now, by reason.
    Drops,
    /// Change the thresholds of a priority group; what is left out stays.
    SetGroup(GroupArgs),
    /// Change the marking curve of a traffic class; what is left out stays.
    SetEcn(EcnArgs),
    /// Take a link down or up.
    Link {
        /// The port's name, or its number counted from 0.
        port: String,
        /// What it is to be.
        state: UpDown,
    },
    /// Who is at the other ends of the links, by LLDP, and what DCBX came to.
    Neighbours,
    /// How ports found their headroom, what was measured, and each step.
    Headroom,
    /// Managed objects of source flow control and congestion isolation, with their values.
    Objects {
        /// Those with this in their names. Default: all of the features that are on.
        pattern: Option<String>,
        /// Say what objects there are instead of what they are; needs no switch.
        #[arg(long)]
        describe: bool,
    },
    /// One managed object, or a table: ci-peer-table, ci-stream-table, sfc-stream-table.
    Get(PlaceArgs),
    /// Give a managed object another value, until the switch stops.
    Set {
        #[command(flatten)]
        place: PlaceArgs,
        /// The value: true, 6, 100KB, 10us, 75%, [3,4], unset ...
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// MACsec of ports: what it counted, and keys for it.
    Macsec {
        #[command(subcommand)]
        what: Option<MacsecArgs>,
    },
    /// Measure a link again, now.
    Measure {
        /// The port's name, or its number counted from 0.
        port: String,
    },
    /// Start counters and peaks again from zero.
    Clear,
    /// Forget the learnt addresses.
    FlushFdb,
    /// Stop the switch: it drains, and prints its summary.
    Stop,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum UpDown {
    Up,
    Down,
}

#[derive(clap::Args, Debug)]
struct GroupArgs {
    /// The port's name, or its number counted from 0.
    port: String,
    /// The priority group, 0 to 7.
    group: u8,
    /// Guaranteed to the group alone, such as 16KiB.
    #[arg(long, value_name = "SIZE")]
    reserved: Option<Size>,
    /// The group may use alpha = 2^N times what the shared pool has free: N is log2(alpha), -8 to 8.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["static_th", "unlimited"])]
    dynamic_th: Option<i8>,
    /// The group may use this much of the shared pool.
    #[arg(long, value_name = "SIZE", conflicts_with = "unlimited")]
    static_th: Option<Size>,
    /// The group may use all of the shared pool.
    #[arg(long)]
    unlimited: bool,
    /// Headroom of a lossless group.
    #[arg(long, value_name = "SIZE")]
    xoff: Option<Size>,
    /// XON when shared use is at most this ...
    #[arg(long, value_name = "SIZE")]
    xon: Option<Size>,
    /// ... or at most this far below the limit, whichever is higher.
    #[arg(long, value_name = "SIZE")]
    xon_offset: Option<Size>,
}

#[derive(clap::Args, Debug)]
struct EcnArgs {
    /// The port's name, or its number counted from 0.
    port: String,
    /// The traffic class, 0 to 7.
    class: u8,
    /// Mark nothing any more.
    #[arg(long, conflicts_with_all = ["kmin", "kmax", "pmax"])]
    off: bool,
    /// Queue length below which nothing is marked.
    #[arg(long, value_name = "SIZE")]
    kmin: Option<Size>,
    /// Queue length above which every frame is marked.
    #[arg(long, value_name = "SIZE")]
    kmax: Option<Size>,
    /// The probability just below kmax, 0 to 1.
    #[arg(long, value_name = "P")]
    pmax: Option<f64>,
}

#[derive(clap::Args, Debug)]
struct PlaceArgs {
    /// The object's name, as its document has it.
    name: String,
    /// The port's name, or its number counted from 0. Default: all ports.
    #[arg(long)]
    port: Option<String>,
    /// The traffic class, 0 to 7. Default: all.
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

/// Bytes that are set aside for a request: more than one with a key has.
const LINE: usize = 8_192;

/// Runs `sluice ctl`.
///
/// # Errors
/// Bad input when the switch refuses; else no switch could be asked.
pub fn run(args: Args) -> Result<ExitCode> {
    if let What::Objects { pattern, describe: true } = &args.what {
        describe(pattern.as_deref().unwrap_or_default(), args.format)?;
        return Ok(verdict(true));
    }
    let path = args.control.map_or_else(the_only_socket, Ok)?;
    let request = Request::try_from(args.what)?;
    // It may have a key in it, and then fits without being moved.
    let mut line = Zeroizing::new(Vec::with_capacity(LINE));
    serde_json::to_writer(&mut *line, &request)?;
    let answer = control::ask(&path, std::str::from_utf8(&line)?).with_context(|| {
        format!(
            "{}: no switch answers; is it running, and as this user?",
            printable::excerpt(&path.display().to_string())
        )
    })?;
    let response: Response =
        serde_json::from_str(&answer).with_context(|| format!("an odd answer: {answer}"))?;
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

/// What objects there are.
fn describe(pattern: &str, format: Format) -> Result<()> {
    let pattern = pattern.to_lowercase();
    let wanted = |name: &str| name.to_lowercase().contains(&pattern);
    match format {
        Format::Table => terminal::print(report::objects_described(wanted)),
        Format::Json => terminal::print_json(&report::objects_schema(wanted)),
    }
}

/// Ports with agents as tables.
fn ports_found(request: &Request, found: &PortsFound) -> String {
    let ports = found.ports.iter().map(|port| (port.name.as_str(), &port.agents));
    if matches!(request, Request::Neighbours {}) {
        return report::neighbours_text(ports);
    }
    let mut out = report::headroom_text(ports);
    if found.steps_before > 0 {
        out += &format!("\n{} steps before these\n", report::count(found.steps_before));
    } else if !found.steps.is_empty() {
        out.push('\n');
    }
    for step in &found.steps {
        let line = format!("{:>10.3} s  {}: {}", step.at_ns as f64 / 1e9, step.port, step.step);
        out += &printable::lines([line]);
    }
    out
}

fn drops(result: &serde_json::Value) -> report::Table {
    use report::Align::{Left, Right};
    let mut table =
        report::Table::new([("dropped for", Left), ("frames", Right), ("meaning", Left)]);
    for reason in DropReason::ALL {
        if let Some(n) = result[reason.name()].as_u64() {
            table.row([reason.name().into(), report::count(n), reason.doc().trim().into()]);
        }
    }
    table
}

fn the_only_socket() -> Result<PathBuf> {
    let mut sockets = control::sockets();
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
