//! Devices with MACsec.

use super::changed::{ends, fails, judged, plain, unable};
use super::{GOOD, all_pass, skips, validate_at, with};
use crate::judge::{Measurement, Outcome};
use crate::observation::{Observation, Record, Way, What};
use crate::test::Level;
use crate::trial::Port;
use secure::An;

/// The good device: B is strict, C encrypts, D bypasses.
const MACSEC: &str = include_str!("../../../../../configs/validate/macsec.yaml");

/// Asserts that a test fails in a value whose name has this part, and returns the number of such values.
fn found(text: &str, id: &str, part: &str) -> usize {
    let results = validate_at(Level::Full, text, &[id]);
    let result = results.tests.iter().find(|test| test.id == id).unwrap();
    assert_eq!(result.outcome, Outcome::Fail, "{part}: {result:#?}");
    let failed = result.measurements.iter().filter(|m| m.outcome == Outcome::Fail);
    let count = failed.filter(|m| m.what.contains(part)).count();
    assert!(count > 0, "{part}: {result:#?}");
    count
}

#[test]
fn all_modes_and_suites_pass() {
    all_pass(&validate_at(Level::Full, MACSEC, &["V-K*"]));
}

/// The proof has devices that obey too much, or ignore what is not protected.
#[test]
fn a_port_that_hears_no_protected_pfc_is_found() {
    let unheard = with(MACSEC, "accept_pfc: protected", "accept_pfc: plain");
    found(&unheard, "V-K01", "frames of priority 3 against the pause");
}

/// The ports with MACsec, each in another mode.
const PORTS: [&str; 3] = ["h2", "h3", "h4"];

/// Returns the good device with a defect at some ports.
fn defect(ports: &[&str], kind: &str) -> String {
    let one = |port: &&str| format!("{{defect: {{on: s1, port: {port}, kind: {kind}}}}}");
    let all: Vec<_> = ports.iter().map(one).collect();
    with(MACSEC, "  lab:", &format!("  faults: [{}]\n  lab:", all.join(", ")))
}

/// Asserts that a defect at all ports is found at each of them: in three times the values of one port.
fn found_at_each(kind: &str, id: &str, part: &str) {
    let one = found(&defect(&PORTS[..1], kind), id, part);
    assert_eq!(found(&defect(&PORTS, kind), id, part), PORTS.len() * one, "{kind}");
}

#[test]
fn frames_with_another_protection_are_found() {
    // The links of the lab; the keys of the tester's ports stand before them.
    let (testers, links) = MACSEC.split_once("    links:").unwrap();
    let device = |from: &str, to: &str| format!("{testers}    links:{}", with(links, from, to));
    let key = "include_sci: true, accept_pfc: protected";
    let bare = device(key, "include_sci: true, protect: {data: false}, accept_pfc: protected");
    found(&bare, "V-K02", "plain data frames at B");
    let readable = device(key, "include_sci: true, confidentiality: false, accept_pfc: protected");
    found(&readable, "V-K02", "that are not encrypted with 32 more bytes");
    let short = device(key, "accept_pfc: protected");
    found(&short, "V-K02", "that are not encrypted with 32 more bytes");
    let lossy = defect(&["h1"], "loses-data, every: 100");
    found(&lossy, "V-K02", "lost frames of priority 3");
    let told = with(MACSEC, "C: encrypt, D: bypass}", "C: encrypt, D: strict}");
    found(&told, "V-K02", "plain PFC frames at D, in mode strict");
}

/// Frames that the tester receives at B.
fn received(seen: &mut Observation) -> impl Iterator<Item = &mut Record> {
    let is_its = |record: &&mut Record| record.port == Port(1) && record.way == Way::Received;
    seen.records.iter_mut().filter(is_its)
}

#[test]
fn numbers_that_are_used_again_and_frames_of_unknown_keys_are_found() {
    let again = judged((MACSEC, "V-K02", true), &|_| {}, &|_, seen| {
        let mut all = received(seen).filter_map(|record| record.secured.as_mut());
        let first = all.next().unwrap().pn;
        all.next().unwrap().pn = first;
    });
    fails(&again, "packet numbers used again at B");
    for id in ["V-K02", "V-K04"] {
        let unknown = judged((MACSEC, id, true), &|_| {}, &|_, seen| {
            let is_data = |record: &&mut Record| matches!(record.what, What::Data { .. });
            let Some(last) = received(seen).filter(is_data).last() else { return };
            last.secured = None;
            last.what = What::Other([[0; 12].as_slice(), &[0x88, 0xe5, 0x2c, 0]].concat().into());
        });
        fails(&unknown, "valid by no key");
    }
}

#[test]
fn pfc_that_is_not_the_peers_and_is_obeyed_is_found() {
    for kind in ["obeys-replays", "obeys-forged", "obeys-old-keys", "obeys-any-channel"] {
        found_at_each(kind, "V-K03", "rate of priority 3");
    }
}

#[test]
fn changes_of_keys_that_are_noticed_are_found() {
    // The proof has the first port, and one that hears nothing once packet numbers pass 2^32.
    for port in &PORTS[1..] {
        let resumes = defect(&[port], "resumes-at-rekey");
        found(&resumes, "V-K04", "frames of priority 3 against the pause");
        found(&defect(&[port], "loses-at-rekey, frames: 1"), "V-K04", "lost frames of priority");
    }
    let same = judged((MACSEC, "V-K04", true), &|_| {}, &|_, seen| {
        for secured in received(seen).filter_map(|record| record.secured.as_mut()) {
            secured.an = An::ALL[0];
        }
    });
    fails(&same, "changes of the association number at B");
}

#[test]
fn parts_that_need_more_of_the_device_are_skipped() {
    // A bench that neither reads counters nor changes keys.
    let bare = unable(MACSEC, "V-K03");
    ends(&bare, Outcome::Skip, "");
    let skipped = |part: &str| {
        let mut all = bare.measurements.iter().filter(|m| m.outcome == Outcome::Skip);
        all.any(|m| m.what.contains(part))
    };
    assert!(skipped("removed key") && skipped("counted as rejected"), "{bare:#?}");
    ends(&unable(MACSEC, "V-K04"), Outcome::Skip, "");
    let watched = with(
        MACSEC,
        "  macsec: {B: strict",
        "  watchdog: {detection: 1ms, restoration: 1ms, poll: 1ms}\n  macsec: {B: strict",
    );
    skips(&watched, &["V-K04"], "watchdog.detection");
    let unknown = with(MACSEC, "  lab:", "  unknown: [macsec_rejected]\n  lab:");
    let result = plain(&unknown, "V-K03");
    ends(&result, Outcome::Skip, "");
    let counted = |m: &&Measurement| m.what.contains("counted as rejected");
    let mut counted = result.measurements.iter().filter(counted);
    assert!(counted.all(|m| m.outcome == Outcome::Skip), "{result:#?}");
}

#[test]
fn what_is_missing_is_named() {
    let ids = ["V-K01", "V-K02", "V-K03", "V-K04"];
    skips(GOOD, &ids, "ports.macsec is missing");
    skips(&with(MACSEC, "macsec: {B: strict, ", "macsec: {"), &ids, "expected.macsec.B is missing");
}
