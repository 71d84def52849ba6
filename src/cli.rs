//! The commands. Results go to standard output, everything else to standard error; `terminal` does
//! all output.
//!
//! A command is a module with `Args` (clap's) and `run`, and a line in `Command`. `run` returns the
//! exit status of its verdict ([`Verdict::exit_status`]). An error is bad input, status 2, if
//! [`bad_input`] made it; otherwise the machine lacks something, status 3.

#![cfg_attr(
    not(feature = "instruments"),
    allow(dead_code, reason = "instruments share modules with labs")
)]

#[cfg(all(feature = "dpdk", feature = "instruments"))]
mod adapter;
#[cfg(feature = "instruments")]
pub mod benchmark;
#[cfg(feature = "instruments")]
pub mod check;
#[cfg(feature = "instruments")]
pub mod ctl;
#[cfg(feature = "dpdk")]
pub mod demo;
#[cfg(all(feature = "dpdk", feature = "instruments"))]
pub mod doctor;
#[cfg(feature = "instruments")]
mod dut;
pub mod explore;
#[cfg(feature = "instruments")]
pub mod generate;
pub mod headroom;
mod help;
mod kind;
mod log;
pub mod machine;
mod outputs;
#[cfg(feature = "instruments")]
pub mod pics;
pub mod run;
#[cfg(feature = "instruments")]
mod schema;
pub mod swarm;
#[cfg(feature = "instruments")]
pub mod switch;
mod terminal;
#[cfg(feature = "instruments")]
pub mod validate;

use std::fmt;
#[cfg(feature = "instruments")]
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::config::ConfigError;
use crate::verdict::Verdict;

/// Exit status of bad input, the same as clap's for invalid arguments.
const BAD_INPUT: u8 = 2;
/// Exit status if the machine lacks something.
const BROKEN: u8 = 3;

/// A lossless-Ethernet lab: simulate networks, validate and benchmark devices, run a switch.
#[derive(Parser, Debug)]
#[command(name = "sluice", version = crate::VERSION, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Increase the log level on standard error: -v for actions, -vv for details. `SLUICE_LOG` sets
    /// levels per module, such as `sluice=debug`.
    #[arg(short, long, global = true, display_order = 998, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// Subcommands.
#[derive(Subcommand, Debug)]
enum Command {
    /// Show the effect of PFC: an overload without it and with it.
    ///
    /// It needs no NIC, hugepages or root.
    #[cfg(feature = "dpdk")]
    Demo(demo::DemoArgs),
    /// Check this machine and its ports, with a remedy for each finding.
    #[cfg(all(feature = "dpdk", feature = "instruments"))]
    Doctor(doctor::DoctorArgs),
    /// Run a switch on real ports.
    #[cfg(feature = "instruments")]
    Switch(switch::Args),
    /// Show or change a running switch.
    #[cfg(feature = "instruments")]
    Ctl(ctl::Args),
    #[cfg(feature = "instruments")]
    Check(check::CheckArgs),
    #[command(subcommand)]
    Headroom(Box<headroom::Command>),
    #[cfg(feature = "instruments")]
    #[command(name = "gen")]
    Generate(Box<generate::GenerateArgs>),
    Run(run::RunArgs),
    Explore(explore::ExploreArgs),
    Swarm(swarm::SwarmArgs),
    #[cfg(feature = "instruments")]
    Validate(validate::ValidateArgs),
    #[cfg(feature = "instruments")]
    #[command(subcommand)]
    Benchmark(benchmark::Procedure),
    #[cfg(feature = "instruments")]
    Pics(pics::PicsArgs),
}

/// Format of results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Format {
    /// Tables.
    #[default]
    Table,
    /// JSON.
    Json,
}

/// An error of the input: a file, a field, an argument.
#[derive(Debug)]
struct BadInput(anyhow::Error);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for BadInput {}

/// Marks an error as bad input, with exit status 2.
pub fn bad_input(error: impl Into<anyhow::Error>) -> anyhow::Error {
    BadInput(error.into()).into()
}

/// A run without a result, for a reason unrelated to the tested system.
#[derive(Debug)]
struct NoResult(anyhow::Error);

impl fmt::Display for NoResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:#}", Verdict::Inconclusive, self.0)
    }
}

impl std::error::Error for NoResult {}

/// Marks an error as a run without a result, such as one that a busy machine stopped: its exit
/// status is that of [`Verdict::Inconclusive`].
pub fn inconclusive(error: impl Into<anyhow::Error>) -> anyhow::Error {
    NoResult(error.into()).into()
}

/// Exit status of a verdict that is either PASS or FAIL.
pub fn verdict(good: bool) -> ExitCode {
    exit(Verdict::of(good))
}

/// Exit status of any verdict.
pub fn exit(verdict: Verdict) -> ExitCode {
    ExitCode::from(verdict.exit_status())
}

