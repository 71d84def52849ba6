//! `sluice check`: validates a switch, lab, generator or DUT file and prints the resolved configuration.

mod congestion;
mod lab;
mod protocols;
mod render;
mod study;
mod switch;
mod text;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use zeroize::Zeroizing;

use super::{Format, schema, terminal};
use crate::config::{self, ConfigError, Finding, Machine, SwitchFile, Warning};
use crate::lab::study::{Changes, Study, jobs};
use crate::lab::{LabFile, Resolved, examine, is_lab, refuse_memory};
use crate::runtime::Placement;
use crate::{printable, report};
use ::benchmark::file::is_benchmark;
use ::benchmark::plan::Plan;
use ::validate::file::{self, Dut};
use render::{Json, object, some};
use tester::memory;
use tester::otg_file;
use tester::plan::TestPlan;

/// Exit status of invalid input.
const BAD_INPUT: u8 = 2;

/// Validate files: print the resolved configuration, or all errors.
///
/// It reads switch, lab, generator, DUT and benchmark files.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Files, YAML or JSON; their kinds are detected from their fields.
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    pub files: Vec<PathBuf>,

    /// Format of the results.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Print the JSON Schema of a kind of file and exit.
    #[arg(
        long,
        conflicts_with = "files",
        value_enum,
        num_args = 0..=1,
        default_missing_value = "switch"
    )]
    pub schema: Option<Kind>,

    /// Do not check cores and memory against this machine, for files of another machine.
    #[arg(long)]
    pub elsewhere: bool,
}

/// Kinds of files that have a schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Kind {
    /// Switch files.
    Switch,
    /// Lab files.
    Lab,
    /// DUT files.
    Dut,
    /// Benchmark files.
    Benchmark,
}

/// Checks the files: status 0 if all are valid, 2 otherwise.
///
/// # Errors
/// Standard output or standard error cannot be written.
pub fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    run_to(args, &mut terminal::stdout(), &mut terminal::stderr())
}

/// Returns a resolved lab as JSON, as `--format json` prints it.
///
/// # Errors
/// None: every field can be written.
pub fn lab_json(resolved: &Resolved) -> serde_json::Result<String> {
    serde_json::to_string(&lab::json(resolved))
}

fn run_to(
    args: &CheckArgs,
    out: &mut impl Write,
    err: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    if let Some(kind) = args.schema {
        let schema = match kind {
            Kind::Switch => schema::SWITCH,
            Kind::Lab => schema::LAB,
            Kind::Dut => schema::DUT,
            Kind::Benchmark => schema::BENCHMARK,
        };
        let schema: serde_json::Value = serde_json::from_str(schema)?;
        writeln!(out, "{}", serde_json::to_string_pretty(&schema)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let machine = if args.elsewhere { Machine::any() } else { Machine::this() };
    let results: Vec<_> = args.files.iter().flat_map(|file| load_all(file, &machine)).collect();
    match args.format {
        Format::Json => {
            let all: Vec<Json> = results.iter().map(result).collect();
            writeln!(out, "{}", printable::json(&serde_json::to_string_pretty(&all)?))?;
        }
        Format::Table => {
            for (i, checked) in results.iter().enumerate() {
                if i > 0 {
                    writeln!(out)?;
                }
                print(checked, out, err)?;
            }
        }
    }
    // All files are reported before the status says that one of them is bad.
    let good = results.iter().all(|checked| checked.loaded.is_ok());
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(BAD_INPUT) })
}

/// Resolved contents of a valid file.
enum Content {
    /// A switch, and the CPUs of its workers if it is for this machine.
    Switch(Box<SwitchFile>, Option<Placement>),
    Lab(Box<Resolved>),
    /// A lab with a sweep.
    Study(Box<study::Resolved>),
    Test(Box<TestPlan>),
    Dut(Box<Dut>),
    Benchmark(Box<Plan>),
}

type Loaded = Result<(Content, Vec<Warning>), ConfigError>;

