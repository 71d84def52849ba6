//! Devices with Source Flow Control.

use super::changed::fails_as;
use super::{GOOD, all_pass, skips, validate_at, with};
use crate::test::Level;

/// The good device that sends messages, and the one that is a proxy.
const SFC: &str = include_str!("../../../../../configs/validate/sfc.yaml");
const PROXY: &str = include_str!("../../../../../configs/validate/sfc-proxy.yaml");

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

/// The default of the UDP port is another one, so its messages are none.
#[test]
fn messages_to_another_port_are_none() {
    let elsewhere = with(SFC, "    sfc:\n", "    sfc:\n      sfcmUDPPort: 50000\n");
    fails_as(&elsewhere, "V-Q01", "messages to A");
}

#[test]
fn a_proxy_that_trusts_nobody_is_found() {
    fails_as(&with(PROXY, "hosts: [198.18.0.3]", "hosts: nobody"), "V-Q02", "by a message");
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
        skips(text, &[id], part);
    }
}
