//! `sluice gen`: the traffic generator, controlled by a file or by clients of the Open Traffic
//! Generator API, and its self-test.

mod files;
mod run;
#[cfg(feature = "dpdk")]
mod serve;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{ArgGroup, Args};

use crate::cli::machine::MachineArgs;
use crate::cli::{SCRAPE_DEFAULT, address};
use crate::config::quantity::Span;
use files::{Files, Format};
#[cfg(feature = "dpdk")]
pub(super) use serve::eal_options;
use tester::memory::World;
use tester::plan::Location;

const EXAMPLES: &str = "\
EXAMPLES:
  sluice gen configs/gen/constant-rate.yaml                  two flows, in memory, on any machine
  sluice gen configs/gen/pfc-storm.yaml --report storm.html  a PFC storm, and a page with plots
  sluice gen FILE --port p1=iface:eth1 --port p2=iface:eth2  the same on kernel interfaces
  sluice gen FILE --port p1=0000:3b:00.0                     or a device of DPDK
  sluice gen FILE --world virtual                            in exact virtual time
  sluice gen FILE --format json > result.json
  sluice gen FILE --dry-run                                  check of the file, sends nothing
  sluice gen --listen 127.0.0.1:8080                         for snappi and other OTG clients
  sluice gen --self-test                                     what this machine can resolve

LOCATIONS:
  ring:NAME.a, ring:NAME.b  the ends of a pair back to back in memory; no NIC, no root
  iface:eth1                an interface of the kernel, by AF_PACKET (root)
  0000:3b:00.0, net_...     a device by its EAL name
  ...?pfc=3,4               the priorities whose pauses the port obeys
  ...?capture=both          captures contain sent frames, too

Clients of --listen may name pairs, and the interfaces and devices of --allow.

The run ends when every flow with an end has ended, or by Ctrl-C or --duration. Exit status 0: PASS, all
flows were sent as configured, and flows that measure loss (metrics.loss) lost nothing. 1: FAIL. 4: the
machine disturbed the run, or pauses kept a flow from sending its frames.";

/// Generate and measure traffic: flows, pauses, captures, the OTG API.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = EXAMPLES,
    group(ArgGroup::new("what").args(["file", "listen", "self_test"]).required(true))
)]
pub struct GenerateArgs {
    /// Generator file, an OTG configuration as YAML or JSON.
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Serve the OTG API (HTTP, HTTPS and gRPC) on this address; a port alone is on the loopback.
    #[arg(help_heading = "OTG server", long, value_name = "ADDR", value_parser = address)]
    pub listen: Option<SocketAddr>,
    /// Location that clients of --listen may use, in addition to pairs in memory; may be repeated.
    #[arg(help_heading = "OTG server", long, value_name = "LOCATION", value_parser = Location::parse, requires = "listen")]
    pub allow: Vec<Location>,
    /// Allow --listen beyond the loopback, where every client that reaches the address controls the
    /// ports.
    #[arg(help_heading = "OTG server", long, requires = "listen")]
    pub allow_remote: bool,
    /// Serve only clients with a certificate signed by the authority in this PEM file (TLS).
    #[arg(help_heading = "OTG server", long, value_name = "FILE", requires = "listen")]
    pub client_ca: Option<PathBuf>,
    /// Measure the resolution of this machine, over a pair of ports in memory.
    #[arg(long)]
    pub self_test: bool,
    /// Location of a port of the file, instead of the file's. May be repeated.
    #[arg(long = "port", value_name = "NAME=LOCATION", value_parser = place, requires = "file")]
    pub ports: Vec<(String, String)>,
    /// World of the run; in the virtual world every port must be in memory.
    #[arg(long, value_enum, default_value_t = World::Real, requires = "file")]
    pub world: World,
    /// End the run after this time, such as 10s, even if flows continue. Default: when all finite
    /// flows have ended.
    #[arg(long, value_name = "TIME", requires = "file")]
    pub duration: Option<Span>,
    /// Longest time to wait for frames in flight at the end.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub drain: Span,
    /// Period of progress reports on standard error.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: Span,
    /// Show no progress.
    #[arg(short, long)]
    pub quiet: bool,
    /// Check the file, print the resolved configuration, and send nothing.
    #[arg(long, requires = "file")]
    pub dry_run: bool,
    /// Format of the results on standard output.
    #[arg(help_heading = "Results", long, value_enum, default_value_t)]
    pub format: Format,
    /// Output files in addition to standard output.
    #[command(flatten)]
    pub files: Files,
    /// Serve metrics for Prometheus at http://ADDR/metrics; a port alone is on the loopback, and
    /// without ADDR it is 127.0.0.1:9464.
    #[arg(help_heading = "Results", long, value_name = "ADDR", value_parser = address, num_args = 0..=1,
          default_missing_value = SCRAPE_DEFAULT)]
    pub prometheus: Option<SocketAddr>,
    /// EAL options and idle mode.
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// Parses `NAME=LOCATION`.
fn place(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, place)) if !name.is_empty() && !place.is_empty() => {
            Ok((name.to_owned(), place.to_owned()))
        }
        _ => Err("write the name of a port, `=`, and a location, such as p1=iface:eth1".into()),
    }
}

/// Runs a file, serves clients, or runs the self-test. Exit status 1 means that a flow was not sent
/// completely, or lost frames that it must not lose.
///
/// # Errors
/// An error in the file or an argument, or a resource that the machine lacks.
pub fn run(args: &GenerateArgs) -> Result<ExitCode> {
    args.machine.apply()?;
    match (&args.file, args.listen) {
        // The parser requires exactly one of the three.
        (Some(file), _) => run::run(args, file),
        #[cfg(feature = "dpdk")]
        (None, Some(addr)) => serve::serve(args, addr),
        #[cfg(feature = "dpdk")]
        (None, None) => serve::self_test(args),
        #[cfg(not(feature = "dpdk"))]
        (None, _) => Err(no_ports()),
    }
}

/// Error of a build without ports.
#[cfg(not(feature = "dpdk"))]
fn no_ports() -> anyhow::Error {
    anyhow::anyhow!(
        "this program was built without DPDK and has no ports; FILE --world virtual runs"
    )
}
