//! A run: selects tests, runs them in order, and collects their results.

use crate::bench::{Bench, Capability, TrialError, VIRTUAL};
use crate::catalogue;
use crate::judge::{Measurement, Outcome};
use crate::knobs;
use crate::observation::Observation;
use crate::setup::Setup;
use crate::test::{Context, Level, Scope, Test, Topology, too_few};
use crate::trace::Seen;
use crate::trial::Trial;
use ground::time::Duration;
use ground::verdict::Verdict;
use serde::Serialize;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    pub level: Level,
    /// Patterns of ids (`V-R*`) or aliases (`L01`); empty for all of the level.
    pub only: Vec<String>,
    /// Times that an inconclusive test is repeated in real time. In virtual time it would end in the same way.
    pub retry: u32,
}

impl Selection {
    /// Returns the tests to run on a device, in the order of the catalogue, without the self-check. Those of
    /// another kind are run only by their names; those of a protocol that the file describes, at every level.
    pub fn tests_of(&self, setup: &Setup) -> Vec<&'static Test> {
        let is_asked = |test: &&Test| match self.only.is_empty() {
            true => {
                let in_level = test.level <= self.level || (test.described)(setup);
                in_level && catalogue::other_kind(test, setup).is_none()
            }
            false => self.names(test),
        };
        catalogue::TESTS.iter().filter(is_asked).collect()
    }

    /// Returns the tests of the level, or those that are named, for any device.
    pub fn tests(&self) -> Vec<&'static Test> {
        let wanted = |test: &&Test| match self.only.is_empty() {
            true => test.level <= self.level,
            false => self.names(test),
        };
        catalogue::TESTS.iter().filter(wanted).collect()
    }

    /// Returns true for a test that counts even if it is skipped: it is named, or the file describes its
    /// protocol, or the file has all that it needs to begin.
    fn applies(&self, setup: &Setup, test: &Test) -> bool {
        let is_asked = !self.only.is_empty() || (test.described)(setup);
        is_asked || skip_reason(setup, self.level, test).is_none()
    }

    fn names(&self, test: &Test) -> bool {
        self.only.iter().any(|only| is_named(test, only))
    }

    /// Returns the names that no test has.
    pub fn unknown(&self) -> Vec<&str> {
        let is_known = |only: &str| catalogue::TESTS.iter().any(|test| is_named(test, only));
        self.only.iter().map(String::as_str).filter(|only| !is_known(only)).collect()
    }
}

/// Returns true if a pattern is of the id or of an alias of a test.
fn is_named(test: &Test, pattern: &str) -> bool {
    test.aliases.iter().chain([&test.id]).any(|name| matches(pattern, name))
}

/// A bench without ports, on which a test gets as far as its first trial, whose length it keeps.
#[derive(Default)]
struct NoBench(Duration);

impl Bench for NoBench {
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.0 = trial.length;
        Err(TrialError::Interrupted)
    }

    fn run_on_cable(&mut self, _: &Trial) -> Result<Observation, TrialError> {
        Err(TrialError::Interrupted)
    }

    /// What the real bench lacks is not known here.
    fn has(&self, _: Capability) -> bool {
        true
    }

    fn world(&self) -> &'static str {
        "none"
    }
}

/// Returns the reason why a test will be skipped for lack of something in the file; `None` if it begins.
pub fn skip_reason(setup: &Setup, level: Level, test: &Test) -> Option<String> {
    let result = run_one(setup, level, &mut NoBench::default(), test, &[]);
    (result.outcome == Outcome::Skip).then_some(result.detail)
}

/// Returns a time that the tests of a selection take at least in real time: that of the first trial of each, with
/// each port if it is run so. The number of further trials depends on what the device does.
pub fn least_time(setup: &Setup, selection: &Selection) -> Duration {
    let time = |test: &Test| {
        let mut bench = NoBench::default();
        run_one(setup, selection.level, &mut bench, test, &[]);
        let turns = if with_each_port(selection.level, test) { setup.alike() as u64 } else { 1 };
        bench.0.saturating_mul(turns)
    };
    selection.tests_of(setup).into_iter().map(time).fold(Duration::ZERO, |all, time| all + time)
}

