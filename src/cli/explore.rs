//! `sluice explore`: runs a lab with many values of its fields and prints the Pareto front.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::Args;

use super::kind::Kind;
use super::outputs::Outputs;
use super::terminal::{self, Progress, say};
use super::{Format, bad_input, exit, quoted, stop_on_signals};
use crate::config::Machine;
use crate::config::quantity::Span;
use crate::lab::explore::{
    self, Axis, Exploration, ExploreError, Explored, Objective, Sense, Short, split_values,
};
use crate::lab::{self, LabFile, study};
use crate::report::{self, ExplorePage};

const EXAMPLES: &str = "\
EXAMPLES:
  sluice explore configs/labs/roce-dcqcn.yaml --kmin 20KB,100KB --pmax 1%,20%
  sluice explore LAB.yaml --alpha 1/8,1/4,1 --xon 0B,18KiB --report front.html
  sluice explore LAB.yaml --axis profiles.tor.buffer.total=8MiB,16MiB
  sluice explore LAB.yaml --kmin 50KB,100KB --minimize figures.fct.p50_ns

The objectives are the 99th percentile of completion times (of latency without messages), the rate of
all flows, pauses (XOFF) and the peak of a switch's buffer. A run whose verdict is not PASS is never
on the front. The same file, axes and seed give the same results, whatever the number of jobs.
Exit status 0: there is a front. 1: every run failed a check. 4: interrupted, or no run has results.";

/// Period of progress lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Run a lab with many values, and print the runs that no other beats.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ExploreArgs {
    /// Lab file, YAML or JSON.
    #[arg(value_name = "LAB")]
    file: PathBuf,
    /// Variant of the lab.
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Values of every Kmin in the lab, such as 50KB,100KB.
    #[arg(help_heading = "Values", long, value_name = "VALUES")]
    kmin: Option<String>,
    /// Values of every Kmax.
    #[arg(help_heading = "Values", long, value_name = "VALUES")]
    kmax: Option<String>,
    /// Values of every Pmax, such as 1%,20%.
    #[arg(help_heading = "Values", long, value_name = "VALUES")]
    pmax: Option<String>,
    /// Values of alpha of every dynamic threshold: powers of two, such as 1/8,1.
    #[arg(help_heading = "Values", long, value_name = "VALUES")]
    alpha: Option<String>,
    /// Values of every XON.
    #[arg(help_heading = "Values", long, value_name = "VALUES")]
    xon: Option<String>,
    /// Values of every XON offset.
    #[arg(help_heading = "Values", long, value_name = "VALUES")]
    xon_offset: Option<String>,
    /// Values of any field, by its path in the file. May be repeated.
    #[arg(help_heading = "Values", long, value_name = "PATH=VALUES")]
    axis: Vec<String>,
    /// Number in the results to minimize, by its path, instead of the four objectives. May be repeated.
    #[arg(help_heading = "Objectives", long, value_name = "NUMBER")]
    minimize: Vec<String>,
    /// Number in the results to maximize, likewise.
    #[arg(help_heading = "Objectives", long, value_name = "NUMBER")]
    maximize: Vec<String>,
    /// Largest number of runs. Of more points this number is drawn with the seed.
    #[arg(long, value_name = "N", default_value_t = 256)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// Number of runs at the same time. Default: the number of cores.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Seed of all random decisions, instead of the file's.
    #[arg(long)]
    seed: Option<u64>,
    /// End of each run at the latest, in time of the lab, instead of the file's.
    #[arg(long, value_name = "TIME")]
    duration: Option<Span>,
    /// Print all runs, not only the front.
    #[arg(help_heading = "Results", long)]
    all: bool,
    /// Write a self-contained HTML page with plots to this file.
    #[arg(help_heading = "Results", long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Format of the results on standard output.
    #[arg(help_heading = "Results", long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl ExploreArgs {
    /// Options with short names, with their values.
    fn shorts(&self) -> [(Short, &'static str, &Option<String>); 6] {
        [
            (Short::Kmin, "--kmin", &self.kmin),
            (Short::Kmax, "--kmax", &self.kmax),
            (Short::Pmax, "--pmax", &self.pmax),
            (Short::Alpha, "--alpha", &self.alpha),
            (Short::Xon, "--xon", &self.xon),
            (Short::XonOffset, "--xon-offset", &self.xon_offset),
        ]
    }

    fn axes(&self) -> Result<Vec<Axis>> {
        let named = |option: &str, why: String| bad_input(anyhow!("{option}: {why}"));
        let mut axes = Vec::new();
        for (short, option, text) in self.shorts() {
            let Some(text) = text else { continue };
            axes.push(short.axis(&split_values(text)).map_err(|why| named(option, why))?);
        }
        for text in &self.axis {
            let Some((path, values)) = text.split_once('=') else {
                return Err(named(
                    "--axis",
                    format!("`{text}` has no `=` between path and values"),
                ));
            };
            let axis = Axis::new(path.trim(), &split_values(values));
            axes.push(axis.map_err(|why| named("--axis", why))?);
        }
        if axes.is_empty() {
            let what = "nothing to explore: give values to a field, such as --kmin 50KB,100KB";
            return Err(bad_input(anyhow!(what)));
        }
        Ok(axes)
    }

    fn objectives(&self) -> Vec<Objective> {
        let of = |paths: &[String], sense| -> Vec<Objective> {
            paths.iter().map(|path| Objective::at(path, sense)).collect()
        };
        let mut own = of(&self.minimize, Sense::Minimize);
        own.extend(of(&self.maximize, Sense::Maximize));
        // Own objectives replace the standard ones.
        if own.is_empty() { Objective::standard() } else { own }
    }

    /// Command that reproduces the results.
    fn command(&self, seed: u64) -> String {
        let mut command = format!("sluice explore {}", quoted(&self.file));
        let mut add = |option: &str, value: &str| {
            command += &format!(" {option} {}", quoted(value.as_ref()));
        };
        self.variant.iter().for_each(|name| add("--variant", name));
        for (_, option, text) in self.shorts() {
            text.iter().for_each(|text| add(option, text));
        }
        self.axis.iter().for_each(|axis| add("--axis", axis));
        self.minimize.iter().for_each(|path| add("--minimize", path));
        self.maximize.iter().for_each(|path| add("--maximize", path));
        add("--runs", &self.runs.to_string());
        // Also where it was drawn: the command repeats this exploration and not another one.
        add("--seed", &seed.to_string());
        self.duration.iter().for_each(|Span(time)| add("--duration", &time.to_string()));
        command
    }
}

