//! `sluice switch`: runs a switch on real ports until it is stopped.

mod addresses;
mod links;
mod polls;
mod session;
mod start;
mod telemetry;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use anyhow::{Context, Result, anyhow};

use super::kind::Kind;
use super::log::START;
use super::machine::IdleArg;
use super::outputs::Outputs;
use super::terminal::{self, say};
use super::{
    Format, SCRAPE_DEFAULT, address, bad_input, exit, stop_on_signals, warn_of_open_metrics,
};
use crate::config::quantity::Span;
use crate::config::{self, Hugepages, Machine, SwitchFile};
use crate::dpdk::{self, Eal, EalOptions, Memory, PortOptions};
use crate::report::{self, Live};
use crate::runtime::control::{self, ControlSocket};
use crate::runtime::real::{self, RealError, RealPort, RealSwitch, RealWorker, Running};
use crate::runtime::{Idle, StartError};
use crate::switch::{PortPlan, SwitchPlan};
use crate::units::PortId;
use crate::verdict::Verdict;
use addresses::AddressWarnings;
use links::Links;
use polls::PollWarnings;
use results::{AgentsSummary, Summary};
use session::Session;

const EXAMPLES: &str = "\
EXAMPLES:
  sluice switch configs/switch/bump.yaml                 two ports on af_packet, until Ctrl-C
  sluice switch tor.yaml --duration 10s --format json > summary.json
  sluice switch tor.yaml --prometheus                     metrics at http://127.0.0.1:9464/metrics
  sluice switch tor.yaml --no-huge --idle yield   on a laptop

Ctrl-C (or SIGTERM, SIGHUP, SIGQUIT) stops receiving, sends what is held for as long as --drain says,
and prints the summary; a second one ends at once. The exit status is 1 when a lossless frame was or
may have been lost, in the switch or in a device, or a frame is not accounted for. It is 4 (not judged) when
a device cannot say what it lost, or a worker polled later than headroom is planned for (link.poll_gap).";

/// Log target of the steps that ports' results cause.
const STEPS: &str = "sluice::steps";
/// Period at which the main thread checks for the end.
const TICK: StdDuration = StdDuration::from_millis(20);
/// Period at which alarms are evaluated and telemetry is refreshed.
const LOOK_EVERY: StdDuration = StdDuration::from_millis(200);
/// Period at which the counters behind warnings are read.
const COUNT_EVERY: StdDuration = StdDuration::from_secs(1);

/// Arguments of `sluice switch`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The switch file (YAML or JSON).
    file: PathBuf,
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
    /// Action of idle workers. Default: spin, or yield if there are fewer CPUs than workers.
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
    Kind::Switch.expect(&args.file)?;
    let (mut file, warnings) = config::load(&args.file, &Machine::this()).map_err(bad_input)?;
    for warning in warnings {
        tracing::warn!(target: START, "{}", warning.line(&args.file.display().to_string()));
    }
    seed(&mut file.plan);
    let mut outputs = Outputs::new();
    outputs.input("the switch file", &args.file);
    outputs.devices(file.devices.iter().map(|port| port.device.as_str()))?;
    let stop = stop_on_signals()?;
    let what = real_switch(&file, args.idle.map(Idle::from));
    let eal = Eal::start(&eal_options(&file, &args, &what)).map_err(classify)?;
    tracing::info!(target: START, "{}: {:?}", dpdk::dpdk_version(), eal.arguments());
    let running = real::launch(&eal, what).map_err(|error| refused(error, &args.file, &file))?;
    running.notes.iter().for_each(|note| tracing::info!(target: START, "{note}"));
    let session = session(&file, &args, &running, &stop);
    let socket = serve_control(&args, &file, &session)?;
    args.prometheus.into_iter().for_each(warn_of_open_metrics);
    serve_metrics(args.prometheus.or(file.listen), &session)?;
    let _telemetry = if file.telemetry { telemetry::serve(&eal, &session)? } else { Vec::new() };
    let links = Links::follow(&file, &running.devices, &session)?;
    start::announce(&file, &running, socket.as_ref().map(|(path, _)| path.as_path()));
    watch(&args, &file, &running, &session, &stop);
    // Link protocols end with their workers; one that has ended has no results.
    let agents = session.agents().unwrap_or_default();
    drop(links);
    finish(&args, running, agents, &session)
}

/// Generates a random seed if the file has none: a known seed would allow an attacker to direct
/// flows to one slot of a hash table.
fn seed(plan: &mut SwitchPlan) {
    if plan.seed == 0 {
        // The system seeds the standard library's hash tables, too.
        plan.seed = RandomState::new().hash_one(plan.name.as_str());
        config::seed_congestion(&mut plan.congestion, plan.seed);
    }
}