/// Returns true if a test is run with each port in each of its roles.
fn with_each_port(level: Level, test: &Test) -> bool {
    level >= Level::Full && test.scope == Scope::Port
}

/// Returns true if a name matches a pattern, in which `*` stands for any text, `?` for a character, and `[1-5]` or
/// `[135]` for one of these.
fn matches(pattern: &str, name: &str) -> bool {
    let Some(front) = pattern.chars().next() else { return name.is_empty() };
    let behind = |text: &str, first: char| text[first.len_utf8()..].to_owned();
    let rest = behind(pattern, front);
    if front == '*' {
        // Including the empty tail: `*` may stand for the whole rest.
        let mut tails = name.char_indices().map(|(n, _)| &name[n..]).chain([""]);
        return tails.any(|tail| matches(&rest, tail));
    }
    let Some(first) = name.chars().next() else { return false };
    // A bracket without an end is a character like any other, which no name has.
    let class = rest.split_once(']').filter(|_| front == '[');
    let (is_one, rest) = match class {
        Some((class, rest)) => (is_in(class, first), rest),
        None => (front == '?' || front.eq_ignore_ascii_case(&first), &rest[..]),
    };
    is_one && matches(rest, &behind(name, first))
}

/// Returns true if a character is one of a class: `135`, `1-5`.
fn is_in(class: &str, letter: char) -> bool {
    let letter = letter.to_ascii_uppercase();
    let class: Vec<char> = class.chars().map(|one| one.to_ascii_uppercase()).collect();
    let ranges = class.windows(3).filter(|range| range[1] == '-');
    class.contains(&letter)
        || ranges.into_iter().any(|range| (range[0]..=range[2]).contains(&letter))
}

/// Results of a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Results {
    /// Name of the DUT.
    pub dut: String,
    /// `virtual`, `real`, or `rings` for a virtual device on ports in memory.
    pub world: &'static str,
    pub level: Level,
    pub seed: u64,
    pub tests: Vec<TestResult>,
    /// True if the user ended the run before its last test.
    pub interrupted: bool,
}

/// Result of a test.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TestResult {
    pub id: &'static str,
    pub aliases: &'static [&'static str],
    pub title: &'static str,
    pub outcome: Outcome,
    /// One sentence: the value that decided, or the reason why there is none.
    pub detail: String,
    pub measurements: Vec<Measurement>,
    /// True if a planted fault proves that the test finds one.
    pub proven: bool,
    /// False if it was skipped because the file lacks what it is about, and it was not asked for: it has no
    /// part in the verdict.
    pub applies: bool,
    /// Times that it was run: more than once if it was inconclusive. The last time counts.
    pub attempts: u32,
    /// Start of the test in seconds since 1970.
    pub start_s: f64,
    /// Duration of the test in seconds, all times that it was run.
    pub duration_s: f64,
    /// File of the test's description, from the root of the sources on, and the line there.
    #[serde(skip)]
    pub file: &'static str,
    #[serde(skip)]
    pub line: u32,
    /// Trials that are kept as evidence.
    #[serde(skip)]
    pub seen: Vec<Seen>,
}

impl Results {
    /// Returns the verdict of the run. `strict` counts inconclusive tests as failures. A run in
    /// which a test of the DUT that applies was skipped, or none passed, is no pass.
    pub fn verdict(&self, strict: bool) -> Verdict {
        let of_dut = self.tests.iter().filter(|test| test.id != catalogue::SELF_CHECK.id);
        let of_dut = of_dut.filter(|test| test.applies);
        // The self-check judges the tester: it adds to the verdict only if it fails, and is no pass of the DUT.
        let own = self.tests.iter().filter(|test| test.id == catalogue::SELF_CHECK.id);
        let own = own.map(|test| test.outcome).filter(|outcome| *outcome != Outcome::Pass);
        let all = of_dut.map(|test| test.outcome).chain(own);
        let all = all.filter_map(|outcome| outcome.verdict(strict));
        Verdict::of_all(all).with_missing(self.interrupted)
    }
}

