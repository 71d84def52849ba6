//! Devices with Source Flow Control.

use super::changed::fails_as;
use super::{GOOD, all_pass, validate, validate_at};
use crate::judge::Outcome;
use crate::test::Level;

/// The good device that sends messages, and the one that is a proxy.
const SFC: &str = include_str!("../../../../configs/validate/sfc.yaml");
const PROXY: &str = include_str!("../../../../configs/validate/sfc-proxy.yaml");

fn with(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

#[test]
fn a_device_that_sends_messages_passes() {
    all_pass(&validate_at(Level::Full, SFC, &["V-Q01"]));
    let quoting =
        with(SFC, "    sfc:\n      queues", "    sfc:\n      form: encapsulated\n      queues");
    all_pass(&validate_at(Level::Full, &quoting, &["V-Q01"]));
    let tagged = with(SFC, "lossless: [3]", "lossless: [3]\nmarking: {pcp: {}}");
    all_pass(&validate_at(Level::Full, &tagged, &["V-Q01"]));
}

#[test]
fn a_proxy_passes() {
    all_pass(&validate_at(Level::Full, PROXY, &["V-Q02", "V-Q03"]));
    let tagged = with(PROXY, "lossless: [3]", "lossless: [3]\nmarking: {pcp: {}}");
    all_pass(&validate_at(Level::Full, &tagged, &["V-Q02", "V-Q03"]));
}

#[test]
fn wrong_messages_are_found() {
    let other = with(
        SFC,
        "  profile:",
        "  faults: [{defect: {on: s1, kind: tells-other-flow}}]\n  profile:",
    );
    fails_as(&other, "V-Q01", "it is about");
    let silent = with(SFC, "threshold: 100KB, target: 80KB", "threshold: 1MB, target: 80KB");
    fails_as(&silent, "V-Q01", "messages to A");
    let eager = with(SFC, "threshold: 100KB, target: 80KB", "threshold: 1KB, target: 1KB");
    fails_as(&eager, "V-Q01", "without congestion");
    let long = with(SFC, "threshold: 100KB, target: 80KB", "threshold: 100KB, target: 20KB");
    fails_as(&long, "V-Q01", "pause that");
    // The default of the UDP port is another one, so its messages are none.
    let elsewhere = with(SFC, "    sfc:\n", "    sfc:\n      sfcmUDPPort: 50000\n");
    fails_as(&elsewhere, "V-Q01", "messages to A");
}

#[test]
fn a_proxy_that_trusts_anybody_or_has_other_limits_is_found() {
    let trusts = with(PROXY, "hosts: [198.18.0.3]", "hosts: anybody");
    fails_as(&trusts, "V-Q02", "pauses by a message from another address");
    let nobody = with(PROXY, "hosts: [198.18.0.3]", "hosts: nobody");
    fails_as(&nobody, "V-Q02", "by a message");
    let defect = "  faults: [{defect: {on: s1, kind: believes-other-flow}}]\n  profile:";
    fails_as(&with(PROXY, "  profile:", defect), "V-Q02", "about another host's flow");
    let policy = "policy: {longest: 50us, credit: 200us, share: 50%}";
    let long = with(PROXY, policy, "policy: {longest: 100us, credit: 200us, share: 50%}");
    fails_as(&long, "V-Q02", "one message");
    let often = with(PROXY, policy, "policy: {longest: 50us, credit: 200us, share: 75%}");
    fails_as(&often, "V-Q02", "a flood");
}

#[test]
fn a_wrong_conversion_is_found() {
    let defect =
        "  faults: [{defect: {on: s1, port: h4, kind: pauses-scaled-times, ratio: 4}}]\n  profile:";
    fails_as(&with(PROXY, "  profile:", defect), "V-Q03", "25 Gb/s");
}

#[test]
fn what_is_missing_is_named() {
    for (text, id, part) in [
        (GOOD, "V-Q01", "expected.sfc is missing"),
        (GOOD, "V-Q02", "expected.sfc is missing"),
        (PROXY, "V-Q01", "expected.sfc.target is missing"),
        (SFC, "V-Q02", "expected.sfc.proxy is missing"),
        (SFC, "V-Q03", "expected.sfc.proxy is missing"),
        (&with(PROXY, ", {rate: 25G}", ", {}"), "V-Q03", "one rate"),
    ] {
        let results = validate(text, &[id]);
        let result = results.tests.iter().find(|test| test.id == id).unwrap();
        assert_eq!(result.outcome, Outcome::Skip, "{result:#?}");
        assert!(result.detail.contains(part), "{result:#?}");
    }
}