fn eal_options(file: &SwitchFile, args: &Args, what: &RealSwitch) -> EalOptions {
    let memory = match (args.huge, args.no_huge, file.eal.hugepages) {
        (true, _, _) | (_, false, Hugepages::On) => Memory::Hugepages,
        (_, true, _) | (_, _, Hugepages::Off) => Memory::NoHuge,
        (_, _, Hugepages::Auto) => Memory::Auto,
    };
    let options = EalOptions {
        memory,
        memory_mib: file.eal.memory_mib.or_else(|| Some(what.memory_mib())),
        telemetry: file.telemetry,
        // Several switches on one machine each have a runtime directory.
        file_prefix: control::file_name(&file.plan.name),
        extra: file.eal.args.clone(),
        ..EalOptions::default()
    };
    options.for_devices(file.devices.iter().map(|d| d.device.as_str()))
}

fn real_switch(file: &SwitchFile, idle: Option<Idle>) -> RealSwitch {
    let gap = |n| file.headroom.iter().find(|h| h.port.index() == n).map(|h| h.poll_gap);
    let port = |(n, (device, port)): (usize, (&config::DevicePlan, &PortPlan))| RealPort {
        device: device.device.clone(),
        options: PortOptions {
            rx_descriptors: device.rx_descriptors,
            tx_descriptors: device.tx_descriptors,
            max_frame: Some(file.plan.max_frame),
            hardware_pfc: device
                .hardware_pfc
                .then(|| dpdk::HardwarePfc { priorities: lossless(port), pause: port.pfc.quanta }),
            ..PortOptions::default()
        },
        rate_max: port.rate,
        poll_gap: gap(n),
    };
    RealSwitch {
        plan: file.plan.clone(),
        ports: file.devices.iter().zip(&file.plan.ports).enumerate().map(port).collect(),
        workers: file
            .workers
            .iter()
            .map(|w| RealWorker { cpu: w.core, ports: w.ports.clone() })
            .collect(),
        pool_frames: u32::try_from(file.pool_frames).unwrap_or(u32::MAX),
        idle,
    }
}

/// Priorities with PFC in either direction.
fn lossless(port: &PortPlan) -> crate::units::PrioritySet {
    match port.pfc.mode {
        crate::pfc::FlowControl::Pfc { send, obey } => send.iter().chain(obey.iter()).collect(),
        crate::pfc::FlowControl::Off | crate::pfc::FlowControl::Pause { .. } => {
            crate::units::PrioritySet::EMPTY
        }
    }
}

/// Classifies an error of DPDK as bad input or as a resource that the machine lacks.
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
fn refused(error: RealError, path: &Path, file: &SwitchFile) -> anyhow::Error {
    let path = path.display();
    match error {
        RealError::Dpdk { what, error } => classify(error).context(format!("{path}: {what}")),
        RealError::Start(StartError::NoCpu { worker, .. }) => {
            bad_input(error).context(format!("{path}: workers[{worker}].core"))
        }
        RealError::TooFast { .. }
        | RealError::Slack { .. }
        | RealError::Secy { .. }
        | RealError::Switch(_) => bad_input(error).context(path.to_string()),
        RealError::Change(_) | RealError::Start(_) => {
            anyhow::Error::from(error).context(file.plan.name.clone())
        }
    }
}

fn session(
    file: &SwitchFile,
    args: &Args,
    running: &Running,
    stop: &Arc<AtomicBool>,
) -> Arc<Session> {
    let up: Vec<_> = running.devices.iter().map(|d| d.link().up).collect();
    let headroom = file.headroom.iter().map(|h| ((h.port, h.group), h.required.cells)).collect();
    let controller = running.workers.controller().clone();
    let devices = running.devices.clone();
    Arc::new(Session::new(
        controller,
        file.plan.clone(),
        headroom,
        (&up, devices),
        (Arc::clone(stop), args.ignore_late_polls),
    ))
}

