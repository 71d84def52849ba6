//! The proof of the catalogue: a good device passes, each planted fault of a device is found by the
//! tests named with it, also beside each of the [features](crate::knobs::Feature) that devices have, and a tester
//! that is wrong itself judges nothing.
//!
//! The smallest size of a [fault](crate::knobs) that a test still finds is its detection limit.

mod matrix;
mod mutant;

pub use matrix::{Beside, FeatureRun};
pub use mutant::Mutant;

use core::fmt;
use core::ops::ControlFlow;
use core::sync::atomic::AtomicBool;
use std::collections::BTreeSet;

use ground::verdict::Verdict;
use lab::study::{in_order, jobs};
use serde::Serialize;
use serde_json::Value;
use text::{Align, Table};

use crate::catalogue::SELF_CHECK;
use crate::file::{self, Dut};
use crate::judge::Outcome;
use crate::knobs::{Feature, GOOD, Knob, unproven};
use crate::suite::{self, Results, Selection, TestResult};
use crate::test::Level;
use crate::virtual_bench::VirtualBench;

/// A good device for the test of deadlocks alone: all others would congest the ring.
const RING: &str = "ring";

/// A good device for the tests of thresholds.
const DYNAMIC: &str = "dynamic";

/// Result of a proof.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Proof {
    pub good: Vec<GoodRun>,
    pub knobs: Vec<KnobRun>,
    pub mutants: Vec<MutantRun>,
    pub features: Vec<FeatureRun>,
    /// Tests that no fault proves.
    pub unproven: Vec<&'static str>,
    /// True if the user ended the proof.
    pub interrupted: bool,
}

/// A run of a good device: nothing but passes, and skips for want of a field.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GoodRun {
    pub device: &'static str,
    pub seed: u64,
    /// Number of tests that passed.
    pub passed: usize,
    /// Tests with another outcome than pass and skip, and their reasons.
    pub others: Vec<(&'static str, String)>,
}

/// A fault, and what the tests named with it say.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KnobRun {
    pub id: String,
    pub fault: String,
    pub unit: String,
    pub cells: Vec<Cell>,
}

/// A test of a device with a fault.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Cell {
    pub test: String,
    /// True if the fault is found at its largest value.
    pub found: bool,
    /// Outcome at the largest value.
    pub outcome: Outcome,
    /// Smallest value that is found, for a fault with a size.
    pub limit: Option<String>,
    /// Reason of the outcome.
    pub detail: String,
}

/// A wrong tester, which must end with an error.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MutantRun {
    pub mutant: Mutant,
    pub outcome: Outcome,
    pub detail: String,
}

impl Proof {
    /// Returns `Pass` if all held, also for an ended proof whose rest is open: that is inconclusive.
    pub fn verdict(&self) -> Verdict {
        let good = self.good.iter().all(|run| run.others.is_empty() && run.passed > 1);
        let knobs = self.knobs.iter().flat_map(|knob| &knob.cells).all(|cell| cell.found);
        let mutants = self.mutants.iter().all(|run| run.outcome == Outcome::Error);
        let features = self.features.iter().all(|run| run.wrong.is_empty());
        Verdict::of(good && knobs && mutants && features).with_missing(self.interrupted)
    }
}

/// A part of a proof, independent of all others.
pub enum Part<'a> {
    Mutant(Mutant),
    Knob(&'a Knob),
    Good { device: &'static str, text: &'static str, seed: u64 },
    Beside(Beside<'a>),
}

/// Result of a part.
enum PartRun {
    Mutant(MutantRun),
    Knob(KnobRun),
    Good(GoodRun),
    Feature(FeatureRun),
}

impl Part<'_> {
    fn run(&self) -> PartRun {
        match self {
            Self::Mutant(mutant) => PartRun::Mutant(mutant.run()),
            Self::Knob(knob) => PartRun::Knob(knob.run()),
            Self::Good { device, text, seed } => PartRun::Good(good(device, text, *seed)),
            Self::Beside(part) => PartRun::Feature(part.run()),
        }
    }
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mutant(mutant) => write!(f, "wrong tester: {mutant}"),
            Self::Knob(knob) => write!(f, "{} {}", knob.id, knob.fault),
            Self::Good { device, seed, .. } => write!(f, "good device {device}, seed {seed}"),
            Self::Beside(part) => part.fmt(f),
        }
    }
}

