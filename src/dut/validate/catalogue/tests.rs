//! The tests of the catalogue against virtual devices.

mod changed;
mod counters;
mod dcbx;
mod dead;
mod ecn;
mod frames;
mod mac_control;
mod macsec;
mod nic;
mod obeying;
mod pause;
mod sfc;
mod sharing;
mod thresholds;
mod watchdog;

use super::{SELF_CHECK, TESTS, other_kind, page};
use crate::file;
use crate::judge::Outcome;
use crate::setup::{FlowControl, Setup};
use crate::suite::{self, Results, Selection};
use crate::test::Level;
use crate::virtual_bench::VirtualBench;
use ::file::testgolden;

const GOOD: &str = "
rate: 100G
ports: [{}, {}, {}, {}]
expected:
  cell: 208
  xoff: 105872
  headroom: 104000
  xon_offset: 3328
  weights: {0: 10, 1: 30, 2: 60}
  strict: [3, 4, 5, 6, 7]
  dscp_map: {0-7: 0, 8-15: 1, 16-23: 2, 24-31: 3, 32-39: 4, 40-47: 5, 48-55: 6, 56-63: 7}
  vlan: 1
  ecn: {kmin: 20KB, kmax: 60KB, pmax: 20%, priorities: [3]}
  watchdog: {detection: 1ms, restoration: 2ms, poll: 10us}
  xon: counted
virtual:
  profile:
    buffer:
      cell: 208
      total: 2MiB
      profiles:
        lossy: {shared: {dynamic_th: 0}}
        lossless: {shared: {static_th: 105872}, lossless: {xoff: 104000}}
    defaults:
      pfc: {enable: [3, 4]}
      watchdog: {detection: 1ms, restoration: 2ms}
      queues:
        0: {weight: 10}
        1: {weight: 30}
        2: {weight: 60}
        3: {ecn: {kmin: 20KB, kmax: 60KB, pmax: 20%, at: dequeue}}
";

/// A device without PFC.
const PLAIN: &str = "
rate: 100G
ports: [{}, {}, {}]
virtual: {profile: {buffer: {total: 2MiB}}}
";

fn validate(text: &str, only: &[&str]) -> Results {
    validate_at(Level::Quick, text, only)
}

fn validate_at(level: Level, text: &str, only: &[&str]) -> Results {
    let (dut, _) = file::parse("dut.yaml", text).unwrap();
    let mut bench = VirtualBench::new(dut.setup.clone(), dut.lab.unwrap()).reporting(dut.reports);
    let only = only.iter().map(|only| (*only).to_owned()).collect();
    let selection = Selection { level, only, retry: 0 };
    suite::run(&dut.setup, &selection, &mut bench, |_, _, _| true)
}

