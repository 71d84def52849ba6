//! `sluice run`: runs a lab, or compares several, in the virtual or the real world.

mod compare;
mod show;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::Args;

use super::kind::Kind;
use super::machine::MachineArgs;
use super::outputs::{OutputFile, Outputs};
use super::terminal::{self, say};
use super::{Format, bad_input, exit, quoted, stop_on_signals};
use crate::config::Machine;
use crate::config::quantity::Span;
use crate::lab::{self, LabFile, LabPlan, Options, Run, World};
use crate::report::{self, Report};
use crate::sim::LinkId;
#[cfg(feature = "dpdk")]
pub(super) use compare::run_all;
use show::Show;

const EXAMPLES: &str = "\
EXAMPLES:
  sluice run configs/labs/incast.yaml                        results as tables
  sluice run configs/labs/incast.yaml --report incast.html   and as one page with plots
  sluice run LAB.yaml --format json                          and for programs
  sluice run LAB.yaml --seed 7 --duration 20ms               with another seed, for longer
  sluice run LAB.yaml --pcapng h1-s1=h1.pcapng               with the frames of a link
  sluice run LAB.yaml --world real                           on DPDK rings, with real frames
  sluice check LAB.yaml                                      validation of the file, without a run
  sluice run configs/labs/compare/*.yaml                     every variant of each, in one table
  sluice run LAB.yaml --variant pfc                          one of a lab's variants

In the virtual world the same file and seed give the same trace hash, to the picosecond, on every
machine. The real world reports what it cannot do of a lab. Exit status 0: PASS, no check failed and at
least one passed. 1: a check failed. 4: inconclusive, or no check could be judged.";

/// Run a lab file: nodes, links, flows, faults and checks, in exact virtual time or on real rings.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    /// Lab files, YAML or JSON. Several, or one with variants, are run in sequence and compared in
    /// one table.
    #[arg(value_name = "LAB", required = true)]
    pub files: Vec<PathBuf>,
    /// Run only this variant of the lab. May be repeated.
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// World of the run.
    #[arg(long, value_enum, default_value_t = World::Virtual)]
    pub world: World,
    /// In the real world, slow time down by this factor, so that the machine keeps up. Default:
    /// derived from the lab's frame rates.
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u64).range(1..))]
    pub slow_down: Option<u64>,
    /// Seed of all random decisions, instead of the file's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Seed that randomizes the order of events at the same picosecond.
    #[arg(long, value_name = "SEED")]
    pub shuffle: Option<u64>,
    /// End of the run at the latest, in time of the lab, such as 5ms; instead of the file's.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Write a self-contained HTML page with plots to this file.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Format of the results on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Print all results of each run, too, in a comparison as JSON.
    #[arg(long)]
    pub outcomes: bool,
    /// Write the frames of a link to a pcapng file, both directions. May be repeated.
    #[arg(long, value_name = "LINK=FILE", value_parser = capture)]
    pub pcapng: Vec<(String, PathBuf)>,
    /// EAL options and idle mode.
    #[command(flatten)]
    pub machine: MachineArgs,
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

/// One run of a lab file, or of a variant of it.
struct Job {
    plan: LabPlan,
    /// True for a single run, false in a comparison.
    alone: bool,
}

/// Runs the labs and prints their results. The exit status is the verdict's.
///
/// # Errors
/// An error in a file or an argument, or a world that this build lacks.
pub fn run(args: &RunArgs) -> Result<ExitCode> {
    args.machine.apply()?;
    let mut jobs = jobs(args)?;
    let alone = matches!(&*jobs, [job] if job.alone);
    if !alone && !args.pcapng.is_empty() {
        let what = anyhow!("--pcapng: one lab has the link, and there are {} runs", jobs.len());
        return Err(bad_input(what.context("choose one with --variant")));
    }
    for (name, file) in &args.pcapng {
        let plan = &mut jobs[0].plan;
        plan.record.pcapng.push((link(plan, name).map_err(bad_input)?, file.clone()));
    }
    let page = outputs(args, &jobs)?;
    if alone { run_one(args, &jobs[0].plan, page) } else { compare::run(args, &jobs, page) }
}

/// Checks the files that the runs write, and opens the page.
fn outputs(args: &RunArgs, jobs: &[Job]) -> Result<Option<OutputFile>> {
    let mut outputs = Outputs::new();
    args.files.iter().for_each(|file| outputs.input("the lab file", file));
    for (_, path) in jobs.iter().flat_map(|job| &job.plan.record.pcapng) {
        // Opened again when its run starts.
        outputs.open("the capture", path)?;
    }
    args.report.as_ref().map(|path| outputs.open("--report", path)).transpose()
}

/// Runs one lab and prints all of its results.
fn run_one(args: &RunArgs, plan: &LabPlan, page: Option<OutputFile>) -> Result<ExitCode> {
    let stop = stop_on_signals()?;
    let options =
        Options { plots: args.report.is_some(), slow_down: args.slow_down, stop: Some(&stop) };
    let mut show = Show::new(plan, args.world);
    let run = lab::run(plan, args.world, options, |p| show.update(p))
        .map_err(|e| if e.is_bad_input() { bad_input(e) } else { e.into() })?;
    show.finish(&run.outcome);
    let written = page.map(|page| page.write(report_of(args, plan, &run)?.as_bytes()));
    match args.format {
        Format::Json => terminal::print_json(&run.outcome)?,
        Format::Table => terminal::print(report::lab_text(&run.outcome))?,
    }
    // After the results are printed, so that a failed page does not lose them.
    written.transpose()?;
    Ok(exit(run.outcome.verdict))
}

/// Lists the runs with the changes of the arguments. All files are read before the first run.
fn jobs(args: &RunArgs) -> Result<Vec<Job>> {
    let change = |lab: &mut lab::raw::Lab| {
        lab.seed = args.seed.unwrap_or(lab.seed);
        lab.shuffle = args.shuffle.or(lab.shuffle);
        lab.duration = args.duration.or(lab.duration);
    };
    let mut jobs = Vec::new();
    let mut told = BTreeSet::new();
    // The real world is of rings, whose memory DPDK sets aside.
    let memory = Machine::this().heap.filter(|_| args.world == World::Virtual);
    for path in &args.files {
        Kind::Lab.expect(path)?;
        let file = LabFile::read(path).map_err(bad_input)?;
        let wanted: Vec<Option<&str>> = match (args.variant.is_empty(), file.variants().len()) {
            (true, 0) => vec![None],
            (true, _) => file.variants().map(Some).collect(),
            (false, _) => args.variant.iter().map(|name| Some(name.as_str())).collect(),
        };
        let alone = args.files.len() == 1 && wanted.len() == 1;
        let alone = alone && (wanted == [None] || !args.variant.is_empty());
        for variant in wanted {
            let (plan, warnings) = file.plan(variant, change).map_err(bad_input)?;
            let name = path.display().to_string();
            lab::refuse_memory(&name, &plan, memory).map_err(bad_input)?;
            let lines = warnings.iter().map(|w| w.line(&name));
            for line in lines.filter(|line| told.insert(line.clone())) {
                say!("warning: {line}");
            }
            jobs.push(Job { plan, alone });
        }
    }
    Ok(jobs)
}

/// Finds the link of a name.
fn link(plan: &LabPlan, name: &str) -> Result<LinkId> {
    const SHOWN: usize = 12;
    let links = &plan.network.links;
    let found = links.iter().position(|link| link.name == name);
    found.map(|n| LinkId(n as u32)).ok_or_else(|| {
        let names: Vec<_> = links.iter().take(SHOWN).map(|link| link.name.as_str()).collect();
        let more = if links.len() > SHOWN { ", ..." } else { "" };
        anyhow!("--pcapng: there is no link {name}; there are {}{more}", names.join(", "))
    })
}

/// Builds the page of `--report`.
fn report_of(args: &RunArgs, plan: &LabPlan, run: &Run) -> Result<String> {
    let recording = run.recording.as_ref().context("nothing was recorded")?;
    let command = command(&RunArgs { seed: Some(run.outcome.seed), ..args.clone() });
    Ok(report::html(&Report { plan, outcome: &run.outcome, recording, command: &command }))
}

/// Command that reproduces the results.
fn command(args: &RunArgs) -> String {
    let files: Vec<_> = args.files.iter().map(|file| quoted(file)).collect();
    let mut command = format!("sluice run {}", files.join(" "));
    for variant in &args.variant {
        command += &format!(" --variant {variant}");
    }
    command += &format!(" --world {}", args.world);
    if let Some(seed) = args.seed {
        command += &format!(" --seed {seed}");
    }
    if let Some(shuffle) = args.shuffle {
        command += &format!(" --shuffle {shuffle}");
    }
    if let Some(slow_down) = args.slow_down {
        command += &format!(" --slow-down {slow_down}");
    }
    if let Some(Span(duration)) = args.duration {
        command += &format!(" --duration {duration}");
    }
    command
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_capture_needs_a_link_and_a_file() {
        assert_eq!(capture("h1-s1=a=b.pcapng"), Ok(("h1-s1".into(), "a=b.pcapng".into())));
        assert!(capture("h1").is_err() && capture("=x").is_err() && capture("x=").is_err());
    }

    #[test]
    fn the_command_of_a_report_survives_a_shell() {
        assert_eq!(quoted(Path::new("labs/in-cast_1.yaml")), "labs/in-cast_1.yaml");
        assert_eq!(quoted(Path::new("my lab's.yaml")), r"'my lab'\''s.yaml'");
    }
}