/// Runs the tests; `progress` is called before each one with its index, also before it is repeated, and ends the
/// run by returning false. The tester's check of itself comes first, and if it fails no test of the DUT is run.
///
/// An inconclusive test is repeated as often as the selection says. One that failed never is: a device that fails
/// now and then fails.
pub fn run(
    setup: &Setup,
    selection: &Selection,
    bench: &mut dyn Bench,
    mut progress: impl FnMut(usize, usize, &Test) -> bool,
) -> Results {
    let tests = selection.tests_of(setup);
    let mut results = Results {
        dut: setup.name.clone(),
        world: bench.world(),
        level: selection.level,
        seed: setup.seed,
        tests: Vec::new(),
        interrupted: false,
    };
    let own = &catalogue::SELF_CHECK;
    let unproven = knobs::knobs().map_or_else(|_| Vec::new(), |knobs| knobs::unproven(&knobs));
    let all = tests.len() + 1;
    for (n, test) in core::iter::once(own).chain(tests).enumerate() {
        if !progress(n, all, test) {
            results.interrupted = true;
            break;
        }
        let mut result = run_one(setup, selection.level, bench, test, &unproven);
        // In virtual time the same would happen again.
        let most = if bench.world() == VIRTUAL { 0 } else { selection.retry };
        while result.outcome == Outcome::Inconclusive && result.attempts <= most {
            if !progress(n, all, test) {
                results.interrupted = true;
                break;
            }
            let again = run_one(setup, selection.level, bench, test, &unproven);
            // The last run counts; start and duration are those of all runs.
            let duration_s = result.duration_s + again.duration_s;
            let (attempts, start_s) = (result.attempts + 1, result.start_s);
            result = TestResult { attempts, start_s, duration_s, ..again };
        }
        result.applies = result.outcome != Outcome::Skip || selection.applies(setup, test);
        // Test 0 is the tester's check of itself: without it no verdict about the DUT is worth anything.
        let trusted = result.outcome != Outcome::Error || n > 0;
        results.tests.push(result);
        if !trusted || results.interrupted {
            break;
        }
    }
    results
}

fn run_one(
    setup: &Setup,
    level: Level,
    bench: &mut dyn Bench,
    test: &Test,
    unproven: &[&str],
) -> TestResult {
    let begun = Instant::now();
    let start_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |t| t.as_secs_f64());
    let mut context = Context::new(setup, level, bench);
    let needed = test.topology.ports();
    // Only the test of different rates uses ports of another rate than the common one.
    let given = if test.topology == Topology::Ts { setup.ports.len() } else { setup.alike() };
    let ended = if let Some(why) = catalogue::other_kind(test, setup) {
        Err(TrialError::Missing(why))
    } else if given < needed {
        Err(TrialError::Missing(too_few(setup, needed, given)))
    } else {
        run_at_ports(&mut context, test)
    };
    let (measurements, seen) = context.into_measured();
    let judged = Outcome::of_all(measurements.iter().map(|m| m.outcome));
    let is_own = test.id == catalogue::SELF_CHECK.id;
    let (outcome, detail) = match ended {
        // A value that failed before the trouble remains a failure.
        Err(trouble) => match measurements.iter().find(|m| m.outcome > outcome_of(&trouble)) {
            Some(value) => (value.outcome, value.detail.clone()),
            None => (outcome_of(&trouble), trouble.to_string()),
        },
        Ok(()) if measurements.is_empty() => (Outcome::Error, "nothing was judged".to_owned()),
        Ok(()) => {
            // A value that explains others stands for them, whichever came first.
            let mut decisive = measurements.iter().filter(|m| m.outcome == judged);
            let first = decisive.clone().next();
            let decided = decisive.find(|m| m.explains).or(first);
            (judged, decided.map(|m| m.detail.clone()).unwrap_or_default())
        }
    };
    // A tester that fails its own check cannot judge another device.
    let outcome = if is_own && outcome == Outcome::Fail { Outcome::Error } else { outcome };
    let Test { id, aliases, title, file, line, .. } = *test;
    let duration_s = begun.elapsed().as_secs_f64();
    TestResult {
        id,
        aliases,
        title,
        outcome,
        detail,
        measurements,
        proven: !unproven.contains(&id),
        applies: true,
        attempts: 1,
        start_s,
        duration_s,
        file,
        line,
        seen,
    }
}

