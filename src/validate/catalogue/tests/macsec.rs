//! Devices with MACsec.

use super::{GOOD, all_pass, validate, validate_at};
use crate::judge::Outcome;
use crate::test::Level;

/// The good device: B is strict, C encrypts, D bypasses.
const MACSEC: &str = include_str!("../../../../configs/validate/macsec.yaml");

fn with(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

/// Asserts that a test fails in a value whose name has this part.
fn found(text: &str, id: &str, part: &str) {
    let results = validate_at(Level::Full, text, &[id]);
    let result = results.tests.iter().find(|test| test.id == id).unwrap();
    assert_eq!(result.outcome, Outcome::Fail, "{part}: {result:#?}");
    let mut failed = result.measurements.iter().filter(|m| m.outcome == Outcome::Fail);
    assert!(failed.any(|m| m.what.contains(part)), "{part}: {result:#?}");
}

#[test]
fn all_modes_and_suites_pass() {
    all_pass(&validate_at(Level::Full, MACSEC, &["V-K*"]));
}

#[test]
fn a_port_that_obeys_another_pfc_than_that_of_its_mode_is_found() {
    let plain = with(MACSEC, "accept_pfc: protected", "accept_pfc: both");
    found(&plain, "V-K01", "rate of priority 3");
    let strict = with(MACSEC, "accept_pfc: both", "accept_pfc: protected");
    found(&strict, "V-K01", "frames of priority 3 against the pause");
    let unheard = with(MACSEC, "accept_pfc: protected", "accept_pfc: plain");
    found(&unheard, "V-K01", "frames of priority 3 against the pause");
}

#[test]
fn what_is_missing_is_named() {
    let unknown =
        with(MACSEC, "macsec: {B: strict, C: encrypt, D: bypass}", "macsec: {C: encrypt}");
    for id in ["V-K01"] {
        for (text, part) in
            [(GOOD, "ports.macsec is missing"), (&unknown, "expected.macsec.B is missing")]
        {
            let results = validate(text, &[id]);
            let result = results.tests.iter().find(|test| test.id == id).unwrap();
            assert_eq!(result.outcome, Outcome::Skip, "{result:#?}");
            assert!(result.detail.contains(part), "{result:#?}");
        }
    }
}
