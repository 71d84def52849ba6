//! Devices with DCBX.

use super::changed::fails_as;
use super::{GOOD, all_pass, skips, validate_at};
use crate::test::Level;

/// The good device with DCBX.
const DCBX: &str = include_str!("../../../../../configs/validate/dcbx.yaml");

const ALL: [&str; 5] = ["V-D01", "V-D02", "V-D03", "V-D04", "V-D05"];

fn with(from: &str, to: &str) -> String {
    super::with(DCBX, from, to)
}

#[test]
fn a_willing_device_passes() {
    all_pass(&validate_at(Level::Full, DCBX, &ALL));
    let lower = with("pfc: {willing: true}", "pfc: {willing: true}, precedence: lower_address");
    let lower =
        lower.replace("{willing: true, interval", "{willing: true, precedence: lower, interval");
    all_pass(&validate_at(Level::Full, &lower, &["V-D02"]));
}

#[test]
fn a_device_that_is_not_willing_keeps_its_map() {
    let own = with("dcbx: {pfc: {willing: true}}", "dcbx: {pfc: {willing: false}}");
    let own = own.replace("dcbx: {willing: true", "dcbx: {willing: false");
    all_pass(&validate_at(Level::Full, &own, &["V-D01", "V-D02", "V-D03", "V-D05"]));
    skips(&own, &["V-D04"], "expected.dcbx.willing");
}

#[test]
fn a_map_that_is_not_the_configured_one_is_found() {
    let other = with("pfc: {enable: [3, 4]}", "pfc: {enable: [3]}");
    fails_as(&other, "V-D01", "PFC map 0x08, not 0x18");
}

#[test]
fn a_device_that_is_silent_fails() {
    let silent = with("      lldp: {interval: 1s}\n      dcbx: {pfc: {willing: true}}\n", "");
    fails_as(&silent, "V-D01", "LLDPDUs at port A");
}

#[test]
fn a_device_without_the_expectation_is_not_judged() {
    skips(GOOD, &ALL, "expected.dcbx is missing");
}
