//! Arguments of `sluice benchmark`: procedures, their tests, and the options of all.

use std::path::PathBuf;

use clap::{Args, Subcommand, value_parser};

use crate::cli::Format;
use crate::cli::machine::MachineArgs;
use benchmark::{rfc2544, rfc2889, rfc7640, rfc8239};

const EXAMPLES: &str = "\
EXAMPLES:
  sluice benchmark rfc2544 configs/validate/virtual.yaml     Sluice's own switch, in virtual time
  sluice benchmark rfc2544 DUT.yaml --only throughput        one test of RFC 2544, of a DUT file
  sluice benchmark rfc2544 configs/benchmark/rfc2544.yaml    with other parameters
  sluice benchmark mlrsearch configs/benchmark/mlrsearch.yaml --format json
  sluice benchmark lossless configs/benchmark/lossless.yaml  rates without loss and without pauses
  sluice benchmark rfc8239 DUT.yaml --only buffer            buffer of a port

FILE is a DUT file, as for `sluice validate`, or a benchmark file, which names a DUT file and sets sizes,
durations and flows. Exit status 0: the run is complete. 1: the tester cannot be trusted, or a value is
worse than that of --baseline. 4: the run was interrupted, the machine
disturbed it, or a test that was asked for could not be judged.";

/// Measure the speed of a device: throughput, latency, loss, bursts.
#[derive(Subcommand, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Procedure {
    /// RFC 2544: throughput, latency, frame loss rate, back-to-back frames (RFC 9004), recovery, reset
    /// (RFC 6201).
    Rfc2544 {
        /// Run only these tests, with commas between. May be repeated.
        #[arg(long, value_enum, value_name = "TEST", value_delimiter = ',')]
        only: Vec<rfc2544::Test>,
        #[command(flatten)]
        common: Common,
    },
    /// RFC 2889: throughput and forwarding rates of meshes, congestion control, forward pressure, address
    /// capacity and learning rate, errored frames, broadcasts.
    Rfc2889 {
        /// Run only these tests, with commas between. May be repeated.
        #[arg(long, value_enum, value_name = "TEST", value_delimiter = ',')]
        only: Vec<rfc2889::Test>,
        #[command(flatten)]
        common: Common,
    },
    /// RFC 7640: burst hunt of each queue, and of all queues at once.
    Rfc7640 {
        /// Run only these tests, with commas between. May be repeated.
        #[arg(long, value_enum, value_name = "TEST", value_delimiter = ',')]
        only: Vec<rfc7640::Test>,
        #[command(flatten)]
        common: Common,
    },
    /// RFC 8239: line rate of all ports, buffer, microbursts, head-of-line blocking, incast.
    Rfc8239 {
        /// Run only these tests, with commas between. May be repeated.
        #[arg(long, value_enum, value_name = "TEST", value_delimiter = ',')]
        only: Vec<rfc8239::Test>,
        #[command(flatten)]
        common: Common,
    },
    /// The lossless profile: rates without loss and without pauses, frames held back, buffers.
    Lossless {
        #[command(flatten)]
        common: Common,
    },
    /// One load for a long time: loss, and the trend of latency.
    Soak {
        #[command(flatten)]
        common: Common,
    },
    /// MLRsearch: conditional throughputs of several goals, such as NDR and PDR, in one search.
    Mlrsearch {
        #[command(flatten)]
        common: Common,
    },
}

/// Arguments of all procedures.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Benchmark file, or DUT file.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Format of the results on standard output.
    #[arg(help_heading = "Results", long, value_enum, default_value_t = Format::Table)]
    pub(super) format: Format,
    /// Write the results to this file as JSON, too.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write a line of JSON for each measured row to this file.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub(super) jsonl: Option<PathBuf>,
    /// Write the measured rows to this file as comma-separated values, a table for each test.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub(super) csv: Option<PathBuf>,
    /// Write a page with plots and all tables to this file.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// Write the measured rows, and the numbers of a comparison, to this file as JUnit.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,
    /// Number of runs, for deviations and repeatability.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=100))]
    pub(super) runs: u32,
    /// Compare with the results in this file, which --json wrote: a regression is a failure.
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Keep each trial in this file, and go on from those that it has: an interrupted run is not lost.
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<PathBuf>,
    /// EAL options and idle mode.
    #[command(flatten)]
    pub(super) machine: MachineArgs,
}
