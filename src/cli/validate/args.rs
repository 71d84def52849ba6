//! Arguments of `sluice validate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::Format;
use crate::cli::machine::MachineArgs;
use lab::World;
use validate::test::Level;

const EXAMPLES: &str = "\
EXAMPLES:
  sluice validate --list                                    the tests, and what each is about
  sluice validate --describe V-R01                          one test in full
  sluice validate configs/validate/virtual.yaml             Sluice's own switch, in virtual time
  sluice validate configs/validate/rings.yaml --world real  the same with real frames, in real time
  sluice validate DUT.yaml --level full --junit out.xml     all tests, for sonic-mgmt or Jenkins
  sluice validate DUT.yaml --only 'V-R*' --jsonl out.jsonl  some tests, every value on a line
  sluice validate DUT.yaml --only L01                       by sonic-mgmt's number
  sluice validate DUT.yaml --report out.html                a page with all values and plots
  sluice validate DUT.yaml --captures DIR                   the frames of each failure
  sluice validate DUT.yaml --ctrf out.json --github         for a pipeline that shows the failures
  sluice validate --prove                                   which faults the tests find

The tester sends to the device, records all that comes back, and judges it against 802.1Q and 802.3.
It checks itself first, on a cable of its own. Verdicts: pass; fail; inconclusive: closer to a limit
than the tester can measure; policy: the standards leave it open; skip: something is missing; error:
the tester or the cabling cannot be trusted. Exit status 1: a test failed, or an error. 4: none
failed, and one was inconclusive, one that applies was skipped, or none passed.";

/// Validate a device from outside: PFC, ECN, ETS, MACsec, DCBX.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ValidateArgs {
    /// DUT file: the tester's ports, their cables, and the device's configuration.
    #[arg(value_name = "DUT", required_unless_present_any = ["list", "describe", "prove"])]
    pub file: Option<PathBuf>,
    /// Extent of the run.
    #[arg(long, value_enum, default_value_t = Extent::Quick)]
    pub level: Extent,
    /// World of a virtual device: exact virtual time, or real time with real frames on ports in memory. Other
    /// devices are in the real one.
    #[arg(long, value_enum)]
    pub world: Option<World>,
    /// Run only tests of these ids or aliases, `*` for any text, with commas between. May be repeated.
    #[arg(long, value_name = "TEST", alias = "alias", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Print the tests instead of running them.
    #[arg(long)]
    pub list: bool,
    /// Print the descriptions of tests instead of running them, as pages of the manual.
    #[arg(long, value_name = "TEST")]
    pub describe: Vec<String>,
    /// Check the file and print the tests that would run, and in real time how long they take at least.
    #[arg(long)]
    pub dry_run: bool,
    /// Seed of all random decisions, instead of the file's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Count inconclusive tests as failures.
    #[arg(long)]
    pub strict: bool,
    /// Repeat an inconclusive test at most this many times; the last result counts. In virtual time nothing is
    /// repeated, because the result would be the same.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=10))]
    pub retry: u32,
    /// Format of the results on standard output.
    #[arg(help_heading = "Results", long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Write every measurement to this file as JSON Lines.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub jsonl: Option<PathBuf>,
    /// Write the results to this file as JUnit, in sonic-mgmt's form.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the results to this file in the Common Test Report Format (ctrf.io).
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub ctrf: Option<PathBuf>,
    /// Print a workflow command of GitHub Actions for each failure to standard error, by which it is shown beside
    /// the run.
    #[arg(help_heading = "Results", long)]
    pub github: bool,
    /// Prove the tests instead: virtual devices with planted faults must fail them, good ones must
    /// pass, and a wrong tester must end with an error.
    #[arg(help_heading = "Proof of the tests", long, conflicts_with_all = ["file", "list", "describe", "only"])]
    pub prove: bool,
    /// Number of seeds with which the good devices are tested by --prove.
    #[arg(
        help_heading = "Proof of the tests",
        long,
        value_name = "N",
        default_value_t = 20,
        requires = "prove"
    )]
    pub seeds: u64,
    /// Write a page with the verdicts, the values and plots of rates and pauses to this file.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write a capture of each test that fails to this folder, with comments on the offending frames.
    #[arg(help_heading = "Results", long, value_name = "DIR")]
    pub captures: Option<PathBuf>,
    /// Write the values to this file as metrics of Prometheus, for a textfile collector.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub prometheus: Option<PathBuf>,
    /// EAL options and idle mode.
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// Extent of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Extent {
    /// The most important tests, with one priority each.
    Quick,
    /// All tests, with all priorities and values.
    Full,
}

impl From<Extent> for Level {
    fn from(extent: Extent) -> Self {
        match extent {
            Extent::Quick => Self::Quick,
            Extent::Full => Self::Full,
        }
    }
}