/// Runs a test. At level full, one of properties of a port is run with each port of the common rate in each
/// of its roles, and says which ports it does not look at.
fn run_at_ports(context: &mut Context<'_>, test: &Test) -> Result<(), TrialError> {
    (test.run)(context)?;
    if !with_each_port(context.level, test) {
        return Ok(());
    }
    let setup = context.setup;
    for first in 1..setup.alike() {
        context.turn(first);
        (test.run)(context)?;
        context.name_turn();
    }
    // Named in the results, so that a reader does not take these ports for tested.
    for port in &setup.ports[setup.alike()..] {
        let what = format!("port {} was not looked at, which has", port.name);
        let why = format!("tests of a port use those of {}", setup.rate);
        context.policy(what, port.rate.get() as f64 / 1e9, "Gb/s", &why);
    }
    Ok(())
}

const fn outcome_of(trouble: &TrialError) -> Outcome {
    match trouble {
        TrialError::Error(_) => Outcome::Error,
        TrialError::Disturbed(_) | TrialError::Interrupted => Outcome::Inconclusive,
        TrialError::Missing(_) => Outcome::Skip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_select_tests() {
        assert!(matches("V-R*", "V-R01") && matches("v-r01", "V-R01") && matches("*01", "L01"));
        assert!(!matches("V-R*", "V-X01") && !matches("V-R", "V-R01"));
        assert!(matches("*-R*1", "V-R01") && !matches("*-R*2", "V-R01"));
        assert!(matches("v-s0[1-5]", "V-S03") && !matches("V-S0[1-5]", "V-S06"));
        assert!(matches("V-[RX]0?", "V-X09") && !matches("V-[RX]0?", "V-S01"));
        assert!(matches("V-[a-s]01", "V-R01") && !matches("V-[RX]0?", "V-X0"));
        assert!(matches("*", "V-R01") && !matches("V-S0[1-5", "V-S01") && !matches("", "V-S01"));
    }

    #[test]
    fn the_tests_that_a_file_describes_are_run_by_default_and_none_of_them_is_skipped() {
        for (text, own) in [
            (include_str!("../../../configs/validate/sfc.yaml"), &["V-Q01"][..]),
            (include_str!("../../../configs/validate/sfc-proxy.yaml"), &["V-Q02", "V-Q03"]),
            (include_str!("../../../configs/validate/ring.yaml"), &["V-I05"]),
            (include_str!("../../../configs/validate/dcbx.yaml"), &["V-D01", "V-D02", "V-D03"]),
            (include_str!("../../../configs/validate/macsec.yaml"), &["V-K01", "V-K02", "V-K03"]),
        ] {
            let (dut, _) = crate::file::parse("dut.yaml", text).unwrap();
            let selection = Selection { level: Level::Quick, only: vec![], retry: 0 };
            let tests = selection.tests_of(&dut.setup);
            for id in own {
                let test = tests.iter().find(|test| test.id == *id).expect(id);
                assert_eq!(skip_reason(&dut.setup, Level::Quick, test), None, "{id}");
            }
            // A test of a protocol that the file does not describe is not run, and would be skipped.
            let other = if own[0] == "V-D01" { "V-Q01" } else { "V-D01" };
            assert!(tests.iter().all(|test| test.id != other), "{other}");
            let other = catalogue::TESTS.iter().find(|test| test.id == other).unwrap();
            let why = skip_reason(&dut.setup, Level::Quick, other).expect("it is skipped");
            assert!(why.starts_with("expected.") || why.starts_with("ports: "), "{why}");
        }
    }

    /// A test that finds nothing to try in the file is skipped and says why; it does not end with "nothing was
    /// judged".
    #[test]
    fn lists_and_maps_without_entries_lead_to_no_error() {
        let file = |fields: &str| {
            let ports = "rate: 100G\nports: [{}, {}, {}, {}]\nvirtual: {profile: {buffer: {total: 2MiB}}}\n";
            crate::file::parse("dut.yaml", &format!("{ports}{fields}\n")).unwrap().0.setup
        };
        for fields in [
            "expected: {strict: []}",
            "expected: {strict: [], weights: {0: 1, 1: 2}}",
            "expected: {weights: {}, strict: [3]}",
            "expected: {weights: {0-7: 0}, strict: []}",
            "expected: {dscp_map: {}}",
            "expected: {pcp_map: {}, vlan: 1}",
            "expected: {ecn: {kmin: 20KB, kmax: 60KB, pmax: 20%, priorities: []}}",
            "lossless: []",
            "lossy: []",
            "lossless: []\nlossy: []",
        ] {
            let setup = file(fields);
            for test in catalogue::TESTS {
                for level in [Level::Quick, Level::Full] {
                    let result = run_one(&setup, level, &mut NoBench::default(), test, &[]);
                    assert_ne!(
                        result.outcome,
                        Outcome::Error,
                        "{fields}: {} {}",
                        test.id,
                        result.detail
                    );
                }
            }
        }
    }

    /// Without options: no test that is not about the device is run, and what is run passes.
    #[test]
    fn shipped_files_of_special_devices_pass_as_they_are() {
        for (text, own) in [
            (include_str!("../../../configs/validate/ring.yaml"), &["V-00", "V-I05"][..]),
            (
                include_str!("../../../configs/validate/sfc-proxy.yaml"),
                &["V-00", "V-R01", "V-Q02", "V-Q03"],
            ),
        ] {
            let (dut, _) = crate::file::parse("dut.yaml", text).unwrap();
            let mut bench =
                crate::virtual_bench::VirtualBench::new(dut.setup.clone(), dut.lab.unwrap());
            let selection = Selection { level: Level::Quick, only: vec![], retry: 0 };
            let results = run(&dut.setup, &selection, &mut bench, |_, _, _| true);
            let outcomes: Vec<_> =
                results.tests.iter().map(|test| (test.id, test.outcome, &test.detail)).collect();
            assert_eq!(results.verdict(true), Verdict::Pass, "{outcomes:?}");
            let ran = |id: &&str| outcomes.iter().any(|(of, ..)| of == id);
            assert!(own.iter().all(ran), "{outcomes:?}");
            assert!(!ran(&"V-Q01"), "{outcomes:?}");
        }
        let ring = include_str!("../../../configs/validate/ring.yaml");
        let (dut, _) = crate::file::parse("dut.yaml", ring).unwrap();
        for test in catalogue::TESTS.iter().filter(|test| test.id != "V-I05") {
            let why = skip_reason(&dut.setup, Level::Full, test).expect(test.id);
            assert!(
                why.contains("ring") || why.starts_with("nic is missing"),
                "{}: {why}",
                test.id
            );
        }
    }

    #[test]
    fn each_name_that_no_test_has_is_found() {
        let only = ["V-R04", "V-R4", "V-X*", "nothing*", "L01"].map(str::to_owned).to_vec();
        let selection = Selection { level: Level::Quick, only, retry: 0 };
        assert_eq!(selection.unknown(), ["V-R4", "nothing*"]);
        let all = Selection { level: Level::Quick, only: vec![], retry: 0 };
        assert!(all.unknown().is_empty());
    }

    #[test]
    fn a_test_that_is_skipped_counts_only_if_it_was_asked_for() {
        let text = include_str!("../../../configs/validate/virtual.yaml");
        let (dut, _) = crate::file::parse("dut.yaml", text).unwrap();
        let skipped = |only: &[&str]| -> Vec<(&'static str, bool)> {
            let only = only.iter().map(|id| (*id).to_owned()).collect();
            let selection = Selection { level: Level::Full, only, retry: 0 };
            let results = run(&dut.setup, &selection, &mut NoBench::default(), |_, _, _| true);
            let skipped = results.tests.iter().filter(|test| test.outcome == Outcome::Skip);
            skipped.map(|test| (test.id, test.applies)).collect()
        };
        let by_default = skipped(&[]);
        for id in ["V-D01", "V-Q01", "V-K01"] {
            assert!(by_default.contains(&(id, false)), "{id}: {by_default:?}");
        }
        assert!(by_default.iter().all(|(_, applies)| !applies), "{by_default:?}");
        assert_eq!(skipped(&["V-D01"]), [("V-D01", true)]);
    }

    /// A virtual device in another world, whose machine disturbs some trials, by their number.
    struct Busy {
        device: crate::virtual_bench::VirtualBench,
        world: &'static str,
        trials: usize,
        disturbed: core::ops::Range<usize>,
    }

    impl Bench for Busy {
        fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
            let mut seen = self.device.run(trial)?;
            seen.disturbed =
                self.disturbed.contains(&self.trials).then(|| "the machine was busy".to_owned());
            self.trials += 1;
            Ok(seen)
        }

        fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
            self.device.run_on_cable(trial)
        }

        fn world(&self) -> &'static str {
            self.world
        }
    }

    /// Runs V-R04 with a defect and retries, in a world where the machine disturbs these trials.
    fn busy(
        defect: &str,
        world: &'static str,
        retry: u32,
        disturbed: core::ops::Range<usize>,
        progress: impl FnMut(usize, usize, &Test) -> bool,
    ) -> Results {
        let text = include_str!("../../../configs/validate/virtual.yaml");
        let text = text.replace("virtual:\n", &format!("virtual:\n  faults: [{defect}]\n"));
        let (dut, _) = crate::file::parse("dut.yaml", &text).unwrap();
        let device = crate::virtual_bench::VirtualBench::new(dut.setup.clone(), dut.lab.unwrap());
        let mut bench = Busy { device, world, trials: 0, disturbed };
        let selection = Selection { level: Level::Quick, only: vec!["V-R04".into()], retry };
        run(&dut.setup, &selection, &mut bench, progress)
    }

    #[test]
    fn an_inconclusive_test_is_repeated_in_real_time_and_the_last_time_counts() {
        let ends = |defect, world, retry, disturbed| {
            let results = busy(defect, world, retry, disturbed, |_, _, _| true);
            let test = results.tests.last().unwrap();
            assert_eq!(test.id, "V-R04");
            (test.outcome, test.attempts)
        };
        use Outcome::{Fail, Inconclusive, Pass};
        assert_eq!(ends("", "real", 1, 0..1), (Pass, 2));
        assert_eq!(ends("", "real", 1, 0..9), (Inconclusive, 2));
        assert_eq!(ends("", "real", 0, 0..1), (Inconclusive, 1));
        assert_eq!(ends("", VIRTUAL, 5, 0..1), (Inconclusive, 1));
        // A failure stands: it is not repeated until it passes, and one of the second time counts.
        let bad = "{defect: {on: s1, kind: ignores-zero-time}}";
        assert_eq!(ends(bad, "real", 5, 0..0), (Fail, 1));
        assert_eq!(ends(bad, "real", 5, 0..1), (Fail, 2));
    }

    #[test]
    fn a_run_takes_at_least_a_trial_of_each_test_with_each_port() {
        let text = "rate: 1G\nports: [{location: 'iface:a'}, {location: 'iface:b'}, {location: 'iface:c'}]\n\
                    lossless: [3]\ntimes: {baseline: 1s, hold: 10s, settle: 1s, drain: 2s}\n";
        let (dut, _) = crate::file::parse("dut.yaml", text).unwrap();
        let least = |level, only: &[&str]| {
            let only = only.iter().map(|id| (*id).to_owned()).collect();
            least_time(&dut.setup, &Selection { level, only, retry: 0 })
        };
        let trial = Duration::from_secs(14);
        assert_eq!(least(Level::Quick, &["V-R01"]), trial);
        assert_eq!(least(Level::Quick, &["V-R01", "V-D01"]), trial, "V-D01 is skipped");
        let once = least(Level::Quick, &["V-X02"]);
        assert_eq!(least(Level::Full, &["V-X02"]), once.saturating_mul(3));
    }

    #[test]
    fn a_run_that_is_ended_before_a_repetition_is_interrupted() {
        let mut calls = 0;
        let results = busy("", "real", 3, 0..1, |_, _, _| {
            calls += 1;
            calls < 3
        });
        assert!(results.interrupted);
        let last = results.tests.last().unwrap();
        assert_eq!((last.outcome, last.attempts), (Outcome::Inconclusive, 1));
    }
}
