//! `sluice switch`: runs a switch on real ports until it is stopped. At the start it reports how to
//! control and stop the switch, and unexpected properties of its ports.

mod ports;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, anyhow};
use daemon::Daemon;
use daemon::socket::{self, ControlSocket};

use super::kind::Kind;
use super::log::{DETAIL, RUNNING, START};
use super::machine::IdleArg;
use super::outputs::Outputs;
use super::terminal::{self, say};
use super::{
    Format, SCRAPE_DEFAULT, address, bad_input, exit, quoted, serve_metrics, stop_on_signals,
};
use crate::config::quantity::Span;
use crate::config::{self, Machine, SwitchFile};
#[cfg(feature = "dpdk")]
use crate::dpdk::{self, Eal, Memory};
use crate::kernel::{OpenError, Undone, undone_checksums};
use crate::report::{self, Live};
use crate::runtime::real::{RealError, RealSwitch, Running};
use crate::runtime::{Claimed, Idle, StartError, Unpinned};
use crate::verdict::Verdict;

const EXAMPLES: &str = "\
EXAMPLES:
  sluice switch --port eth1 --port eth2                  between two interfaces, until Ctrl-C
  sluice switch configs/switch/bump.yaml                 the same with a lossless priority
  sluice switch tor.yaml --duration 10s --format json > summary.json
  sluice switch tor.yaml --prometheus                     metrics at http://127.0.0.1:9464/metrics
  sluice switch tor.yaml --no-huge --idle yield   on a laptop

Ctrl-C (or SIGTERM, SIGHUP, SIGQUIT) stops receiving, sends queued frames for at most --drain, and
prints the summary; a second one ends at once. Exit status 1: a lossless frame was lost, in the switch or
in a device, or a frame is not accounted for. 4 (not judged): a device does not count lost frames, a
link was down, or a worker polled later than the headroom allows (link.poll_gap).";

/// Arguments of `sluice switch`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The switch file (YAML or JSON).
    #[arg(required_unless_present = "port")]
    file: Option<PathBuf>,
    /// A port, without a file: an interface such as eth1, whose MTU and rate are the port's, or a device of DPDK. May
    /// be repeated.
    #[arg(long, value_name = "INTERFACE", conflicts_with = "file")]
    port: Vec<String>,
    /// Stop after this time, such as 10s. Default: run until stopped.
    #[arg(long, value_name = "TIME")]
    duration: Option<Span>,
    /// Format of the summary.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Period of progress reports on standard error.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: Span,
    /// Show no progress.
    #[arg(short, long)]
    quiet: bool,
    /// Longest time to send the queued frames after a stop.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    drain: Span,
    /// Control socket for `sluice ctl`, or `none`. Default: NAME.sock below
    /// $XDG_RUNTIME_DIR/sluice, /run/sluice (root), or the temporary directory.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Serve metrics for Prometheus at http://ADDR/metrics; a port alone is on the loopback, and
    /// without ADDR it is 127.0.0.1:9464. Default: as in the file.
    #[arg(long, value_name = "ADDR", value_parser = address, num_args = 0..=1,
          default_missing_value = SCRAPE_DEFAULT)]
    prometheus: Option<SocketAddr>,
    /// Action of idle workers. Default: wait, if all ports are interfaces of the kernel without a lossless priority; else
    /// spin, or yield if there are fewer CPUs than workers.
    #[arg(long, value_enum)]
    idle: Option<IdleArg>,
    /// Exclude polls later than `link.poll_gap` from the verdict, for a machine whose cores have
    /// other work and cannot guarantee headroom.
    #[arg(long)]
    ignore_late_polls: bool,
    /// Use hugepages; overrides the file.
    #[arg(long, conflicts_with = "no_huge")]
    huge: bool,
    /// Use ordinary pages; overrides the file.
    #[arg(long)]
    no_huge: bool,
}

/// Runs `sluice switch`.
///
/// # Errors
/// Bad input for a file or an argument that is invalid; otherwise a resource that the machine
/// lacks.
pub fn run(args: Args) -> Result<ExitCode> {
    let (mut file, warnings) = match &args.file {
        Some(path) => {
            Kind::Switch.expect(path)?;
            config::load(path, &Machine::this()).map_err(bad_input)?
        }
        None => {
            let text = ports::file_of(&args.port).to_string();
            config::parse(ports::NAME, &text, &Machine::this()).map_err(bad_input)?
        }
    };
    let source = args.source();
    for warning in warnings {
        tracing::warn!(target: START, "{}", warning.line(&source));
    }
    // Before anything is made of the plan, so that all parts have the same seed.
    daemon::seed(&mut file.plan);
    let mut outputs = Outputs::new();
    if let Some(path) = &args.file {
        outputs.input("the switch file", path);
    }
    // A device may be a file, such as that of net_pcap.
    outputs.devices(file.devices.iter().map(|port| port.device.as_str()))?;
    // Before DPDK starts, which takes a while: from here on a signal ends the switch in order.
    let stop = stop_on_signals()?;
    let what = daemon::real_switch(&file, args.idle.map(Idle::from));
    let daemon = start(&args, &file, what, stop)?;
    daemon.running.notes.iter().for_each(|note| tracing::info!(target: DETAIL, "{note}"));
    for (worker, cpu) in file.workers.iter().zip(&daemon.running.placement.cpus) {
        let ports: Vec<_> =
            worker.ports.iter().map(|p| &*file.plan.ports[p.index()].name).collect();
        let place = cpu.map_or("not pinned".to_owned(), |cpu| format!("core {cpu}"));
        tracing::info!(target: DETAIL, "worker ({place}): {}", ports.join(", "));
    }
    // After the launch, so that every client finds a running switch.
    let socket = serve_control(&args, &file, &daemon)?;
    serve_metrics(args.prometheus, file.listen, daemon.scrape())?;
    announce(&file, &daemon.running, socket.as_ref().map(|(path, _)| path.as_path()));
    let mut live = Live::new();
    let interval = (!args.quiet).then(|| std(args.interval));
    daemon.watch(args.duration.map(std), interval, |summary| live.show(summary));
    live.clear();
    finish(&args, daemon)
}