/// A file, or one of the variants of a lab file.
struct Checked {
    file: String,
    variant: Option<String>,
    loaded: Loaded,
}

impl Checked {
    /// Name of the file, followed by the variant.
    fn name(&self) -> String {
        // An error has the shortened name of a file that cannot be read.
        let file = self.loaded.as_ref().map_or_else(|error| &error.file, |_| &self.file);
        match &self.variant {
            Some(variant) => format!("{file}, variant {variant}"),
            None => file.clone(),
        }
    }
}

/// Reads a file; of a lab with variants, each of them.
fn load_all(path: &Path, machine: &Machine) -> Vec<Checked> {
    let file = path.display().to_string();
    let one = |variant, loaded| Checked { file: file.clone(), variant, loaded };
    let read = config::read_text(path, "switch, lab, generator, DUT or benchmark file");
    let Ok((name, text)) = &read else { return vec![one(None, load(read, machine))] };
    if is_benchmark(text) {
        // It names another file, relative to its own folder.
        let loaded = benchmark::file::load(path);
        let content = |(plan, _, warnings)| (Content::Benchmark(Box::new(plan)), warnings);
        return vec![one(None, loaded.map(content))];
    }
    let lab = is_lab(text).then(|| LabFile::parse(name, text));
    match lab {
        Some(Ok(lab)) if lab.sweep().is_some() || lab.search().is_some() => {
            vec![one(None, load_study(lab, machine))]
        }
        // Each variant is resolved by itself: one may be bad and the others good.
        Some(Ok(lab)) if lab.variants().len() > 0 => {
            let resolve = |variant: &str| lab.resolve(Some(variant), |_| {});
            let fits = |(lab, warnings)| fits(name, lab, warnings, machine);
            lab.variants().map(|v| one(Some(v.to_owned()), resolve(v).and_then(fits))).collect()
        }
        Some(Err(error)) => vec![one(None, Err(error))],
        Some(Ok(_)) | None => vec![one(None, load(read, machine))],
    }
}

/// Resolves a file of any kind.
fn load(read: Result<(String, Zeroizing<String>), ConfigError>, machine: &Machine) -> Loaded {
    let (name, text) = read?;
    if file::is_dut(&text) {
        let (dut, warnings) = file::parse(&name, &text)?;
        return Ok((Content::Dut(Box::new(dut)), warnings));
    }
    if otg_file::is_test(&text) {
        let (test, warnings) = otg_file::parse_placed(&name, &text, &[])?;
        // The world is chosen at the run; ports of the real one need more.
        memory::refuse_memory(&name, &test.plan, memory::World::Real, machine.memory)?;
        return Ok((Content::Test(Box::new(test.plan)), warnings));
    }
    if is_lab(&text) {
        let (lab, warnings) = examine(&name, &text)?;
        return fits(&name, lab, warnings, machine);
    }
    let (switch, warnings) = config::parse(&name, &text, machine)?;
    // Only a preview: no CPU is claimed by a check.
    let placement = machine.cores.is_some().then(|| daemon::preview(&switch));
    Ok((Content::Switch(Box::new(switch), placement), warnings))
}

/// Resolves the runs of a lab with a sweep or a search, up to a number.
fn load_study(lab: LabFile, machine: &Machine) -> Loaded {
    let name = lab.name().to_owned();
    let study = Study::new(lab, Changes::default())?;
    let jobs = jobs(None);
    // As many labs run at the same time.
    let heap = machine.heap.map(|heap| heap / jobs as u64);
    let fits = |resolved: &Resolved| refuse_memory(&name, &resolved.plan, heap);
    if let Some(search) = study.searches() {
        study.check_search(search)?;
    }
    let (resolved, warnings) = study.check(study::RESOLVED_MAX, jobs, fits)?;
    let lab = study.resolve(0)?.0.plan.name;
    let points = study.sweep().map_or(1, |sweep| sweep.len());
    let of_variant = |n: u64| -> Result<_, ConfigError> {
        let first = study.resolve(n)?.0;
        Ok((study.run(n).variant.map(str::to_owned), lab::signals(&first)))
    };
    // The points of one variant follow each other, so every `points`th run is the first of a variant.
    let firsts = (0..study.len()).step_by(usize::try_from(points).unwrap_or(usize::MAX));
    let signals = firsts.map(of_variant).collect::<Result<_, _>>()?;
    Ok((Content::Study(Box::new(study::Resolved { study, resolved, lab, signals })), warnings))
}

