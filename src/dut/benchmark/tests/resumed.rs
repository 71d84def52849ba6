//! Runs that were interrupted and go on.

use std::fs;
use std::path::Path;

use ground::units::{Pcp, PrioritySet, Vid};
use serde_json::Value;
use tester::report::Report;
use validate::bench::{Bench, Capability, TrialError};
use validate::observation::Observation;
use validate::setup::{FlowControl, Marking, Setup};
use validate::trial::Trial;
use validate::virtual_bench::VirtualBench;

use super::example;
use crate::journal::Journal;
use crate::plan::{Plan, Soak};
use crate::testfolder::Folder;
use crate::{rfc2544, rfc8239, run, search, soak, table};

/// A procedure, until `trials` trials are run.
type Run = fn(&Plan, &mut dyn Bench, usize) -> (Value, Option<TrialError>);

/// Ends after a number of trials.
fn until(mut trials: usize) -> impl FnMut(&str) -> bool {
    move |_| {
        let goes_on = trials > 0;
        trials = trials.saturating_sub(1);
        goes_on
    }
}

fn value<R: serde::Serialize>(
    (results, trouble): (R, Option<TrialError>),
) -> (Value, Option<TrialError>) {
    (serde_json::to_value(results).unwrap(), trouble)
}

const RUNS: &[(&str, Run)] = &[
    ("rfc2544", |plan, bench, trials| {
        let only = [rfc2544::Test::Latency, rfc2544::Test::BackToBack];
        value(run::run::<rfc2544::Tables>(plan, &only, bench, &mut until(trials)))
    }),
    ("rfc8239", |plan, bench, trials| {
        value(run::run::<rfc8239::Tables>(plan, &[], bench, &mut until(trials)))
    }),
    ("soak", |plan, bench, trials| {
        value(run::run::<soak::Tables>(plan, &[], bench, &mut until(trials)))
    }),
    ("mlrsearch", |plan, bench, trials| {
        value(run::run::<search::Tables>(plan, &[], bench, &mut until(trials)))
    }),
];

fn short(mut plan: Plan) -> Plan {
    plan.sizes = vec![512, 1024];
    let interval = plan.trial.div(8);
    plan.soak = Soak { load: 0.3, duration: interval.saturating_mul(5), interval };
    plan
}

#[test]
fn a_run_that_goes_on_has_the_results_of_one_that_was_not_interrupted() {
    let dir = Folder::new("resumed");
    for (procedure, run) in RUNS {
        let (plan, mut bench) = example("benchmark/rfc2544.yaml");
        let plan = short(plan);
        let (whole, trouble) = run(&plan, &mut bench, usize::MAX);
        assert_eq!(trouble, None, "{procedure}");
        let path = dir.at(procedure);
        let mut ended = Vec::new();
        // Each of these parts goes a little further.
        for trials in [1, 4, 5, 9, usize::MAX] {
            let mut journal = Journal::open(&path, procedure, &plan, "", &mut bench).unwrap();
            let (results, trouble) = run(&plan, &mut journal, trials);
            ended.push(trouble);
            if trials == usize::MAX {
                assert_eq!((journal.left(), results), (0, whole.clone()), "{procedure}");
            }
        }
        assert_eq!(ended[0], Some(TrialError::Interrupted), "{procedure}");
        assert_eq!(ended[4], None, "{procedure}");
    }
}

