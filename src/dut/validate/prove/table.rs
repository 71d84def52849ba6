//! A proof as a table: a row for each fault and test, with the detection limit.

use text::{Align, Table};

use super::{Cell, KnobRun, Proof};
use crate::judge::Outcome;

/// Returns the table, the wrong testers, the good devices, and what did not hold.
#[must_use]
pub fn table(proof: &Proof) -> String {
    let left = |name| (name, Align::Left);
    let mut table = Table::new(["knob", "fault", "test", "found", "limit"].map(left));
    for knob in &proof.knobs {
        for (n, cell) in knob.cells.iter().enumerate() {
            let first = |text: &str| if n == 0 { text.to_owned() } else { String::new() };
            let found = if cell.found { "yes" } else { "NO" };
            let (id, fault) = (first(&knob.id), first(&knob.fault));
            table.row([id, fault, cell.test.clone(), found.into(), limit(knob, cell)]);
        }
    }
    let mut text = format!("{table}\n");
    let mut table = Table::new(["wrong tester", "ends with"].map(left));
    for run in &proof.mutants {
        table.row([run.mutant.to_string(), run.outcome.name().to_owned()]);
    }
    text += &format!("{table}\n");
    let good = proof.good.iter().filter(|run| run.others.is_empty()).count();
    let least = proof.good.iter().map(|run| run.passed).min().unwrap_or(0);
    text += &format!("good devices: {good} of {} runs without a failure", proof.good.len());
    text += &format!(", each with {least} passes or more\n");
    text += &misses(proof);
    if !proof.unproven.is_empty() {
        text += &format!("tests that no fault proves: {}\n", proof.unproven.join(" "));
    }
    if proof.interrupted {
        text += "interrupted: the rest was not run\n";
    }
    text
}

fn limit(knob: &KnobRun, cell: &Cell) -> String {
    cell.limit.as_ref().map_or(String::new(), |limit| format!("{limit} {}", knob.unit))
}

/// Returns a line for everything that did not hold.
fn misses(proof: &Proof) -> String {
    let mut text = String::new();
    for knob in &proof.knobs {
        for cell in knob.cells.iter().filter(|cell| !cell.found) {
            let Cell { test, outcome, detail, .. } = cell;
            text += &format!(
                "{} {} is not found by {test} ({}): {detail}\n",
                knob.id,
                knob.fault,
                outcome.name()
            );
        }
    }
    for run in proof.mutants.iter().filter(|run| run.outcome != Outcome::Error) {
        text += &format!("wrong tester: {}: {}: {}\n", run.mutant, run.outcome.name(), run.detail);
    }
    for run in &proof.good {
        for (test, detail) in &run.others {
            text += &format!("good device {}, seed {}: {test}: {detail}\n", run.device, run.seed);
        }
    }
    text
}