/// Refuses a lab for which the machine has too little memory.
fn fits(name: &str, lab: Resolved, warnings: Vec<Warning>, machine: &Machine) -> Loaded {
    refuse_memory(name, &lab.plan, machine.heap)?;
    Ok((Content::Lab(Box::new(lab)), warnings))
}

fn result(checked: &Checked) -> Json {
    let (content, warnings, errors) = match &checked.loaded {
        Ok((content, warnings)) => (Some(content), warnings.as_slice(), &[][..]),
        Err(e) => (None, &[][..], e.findings.as_slice()),
    };
    let findings = |all: &[Finding]| all.iter().map(finding).collect::<Vec<_>>();
    let result = object! {
        file: checked.file.clone(),
        variant: some(checked.variant.clone()),
        good: content.is_some(),
        errors: findings(errors),
        warnings: findings(warnings),
    };
    match content {
        None => result,
        Some(Content::Switch(file, placement)) => {
            result.and(object! { switch: switch::json(file, placement.as_ref()) })
        }
        Some(Content::Lab(lab)) => result.and(object! { lab: lab::json(lab) }),
        Some(Content::Study(study)) => result.and(object! { study: study::json(study) }),
        Some(Content::Test(plan)) => result.and(object! {
            generator: object! {
                ports: plan.ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>(),
                flows: plan.flows.iter().map(|flow| flow.name.clone()).collect::<Vec<_>>(),
            }
        }),
        Some(Content::Benchmark(plan)) => result.and(object! {
            benchmark: object! {
                dut: plan.setup.name.clone(),
                sizes: plan.sizes.iter().map(|size| u64::from(*size)).collect::<Vec<_>>(),
            }
        }),
        Some(Content::Dut(dut)) => result.and(object! {
            dut: object! {
                name: dut.setup.name.clone(),
                ports: dut.setup.ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>(),
            }
        }),
    }
}

fn finding(f: &Finding) -> Json {
    object! {
        line: some(f.mark.map(|m| m.line)),
        column: some(f.mark.map(|m| m.column)),
        field: f.path.clone(),
        message: f.what.clone(),
    }
}

fn print(checked: &Checked, out: &mut impl Write, err: &mut impl Write) -> std::io::Result<()> {
    let name = checked.name();
    let file = printable::line(&name);
    match &checked.loaded {
        Ok((content, warnings)) => {
            match content {
                Content::Switch(file, placement) => {
                    write!(out, "{}", text::Text(file, placement.as_ref()))?;
                }
                Content::Lab(lab) => write!(out, "{}", lab::Text(lab))?,
                Content::Study(study) => write!(out, "{}", study::Text(study))?,
                Content::Test(plan) => write!(out, "{}", report::plan_text(plan))?,
                Content::Dut(dut) => write!(out, "{}", dut.setup)?,
                Content::Benchmark(plan) => write!(out, "{plan}")?,
            }
            for w in warnings {
                writeln!(err, "warning: {}", w.line(&checked.file))?;
            }
            match warnings.len() {
                0 => writeln!(out, "{file}: good"),
                1 => writeln!(out, "{file}: good, with 1 warning"),
                n => writeln!(out, "{file}: good, with {n} warnings"),
            }
        }
        Err(e) => {
            // Findings go to standard error, and the result to standard output, as for all commands.
            writeln!(err, "{e}")?;
            let n = e.findings.len();
            writeln!(out, "{file}: bad, {n} error{}", if n == 1 { "" } else { "s" })
        }
    }
}

#[cfg(test)]
mod tests;
