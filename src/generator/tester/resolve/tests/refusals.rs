//! The exact errors of invalid configurations.

use crate::otg_file::parse;
use file::{testquoted, testrefusals};
use ground::units::BitsPerSec;

const GOLDEN: &str = "src/generator/tester/resolve/tests/refusals.txt";

/// Returns all findings of a file: errors, or warnings if there are none.
fn said(text: &str) -> String {
    let lines: Vec<String> = match parse("f.yaml", text, &|_| Some(BitsPerSec::gbps(10))) {
        Ok((_, warnings)) => {
            warnings.iter().map(|w| format!("warning: {}", w.line("f.yaml"))).collect()
        }
        Err(error) => error.findings.iter().map(|f| f.line("f.yaml")).collect(),
    };
    lines.join("\n")
}

#[test]
fn every_refusal_says_where_what_and_what_to_do() {
    testrefusals::hold(GOLDEN, 50, said);
}

#[test]
fn no_text_of_a_file_comes_back_longer_than_a_message_quotes() {
    let said = |text: &str| said(text).lines().map(str::to_owned).collect();
    testquoted::hold(GOLDEN, "configs/gen", None, 1_000, said);
}

#[test]
fn of_endless_errors_a_hundred_are_said() {
    let flow = "{name: f, tx_rx: {port: {tx_name: x}}}, ".repeat(500);
    let text = format!("ports: [{{name: a, location: d}}]\nflows: [{flow}]\n");
    let said = said(&text);
    assert_eq!(said.lines().count(), 101);
    // 499 names and 500 ports; the count has no field, so its position is the start of the file.
    assert!(said.starts_with("f.yaml:1:1: 899 more like these"), "{said}");
}