/// Starts the switch, with DPDK if a port or the file's telemetry needs it.
fn start(
    args: &Args,
    file: &SwitchFile,
    what: RealSwitch,
    stop: Arc<AtomicBool>,
) -> Result<Daemon> {
    let refused = |error| refused(error, &args.source(), file);
    #[cfg(feature = "dpdk")]
    if what.needs_dpdk() || file.telemetry {
        let options = daemon::eal_options(file, args.memory(), &what);
        let eal = Eal::start(&options).map_err(classify)?;
        let arguments = eal.arguments().join(" ");
        tracing::info!(target: DETAIL, "{}: EAL arguments {arguments}", dpdk::dpdk_version());
        return Daemon::launch_on_dpdk(&eal, file, what, stop, args.ignore_late_polls)
            .map_err(refused);
    }
    Daemon::launch(file, what, stop, args.ignore_late_polls).map_err(refused)
}

fn std(span: Span) -> Duration {
    Duration::from_nanos(span.0.as_nanos())
}

impl Args {
    /// Source of the configuration, for messages.
    fn source(&self) -> String {
        self.file.as_ref().map_or_else(|| ports::NAME.to_owned(), |path| path.display().to_string())
    }

    /// Page type of DPDK's memory, if an option sets it.
    #[cfg(feature = "dpdk")]
    fn memory(&self) -> Option<Memory> {
        match (self.huge, self.no_huge) {
            (true, _) => Some(Memory::Hugepages),
            (_, true) => Some(Memory::NoHuge),
            (false, false) => None,
        }
    }
}

/// Classifies an error of DPDK as bad input or as a resource that the machine lacks.
#[cfg(feature = "dpdk")]
fn classify(error: dpdk::Error) -> anyhow::Error {
    use dpdk::Error as E;
    match error {
        E::Option { .. }
        | E::Absent { .. }
        | E::NoDriver { .. }
        | E::InUse { .. }
        | E::NoHardwarePfc { .. } => bad_input(error),
        E::AlreadyStarted
        | E::Start { .. }
        | E::Worker(_)
        | E::NoMemory { .. }
        | E::Permission { .. }
        | E::Taken { .. }
        | E::Device { .. } => error.into(),
    }
}

/// Classifies an error of starting a switch, and names the field of the file that caused it.
fn refused(error: anyhow::Error, path: &str, file: &SwitchFile) -> anyhow::Error {
    let error = match error.downcast() {
        Ok(error) => error,
        Err(other) => return other,
    };
    match error {
        #[cfg(feature = "dpdk")]
        RealError::Dpdk { what, error } => classify(error).context(format!("{path}: {what}")),
        #[cfg(not(feature = "dpdk"))]
        RealError::NoDpdk { .. } => bad_input(error).context(path.to_owned()),
        RealError::Interface { error: OpenError::Absent { .. }, .. } => {
            bad_input(error).context(path.to_owned())
        }
        RealError::Interface { .. } => anyhow::Error::from(error).context(path.to_owned()),
        RealError::Start(StartError::NoCpu { worker, .. }) => {
            let port = file.workers[worker].ports[0].index();
            let name = &file.plan.ports[port].name;
            bad_input(error).context(format!("{path}: ports[{port}].core ({name})"))
        }
        RealError::TooFast { .. }
        | RealError::Slack { .. }
        | RealError::Secy { .. }
        | RealError::NoWait
        | RealError::Switch(_) => bad_input(error).context(path.to_owned()),
        RealError::Change(_) | RealError::Start(_) => {
            anyhow::Error::from(error).context(file.plan.name.clone())
        }
    }
}

