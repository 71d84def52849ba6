//! `sluice run`: a lab, in the virtual or the real world.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::{Format, bad_input, quoted, verdict};
use crate::config::quantity::Span;
use crate::lab::{self, LabPlan, Options, Outcome, Progress, Run, World};
use crate::report::{self, Report, count, scaled};
use crate::sim::LinkId;

const EXAMPLES: &str = "\
EXAMPLES:
  sluice run configs/labs/incast.yaml                        results as tables
  sluice run configs/labs/incast.yaml --report incast.html   and as one page with plots
  sluice run LAB.yaml --format json                          and for programs
  sluice run LAB.yaml --seed 7 --duration 20ms               with other chances, for longer
  sluice run LAB.yaml --pcapng h1-s1=h1.pcapng               with the frames of a link
  sluice run LAB.yaml --world real                           on DPDK rings, with real frames
  sluice check LAB.yaml                                      what the file comes to, without a run

In the virtual world the same file and seed give the same trace hash, to the picosecond, on every
machine. The real one says what it does not have of a lab. Exit status 0 says that all checks of the
lab are good, 1 that one is not.";

/// Run a lab file: nodes, links, flows, faults and checks, in exact virtual time or on real rings.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    /// The lab file, YAML or JSON.
    #[arg(value_name = "LAB")]
    pub file: PathBuf,
    /// Where it is run.
    #[arg(long, value_enum, default_value_t = World::Virtual)]
    pub world: World,
    /// In the real world, let time run so many times slower than it does, so that the machine keeps
    /// up. Default: by as much as the lab's frame rates ask for.
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u64).range(1..))]
    pub slow_down: Option<u64>,
    /// The seed of all that is drawn by chance, in place of the file's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Draw the order of what happens at the same picosecond from this seed.
    #[arg(long, value_name = "SEED")]
    pub shuffle: Option<u64>,
    /// When the run ends at the latest, in time of the lab, such as 5ms: in place of the file's.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Write a page with plots, which needs nothing but a browser, to this file.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// What the results look like on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Write the frames of a link to a pcapng file, both directions. May be given several times.
    #[arg(long, value_name = "LINK=FILE", value_parser = capture)]
    pub pcapng: Vec<(String, PathBuf)>,
}

/// Reads `LINK=FILE`.
fn capture(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((link, file)) if !link.is_empty() && !file.is_empty() => {
            Ok((link.to_owned(), file.into()))
        }
        _ => Err("write the name of a link, `=`, and a file".into()),
    }
}

/// Runs the lab and prints its results. Exit status 1 says that a check is not good.
///
/// # Errors
/// What is wrong with the file or an argument, or that there is no such world here.
pub fn run(args: &RunArgs) -> Result<ExitCode> {
    let plan = plan(args)?;
    let options = Options { plots: args.report.is_some(), slow_down: args.slow_down };
    let mut show = Show::new(&plan, args.world);
    let run = lab::run(&plan, args.world, options, |p| show.update(p))
        .map_err(|e| if e.is_bad_input() { bad_input(e) } else { e.into() })?;
    show.finish(&run.outcome);
    if let Some(path) = &args.report {
        write_report(path, args, &plan, &run)?;
    }
    let mut out = std::io::stdout().lock();
    match args.format {
        Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&run.outcome)?)?,
        Format::Table => write!(out, "{}", report::lab_text(&run.outcome))?,
    }
    Ok(verdict(run.outcome.is_good()))
}

/// The file's plan, with what the arguments change.
fn plan(args: &RunArgs) -> Result<LabPlan> {
    let change = |lab: &mut lab::raw::Lab| {
        lab.seed = args.seed.unwrap_or(lab.seed);
        lab.shuffle = args.shuffle.or(lab.shuffle);
        lab.duration = args.duration.or(lab.duration);
    };
    let (mut plan, warnings) = lab::load_changed(&args.file, change).map_err(bad_input)?;
    for warning in warnings {
        eprintln!("warning: {}", warning.line(&args.file.display().to_string()));
    }
    for (name, file) in &args.pcapng {
        plan.record.pcapng.push((link(&plan, name).map_err(bad_input)?, file.clone()));
    }
    Ok(plan)
}

/// The link of a name.
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

fn write_report(path: &Path, args: &RunArgs, plan: &LabPlan, run: &Run) -> Result<()> {
    let recording = run.recording.as_ref().context("nothing was recorded")?;
    let command = command(args, &run.outcome);
    let page = report::html(&Report { plan, outcome: &run.outcome, recording, command: &command });
    let written = fs::write(path, page);
    written.with_context(|| format!("writing {}", path.display())).map_err(bad_input)
}

/// The command that gives the same results again.
fn command(args: &RunArgs, outcome: &Outcome) -> String {
    let mut command = format!("sluice run {} --world {}", quoted(&args.file), args.world);
    command += &format!(" --seed {}", outcome.seed);
    if let Some(shuffle) = outcome.shuffle {
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

/// The progress: a bar on a terminal, a line every second elsewhere.
struct Show {
    bar: Option<ProgressBar>,
    begun: StdInstant,
    next_line: StdInstant,
}

/// From one line to the next where there is no terminal.
const LINE_EVERY: StdDuration = StdDuration::from_secs(1);

/// Steps of the bar.
const STEPS: u64 = 1_000;

impl Show {
    fn new(plan: &LabPlan, world: World) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{prefix} [{bar:32}] {msg}");
            let style = style.expect("the template is well formed").progress_chars("=> ");
            ProgressBar::new(STEPS).with_style(style).with_prefix(plan.name.clone())
        });
        if bar.is_none() {
            let network = &plan.network;
            eprintln!(
                "{}: {} nodes, {} links and {} flows in the {world} world, for up to {}",
                plan.name,
                network.nodes.len(),
                network.links.len(),
                plan.flows.len(),
                plan.duration
            );
        }
        let begun = StdInstant::now();
        Self { bar, begun, next_line: begun + LINE_EVERY }
    }

    fn update(&mut self, p: Progress) {
        let text = || format!("{} of {}, {} frame-hops", p.at, p.of, count(p.frames));
        if let Some(bar) = &self.bar {
            let part = p.at.as_secs_f64() / p.of.as_secs_f64().max(1e-12);
            bar.set_position((part * STEPS as f64) as u64);
            bar.set_message(text());
        } else if StdInstant::now() >= self.next_line {
            eprintln!("{}", text());
            self.next_line += LINE_EVERY;
        }
    }

    /// Says how fast it went, which is no result and so stays off standard output.
    fn finish(&self, outcome: &Outcome) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let seconds = self.begun.elapsed().as_secs_f64();
        let per_second = |n: u64, unit| scaled(n as f64 / seconds.max(1e-9), unit);
        let work = match outcome.real {
            None => per_second(outcome.engine.events, " events/s"),
            Some(_) => per_second(outcome.engine.polls, " polls/s"),
        };
        eprintln!(
            "{} took {seconds:.2} s: {}, {work}",
            outcome.elapsed_ns,
            per_second(outcome.engine.frames, " frame-hops/s"),
        );
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
    fn the_command_of_a_report_survives_a_shell() {
        assert_eq!(quoted(Path::new("labs/in-cast_1.yaml")), "labs/in-cast_1.yaml");
        assert_eq!(quoted(Path::new("my lab's.yaml")), r"'my lab'\''s.yaml'");
    }
}
