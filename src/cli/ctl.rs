//! `sluice ctl`: shows or changes a running switch through its control socket.

mod macsec;
mod measured;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Subcommand, ValueEnum};

use super::outputs::{Outputs, has_folder};
use super::{Format, bad_input, quoted, terminal, verdict};
use crate::printable;
use crate::report::{self, Measurements, Objects};
use crate::stats::Drops;
use crate::switch::managed::Object;
use ::text::count;
use daemon::messages::{
    About, Place, PortSecured, PortsFound, Request, SetEcn, SetGroup, SetObject,
};
use daemon::socket;
use macsec::MacsecArgs;
use results::Summary;

/// Error for a response that cannot be parsed.
const OTHER_VERSION: &str = "the switch is of another version; use --format json";

/// Time over which `show` measures rates.
const RATES_OVER: std::time::Duration = std::time::Duration::from_secs(1);

const EXAMPLES: &str = "\
EXAMPLES:
  sluice ctl show                                  the counters as tables
  sluice ctl show --format json | jq .drops
  sluice ctl set-group port0 3 --xoff 64KiB --dynamic-th -1
  sluice ctl set-ecn port1 3 --kmin 100KB --kmax 400KB --pmax 20%
  sluice ctl link port1 down
  sluice ctl neighbours                            who is at the other ends (LLDP, DCBX)
  sluice ctl headroom                              what was measured, and what followed
  sluice ctl measure port1                         measure a link again
  sluice ctl macsec                                channels, associations and counters of MACsec
  sluice ctl macsec install port1 --transmit --an 1 --key-file tx1.key --use
  sluice ctl objects sfc                           managed objects of SFC and their values
  sluice ctl get sfcTransmittedSFCMs --port port1 --class 3
  sluice ctl set sfc.queues.threshold 200KB --class 3
  sluice ctl create sfc --settings '{queues: {3: {threshold: 100KB}}}'
  sluice ctl delete sfc --port port1               no point at this port
  sluice ctl save running.yaml                     the running configuration as a switch file
  sluice ctl objects --describe                    all objects; needs no switch
  sluice ctl measurements port1 --hgrm port1.hgrm  what was measured so far, and its distribution
  sluice ctl watch                                 notifications as they come
  sluice ctl yang                                  all objects as data of YANG modules (RFC 7951)
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
    /// Show the counters so far, and the rates of a second.
    Show,
    /// Show the version of the switch, and the memory that it uses.
    About,
    /// Show the drops so far, by reason.
    Drops,
    /// Change the thresholds of a priority group.
    ///
    /// Options that are not given stay as they are.
    SetGroup(SetGroup),
    /// Change the marking curve of a traffic class.
    ///
    /// Options that are not given stay as they are.
    SetEcn(SetEcn),
    /// Take a link down or up.
    Link {
        /// Port name or number (from 0).
        port: String,
        /// State of the link.
        state: UpDown,
    },
    /// Show the neighbours that LLDP found, and DCBX's settings.
    Neighbours,
    /// Show the automatic headroom of ports, and each step to it.
    Headroom,
    /// Show managed objects with their values.
    ///
    /// Those of source flow control and of congestion isolation, where they are enabled.
    Objects {
        /// Part of their names. Default: all of the enabled features.
        pattern: Option<String>,
        /// Describe the objects instead of showing their values; needs no switch.
        #[arg(long)]
        describe: bool,
    },
    /// Show one managed object, or a table.
    ///
    /// The tables are sfc-stream-table, sfc-proxy-stream-table, sfc-proxy-cache, ci-peer-table and
    /// ci-stream-table.
    Get(Place),
    /// Print all managed objects as data of YANG modules (RFC 7951).
    Yang {
        /// Write the modules of Sluice to this folder instead; needs no switch.
        #[arg(long, value_name = "FOLDER")]
        modules: Option<PathBuf>,
    },
    /// Show the measurements of links that ended, with percentiles.
    Measurements(measured::MeasurementsArgs),
    /// Show notifications as they come.
    ///
    /// They are about measurements, their consequences, and objects that were set.
    Watch(measured::WatchArgs),
    /// Set a managed object until the switch stops.
    Set(SetObject),
    /// Create the points or the proxy of source flow control.
    ///
    /// They last until the switch stops.
    Create {
        /// `sfc` or `sfc_proxy`.
        section: String,
        /// Create the point of this port alone: a name or a number (from 0).
        #[arg(long)]
        port: Option<String>,
        /// Settings of the section as in a switch file, such as '{queues: {3: {threshold: 100KB}}}'.
        #[arg(long, value_name = "YAML", conflicts_with = "port")]
        settings: Option<String>,
    },
    /// Delete the points or the proxy of source flow control.
    ///
    /// The switch file has them again at the next start.
    Delete {
        /// `sfc` or `sfc_proxy`.
        section: String,
        /// Delete the point of this port alone: a name or a number (from 0).
        #[arg(long)]
        port: Option<String>,
    },
    /// Write the running configuration to a switch file.
    Save {
        /// File, in the folder of the switch file if that names others. Default: the output.
        file: Option<PathBuf>,
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

impl TryFrom<What> for Request {
    type Error = anyhow::Error;

    fn try_from(what: What) -> Result<Self> {
        Ok(match what {
            What::Show => Self::Show {},
            What::About => Self::About {},
            What::Drops => Self::Drops {},
            What::SetGroup(mut set) => {
                // The parser has false for an absent flag; the message leaves it out.
                set.unlimited = set.unlimited.filter(|unlimited| *unlimited);
                Self::SetGroup(set)
            }
            What::SetEcn(set) => Self::SetEcn(set),
            What::Link { port, state } => Self::Link { port, up: state == UpDown::Up },
            What::Neighbours => Self::Neighbours {},
            What::Headroom => Self::Headroom {},
            What::Objects { pattern, .. } => Self::Objects { pattern },
            What::Get(place) => Self::Get(place),
            What::Set(set) => Self::Set(set),
            What::Yang { .. } => Self::Yang {},
            What::Measurements(args) => args.request(),
            What::Watch(_) => Self::Notifications { after: 0 },
            What::Create { section, port, settings } => Self::Create { section, port, settings },
            What::Delete { section, port } => Self::Delete { section, port },
            What::Save { .. } => Self::Save {},
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
    // Descriptions and modules are in this program and need no running switch.
    if let What::Objects { pattern, describe: true } = &args.what {
        describe(pattern.as_deref().unwrap_or_default(), args.format)?;
        return Ok(verdict(true));
    }
    if let What::Yang { modules: Some(folder) } = &args.what {
        write_modules(folder)?;
        return Ok(verdict(true));
    }
    let path = args.control.map_or_else(the_only_socket, Ok)?;
    if let What::Watch(watch) = &args.what {
        return measured::watch(&path, watch, args.format);
    }
    // Taken before the request is made of the arguments: the switch does not know files of the client.
    let target = match &args.what {
        What::Save { file } => file.clone(),
        What::Measurements(args) => args.file(),
        _ => None,
    };
    let request = Request::try_from(args.what)?;
    let result = answer(&request, &path)?;
    print(&request, result, args.format, target, &path)?;
    Ok(verdict(true))
}

/// Prints the result of a request; `target` is the file that its answer is for.
fn print(
    request: &Request,
    result: serde_json::Value,
    format: Format,
    target: Option<PathBuf>,
    path: &Path,
) -> Result<()> {
    match (request, format) {
        (
            Request::Show {}
            | Request::About {}
            | Request::Drops {}
            | Request::Neighbours {}
            | Request::Headroom {}
            | Request::Macsec {},
            Format::Json,
        )
        // JSON is passed on as the switch wrote it, also where its version has fields that this one does not know.
        | (Request::Yang {}, _) => terminal::print_json(&result)?,
        (Request::Measurements { .. }, format) => {
            let found: Measurements = serde_json::from_value(result).context(OTHER_VERSION)?;
            measured::show(&found, target.as_deref(), format)?;
        }
        (Request::Neighbours {} | Request::Headroom {}, Format::Table) => {
            let found: PortsFound = serde_json::from_value(result).context(OTHER_VERSION)?;
            terminal::print(ports_found(request, &found))?;
        }
        (Request::Objects { .. } | Request::Get(_), format) => {
            let found: Objects = serde_json::from_value(result).context(OTHER_VERSION)?;
            match format {
                Format::Table => terminal::print(report::objects_text(&found))?,
                Format::Json => terminal::print_json(&report::objects_tree(&found))?,
            }
        }
        (Request::Save {}, format) => {
            let text: String = serde_json::from_value(result).context(OTHER_VERSION)?;
            save(&text, target, format)?;
        }
        (Request::Show {}, Format::Table) => show(result, path)?,
        (Request::Set(set), Format::Table) => show_set(set, path)?,
        (Request::Macsec {}, Format::Table) => {
            let found: Vec<PortSecured> = serde_json::from_value(result).context(OTHER_VERSION)?;
            terminal::print(macsec::text(&found))?;
        }
        (Request::About {}, Format::Table) => {
            let about: About = serde_json::from_value(result).context(OTHER_VERSION)?;
            let memory =
                about.memory.map_or("unknown".to_owned(), |n| format!("{} bytes", count(n)));
            terminal::print(format!("version {}\nmemory  {memory}\n", about.version))?;
        }
        (Request::Drops {}, Format::Table) => {
            let drops: Drops = serde_json::from_value(result).context(OTHER_VERSION)?;
            terminal::print(drops_text(&drops))?;
        }
        // Requests without a result say what was done.
        (request, Format::Table) => terminal::print(done(request))?,
        (_, Format::Json) => {}
    }
    Ok(())
}

/// Writes a configuration to its file, or prints it.
fn save(text: &str, target: Option<PathBuf>, format: Format) -> Result<()> {
    let Some(path) = target else { return terminal::print(text) };
    let named = || format!("{} cannot be written", quoted(&path));
    has_folder(&path).with_context(named).map_err(bad_input)?;
    let replaced = path.exists();
    std::fs::write(&path, text)
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    // JSON has no line for people.
    if format == Format::Table {
        terminal::print(saved(&path, replaced))?;
    }
    Ok(())
}

/// Tells that the configuration was saved.
fn saved(path: &Path, replaced: bool) -> String {
    let how = if replaced { ", in place of the file that was there" } else { "" };
    printable::lines([format!("the running configuration is in {}{how}", path.display())])
}

/// Tells what was done, in a line; nothing for requests whose result is printed.
fn done(request: &Request) -> String {
    let up = |up: bool| if up { "up" } else { "down" };
    let at_port =
        |port: &Option<String>| port.as_ref().map_or(String::new(), |port| format!(" at {port}"));
    // The exhaustive match makes a new request choose between a sentence and a result.
    let line = match request {
        Request::SetGroup(set) => format!("group {} of {} is changed", set.group, set.port),
        Request::SetEcn(set) if set.off => {
            format!("class {} of {} has no marking curve", set.class, set.port)
        }
        Request::SetEcn(set) => {
            format!("the marking curve of class {} of {} is changed", set.class, set.port)
        }
        Request::Link { port, up: is_up } => format!("the link of {port} is set {}", up(*is_up)),
        Request::Create { section, port, .. } => format!("{section} is created{}", at_port(port)),
        Request::Delete { section, port } => format!("{section} is deleted{}", at_port(port)),
        Request::MacsecInstall(install) => {
            format!("a key is installed for association {} of {}", install.an, install.port)
        }
        Request::MacsecUse { port, an } => format!("{port} transmits with association {an}"),
        Request::MacsecRemove { port, an: Some(an), .. } => {
            format!("association {an} of {port} is removed")
        }
        Request::MacsecRemove { port, an: None, .. } => {
            format!("a receive channel of {port} is removed")
        }
        Request::Measure { port } => format!("{port} measures its link again"),
        Request::Clear {} => "counters and peaks are cleared".into(),
        Request::FlushFdb {} => "learnt addresses are removed".into(),
        Request::Stop {} => "the switch stops".into(),
        Request::Show {}
        | Request::About {}
        | Request::Drops {}
        | Request::Neighbours {}
        | Request::Headroom {}
        | Request::Objects { .. }
        | Request::Get(_)
        | Request::Set(_)
        | Request::Yang {}
        | Request::Measurements { .. }
        | Request::Notifications { .. }
        | Request::Save {}
        | Request::Macsec {} => return String::new(),
    };
    printable::lines([line])
}

/// Prints the counters of a switch after those of `before`. Rates are of the time between, as on the screen of
/// the switch, and not means since its start.
fn show(before: serde_json::Value, path: &Path) -> Result<()> {
    let before: Summary = serde_json::from_value(before).context(OTHER_VERSION)?;
    // Rates need two readings.
    std::thread::sleep(RATES_OVER);
    let now = answer(&Request::Show {}, path)?;
    let now: Summary = serde_json::from_value(now).context(OTHER_VERSION)?;
    terminal::print(report::text(&now, Some(&before)))
}

/// Formats drops as a table, or says that there are none.
fn drops_text(drops: &Drops) -> String {
    match drops.total() {
        0 => "no frame was dropped\n".into(),
        _ => report::drops_text(drops),
    }
}

/// Prints an object that was set.
fn show_set(set: &SetObject, path: &Path) -> Result<()> {
    let SetObject { name, port, class, .. } = set.clone();
    // It is set, whatever becomes of this.
    let Ok(now) = answer(&Request::Get(Place { name, port, class }), path) else { return Ok(()) };
    let now: Objects = serde_json::from_value(now).context(OTHER_VERSION)?;
    terminal::print(report::objects_text(&now))
}

/// Sends a request and returns the switch's result.
fn answer(request: &Request, path: &Path) -> Result<serde_json::Value> {
    let response = request.send(path)?;
    if !response.ok {
        // The format allows a refusal without words.
        let why = response.error.unwrap_or_else(|| "it does not say why".into());
        return Err(bad_input(anyhow::anyhow!("the switch refuses: {why}")));
    }
    Ok(response.result.unwrap_or_default())
}

/// Writes the YANG modules of this project.
fn write_modules(folder: &Path) -> Result<()> {
    Outputs::folder("--modules", folder)?;
    for module in report::MODULES {
        let path = folder.join(format!("{}.yang", module.name));
        std::fs::write(&path, module.text())
            .map_err(|why| bad_input(anyhow::anyhow!("{}: {why}", path.display())))?;
    }
    Ok(())
}

/// Prints the descriptions of the objects.
fn describe(pattern: &str, format: Format) -> Result<()> {
    let pattern = pattern.to_lowercase();
    let wanted = |name: &str| name.to_lowercase().contains(&pattern);
    // Its error names the nearest object.
    if !Object::all().any(|object| wanted(object.name())) {
        Object::named(&pattern).map_err(bad_input)?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::DropReason;

    #[test]
    fn a_request_without_a_result_says_what_was_done() {
        let link = Request::Link { port: "left\n".into(), up: false };
        assert_eq!(done(&link), "the link of left\\n is set down\n");
        assert_eq!(done(&Request::Clear {}), "counters and peaks are cleared\n");
        let ecn = SetEcn { port: "p1".into(), class: 3, ..SetEcn::default() };
        assert_eq!(done(&Request::SetEcn(ecn)), "the marking curve of class 3 of p1 is changed\n");
        assert_eq!(done(&Request::Show {}), "");
        assert!(
            saved(Path::new("a.yaml"), true).ends_with("in place of the file that was there\n")
        );
        assert_eq!(saved(Path::new("a.yaml"), false), "the running configuration is in a.yaml\n");
    }

    #[test]
    fn no_drops_are_no_empty_table() {
        let mut drops = Drops::default();
        assert_eq!(drops_text(&drops), "no frame was dropped\n");
        drops.count(DropReason::Runt);
        assert!(drops_text(&drops).contains("runt"));
    }
}
