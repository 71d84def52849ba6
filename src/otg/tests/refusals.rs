//! What bad configurations get, word for word: `refusals.txt` has each file and all that is said
//! of it.
//!
//! With `SLUICE_BLESS=1` the test writes what is said now into the file, to be read and committed.

use crate::otg::file::parse;
use crate::units::BitsPerSec;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/otg/tests/refusals.txt");

/// The cases: name, text, and what is said of it.
fn cases(golden: &str) -> Vec<(&str, &str, &str)> {
    golden
        .split("=== ")
        .skip(1)
        .map(|case| {
            let (name, rest) = case.split_once('\n').expect("a name line");
            let (text, said) = rest.split_once("---\n").expect("a line ---");
            (name, text, said.trim_end())
        })
        .collect()
}

/// All that is said of a file: errors, or warnings if there are none.
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
    let golden = std::fs::read_to_string(PATH).unwrap();
    let mut now = String::new();
    for (name, text, _) in cases(&golden) {
        now.push_str(&format!("=== {name}\n{text}---\n{}\n\n", said(text)));
    }
    if std::env::var_os("SLUICE_BLESS").is_some() {
        std::fs::write(PATH, &now).unwrap();
        return;
    }
    for ((name, _, was), (_, _, is)) in cases(&golden).into_iter().zip(cases(&now)) {
        assert_eq!(was, is, "{name}");
    }
}

#[test]
fn every_refusal_names_a_line() {
    let golden = std::fs::read_to_string(PATH).unwrap();
    let cases = cases(&golden);
    assert!(cases.len() > 50);
    for (name, _, said) in cases {
        assert!(!said.is_empty(), "{name} is fine");
        for line in said.lines() {
            let line = line.trim_start_matches("warning: ");
            let place = line.strip_prefix("f.yaml:").and_then(|l| l.split(':').next());
            let placed = place.is_some_and(|l| l.parse::<u32>().is_ok());
            assert!(placed || name == "empty", "{name}: {line}");
        }
    }
}

#[test]
fn of_endless_errors_a_hundred_are_said() {
    let flow = "{name: f, tx_rx: {port: {tx_name: x}}}, ".repeat(500);
    let text = format!("ports: [{{name: a, location: d}}]\nflows: [{flow}]\n");
    let said = said(&text);
    assert_eq!(said.lines().count(), 101);
    // 499 names and 500 ports; the count has no field, so it stands at the file's beginning.
    assert!(said.starts_with("f.yaml:1:1: 899 more like these"), "{said}");
}