/// Returns a text with a part replaced that is there.
fn with(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

/// The good device for other rates: at low ones the watchdog would act before the pauses end, and at
/// high ones more arrives in the peer's response.
fn calm(rate: &str) -> String {
    let text = with(GOOD, "  watchdog: {detection: 1ms, restoration: 2ms, poll: 10us}\n", "");
    let text = with(&text, "      watchdog: {detection: 1ms, restoration: 2ms}\n", "");
    let large = [("105872", "950144"), ("104000", "900016"), ("2MiB", "16MiB"), ("100G", rate)];
    large.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

/// A device that sends and receives tagged frames.
fn tagged(text: &str) -> String {
    with(text, "virtual:", "marking: {pcp: {}}\nvirtual:")
}

/// Asserts that tests of a device are skipped, and name what is missing.
fn skips(text: &str, ids: &[&str], part: &str) {
    let results = validate(text, ids);
    assert_eq!(results.tests.len(), ids.len() + 1, "{results:#?}");
    for test in &results.tests[1..] {
        assert_eq!(test.outcome, Outcome::Skip, "{test:#?}");
        assert!(test.detail.contains(part), "{part}: {test:#?}");
    }
}

#[test]
fn the_good_device_passes() {
    let results = validate(GOOD, &["V-*"]);
    assert_eq!(results.tests.len(), TESTS.len() + 1, "{results:#?}");
    let mut results = of(results, FlowControl::Pfc);
    results.tests.retain(|test| match test.id {
        // Its thresholds are static, and its ports have one rate.
        "V-H05" | "V-X12" => {
            assert_eq!(test.outcome, Outcome::Skip, "{test:#?}");
            false
        }
        // It has no DCBX, MACsec and SFC; tests/dcbx.rs and its like have devices with them.
        id if ["V-D", "V-K", "V-Q"].iter().any(|group| id.starts_with(group)) => {
            assert_eq!(test.outcome, Outcome::Skip, "{test:#?}");
            false
        }
        // Its ports are not at a ring.
        "V-I05" => false,
        _ => true,
    });
    all_pass(&results);
}

/// Leaves the results of tests of one kind of flow control.
fn of(mut results: Results, flow_control: FlowControl) -> Results {
    let setup = Setup { flow_control, ..file::parse("dut.yaml", GOOD).unwrap().0.setup };
    let is_of = |id| TESTS.iter().any(|test| test.id == id && other_kind(test, &setup).is_none());
    results.tests.retain(|test| is_of(test.id));
    results
}

fn all_pass(results: &Results) {
    for test in &results.tests {
        println!("{} {:.2} s {}", test.id, test.duration_s, test.detail);
        assert_eq!(test.outcome, Outcome::Pass, "{test:#?}");
    }
}

fn outcome(results: &Results, id: &str) -> Option<Outcome> {
    results.tests.iter().find(|test| test.id == id).map(|test| test.outcome)
}

/// On these lines the longest pause lasts up to 34 s, and its renewals are more than a second apart.
#[test]
fn the_good_device_passes_on_slow_lines() {
    for (rate, detection, restoration) in
        [("1M", "100s", "200s"), ("10M", "10s", "20s"), ("100M", "1s", "2s")]
    {
        all_pass(&validate(&calm(rate), &["V-R04", "V-R13", "V-C01", "V-C02", "V-C03"]));
        let slow = [("1ms", detection), ("2ms", restoration), ("100G", rate)];
        let slow = slow.iter().fold(GOOD.to_owned(), |text, (from, to)| text.replace(from, to));
        all_pass(&validate(&slow, &["V-R13", "V-W01", "V-W02"]));
    }
    skips(&with(GOOD, "100G", "100M"), &["V-R13"], "`expected.watchdog` takes pauses for storms");
}

#[test]
fn the_good_device_obeys_at_other_rates_and_with_tags() {
    for rate in ["1G", "400G"] {
        all_pass(&validate(&calm(rate), &["V-R*", "V-M*"]));
    }
    all_pass(&validate(&calm("10G"), &["V-R04", "V-R05", "V-R06", "V-R07"]));
    all_pass(&validate(&tagged(GOOD), &["V-R*", "V-M*"]));
}

#[test]
fn the_good_device_passes_with_all_values() {
    // Single pauses and reactions have the most values; they are the same in number only.
    let longest = ["V-R05", "V-R06"];
    let others = TESTS.iter().map(|test| test.id).filter(|id| !longest.contains(id));
    let others: Vec<_> =
        others.filter(|id| id.starts_with("V-R") || id.starts_with("V-M")).collect();
    // No test of these has more than three roles.
    let three = with(GOOD, "ports: [{}, {}, {}, {}]", "ports: [{}, {}, {}]");
    all_pass(&validate_at(Level::Full, &three, &others));
}

#[test]
fn a_defect_of_any_port_is_found_at_level_full() {
    let defective = |kind: &str| {
        let faults =
            format!("virtual:\n  faults: [{{defect: {{on: s1, kind: {kind}, port: '3'}}}}]\n");
        with(GOOD, "virtual:\n", &faults)
    };
    for (kind, id) in [
        ("pfc-zero-source", "V-X02"),
        ("pfc-next-source", "V-X02"),
        ("stale-checksum", "V-E04"),
        ("adds-times", "V-R07"),
        ("ignores-zero-time", "V-R04"),
        ("obeys-lossy, priorities: [0]", "V-R11"),
        ("pauses-without-congestion, every: 100, priorities: [3], quanta: 20", "V-X07"),
    ] {
        let outcome_at = |level| outcome(&validate_at(level, &defective(kind), &[id]), id);
        assert_eq!(outcome_at(Level::Full), Some(Outcome::Fail), "{kind}");
        // The first roles alone are at other ports.
        assert_eq!(outcome_at(Level::Quick), Some(Outcome::Pass), "{kind}");
    }
    all_pass(&validate_at(Level::Full, GOOD, &["V-X02", "V-E04"]));
    let slower = with(GOOD, "ports: [{}, {}, {}, {}]", "ports: [{}, {}, {}, {rate: 40G}]");
    let results = validate_at(Level::Full, &slower, &["V-X02"]);
    let test = results.tests.last().unwrap();
    assert_eq!(test.outcome, Outcome::Pass, "{test:#?}");
    let told = test.measurements.iter().find(|m| m.outcome == Outcome::Policy).expect("of port D");
    let said =
        "port D was not looked at, which has: 40 Gb/s; tests of a port use those of 100 Gb/s";
    assert_eq!(told.detail, said);
}

#[test]
fn a_device_without_pfc_fails_what_needs_it() {
    let results = validate(PLAIN, &[]);
    assert_eq!(outcome(&results, SELF_CHECK.id), Some(Outcome::Pass), "{results:#?}");
    for id in ["V-R01", "V-R04", "V-R05", "V-X01"] {
        assert_eq!(outcome(&results, id), Some(Outcome::Fail), "{id}: {results:#?}");
    }
    assert_eq!(outcome(&results, "V-M01"), Some(Outcome::Pass));
    for (other, ids) in [("", &["V-X02", "V-X03", "V-X04", "V-X10"][..]), ("pause: {}", &["V-X02"])]
    {
        let results = validate(&with(GOOD, "pfc: {enable: [3, 4]}", other), ids);
        for id in ids {
            assert_eq!(outcome(&results, id), Some(Outcome::Fail), "{other} {id}: {results:#?}");
        }
    }
}

#[test]
fn ids_are_unique_and_every_description_is_complete() {
    let mut ids = std::collections::BTreeSet::new();
    for test in TESTS.iter().chain([&SELF_CHECK]) {
        assert!(ids.insert(test.id), "{} is there twice", test.id);
        let texts = [test.title, test.purpose, test.clause, test.procedure, test.pass];
        assert!(texts.iter().all(|text| !text.is_empty()), "{}", test.id);
        assert!(test.title.len() <= 60, "{}: the title is too long for a table", test.id);
    }
}

#[test]
fn a_reader_of_results_finds_the_description_at_its_file_and_line() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
    for test in TESTS.iter().chain([&SELF_CHECK]) {
        let text = std::fs::read_to_string(format!("{root}/{}", test.file)).unwrap();
        let identifier = format!("    id: \"{}\",", test.id);
        assert_eq!(text.lines().nth(test.line as usize), Some(&identifier[..]), "{}", test.file);
    }
}

#[test]
fn every_test_has_its_page_in_the_manual() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/src");
    let summary = std::fs::read_to_string(format!("{docs}/SUMMARY.md")).unwrap();
    for test in TESTS.iter().chain([&SELF_CHECK]) {
        let path = format!("docs/src/validate/{}.md", test.id);
        testgolden::hold(&path, &page(test));
        assert!(summary.contains(&format!("(validate/{}.md)", test.id)), "{}", test.id);
    }
}
