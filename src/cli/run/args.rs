//! Arguments of `sluice run`.

use std::num::NonZeroU16;
use std::path::PathBuf;

use clap::Args;

use crate::cli::Format;
use crate::cli::machine::MachineArgs;
use crate::config::quantity::Span;
use crate::lab::World;
use crate::lab::study::Shard;

const EXAMPLES: &str = "\
EXAMPLES:
  sluice run configs/labs/incast.yaml                        results as tables
  sluice run configs/labs/incast.yaml --report incast.html   and as one page with plots
  sluice run LAB.yaml --format json                          and for programs
  sluice run LAB.yaml --seed 7 --duration 20ms               with another seed, for longer
  sluice run LAB.yaml --set defaults.links.length=500m       with another value of a field
  sluice run LAB.yaml --pcapng h1-s1=h1.pcapng               with the frames of a link
  sluice run LAB.yaml --threads 4                            a large network, on four threads
  sluice run LAB.yaml --world real                           on DPDK rings, with real frames
  sluice check LAB.yaml                                      validation of the file, without a run
  sluice run configs/labs/compare/*.yaml                     every variant of each, in one table
  sluice run LAB.yaml --variant pfc                          one of the lab's variants
  sluice run configs/labs/sweep.yaml --rows out.jsonl        every run of a sweep, a line for each
  sluice run configs/labs/search.yaml                        the least value with which checks pass
  sluice run LAB.yaml --csv tables                           tables of flows, messages and queues
  sluice run SWEEP.yaml --rows out.jsonl --resume            the runs that the file does not have yet
  sluice run SWEEP.yaml --number 17                          one of them, as an ordinary lab
  sluice run SWEEP.yaml --shard 2/8 --rows 2.jsonl           an eighth of them

In the virtual world the same file and seed give the same trace hash, to the picosecond, on every
machine. Results of the real world list what rings cannot do of a lab. Exit status 0: PASS, every check was
judged and holds. 1: a check failed. 4: a check was inconclusive or not judged.";

/// Run lab files, in exact virtual time or on DPDK rings.
///
/// A lab file has nodes, links, flows, faults and checks.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    /// Lab files, YAML or JSON. Several, or one with variants, are compared in one table; one with a
    /// sweep is run with all combinations of its values.
    #[arg(value_name = "LAB", required = true)]
    pub files: Vec<PathBuf>,
    /// Run only this variant of the lab. May be repeated.
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// World of the run.
    #[arg(long, value_enum, default_value_t = World::Virtual)]
    pub world: World,
    /// Seed of all random decisions, instead of the file's.
    #[arg(help_heading = "Change the lab", long)]
    pub seed: Option<u64>,
    /// Seed that randomizes the order of events at the same picosecond.
    #[arg(help_heading = "Change the lab", long, value_name = "SEED")]
    pub shuffle: Option<u64>,
    /// End of the run at the latest, in time of the lab, such as 5ms; instead of the file's.
    #[arg(help_heading = "Change the lab", long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Value of a field by its path, such as defaults.links.length=500m, instead of the file's and its
    /// variants'. May be repeated.
    #[arg(help_heading = "Change the lab", long, value_name = "PATH=VALUE", value_parser = field)]
    pub set: Vec<(String, String)>,
    /// Number of threads that run the network of one lab in the virtual world. Results and trace hash
    /// are the same for every number. Default: 1.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZeroU16>,
    /// Run only this run of a sweep, by its number, as an ordinary lab.
    #[arg(help_heading = "Studies", long, value_name = "N", conflicts_with_all = ["variant", "shard", "resume"])]
    pub number: Option<u64>,
    /// Number of runs at the same time; the real world has one. Default: the number of cores.
    #[arg(help_heading = "Studies", long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Write a line of JSON for each run to this file, as the runs end.
    #[arg(help_heading = "Studies", long, value_name = "FILE")]
    pub rows: Option<PathBuf>,
    /// Go on with the file of --rows: run only the runs that it does not have.
    #[arg(help_heading = "Studies", long, requires = "rows")]
    pub resume: bool,
    /// Folder for complete lab files of the runs of a sweep that fail or are inconclusive.
    #[arg(help_heading = "Studies", long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Run only part K of N of the runs, such as 1/4; other machines run the others.
    #[arg(help_heading = "Studies", long, value_name = "K/N")]
    pub shard: Option<Shard>,
    /// Write a self-contained HTML page with plots to this file.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Format of the results on standard output.
    #[arg(help_heading = "Results", long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Print all results of each run, too, in a comparison as JSON.
    #[arg(help_heading = "Results", long)]
    pub outcomes: bool,
    /// Write tables of runs, flows, messages, hops, series and pauses to CSV files in this folder.
    #[arg(help_heading = "Results", long, value_name = "DIR", conflicts_with = "resume")]
    pub csv: Option<PathBuf>,
    /// Write the same tables to Parquet files in this folder.
    #[cfg(feature = "parquet")]
    #[arg(help_heading = "Results", long, value_name = "DIR", conflicts_with = "resume")]
    pub parquet: Option<PathBuf>,
    /// Write the table of series for the runs of a study, too: it may take gigabytes.
    #[arg(help_heading = "Results", long)]
    pub series: bool,
    /// Write the frames of a link to a pcapng file, both directions. May be repeated.
    #[arg(help_heading = "Results", long, value_name = "LINK=FILE", value_parser = capture)]
    pub pcapng: Vec<(String, PathBuf)>,
    /// In the real world, slow time down by this factor, so that the machine keeps up. Default:
    /// derived from the lab's frame rates.
    #[arg(help_heading = "DPDK and threads", long, value_name = "TIMES", value_parser = clap::value_parser!(u64).range(1..))]
    pub slow_down: Option<u64>,
    /// EAL options and idle mode.
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// Parses `PATH=VALUE`.
fn field(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((path, value)) if !path.is_empty() && !value.is_empty() => {
            Ok((path.to_owned(), value.to_owned()))
        }
        _ => Err("write the path of a field, `=`, and a value, such as seed=7".into()),
    }
}

/// Most threads of a network.
const THREADS_MAX: u16 = 256;

/// Parses a number of threads.
fn threads(text: &str) -> Result<NonZeroU16, String> {
    let number = text.parse::<NonZeroU16>().ok();
    number.filter(|n| n.get() <= THREADS_MAX).ok_or_else(|| {
        format!("write a number from 1 to {THREADS_MAX}, not more than the machine has CPUs, or leave it out for 1")
    })
}

/// Parses `LINK=FILE`.
fn capture(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((link, file)) if !link.is_empty() && !file.is_empty() => {
            Ok((link.to_owned(), file.into()))
        }
        _ => Err("write the name of a link, `=`, and a file".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_needs_a_link_and_a_file() {
        assert_eq!(capture("h1-s1=a=b.pcapng"), Ok(("h1-s1".into(), "a=b.pcapng".into())));
        assert!(capture("h1").is_err() && capture("=x").is_err() && capture("x=").is_err());
    }

    #[test]
    fn a_network_is_run_by_one_thread_or_more() {
        assert_eq!(threads("2").map(NonZeroU16::get), Ok(2));
        for text in ["0", "257", "-1", "two", ""] {
            let error = threads(text).unwrap_err();
            assert!(error.contains("from 1 to 256"), "{text}: {error}");
        }
    }

    #[test]
    fn a_field_is_a_path_and_a_value() {
        assert_eq!(field("a.b={c: d=e}"), Ok(("a.b".into(), "{c: d=e}".into())));
        assert!(field("a.b").is_err() && field("=x").is_err() && field("x=").is_err());
    }
}
