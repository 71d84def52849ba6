//! What bad input gets, word for word: `refusals.txt` has each file and all that is said of it.
//!
//! With `SLUICE_BLESS=1` the test writes what is said now into the file, to be read and committed.

use super::*;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lab/file/tests/refusals.txt");

/// What is said about a text that must be wrong.
fn bad(text: &str) -> String {
    match parse("f.yaml", text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.to_string(),
    }
}

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

#[test]
fn every_refusal_says_where_what_and_what_to_do() {
    let golden = std::fs::read_to_string(PATH).unwrap();
    let mut now = String::new();
    for (name, text, _) in cases(&golden) {
        now.push_str(&format!("=== {name}\n{text}---\n{}\n\n", bad(text)));
    }
    if std::env::var_os("SLUICE_BLESS").is_some() {
        std::fs::write(PATH, &now).unwrap();
        return;
    }
    let now = cases(&now);
    for ((name, _, was), (_, _, is)) in cases(&golden).into_iter().zip(now) {
        assert_eq!(was, is, "{name}");
    }
}

#[test]
fn every_refusal_names_a_line() {
    let golden = std::fs::read_to_string(PATH).unwrap();
    let cases = cases(&golden);
    assert!(cases.len() > 60, "{}", cases.len());
    for (name, _, said) in cases {
        for line in said.lines() {
            let place = line.strip_prefix("f.yaml:").and_then(|l| l.split(':').next());
            let placed = place.is_some_and(|l| l.parse::<u32>().is_ok());
            assert!(placed || name == "empty", "{name}: {line}");
        }
    }
}

#[test]
fn a_lab_that_was_never_in_a_file_is_refused_by_fields() {
    let lab = raw::Lab {
        flows: vec![raw::Flow { to: Some("h9".to_owned().into()), ..Default::default() }],
        topology: Some(raw::Topology { star: Some(raw::Star { hosts: 2 }), ..Default::default() }),
        ..Default::default()
    };
    let said = resolve_raw(&lab).unwrap_err().to_string();
    assert!(said.starts_with("lab: flows[0].to: there is no host `h9`"), "{said}");
}

#[test]
fn warnings_do_not_refuse() {
    let text = "\
profiles:
  tor:
    headroom_check: warn
    buffer: {profiles: {p: {lossless: {xoff: 10KB}}}}
    defaults: {pfc: {enable: [3]}, priority_groups: {3: p}}
topology: {star: {hosts: 2}}
flows: [{to: h2, priority: 3, dscp: 0}]
";
    let (_, warnings) = good(text);
    let all = warnings.join("\n");
    for part in [
        "f.yaml:4:46: profiles.tor.buffer.profiles.p.lossless.xoff: port to_h1 group 3 would lose",
        "f.yaml:7:37: flows[0].dscp: `s1` takes frames with DSCP 0 for priority 0, not 3",
    ] {
        assert!(all.contains(part), "{part}\nis not in\n{all}");
    }
}