fn serve_control(
    args: &Args,
    file: &SwitchFile,
    daemon: &Daemon,
) -> Result<Option<(PathBuf, ControlSocket)>> {
    let default = socket::default_path(&file.plan.name);
    let path = match &args.control {
        Some(path) if path == Path::new("none") => return Ok(None),
        Some(path) => path,
        None => &default,
    };
    match daemon.serve_control(path) {
        Ok(socket) => Ok(Some((path.clone(), socket))),
        // The default path may be in use or not writable; the switch runs without it.
        Err(error) if args.control.is_none() => {
            let path = path.display();
            tracing::warn!("no control socket at {path}: {error}; --control PATH names another");
            Ok(None)
        }
        Err(error) => {
            Err(anyhow!("--control {}: {error}; name another path, or `none`", path.display()))
        }
    }
}

/// Stops the switch, prints its summary, and returns the verdict's exit status.
fn finish(args: &Args, daemon: Daemon) -> Result<ExitCode> {
    let summary = match daemon.stop(std(args.drain)) {
        Ok(summary) => summary,
        // A panic loses counters, so there is no summary to judge by.
        Err(panics) => {
            for (worker, panic) in panics {
                say!("sluice: worker {worker} panicked: {panic}; this is a bug, please report it");
            }
            return Ok(exit(Verdict::Fail));
        }
    };
    match args.format {
        Format::Table => terminal::print(report::text(&summary, None))?,
        Format::Json => terminal::print_json(&summary)?,
    }
    Ok(exit(summary.verdict))
}

/// Reports on standard error that the switch runs.
fn announce(file: &SwitchFile, running: &Running, socket: Option<&Path>) {
    let (ports, workers) = (running.devices.len(), file.workers.len());
    tracing::info!(
        target: RUNNING,
        "{}: running, {}, {}; Ctrl-C stops it and prints the summary",
        file.plan.name,
        counted(ports, "port"),
        counted(workers, "worker"),
    );
    if let Some(why) = &running.placement.unpinned {
        tracing::warn!(target: RUNNING, "{}: {}", file.plan.name, unpinned(why));
    }
    for claimed in &running.placement.claimed {
        tracing::warn!(target: RUNNING, "{}: {}", file.plan.name, shared(claimed));
    }
    if let Some(path) = socket {
        // Only another path needs the option.
        let usual = path == socket::default_path(&file.plan.name);
        let option = if usual { String::new() } else { format!(" --control {}", quoted(path)) };
        let path = path.display();
        tracing::info!(target: RUNNING, "control socket: {path}, for `sluice ctl{option} show`");
    }
    let ports = file.plan.ports.iter().zip(&running.devices);
    for (port, device) in ports {
        let Some(interface) = device.interface() else { continue };
        if let Some(what) = ports::too_long(&interface, file.plan.max_frame) {
            tracing::warn!(target: RUNNING, "{}: {what}", port.name);
        }
        if !device.needs_checksums() {
            continue;
        }
        if let Some(found) = undone_checksums(&interface) {
            tracing::warn!(target: RUNNING, "{}: {}", port.name, advice(&interface.name, &found));
        }
    }
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Remedy for workers that are not pinned.
fn unpinned(why: &Unpinned) -> String {
    format!(
        "workers are not pinned to cores: {why}; allow more CPUs, name a `core` for the ports, or write \
         `core: none`"
    )
}

/// Remedy for a configured core that another process polls on.
fn shared(claimed: &Claimed) -> String {
    format!(
        "{claimed}, so each loses it to the other at times; configure another `core`, or write `core: auto`"
    )
}

/// Remedy for checksums that the sender left to its hardware.
fn advice(port: &str, found: &Undone) -> String {
    match found {
        Undone::By { interface, command } => format!(
            "{interface}, the other end of {port}, leaves TCP and UDP checksums undone, and hosts \
             drop such frames: {command}"
        ),
        Undone::Hidden => format!(
            "the other end of {port} is in a network namespace that cannot be seen from here; if it \
             leaves TCP and UDP checksums undone, hosts drop its frames: run `ethtool -K INTERFACE tx \
             off` there"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_has_the_command_or_says_why_there_is_none() {
        let interface = "eth0 in namespace a".to_string();
        let command = "ip netns exec a ethtool -K eth0 tx off".to_string();
        let said = advice("v0", &Undone::By { interface, command });
        assert!(said.ends_with(": ip netns exec a ethtool -K eth0 tx off"), "{said}");
        assert!(said.starts_with("eth0 in namespace a, the other end of v0"), "{said}");
        assert!(advice("v0", &Undone::Hidden).contains("cannot be seen from here"));
        let said = unpinned(&Unpinned::TooFew { needed: 2, allowed: 2, taken: 1 });
        let expected = "workers are not pinned to cores: they need 2 CPUs, this process may use 2, and other \
                        processes of Sluice poll on 1 of them; allow more CPUs, name a `core` for the \
                        ports, or write `core: none`";
        assert_eq!(said, expected);
        let process = Some("7 (sluice switch b.yaml)".to_owned());
        let said = shared(&Claimed { cpu: 3, process });
        assert_eq!(
            said,
            "core 3 is configured, and process 7 (sluice switch b.yaml) polls on it, too, so each loses it to \
             the other at times; configure another `core`, or write `core: auto`"
        );
        assert_eq!((counted(1, "port"), counted(2, "port")), ("1 port".into(), "2 ports".into()));
    }
}