/// Returns the parts of a proof with this number of seeds for the good devices.
pub fn parts<'a>(knobs: &'a [Knob], features: &'a [Feature], seeds: u64) -> Vec<Part<'a>> {
    // Wrong testers first: without an error there, nothing else proves anything.
    let mut parts: Vec<_> = Mutant::ALL.map(Part::Mutant).into();
    parts.extend(knobs.iter().map(Part::Knob));
    let good = |seed| GOOD.iter().map(move |&(device, text)| Part::Good { device, text, seed });
    parts.extend((1..=seeds).flat_map(good));
    parts.extend(features.iter().flat_map(|feature| feature.parts(knobs)).map(Part::Beside));
    parts
}

/// Runs the parts of a proof of the tests by these faults, on all cores. `progress` is called after each part with
/// the number of parts that are done and the name of this one. Once `stop` is set no further part begins.
pub fn run(
    knobs: &[Knob],
    parts: Vec<Part<'_>>,
    stop: &AtomicBool,
    mut progress: impl FnMut(usize, &str),
) -> Proof {
    let mut proof = Proof { unproven: unproven(knobs), ..Proof::default() };
    let (mut done, all) = (0, parts.len());
    in_order(
        parts.into_iter(),
        jobs(None),
        stop,
        |part| Some(part.run()),
        |part, result| {
            match result {
                PartRun::Mutant(run) => proof.mutants.push(run),
                PartRun::Knob(run) => proof.knobs.push(run),
                PartRun::Good(run) => proof.good.push(run),
                PartRun::Feature(run) => run.add(&mut proof.features),
            }
            done += 1;
            progress(done, &part.to_string());
            ControlFlow::Continue(())
        },
    );
    proof.interrupted = done < all;
    proof
}

/// Runs all tests on a good device.
fn good(device: &'static str, text: &str, seed: u64) -> GoodRun {
    // The tests that a good device of this kind is for.
    let only: &[&str] = match device {
        RING => &["V-I05"],
        DYNAMIC => &["V-H*", "V-X*"],
        _ => &["V-*"],
    };
    let results = validate(&with_seed(text, seed), only, Level::Quick);
    let passed = results.tests.iter().filter(|test| test.outcome == Outcome::Pass).count();
    GoodRun { device, seed, passed, others: others(&results) }
}

/// Returns the tests with another outcome than pass and skip, and their reasons.
fn others(results: &Results) -> Vec<(&'static str, String)> {
    let is_other = |test: &&TestResult| !matches!(test.outcome, Outcome::Pass | Outcome::Skip);
    let others = results.tests.iter().filter(is_other);
    others.map(|test| (test.id, test.detail.clone())).collect()
}

/// Returns the file of a good device with another seed.
fn with_seed(text: &str, seed: u64) -> Dut {
    let mut dut = device(text);
    dut.setup.seed = seed;
    dut
}

/// Returns the device of a file of this folder or of a fault.
fn device(text: &str) -> Dut {
    match file::parse("device", text) {
        Ok((dut, _)) => dut,
        Err(error) => panic!("{error}"),
    }
}

/// Runs tests of a virtual device.
fn validate(dut: &Dut, only: &[&str], level: Level) -> Results {
    let lab = dut.lab.clone().expect("the devices of the proof are virtual");
    let mut bench = VirtualBench::new(dut.setup.clone(), lab).reporting(dut.reports.clone());
    let only = only.iter().map(|only| (*only).to_owned()).collect();
    suite::run(&dut.setup, &Selection { level, only, retry: 0 }, &mut bench, |_, _, _| true)
}

