//! Runs a generator file from start to end. Meanwhile a terminal shows a bar and tables, and any other
//! output gets a line per interval.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow};
use tester::drive::{Limits, Ran, Runner, Why, drive};
use tester::judge::verdict;
use tester::memory::{self, World};
use tester::otg_file::{TestFile, load_placed};
use tester::plan::FlowKind;
use tester::report::Report;
use tester::virtual_run::VirtualTest;

use super::GenerateArgs;
use super::files::{self, Format};
#[cfg(feature = "dpdk")]
use super::serve::whose;
use crate::cli::kind::Kind;
use crate::cli::terminal::{self, say};
use crate::cli::{bad_input, exit, quoted, serve_metrics, stop_on_signals};
use crate::config::Machine;
use crate::printable;
use crate::report::{self, Screen};

/// A generator file that was read.
struct Loaded<'a> {
    file: &'a Path,
    /// Name of the test in results: the file's name without its extension.
    name: String,
    test: TestFile,
}

/// Runs a file.
///
/// # Errors
/// An error in the file, or a resource that the machine lacks.
pub(super) fn run(args: &GenerateArgs, file: &Path) -> Result<ExitCode> {
    Kind::Generator.expect(file)?;
    let (test, warnings) = load_placed(file, &args.ports).map_err(bad_input)?;
    for warning in &warnings {
        say!("warning: {}", warning.line(&file.display().to_string()));
    }
    fits(args, file, &test, &Machine::this())?;
    let name = file.file_stem().map_or_else(|| "test".into(), |name| name.to_string_lossy());
    let loaded = Loaded { file, name: name.into_owned(), test };
    if args.dry_run {
        match args.format {
            Format::Json => terminal::print_json(&report::plan_json(&loaded.test.plan))?,
            Format::Table => terminal::print(report::plan_text(&loaded.test.plan))?,
            Format::Csv => {
                let what = "--format csv has rows of results, and --dry-run has none; write json";
                return Err(bad_input(anyhow!(what)));
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let opened = files::open(&args.files, file, &loaded.test)?;
    match args.world {
        World::Virtual => {
            let mut test = VirtualTest::new(loaded.test.plan.clone()).map_err(bad_input)?;
            run_on(args, &loaded, opened, &mut test, anyhow::Error::from)
        }
        World::Real => real(args, &loaded, opened),
    }
}

/// Refuses a test that needs more than `available` bytes of memory in its world.
fn fits(args: &GenerateArgs, file: &Path, test: &TestFile, machine: &Machine) -> Result<()> {
    let available = match args.world {
        World::Real => machine.memory,
        World::Virtual => machine.heap,
    };
    let file = file.display().to_string();
    memory::refuse_memory(&file, &test.plan, args.world, available).map_err(bad_input)
}

#[cfg(feature = "dpdk")]
fn real(args: &GenerateArgs, loaded: &Loaded<'_>, opened: files::Opened<'_>) -> Result<ExitCode> {
    let eal = super::serve::eal_options(args.machine);
    let mut test = tester::real_run::RealTest::new(&loaded.test, eal).map_err(whose)?;
    let status = run_on(args, loaded, opened, &mut test, whose)?;
    let Some(folder) = &args.files.captures else { return Ok(status) };
    for port in &loaded.test.plan.ports {
        let Some(capture) = &port.capture else { continue };
        let bytes = test.capture(&port.name).map_err(whose)?;
        let path = files::capture_file(folder, &port.name, capture.format);
        files::put("--captures", &path, &bytes)?;
    }
    Ok(status)
}

#[cfg(not(feature = "dpdk"))]
fn real(_: &GenerateArgs, _: &Loaded<'_>, _: files::Opened<'_>) -> Result<ExitCode> {
    Err(super::no_ports())
}

/// Runs a test in either world, then shows and writes its results.
fn run_on<R>(
    args: &GenerateArgs,
    loaded: &Loaded<'_>,
    opened: files::Opened<'_>,
    test: &mut R,
    whose: fn(R::Error) -> anyhow::Error,
) -> Result<ExitCode>
where
    R: Runner,
{
    let stop = stop_on_signals()?;
    let latest = Arc::new(Mutex::new(Report::default()));
    let shown = Arc::clone(&latest);
    let scrape = move || {
        let report = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(report::tester_metrics(report))
    };
    serve_metrics(args.prometheus, None, Arc::new(scrape))?;
    if args.duration.is_none() && !loaded.test.plan.flows.iter().any(ends) && !args.quiet {
        say!("no flow ends by itself: Ctrl-C ends the run, and so does --duration");
    }
    let mut show = Show::new(&loaded.name, args.interval.0.as_secs_f64(), args.quiet);
    let limits = Limits { duration: args.duration.map(|span| span.0), drain: args.drain.0 };
    let ran = drive(&loaded.test.plan, test, limits, |report, part| {
        show.update(report, part);
        keep(&latest, report);
        !stop.load(Ordering::SeqCst)
    });
    show.clear();
    let ran = ran.map_err(whose)?;
    keep(&latest, &ran.report);
    say(args, &ran);
    let written = files::write(opened, &loaded.name, &command(args, loaded.file), &ran);
    files::print(args.format, &ran)?;
    // After the results are printed, so that a failed file does not lose them.
    written?;
    Ok(exit(verdict(&ran.findings)))
}

/// Reports on standard error the reason why a run ended before its flows did.
fn say(args: &GenerateArgs, ran: &Ran) {
    let sending = ran.report.flows.iter().filter(|flow| flow.transmit != "stopped").count();
    if sending > 0 {
        say!("{sending} flows had frames on their way after --drain {}", args.drain.0);
    }
    match &ran.why {
        Why::Asked | Why::Interrupted => say!("the run was ended by a signal"),
        Why::Down => say!("the run was ended because links stayed down"),
        Why::Disturbed(why) => say!("the run was ended early: {why}"),
        Why::Done | Why::Over => {}
    }
}

fn keep(latest: &Mutex<Report>, report: &Report) {
    *latest.lock().unwrap_or_else(PoisonError::into_inner) = report.clone();
}

/// True if a flow ends by itself.
fn ends(flow: &tester::plan::FlowPlan) -> bool {
    match &flow.kind {
        FlowKind::Stream(stream) => stream.limit.frames.is_some() || stream.limit.time.is_some(),
        FlowKind::Roce(_) => false,
    }
}

/// Command that repeats the same test.
fn command(args: &GenerateArgs, file: &Path) -> String {
    let mut command = format!("sluice gen {}", quoted(file));
    for (name, place) in &args.ports {
        command += &format!(" --port {}", quoted(Path::new(&format!("{name}={place}"))));
    }
    if args.world == World::Virtual {
        command += " --world virtual";
    }
    if let Some(duration) = args.duration {
        command += &format!(" --duration {}", duration.0);
    }
    command
}

/// Width of the bar in characters.
const BAR: usize = 32;

/// Display of a running test.
pub(super) struct Show {
    /// None disables the display.
    screen: Option<Screen>,
    name: String,
    /// Seconds of the test between updates.
    every_s: f64,
    /// Second of the next update.
    next_s: f64,
}

impl Show {
    pub(super) fn new(name: &str, every_s: f64, quiet: bool) -> Self {
        let screen = (!quiet).then(Screen::new);
        Self { screen, name: name.to_owned(), every_s, next_s: every_s }
    }

    /// Shows a report if an update is due.
    pub(super) fn update(&mut self, report: &Report, part: Option<f64>) {
        let elapsed_s = report.elapsed_s.unwrap_or(0.0);
        let Some(screen) = self.screen.as_mut().filter(|_| elapsed_s >= self.next_s) else {
            return;
        };
        self.next_s = elapsed_s + self.every_s;
        let head = format!("{} {}", printable::line(&self.name), bar(part));
        screen.show(
            || format!("{}\n{}", head.trim_end(), report::tester_text(report, None)),
            || report::tester_line(report),
        );
    }

    pub(super) fn clear(&mut self) {
        if let Some(screen) = &mut self.screen {
            screen.clear();
        }
    }
}

/// Progress bar; empty if the progress is unknown.
fn bar(part: Option<f64>) -> String {
    let Some(part) = part else { return String::new() };
    let full = (part * BAR as f64).round().clamp(0.0, BAR as f64) as usize;
    let tip = if (1..BAR).contains(&full) { ">" } else { "" };
    let body = format!("{}{tip}", "=".repeat(full - tip.len()));
    format!("[{body:<BAR$}] {:3.0} %", 100.0 * part)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        generate: GenerateArgs,
    }

    #[test]
    fn a_test_beyond_the_memory_is_bad_input_in_the_world_that_needs_it() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/gen/constant-rate.yaml");
        let (test, _) = load_placed(Path::new(file), &[]).unwrap();
        let on = |world: &str, available: Option<u64>| {
            // The memory for the other world does not matter.
            let machine = match world {
                "real" => Machine { memory: available, heap: Some(0), ..Machine::any() },
                _ => Machine { heap: available, memory: Some(0), ..Machine::any() },
            };
            let args = Cli::try_parse_from(["gen", file, "--world", world]).unwrap().generate;
            fits(&args, Path::new(file), &test, &machine)
        };
        let needed = |world| memory::memory_needed(&test.plan, world);
        let (real, simulated) = (needed(World::Real), needed(World::Virtual));
        // The virtual world has no pools, which take most of it.
        assert!(real > 10 * simulated, "{real} {simulated}");
        for (world, needed) in [("real", real), ("virtual", simulated)] {
            assert!(on(world, None).is_ok() && on(world, Some(needed)).is_ok(), "{world}");
            let refused = on(world, Some(needed - 1)).unwrap_err();
            assert!(refused.is::<crate::cli::BadInput>(), "{refused:#}");
            let refused = format!("{refused:#}");
            assert!(refused.contains("constant-rate.yaml: ports, flows: 2 `flows`"), "{refused}");
        }
    }

    #[test]
    fn the_bar_is_as_wide_at_any_part() {
        assert_eq!(bar(None), "");
        let widths = [0.0, 0.01, 0.5, 0.999, 1.0].map(|part| bar(Some(part)).len());
        assert_eq!(widths, [BAR + 8; 5]);
        assert!(
            bar(Some(0.5)).starts_with("[===============>   ") && bar(Some(0.5)).ends_with(" 50 %")
        );
    }
}