/// Returns the error of a journal in this file.
fn refused(path: &Path, procedure: &str, change: impl FnOnce(&mut Plan)) -> String {
    let (plan, mut bench) = example("benchmark/rfc2544.yaml");
    let mut plan = short(plan);
    change(&mut plan);
    match Journal::open(path, procedure, &plan, "", &mut bench) {
        Ok(_) => panic!("{} is a journal of this run", path.display()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_file_of_something_else_is_refused_and_left_as_it_is() {
    let dir = Folder::new("resume-refused");
    let (plan, mut bench) = example("benchmark/rfc2544.yaml");
    let plan = short(plan);
    let path = dir.at("journal");
    let open = |bench| drop(Journal::open(&path, "soak", &plan, "", bench).unwrap());
    open(&mut bench as &mut dyn Bench);
    let before = fs::read(&path).unwrap();
    assert!(refused(&path, "rfc2544", |_| {}).contains("procedure soak"));
    assert!(
        refused(&path, "soak", |plan| plan.setup.name = "b".into()).contains("device slow-port")
    );
    assert!(refused(&path, "soak", |plan| plan.width = 0.1).contains("other parameters"));
    let other = Journal::open(&path, "soak", &plan, "another", &mut bench).map(|_| ());
    assert!(other.unwrap_err().to_string().contains("another virtual device"));
    assert_eq!(fs::read(&path).unwrap(), before);
    for (text, part) in [
        ("my notes", "line 1 is no trial"),
        ("my notes\n", "line 1 is no trial"),
        ("{}\n", "line 1"),
    ] {
        let other = dir.put("other", text.as_bytes());
        let error = refused(&other, "soak", |_| {});
        assert!(error.contains(part), "{text}: {error}");
        assert_eq!(fs::read_to_string(&other).unwrap(), text);
    }
}

#[test]
fn every_cut_of_a_journal_is_one_with_fewer_trials() {
    let dir = Folder::new("resume-cut");
    let (plan, mut bench) = example("benchmark/rfc2544.yaml");
    let mut plan = short(plan);
    plan.sizes.truncate(1);
    let path = dir.at("journal");
    let whole = {
        let mut journal = Journal::open(&path, "soak", &plan, "", &mut bench).unwrap();
        run::run::<soak::Tables>(&plan, &[], &mut journal, &mut |_| true)
    };
    let all = fs::read(&path).unwrap();
    let first = all.iter().position(|octet| *octet == b'\n').unwrap();
    let cuts = [0, 12, first, first + 1, first + 40, all.len() - 1];
    for cut in cuts {
        fs::write(&path, &all[..cut]).unwrap();
        let mut journal = Journal::open(&path, "soak", &plan, "", &mut bench).unwrap();
        let lines = all[..cut].iter().filter(|octet| **octet == b'\n').count();
        assert_eq!(journal.left(), lines.saturating_sub(1), "{cut}");
        assert_eq!(
            run::run::<soak::Tables>(&plan, &[], &mut journal, &mut |_| true),
            whole,
            "{cut}"
        );
        assert_eq!(fs::read(&path).unwrap(), all, "{cut}");
    }
}

#[test]
fn trials_of_another_seed_are_not_taken() {
    let dir = Folder::new("resume-seed");
    let (plan, mut bench) = example("benchmark/rfc2544.yaml");
    let plan = short(plan);
    let path = dir.at("journal");
    {
        let mut journal = Journal::open(&path, "soak", &plan, "", &mut bench).unwrap();
        let (_, trouble) = run::run::<soak::Tables>(&plan, &[], &mut journal, &mut until(2));
        assert_eq!(trouble, Some(TrialError::Interrupted));
    }
    let mut journal = Journal::open(&path, "soak", &plan, "", &mut bench).unwrap();
    journal.reseed(99);
    let (_, trouble) = run::run::<soak::Tables>(&plan, &[], &mut journal, &mut |_| true);
    let Some(TrialError::Error(why)) = trouble else { panic!("{trouble:?}") };
    assert!(why.contains("has another trial here"), "{why}");
}

/// A device that uses a megabyte more after each look at it.
struct Leaks(VirtualBench, u64);

impl Bench for Leaks {
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.0.run(trial)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.0.run_on_cable(trial)
    }

    fn count(&mut self, trial: &Trial) -> Result<Report, TrialError> {
        self.0.count(trial)
    }

    fn has(&self, capability: Capability) -> bool {
        capability == Capability::Memory
    }

    fn memory(&mut self) -> Result<Option<u64>, TrialError> {
        self.1 += 1_000_000;
        Ok(Some(self.1))
    }

    fn world(&self) -> &'static str {
        "virtual"
    }
}

/// The memory of trials before an interruption is that of the file, and the growth that of all.
#[test]
fn a_soak_that_goes_on_has_the_memory_of_its_first_trials() {
    let dir = Folder::new("resume-memory");
    let (plan, bench) = example("benchmark/rfc2544.yaml");
    let mut plan = short(plan);
    plan.sizes.truncate(1);
    let path = dir.at("journal");
    let mut bench = Leaks(bench, 0);
    for trials in [2, usize::MAX] {
        let mut journal = Journal::open(&path, "soak", &plan, "", &mut bench).unwrap();
        assert_eq!(journal.left(), if trials == 2 { 0 } else { 2 });
        let (results, _) = run::run::<soak::Tables>(&plan, &[], &mut journal, &mut until(trials));
        let row = &results.tables.rows[0];
        let all: Vec<_> = row.parts.iter().map(|part| part.memory_bytes.unwrap()).collect();
        let expected: Vec<u64> = (1..=trials.min(5) as u64).map(|n| n * 1_000_000).collect();
        assert_eq!(all, expected);
        let per_hour = 1e6 * 3600.0 / plan.soak.interval.as_secs_f64();
        let slope = row.memory_slope_bytes_per_hour.unwrap();
        assert!((slope / per_hour - 1.0).abs() < 1e-9, "{row:?}");
        // Five trials of a virtual device are too few and too short.
        assert_eq!(row.memory_leak, None);
        assert!(table::soak(&results).contains("memory B/h"));
    }
}

/// A baseline and a journal have the same frames.
#[test]
fn frames_of_another_kind_are_other_parameters() {
    let (plan, _) = example("benchmark/rfc2544.yaml");
    let differs = |change: fn(&mut Setup)| {
        let mut other = plan.clone();
        change(&mut other.setup);
        let (before, now) = (plan.parameters(), other.parameters());
        now.into_iter().find(|one| !before.contains(one)).map(|(name, _)| name)
    };
    assert_eq!(differs(|_| {}), None);
    let tagged = |setup: &mut Setup| {
        setup.marking = Marking::Pcp([Pcp::new(0).unwrap(); 8], Vid::new(1).unwrap());
    };
    assert_eq!(differs(tagged).as_deref(), Some("marking"));
    let paused = |setup: &mut Setup| setup.flow_control = FlowControl::Pause;
    assert_eq!(differs(paused).as_deref(), Some("flow control"));
    let lossy = |setup: &mut Setup| setup.lossless = PrioritySet::EMPTY;
    assert_eq!(differs(lossy).as_deref(), Some("lossless"));
}