/// Explores a lab and prints the front.
///
/// # Errors
/// An error in the file or an argument.
pub fn run(args: &ExploreArgs) -> Result<ExitCode> {
    Kind::Lab.expect(&args.file)?;
    let axes = args.axes()?;
    let file =
        LabFile::read(&args.file).and_then(|file| file.without_study(args.variant.as_deref()));
    let file = file.map_err(bad_input)?;
    let jobs = study::jobs(args.jobs);
    // Each job has its own lab in memory.
    let memory = Machine::this().heap.map(|heap| heap / jobs as u64);
    // The lab as it is in the file stands for all points, whose size is about the same.
    let (plan, _) = file.plan(None, |_| ()).map_err(bad_input)?;
    lab::refuse_memory(&args.file.display().to_string(), &plan, memory).map_err(bad_input)?;
    let mut outputs = Outputs::new();
    outputs.input("the lab file", &args.file);
    let page = args.report.as_ref().map(|path| outputs.open("--report", path)).transpose()?;
    let (objectives, runs) = (args.objectives(), args.runs as usize);
    let exploration = Exploration { axes, objectives, runs, jobs, seed: args.seed };
    let explored = explored(args, &file, &exploration)?;
    let names: Vec<&str> = exploration.axes.iter().map(Axis::name).collect();
    let written = page.map(|page| {
        let command = args.command(explored.seed);
        let content = ExplorePage { explored: &explored, names: &names, command: &command };
        page.write(report::explore_html(&content).as_bytes())
    });
    match args.format {
        Format::Json => terminal::print_json(&explored)?,
        Format::Table => terminal::print(report::explored_text(&explored, &names, args.all))?,
    }
    // After the results are printed, so that a failed page does not lose them.
    written.transpose()?;
    Ok(exit(explored.verdict()))
}

fn explored(args: &ExploreArgs, file: &LabFile, exploration: &Exploration) -> Result<Explored> {
    let stop = stop_on_signals()?;
    let template = "{bar:32} {pos}/{len} runs, {eta} left";
    let mut progress = Progress::new(template, "", None, LINE_EVERY);
    let found = explore::explore(file, exploration, args.duration, &stop, |done, of| {
        // The number of runs is known only after the axes are combined.
        if let Some(bar) = &progress.bar {
            bar.set_length(of as u64);
        }
        progress.update(done as u64, String::new(), |_| format!("{done} of {of} runs"));
    });
    progress.clear();
    let explored = found.map_err(|error| match error {
        ExploreError::Point(error) if !error.is_bad_input() => error.into(),
        // Its findings have a line each.
        ExploreError::Config(error) => bad_input(error),
        other => bad_input(other),
    })?;
    if explored.points.len() < explored.planned {
        say!("interrupted after {} of {} runs", explored.points.len(), explored.planned);
    }
    Ok(explored)
}