/// Parses the address of a metrics endpoint: an address with a port, an address, or a port, which
/// is on the loopback.
#[cfg(feature = "instruments")]
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = |text: &str| Some(SocketAddr::from(([127, 0, 0, 1], text.parse().ok()?)));
    let host = |text: &str| Some(SocketAddr::new(text.parse().ok()?, crate::report::SCRAPE_PORT));
    let addr = text.parse().ok().or_else(|| port(text)).or_else(|| host(text));
    addr.ok_or_else(|| {
        "write an address with a port, such as 127.0.0.1:9464, or one of them".into()
    })
}

/// Address of `--prometheus` without a value.
#[cfg(feature = "instruments")]
const SCRAPE_DEFAULT: &str = "127.0.0.1:9464";

/// Serves metrics at the address of `--prometheus`, otherwise at that of the file, if there is one.
/// Warns if the network can read the former; `file` has its warning already.
///
/// # Errors
/// The address cannot be listened on.
#[cfg(feature = "instruments")]
fn serve_metrics(
    option: Option<SocketAddr>,
    file: Option<SocketAddr>,
    scrape: crate::report::Scrape,
) -> anyhow::Result<()> {
    if let Some(what) = option.and_then(text::open_to_network) {
        tracing::warn!("--prometheus: {what}");
    }
    let Some(addr) = option.or(file) else { return Ok(()) };
    let addr = crate::report::serve(addr, scrape)
        .with_context(|| format!("--prometheus {addr}: cannot listen there; pick another port"))?;
    // Printed rather than logged: with port 0 this is the only place that shows the port.
    terminal::say!("metrics: http://{addr}/metrics");
    Ok(())
}

/// Returns a flag that the first SIGINT, SIGTERM, SIGHUP (terminal closed) or SIGQUIT sets; the
/// second signal ends the process at once.
fn stop_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    use signal_hook::flag::{register, register_conditional_shutdown};
    let stop = Arc::new(AtomicBool::new(false));
    let again = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        // The flag comes first, so that a signal that arrives between these calls is not lost. The
        // first signal passes the shutdown and then arms it for the second.
        register(signal, Arc::clone(&stop))
            .and_then(|_| register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again)))
            .and_then(|_| register(signal, Arc::clone(&again)))
            .context("signals cannot be handled")?;
    }
    Ok(stop)
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// The command line, for tests and generators of its documentation.
pub fn command() -> clap::Command {
    help::complete(Cli::command())
}

/// Runs the command in the arguments.
pub fn main() -> ExitCode {
    ground::program::set_version(crate::VERSION);
    let parsed = command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = help::read(parsed);
    let _log = log::start(cli.verbose);
    let result = match cli.command {
        #[cfg(feature = "dpdk")]
        Command::Demo(args) => demo::run(&args),
        #[cfg(all(feature = "dpdk", feature = "instruments"))]
        Command::Doctor(args) => doctor::run(&args),
        #[cfg(feature = "instruments")]
        Command::Switch(args) => switch::run(args),
        #[cfg(feature = "instruments")]
        Command::Ctl(args) => ctl::run(args),
        #[cfg(feature = "instruments")]
        Command::Check(args) => check::run(&args),
        Command::Headroom(command) => headroom::run(&command),
        #[cfg(feature = "instruments")]
        Command::Generate(args) => generate::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Explore(args) => explore::run(&args),
        Command::Swarm(args) => swarm::run(&args),
        #[cfg(feature = "instruments")]
        Command::Validate(args) => validate::run(&args),
        #[cfg(feature = "instruments")]
        Command::Benchmark(procedure) => benchmark::run(&procedure),
        #[cfg(feature = "instruments")]
        Command::Pics(args) => pics::run(&args),
    };
    result.unwrap_or_else(|error| {
        terminal::print_error(&error, has_findings(&error));
        ExitCode::from(status(&error))
    })
}

/// True for an error that quotes findings of a file, each on a line.
fn has_findings(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let inner = cause.downcast_ref::<BadInput>();
        cause.is::<ConfigError>() || inner.is_some_and(|bad| has_findings(&bad.0))
    })
}

/// Exit status of an error.
fn status(error: &anyhow::Error) -> u8 {
    if error.is::<BadInput>() {
        BAD_INPUT
    } else if error.is::<NoResult>() {
        Verdict::Inconclusive.exit_status()
    } else {
        BROKEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn bad_input_is_told_apart_whatever_is_said_around_it() {
        let error = bad_input(anyhow::anyhow!("no such port")).context("in tor.yaml");
        assert!(error.is::<BadInput>());
        assert_eq!(format!("{error:#}"), "in tor.yaml: no such port");
        assert!(!anyhow::anyhow!("no memory").is::<BadInput>());
        assert_eq!([status(&error), status(&anyhow::anyhow!("no memory"))], [BAD_INPUT, BROKEN]);
    }

    #[test]
    fn a_run_without_a_result_is_inconclusive() {
        let error = inconclusive(anyhow::anyhow!("the machine was busy for 9 ms")).context("x");
        assert_eq!(status(&error), 4);
        assert_eq!(format!("{error:#}"), "x: INCONCLUSIVE: the machine was busy for 9 ms");
    }
}
