//! The run of all items in the guest: a process and a line for each.

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::channel::report;
use crate::items;
use crate::model::{self, MODELS, Pair};
use crate::outcome::Outcome;

/// Driver of the kernel that gives the devices to DPDK.
const DRIVER: &str = "uio_pci_generic";

/// Runs the items that `only` names, as item or as model; all if it is empty.
pub fn run(only: &[&str]) -> ExitCode {
    let mut worst = 0;
    let is_wanted = |word: &str, among: &mut dyn Iterator<Item = &'static str>| {
        let mut named = among.filter(|name| only.contains(name)).peekable();
        named.peek().is_none() || named.any(|name| name == word)
    };
    for model in &MODELS {
        if !is_wanted(model.name, &mut MODELS.iter().map(|model| model.name)) {
            continue;
        }
        if let Err(error) = bind(model.name) {
            tell(model.name, "bind", &Outcome::Failed(format!("{error:#}")), Duration::ZERO);
            worst = 1;
            continue;
        }
        for item in items::names().filter(|item| is_wanted(item, &mut items::names())) {
            let started = Instant::now();
            let outcome = in_process(item, model.name);
            tell(model.name, item, &outcome, started.elapsed());
            worst = worst.max(u8::from(outcome.status() == 1));
        }
    }
    if let Err(error) = report(&format!("end {worst}")) {
        eprintln!("nic: {error:#}");
    }
    ExitCode::from(worst)
}

fn bind(model: &str) -> anyhow::Result<()> {
    let pair = Pair::of(model)?;
    model::bind(&pair.a, DRIVER)?;
    model::bind(&pair.b, DRIVER)
}

fn tell(model: &str, item: &str, outcome: &Outcome, took: Duration) {
    let line = format!("nic: {model}: {item} ... {outcome} [{:.1} s]", took.as_secs_f64());
    if let Err(error) = report(&line) {
        eprintln!("{line}: {error:#}");
    }
}

/// Runs an item in a process, as DPDK starts once in each.
fn in_process(item: &str, model: &str) -> Outcome {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    let mut command = Command::new(program);
    command.args(["item", item, model]).stdin(Stdio::null());
    match command.output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let errors = String::from_utf8_lossy(&output.stderr);
            if !matches!(output.status.code(), Some(0 | 77)) {
                // The log of the guest has it; the line is short.
                eprint!("{item} {model}: {errors}");
            }
            let last = text.lines().last().unwrap_or_default();
            Outcome::ended(output.status.code(), last)
        }
        Err(error) => Outcome::Failed(error.to_string()),
    }
}
