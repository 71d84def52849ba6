//! The tests of the catalogue against virtual devices.

mod wrong;

use super::{SELF_CHECK, TESTS, page};
use crate::file;
use crate::judge::Outcome;
use crate::suite::{self, Results, Selection};
use crate::test::Level;
use crate::virtual_bench::VirtualBench;

const GOOD: &str = "
rate: 100G
ports: [{}, {}, {}, {}]
expected:
  cell: 208
  xoff: 105872
  headroom: 104000
  weights: {0: 10, 1: 30, 2: 60}
  ecn: {kmin: 20KB, kmax: 60KB, pmax: 20%}
  watchdog: {detection: 1ms, restoration: 2ms, poll: 10us}
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
        3: {ecn: {kmin: 20KB, kmax: 60KB, pmax: 20%}}
";

fn validate(text: &str, only: &[&str]) -> Results {
    let (dut, _) = file::parse("dut.yaml", text).unwrap();
    let mut bench = VirtualBench::new(dut.setup.clone(), dut.lab.unwrap());
    let only = only.iter().map(|only| (*only).to_owned()).collect();
    let selection = Selection { level: Level::Quick, only };
    suite::run(&dut.setup, &selection, &mut bench, |_, _, _| true)
}

#[test]
fn the_good_device_passes() {
    let results = validate(GOOD, &["V-*"]);
    assert_eq!(results.tests.len(), TESTS.len() + 1, "{results:#?}");
    for test in &results.tests {
        assert_eq!(test.outcome, Outcome::Pass, "{test:#?}");
    }
}

fn outcome(results: &Results, id: &str) -> Option<Outcome> {
    results.tests.iter().find(|test| test.id == id).map(|test| test.outcome)
}

#[test]
fn malformed_control_pauses_nothing_where_pfc_is_off() {
    let results = validate(&GOOD.replace("pfc: {enable: [3, 4]}", ""), &["V-M01"]);
    assert_eq!(outcome(&results, "V-M01"), Some(Outcome::Pass));
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
fn every_test_has_its_page_in_the_manual() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src");
    let summary = std::fs::read_to_string(format!("{docs}/SUMMARY.md")).unwrap();
    for test in TESTS.iter().chain([&SELF_CHECK]) {
        let path = format!("{docs}/validate/{}.md", test.id);
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == page(test),
            "{path} is out of date: sluice validate --describe {id} > docs/src/validate/{id}.md",
            id = test.id
        );
        assert!(summary.contains(&format!("(validate/{}.md)", test.id)), "{}", test.id);
    }
}