/// Returns the result of a test, or that of the tester's check of itself if that ended the run.
fn result_of<'a>(results: &'a Results, id: &str) -> &'a TestResult {
    let find = |id: &str| results.tests.iter().find(|test| test.id == id);
    find(id).or_else(|| find(SELF_CHECK.id)).expect("a run has the tester's check of itself")
}

impl Knob {
    fn level(&self) -> Level {
        if self.full { Level::Full } else { Level::Quick }
    }

    /// Runs the tests on a device with this value of the fault.
    fn with(&self, value: Option<&Value>, tests: &[&str]) -> Results {
        validate(&device(&self.file(value)), tests, self.level())
    }

    /// Returns true if a result tells of the fault: a failure, or for open behaviour a report that
    /// the good device does not have.
    fn is_found(&self, result: &TestResult) -> bool {
        if !self.open {
            return result.outcome == Outcome::Fail;
        }
        let reports = |result: &TestResult| {
            let policies = result.measurements.iter().filter(|m| m.outcome == Outcome::Policy);
            policies.map(|m| m.detail.clone()).collect::<Vec<_>>()
        };
        // The same file without the fault: what it reports is the usual.
        let none = Self { change: Value::Null, ..self.clone() };
        let good = none.with(None, &[result.id]);
        reports(result) != reports(result_of(&good, result.id))
    }

    /// Runs the tests named with the fault: at its largest value, and down to the first one that is
    /// not found.
    pub fn run(&self) -> KnobRun {
        let tests: Vec<_> = self.caught_by.iter().map(String::as_str).collect();
        // All tests at the largest value in one run; smaller values are tried for each test alone.
        let results = self.with(self.values.first(), &tests);
        let cells = tests.iter().map(|test| {
            let result = result_of(&results, test);
            let found = self.is_found(result);
            Cell {
                test: (*test).to_owned(),
                found,
                outcome: result.outcome,
                limit: found.then(|| self.limit(test)).flatten(),
                detail: result.detail.clone(),
            }
        });
        let cells = cells.collect();
        let Self { id, fault, unit, .. } = self.clone();
        KnobRun { id, fault, unit, cells }
    }

    /// Returns the smallest value that a test finds, if all larger ones are found.
    fn limit(&self, test: &str) -> Option<String> {
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        // The largest was found already; below the first miss a find would be chance.
        let mut smallest = self.values.first();
        for value in self.values.iter().skip(1) {
            let results = self.with(Some(value), &[test]);
            if !self.is_found(result_of(&results, test)) {
                break;
            }
            smallest = Some(value);
        }
        smallest.map(text)
    }
}

/// Returns the table, the wrong testers, the good devices, and what did not hold.
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
    // A good device that skips everything fails nothing either, so its passes are counted.
    let least = proof.good.iter().map(|run| run.passed).min().unwrap_or(0);
    text += &format!("good devices: {good} of {} runs without a failure", proof.good.len());
    text += &format!(", each with {least} passes or more\n");
    text += &beside(proof);
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

/// Returns a line about the matrix of faults by features, if it was run.
fn beside(proof: &Proof) -> String {
    let sum = |of: fn(&FeatureRun) -> usize| -> usize { proof.features.iter().map(of).sum() };
    if proof.features.is_empty() {
        return String::new();
    }
    // A feature is tried on each device that can have it.
    let features: BTreeSet<&str> = proof.features.iter().map(|run| &*run.feature).collect();
    format!(
        "beside {} features ({} pairs of feature and device): {} tests of faults fail, {} are not judged, {} are wrong\n",
        features.len(),
        proof.features.len(),
        sum(|run| run.fail),
        sum(|run| run.not_judged),
        sum(|run| run.wrong.len())
    )
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
    for line in proof.features.iter().flat_map(|run| &run.wrong) {
        text += &format!("{line}\n");
    }
    text
}

#[cfg(test)]
mod tests;