fn serve_control(
    args: &Args,
    file: &SwitchFile,
    session: &Arc<Session>,
) -> Result<Option<(PathBuf, ControlSocket)>> {
    let default = control::default_path(&file.plan.name);
    let path = match &args.control {
        Some(path) if path == Path::new("none") => return Ok(None),
        Some(path) => path,
        None => &default,
    };
    let session = Arc::clone(session);
    match control::serve(path, Arc::new(move |line| session.answer(line))) {
        Ok(socket) => Ok(Some((path.clone(), socket))),
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

fn serve_metrics(addr: Option<SocketAddr>, session: &Arc<Session>) -> Result<()> {
    let Some(addr) = addr else { return Ok(()) };
    let session = Arc::clone(session);
    let scrape: report::Scrape = Arc::new(move || match session.summary() {
        Ok(summary) => Ok(report::metrics(summary)),
        Err(error) => Err(format!("{error:#}\n")),
    });
    let addr = report::serve(addr, scrape)
        .with_context(|| format!("--prometheus {addr}: cannot listen there; pick another port"))?;
    // Printed rather than logged: with port 0 this is the only place that shows the port.
    say!("metrics: http://{addr}/metrics");
    Ok(())
}

/// Shows progress until the end.
fn watch(args: &Args, file: &SwitchFile, running: &Running, session: &Session, stop: &AtomicBool) {
    let std = |span: Span| StdDuration::from_nanos(span.0.as_nanos());
    let start = StdInstant::now();
    let mut live = Live::new();
    let mut alarms = BTreeMap::new();
    let mut warnings = Warnings::default();
    let mut count_at = StdDuration::ZERO;
    let (mut show_at, mut look_at) = (std(args.interval), StdDuration::ZERO);
    let end = args.duration.map_or(StdDuration::MAX, std);
    loop {
        let ran = start.elapsed();
        if ran >= end || stop.load(Ordering::SeqCst) || running.workers.is_broken() {
            break;
        }
        if ran >= look_at {
            look_at = ran + LOOK_EVERY;
            tell_alarms(session, &mut alarms);
            if file.telemetry {
                session.refresh();
            }
        }
        if ran >= count_at {
            count_at = ran + COUNT_EVERY;
            warn_of_counters(session, &mut warnings);
        }
        settle(session);
        if !args.quiet && ran >= show_at {
            show_at = ran + std(args.interval);
            if let Ok(summary) = session.summary() {
                live.show(summary);
            }
        }
        thread::sleep(TICK.min(end - ran));
    }
    live.clear();
}

/// State of the warnings about counters.
#[derive(Default)]
struct Warnings {
    addresses: AddressWarnings,
    polls: PollWarnings,
}

/// Warns of addresses that the bridge does not learn, and of late polls.
fn warn_of_counters(session: &Session, warnings: &mut Warnings) {
    match session.summary() {
        Ok(summary) => {
            let now = StdInstant::now();
            let addresses = warnings.addresses.due(now, &summary);
            let due = addresses.into_iter().chain(warnings.polls.due(now, &summary));
            due.for_each(|warning| tracing::warn!("{warning}"));
        }
        Err(error) => tracing::error!("the counters: {error:#}"),
    }
}

/// Applies the results of the link protocols, and logs each step.
fn settle(session: &Session) {
    match session.settle() {
        Ok(steps) => {
            for (port, step) in steps {
                if step.is_trouble() {
                    tracing::warn!(target: STEPS, "{port}: {step}");
                } else {
                    tracing::info!(target: STEPS, "{port}: {step}");
                }
            }
        }
        Err(error) => tracing::error!("what ports found out: {error:#}"),
    }
}

/// Period at which a persistent alarm is repeated.
const ALARM_EVERY: StdDuration = StdDuration::from_secs(60);

/// Logs alarms of ports whose association is nearly exhausted, and repeats them.
fn tell_alarms(session: &Session, told: &mut BTreeMap<String, StdInstant>) {
    let alarms = match session.alarms() {
        Ok(alarms) => alarms,
        Err(error) => return tracing::error!("MACsec of ports: {error:#}"),
    };
    told.retain(|port, _| alarms.iter().any(|(name, _)| name == port));
    for (port, alarm) in alarms {
        let last = told.get(&port);
        if last.is_none_or(|last| last.elapsed() >= ALARM_EVERY) {
            tracing::warn!("{port}: {alarm}");
            told.insert(port, StdInstant::now());
        }
    }
}

/// Stops the workers, prints the summary, and returns the verdict's exit status.
fn finish(
    args: &Args,
    running: Running,
    agents: BTreeMap<PortId, AgentsSummary>,
    session: &Session,
) -> Result<ExitCode> {
    let ended = running.workers.stop(StdDuration::from_nanos(args.drain.0.as_nanos()));
    session.restore_links();
    for (worker, panic) in &ended.panics {
        say!("sluice: worker {worker} panicked: {panic}; this is a bug, please report it");
    }
    let Some(snapshot) = ended.snapshot else { return Ok(exit(Verdict::Fail)) };
    if !ended.drained {
        tracing::warn!("what was held could not all be sent; the rest is counted as flushed");
    }
    let summary = Summary::new(&snapshot, ended.elapsed);
    let summary = summary.with_agents(agents).with_link_losses(session.link_losses());
    let summary = summary.with_late_polls(args.ignore_late_polls);
    match args.format {
        Format::Table => terminal::print(report::text(&summary, None))?,
        Format::Json => terminal::print_json(&summary)?,
    }
    Ok(exit(summary.verdict))
}
